"""Surprise: how unusual a cell is given the rest of its row, as -log10 of a probability, alike for every column.

A cell is first *strange* in the measure of its own column: the residual in units of its local spread, or the
probability of all categories that are no likelier. What that means is read off the training rows, judged out of bag:
surprise is -log10 of the share of them that are at least as strange, continued beyond the strangest by a fitted tail.
docs/surprise.md has the formulas.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TAIL_SHARE = 0.02  # of the training cells, the strangest, that the tail is fitted to
FEWEST_IN_TAIL = 10
CAUTION = 1.64  # standard errors by which the tail is taken to be heavier than it looks
STEEPEST = 4.0  # decades of probability per e-fold of strangeness, at most
RAREST = 1e-5  # probabilities of categories below this are not told apart
RAREST_IN_ROWS = 1e-3  # the same, where the cells of a row are summed up
LEAST = 1e-9  # residuals below this share of the spread are not told apart
SMALLEST_FLOOR = 1e-6  # of the range of a column
MOST = 300.0


def numeric_strangeness(residual: Floats, local_spread: Floats, floor: float) -> Floats:
    """log of |observed - expected| / sqrt(local spread² + floor²); NaN where there is no residual."""
    return np.log(residual / np.hypot(local_spread, floor) + LEAST)


def categorical_strangeness(no_likelier: Floats, rarest: float = RAREST) -> Floats:
    """-log10 of the probability of all categories that are no likelier than the observed one."""
    return -np.log10(np.maximum(no_likelier, 0.0) + rarest)


def spread_floor(residuals: Floats, value_range: float) -> float:
    """What no local spread falls below: the median residual of training cells; NaN are left out."""
    known = residuals[np.isfinite(residuals)]
    typical = float(np.median(known)) if len(known) else 0.0
    return max(typical, SMALLEST_FLOOR * value_range, np.finfo(np.float64).tiny)


def share_surprise(n_like: int, n_rows: int) -> float:
    """Surprise of what `n_like` of `n_rows` training rows are like, the row itself counted in."""
    return float(np.log10((n_rows + 1.0) / (n_like + 1.0)))


@dataclass(frozen=True, eq=False)
class Tail:
    """How strange the cells of a column are, out of bag: the shares themselves, and beyond `start` a line in decades
    per unit of strangeness, which for numbers is a Pareto tail of residual / spread."""

    known: Floats
    start: float
    start_surprise: float
    slope: float

    def surprise(self, strangeness: Floats) -> Floats:
        """-log10 of the probability of a cell at least as strange; NaN stays NaN."""
        n_as_strange = len(self.known) - np.searchsorted(self.known, strangeness, side="left")
        shares = np.log10((len(self.known) + 1.0) / (n_as_strange + 1.0))
        beyond = np.minimum(self.start_surprise + (strangeness - self.start) * self.slope, MOST)
        found = np.where(strangeness > self.start, beyond, shares)
        return np.where(np.isnan(strangeness), np.nan, found)


def fit_tail(known: Floats, steepest: float, robust: bool) -> Tail:
    """The tail of the strangeness of training cells, ascending.

    The slope is that of the strangest cells' mean excess (Hill's estimate, less `CAUTION` standard errors), or with
    `robust` of their median excess, which a few wrong cells among them do not change.
    """
    n_known = len(known)
    if n_known < 2:
        return Tail(known, np.finfo(np.float64).max, 0.0, 0.0)
    n_tail = min(max(FEWEST_IN_TAIL, int(TAIL_SHARE * n_known)), n_known - 1)
    start = float(known[n_known - n_tail - 1])
    excess = known[n_known - n_tail :] - start
    typical = float(np.median(excess) / np.log(2)) if robust else float(excess.mean())
    rate = max(0.1, 1 - CAUTION / np.sqrt(n_tail)) / max(typical, 1e-9)
    return Tail(known, start, share_surprise(n_tail, n_known), min(rate / np.log(10), steepest))
