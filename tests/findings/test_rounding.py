"""Round numbers stay where they were asked for."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rfod._findings.conditions import n_digits, rounded_up, roundest, roundest_moment, roundest_seconds

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False)


@pytest.mark.parametrize(
    ("above", "up_to", "near", "wanted"),
    [
        (79.1, 80.4, 79.7, 80),
        (1238, 1412, 1300, 1300),
        (0, 1, 0.5, 1),
        (-3, 4, 0.5, 0),
        (0.0123, 0.0124, 0.0123, 0.0124),
        (-81, -78, -79, -80),
        (29, 30, 29.5, 30),
    ],
)
def test_roundest(above: float, up_to: float, near: float, wanted: float) -> None:
    assert roundest(above, up_to, near) == wanted


@given(NUMBERS, NUMBERS, st.floats(0, 1))
def test_roundest_is_inside_and_has_few_digits(first: float, second: float, share: float) -> None:
    above, up_to = sorted((first, second))
    assume(above < up_to)
    found = roundest(above, up_to, above + share * (up_to - above))
    assert above < found <= up_to
    assert n_digits(found) <= n_digits(up_to)


@given(st.floats(0, 1e8), st.floats(0, 1e8))
def test_round_times_are_inside(first: float, second: float) -> None:
    above, up_to = sorted((first, second))
    assume(above < up_to)
    assert above < roundest_seconds(above, up_to) <= up_to
    assert above < roundest_moment(above, up_to) <= up_to


def test_moments_are_full_months_days_and_hours() -> None:
    def seconds(text: str) -> float:
        return dt.datetime.fromisoformat(text + "+00:00").timestamp()

    for first, last, wanted in (
        ("2023-11-20T05:00", "2024-02-07T01:00", "2024-01-01T00:00"),
        ("2024-01-20T05:00", "2024-02-07T01:00", "2024-02-01T00:00"),
        ("2024-02-05T05:00", "2024-02-07T01:00", "2024-02-07T00:00"),
        ("2024-02-07T05:10", "2024-02-07T09:59", "2024-02-07T09:00"),
    ):
        assert roundest_moment(seconds(first), seconds(last)) == seconds(wanted)


@given(NUMBERS, st.integers(1, 6))
def test_rounded_up_is_not_smaller(value: float, digits: int) -> None:
    found = rounded_up(value, digits)
    assert found >= value - 1e-6 * max(1e-300, 10 ** -(digits - 1)) * max(1.0, abs(value))
    assert abs(found - value) <= 10.0 ** (1 - digits) * abs(value) + 1e-9
