"""Cell scores: how far each value lies from its prediction (section 4.3 of the paper)."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Distance = Literal["agd", "gower", "gower-iqr"]

SCORE_LIMIT = 1e9  # no cell scores higher; an infinite value scores this


def numeric_range(values: Floats, distance: Distance, alpha: float) -> float:
    """What residuals of a numeric column are divided by, from its training values; 0 for a constant column.

    AGD takes the distance between the alpha and 1 - alpha quantiles, Gower's distance that between the extremes, its
    robust form the interquartile range. Where that is 0 the distance between the extremes stands in.
    """
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return 0.0
    tail = {"agd": alpha, "gower": 0.0, "gower-iqr": 0.25}[distance]
    low, high = np.quantile(finite, [tail, 1 - tail])
    return float(high - low) if high > low else float(finite.max() - finite.min())


def numeric_scores(observed: Floats, expected: Floats, value_range: float) -> Floats:
    """|observed - expected| / range; NaN where a cell is missing. In a constant column, 0 or 1: the constant or not."""
    with np.errstate(invalid="ignore", over="ignore"):
        residual = np.abs(observed - expected)  # NaN where one of them is
        if value_range > 0:
            return np.minimum(residual / value_range, SCORE_LIMIT)
    scores = np.where(np.isinf(residual), SCORE_LIMIT, residual > 0)
    return np.where(np.isnan(residual), np.nan, scores)


def categorical_scores(
    observed: NDArray[np.int32], expected: NDArray[np.int32], probability: Floats, distance: Distance
) -> Floats:
    """1 - probability of the observed category (AGD), or 0/1 for match or not (Gower); NaN where a cell is missing.

    Codes below 0 are missing (-1) or a category that training never saw, which has probability 0.
    """
    scores = 1.0 - probability if distance == "agd" else (observed != expected).astype(np.float64)
    return np.where((observed == -1) | (expected < 0), np.nan, scores)
