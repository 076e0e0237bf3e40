"""Judge a source batch by batch and write as it goes; memory does not grow with the rows."""

from __future__ import annotations

import heapq
import os
import tempfile
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._cli.baseline import Baseline
from rfod._cli.console import Reporter, naming
from rfod._cli.findings import ROW_PROBABILITY, UNUSUAL_ROWS_SHOWN, cells_table, rows_table
from rfod._cli.inputs import check_output
from rfod._decisions.decisions import Matched
from rfod._diff.findings import row_fingerprints
from rfod._evidence.wrong_cells import WRONG
from rfod._findings.explanations import RowExplanation
from rfod._findings.findings import Rule, StreamRule
from rfod._io.interface import InputError, OutputError
from rfod._io.locations import check_not_input
from rfod._io.source import Batch, Source, joined
from rfod._io.storage import is_address
from rfod._io.text import plain_name
from rfod._io.write import ENDINGS, Write, open_sink
from rfod._model.executor import Threads
from rfod._model.local_fdr import RowProbabilities
from rfod._model.model import JudgedSample, Model
from rfod._table.table import check_columns
from rfod.detection import Detection
from rfod.pipeline import detect

MOST_BATCHES = 4  # judged at the same time; more threads share their columns
_SETTLED_BY = {"row_score": pa.float64(), "row_p": pa.float64(), "is_candidate": pa.bool_()}
"""What answers that wait need beside their own fields."""


@dataclass(frozen=True, eq=False)
class BatchJudge:
    """Judges rows of one source by a fitted model."""

    model: Model
    key: str | None
    n_jobs: int
    own: JudgedSample | None = None
    """Rows of the source that the model was fitted to."""
    matched: Matched | None = None
    """What was decided about cells of the source."""

    def judge(self, batch: Batch) -> Detection:
        """The rows of a batch."""
        first = batch.first_row
        return self.judge_rows(batch, np.arange(first, first + batch.rows.num_rows), first)

    def judge_rows(self, rows: Batch, numbers: NDArray[np.int64], first_row: int = 0) -> Detection:
        """Any rows, given with their numbers in the source; the result numbers them from `first_row` on."""
        table = rows.table
        return detect(
            self.model,
            table,
            key=self.key,
            first_row=first_row,
            lines=rows.lines,
            n_jobs=self.n_jobs,
            known=None if self.own is None else self.own.find(numbers),
            decisions=None if self.matched is None else self.matched.settle(table, numbers),
        )


@dataclass
class WorstRows:
    """The rows with the highest scores so far, as they were read; they are explained when all rows are known."""

    n_wanted: int
    heap: list[tuple[float, int, Batch]] = field(default_factory=list)
    """Score, minus the number of the row, the row."""
    prints: dict[int, str] = field(default_factory=dict)
    """Fingerprints of the rows that were explained, by their numbers."""

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

    def findings(self, judge: BatchJudge, n: int) -> list[RowExplanation]:
        """The `n` highest rows, explained."""
        kept = [batch for _, _, batch in sorted(self.heap, reverse=True)[:n]]
        if not kept:
            return []
        numbers = np.array([batch.first_row for batch in kept])
        found = judge.judge_rows(joined(kept), numbers)
        explained = found.explain_rows(None)
        self.prints = dict(zip(numbers.tolist(), row_fingerprints(found, np.arange(len(found))), strict=True))
        return [row.renumbered(batch.first_row) for row, batch in zip(explained, kept, strict=True)]


