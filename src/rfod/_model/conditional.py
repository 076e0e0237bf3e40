"""What a cell should have been, as a range or a list: read off the training rows that share its leaves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rfod._forest.leaf_sample import LeafSample, gather
from rfod._model.judge import Rows, code_rows
from rfod._model.model import Model

Floats = NDArray[np.float64]
ROWS_TOGETHER = 256
LEAST = 1e-9


class Conditional:
    """The model's sample of training rows, sorted into the leaves of its forests, column by column when asked."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._sample = code_rows(model, model.sample.values)
        self._companies: dict[int, LeafSample] = {}

    def company(self, j: int) -> LeafSample:
        """Who in the sample shares the leaves of column j's forest."""
        if j not in self._companies:
            values = self._model.sample.values[j]
            present = values >= 0 if self._model.is_categorical[j] else np.isfinite(values)
            self._companies[j] = gather(self._model.forests[j], self._sample.block, np.flatnonzero(present))
        return self._companies[j]

    def interval(self, rows: Rows, j: int, level: float) -> tuple[Floats, Floats]:
        """Between which values numeric column j lies in the share `level` of rows like each row; NaN without company.

        Every row of the sample counts by how often it shares a leaf with the row, which gives a distribution. How much
        of its middle it takes to hold the share `level` was measured on training rows, out of bag.
        """
        known = self._model.interval_calibration[j]
        rank = int(np.ceil((len(known) + 1) * level))
        middle = float(known[rank - 1]) if 0 < rank <= len(known) else 1.0
        values = self._model.sample.values[j]
        order = np.argsort(values, kind="stable")  # gaps and infinities have no weight
        low, high = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
        for part, weights in self._weights(rows, j):
            reached = np.cumsum(weights[:, order], axis=1)
            last = np.maximum(reached[:, -1:], LEAST)
            first = np.argmax(reached >= np.maximum((1 - middle) / 2 * last - LEAST, LEAST), axis=1)
            beyond = np.argmax(reached >= np.minimum((1 + middle) / 2 * last + LEAST, last - LEAST), axis=1)
            has_company = reached[:, -1] > 0
            low[part] = np.where(has_company, values[order[first]], np.nan)
            high[part] = np.where(has_company, values[order[beyond]], np.nan)
        return low, high

    def offset(self, rows: Rows, j: int) -> Floats:
        """How far from the middle of its distribution each row's value of numeric column j lies: 0 for the median, 1
        for a value beyond all others; NaN where there is no value or no company."""
        own, in_bag = rows.places(self._model.sample.places), rows.in_bag(j)
        below, up_to = self.company(j).places(
            rows.block, own, in_bag, self._model.sample.values[j], observed := rows.encoded[j]
        )
        off = 2 * np.maximum(np.maximum(below - 0.5, 0.5 - up_to), 0.0)
        return np.where(np.isfinite(observed), np.minimum(off, 1.0), np.nan)

    def _weights(self, rows: Rows, j: int) -> Iterator[tuple[slice, Floats]]:
        """(row, row of the sample), a few rows at a time."""
        own, in_bag, company = rows.places(self._model.sample.places), rows.in_bag(j), self.company(j)
        for start in range(0, len(rows), ROWS_TOGETHER):
            part = slice(start, start + ROWS_TOGETHER)
            yield part, company.weights(rows.block[part], own[part], in_bag[:, part])

    def shares(self, rows: Rows, j: int) -> Floats:
        """(row, category): probability of every category of column j, given the rest of each row."""
        return self._model.forests[j].predict_shares(rows.block, rows.in_bag(j))
