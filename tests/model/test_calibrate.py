"""p-values: by hand, by their definition, and honest on clean tables."""

import numpy as np
import pandas as pd
import pytest

import rfod
from rfod._model.calibrate import conformal_p_values, own_p_values
from rfod._model.scores import benjamini_hochberg, false_discovery_cut, highest


def test_conformal_p_values_by_hand() -> None:
    calibration = np.array([1.0, 2.0, 2.0, 5.0])
    scores = np.array([0.0, 1.0, 2.0, 3.0, 5.0, 6.0])
    np.testing.assert_allclose(conformal_p_values(scores, calibration), np.array([5, 5, 4, 2, 2, 1]) / 5)


def test_conformal_p_values_are_valid() -> None:
    rng = np.random.default_rng(0)
    below = [
        np.mean(conformal_p_values(rng.lognormal(size=50), np.sort(rng.lognormal(size=40))) <= 0.1) for _ in range(500)
    ]
    assert np.mean(below) <= 0.1 + 3 * np.std(below) / np.sqrt(500)


def test_own_p_values_are_ranks_below_the_tail_and_fall_beyond() -> None:
    scores = np.random.default_rng(0).lognormal(size=1000)
    p_values = own_p_values(scores)
    order = np.argsort(scores)
    assert (np.diff(p_values[order]) <= 1e-3).all()
    assert p_values[order[500]] == pytest.approx(0.5, abs=0.01)
    far = own_p_values(np.append(scores, 1e6))
    assert far[-1] < 1e-20


@pytest.mark.parametrize("scores", [np.zeros(0), np.zeros(50), np.ones(50), np.r_[np.zeros(49), 7.0], np.array([3.0])])
def test_own_p_values_of_odd_samples_are_ranks(scores: np.ndarray) -> None:
    p_values = own_p_values(scores)
    assert p_values.shape == scores.shape
    assert ((p_values > 0) & (p_values <= 1)).all()


def test_benjamini_hochberg_by_hand() -> None:
    p_values = np.array([0.01, 0.04, 0.03, 0.9, 0.02])  # sorted .01 .02 .03 .04 .9 against .01 .02 .03 .04 .05
    assert benjamini_hochberg(p_values, 0.05).tolist() == [True, True, True, False, True]
    assert benjamini_hochberg(p_values, 0.04).tolist() == [False] * 5
    assert benjamini_hochberg(np.array([np.nan, 0.01]), 0.05).tolist() == [False, True]
    assert benjamini_hochberg(np.zeros(0), 0.05).tolist() == []


def test_benjamini_hochberg_over_counts_agrees_with_the_one_over_p_values() -> None:
    rng = np.random.default_rng(0)
    for rate in (0.01, 0.05, 0.3):
        p_values = np.round(rng.beta(0.5, 2, 200), 2)  # with ties
        values, counts = np.unique(p_values, return_counts=True)
        cut, n_found = false_discovery_cut(values, counts, rate)
        found = benjamini_hochberg(p_values, rate)
        assert n_found == found.sum()
        np.testing.assert_array_equal(p_values <= cut, found)
        ranked = np.sort(p_values)
        passed = np.flatnonzero(ranked <= rate * np.arange(1, 201) / 200)
        assert n_found == (passed[-1] + 1 if len(passed) else 0)
    assert false_discovery_cut(np.zeros(0), np.zeros(0, dtype=np.int64), 0.05) == (-np.inf, 0)


def test_highest_takes_the_earlier_of_equals() -> None:
    assert highest(np.array([1.0, 3.0, 3.0, 2.0]), 1).tolist() == [False, True, False, False]
    assert highest(np.array([1.0, 3.0]), 5).tolist() == [True, True]
    assert highest(np.array([1.0, 3.0]), 0).tolist() == [False, False]


def clean_table(n_rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Related columns of several kinds; every row is as right as any other."""
    size, noise = rng.normal(size=n_rows), rng.normal(size=(n_rows, 3))
    return pd.DataFrame(
        {
            "length": size + 0.3 * noise[:, 0],
            "price": np.exp(size + 0.5 * noise[:, 1]),
            "pieces": rng.poisson(np.exp(0.5 * size)),
            "kind": np.where(size + noise[:, 2] > 0, "large", "small"),
        }
    )


def plant(table: pd.DataFrame, n_planted: int, rng: np.random.Generator) -> pd.DataFrame:
    """The first rows become very short, dear and many at once, which none of the others is."""
    table, rows = table.copy(), table.index[:n_planted]
    table.loc[rows, "length"] = rng.uniform(-12, -5, n_planted)
    table.loc[rows, "price"] = rng.uniform(20, 90, n_planted)
    table.loc[rows, "pieces"] = rng.integers(9, 30, n_planted)
    return table


@pytest.mark.slow
def test_false_discoveries_stay_at_the_nominal_rate() -> None:
    """Realised share of false ones among the findings, at a nominal 10 %, over clean and over partly wrong tables."""
    rng = np.random.default_rng(0)
    any_false, share_false, n_found = [], [], 0
    for repeat in range(30):
        params = {"n_estimators": 20, "random_state": repeat, "n_jobs": 1}
        train, test = clean_table(400, rng), clean_table(200, rng)
        fitted = rfod.RFOD(**params).fit(train)
        any_false.append(fitted.detect(test).flag(fdr=0.1).any())
        flagged = fitted.detect(plant(test, 10, rng)).flag(fdr=0.1)
        n_found += int(flagged[:10].sum())
        share_false.append(flagged[10:].sum() / max(flagged.sum(), 1))
    # On a clean table every finding is false, so the rate is the share of tables with any: 3 standard errors.
    assert np.mean(any_false) <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / 30)
    assert np.mean(share_false) <= 0.1 + 3 * np.std(share_false) / np.sqrt(30)
    assert n_found > 250  # of 300
