"""Numbers: how far a value lies outside the bulk of its column, and how far from what the forest expects.

Everything is measured in robust units of the column itself (quartiles, median residual), so that a few wrong values do
not change the measure. Columns of positive numbers with a long tail are measured by their logarithms too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.texts import Floats

MARGIN_INPUTS = ("tail", "log_tail", "isolation", "rare_sign", "far_from_zero")
RESIDUAL_INPUTS = ("residual", "log_residual", "unit", "residual_tail", "relative", "dominance")
N_QUANTILES = 257
N_EXTREMES = 64  # values kept at each end
UNKNOWN_NORM = 1e153  # of residuals, where there are too few; beyond that of any table, so that none dominates
FACTORS = (10.0, 100.0, 1000.0, 2.54, 1.609344, 0.45359237)
"""Units that are mistaken for each other: powers of ten, inches, miles, pounds."""


@dataclass(frozen=True, eq=False)
class NumberProfile:
    """Distribution of a column of numbers."""

    quantiles: Floats
    """(N_QUANTILES,): evenly spaced, from the smallest to the largest."""
    lowest: Floats
    """At most N_EXTREMES distinct values, ascending."""
    highest: Floats
    negative: float
    """Share of values below 0."""
    n_values: int

    @property
    def is_positive(self) -> bool:
        """Whether logarithms make sense: nearly all values are above 0."""
        return bool(self.quantiles[N_QUANTILES // 20] > 0)


def fit_numbers(values: Floats) -> NumberProfile | None:
    """The distribution of finite values; None where there are too few."""
    known = np.sort(values[np.isfinite(values)])
    if len(known) < 10:
        return None
    quantiles = np.quantile(known, np.linspace(0, 1, N_QUANTILES))
    distinct = np.unique(known)
    return NumberProfile(
        quantiles, distinct[:N_EXTREMES], distinct[-N_EXTREMES:], float(np.mean(known < 0)), len(known)
    )


def robust_unit(quantiles: Floats) -> tuple[float, float, float]:
    """Quartiles, and the width of the bulk: that of the middle half or, where it is one value, of ever more."""
    last = len(quantiles) - 1
    low, high = quantiles[last // 4], quantiles[3 * last // 4]
    for share in (0.25, 0.1, 0.05, 0.02):
        width = quantiles[round((1 - share) * last)] - quantiles[round(share * last)]
        if width > 0:
            return float(low), float(high), float(width)
    return float(low), float(high), 0.0


def _outside(values: Floats, quantiles: Floats) -> Floats:
    """log of 1 + the distance outside of the quartiles in widths of the bulk."""
    low, high, width = robust_unit(quantiles)
    distance = np.maximum(np.maximum(low - values, values - high), 0.0)
    if width <= 0:
        return np.where(distance > 0, np.log1p(50.0), 0.0)
    return np.log1p(np.minimum(distance / width, 1e6))


def margin_inputs(profile: NumberProfile, values: Floats, is_own: bool) -> Floats:
    """(rows, MARGIN_INPUTS), 0 for gaps.

    * tail, log_tail  distance outside of the quartiles, in widths of the bulk; log_tail: of the logarithms
    * isolation       gap between the value and the next one towards the middle
    * rare_sign       log of how rare its sign is
    * far_from_zero   log of its ratio to the largest value, the outer 2 % left out
    """
    quantiles = profile.quantiles
    known = np.where(np.isfinite(values), values, quantiles[N_QUANTILES // 2])
    tail = _outside(known, quantiles)
    log_tail = tail
    if profile.is_positive:
        smallest = max(float(quantiles[quantiles > 0].min(initial=1.0)) / 10, 1e-300)
        log_tail = _outside(np.log(np.maximum(known, smallest)), np.log(np.maximum(quantiles, smallest)))
    low, high, width = robust_unit(quantiles)
    isolation = np.zeros(len(known))
    if width > 0:
        below = np.searchsorted(profile.highest, known, side="left") - 1  # next smaller value among the largest
        above = np.searchsorted(profile.lowest, known, side="right")
        gap_high = np.where((known > high) & (below >= 0), known - profile.highest[np.maximum(below, 0)], 0.0)
        last = len(profile.lowest) - 1
        gap_low = np.where((known < low) & (above <= last), profile.lowest[np.minimum(above, last)] - known, 0.0)
        isolation = np.log1p(np.minimum(np.maximum(gap_high, gap_low) / width, 1e6))
    n_sign = np.where(known < 0, profile.negative, 1 - profile.negative) * profile.n_values
    is_rare = np.where(known < 0, profile.negative < 0.2, profile.negative > 0.8) & (known != 0)
    rare_sign = np.where(is_rare, np.log(profile.n_values / np.maximum(n_sign + (0.0 if is_own else 1.0), 1.0)), 0.0)
    bulk = max(abs(float(quantiles[5])), abs(float(quantiles[-6])), 1e-300)  # without the outer 2 %
    far = np.log(np.maximum(np.abs(known) / bulk, 1.0))
    found = np.stack([tail, log_tail, isolation, rare_sign, np.minimum(far, 20.0)], axis=1)
    return np.where(np.isfinite(values)[:, None], found, 0.0)


@dataclass(frozen=True)
class ResidualScale:
    """Residuals of a column's training cells: a robust unit, and how well the forest predicts the column."""

    typical: float
    """Median residual."""
    fitness: float
    """1 - median residual / median distance from the median: 1 for perfect, 0 for useless."""
    tail_start: float
    """log of the residual in local spreads that 80 % of the cells stay below ..."""
    tail_rate: float
    """... and decades of rows per unit of that beyond."""
    plain_fitness: float
    """R²: one absurd value takes it from 1 to 0, where `fitness` stays."""
    norm: float
    """Root of the sum of the squared residuals, none counted as less than typical."""
    center: float
    """Mean of the values."""
    around: float
    """Root of the sum of their squared distances from it."""


