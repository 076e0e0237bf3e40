"""Rows by their values alone: how far out each value is in its column, and sizes that go with the other sizes of a row.

Forests cannot predict beyond the values they have seen, so in a table of counts the largest rows look wrong in every
column: a large country has a large population, a large area and many cars. Sizes that are large together, each as the
others let expect, are *in line* and count as ordinary in the row score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

TAIL_SHARE = 0.02  # of the values of a column, the largest and the smallest, that tails are fitted to
FEWEST_IN_TAIL = 10
CARRIED = 2.0  # times the decades that n values show is as rare as any value gets
MOST_SIZES = 64  # columns that are compared with each other
FEWEST_SIZES = 20  # distinct values of a column of sizes, and some more
HEAVY = 5.0  # times the median, that the largest value of a column of sizes exceeds
LARGE = 0.97  # share of the values that a large one exceeds
IN_LINE = 0.95  # share of the sample whose sizes count as going with each other


@dataclass(frozen=True, eq=False)
class NumberMargin:
    """Distribution of the values of a numeric column, beyond its ends continued by exponential tails."""

    known: Floats
    """Values of the sample, ascending."""

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """Per value of the sample, how many are at most it."""
        return np.searchsorted(self.known, self.known, side="right")

    @cached_property
    def _by_rank(self) -> tuple[Floats, Floats]:
        """Rarity by how many values are as far out: of rows that are not in the sample, and of those that are."""
        n = len(self.known)
        n_as_far = 2.0 * (np.arange(n + 1) + 1.0)
        return np.log10((n + 1.0) / np.minimum(n + 1.0, n_as_far)), np.log10(n / np.minimum(n, n_as_far))

    def rarity(self, values: Floats, is_own: Mask) -> Floats:
        """-log10 of the share of values that are as far out on either side; 0 for gaps. Values of rows that are in the
        sample (`is_own`) are compared with the others."""
        n = len(self.known)
        if n < 2:
            return np.zeros(len(values))
        n_smaller = np.searchsorted(self.known, values, side="left")
        place = np.minimum(n_smaller, n - 1)
        n_below = np.where(self.known[place] == values, self._ends[place], n_smaller) - is_own
        n_further = np.maximum(np.minimum(n - n_smaller - is_own, n_below), 0)
        found = np.where(is_own, self._by_rank[1][n_further], self._by_rank[0][n_further])
        n_tail = min(max(FEWEST_IN_TAIL, int(TAIL_SHARE * n)), n - 1)
        for known, outside, sign in (
            (self.known, values > self.known[n - n_tail - 1], 1),
            (-self.known[::-1], values < self.known[n_tail], -1),
        ):
            rows = np.flatnonzero(outside)
            if len(rows):
                found[rows] = np.maximum(found[rows], _beyond(known, n_tail, sign * values[rows], is_own[rows]))
        return np.where(np.isnan(values), 0.0, np.minimum(found, CARRIED * np.log10(n + 1.0)))


def _beyond(known: Floats, n_tail: int, values: Floats, is_own: Mask) -> Floats:
    """Rarity of values beyond the start of the upper tail, by its mean excess."""
    start = known[len(known) - n_tail - 1]
    total = float(np.sum(known[len(known) - n_tail :] - start))
    excess = values - start
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        mean = np.where(is_own, (total - excess) / max(1, n_tail - 1), total / n_tail)
        further = np.log10((len(known) + 1.0) / (2.0 * (n_tail + 1.0))) + excess / mean / np.log(10)
    return np.where(mean > 0, further, 0.0)


@dataclass(frozen=True, eq=False)
class CategoryMargin:
    """How many rows of the sample have a category that is no commoner than each."""

    no_commoner: NDArray[np.int64]
    n_known: int

    def rarity(self, values: NDArray[np.int32], is_own: Mask) -> Floats:
        """-log10 of the share of rows with no commoner a category; 0 for gaps."""
        if not self.n_known:
            return np.zeros(len(values))
        count = np.where(values >= 0, self.no_commoner[np.clip(values, 0, len(self.no_commoner) - 1)], 0)
        count = np.where(values < len(self.no_commoner), count, 0)
        found = np.log10((self.n_known - is_own + 1.0) / (np.maximum(count - is_own, 0) + 1.0))
        return np.where(values == -1, 0.0, found)


@dataclass(frozen=True)
class SizeLine:
    """A column of sizes and the one that it follows most closely: a line between their logarithms, fitted to the larger
    half of the latter, since small counts are rounded."""

    column: int
    partner: int
    slope: float
    offset: float
    floors: tuple[float, float]
    """The smallest sizes above 0 of the column and its partner, which 0 counts as."""
    low: float
    high: float
    """Between which distances from the line `IN_LINE` of that half lie."""
    large: float
    """From which value on a size is large."""

    def agrees(self, encoded: Sequence[NDArray[Any]]) -> Mask:
        """(rows,): which sizes are as their partners let expect."""
        floor, partner_floor = self.floors
        distance = (
            _log(encoded[self.column], floor) - self.offset - self.slope * _log(encoded[self.partner], partner_floor)
        )
        return np.asarray((distance >= self.low) & (distance <= self.high))


@dataclass(frozen=True, eq=False)
class Margins:
    """The columns of a sample, each by itself, and its sizes."""

    columns: Sequence[NumberMargin | CategoryMargin | None]
    """None for moments: those of new rows are later than all."""
    lines: Sequence[SizeLine]

    def in_line(self, encoded: Sequence[NDArray[Any]]) -> Mask:
        """(rows, columns): sizes that go with the others, of rows where at least two such are large."""
        n_rows = len(encoded[0])
        found, n_large = np.zeros((len(encoded), n_rows), dtype=np.bool_), np.zeros(n_rows, dtype=np.int64)
        for line in self.lines:
            found[line.column] = line.agrees(encoded)
            n_large += found[line.column] & (encoded[line.column] >= line.large)
        found &= n_large >= 2
        return found.T

    def rarity(self, encoded: Sequence[NDArray[Any]], is_own: Mask, in_line: Mask) -> Floats:
        """(rows,): largest rarity of the values of each row, but for those in line."""
        found = np.zeros(len(is_own))
        for j, column in enumerate(self.columns):
            if column is not None:
                np.maximum(found, np.where(in_line[:, j], 0.0, column.rarity(encoded[j], is_own)), out=found)
        return found


def margins(values: Sequence[NDArray[Any]], is_categorical: NDArray[np.bool_], is_moment: NDArray[np.bool_]) -> Margins:
    """What is kept of the columns of a sample, given encoded."""
    columns: list[NumberMargin | CategoryMargin | None] = []
    for j, column in enumerate(values):
        if is_categorical[j]:
            columns.append(_category_margin(column))
        else:
            columns.append(None if is_moment[j] else NumberMargin(np.sort(column[np.isfinite(column)])))
    sizes = [j for j in range(len(values)) if not (is_categorical[j] or is_moment[j]) and is_size(values[j])]
    return Margins(columns, size_lines(values, sizes[:MOST_SIZES]))


def is_size(values: Floats) -> bool:
    """Whether a column holds sizes: no negative number, many values, and the largest far above the median."""
    known = values[np.isfinite(values)]
    if not len(known) or known.min() < 0 or known.max() <= HEAVY * np.median(known):
        return False
    return len(np.unique(known)) > FEWEST_SIZES


def size_lines(values: Sequence[NDArray[Any]], sizes: Sequence[int]) -> list[SizeLine]:
    """A line for each column of sizes; none where there is one only."""
    if len(sizes) < 2:
        return []
    floors = [float(np.min(values[j], where=values[j] > 0, initial=np.inf)) for j in sizes]
    logs = [_log(values[j], floor) for j, floor in zip(sizes, floors, strict=True)]
    centred = [np.where(np.isfinite(log), log - _mean(log), 0.0) for log in logs]
    scaled = [log / np.sqrt(max(float(np.sum(log * log)), 1e-300)) for log in centred]
    lines = []
    for i, j in enumerate(sizes):
        # sums of products column by column, in order: no library that adds in another order on other threads
        likeness = [-1.0 if k == i else abs(float(np.sum(scaled[i] * scaled[k]))) for k in range(len(sizes))]
        k = int(np.argmax(likeness))
        both = np.isfinite(logs[i]) & np.isfinite(logs[k])
        both &= logs[k] >= np.median(logs[k][both]) if both.any() else False
        x, y = logs[k][both], logs[i][both]
        if not len(x):
            continue
        around = x - x.mean()
        slope = float(np.sum(around * (y - y.mean()))) / max(float(np.sum(around * around)), 1e-300)
        offset = float(y.mean() - slope * x.mean())
        low, high = np.quantile(y - offset - slope * x, [0.5 - IN_LINE / 2, 0.5 + IN_LINE / 2]).tolist()
        known = values[j][np.isfinite(values[j])]
        large = float(np.quantile(known, LARGE))
        lines.append(SizeLine(j, sizes[k], slope, offset, (floors[i], floors[k]), low, high, large))
    return lines


def _category_margin(codes: NDArray[np.int32]) -> CategoryMargin:
    counts = np.bincount(codes[codes >= 0])
    order = np.argsort(counts, kind="stable")
    upto = np.cumsum(counts[order])
    last = np.searchsorted(counts[order], counts, side="right") - 1
    return CategoryMargin(upto[last] if len(counts) else np.zeros(1, dtype=np.int64), int(counts.sum()))


def _log(values: Floats, floor: float) -> Floats:
    """Logarithms of sizes, 0 counting as the floor; NaN where there is none."""
    with np.errstate(invalid="ignore"):
        return np.log(np.where((values >= 0) & np.isfinite(values), np.maximum(values, floor), np.nan))


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else 0.0
