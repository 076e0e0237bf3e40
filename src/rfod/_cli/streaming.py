"""Judge a source batch by batch and write as it goes; memory does not grow with the rows."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rfod._cli.console import Reporter, naming
from rfod._cli.findings import NEAREST, cells_schema, cells_table, rows_schema, rows_table
from rfod._findings.explanations import RowExplanation
from rfod._findings.rule import Rule, StreamRule
from rfod._io.interface import InputError, OutputError
from rfod._io.locations import check_not_input
from rfod._io.source import Batch, Source, joined
from rfod._io.text import plain_name
from rfod._io.write import ENDINGS, Write, check_target, format_of, open_sink
from rfod._model.model import Model
from rfod.detection import Detection
from rfod.pipeline import check_columns, detect


@dataclass
class Tally:
    """What came of one source."""

    n_rows: int = 0
    n_flagged: int = 0
    findings: Sequence[RowExplanation] = ()
    """Highest score first; the highest rows where there is no finding."""


@dataclass
class WorstRows:
    """The rows with the highest scores so far, as they were read; they are explained when all rows are known."""

    n_wanted: int
    heap: list[tuple[float, int, Batch]] = field(default_factory=list)
    """Score, minus the number of the row, the row."""

    def add(self, found: Detection, batch: Batch) -> None:
        """Offer the rows of a batch."""
        if not self.n_wanted:
            return
        picked = np.argsort(-found.row_scores, kind="stable")[: self.n_wanted]
        if len(self.heap) == self.n_wanted:
            picked = picked[found.row_scores[picked] > self.heap[0][0]]
        for row in picked.tolist():
            # taken, not sliced: a slice would keep the whole batch in memory
            kept = replace(batch.take([row]), first_row=batch.first_row + row)
            heapq.heappush(self.heap, (float(found.row_scores[row]), -kept.first_row, kept))
            if len(self.heap) > self.n_wanted:
                heapq.heappop(self.heap)

    def findings(self, model: Model, key: str | None, n: int, jobs: int) -> list[RowExplanation]:
        """The `n` highest rows, explained."""
        kept = [batch for _, _, batch in sorted(self.heap, reverse=True)[:n]]
        if not kept:
            return []
        together = joined(kept)
        explained = detect(model, together.table, key=key, lines=together.lines, n_jobs=jobs).explain_rows(None)
        return [row.renumbered(batch.first_row) for row, batch in zip(explained, kept, strict=True)]


class Answers:
    """Takes the answers for the batches of one source, in order, and writes them to a file if there is one.

    A rule that looks at all rows is settled at the end only: until then answers wait in a temporary file beside the
    target, and are copied with their flags when all is known.
    """

    def __init__(self, rule: Rule, output: str | None, cells: bool, n_shown: int, csv_safe: bool = False) -> None:
        self._rule = StreamRule(rule)
        self._output, self._cells, self._csv_safe = output, cells, csv_safe
        self.worst = WorstRows(n_shown)
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

    def add(self, found: Detection, batch: Batch) -> None:
        """The answer for the next batch."""
        candidates = self._rule.candidates(found.judged)
        self.tally.n_rows += len(found)
        self.worst.add(found, batch)
        if self._output is None:
            return
        if self._schema is None:
            self._open((cells_schema if self._cells else rows_schema)(found.labels.key_type))
        assert self._write is not None
        if not self._cells:
            self._write(rows_table(found, candidates))
            return
        picked = np.flatnonzero(candidates)
        if len(picked):
            table = cells_table(found, picked)
            if self._rule.rule.needs_all:  # what the rule is settled by has to wait with the cells
                places = table.column("row").to_numpy() - batch.first_row
                table = table.append_column("row_score", pa.array(found.row_scores[places]))
                table = table.append_column("row_p", pa.array(found.row_p_values[places]))
            self._write(table)

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
        return self._stack.enter_context(open_sink(self._output, self._schema, csv_safe=self._csv_safe))

    def settle(self) -> None:
        """All batches have been added: decide, and finish the file."""
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
        words = pa.array(np.where(flagged, table.column("cells").to_numpy(zero_copy_only=False), None), pa.string())
        table = table.set_column(table.column_names.index("flagged"), "flagged", pa.array(flagged))
        return table.set_column(table.column_names.index("cells"), "cells", words).cast(self._schema)

    def _settled_cells(self, batch: pa.RecordBatch) -> pa.Table:
        table = pa.Table.from_batches([batch])
        rows = table.column("row").to_numpy()
        _, first, owner = np.unique(rows, return_index=True, return_inverse=True)
        scores, p_values = table.column("row_score").to_numpy(), table.column("row_p").to_numpy()
        kept = self._rule.final(scores[first], p_values[first], np.ones(len(first), dtype=np.bool_))
        return table.filter(pa.array(kept[owner])).drop_columns(["row_score", "row_p"])


def judge_source(
    model: Model, source: Source, key: str | None, answers: Answers, reporter: Reporter, jobs: int
) -> Tally:
    """Read, judge and write one source."""
    with (
        reporter.bar("scoring", source) as advance,
        reporter.remarks(),
        naming(source.name),
        answers,
        closing(source.batches()) as batches,
    ):
        while True:
            with reporter.stage("reading"):
                batch = next(batches, None)
            if batch is None:
                break
            check_columns(batch.rows.column_names, [key] if key else [], "use as key")
            with reporter.stage("judging"):
                found = detect(model, batch.table, key=key, first_row=batch.first_row, lines=batch.lines, n_jobs=jobs)
            with reporter.stage("writing"):
                answers.add(found, batch)
            advance(batch.rows.num_rows)
        tally = answers.tally
        if not tally.n_rows:
            raise InputError(f"{source.name}: the table has no rows. Hint: a header alone is not enough.")
        with reporter.stage("writing"):
            answers.settle()
        with reporter.stage("findings"):
            tally.findings = answers.worst.findings(model, key, tally.n_flagged or NEAREST, jobs)
    reporter.notes_of(source)
    return tally


def targets_for(places: list[str], output: str | None, cells: bool, inputs: Sequence[str]) -> list[str | None]:
    """Where the answer for each table goes; `OutputError` where that cannot be written or is one of the inputs."""
    if output is None or output == "-":
        if output == "-" and len(places) > 1:
            raise OutputError(f"stdout takes one table, but {len(places)} came. Hint: -o FOLDER/ writes one file each.")
        return [output] * len(places)
    folder = Path(output)
    if not (folder.is_dir() or output.endswith("/") or len(places) > 1):
        format_of(output)
        check_target(output)
        check_not_input(output, inputs)
        return [output]
    if folder.suffix.lower() in ENDINGS and not folder.is_dir():
        raise OutputError(f"{output} is one file for {len(places)} tables. Hint: -o FOLDER/ writes one file each.")
    if folder.is_file():
        raise OutputError(f"{output} is a file, but {len(places)} tables came. Hint: -o FOLDER/ writes one file each.")
    names = ["stdin" if place == "-" else Path(plain_name(place)).stem for place in places]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise OutputError(
            f"{output}: two tables are both called {sorted(repeated)[0]!r}. Hint: score them one at a time."
        )
    targets = [str(folder / f"{name}{'.cells' if cells else ''}.parquet") for name in names]
    for target in targets:
        check_not_input(target, inputs)
    folder.mkdir(parents=True, exist_ok=True)
    return list(targets)
