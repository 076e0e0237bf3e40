"""Quantiles of more numbers than fit into memory: a stack of sorted buffers, each standing for twice the one below."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CAPACITY = 4096


class QuantileSketch:
    """Mergeable; the rank of an answer is off by about log2(n / CAPACITY) / CAPACITY of n, 0.3 % at a billion numbers.

    Numbers are kept as they are until there are more than CAPACITY; then a full buffer is sorted and every second
    number (the odd or the even ones, by a seeded coin) moves up a level, where it counts twice.
    """

    def __init__(self, seed: int = 0) -> None:
        self._levels: list[Floats] = [np.zeros(0)]
        self._random = np.random.default_rng(seed)
        self.n = 0
        self.low, self.high = np.inf, -np.inf

    def add(self, values: Floats) -> None:
        """Take in numbers; NaN is left out."""
        values = values[~np.isnan(values)]
        if not len(values):
            return
        self.n += len(values)
        self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        self._levels[0] = np.concatenate([self._levels[0], values])
        self._compact()

    def merge(self, other: QuantileSketch) -> None:
        """Take in what another sketch has seen."""
        self.n += other.n
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        for level, values in enumerate(other._levels):
            if level == len(self._levels):
                self._levels.append(np.zeros(0))
            self._levels[level] = np.concatenate([self._levels[level], values])
        self._compact()

    def _compact(self) -> None:
        level = 0
        while level < len(self._levels):
            values = self._levels[level]
            if len(values) > CAPACITY:
                values = np.sort(values)
                odd = values[len(values) - len(values) % 2 :]  # an odd one out stays where it is
                values = values[: len(values) - len(values) % 2]
                if level + 1 == len(self._levels):
                    self._levels.append(np.zeros(0))
                chosen = values[int(self._random.integers(2)) :: 2]
                self._levels[level + 1] = np.concatenate([self._levels[level + 1], chosen])
                self._levels[level] = odd
            level += 1

    def quantiles(self, shares: Floats) -> Floats:
        """The numbers that these shares of all numbers do not exceed; NaN where there are none."""
        if not self.n:
            return np.full(len(shares), np.nan)
        values = np.concatenate(self._levels)
        weights = np.concatenate([np.full(len(part), 2.0**level) for level, part in enumerate(self._levels)])
        order = np.argsort(values, kind="stable")
        ends = np.cumsum(weights[order])
        places = np.searchsorted(ends, np.asarray(shares) * ends[-1], side="left")
        answer = values[order][np.minimum(places, len(values) - 1)]
        return np.where(shares <= 0, self.low, np.where(shares >= 1, self.high, answer))
