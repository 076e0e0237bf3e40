"""Surprise by hand, and that it is honest."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rfod
from rfod._model import calibrate
from rfod._model.scores import power_means, root_mean_squares


def test_numeric_strangeness_is_the_log_of_residual_over_spread() -> None:
    found = calibrate.numeric_strangeness(np.array([10.0, 0.0, np.nan]), np.array([3.0, 3.0, 3.0]), floor=4.0)
    np.testing.assert_allclose(found, [np.log(2.0), np.log(0.1), np.nan])  # hypot(3, 4) = 5


def test_residuals_that_are_small_for_their_spread_count_as_equal() -> None:
    found = calibrate.numeric_strangeness(np.array([0.0, 1e-9, 0.4, 0.6]), np.full(4, 3.0), floor=4.0)
    assert found[0] == found[1] == found[2] < found[3]


def test_categorical_strangeness_is_minus_log_of_no_likelier_categories() -> None:
    found = calibrate.categorical_strangeness(np.array([0.99999, 0.09999, 0.0]))
    np.testing.assert_allclose(found, [0.0, 1.0, 5.0], atol=1e-12)


def test_the_floor_is_the_median_residual_or_half_the_resolution() -> None:
    assert calibrate.spread_floor(np.array([1.0, 2.0, 9.0, np.nan]), 100.0, 1.0) == 2.0
    assert calibrate.spread_floor(np.array([0.0, 0.0, 0.0]), 100.0, 0.01) == 0.005
    assert calibrate.spread_floor(np.array([0.0, 0.0, 0.0]), 100.0, 0.0) == pytest.approx(1e-4)
    assert calibrate.spread_floor(np.zeros(0), 0.0, 0.0) > 0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, -2.0, 30.0, np.nan, np.inf], 1.0),
        ([0.07, 0.19, 0.0], 0.01),
        ([0.07, 0.07000000029802322, 0.1899999976158142], 0.01),  # after float32
        ([0.5] * 99 + [0.123456], 0.1),  # one value with more decimals
        ([1e-7, 3e-7], 1e-7),
        ([0.0, 0.0], 1.0),
        ([np.pi, np.e], 0.0),
        ([np.nan], 0.0),
        ([], 0.0),
    ],
)
def test_the_resolution_is_the_last_decimal_in_use(values: list[float], expected: float) -> None:
    assert calibrate.resolution(np.array(values)) == pytest.approx(expected)


def test_surprise_of_shares() -> None:
    assert calibrate.share_surprise(0, 99) == 2.0
    assert calibrate.share_surprise(99, 99) == 0.0


def test_below_its_start_a_tail_is_the_share_of_training_cells() -> None:
    tail = calibrate.fit_tail(np.arange(100.0), is_categorical=False, robust=False)
    # 10 in the tail: 90 to 99, which begins behind 89
    assert tail.start == 89.0
    shares = np.array([101, 100, 51, 12]) / 101  # of the 100 known ones those at least as high, and one more
    np.testing.assert_allclose(tail.surprise(np.array([-5.0, 0.5, 50.0, 89.0])), -np.log10(shares))


def test_beyond_its_start_a_tail_falls_like_the_mean_excess() -> None:
    known = np.concatenate([np.zeros(90), np.full(10, 2.0)])
    tail = calibrate.fit_tail(known, is_categorical=False, robust=False)
    rate = (1 - 1.64 / np.sqrt(10)) / 2.0  # mean excess 2
    expected = -np.log10(11 / 101) + 6.0 * rate / np.log(10)
    np.testing.assert_allclose(tail.surprise(np.array([6.0])), expected)
    assert np.isnan(tail.surprise(np.array([np.nan])))[0]


def test_a_tail_ends_where_the_data_end_to_carry_it() -> None:
    """99 cells show 1 / 100. The tail may continue by four decades; it reaches two where the line has four."""
    tail = calibrate.Tail(np.linspace(-1, 1, 99), start=0.0, start_surprise=1.0, slope=2.0)
    np.testing.assert_allclose(tail.surprise(np.array([0.25, 0.5, 2.5, 1e9])), [1.5, 2.0, 4.0, 6.0])
    few, many = (calibrate.Tail(np.zeros(n), 0.0, 1.0, 4.0).surprise(np.array([300.0]))[0] for n in (62, 4096))
    assert few < 5.4 < 10 < many < 10.84


@pytest.mark.parametrize("robust", [False, True])
def test_residuals_within_their_spread_are_in_no_tail(robust: bool) -> None:
    """Where nearly all cells are predicted exactly, the others are strange only beyond their spread."""
    known = np.concatenate([np.full(990, np.log(0.1)), np.full(10, np.log(0.3))])
    tail = calibrate.fit_tail(known, is_categorical=False, robust=robust)
    within, beyond = tail.surprise(np.log([[0.1, 0.2, 0.9], [1.1, 3.0, 30.0]]))
    assert within[0] == 0
    assert (within[1:] == calibrate.share_surprise(20, 1000)).all()
    assert within[-1] < beyond[0] < 3 < beyond[1] < beyond[2]


@pytest.mark.parametrize("n_rows", [100, 1000])
def test_rounding_is_no_surprise(n_rows: int) -> None:
    """A rate that a category decides, after a round trip through float32."""
    rng = np.random.default_rng(0)
    category = rng.choice(["food", "book", "tool", "toy"], n_rows)
    vat = np.where(np.isin(category, ["food", "book"]), 0.07, 0.19)
    table = pd.DataFrame({"category": category, "vat": vat, "price": rng.lognormal(3, 1, n_rows).round(2)})
    some = rng.choice(n_rows, n_rows // 10, replace=False)
    partly = table.copy()
    partly.loc[some, "vat"] = vat[some].astype(np.float32).astype(np.float64)
    swapped = table.assign(vat=0.26 - vat)
    detector = rfod.RFOD(random_state=0, n_jobs=1).fit(table)
    assert detector.detect(table.astype({"vat": np.float32})).surprise[:, 1].max() < 3
    assert detector.detect(partly).surprise[:, 1].max() < 3
    own = rfod.RFOD(random_state=0, n_jobs=1).fit_detect(partly).surprise[:, 1]
    assert own.max() < 3
    assert detector.detect(swapped).surprise[:, 1].min() > 3


def test_a_robust_tail_does_not_see_a_few_wrong_cells() -> None:
    clean = np.sort(np.random.default_rng(0).exponential(size=4000))
    wrong = np.concatenate([clean[:-20], np.full(20, 1000.0)])
    at = np.array([20.0])
    robust = [calibrate.fit_tail(known, False, robust=True).surprise(at)[0] for known in (clean, wrong)]
    plain = [calibrate.fit_tail(known, False, robust=False).surprise(at)[0] for known in (clean, wrong)]
    assert robust[1] > 0.6 * robust[0]
    assert plain[1] < 0.4 * plain[0]


@given(st.lists(st.floats(-20, 20), max_size=60), st.lists(st.floats(-30, 1e6), min_size=2, max_size=20), st.booleans())
def test_surprise_grows_with_strangeness(known: list[float], probes: list[float], robust: bool) -> None:
    tail = calibrate.fit_tail(np.sort(np.array(known)), False, robust)
    found = tail.surprise(np.sort(np.array(probes)))
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert (np.diff(found) >= -1e-9).all()


@pytest.mark.parametrize("law", ["exponential", "normal", "student"])
def test_ten_to_the_minus_surprise_is_a_p_value(law: str) -> None:
    rng = np.random.default_rng(1)
    draw = {
        "exponential": lambda n: rng.exponential(size=n),
        "normal": lambda n: np.log(np.abs(rng.normal(size=n))),
        "student": lambda n: np.log(np.abs(rng.standard_t(3, size=n))),
    }[law]
    shares = []
    for _ in range(40):
        tail = calibrate.fit_tail(np.sort(draw(2000)), False, robust=False)
        found = tail.surprise(draw(50_000))
        shares.append([np.mean(found >= level) * 10**level for level in (1, 2, 3, 4)])
    assert (np.mean(shares, axis=0) < 1.25).all()
    assert np.mean(shares, axis=0)[1] > 0.4  # and not for want of trying


def test_means_over_cells_by_hand() -> None:
    np.testing.assert_allclose(root_mean_squares(np.array([[3.0, 4.0], [0.0, 0.0]])), [np.sqrt(12.5), 0.0])
    # (2^4 + 4^4) / 2 = 136
    np.testing.assert_allclose(power_means(np.array([[2.0, 4.0], [0.0, 0.0]])), [136**0.25, 0.0])
