"""The probability of rows: local false discovery rates by hand, against the reference, and on tables of known rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import local_fdr as reference
from rfod import RFOD, ParameterError, scan
from rfod._model.calibrate import conformal_p_values
from rfod._model.local_fdr import (
    RowProbabilities,
    anomaly_probability,
    falling_density,
    ordinary_share,
    usual_density,
)


def test_density_by_hand():
    # The distribution function goes through (0.1, 0.5), (0.4, 0.625), (0.5, 0.75) and (1, 1). Its majorant leaves out
    # (0.4, 0.625), which lies below the line from (0.1, 0.5) to (0.5, 0.75).
    p_values = np.array([0.1, 0.1, 0.4, 0.5, 0.1, 1.0, 0.1, 0.9])
    density = falling_density(p_values)
    np.testing.assert_allclose(density, [5, 5, 0.625, 0.625, 5, 0.5, 5, 0.5])


def test_density_with_a_limit_by_hand():
    # A tenth at 0.1, nine tenths at 0.2. With a density of at least 0.5 the function is at most 0.5 + 0.5 x, which is
    # 0.6 at 0.2.
    p_values = np.array([0.1] + [0.2] * 9)
    np.testing.assert_allclose(falling_density(p_values, 0.5), [3, 3] + [3] * 8)
    np.testing.assert_allclose(falling_density(p_values), [5] * 10)  # from (0, 0) straight to (0.2, 1)


def test_ordinary_share_by_hand():
    assert ordinary_share(np.array([0.1] * 60 + [0.9] * 40)) == pytest.approx(41 / 50)
    assert ordinary_share(np.linspace(0.51, 1, 100)) == 1
    assert ordinary_share(np.zeros(0)) == 1


def test_usual_density_by_hand():
    # (1 - 1/e - 1/e) / (1/e) = e - 2 at p = 1/e, where ln p = -1
    np.testing.assert_allclose(usual_density(np.array([np.exp(-1), 1.0])), [np.e - 2, 0.5], rtol=1e-4)


def test_probability_by_hand():
    # 100 rows have p = 0.1, and 100 p-values are spread evenly. A known share of one half, so pi0 = 0.5: the majorant
    # goes through (0.1, 0.55), with slope 5.5, so these rows are ordinary with probability 0.5 / 5.5.
    p_values = np.concatenate([np.full(100, 0.1), (np.arange(100) + 1) / 100])
    found = anomaly_probability(p_values, 10_000, 0.5)
    np.testing.assert_allclose(found[:100], 1 - 0.5 / 5.5)
    lowest = np.sqrt(1 / 200 + 1 / 10_000)
    np.testing.assert_allclose(found[110:], lowest)
    # estimated: 50 p-values above 0.5, so pi0 = 51 / 100
    np.testing.assert_allclose(anomaly_probability(p_values, 10_000)[:100], 1 - 0.51 / 5.5)


def test_few_rows_are_judged_each_by_itself():
    p_values = np.array([0.001, 0.2, 1.0])
    found = anomaly_probability(p_values, 500)
    assert found.tolist() == [anomaly_probability(p_values[[row]], 500)[0] for row in range(3)]
    odds = 0.01 * (1 - 0.001 + 0.001 * np.log(0.001)) / (0.001 * np.log(0.001) ** 2)
    assert found[0] == pytest.approx(odds / (odds + 0.99))
    assert anomaly_probability(p_values, 500, 0.3)[0] > 0.8 > found[0]
    assert anomaly_probability(np.zeros(0), 500).shape == (0,)


grid = st.lists(st.integers(1, 20).map(lambda place: place / 20), min_size=1, max_size=40)


@given(grid, st.floats(0, 1))
def test_density_is_that_of_the_reference(p_values, least):
    found = falling_density(np.array(p_values), least)
    expected = [reference.falling_density(p_values, p, least) for p in p_values]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("share", [None, 0.05, 0.4])
@pytest.mark.parametrize("n_rows", [5, 150])
def test_probability_is_that_of_the_reference(share, n_rows):
    generator = np.random.default_rng(n_rows)
    p_values = np.ceil(generator.random(n_rows) ** generator.choice([1, 4], n_rows) * 60) / 60
    expected = reference.anomaly_probability(p_values.tolist(), 59, share)
    np.testing.assert_allclose(anomaly_probability(p_values, 59, share), expected, rtol=1e-4)


@given(grid.map(lambda p_values: p_values * 20), st.none() | st.floats(0.001, 0.999))
def test_probabilities_fall_with_the_p_value(p_values, share):
    p_values = np.sort(p_values)
    found = anomaly_probability(p_values, 19, share)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) <= 1e-12).all()


@pytest.mark.parametrize("share", [None, 0.05, 0.4])
@pytest.mark.parametrize("n_rows", [0, 1, 99, 100, 1000])
def test_parts_have_the_probabilities_of_the_whole(share, n_rows):
    generator = np.random.default_rng(n_rows)
    calibration, scores = np.sort(generator.gamma(2, size=300)), generator.gamma(2.5, size=n_rows).round(2)
    parts = RowProbabilities(calibration, share)
    for part in np.array_split(scores, 7):
        parts.count(part)
    parts.settle()
    expected = anomaly_probability(conformal_p_values(scores, calibration), 300, share)
    np.testing.assert_array_equal(parts.of(scores), expected)
    np.testing.assert_array_equal(parts.of(scores[:5]), expected[:5])


def table(n_rows, n_odd, seed):
    """Two columns that agree, but for the first rows."""
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(n_rows, 1)) + 0.2 * generator.normal(size=(n_rows, 3))
    values[:n_odd] = 3 * generator.normal(size=(n_odd, 3))
    return values


def test_the_probabilities_of_a_table_add_up_to_its_share():
    detector = RFOD(20, random_state=0, n_jobs=1).fit(table(600, 0, 1))
    found = detector.detect(table(1000, 200, 2)).row_probability_given(0.2)
    assert found.mean() == pytest.approx(0.2, abs=0.05)
    assert found[:200].mean() > 0.7
    estimated = detector.predict_proba(table(1000, 200, 2))
    assert estimated.shape == (1000, 2)
    np.testing.assert_allclose(estimated.sum(axis=1), 1)
    assert estimated[:, 1].mean() == pytest.approx(0.2, abs=0.08)
    assert detector.predict_proba(table(1000, 0, 3))[:, 1].mean() < 0.08


def test_contamination_is_the_share():
    train, test = table(400, 0, 1), table(500, 100, 2)
    given = RFOD(20, random_state=0, n_jobs=1, contamination=0.2).fit(train)
    found = RFOD(20, random_state=0, n_jobs=1).fit(train).detect(test)
    np.testing.assert_array_equal(given.predict_proba(test)[:, 1], found.row_probability_given(0.2))
    np.testing.assert_array_equal(given.detect(test).row_probability, given.predict_proba(test)[:, 1])
    with pytest.raises(ParameterError, match=r"share is 1\.5"):
        found.row_probability_given(1.5)


def test_rows_of_the_fit_have_no_probability():
    found = scan(table(120, 3, 1), n_estimators=5)
    with pytest.raises(ParameterError, match="A probability of rows holds for new rows"):
        _ = found.row_probability
    with pytest.raises(ParameterError, match="A probability of rows holds for new rows"):
        found.row_probability_given(0.1)
