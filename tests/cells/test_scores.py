"""Scores of cells by other methods: p-values by hand, densities against a slow mixture."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.cell_conformal import ConformalCleaning, beyond, p_values
from benchmarks.cell_matrix import UNSEEN, Encoder
from scipy.stats import norm, truncnorm

WORKERS = Path(__file__).resolve().parents[2] / "benchmarks" / "environments"


def test_a_p_value_counts_the_calibration_cells_that_are_as_nonconforming() -> None:
    calibration = np.array([-1.0, 0.0, 2.0, np.inf])
    found = p_values(calibration, np.array([-2.0, 0.0, 1.0, 3.0, np.inf]))
    assert found == pytest.approx([1.0, 4 / 5, 3 / 5, 2 / 5, 2 / 5])


def test_what_lies_beyond_calibration_is_ordered_by_distance() -> None:
    calibration = np.array([0.0, 1.0, 2.0, 3.0, 4.0])  # quartiles 1 and 3
    assert beyond(calibration, np.array([4.0, 6.0, 10.0, np.inf])) == pytest.approx([0.0, 0.5, 0.75, 1.0])
    assert beyond(np.array([np.inf]), np.array([1.0])) == pytest.approx([0.0])


def test_a_frame_becomes_standardised_numbers_and_codes() -> None:
    train = pd.DataFrame({"n": [1.0, 3.0, np.nan], "c": pd.Series(["a", "b", "b"], dtype="category")})
    encoder = Encoder(train, max_categories=120)
    matrix = encoder.encode(pd.DataFrame({"n": [2.0, np.nan, 4.0], "c": ["b", "new", None]}))
    assert matrix.values[:, 0] == pytest.approx([0.0, np.nan, 2 / np.sqrt(2)], nan_ok=True)
    assert matrix.values[:, 1] == pytest.approx([0.0, UNSEEN, np.nan], nan_ok=True)
    assert matrix.n_codes == (0, 2)


def test_conformal_cleaning_points_at_a_broken_relation() -> None:
    generator = np.random.default_rng(0)
    number = generator.normal(size=400)
    frame = pd.DataFrame({"number": number, "twice": 2 * number, "sign": np.where(number > 0, "up", "down")})
    method = ConformalCleaning(seed=0)
    method.fit(frame.iloc[:300])
    test = frame.iloc[300:].reset_index(drop=True)
    test.loc[0, "twice"] = -test.loc[0, "twice"] - 9.0
    test.loc[1, "sign"] = "sideways"
    plain, ranked = method.scores(test).values()
    assert plain.cells[0, 1] == pytest.approx(1 - 1 / 61)
    assert plain.cells[1, 2] == pytest.approx(1 - 1 / 61)
    assert plain.cells[0, 1] < ranked.cells[0, 1] < 1.0
    assert ranked.cells[2:].mean() < 0.7


def test_a_mixture_of_boxes_has_the_conditional_density_of_a_slow_one() -> None:
    arf = _worker("arf_worker").Arf()
    arf._is_category = np.array([False, True])
    arf._low, arf._high = np.array([[-np.inf, 0.0], [0.5, 0.0]]), np.array([[0.5, 0.0], [np.inf, 0.0]])
    arf._mean, arf._spread = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 1.0], [0.5, 1.0]])
    bounds = ((arf._low - arf._mean) / arf._spread, (arf._high - arf._mean) / arf._spread)
    arf._log_mass = _worker("arf_worker")._log_mass(*bounds)
    shares, weights = np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([0.6, 0.4])
    arf._log_shares, arf._log_weight = {1: np.log(shares)}, np.log(weights)

    def density(leaf: int, value: float) -> float:
        low, high = bounds[0][leaf, 0], bounds[1][leaf, 0]
        return float(truncnorm.pdf(value, low, high, loc=arf._mean[leaf, 0], scale=arf._spread[leaf, 0]))

    values = np.array([[0.2, 1.0], [0.9, 0.0], [np.nan, 1.0]])
    found = np.exp(arf.log_conditional(values))
    for row, (value, code) in enumerate(values[:2]):
        numbers = np.array([density(leaf, value) for leaf in (0, 1)])
        own = shares[:, int(code)]
        whole = (weights * numbers * own).sum()
        assert found[row] == pytest.approx([whole / (weights * own).sum(), whole / (weights * numbers).sum()])
    assert found[2] == pytest.approx([np.nan, (weights * shares[:, 1]).sum()], nan_ok=True)


def test_the_mass_of_a_normal_is_exact_in_both_tails() -> None:
    low = np.array([-np.inf, -1.0, 8.0, -9.0])
    high = np.array([0.0, 1.0, 9.0, -8.0])
    expected = [norm.cdf(0), norm.cdf(1) - norm.cdf(-1), norm.sf(8) - norm.sf(9), norm.cdf(-8) - norm.cdf(-9)]
    assert np.exp(_worker("arf_worker")._log_mass(low, high)) == pytest.approx(expected, rel=1e-9)


def test_states_and_views_have_the_conditional_density_of_a_slow_product() -> None:
    lace = _worker("lace_worker").Lace()
    lace._is_category = np.array([False, False, True])
    one = [
        (np.array([0, 2]), np.log([0.5, 0.5]), [(np.array([0.0, 3.0]), np.ones(2)), np.log([[0.9, 0.1], [0.2, 0.8]])]),
        (np.array([1]), np.log([1.0]), [(np.array([1.0]), np.array([2.0]))]),
    ]
    module = _worker("lace_worker")
    lace._states = [one] * module.STATES
    value, other, code = 0.5, -1.0, 1
    found = np.exp(lace.log_conditional(np.array([[value, other, code]])))[0]
    numbers, shares = norm.pdf(value, [0.0, 3.0]), np.array([0.1, 0.8])
    whole = (0.5 * numbers * shares).sum()
    expected = [whole / (0.5 * shares).sum(), norm.pdf(other, 1.0, 2.0), whole / (0.5 * numbers).sum()]
    assert found == pytest.approx(expected)


def _worker(name: str) -> Any:
    """A worker's module; it imports its neighbours as scripts do."""
    sys.path.insert(0, str(WORKERS))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(WORKERS))
