"""How well a whole forest predicts its column: R² for numbers, AUC for categories."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def coefficient_of_determination(observed: Floats, predicted: Floats) -> float:
    """R²; NaN below two rows, 0 or 1 for a constant column."""
    if len(observed) < 2:
        return float("nan")
    around_mean = float(np.sum((observed - observed.mean()) ** 2))
    around_prediction = float(np.sum((observed - predicted) ** 2))
    if around_mean == 0:
        return 1.0 if around_prediction == 0 else 0.0
    return 1.0 - around_prediction / around_mean


def weighted_auc(observed: NDArray[np.int32], shares: Floats) -> float:
    """Area under the ROC curve, each class against the rest, weighted by class share; NaN for a single class."""
    area, weight = 0.0, 0
    for klass in np.unique(observed):
        is_hit = observed == klass
        hits, others = np.sort(shares[is_hit, klass]), np.sort(shares[~is_hit, klass])
        if len(others):
            below = np.searchsorted(others, hits, "left") + np.searchsorted(others, hits, "right")  # each counted twice
            area += len(hits) * (0.5 * float(below.mean()) / len(others))
            weight += len(hits)
    return area / weight if weight else float("nan")
