"""Row scores: the mean of a row's cell scores, weighted by confidence (section 4.4 of the paper)."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Sums run over columns one by one, in order: a row's result then does not depend on the rows it comes with.


def confidence_weights(uncertainty: Floats) -> Floats:
    """W = 1 - U / (sum of U over the row); 1 everywhere in a row whose predictions are all certain."""
    total = np.zeros(len(uncertainty))
    for column in uncertainty.T:
        total += column
    return np.where(total[:, None] > 0, 1.0 - uncertainty / np.where(total > 0, total, 1.0)[:, None], 1.0)


def row_means(cell_scores: Floats, weights: Floats | None = None) -> Floats:
    """Mean over the scored cells of each row of weight times score; 0 for a row without any."""
    total = np.zeros(len(cell_scores))
    n_scored = np.zeros(len(cell_scores))
    for j in range(cell_scores.shape[1]):
        scores = cell_scores[:, j]
        scored = ~np.isnan(scores)
        total += np.where(scored, scores if weights is None else scores * weights[:, j], 0.0)
        n_scored += scored
    return total / np.maximum(n_scored, 1.0)