def _ratio(residual: Floats, spread: Floats, typical: float) -> Floats:
    return residual / np.maximum(np.hypot(spread, typical), 1e-300)


def fit_residuals(values: Floats, expected: Floats, spread: Floats) -> ResidualScale:
    """The residuals of training cells, judged out of bag."""
    known = np.isfinite(values) & np.isfinite(expected)
    if np.count_nonzero(known) < 10:
        return ResidualScale(0.0, 0.0, 0.0, 1.0, 0.0, UNKNOWN_NORM, 0.0, UNKNOWN_NORM)
    values, spread = values[known], np.nan_to_num(spread[known])
    residual = np.abs(values - expected[known])
    deviation = float(np.median(np.abs(values - np.median(values))))
    deviation = deviation or float(np.quantile(np.abs(values - np.median(values)), 0.9))
    typical = max(1.4826 * float(np.median(residual)), 0.02 * deviation)
    logs = np.log(_ratio(residual, spread, typical) + 1e-9)
    start, end = np.quantile(logs, [0.8, 0.95])
    rate = np.log10(0.2 / 0.05) / max(float(end - start), 0.05)
    fitness = 1 - float(np.median(residual)) / deviation if deviation > 0 else 0.0
    center = float(values.mean())
    norm, around = _norm(residual), _norm(values - center)
    plain = float(_r_squared(np.array([norm]), np.array([around]))[0])
    norm, around = min(max(norm, typical * len(values) ** 0.5), UNKNOWN_NORM), min(around, UNKNOWN_NORM)
    tail = float(start), float(min(rate, 10.0))
    return ResidualScale(typical, max(0.0, fitness), *tail, plain, norm, center, around)


def _r_squared(norm: Floats, around: Floats) -> Floats:
    """R² from the norms of residuals and of distances from the mean, at least -1; 0 where nothing varies."""
    ratio = np.minimum(norm / np.where(around > 0, around, 1.0), 2.0)
    return np.where(around > 0, np.maximum(-1.0, 1 - ratio**2), 0.0)