class Answers(ExitStack):
    """Takes the answers for the batches of one source, in order, and writes them to a file if there is one.

    A rule that looks at all rows is settled at the end only, and so are `probabilities`: until then answers wait in a
    temporary file beside the target, with what they are settled by, and are copied when all is known.
    """

    def __init__(
        self,
        rule: Rule,
        output: str | None,
        *,
        cells: bool,
        n_shown: int,
        csv_safe: bool = False,
        count_wrong: bool = False,
        known: Baseline | None = None,
        probabilities: RowProbabilities | None = None,
    ) -> None:
        super().__init__()
        self._rule = StreamRule(rule)
        self._output, self._cells, self._csv_safe = output, cells, csv_safe
        self._write: Write | None = None
        self._waiting: Any = None
        self._schema = pa.schema([])
        self.worst = WorstRows(n_shown)
        self._count_wrong, self._known, self._probabilities = count_wrong, known, probabilities
        self.n_rows = self.n_flagged = self.n_wrong = 0
        self.findings: list[RowExplanation] = []
        """Highest score first; the highest rows where there is no finding."""

    def add(self, found: Detection, batch: Batch) -> None:
        """The answer for the next batch."""
        candidates = self._rule.candidates(found.judged)
        self.n_rows += len(found)
        if self._count_wrong:
            self.n_wrong += int(np.count_nonzero(found.cell_probability >= WRONG))
        self.worst.add(found, batch)
        if self._probabilities is not None:
            self._probabilities.count(found.row_scores)
        if self._known is not None and self._known.file.level == "cells":
            self._known.add_cells(found, found.suspects(WRONG))
        elif self._known is not None:
            self._known.hold_rows(found, candidates)
        if self._output is None:
            return
        table = cells_table(found, np.flatnonzero(candidates)) if self._cells else rows_table(found, candidates)
        if self._write is None:
            self._schema = table.schema
            needs_all = self._rule.rule.needs_all or self._probabilities is not None
            self._write = self._wait() if needs_all else self._sink(self._output)
        if self._waiting is not None:
            places = table.column("row").to_numpy() - batch.first_row
            for name, values in zip(_SETTLED_BY, (found.row_scores, found.row_p_values, candidates), strict=True):
                table = table.append_column(name, pa.array(values[places]))
        self._write(table)

    def _sink(self, output: str) -> Write:
        schema = self._schema if self._probabilities is None else self._schema.append(ROW_PROBABILITY)
        return self.enter_context(open_sink(output, schema, csv_safe=self._csv_safe))

    def _wait(self) -> Write:
        output = str(self._output)
        folder = None if output == "-" or is_address(output) else Path(output).parent
        self._waiting = self.enter_context(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115
        schema = pa.schema([*self._schema, *_SETTLED_BY.items()])
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._writer = pa.ipc.new_stream(self._waiting, schema, options=options)
        # one batch per table, so that the cells of a row stay together
        return lambda table: self._writer.write_table(table.combine_chunks())

    def settle(self) -> None:
        """All batches have been added: decide, and finish the file."""
        self._rule.settle()
        self.n_flagged = self._rule.n_flagged
        if self._known is not None:
            self._known.settle(self._rule)
        if self._probabilities is not None:
            self._probabilities.settle()
        if self._waiting is None:
            return
        self._writer.close()
        self._waiting.seek(0)
        write = self._sink(str(self._output))
        for batch in pa.ipc.open_stream(self._waiting):
            table = self._settled(pa.Table.from_batches([batch]))
            if table.num_rows:
                write(table)

    def _settled(self, table: pa.Table) -> pa.Table:
        """Only the cells of findings, or all rows with their final flags and the cells of findings in words."""
        _, first, owner = np.unique(table.column("row").to_numpy(), return_index=True, return_inverse=True)
        flagged = pa.array(self._rule.final(*(table.column(name).to_numpy()[first] for name in _SETTLED_BY))[owner])
        columns: dict[str, Any] = {name: table.column(name) for name in self._schema.names}
        if self._probabilities is not None:
            columns[ROW_PROBABILITY.name] = self._probabilities.of(table.column("row_score").to_numpy())
        if self._cells:
            return pa.table(columns).filter(flagged)
        words = pc.if_else(flagged, table.column("cells"), pa.scalar(None, pa.string()))
        return pa.table(columns | {"flagged": flagged, "cells": words})


def judge_source(judge: BatchJudge, source: Source, answers: Answers, reporter: Reporter) -> None:
    """Read, judge and write one source."""
    with (
        reporter.bar("scoring", source) as advance,
        reporter.remarks(),
        naming(source.name),
        answers,
        closing(judged_batches(judge, source, reporter)) as judged,
    ):
        for batch, found in judged:
            with reporter.stage("writing"):
                answers.add(found, batch)
            advance(batch.rows.num_rows)
        if not answers.n_rows:
            raise InputError(f"{source.name}: the table has no rows. Hint: a header alone is not enough.")
        with reporter.stage("writing"):
            answers.settle()
        with reporter.stage("findings"):
            n_wanted = answers.n_flagged or UNUSUAL_ROWS_SHOWN
            answers.findings = answers.worst.findings(judge, n_wanted)
    reporter.notes_of(source)


def judged_batches(
    judge: BatchJudge, source: Source, reporter: Reporter
) -> Generator[tuple[Batch, Detection], None, None]:
    """The batches of a source in order, judged; while one is written, the next are judged and one is read."""
    n_threads = Threads(judge.n_jobs).n_workers
    n_batches = min(n_threads, MOST_BATCHES)
    of_batches = replace(judge, n_jobs=n_threads // n_batches)

    def judged(batch: Batch) -> Detection:
        found = of_batches.judge(batch)
        _ = found.row_p_values  # computed here rather than where they are written
        return found

    pending: deque[tuple[Batch, Future[Detection]]] = deque()
    with closing(source.batches()) as batches, ThreadPoolExecutor(n_batches) as pool:
        try:
            is_read = False
            while pending or not is_read:
                while not is_read and len(pending) <= n_batches:
                    with reporter.stage("reading"):
                        batch = next(batches, None)
                    if batch is None:
                        is_read = True
                        break
                    check_columns(batch.rows.column_names, [judge.key] if judge.key else [], "use as key")
                    pending.append((batch, pool.submit(judged, batch)))
                if pending:
                    batch, future = pending.popleft()
                    with reporter.stage("judging"):
                        found = future.result()
                    yield batch, found
        finally:
            pool.shutdown(cancel_futures=True)


def targets_for(places: list[str], output: str | None, cells: bool, inputs: Sequence[str]) -> list[str | None]:
    """Where the answer for each table goes; `OutputError` where that cannot be written or is one of the inputs."""
    if output is None or output == "-":
        if output == "-" and len(places) > 1:
            raise OutputError(f"stdout takes one table, but {len(places)} came. Hint: -o FOLDER/ writes one file each.")
        return [output] * len(places)
    folder = Path(output)
    if not (folder.is_dir() or output.endswith("/") or len(places) > 1):
        check_output(output, inputs, is_table=True)
        return [output]
    if is_address(output):
        raise OutputError(f"{output}: a folder is written there by an engine. Hint: --engine local.")
    if folder.suffix.lower() in ENDINGS and not folder.is_dir():
        raise OutputError(f"{output} is one file for {len(places)} tables. Hint: -o FOLDER/ writes one file each.")
    if folder.is_file():
        raise OutputError(f"{output} is a file, but {len(places)} tables came. Hint: -o FOLDER/ writes one file each.")
    names = _names_of(places)
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise OutputError(
            f"{output}: two tables are both called {sorted(repeated)[0]!r}. Hint: score them one at a time."
        )
    targets = [str(folder / f"{name}{'.cells' if cells else ''}.parquet") for name in names]
    for target in targets:
        check_not_input(target, inputs)
        Path(target).parent.mkdir(parents=True, exist_ok=True)
    return list(targets)


def _names_of(places: Sequence[str]) -> list[str]:
    """What tables are called: their paths, without endings, from the folder that they have in common."""
    paths = [Path("stdin" if place == "-" else plain_name(place)) for place in places]
    common = os.path.commonpath([path.absolute().parent for path in paths])
    return [path.absolute().relative_to(common).with_suffix("").as_posix() for path in paths]
