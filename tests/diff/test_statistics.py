"""Tests of two samples: against numbers worked out by hand, and against slow ways to the same."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from rfod._diff.statistics import (
    chi_square,
    fisher,
    fisher_less,
    holm,
    kolmogorov_smirnov,
    larger,
    pooled,
    rank_sum,
    total_variation,
)


def counts(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_kolmogorov_smirnov_by_hand() -> None:
    # all of 1, 2, 3 below all of 4, 5, 6: of the 20 ways to draw three of six, two are as far apart
    assert kolmogorov_smirnov(np.array([1.0, 2, 3]), np.array([4.0, 5, 6])) == (1.0, pytest.approx(2 / 20))
    # below 2.5 lie both of the first and one of the second three
    assert kolmogorov_smirnov(np.array([1.0, 2]), np.array([1.5, 3, 4]))[0] == pytest.approx(2 / 3)


def test_kolmogorov_smirnov_of_many_rows() -> None:
    rng = np.random.default_rng(0)
    same = [kolmogorov_smirnov(rng.normal(size=1500), rng.normal(size=1500))[1] for _ in range(200)]
    assert 0.01 <= np.mean(np.array(same) <= 0.05) <= 0.10
    assert kolmogorov_smirnov(rng.normal(size=1500), rng.normal(0.3, size=1500))[1] < 1e-8


def slow_fisher(a: int, of_a: int, b: int, of_b: int) -> float:
    """All tables with these totals, weighed by the number of ways to come by them."""
    n = a + b
    ways = {k: comb(of_a, k) * comb(of_b, n - k) for k in range(max(0, n - of_b), min(n, of_a) + 1)}
    return sum(w for w in ways.values() if w <= ways[a]) / sum(ways.values())


@pytest.mark.parametrize("table", [(0, 5, 5, 5), (3, 10, 1, 12), (0, 3, 0, 4), (7, 7, 2, 9), (12, 40, 11, 39)])
def test_fisher(table: tuple[int, int, int, int]) -> None:
    assert fisher(*table) == pytest.approx(slow_fisher(*table))


def test_fisher_of_many_rows() -> None:
    assert fisher(0, 1_000_000, 0, 1_000_000) == 1.0
    assert fisher(100, 1_000_000, 1000, 1_000_000) < 1e-100


def test_fisher_to_one_side() -> None:
    # of 3 the first side has none: C(4, 3) of C(9, 3) ways; then none or one
    assert fisher_less(0, 5, 3, 4) == pytest.approx(comb(4, 3) / comb(9, 3))
    assert fisher_less(1, 5, 2, 4) == pytest.approx((comb(4, 3) + 5 * comb(4, 2)) / comb(9, 3))
    assert fisher_less(3, 5, 0, 4) == 1.0


def test_rare_categories_are_put_together() -> None:
    # of 100 and 100 rows a category of 4 is expected twice on either side
    before, after = pooled(counts(60, 38, 1, 1), counts(70, 22, 4, 4))
    assert before.tolist() == [60, 38, 2]
    assert after.tolist() == [70, 22, 8]
    # what is rare together goes to the rarest of the others
    before, after = pooled(counts(60, 39, 1), counts(70, 29, 1))
    assert before.tolist() == [60, 40]
    assert after.tolist() == [70, 30]


def test_chi_square_by_hand() -> None:
    # expected 25 in each of 3 x 2 fields but for two: (5² + 5²) / 25 twice
    before, after = counts(30, 20, 25), counts(20, 30, 25)
    statistic = 4 * 25 / 25
    assert chi_square(before, after) == pytest.approx(np.exp(-statistic / 2))  # two degrees of freedom
    assert chi_square(counts(10, 0), counts(8, 2)) == pytest.approx(slow_fisher(10, 10, 8, 10))
    assert chi_square(counts(10), counts(8)) == 1.0
    assert chi_square(counts(10, 3), counts(0, 0)) == 1.0


def test_total_variation() -> None:
    assert total_variation(counts(50, 50), counts(25, 75)) == pytest.approx(0.25)
    assert total_variation(counts(5, 0), counts(0, 9)) == 1.0
    assert total_variation(counts(0), counts(0)) == 0.0


def slow_rank_sum(before: list[float], after: list[float]) -> tuple[float, float]:
    """All ways to call so many of the values "after"."""

    def share(chosen: tuple[int, ...]) -> float:
        both = before + after
        others = [both[k] for k in range(len(both)) if k not in chosen]
        return float(np.mean([[(x > y) + 0.5 * (x == y) for y in others] for x in (both[k] for k in chosen)]))

    own = share(tuple(range(len(before), len(before) + len(after))))
    ways = [share(chosen) for chosen in combinations(range(len(before) + len(after)), len(after))]
    return own, float(np.mean([value >= own - 1e-12 for value in ways]))


def test_rank_sum() -> None:
    before, after = [1.0, 2.0, 3.5, 0.5], [3.0, 4.0, 5.0]
    effect, p_value = rank_sum(np.array(before), np.array(after))
    assert (effect, p_value) == pytest.approx(slow_rank_sum(before, after))
    assert rank_sum(np.zeros(5), np.zeros(9)) == (0.5, 1.0)
    rng = np.random.default_rng(1)
    low, high = rng.normal(size=400), rng.normal(0.5, size=300)
    assert rank_sum(low, high)[1] < 1e-6
    assert rank_sum(high, low)[1] > 0.99  # one-sided


def test_a_few_values_that_became_much_larger() -> None:
    rng = np.random.default_rng(2)
    before, after = rng.normal(size=300), rng.normal(size=600)
    after[:60] = rng.normal(5, size=60)
    effect, p_value = larger(before, after)
    assert effect == rank_sum(before, after)[0]
    assert p_value < 1e-6 < rank_sum(before, after)[1]


def test_equal_samples_are_rarely_told_apart() -> None:
    rng = np.random.default_rng(3)
    samples = [(rng.normal(size=150), rng.normal(size=300)) for _ in range(400)]
    rounded = [(a.round(), b.round()) for a, b in samples]
    for pairs in (samples, rounded):
        assert np.mean([larger(*pair)[1] <= 0.05 for pair in pairs]) <= 0.08


def test_holm_by_hand() -> None:
    # 0.01 * 3, max(0.03, 0.02 * 2), max(0.04, 0.5 * 1)
    assert holm([0.5, 0.01, 0.02]).tolist() == pytest.approx([0.5, 0.03, 0.04])
    assert holm([0.02, 0.021]).tolist() == pytest.approx([0.04, 0.04])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []
