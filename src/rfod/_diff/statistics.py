"""Tests of two samples: how surprising their difference is at these sizes, and how large it is.

scipy.stats takes most of a second to import and is needed here only, so it is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
FEWEST_EXPECTED = 5.0  # rows of a category in the smaller sample, for the chi-square distribution to hold
LARGEST = 0.05  # share of both samples together that counts as their largest values
MOST_EXACT = 1_000_000  # pairs of rows up to which p-values of Kolmogorov-Smirnov are exact


def kolmogorov_smirnov(before: Floats, after: Floats) -> tuple[float, float]:
    """The largest distance of the two distribution functions, and its p-value; conservative where values are tied."""
    from scipy.stats import ks_2samp

    method = "exact" if len(before) * len(after) <= MOST_EXACT else "asymp"
    result = ks_2samp(before, after, method=method)
    return float(result.statistic), float(min(1.0, result.pvalue))


def pooled(before: Counts, after: Counts) -> tuple[Counts, Counts]:
    """Counts per category, those that are too rare for a chi-square test put together, the rarest first."""
    order = np.argsort(-(before + after), kind="stable")
    before, after = before[order], after[order]
    n_before, n_after = before.sum(), after.sum()
    smaller = min(n_before, n_after) / max(1, n_before + n_after)
    is_rare = (before + after) * smaller < FEWEST_EXPECTED
    rest_before, rest_after = before[is_rare].sum(), after[is_rare].sum()
    before, after = before[~is_rare], after[~is_rare]
    if rest_before + rest_after == 0:
        return before, after
    if (rest_before + rest_after) * smaller < FEWEST_EXPECTED and len(before) > 1:  # with the rarest that is left
        before[-1], after[-1] = before[-1] + rest_before, after[-1] + rest_after
        return before, after
    return np.append(before, rest_before), np.append(after, rest_after)


def chi_square(before: Counts, after: Counts) -> float:
    """p-value of counts per category: chi-square with rare ones put together; exact (Fisher) where two are left."""
    from scipy.stats import chi2_contingency

    table = np.stack(pooled(before, after))
    if table.shape[1] < 2 or not table.sum(axis=1).all():
        return 1.0
    if table.shape[1] == 2:
        return fisher(int(table[0, 0]), int(table[0].sum()), int(table[1, 0]), int(table[1].sum()))
    return float(chi2_contingency(table, correction=False).pvalue)


def total_variation(before: Counts, after: Counts) -> float:
    """Share of the rows that would have to change their category for the two to be distributed alike."""
    if not before.sum() or not after.sum():
        return 0.0
    return float(0.5 * np.abs(before / before.sum() - after / after.sum()).sum())


def fisher(n_before: int, of_before: int, n_after: int, of_after: int) -> float:
    """p-value of two shares: as many tables with the same totals as are no likelier than this one (Fisher)."""
    k, log_chance = _hypergeometric(n_before + n_after, of_before, of_after)
    own = log_chance[n_before - k[0]]
    return float(min(1.0, np.exp(log_chance[log_chance <= own + 1e-7]).sum()))


def fisher_less(n_before: int, of_before: int, n_after: int, of_after: int) -> float:
    """One-sided: so few before, or fewer, of all that there are."""
    k, log_chance = _hypergeometric(n_before + n_after, of_before, of_after)
    return float(min(1.0, np.exp(log_chance[: n_before - k[0] + 1]).sum()))


def _hypergeometric(n_all: int, of_before: int, of_after: int) -> tuple[Counts, Floats]:
    """How many of `n_all` may fall on the first side, and the logarithm of the chance of each number."""
    from scipy.special import gammaln

    k = np.arange(max(0, n_all - of_after), min(n_all, of_before) + 1)

    def chosen(n: int, of: int | Counts) -> Floats:
        return np.asarray(gammaln(n + 1) - gammaln(np.asarray(of) + 1) - gammaln(n - np.asarray(of) + 1))

    return k, chosen(of_before, k) + chosen(of_after, n_all - k) - chosen(of_before + of_after, n_all)


def rank_sum(before: Floats, after: Floats) -> tuple[float, float]:
    """How often a value after is larger than one before (ties half), and the one-sided p-value of so many or more."""
    from scipy.stats import mannwhitneyu

    if np.ptp(np.append(before, after)) == 0:
        return 0.5, 1.0
    method = "exact" if max(len(before), len(after)) <= 8 else "asymptotic"
    result = mannwhitneyu(after, before, alternative="greater", method=method)
    return float(result.statistic / (len(before) * len(after))), float(result.pvalue)


def larger(before: Floats, after: Floats) -> tuple[float, float]:
    """How often a value after is larger than one before, and how surprising it is that so many are, or that so many of
    the largest ones are: twice the smaller p-value. Few values that became much larger hardly move the rank sum."""
    effect, p_value = rank_sum(before, after)
    both = np.append(before, after)
    limit = np.quantile(both, 1 - LARGEST)
    n_before, n_after = (int(np.count_nonzero(side > limit)) for side in (before, after))
    among_largest = fisher_less(n_before, len(before), n_after, len(after))
    return effect, min(1.0, 2 * min(p_value, among_largest))


def holm(p_values: Sequence[float]) -> Floats:
    """p-values that hold for all tests together (Holm): the chance of any at most x in an unchanged table is at most
    x, however the tests depend on each other."""
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    raised = values[order] * np.arange(len(values), 0, -1)
    found = np.empty_like(values)
    found[order] = np.minimum(1.0, np.maximum.accumulate(raised)) if len(values) else raised
    return found
