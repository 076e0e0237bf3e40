"""Surprise and p-values: what a score means, measured on training cells and rows that were judged out of bag.

A cell first has a *strangeness* in the measure of its own column: the residual in units of its local spread, or the
probability of all categories that are no likelier. Surprise is -log10 of the share of the training cells of the column
that are at least as strange, continued by a fitted tail, a few decades beyond the strangest at most. docs/surprise.md
has the formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from rfod._model.model import ColumnForest, ColumnModel, JudgedCells

Floats = NDArray[np.float64]

TAIL_SHARE = 0.02  # of the training cells, the strangest, that the tail is fitted to
FEWEST_IN_TAIL = 10
CAUTION = 1.64  # standard errors by which the tail is taken to be heavier than it looks
STEEPEST = 4.0  # decades of probability per e-fold of strangeness, at most
RAREST = 1e-5  # smaller probabilities of categories count as equal
RAREST_IN_ROWS = 1e-3  # the same, where the cells of a row are summed up
SMALLEST_RESIDUAL = 0.1  # in spreads; smaller residuals count as equal
SMALLEST_FLOOR = 1e-6  # of the range of a column
CARRIED = 2.0  # decades beyond 1 / n that a tail is continued by, at most, for each decade of n
MOST_DECIMALS = 9
USUAL = 0.95  # share of the values of a column that have its usual decimals, at least
ROUNDING = 2e-7  # of a value: what float32 leaves of it, and some more
UNSEEN_SHARE = -1.0  # in place of a probability: a category that training never saw


def numeric_strangeness(residual: Floats, local_spread: Floats, floor: float) -> Floats:
    """log of |observed - expected| / sqrt(local spread² + floor²), at least of `SMALLEST_RESIDUAL`; NaN where there is
    no residual."""
    return np.log(np.maximum(residual / np.hypot(local_spread, floor), SMALLEST_RESIDUAL))


def categorical_strangeness(no_likelier: Floats, rarest: float = RAREST) -> Floats:
    """-log10 of the probability of all categories that are no likelier than the observed one."""
    return -np.log10(np.maximum(no_likelier, 0.0) + rarest)


def strangeness(column: ColumnForest, floor: float, scores: Floats, spread_or_share: Floats) -> Floats:
    """How unusual cells of a column are, in the column's own measure; NaN where there is nothing to compare."""
    if column.value_range == 0:  # a constant, or another value
        return np.minimum(scores, 1.0)
    if column.column.is_categorical:
        return np.where(np.isnan(scores), np.nan, categorical_strangeness(spread_or_share))
    return numeric_strangeness(scores * column.value_range, spread_or_share, floor)


def spread_floor(residuals: Floats, value_range: float, resolution: float) -> float:
    """Lower limit of local spreads: the median residual of training cells, NaN left out, but at least half of the
    column's resolution, since smaller differences are rounding."""
    known = residuals[np.isfinite(residuals)]
    typical = float(np.median(known)) if len(known) else 0.0
    return max(typical, 0.5 * resolution, SMALLEST_FLOOR * value_range, np.finfo(np.float64).tiny)


def resolution(values: Floats) -> float:
    """The last decimal that nearly all values of a column make do with: 1 for whole numbers, 0.01 for cents; 0 where
    there is none. The rounding of float32 does not count, nor do a few values with more decimals."""
    known = np.abs(values[np.isfinite(values)])
    if not len(known):
        return 0.0
    for decimals in range(MOST_DECIMALS + 1):
        scaled = known * 10.0**decimals
        if np.mean(np.abs(scaled - np.rint(scaled)) <= np.minimum(ROUNDING * scaled, 0.1)) >= USUAL:
            return float(10.0**-decimals)
    return 0.0


def share_surprise(n_like: int, n_rows: int) -> float:
    """Surprise of a property that `n_like` of `n_rows` training rows have, the row itself included."""
    return float(np.log10((n_rows + 1.0) / (n_like + 1.0)))


@dataclass(frozen=True, eq=False)
class Tail:
    """Distribution of the strangeness of a column's training cells: their shares, and beyond `start` a line in decades
    per unit of strangeness, which for numbers is a Pareto tail of residual / spread. Beyond 1 / n, which no training
    cell can show, the line bends and ends after `CARRIED` times as many decades again."""

    known: Floats
    """Strangeness of (a sample of) the training cells, judged out of bag, ascending."""
    start: float
    start_surprise: float
    slope: float

    def surprise(self, strangeness: Floats) -> Floats:
        """-log10 of the probability of a cell at least as strange; NaN stays NaN."""
        n_as_strange = len(self.known) - np.searchsorted(self.known, strangeness, side="left")
        shares = np.log10((len(self.known) + 1.0) / (n_as_strange + 1.0))
        limit = np.log10(len(self.known) + 1.0)
        line = self.start_surprise + np.maximum(strangeness - self.start, 0.0) * self.slope
        further = np.maximum(line - limit, 0.0)
        carried = CARRIED * limit
        beyond = np.minimum(line, limit) + further * (carried / np.maximum(carried + further, 1e-300))
        found = np.where(strangeness > self.start, beyond, np.minimum(shares, self.start_surprise))
        return np.where(np.isnan(strangeness), np.nan, found)


