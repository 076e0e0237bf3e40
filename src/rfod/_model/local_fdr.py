"""The probability that a row is anomalous: one less the local false discovery rate of its p-value among those of its
table.

The p-values of ordinary rows are uniform, those of anomalous rows small. So the density f of all p-values of a table
falls, and pi0, the share of ordinary rows, is its part that does not: a row with p-value p is ordinary with probability
pi0 / f(p). docs/surprise.md has the formulas.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from rfod._model.calibrate import conformal_p_values

Floats = NDArray[np.float64]
Counts = NDArray[np.int64] | None
"""Rows that have each p-value; one by default."""
FEWEST_ROWS = 100  # of a table whose own p-values have a density; fewer are too noisy
ORDINARY_FROM = 0.5  # p-values above this are taken to be those of ordinary rows
USUAL_SHARE = 0.01  # of anomalous rows in a small table, where none is given


def ordinary_share(p_values: Floats, counts: Counts = None) -> float:
    """pi0 by Storey's estimate: the density of the p-values above `ORDINARY_FROM`, at most 1."""
    n_rows = _n_rows(p_values, counts)
    if not n_rows:
        return 1.0
    is_ordinary = p_values > ORDINARY_FROM
    n_ordinary = _n_rows(p_values[is_ordinary], None if counts is None else counts[is_ordinary])
    return min(1.0, (1.0 + n_ordinary) / (n_rows * (1.0 - ORDINARY_FROM)))


def falling_density(p_values: Floats, least: float = 0.0, counts: Counts = None) -> Floats:
    """(p-values,): density at each p-value by Grenander's estimate, the slope of the least concave majorant of their
    distribution function. No slope is below `least`: where that is known, the function stays below a line."""
    values, places = np.unique(p_values, return_inverse=True)
    rows = np.bincount(places, counts, minlength=len(values))
    x = np.concatenate([[0.0], values[values < 1.0], [1.0]])
    share = np.concatenate([[0.0], np.cumsum(rows[values < 1.0]) / max(1, _n_rows(p_values, counts)), [1.0]])
    y = np.minimum(share, 1.0 - least * (1.0 - x))
    corners = [0]
    for i in range(1, len(x)):
        while len(corners) > 1:
            a, b = corners[-2:]
            if (y[b] - y[a]) * (x[i] - x[b]) > (y[i] - y[b]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(i)
    slopes = np.diff(y[corners]) / np.diff(x[corners])
    return np.asarray(slopes[np.searchsorted(x[corners][1:], values, side="left")][places])


def usual_density(p_values: Floats) -> Floats:
    """(rows,): density of the p-values of anomalous rows, where a table has too few to tell: the mean of the densities
    k p^(k - 1) over all k from 0 to 1, which is (1 - p + p ln p) / (p ln² p), and 1/2 at p = 1."""
    p = np.minimum(p_values, 1.0 - 1e-4)  # nearer to 1 the formula is 0 / 0
    log = np.log(p)
    return np.asarray((1.0 - p + p * log) / (p * log * log))


def anomaly_probability(
    p_values: Floats, n_calibration: int, share: float | None = None, counts: Counts = None
) -> Floats:
    """(p-values,): how likely each row of one table is anomalous, from the conformal p-values of its row scores among
    `n_calibration` training rows.

    `share` is that of the anomalous rows, where it is known; otherwise it is estimated. No probability is below the
    standard error of pi0, or below the share where that is smaller: rows that look ordinary are not all so. Fewer than
    `FEWEST_ROWS` rows are judged each by itself, by `usual_density` and the share, `USUAL_SHARE` where none is given.
    """
    n_rows = _n_rows(p_values, counts)
    if n_rows < FEWEST_ROWS:
        anomalous = USUAL_SHARE if share is None else share
        odds = anomalous * usual_density(p_values)
        return np.asarray(odds / (odds + (1.0 - anomalous)))
    ordinary = ordinary_share(p_values, counts) if share is None else 1.0 - share
    density = falling_density(p_values, 0.0 if share is None else ordinary, counts)
    lowest = min(1.0 - ordinary, float(np.sqrt(1 / n_rows + 1 / max(1, n_calibration))))
    return np.maximum(1.0 - ordinary / np.maximum(density, 1e-300), lowest)


def _n_rows(p_values: Floats, counts: Counts) -> int:
    return len(p_values) if counts is None else int(counts.sum())


class RowProbabilities:
    """`anomaly_probability` of a table that comes in parts, by its row scores.

    Memory does not grow with the rows: conformal p-values take no more values than there are calibration scores.
    """

    def __init__(self, calibration: Floats, share: float | None) -> None:
        self._calibration, self._share = calibration, share
        self.counts: Counter[float] = Counter()
        """How many rows have each p-value."""
        self._p_values = self._probability = np.empty(0)

    def count(self, row_scores: Floats) -> None:
        """Take in the rows of one part."""
        p_values, counts = np.unique(conformal_p_values(row_scores, self._calibration), return_counts=True)
        self.counts.update(dict(zip(p_values.tolist(), counts.tolist(), strict=True)))

    def settle(self) -> None:
        """All rows have been counted."""
        self._p_values, counts = np.array(sorted(self.counts.items()), dtype=np.float64).reshape(-1, 2).T
        n_calibration = len(self._calibration)
        self._probability = anomaly_probability(self._p_values, n_calibration, self._share, counts.astype(np.int64))

    def of(self, row_scores: Floats) -> Floats:
        """(rows,): how likely counted rows are anomalous; called after `settle`."""
        p_values = conformal_p_values(row_scores, self._calibration)
        return np.asarray(self._probability[np.searchsorted(self._p_values, p_values)])
