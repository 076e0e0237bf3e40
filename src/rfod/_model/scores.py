"""Scores of cells and rows, and which of them to report.

A cell score is the distance of a value from its prediction (section 4.3 of the paper), a row score the mean of a row's
cell scores, weighted by confidence (section 4.4), or one of the other aggregations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rfod._model.calibrate import surprise
from rfod._model.row_scale import RowScale, fit_row_scale

if TYPE_CHECKING:
    from rfod._model.model import ColumnModel, JudgedCells, Model

Floats = NDArray[np.float64]

SCORE_LIMIT = 1e9  # no cell scores higher; an infinite value scores this


def numeric_range(values: Floats, distance: str, alpha: float) -> float:
    """Divisor of the residuals of a numeric column, from its training values; 0 for a constant column.

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
    observed: NDArray[np.int32], expected: NDArray[np.int32], probability: Floats, distance: str
) -> Floats:
    """1 - probability of the observed category (AGD), or 0/1 for match or not (Gower); NaN where a cell is missing.

    Codes below 0 are missing (-1) or a category that training never saw, which has probability 0.
    """
    scores = 1.0 - probability if distance == "agd" else (observed != expected).astype(np.float64)
    return np.where((observed == -1) | (expected < 0), np.nan, scores)


# Sums run over columns one by one, in order: a row's result then does not depend on the other rows of its table.


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


def power_means(surprise: Floats) -> Floats:
    """Fourth root of the mean fourth power over the cells of each row: near the largest of them."""
    total = np.zeros(len(surprise))
    for column in surprise.T:
        square = column * column
        total += square * square
    return np.asarray(np.sqrt(np.sqrt(total / max(1, surprise.shape[1]))))


def weights(ranges: Floats, params: Mapping[str, Any], cells: JudgedCells) -> Floats:
    """(rows, columns): the paper's W; all 1 for the plain mean."""
    if params["aggregation"] == "mean":
        return np.ones_like(cells.uncertainty)
    if params["uncertainty"] == "raw":
        return confidence_weights(cells.uncertainty)
    return confidence_weights(cells.uncertainty, np.where(ranges > 0, ranges, 1.0))


def row_parts(columns: Sequence[ColumnModel], params: Mapping[str, Any], cells: JudgedCells) -> Floats:
    """(parts, rows): what the aggregation combines. For a consensus the paper's score, the surprise of the row, its
    distance from the nearest training row, and the largest rarity of its values, the cells in line counting as
    ordinary; otherwise one part, the score itself."""
    aggregation = params["aggregation"]
    if aggregation == "surprise":
        return root_mean_squares(surprise(columns, cells, bounded=True))[None]
    ranges = np.array([column.value_range for column in columns])
    cell_weights = weights(ranges, params, cells)
    if aggregation != "consensus":
        return row_means(cells.cell_scores, cell_weights)[None]
    mean = row_means(np.where(cells.in_line, 0.0, cells.cell_scores), cell_weights)
    own = np.where(cells.in_line, 0.0, surprise(columns, cells, bounded=True))
    return np.stack([mean, power_means(own), cells.nearest, cells.rarity])


NEAREST = 2
"""The part that is no sum over cells: it does not count for rows with cells in line."""


def fit_scale(parts: Floats, cells: JudgedCells) -> RowScale:
    """What the parts of training rows, judged out of bag, let those of other rows mean; empty for a single part."""
    if len(parts) == 1:
        return RowScale(np.empty((0, 0)), 1.0)
    return fit_row_scale(parts, NEAREST, np.asarray(cells.in_line.any(axis=1)))


def consensus(parts: Floats, scale: RowScale, cells: JudgedCells) -> Floats:
    """Row scores out of `row_parts`: a single part is the score itself, several give the mean of their rarities among
    training rows, as a multiple of a typical row's."""
    if len(parts) == 1:
        return np.asarray(parts[0])
    return np.asarray(scale.mean_rarity(parts, NEAREST, np.asarray(cells.in_line.any(axis=1))) / scale.typical)


def row_scores(model: Model, cells: JudgedCells) -> Floats:
    """How anomalous each row is, by the model's aggregation."""
    return consensus(row_parts(model.columns, model.params, cells), model.scale, cells)


def false_discovery_cut(values: Floats, counts: NDArray[np.int64], rate: float) -> tuple[float, int]:
    """Benjamini-Hochberg over p-values that are given as distinct ascending values and how often each occurs.

    Returns the largest p-value of a finding (-inf if there are none) and the number of findings, whose expected share
    of false ones is at most `rate`.
    """
    ranks = np.cumsum(counts)
    passed = np.flatnonzero(values <= rate * ranks / max(ranks[-1] if len(ranks) else 1, 1))
    return (float(values[passed[-1]]), int(ranks[passed[-1]])) if len(passed) else (-np.inf, 0)


def benjamini_hochberg(p_values: Floats, rate: float) -> NDArray[np.bool_]:
    """Findings whose expected share of false ones is at most `rate`; NaN is never a finding."""
    values, counts = np.unique(p_values[~np.isnan(p_values)], return_counts=True)
    return np.asarray(p_values <= false_discovery_cut(values, counts, rate)[0])


def highest(scores: NDArray[np.float64], n: int) -> NDArray[np.bool_]:
    """The `n` highest scores; ties go to the earlier row."""
    found = np.zeros(len(scores), dtype=np.bool_)
    found[np.argsort(-scores, kind="stable")[: max(n, 0)]] = True
    return found
