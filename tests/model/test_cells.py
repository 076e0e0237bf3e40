"""Cell scores: the paper's definitions and worked examples, and their corners."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import scores as reference
from rfod._model.scores import SCORE_LIMIT, categorical_scores, numeric_range, numeric_scores

nan, inf = np.nan, np.inf
A, B, C = 0, 1, 2

TABLE_2 = [  # the paper's Table 2: observed, predicted, probabilities, GD, AGD
    (A, A, {A: 0.8, B: 0.2}, 0, 0.2),
    (A, A, {A: 0.6, B: 0.4}, 0, 0.4),
    (A, B, {A: 0.3, B: 0.7}, 1, 0.7),
    (A, A, {A: 0.5, B: 0.3, C: 0.2}, 0, 0.5),
    (A, C, {A: 0.1, B: 0.2, C: 0.7}, 1, 0.9),
    (A, B, {A: 0.2, B: 0.7, C: 0.1}, 1, 0.8),
]


def codes(*values):
    return np.array(values, dtype=np.int32)


@pytest.mark.parametrize(("observed", "expected", "probabilities", "gower", "agd"), TABLE_2)
def test_table_2_of_the_paper(observed, expected, probabilities, gower, agd):
    assert max(probabilities, key=probabilities.get) == expected
    cell = codes(observed), codes(expected), np.array([probabilities[observed]])
    assert categorical_scores(*cell, "agd")[0] == pytest.approx(agd)
    assert categorical_scores(*cell, "gower")[0] == gower
    assert categorical_scores(*cell, "gower-iqr")[0] == gower
    assert reference.categorical_score(observed, expected, probabilities[observed], "agd") == pytest.approx(agd)


def test_categories_missing_never_seen_or_without_a_judge():
    observed, expected, probability = codes(-1, -2, 0), codes(0, 0, -1), np.array([0.0, 0.0, nan])
    np.testing.assert_array_equal(categorical_scores(observed, expected, probability, "agd"), [nan, 1, nan])
    np.testing.assert_array_equal(categorical_scores(observed, expected, probability, "gower"), [nan, 1, nan])


# -------------------------------------------------------------------------------------------------------------- ranges

EVEN = np.arange(101.0)  # 0, 1, ..., 100: the quantile of a share is a hundred times the share


@pytest.mark.parametrize(
    ("distance", "alpha", "expected"),
    [("agd", 0.02, 96), ("agd", 0.05, 90), ("agd", 0.25, 50), ("gower", 0.02, 100), ("gower-iqr", 0.02, 50)],
)
def test_range_of_even_steps(distance, alpha, expected):
    assert numeric_range(EVEN, distance, alpha) == pytest.approx(expected)
    assert numeric_range(EVEN[::-1].copy(), distance, alpha) == pytest.approx(expected)


def test_agd_lies_between_gower_and_its_robust_form():
    """As in the paper's example: a skewed column, of which Gower's distance sees too little and the IQR too much."""
    values = np.array([1.0] * 5 + [2.0] * 80 + [4.0] * 10 + [10.0, 10.0, 10.0, 10.0, 82.0])
    # sorted places 0..99: Q(0.04) at 3.96 = 1, Q(0.96) at 95.04 = 10; Q(0.25) = Q(0.75) = 2
    ranges = {distance: numeric_range(values, distance, 0.04) for distance in ("gower", "agd", "gower-iqr")}
    assert ranges == {"gower": 81, "agd": pytest.approx(9), "gower-iqr": 81}  # no quartile range: the extremes
    scores = {name: numeric_scores(np.array([20.0]), np.array([2.0]), ranges[name])[0] for name in ranges}
    assert scores["agd"] == pytest.approx(2)
    assert scores["gower"] == pytest.approx(18 / 81)


def test_range_by_interpolation():
    # places of 0.1 and 0.9 among four values: 0.3 and 2.7
    assert numeric_range(np.array([0.0, 10.0, 20.0, 40.0]), "agd", 0.1) == pytest.approx((20 + 0.7 * 20) - 0.3 * 10)


def test_ranges_that_fall_back():
    assert numeric_range(np.array([5.0] * 99 + [8.0]), "agd", 0.02) == 3  # to the extremes
    assert numeric_range(np.array([5.0] * 99 + [8.0]), "gower-iqr", 0.02) == 3
    assert numeric_range(np.full(10, 5.0), "agd", 0.02) == 0  # a constant
    assert numeric_range(np.array([nan, inf, -inf]), "agd", 0.02) == 0  # nothing to measure
    assert numeric_range(np.zeros(0), "agd", 0.02) == 0
    assert numeric_range(np.array([3.0]), "gower", 0.02) == 0


def test_missing_and_infinite_values_do_not_stretch_a_range():
    assert numeric_range(np.array([*EVEN, nan, inf, -inf]), "agd", 0.05) == pytest.approx(90)


# -------------------------------------------------------------------------------------------------------------- scores


def test_residual_over_range():
    observed, expected = np.array([3.0, 3.0, 1.0, 3.0]), np.array([3.0, 1.0, 3.0, 3.5])
    np.testing.assert_allclose(numeric_scores(observed, expected, 4.0), [0, 0.5, 0.5, 0.125])


def test_a_constant_column_scores_match_or_not():
    observed, expected = np.array([5.0, 5.1, -900.0, nan, inf]), np.full(5, 5.0)
    np.testing.assert_array_equal(numeric_scores(observed, expected, 0.0), [0, 1, 1, nan, SCORE_LIMIT])


def test_missing_cells_and_cells_without_a_judge_have_no_score():
    observed, expected = np.array([nan, 1.0, nan, inf]), np.array([1.0, nan, nan, nan])
    assert np.isnan(numeric_scores(observed, expected, 2.0)).all()


def test_no_score_above_the_limit():
    observed = np.array([inf, -inf, 1e300, 1.0, 1e150])
    scores = numeric_scores(observed, np.array([0.0, 0.0, 0.0, 0.0, -1e150]), 1e-300)
    np.testing.assert_array_equal(scores, np.full(5, SCORE_LIMIT))


numbers = st.floats(-1e6, 1e6) | st.sampled_from([nan, inf, -inf, 0.0])


@given(
    st.lists(st.tuples(numbers, st.floats(-1e6, 1e6) | st.just(nan)), min_size=1, max_size=20),
    st.lists(st.floats(-1e6, 1e6) | st.integers(0, 3).map(float), min_size=1, max_size=30),
    st.sampled_from(["agd", "gower", "gower-iqr"]),
    st.sampled_from([0.01, 0.02, 0.1, 0.4]),
)
def test_as_the_reference_scores_them(cells, training, distance, alpha):
    found = numeric_range(np.array(training), distance, alpha)
    np.testing.assert_allclose(found, reference.value_range(training, distance, alpha), rtol=1e-9, atol=1e-9)
    observed, expected = np.array(cells).T
    scores = numeric_scores(observed, expected, found)
    for score, cell in zip(scores, cells, strict=True):
        np.testing.assert_allclose(score, reference.numeric_score(*cell, found), rtol=1e-12)
    assert not (scores > SCORE_LIMIT).any()


@given(st.floats(-100, 100), st.floats(-100, 100), st.integers(-20, 20))
def test_a_unit_does_not_change_a_score(observed, expected, exponent):
    unit = 2.0**exponent
    scores = [
        numeric_scores(np.array([observed * scale]), np.array([expected * scale]), numeric_range(values, "agd", 0.1))[0]
        for scale, values in ((1.0, EVEN), (unit, EVEN * unit))
    ]
    assert math.isclose(*scores, rel_tol=1e-9)