def fitness_with(scale: ResidualScale, values: Floats, expected: Floats) -> Floats:
    """(rows,): plain R² of the column as it would be with each value among those of training. New cells are so compared
    with a sample that knows them, as training cells are."""
    known = np.isfinite(values) & np.isfinite(expected)
    residual = np.where(known, np.abs(values - expected), 0.0)
    distance = np.where(known, np.abs(values - scale.center), 0.0)
    unexplained = scale.around * np.sqrt(1 - min(scale.plain_fitness, 1.0))
    return _r_squared(np.hypot(unexplained, residual), np.hypot(scale.around, distance))


def _norm(values: Floats) -> float:
    """Root of the sum of squares, of numbers near the ends of the scale too."""
    largest = float(np.abs(values).max())
    return largest * float(np.sqrt(np.sum((values / largest) ** 2))) if 0 < largest < np.inf else 0.0


def residual_inputs(scale: ResidualScale, values: Floats, expected: Floats, spread: Floats, is_own: bool) -> Floats:
    """(rows, RESIDUAL_INPUTS), 0 where nothing is observed or expected.

    * residual       log of 1 + residual in local spreads; log_residual: the same for logarithms
    * unit           log of how much smaller the residual is in another unit
    * residual_tail  -log10 of the share of cells with such a residual, by the column's own tail
    * relative       residual as a share of the larger of value and expectation
    * dominance      its share of the column's squared residuals: near 1 for one absurd value
    """
    known = np.isfinite(values) & np.isfinite(expected)
    x, mean = np.where(known, values, 0.0), np.where(known, expected, 0.0)
    width = np.maximum(np.hypot(np.nan_to_num(spread), scale.typical), 1e-300)
    residual = np.abs(x - mean)
    ratio = np.minimum(residual / width, 1e9)
    positive = known & (x > 0) & (mean > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(np.log(np.where(positive, x, 1.0) / np.where(positive, mean, 1.0)))
        log_width = np.maximum(width / np.maximum(np.abs(mean), 1e-300), 1e-3)
    log_ratio = np.where(positive, np.log1p(np.minimum(apart / log_width, 1e9)), 0.0)
    best = np.zeros(len(x))
    for factor in FACTORS:
        for value in (x * factor, x / factor):
            best = np.maximum(best, np.log((residual + width) / (np.abs(value - mean) + width)))
    best = np.maximum(best, np.log((residual + width) / (np.abs(-x - mean) + width)))
    logs = np.log(ratio + 1e-9)
    tail = np.where(logs > scale.tail_start, 0.7 + (logs - scale.tail_start) * scale.tail_rate, 0.0)
    relative = residual / np.maximum(np.maximum(np.abs(x), np.abs(mean)), 1e-300)
    share = (residual / max(scale.norm, 1e-300)) ** 2
    dominance = np.minimum(share, 1.0) if is_own else 1 - 1 / (1 + share)
    found = np.stack([np.log1p(ratio), log_ratio, best, np.minimum(tail, 30.0), relative, dominance], axis=1)
    return np.where(known[:, None], found, 0.0)


def best_unit(value: float, expected: float) -> float:
    """The factor of FACTORS, or its inverse or -1, that brings a value nearest to what was expected."""
    candidates = [factor for unit in FACTORS for factor in (unit, 1 / unit)] + [-1.0]
    return min(candidates, key=lambda factor: abs(value * factor - expected))


def as_numbers(texts: tuple[str, ...]) -> NDArray[np.float64]:
    """Texts as numbers, NaN where they are none."""
    numbers = np.full(len(texts), np.nan)
    for place, text in enumerate(texts):
        if text and (text[0] in "+-.0123456789"):
            try:
                numbers[place] = float(text.replace(",", ""))
            except ValueError:
                continue
    return np.where(np.isfinite(numbers), numbers, np.nan)
