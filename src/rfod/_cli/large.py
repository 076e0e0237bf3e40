"""`rfod scan` of a file with more rows than are held in memory: all rows are judged by a model of a sample."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, closing

import numpy as np
from numpy.typing import NDArray

from rfod._cli.baseline import Baseline
from rfod._cli.console import Reporter, naming
from rfod._cli.streaming import BatchJudge, WorstRows
from rfod._cli.suspects import MOST_KEPT, ScanFindings, StreamedFindings
from rfod._decisions.decisions import Matched
from rfod._findings.explanations import RowExplanation
from rfod._io.source import Batch, Source
from rfod._io.write import Write, open_sink
from rfod._model.model import JudgedSample
from rfod.detection import Detection
from rfod.pipeline import ScannedSample


def judge_large(
    sample: ScannedSample,
    places: NDArray[np.int64],
    source: Source,
    reporter: Reporter,
    *,
    key: str | None,
    output: str | None,
    cells: bool,
    csv_safe: bool,
    above: float | None,
    n_unusual: int,
    jobs: int,
    matched: Matched | None = None,
    known: Baseline | None = None,
) -> tuple[StreamedFindings, list[RowExplanation]]:
    """Judge and write all rows of a source; `sample` are those at `places`, which were judged out of bag.

    Returns the findings, and the `n_unusual` most unusual rows in words. `known` takes in the listed cells.
    """
    judge = BatchJudge(sample.model, key, jobs, JudgedSample(places, sample.cells), matched)
    most_written = None if output is not None and cells else MOST_KEPT
    findings, worst = StreamedFindings(sample, above), WorstRows(n_unusual)
    write: Write | None = None
    with ExitStack() as stack, naming(source.name), reporter.remarks():
        advance = stack.enter_context(reporter.bar("judging", source))
        for batch, found in stack.enter_context(closing(_judged(judge, source, reporter))):
            with reporter.stage("findings"):
                part = ScanFindings(found, above, most_written)
                findings.add(part)
                worst.add(found, batch)
                if known is not None:
                    known.add_cells(found, found.suspects(part.listed_above))
                if output is not None:
                    answers = part.cells_table() if cells else part.rows_table()
                    if write is None:
                        write = stack.enter_context(open_sink(output, answers.schema, csv_safe=csv_safe))
                    write(answers)
            advance(batch.rows.num_rows)
            del batch, found, part
        unusual = worst.findings(judge, n_unusual)
    return findings, unusual


def _judged(judge: BatchJudge, source: Source, reporter: Reporter) -> Generator[tuple[Batch, Detection], None, None]:
    """The batches of a source in order, judged one at a time: evidence takes several times the memory of the rows.
    Threads share the columns of a batch."""
    with closing(source.batches()) as batches:
        while True:
            with reporter.stage("reading"):
                batch = next(batches, None)
            if batch is None:
                return
            with reporter.stage("judging"):
                found = judge.judge(batch)
            yield batch, found
            del batch, found  # before the next one is read
