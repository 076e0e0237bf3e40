"""Compare every cell of a table with what its forest predicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rfod._decisions.settled import SettledCells
from rfod._forest.forest import NO_BAG, Forest, Target
from rfod._model.calibrate import UNSEEN_SHARE
from rfod._model.executor import Executor, Progress, Threads, silent
from rfod._model.model import ColumnForest, JudgedCells, MeasuredRows, Model, Reference
from rfod._model.scores import categorical_scores, numeric_scores
from rfod._table.bins import bin_table
from rfod._table.encode import UNSEEN, encode_column
from rfod._table.table import Table

Floats = NDArray[np.float64]
Part = tuple[int, slice]
"""Column number, or `WHOLE_ROWS`, and rows: one task."""
WHOLE_ROWS = -1
TASK_ROWS = 32_768
FEW_ROWS = 256  # starting threads takes longer than they save
LAST_CLASS = 65_535  # classes are 16 bits wide; rarer categories than that share the last one


def as_classes(codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Category codes as classes of a forest."""
    return np.minimum(codes, LAST_CLASS)


def as_block(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Codes (features, rows) as a view (rows, features), with at least one feature."""
    return codes.T if len(codes) else np.zeros((codes.shape[1], 1), dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class Bags:
    """Which trees of a model were grown on which rows of its training table."""

    forests: Sequence[Forest]
    targets: Sequence[Target]
    seed: int
    n_rows: int

    def of(self, j: int) -> NDArray[np.uint8]:
        """(kept tree, row of the training table) 1 where the tree of column j was grown on the row. The tree of a
        constant is one leaf: it has nothing to learn from any row."""
        target = self.targets[j]
        return self.forests[j].bags(self.seed, target.rows[:0] if target.constant else target.rows, self.n_rows)


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows as a model reads them, and, for rows of its training table, which trees must not judge them."""

    encoded: Sequence[NDArray[Any]]
    """Per modelled column."""
    block: NDArray[np.uint8]
    """Codes, (rows, features)."""
    bags: Bags | None = None
    """Of rows of the training table."""
    _picked: NDArray[np.int64] | None = None
    """Positions in the training table; None, with bags, stands for all of its rows in order."""

    def __len__(self) -> int:
        return len(self.block)

    def take(self, picked: NDArray[np.intp] | slice) -> EncodedRows:
        """Some of the rows, a row may occur several times; or, not copied, a slice of them."""
        block = as_block(np.ascontiguousarray(self.block.T[:, picked]))
        return EncodedRows([column[picked] for column in self.encoded], block).like(self, picked)

    def like(self, others: EncodedRows, picked: NDArray[np.intp] | slice) -> EncodedRows:
        """These rows as variants of picked ones of the others: the same trees must not judge them."""
        if others.bags is None:
            return self
        return EncodedRows(self.encoded, self.block, others.bags, others.training_rows[picked])

    def in_bag(self, j: int) -> NDArray[np.uint8]:
        """(kept tree, row) 1 where the tree of column j was grown on the row; empty for rows of other tables."""
        return NO_BAG if self.bags is None else self.select(self.bags.of(j))

    def select(self, in_bag: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """These rows of an array (kept tree, row of the training table)."""
        return in_bag if self._picked is None else np.take(in_bag, self._picked, axis=1)

    @property
    def training_rows(self) -> NDArray[np.int64]:
        """Positions of the rows in the training table; -1 for rows of other tables."""
        if self.bags is None:
            return np.full(len(self), -1, dtype=np.int64)
        return np.arange(len(self)) if self._picked is None else self._picked


def read_rows(model: Model, table: Table) -> EncodedRows:
    """The rows of a table that has the columns of the model, under their names."""
    return code_rows(model, [encode_column(table, column) for column in model.schema.columns])


def code_rows(model: Model, encoded: Sequence[NDArray[Any]]) -> EncodedRows:
    """Rows from their encoded columns."""
    return EncodedRows(encoded, as_block(bin_table(model.features, encoded)))


class JudgedColumn(NamedTuple):
    """Cells of one column: see `JudgedCells`. All arrays have one number per row."""

    expected: NDArray[Any]
    cell_scores: Floats
    uncertainty: Floats
    spread_or_share: Floats
    expected_share: Floats


@dataclass(frozen=True, eq=False)
class Comparison:
    """Rows and the forests that judge their cells. Tasks work on parts of it; it can be pickled."""

    columns: Sequence[ColumnForest]
    distance: str
    rows: EncodedRows
    reference: tuple[Reference, NDArray[np.int64]] | None = None
    """If whole rows are compared: the sample, and the rows' own positions in it, -1 for others."""

    def executor(self, executor: Executor) -> Executor:
        """The executor itself, unless there are few rows."""
        return executor if len(self.rows) > FEW_ROWS else Threads(1)

    def parts(self, n_workers: int) -> list[Part]:
        """Tasks for so many workers. For rows of the training table a task is a whole column, since the trees that
        must not judge them are found for all rows together."""
        n_rows, n_tasks = len(self.rows), 4 * n_workers
        whole_rows = [] if self.reference is None else [(WHOLE_ROWS, part) for part in _slices(n_rows, n_workers)]
        slices = [slice(0, n_rows)] if self.rows.bags else _slices(n_rows, -(-n_tasks // len(self.columns)))
        # the longest come first, so that no worker has to wait long for the last one
        by_size = sorted(range(len(self.columns)), key=lambda j: -len(self.columns[j].forest.trees.words))
        return whole_rows + [(j, part) for part in slices for j in by_size]

    def cells(
        self, j: int, part: slice, in_bag: NDArray[np.uint8] = NO_BAG, shares: Floats | None = None
    ) -> JudgedColumn:
        """Judge cells of column j; `shares`, (rows, categories), receives the probabilities of all categories."""
        column, observed, block = self.columns[j], self.rows.encoded[j][part], self.rows.block[part]
        if column.forest.n_classes:
            classes = as_classes(observed)
            expected, out = column.forest.predict_classes(block, classes, in_bag, shares)
            scores = categorical_scores(classes, expected, out[2], self.distance)
            share = np.where((observed == UNSEEN) & (expected >= 0), UNSEEN_SHARE, out[3])
            return JudgedColumn(expected, scores, np.where(np.isnan(out[1]), 0.0, out[1]), share, out[0])
        out = column.forest.predict_values(block, in_bag)
        scores = numeric_scores(observed, out[0], column.value_range)
        spread, certain = np.sqrt(out[2] + out[1] ** 2), np.broadcast_to(np.nan, len(observed))
        return JudgedColumn(out[0], scores, np.where(np.isnan(out[1]), 0.0, out[1]), spread, certain)

    def measure(self, part: slice) -> MeasuredRows:
        """Whole rows against the sample."""
        assert self.reference is not None
        reference, own = self.reference
        return reference.measure([column[part] for column in self.rows.encoded], own[part])

    def collect(self, parts: Iterable[Part], results: Iterable[JudgedColumn | MeasuredRows]) -> JudgedCells:
        """All cells, from the results of all parts."""
        n_rows, n_columns = len(self.rows), len(self.columns)
        expected = tuple(
            np.empty(n_rows, dtype=np.int32 if column.forest.n_classes else np.float64) for column in self.columns
        )
        # column after column in memory, as they are written
        scores, uncertainty, spread_or_share, expected_share = arrays = [
            np.empty((n_columns, n_rows)).T for _ in range(4)
        ]
        nearest, rarity = np.zeros((2, n_rows))
        in_line = np.zeros((n_columns, n_rows), dtype=np.bool_).T
        for (j, part), result in zip(parts, results, strict=True):
            if isinstance(result, JudgedColumn):
                expected[j][part] = result.expected
                for array, values in zip(arrays, result[1:], strict=True):
                    array[part, j] = values
            else:
                nearest[part], rarity[part], in_line[part] = result
        return JudgedCells(expected, scores, uncertainty, spread_or_share, expected_share, nearest, rarity, in_line)


def judge(
    model: Model, rows: EncodedRows, executor: Executor, progress: Progress = silent, *, with_rows: bool = True
) -> JudgedCells:
    """Compare every cell with what the model expects, and whole rows with the model's sample if its row score needs
    that, unless `with_rows` is off."""
    reference = None
    if with_rows and model.params["aggregation"] == "consensus":
        reference = model.reference, model.sample.find(rows.training_rows)
    return compare(Comparison(model.columns, model.params["distance"], rows, reference), executor, progress)


def compare(comparison: Comparison, executor: Executor, progress: Progress = silent) -> JudgedCells:
    """Judge all cells of a comparison."""
    executor = comparison.executor(executor)
    parts, handles = comparison.parts(executor.n_workers), [executor.share(comparison)]
    return comparison.collect(parts, executor.map(_judge, parts, handles, progress=partial(progress, "judging")))


def settle(model: Model, rows: EncodedRows, cells: JudgedCells, decided: SettledCells) -> None:
    """Take back what was judged of cells that a person has decided about: no score, no surprise; and their rows
    are measured with what was expected in their place."""
    settled = decided.masks
    is_measured = model.params["aggregation"] == "consensus"
    touched = np.zeros(len(rows), dtype=np.bool_)
    for j, column in enumerate(model.schema.columns):
        if column.name in settled:
            cells.cell_scores[settled[column.name], j] = np.nan
            cells.spread_or_share[settled[column.name], j] = np.nan
            touched |= settled[column.name]
    picked = np.flatnonzero(touched)
    if not is_measured or not len(picked):
        return
    values = []
    for column, encoded, expected in zip(model.schema.columns, rows.encoded, cells.expected, strict=True):
        own, instead = encoded[picked], expected[picked]
        is_known = instead >= 0 if column.is_categorical else np.isfinite(instead)
        is_settled = settled.get(column.name, np.zeros(len(rows), dtype=np.bool_))[picked]
        values.append(np.where(is_settled & is_known, instead, own).astype(encoded.dtype, copy=False))
    measured = model.reference.measure(values, model.sample.find(rows.training_rows[picked]))
    cells.nearest[picked], cells.rarity[picked], cells.in_line[picked] = measured


def _judge(part: Part, comparison: Comparison) -> JudgedColumn | MeasuredRows:
    j, rows = part
    if j == WHOLE_ROWS:
        return comparison.measure(rows)
    return comparison.cells(j, rows, comparison.rows.in_bag(j))


def _slices(n_rows: int, n_wanted: int) -> list[slice]:
    """Rows in about so many parts, none too large."""
    size = max(1, min(TASK_ROWS, -(-n_rows // n_wanted)))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
