"""Compare every cell of a table with what the model expects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._forest.forest import NO_BAG
from rfod._run.executors import Progress, run_tasks, silent
from rfod._score.cells import categorical_scores, numeric_scores
from rfod._table.binning import bin_table
from rfod._table.encode import encode_column
from rfod._table.frames import Table
from rfod.model import Judged, Model

TASK_ROWS = 16_384
LAST_CLASS = 65_535  # classes are 16 bits wide; rarer categories than that share the last one


def as_classes(codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Category codes as classes of a forest."""
    return np.minimum(codes, LAST_CLASS)


def as_block(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Codes (features, rows) as trees read them: row by row, at least one byte each."""
    return np.ascontiguousarray(codes.T) if len(codes) else np.zeros((codes.shape[1], 1), dtype=np.uint8)


def judge_table(model: Model, table: Table, n_jobs: int | None, progress: Progress = silent) -> Judged:
    """Judge the rows of a table that has the columns of the model, under their names."""
    encoded = [encode_column(table, column) for column in model.columns]
    codes = bin_table(model.schema, model.features, encoded.__getitem__, table.n_rows)
    return judge(model, encoded, as_block(codes), n_jobs, progress)


def judge(
    model: Model,
    encoded: Sequence[NDArray[Any]],
    block: NDArray[np.uint8],
    n_jobs: int | None,
    progress: Progress = silent,
    bag: Callable[[int], NDArray[np.uint8]] | None = None,
) -> Judged:
    """Judge encoded rows. For training rows `bag` gives, per column, which trees have seen them: those do not judge."""
    n_rows, n_columns = len(block), len(model.forests)
    cell_scores = np.empty((n_rows, n_columns))
    uncertainty = np.empty((n_rows, n_columns))
    expected = tuple(np.empty(n_rows, dtype=np.int32 if forest.n_classes else np.float64) for forest in model.forests)

    def task(j: int, part: slice) -> None:
        forest, observed = model.forests[j], encoded[j][part]
        in_bag = bag(j) if bag else NO_BAG
        if forest.n_classes:
            classes = as_classes(observed)
            best, out = forest.predict_classes(block[part], classes, in_bag)
            cell_scores[part, j] = categorical_scores(classes, best, out[2], model.distance)
            expected[j][part] = best
        else:
            out = forest.predict_values(block[part], in_bag)
            cell_scores[part, j] = numeric_scores(observed, out[0], float(model.ranges[j]))
            expected[j][part] = out[0]
        uncertainty[part, j] = np.where(np.isnan(out[1]), 0.0, out[1])

    rows_per_task = n_rows if bag else min(TASK_ROWS, -(-n_rows // 4))
    parts = [slice(start, min(start + rows_per_task, n_rows)) for start in range(0, n_rows, max(1, rows_per_task))]
    tasks = [partial(task, j, part) for part in parts for j in range(n_columns)]
    run_tasks(tasks, n_jobs, "judging", progress)
    return Judged(expected, cell_scores, uncertainty)
