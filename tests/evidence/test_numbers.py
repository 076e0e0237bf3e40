"""Margins and residuals of numbers by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rfod._evidence.numbers import (
    MARGIN_INPUTS,
    RESIDUAL_INPUTS,
    UNKNOWN_NORM,
    ResidualScale,
    as_numbers,
    best_unit,
    fit_numbers,
    fit_residuals,
    fitness_with,
    margin_inputs,
    residual_inputs,
    robust_unit,
)


def margins(values, judged=None):
    profile = fit_numbers(np.array(values, dtype=np.float64))
    rows = np.array(values if judged is None else judged, dtype=np.float64)
    found = margin_inputs(profile, rows, is_own=judged is None)
    return dict(zip(MARGIN_INPUTS, found.T, strict=True))


def test_tail_and_isolation_by_hand():
    values = [*range(257), 1000]  # quantiles: quartiles 64 and 192 nearly
    profile = fit_numbers(np.array(values, dtype=np.float64))
    low, high, width = robust_unit(profile.quantiles)
    assert (low, high) == (profile.quantiles[64], profile.quantiles[192])
    assert width == high - low
    found = margins(values)
    assert found["tail"][-1] == pytest.approx(math.log1p((1000 - high) / width))
    assert found["tail"][128] == 0
    assert found["isolation"][-1] == pytest.approx(math.log1p((1000 - 256) / width))
    assert found["isolation"][128] == 0


def test_signs():
    found = margins([1.0] * 50 + [2.0] * 49 + [-3.0])
    assert found["rare_sign"].tolist() == pytest.approx([0.0] * 99 + [math.log(100)])
    assert margins([-1.0] * 90 + [0.0] * 10)["rare_sign"].max() == 0
    new = margins([1.0] * 50 + [2.0] * 50, [-1.0, np.nan])
    assert new["rare_sign"].tolist() == pytest.approx([math.log(100), 0.0])


def test_factors_from_the_largest():
    values = [float(k) for k in range(1, 101)] * 3 + [9700.0]
    found = margins(values)
    assert found["far_from_zero"][-1] == pytest.approx(math.log(9700 / fit_numbers(np.array(values)).quantiles[-6]))
    assert found["far_from_zero"][50] == 0


def test_constant_columns_and_few_values():
    assert margins([5.0] * 40)["tail"].max() == 0
    odd = margins([5.0] * 400 + [6.0])
    assert odd["tail"][-1] == pytest.approx(math.log1p(50))
    assert fit_numbers(np.array([1.0] * 9)) is None
    assert fit_numbers(np.full(50, np.nan)) is None


def test_gaps_and_infinities_say_nothing():
    profile = fit_numbers(np.arange(50.0))
    assert not margin_inputs(profile, np.array([np.nan, np.inf, -np.inf]), is_own=False).any()
    scale = fit_residuals(np.arange(50.0), np.arange(50.0) + 1, np.ones(50))
    found = residual_inputs(scale, np.array([np.nan, 1.0, np.inf]), np.array([1.0, np.nan, 1.0]), np.ones(3), True)
    assert not found.any()


@given(st.lists(st.floats(-1e6, 1e6), min_size=10, max_size=60))
def test_margins_are_finite_and_follow_their_rows(values):
    values = np.array(values)
    profile = fit_numbers(values)
    found = margin_inputs(profile, values, is_own=True)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    order = np.random.default_rng(0).permutation(len(values))
    np.testing.assert_array_equal(margin_inputs(fit_numbers(values[order]), values[order], is_own=True), found[order])


def residuals(value, expected, spread=1.0, typical=0.0, norm=40.0, is_own=True):
    scale = ResidualScale(typical, 1.0, 0.0, 2.0, 0.0, norm, 0.0, norm)
    found = residual_inputs(scale, np.array([value]), np.array([expected]), np.array([spread]), is_own)
    return dict(zip(RESIDUAL_INPUTS, found[0].tolist(), strict=True))


def test_residuals_by_hand():
    found = residuals(20.0, 10.0, spread=3.0, typical=4.0)  # hypot: 5
    assert found["residual"] == pytest.approx(math.log1p(2))
    assert found["log_residual"] == pytest.approx(math.log1p(math.log(2) / 0.5))
    assert found["relative"] == 0.5
    assert found["residual_tail"] == pytest.approx(0.7 + 2 * math.log(2))
    assert residuals(10.0, 10.0)["residual"] == 0


def test_dominance_by_hand():
    assert residuals(30.0, 10.0)["dominance"] == pytest.approx(20**2 / 40**2)
    assert residuals(30.0, 10.0, is_own=False)["dominance"] == pytest.approx(20**2 / (40**2 + 20**2))
    assert residuals(100.0, 10.0)["dominance"] == 1  # of a sample in which it is not
    assert residuals(10.0, 10.0, norm=0.0)["dominance"] == 0
    with np.errstate(over="ignore"):
        assert residuals(10.1, 10.0, norm=0.0, is_own=False)["dominance"] == 1
        assert residuals(1e300, -1e300, norm=1e-200, is_own=False)["dominance"] == 1


@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), min_size=10, max_size=40))
def test_plain_fitness_and_the_norm_of_residuals(pairs):
    values, expected = np.array(pairs).T
    scale = fit_residuals(values, expected, np.ones(len(pairs)))
    squared = sum((value - mean) ** 2 for value, mean in pairs)
    center = sum(value for value, _ in pairs) / len(pairs)
    around = sum((value - center) ** 2 for value, _ in pairs)
    least = scale.typical * math.sqrt(len(pairs))
    assert scale.norm == pytest.approx(max(math.sqrt(squared), least), rel=1e-9, abs=1e-9)
    if around > 1e-6:
        assert scale.plain_fitness == pytest.approx(max(-1.0, 1 - squared / around), rel=1e-6, abs=1e-6)


def test_one_absurd_value_takes_plain_fitness_and_leaves_fitness():
    expected = np.random.default_rng(0).normal(size=500)
    values = expected + 0.05
    assert fit_residuals(values, expected, np.ones(500)).plain_fitness > 0.99
    values[7] = 1e9
    scale = fit_residuals(values, expected, np.ones(500))
    assert scale.plain_fitness == pytest.approx(0, abs=0.01)
    assert scale.fitness > 0.9
    found = residual_inputs(scale, values, expected, np.ones(500), True)[:, RESIDUAL_INPUTS.index("dominance")]
    assert found[7] == pytest.approx(1)
    assert np.delete(found, 7).max() < 1e-6


def test_fitness_with_a_new_value_is_that_of_a_sample_that_has_it():
    rng = np.random.default_rng(0)
    expected = rng.normal(size=1000)
    values = expected + rng.normal(size=1000) / 5
    scale = fit_residuals(values, expected, np.ones(1000))
    new, predicted = np.array([0.3, 30.0, 1e6, np.nan]), np.array([0.2, 0.1, 0.0, 1.0])
    found = fitness_with(scale, new, predicted)
    for k in range(3):
        extended = fit_residuals(np.append(values, new[k]), np.append(expected, predicted[k]), np.ones(1001))
        assert found[k] == pytest.approx(extended.plain_fitness, abs=0.01)
    assert found[3] == pytest.approx(scale.plain_fitness)
    old = replace(scale, norm=UNKNOWN_NORM, around=UNKNOWN_NORM)
    assert fitness_with(old, new, predicted) == pytest.approx(np.full(4, scale.plain_fitness))


@pytest.mark.parametrize("factor", [10.0, 0.01, 1000.0, 2.54, 1 / 1.609344, -1.0])
def test_units(factor):
    found = residuals(70.0 / factor, 70.0)
    assert found["unit"] == pytest.approx(math.log((abs(70.0 / factor - 70) + 1) / 1))
    assert best_unit(70.0 / factor, 70.0) == pytest.approx(factor)
    assert residuals(70.0, 70.0)["unit"] == 0


def test_the_scale_of_residuals_is_robust():
    rng = np.random.default_rng(0)
    expected = rng.normal(size=1000)
    values = expected + 0.1 * rng.normal(size=1000)
    clean = fit_residuals(values, expected, np.full(1000, 0.1))
    values[:20] = 1e6
    wrong = fit_residuals(values, expected, np.full(1000, 0.1))
    assert wrong.typical == pytest.approx(clean.typical, rel=0.1)
    assert wrong.fitness == pytest.approx(clean.fitness, abs=0.02)
    assert clean.fitness == pytest.approx(1 - 0.1, abs=0.02)
    assert fit_residuals(values[:5], expected[:5], np.ones(5)).fitness == 0
    assert fit_residuals(np.ones(50), np.ones(50), np.zeros(50)).fitness == 0  # a constant


def test_texts_as_numbers():
    texts = ("1", "-2.5", "+3", ".5", "1,234.5", "1e3", "", "x", "12a", "nan", "inf", "-inf", "1e999", "--1")
    found = as_numbers(texts)
    assert found[:6].tolist() == [1, -2.5, 3, 0.5, 1234.5, 1000]
    assert np.isnan(found[6:]).all()
