"""How decided cells shift the others of their column."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from rfod import Decision, Decisions, DecisionsError
from rfod._decisions.settled import SettledCells, shift_of, shifted
from rfod._table.table import open_table


def test_the_shift_by_hand() -> None:
    """One cell of probability 0.5 that is fine: -1 / (1 + exp(-b)) = b has the solution -0.401058."""
    assert shift_of([(0.5, False)]) == pytest.approx(-0.401058, abs=1e-6)
    assert shift_of([(0.5, True)]) == pytest.approx(0.401058, abs=1e-6)
    assert shift_of([]) == 0
    assert shift_of([(0.5, True), (0.5, False)]) == pytest.approx(0, abs=1e-9)


def test_many_decisions_move_it_to_what_was_found() -> None:
    """Of 1,000 cells of probability 0.9 half are wrong: the log-odds were too high by log(9)."""
    found = shift_of([(0.9, place % 2 == 0) for place in range(1000)])
    assert found == pytest.approx(-math.log(9), abs=0.02)


def test_certain_cells_count_as_nearly_certain() -> None:
    assert shift_of([(1.0, False)]) == shift_of([(0.99, False)])


def test_probabilities_are_shifted_by_their_odds() -> None:
    np.testing.assert_allclose(shifted(np.array([0.5, 0.9, 0.0]), math.log(3)), [0.75, 27 / 28, 0], atol=1e-9)
    chance = np.array([0.2, 0.7])
    assert shifted(chance, 0.0) is chance


def test_rows_and_names() -> None:
    settled = SettledCells({"a": np.array([np.nan, 1.0, 0.0])}, {"a": 0.5, "b": 1.0})
    taken = settled.take(np.array([2, 0])).renamed({"a": "x"})
    np.testing.assert_array_equal(taken.outcomes["x"], [0.0, np.nan])
    assert taken.masks["x"].tolist() == [True, False]
    assert taken.shifts == {"x": 0.5}


def test_decisions_about_findings_shift_their_column() -> None:
    table = pd.DataFrame({"id": list("abcd"), "city": ["x", "y", "z", "w"]})
    decisions = Decisions()
    decisions.add(decisions.on_cell(table, 0, "city", "fine", key="id", probability=0.5))
    decisions.add(decisions.on_cell(table, 1, "city", "fine", key="id"))  # not a finding
    matched = decisions.match(table)
    assert matched.shifts == {"city": shift_of([(0.5, False)])}
    assert matched.settle(open_table(table)).settled.shifts == matched.shifts


def test_a_probability_is_one() -> None:
    with pytest.raises(DecisionsError, match=r"1\.5 is no probability"):
        Decision("fine", "city", "x", row="0" * 16, probability=1.5)