def fit_tail(known: Floats, is_categorical: bool, robust: bool) -> Tail:
    """The tail of the strangeness of training cells, ascending.

    The slope is that of the strangest cells' mean excess (Hill's estimate, less `CAUTION` standard errors), or with
    `robust` of their median excess, which a few wrong cells among them do not change. A residual within its spread is
    not in the tail, however exactly other cells are predicted.
    """
    n_known = len(known)
    if n_known < 2:
        return Tail(known, np.finfo(np.float64).max, 0.0, 0.0)
    n_tail = min(max(FEWEST_IN_TAIL, int(TAIL_SHARE * n_known)), n_known - 1)
    start = max(float(known[n_known - n_tail - 1]), -np.inf if is_categorical else 0.0)
    excess = np.maximum(known[n_known - n_tail :] - start, 0.0)
    typical = float(np.median(excess) / np.log(2)) if robust else float(excess.mean())
    rate = max(0.1, 1 - CAUTION / np.sqrt(n_tail)) / max(typical, 1e-9)
    slope = min(rate / np.log(10), 1.0 if is_categorical else STEEPEST)
    return Tail(known, start, share_surprise(n_tail, n_known), slope)


def surprise(columns: Sequence[ColumnModel], cells: JudgedCells, bounded: bool = False) -> Floats:
    """(rows, columns): -log10 of how likely a cell at least as unusual is, gaps included; 0 for cells without any tree.

    `bounded`: no category counts for more than its forest says. In the sum of a row, many columns whose categories
    are rarely in doubt would otherwise outweigh the rest.
    """
    found = np.empty_like(cells.cell_scores)
    for j, column in enumerate(columns):
        scores, measured = cells.cell_scores[:, j], cells.spread_or_share[:, j]
        own = _value_surprise(column, strangeness(column, column.floor, scores, measured))
        if column.column.is_categorical:
            if bounded:
                own = np.minimum(own, categorical_strangeness(measured, RAREST_IN_ROWS))
            novelty = share_surprise(column.n_single, column.n_rows - column.column.n_missing)
            own = np.where(measured == UNSEEN_SHARE, novelty, own)
        gap, presence = _gap_surprise(column)
        own = np.where(np.isnan(scores), gap, np.maximum(own, presence))
        found[:, j] = np.where(np.isnan(measured), 0.0, own)
    return found


def p_values(columns: Sequence[ColumnModel], surprise: Floats) -> Floats:
    """(rows, columns): share of the training cells of a column, gaps included, that are at least as surprising."""
    found = np.empty_like(surprise)
    for j, column in enumerate(columns):
        gap, presence = _gap_surprise(column)
        share_missing = column.column.n_missing / column.n_rows
        known = np.maximum(_value_surprise(column, column.tail.known), presence)
        among_values = conformal_p_values(surprise[:, j], known)
        found[:, j] = (1 - share_missing) * among_values + share_missing * (gap >= surprise[:, j])
    return found


def _value_surprise(column: ColumnModel, strangeness: Floats) -> Floats:
    """Surprise of values; gaps and categories that training never saw are another matter."""
    if column.value_range > 0:
        return column.tail.surprise(strangeness)
    # a constant: training may have other values, which were trimmed or are infinite
    known, n_present = column.tail.known, column.n_rows - column.column.n_missing
    share = np.count_nonzero(known > 0) / max(1, len(known))
    return np.where(strangeness > 0, share_surprise(int(np.ceil(share * n_present)), n_present), 0.0)


def _gap_surprise(column: ColumnModel) -> tuple[float, float]:
    """Surprise of a gap in a column, and of any value there."""
    n_rows, n_missing = column.n_rows, column.column.n_missing
    return share_surprise(n_missing, n_rows), share_surprise(n_rows - n_missing, n_rows)


def conformal_p_values(scores: Floats, calibration: Floats) -> Floats:
    """Share of calibration scores (ascending) at least as high, the score itself included: (1 + k) / (1 + n).

    Valid for any row that is exchangeable with the calibration rows, whatever the distribution; never below 1/(1+n).
    """
    n_as_high = len(calibration) - np.searchsorted(calibration, scores, side="left")
    return np.asarray((1.0 + n_as_high) / (1.0 + len(calibration)), dtype=np.float64)


def own_p_values(scores: Floats) -> Floats:
    """p-values of the rows of one table against the bulk of the same table.

    Ranks of a sample within itself say nothing: the k-th highest of n always has rank k / n. So above the 90 % quantile
    the p-value is the tail of a log-normal distribution, fitted to the quantiles at 50, 75 and 90 % so that wrong rows
    do not distort it as long as they are fewer than about one in ten; the wider of the two fits counts.
    """
    ranks = conformal_p_values(scores, np.sort(scores))
    half, low, high = np.quantile(scores, [0.5, 0.75, 0.9]) if len(scores) else (0.0, 0.0, 0.0)
    if not 0.0 < half < high:
        return ranks
    z_low, z_high = ndtri(0.75), ndtri(0.9)
    width = max(np.log(high / half) / z_high, np.log(high / low) / (z_high - z_low))
    tail = ndtr(-(z_high + np.log(np.maximum(scores, high) / high) / width))
    return np.where(scores > high, tail, ranks)
