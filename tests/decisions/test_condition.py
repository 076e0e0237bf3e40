"""Conditions: what is read, where they hold, and what is refused."""

from __future__ import annotations

import contextlib
import datetime as dt

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rfod import DecisionsError
from rfod._decisions.condition import parse_condition
from rfod._table.table import open_table

TABLE = pd.DataFrame(
    {
        "country": ["NZ", "AT", "New York", None],
        "weight": [150.0, 50.0, None, 1200.0],
        "weight limit": ["100", "x", "200", "1,5"],
        "day": [dt.datetime(2024, 1, day) for day in (1, 2, 3, 4)],
        "is_new": [True, False, True, False],
    }
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("country = NZ", [0]),
        ("country = 'NZ'", [0]),
        ('"country" == "NZ"', [0]),
        ("country = New York", [2]),
        ("country != NZ", [1, 2]),
        ("country is missing", [3]),
        ("country is not missing", [0, 1, 2]),
        ("country in (NZ, 'New York')", [0, 2]),
        ("country = NZ and weight > 100", [0]),
        ("country=NZ or weight>=1200", [0, 3]),
        ("weight > 1,000", [3]),
        ("weight = 50", [1]),
        ("weight = 50.0", [1]),
        ("weight between 50 and 150", [0, 1]),
        ("not weight > 100", [1, 2]),
        ("not (country = NZ or country = AT) and day > 2024-01-03", [3]),
        ("NOT NOT country = NZ", [0]),
        ("weight limit > 100", [2]),
        ("weight limit = 100 and weight > 100", [0]),
        ("day >= 2024-01-03", [2, 3]),
        ("day = 2024-01-03", [2]),
        ("day < '2024-01-01 12:00'", [0]),
        ("is_new = true", [0, 2]),
        ("country = AT or country = NZ and weight < 100", [1]),
    ],
)
def test_where_it_holds(text: str, rows: list[int]) -> None:
    holds = parse_condition(text, list(TABLE)).holds(open_table(TABLE))
    assert holds.nonzero()[0].tolist() == rows


def test_quotes_inside_quotes() -> None:
    table = open_table(pd.DataFrame({"it's": ["a and b", "'"], "b": [1, 2]}))
    assert parse_condition("'it''s' = 'a and b'", table.names).holds(table).tolist() == [True, False]
    assert parse_condition("'it''s' = ''''", table.names).holds(table).tolist() == [False, True]
    assert parse_condition("it's = \"'\"", table.names).holds(table).tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the name of a column is expected at its end"),
        ("contry = NZ", "there is no column 'contry'.\nHint: did you mean 'country'?"),
        ("country", "=, !=, <, <=, >, >=, 'in', 'between' or 'is' is expected"),
        ("country = ", "a value is expected"),
        ("country = NZ and", "the name of a column is expected"),
        ("(country = NZ", "')' is expected at its end"),
        ("country = NZ)", "'and', 'or' or the end is expected before ')'"),
        ("country in NZ", "'(' is expected"),
        ("country is NZ", "'missing' or 'not missing' is expected"),
        ("weight between 1 or 2", "'and' is expected"),
        ("__import__('os').system('x')", "there is no column '__import__'"),
        ("(" * 60 + "country = NZ", "more than 50 parentheses are open"),
        ("country = " + "x" * 20_000, "20,010 letters"),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    with pytest.raises(DecisionsError) as caught:
        parse_condition(text, list(TABLE))
    assert problem in str(caught.value)


@pytest.mark.parametrize("text", ["weight > heavy", "day > 5 o'clock", "day > NZ"])
def test_values_that_cannot_be_compared(text: str) -> None:
    with pytest.raises(DecisionsError):
        parse_condition(text, list(TABLE)).holds(open_table(TABLE))


@given(st.text(max_size=40))
def test_any_text_is_a_condition_or_an_error(text: str) -> None:
    with contextlib.suppress(DecisionsError):
        parse_condition(text, ["a", "b c", "not"])
