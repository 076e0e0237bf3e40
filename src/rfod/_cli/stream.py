"""Judge a source piece by piece and write as it goes; memory does not grow with the rows."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rfod._cli.answers import cells_schema, cells_table, key_type_of, rows_schema, rows_table
from rfod._cli.findings import Finding, collect
from rfod._cli.rule import Rule, StreamRule
from rfod._io.pieces import Piece
from rfod._io.sinks import Format, Write, open_sink
from rfod.detection import Detection

NEAREST = 5  # rows shown where none is a finding


@dataclass
class Tally:
    """What came of one source."""

    n_rows: int = 0
    n_flagged: int = 0
    worst: list[tuple[float, int, Finding]] = field(default_factory=list)
    """A heap of the rows with the highest scores: score, minus the row, the row."""

    def highest(self, n: int) -> list[Finding]:
        """Findings, highest score first; the highest rows where there is no finding."""
        n_wanted = min(n, self.n_flagged or NEAREST)
        return [finding for _, _, finding in sorted(self.worst, reverse=True)[:n_wanted]]


class Answers:
    """Takes the answers for the pieces of one source, in order, and writes them to a file if there is one.

    A rule that looks at all rows is settled at the end only: until then answers wait in a temporary file beside the
    target, and are copied with their flags when all is known.
    """

    def __init__(self, rule: Rule, output: str | None, cells: bool, n_shown: int, file_format: Format | None) -> None:
        self._rule = StreamRule(rule)
        self._output, self._cells, self._n_shown, self._format = output, cells, n_shown, file_format
        self._stack = ExitStack()
        self._write: Callable[[pa.Table], None] | None = None
        self._waiting: Any = None
        self._schema: pa.Schema | None = None
        self.tally = Tally()

    def __enter__(self) -> Answers:
        self._stack.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        self._stack.__exit__(*details)

    def add(self, found: Detection, piece: Piece) -> None:
        """The answer for the next piece."""
        candidates = self._rule.candidates(found)
        self.tally.n_rows += len(found)
        self._remember(found, piece)
        if self._output is None:
            return
        if self._schema is None:
            self._open((cells_schema if self._cells else rows_schema)(key_type_of(found)))
        assert self._write is not None
        if not self._cells:
            self._write(rows_table(found, piece, candidates))
            return
        picked = np.flatnonzero(candidates)
        if len(picked):
            table = cells_table(found, piece, picked)
            if self._rule.rule.needs_all:  # what the rule is settled by has to wait with the cells
                places = table.column("row").to_numpy() - piece.first_row
                table = table.append_column("row_score", pa.array(found.row_scores[places]))
                table = table.append_column("row_p", pa.array(found.row_p_values[places]))
            self._write(table)

    def _remember(self, found: Detection, piece: Piece) -> None:
        """Keep the highest rows for the terminal; being the highest, they are the first to become findings."""
        if not self._n_shown:
            return
        picked = np.argsort(-found.row_scores, kind="stable")[: self._n_shown]
        if len(self.tally.worst) == self._n_shown:
            picked = picked[found.row_scores[picked] > self.tally.worst[0][0]]
        for finding in collect(found, piece, picked):
            heapq.heappush(self.tally.worst, (finding.score, -finding.row, finding))
            if len(self.tally.worst) > self._n_shown:
                heapq.heappop(self.tally.worst)

    def _open(self, schema: pa.Schema) -> None:
        self._schema = schema
        if not self._rule.rule.needs_all:
            self._write = self._sink()
            return
        folder = None if self._output in (None, "-") else Path(str(self._output)).parent
        self._waiting = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # the stack closes it
        self._stack.callback(self._waiting.close)
        fields = [pa.field("row_score", pa.float64()), pa.field("row_p", pa.float64())] if self._cells else []
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._writer = pa.ipc.new_stream(self._waiting, pa.schema([*schema, *fields]), options=options)
        # one batch per table, so that the cells of a row stay together
        self._write = lambda table: self._writer.write_table(table.combine_chunks())

    def _sink(self) -> Write:
        assert self._schema is not None
        assert self._output is not None
        return self._stack.enter_context(open_sink(self._output, self._schema, self._format))

    def settle(self) -> None:
        """All pieces have been added: decide, and finish the file."""
        self._rule.settle()
        self.tally.n_flagged = self._rule.n_flagged
        if self._waiting is None:
            return
        self._writer.close()
        self._waiting.seek(0)
        write = self._sink()
        for batch in pa.ipc.open_stream(self._waiting):
            table = self._settled_cells(batch) if self._cells else self._settled_rows(batch)
            if table.num_rows:
                write(table)

    def _settled_rows(self, batch: pa.RecordBatch) -> pa.Table:
        table = pa.Table.from_batches([batch])
        flagged = self._rule.final(
            table.column("score").to_numpy(), table.column("p_value").to_numpy(), table.column("flagged").to_numpy()
        )
        told = pa.array(np.where(flagged, table.column("cells").to_numpy(zero_copy_only=False), None), pa.string())
        table = table.set_column(table.column_names.index("flagged"), "flagged", pa.array(flagged))
        return table.set_column(table.column_names.index("cells"), "cells", told).cast(self._schema)

    def _settled_cells(self, batch: pa.RecordBatch) -> pa.Table:
        table = pa.Table.from_batches([batch])
        rows = table.column("row").to_numpy()
        _, first, owner = np.unique(rows, return_index=True, return_inverse=True)
        scores, p_values = table.column("row_score").to_numpy(), table.column("row_p").to_numpy()
        kept = self._rule.final(scores[first], p_values[first], np.ones(len(first), dtype=np.bool_))
        return table.filter(pa.array(kept[owner])).drop_columns(["row_score", "row_p"])
