"""Scores as p-values, measured on the scores of training rows that were judged out of bag."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]


def conformal_p_values(scores: Floats, calibration: Floats) -> Floats:
    """Share of calibration scores (ascending) at least as high, the score itself counted in: (1 + k) / (1 + n).

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
