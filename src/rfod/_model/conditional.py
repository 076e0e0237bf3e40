"""What a cell should have been, as an interval or a distribution: from the training rows that share its leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._forest.forest import Forest
from rfod._forest.leaf_sample import LeafSample, gather
from rfod._model.judge import EncodedRows, code_rows
from rfod._model.model import Model

Floats = NDArray[np.float64]
BATCH_ROWS = 256
SMALLEST_WEIGHT = 1e-9


def sort_into_leaves(forest: Forest, values: NDArray[Any], block: NDArray[np.uint8]) -> LeafSample:
    """The rows of a sample that have a value of the forest's column, by leaves of its trees."""
    present = values >= 0 if forest.n_classes else np.isfinite(values)
    return gather(forest, block, np.flatnonzero(present))


def middle_offsets(
    leaf_sample: LeafSample,
    values: Floats,
    rows: EncodedRows,
    j: int,
    own: NDArray[np.int64],
    in_bag: NDArray[np.uint8],
) -> Floats:
    """How far from the middle of its distribution each row's value of numeric column j lies: 0 for the median, 1 for a
    value beyond all others; NaN where there is no value, or no row of the sample shares a leaf.

    `values` are those of the sample, `own` the rows' own positions in the sample, -1 for rows that are not in it.
    """
    observed = rows.encoded[j]
    below, up_to = leaf_sample.weights_up_to(rows.block, own, in_bag, values, observed)
    offset = 2 * np.maximum(np.maximum(below - 0.5, 0.5 - up_to), 0.0)
    return np.where(np.isfinite(observed), np.minimum(offset, 1.0), np.nan)


class Conditional:
    """Conditional distributions of cells; the model's sample is sorted into the leaves of a forest when first used."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._sample = code_rows(model, model.sample.values)
        self._leaf_samples: dict[int, LeafSample] = {}

    def interval(self, rows: EncodedRows, j: int, level: float) -> tuple[Floats, Floats]:
        """Between which values numeric column j lies in the share `level` of rows like each row; NaN where no row of
        the sample shares a leaf.

        Every row of the sample counts by how often it shares a leaf with the row, which gives a distribution. How much
        of its middle it takes to hold the share `level` was measured on training rows, out of bag.
        """
        known = self._model.columns[j].offsets
        rank = int(np.ceil((len(known) + 1) * level))
        middle = float(known[rank - 1]) if 0 < rank <= len(known) else 1.0
        values = self._model.sample.values[j]
        order = np.argsort(values, kind="stable")  # gaps and infinities have no weight
        low, high = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
        for part, weights in self._weights(rows, j):
            reached = np.cumsum(weights[:, order], axis=1)
            last = np.maximum(reached[:, -1:], SMALLEST_WEIGHT)
            lower = np.maximum((1 - middle) / 2 * last - SMALLEST_WEIGHT, SMALLEST_WEIGHT)
            upper = np.minimum((1 + middle) / 2 * last + SMALLEST_WEIGHT, last - SMALLEST_WEIGHT)
            has_weight = reached[:, -1] > 0
            low[part] = np.where(has_weight, values[order[np.argmax(reached >= lower, axis=1)]], np.nan)
            high[part] = np.where(has_weight, values[order[np.argmax(reached >= upper, axis=1)]], np.nan)
        return low, high

    def shares(self, rows: EncodedRows, j: int) -> Floats:
        """(row, category): probability of every category of column j, given the rest of each row."""
        return self._model.forests[j].predict_shares(rows.block, rows.in_bag(j))

    def _weights(self, rows: EncodedRows, j: int) -> Iterator[tuple[slice, Floats]]:
        """(row, row of the sample), in batches."""
        if j not in self._leaf_samples:
            values = self._model.sample.values[j]
            self._leaf_samples[j] = sort_into_leaves(self._model.forests[j], values, self._sample.block)
        own, in_bag = self._model.sample.find(rows.training_rows), rows.in_bag(j)
        for start in range(0, len(rows), BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)
            yield part, self._leaf_samples[j].weights(rows.block[part], own[part], in_bag[:, part])
