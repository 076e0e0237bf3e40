"""Compare every cell of a table with what the model expects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._forest.forest import NO_BAG
from rfod._model.cell_scores import categorical_scores, numeric_scores
from rfod._model.executor import Progress, count_threads, run_tasks, silent
from rfod._model.model import UNSEEN_SHARE, Judged, Model
from rfod._table.bins import bin_table
from rfod._table.encode import UNSEEN, encode_column
from rfod._table.table import Table

TASK_ROWS = 32_768
FEW_ROWS = 256  # starting threads takes longer than they save
SHARES_LIMIT = 4_000_000  # numbers in the table of class probabilities that a forest's AUC is computed from
LAST_CLASS = 65_535  # classes are 16 bits wide; rarer categories than that share the last one


def as_classes(codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Category codes as classes of a forest."""
    return np.minimum(codes, LAST_CLASS)


def as_block(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Codes (features, rows) as rows, at least one byte each; they stay where they are, feature after feature."""
    return codes.T if len(codes) else np.zeros((codes.shape[1], 1), dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as a model reads them, and, for rows of its training table, who must not judge them."""

    encoded: Sequence[NDArray[Any]]
    """Per modelled column."""
    block: NDArray[np.uint8]
    """Codes, row by row."""
    bag: Callable[[int], NDArray[np.uint8]] | None = None
    """Per column, (kept tree, row) 1 where the tree was grown on the row."""
    trained_as: NDArray[np.int64] | None = None
    """Where the rows stood in the training table."""

    def __len__(self) -> int:
        return len(self.block)

    def take(self, picked: NDArray[np.intp]) -> Rows:
        """Some of the rows, or some of them several times."""
        bag = self.bag
        return Rows(
            [column[picked] for column in self.encoded],
            as_block(np.ascontiguousarray(self.block.T[:, picked])),
            None if bag is None else lambda j: np.ascontiguousarray(bag(j)[:, picked]),
            None if self.trained_as is None else self.trained_as[picked],
        )

    def like(self, origin: Rows, picked: NDArray[np.intp]) -> Rows:
        """These rows as other forms of picked rows of `origin`: the same trees must not judge them."""
        other = origin.take(picked)
        return Rows(self.encoded, self.block, other.bag, other.trained_as)

    def in_bag(self, j: int) -> NDArray[np.uint8]:
        """As kernels take it: empty for rows that no tree has seen."""
        return NO_BAG if self.bag is None else self.bag(j)

    def places(self, find: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> NDArray[np.int64]:
        """`find` of the rows' places in the training table; -1 for rows that were not there."""
        return np.full(len(self), -1, dtype=np.int64) if self.trained_as is None else find(self.trained_as)


def read_rows(model: Model, table: Table) -> Rows:
    """The rows of a table that has the columns of the model, under their names."""
    return code_rows(model, [encode_column(table, column) for column in model.schema.columns])


def code_rows(model: Model, encoded: Sequence[NDArray[Any]]) -> Rows:
    """Rows from their encoded columns."""
    codes = bin_table(model.schema, model.features, encoded.__getitem__, len(encoded[0]))
    return Rows(encoded, as_block(codes))


Check = Callable[[int, Judged, NDArray[np.float64] | None], None]
"""Called as check(column, judged, shares) when all cells of a column have been judged; shares (row, category) are the
probabilities of all its categories, if these are not too many."""


def judge(
    model: Model,
    rows: Rows,
    n_jobs: int | None,
    progress: Progress = silent,
    *,
    look_around: bool = True,
    check: Check | None = None,
) -> Judged:
    """Compare every cell with what the model expects.

    Distances from the model's neighbours are measured when its row score asks for it, unless `look_around` is off.
    With a `check`, and for rows of the training table, a task is a whole column.
    """
    n_rows, n_columns = len(rows), len(model.forests)
    n_jobs = n_jobs if n_rows > FEW_ROWS else 1
    encoded, block = rows.encoded, rows.block
    cell_scores, uncertainty, local = (np.empty((n_columns, n_rows)).T for _ in range(3))  # written column by column
    nearest = np.zeros(n_rows)
    expected = tuple(np.empty(n_rows, dtype=np.int32 if forest.n_classes else np.float64) for forest in model.forests)
    judged = Judged(expected, cell_scores, uncertainty, local, nearest)

    def task(j: int, part: slice) -> None:
        forest, observed = model.forests[j], encoded[j][part]
        in_bag = rows.in_bag(j)
        shares = None
        if check is not None and 0 < n_rows * forest.n_classes <= SHARES_LIMIT:
            shares = np.empty((n_rows, forest.n_classes))
        if forest.n_classes:
            classes = as_classes(observed)
            best, out = forest.predict_classes(block[part], classes, in_bag, shares)
            cell_scores[part, j] = categorical_scores(classes, best, out[2], model.distance)
            expected[j][part] = best
            local[part, j] = np.where((observed == UNSEEN) & (best >= 0), UNSEEN_SHARE, out[3])
        else:
            out = forest.predict_values(block[part], in_bag)
            cell_scores[part, j] = numeric_scores(observed, out[0], float(model.ranges[j]))
            expected[j][part] = out[0]
            local[part, j] = np.sqrt(out[2] + out[1] ** 2)
        uncertainty[part, j] = np.where(np.isnan(out[1]), 0.0, out[1])
        if check is not None:
            check(j, judged, shares)

    def measure(part: slice) -> None:
        nearest[part] = model.neighbours.distances([column[part] for column in encoded], own[part])

    own = rows.places(model.neighbour_places)
    n_tasks = 4 * count_threads(n_jobs)
    tasks: list[Callable[[], None]] = []
    if look_around and model.params["aggregation"] == "consensus":
        _ = model.neighbours  # made once, before threads ask for it
        tasks += [partial(measure, part) for part in _parts(n_rows, n_tasks)]
    whole = [slice(0, n_rows)] if rows.bag or check else _parts(n_rows, -(-n_tasks // n_columns))
    # the longest come first, so that no thread has to wait long for the last one
    by_size = sorted(range(n_columns), key=lambda j: -len(model.forests[j].trees.words))
    tasks += [partial(task, j, part) for part in whole for j in by_size]
    run_tasks(tasks, n_jobs, "judging", progress)
    return judged


def _parts(n_rows: int, n_wanted: int) -> list[slice]:
    """Rows in about so many parts, none too large."""
    size = max(1, min(TASK_ROWS, -(-n_rows // n_wanted)))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
