"""Which columns predict a column of a wide table: those that say most about it, and a few drawn by lot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rfod._forest.mutual_information import coarsen, mutual_information, n_coarse_bins
from rfod._model.executor import Executor
from rfod._table.bins import Feature

SCREENED_ROWS = 4_096  # 1,000 columns: 2 s
DRAWN_SHARE = 1 / 8  # of the predictors: for what pairs of columns do not show
TASK_COLUMNS = 32


@dataclass(frozen=True)
class _Screen:
    """Coarse bins of all features over a sample of the rows."""

    bins: NDArray[np.uint8]  # (features, rows)
    column: NDArray[np.int64]  # (features,): the column each was made from
    value: NDArray[np.int64]  # (columns,): the feature that has the values of the column; -1 where there is none
    most: int
    seed: int

    def predictors_of(self, target: int) -> NDArray[np.int64]:
        """The columns that predict a target, ascending. Those of equal information come in the order of the table."""
        information = np.full(len(self.value), -np.inf)
        if self.value[target] >= 0:
            np.maximum.at(information, self.column, mutual_information(self.bins[self.value[target]], self.bins))
        has_feature = np.bincount(self.column, minlength=len(self.value)) > 0
        has_feature[target] = False
        usable = np.flatnonzero(has_feature)
        order = usable[np.argsort(-information[usable], kind="stable")]
        n_drawn = int(DRAWN_SHARE * self.most)
        best, others = np.split(order, [self.most - n_drawn])
        lots = np.random.default_rng([self.seed, target]).permutation(others)
        return np.sort(np.concatenate([best, lots[:n_drawn]]))


def choose_predictors(
    features: Sequence[Feature],
    codes: NDArray[np.uint8],
    n_columns: int,
    most: int | None,
    seed: int,
    executor: Executor,
) -> tuple[NDArray[np.int64], ...] | None:
    """Per column, at most so many others that predict it; None where there are no more than that, or no limit. `codes`
    are those of the features, (features, rows)."""
    if most is None or n_columns - 1 <= most:
        return None
    sampled: NDArray[np.int64] | slice = slice(None)
    n_rows = codes.shape[1]
    if n_rows > SCREENED_ROWS:
        sampled = np.sort(np.random.default_rng(seed).choice(n_rows, SCREENED_ROWS, replace=False, shuffle=False))
        n_rows = SCREENED_ROWS
    bins = np.empty((len(features), n_rows), dtype=np.uint8)
    value = np.full(n_columns, -1, dtype=np.int64)
    for f, feature in enumerate(features):
        bins[f] = coarsen(codes[f][sampled], n_coarse_bins(n_rows), feature.is_categorical)
        if feature.part == "value":
            value[feature.column] = f
    column = np.array([feature.column for feature in features], dtype=np.int64)
    screen = executor.share(_Screen(bins, column, value, most, seed))
    runs = [(first, min(first + TASK_COLUMNS, n_columns)) for first in range(0, n_columns, TASK_COLUMNS)]
    return tuple(own for part in executor.map(_choose, runs, [screen]) for own in part)


def _choose(run: tuple[int, int], screen: _Screen) -> list[NDArray[np.int64]]:
    return [screen.predictors_of(target) for target in range(*run)]
