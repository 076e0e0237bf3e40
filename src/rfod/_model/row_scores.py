"""Row scores: the mean of a row's cell scores, weighted by confidence (section 4.4 of the paper), and others."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
WIDEST = 1e6  # ratio of the spread of a part to its centre, and of its centre to its spread, at most
FURTHEST = 1e12  # in spreads of the training rows: keeps scores finite

# Sums run over columns one by one, in order: a row's result then does not depend on the rows it comes with.


def confidence_weights(uncertainty: Floats, scales: Floats | None = None) -> Floats:
    """W = 1 - U / (sum of U over the row), U in units of the columns' `scales`; 1 everywhere in a row whose predictions
    are all certain."""
    weights = uncertainty.copy(order="K") if scales is None else (uncertainty.T / scales[:, None]).T
    total = np.zeros(len(weights))
    for column in weights.T:
        total += column
    total[total == 0] = 1.0
    for column in weights.T:
        np.divide(column, total, out=column)
        np.subtract(1.0, column, out=column)
    return weights


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


def root_mean_squares(surprise: Floats) -> Floats:
    """Root of the mean square over the cells of each row."""
    total = np.zeros(len(surprise))
    for column in surprise.T:
        total += column * column
    return np.asarray(np.sqrt(total / max(1, surprise.shape[1])))


def centre_and_scale(part: Floats) -> tuple[float, float]:
    """Median, and the spread around it as the standard deviation of a normal distribution would have it."""
    if len(part) == 0:
        return 0.0, 1.0
    centre = float(np.median(part))
    scale = 1.4826 * float(np.median(np.abs(part - centre)))
    return centre, scale or float(part.std()) or 1.0


def agree(parts: Floats, centres: Floats, scales: Floats) -> Floats:
    """One score out of several, (part, row), in multiples of a typical row.

    Each part is centred, scaled and passed through arcsinh, which is linear near 0 and a logarithm far away; sinh of
    their mean is how many spreads the row is off. With the parts' usual ratio of spread to centre, that is how many
    times as strange as a typical row it is: 1 is typical, below 1 (and above 0) are rows that are more so.
    """
    total = np.zeros(parts.shape[1])
    for part, centre, scale in zip(parts, centres, scales, strict=True):
        with np.errstate(over="ignore"):
            total += np.arcsinh(np.clip((part - centre) / scale, -FURTHEST, FURTHEST))
    ratios = [
        float(np.clip(scale / centre, 1 / WIDEST, WIDEST)) if centre > scale / WIDEST else 1.0
        for centre, scale in zip(centres.tolist(), scales.tolist(), strict=True)
    ]
    off = float(np.median(ratios)) * np.sinh(total / len(parts))
    return np.where(off >= 0, 1.0 + off, 1.0 / (1.0 + np.abs(off)))
