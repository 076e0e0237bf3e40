"""Which cells of a table decisions are about: after rows moved, values changed, and in other libraries."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfod import Decision, Decisions, DecisionsError, ParameterError, SchemaError
from rfod._decisions.texts import comparable
from rfod._table.table import open_table

ROWS = {
    "id": ["a", "b", "c", "d"],
    "city": ["Wien", "Hambrug", "Wien", "Graz"],
    "weight": [1.5, 2.0, None, 4000.0],
    "country": ["AT", "DE", "NZ", "AT"],
}


def frame() -> pd.DataFrame:
    return pd.DataFrame(ROWS)


def test_the_fingerprint_by_hand() -> None:
    """The formula of docs/formats.md."""
    cells = [("id", "b"), ("city", "Hambrug"), ("weight", "2"), ("country", "DE")]
    total = sum(
        int.from_bytes(blake2b(f"{column}\0{text}".encode(), digest_size=8).digest(), "big") for column, text in cells
    )
    assert Decisions().on_cell(frame(), 1, "city", "fine").row == f"{total % 2**64:016x}"


@pytest.mark.parametrize("key", ["id", None])
def test_rows_may_move(key: str | None) -> None:
    decisions = Decisions()
    decisions.add(decisions.on_cell(frame(), 1, "city", "replace", "Hamburg", key=key))
    moved = frame().iloc[[3, 1, 0, 2]].reset_index(drop=True)
    assert decisions.replacements(moved) == [(1, "city", "Hamburg")]
    assert decisions.replacements(moved.drop(index=1)) == []
    assert len(decisions.match(moved.drop(index=1)).unmatched) == 1


@pytest.mark.parametrize("key", ["id", None])
def test_two_decisions_of_one_row_apply_before_while_and_after_its_repair(key: str | None) -> None:
    decisions, table = Decisions(), frame()
    decisions.add(decisions.on_cell(table, 1, "city", "replace", "Hamburg", key=key))
    decisions.add(decisions.on_cell(table, 1, "weight", "replace", "2.5", key=key))
    assert decisions.replacements(table) == [(1, "city", "Hamburg"), (1, "weight", "2.5")]
    table.loc[1, "city"] = "Hamburg"
    assert decisions.replacements(table) == [(1, "weight", "2.5")]
    assert not decisions.match(table).unmatched
    decisions.add(decisions.on_cell(table, 1, "country", "blank", key=key))  # decided on the half repaired row
    table.loc[1, "weight"] = 2.5
    assert decisions.replacements(table) == [(1, "country", None)]
    table.loc[1, "country"] = None
    matched = decisions.match(table)
    assert decisions.replacements(table) == []
    assert not matched.unmatched
    assert [one.is_done for one in matched.applied] == [True, True, True]
    assert decisions.replacements(frame()) == [(1, "city", "Hamburg"), (1, "country", None), (1, "weight", "2.5")]


def test_a_decision_ends_with_the_value_it_is_about() -> None:
    decisions, table = Decisions(), frame()
    decisions.add(decisions.on_cell(table, 1, "city", "fine", key="id"))
    table.loc[1, "city"] = "Bremen"
    (unmatched,) = decisions.match(table).unmatched
    assert str(unmatched) == "id b: city 'Hambrug' fine (the cell holds 'Bremen' now)"


def test_several_rows_are_reported() -> None:
    decisions, table = Decisions(), frame()
    decisions.add(decisions.on_cell(table, 1, "city", "replace", "Hamburg", key="id"))
    decisions.add(decisions.on_cell(table, 0, "weight", "fine"))
    twice = pd.concat([table, table.iloc[:2]], ignore_index=True)
    changed, applied, unmatched = decisions.apply(twice)
    assert changed.column("city").to_pylist() == twice["city"].tolist()
    assert not applied
    assert [one.reason for one in unmatched] == [
        "2 rows match, numbers 1, 5 from 0",
        "2 rows match, numbers 0, 4 from 0",
    ]


def test_a_row_that_differs_in_a_decided_column_is_another_row() -> None:
    """Without the decided columns two rows are the same."""
    decisions, table = Decisions(), pd.DataFrame({"u": ["u0", "u1"], "x": ["a", "a"], "y": ["b", "b"]})
    decisions.add(decisions.on_cell(table, 0, "x", "replace", "new"))
    decisions.add(decisions.on_cell(table, 0, "u", "replace", "u5"))
    assert decisions.replacements(table) == [(0, "u", "u5"), (0, "x", "new")]
    table.loc[0, "u"] = "u7"
    assert len(decisions.match(table).unmatched) == 2


def test_of_rows_with_one_key_the_observed_value_decides() -> None:
    decisions, table = Decisions(), frame()
    decisions.add(decisions.on_cell(table, 1, "city", "replace", "Hamburg", key="id"))
    table.loc[3, "id"] = "b"
    assert decisions.replacements(table) == [(1, "city", "Hamburg")]


@pytest.mark.parametrize(("column", "reason"), [("id", "no column 'id'"), ("city", "no column 'city'")])
def test_lacking_columns_are_reported(column: str, reason: str) -> None:
    decisions = Decisions()
    decisions.add(decisions.on_cell(frame(), 1, "city", "fine", key="id"))
    (unmatched,) = decisions.match(frame().drop(columns=column)).unmatched
    assert reason in unmatched.reason


def test_conditions_are_about_all_rows_where_they_hold() -> None:
    decisions = Decisions([Decision("fine", "city", wherever="country = AT")])
    settled = decisions.match(frame()).settle(open_table(frame()))
    assert {name: sorted(rows) for name, rows in settled.cells.items()} == {"city": [0, 3]}
    (unmatched,) = decisions.match(frame().drop(columns="country")).unmatched
    assert "there is no column 'country'" in unmatched.reason


def test_a_condition_that_cannot_be_evaluated_is_reported() -> None:
    decisions = Decisions(
        [
            Decision("fine", "weight", wherever="city > 2024-01-02"),
            Decision("fine", "city", wherever="country = AT"),
        ]
    )
    matched = decisions.match(frame())
    assert not matched.unmatched
    settled = matched.settle(open_table(frame()))
    assert {name: sorted(rows) for name, rows in settled.cells.items()} == {"city": [0, 3]}
    assert [one.reason for one in settled.unread] == [
        "The condition compares 'city' with '2024-01-02', which is no number"
    ]


def test_conditions_hold_for_decided_values() -> None:
    decisions = Decisions([Decision("fine", "weight", wherever="city = Hamburg")])
    decisions.add(decisions.on_cell(frame(), 1, "city", "replace", "Hamburg"))
    settled = decisions.match(frame()).settle(open_table(frame()))
    assert settled.cells == {"city": {1: True}, "weight": {1: False}}


def test_new_values_are_read_as_their_column() -> None:
    decisions = Decisions()
    decisions.add(decisions.on_cell(frame(), 3, "weight", "replace", "4.0"))
    with pytest.raises(DecisionsError, match="'weight': 'light' is no number, as the column has them"):
        decisions.on_cell(frame(), 0, "weight", "replace", "light")
    decisions.add(replace(decisions.on_cell(frame(), 0, "weight", "replace", "3"), value="light"))
    changed, _, unmatched = decisions.apply(frame())
    assert changed.column("weight").to_pylist() == [1.5, 2.0, None, 4.0]
    assert [one.reason for one in unmatched] == ["'light' is no number, as the column has them"]


def test_values_of_all_types() -> None:
    import datetime as dt

    table = pa.table(
        {
            "whole": pa.array([1, 2], pa.int8()),
            "flag": [True, False],
            "day": [dt.date(2024, 1, 5), dt.date(2024, 1, 6)],
            "moment": pa.array([dt.datetime(2024, 1, 5, 12), None]),
            "kind": pa.array(["x", "y"]).dictionary_encode(),
            "none": pa.nulls(2),
        }
    )
    decisions = Decisions()
    new = {"whole": "3", "flag": "false", "day": "2024-02-01", "moment": "2024-02-01 13:00", "kind": "z"}
    for column, value in new.items():
        decisions.add(decisions.on_cell(table, 0, column, "replace", value))
    changed, applied, unmatched = decisions.apply(table)
    assert not unmatched
    assert len(applied) == 5
    assert [changed.column(name)[0].as_py() for name in new] == [
        3,
        False,
        dt.date(2024, 2, 1),
        dt.datetime(2024, 2, 1, 13),
        "z",
    ]
    with pytest.raises(DecisionsError, match="'300' is no number"):
        Decisions().on_cell(table, 0, "whole", "replace", "300")


def test_the_same_cell_in_another_library() -> None:
    """A file that was decided as text is judged in a frame that holds numbers."""
    text = pa.table({"n": ["1", "2", "3.50"], "day": ["2024-01-05", "2024-01-06", "2024-01-07"], "t": ["x", "y", "z"]})
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.5], "day": pd.to_datetime(text["day"].to_pylist()), "t": ["x", "y", "z"]})
    decisions = Decisions()
    decisions.add(decisions.on_cell(text, 2, "n", "replace", "4"))
    decisions.add(decisions.on_cell(text, 1, "t", "blank"))
    assert decisions.replacements(frame) == [(1, "t", None), (2, "n", "4")]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("12.0", "12"),
        ("+3.50", "3.5"),
        ("-0.0", "0"),
        ("007", "007"),
        ("1e5", "1e5"),
        ("True", "true"),
        ("2024-01-05 00:00:00", "2024-01-05"),
        ("2024-01-05 00:00:01", "2024-01-05 00:00:01"),
    ],
)
def test_one_text_per_value(text: str, same: str) -> None:
    assert comparable(text) == same


def test_keys_have_to_be_unique() -> None:
    table = frame()
    table.loc[0, "id"], table.loc[2, "id"] = None, "b"
    for row, words in ((0, "is empty"), (1, "is 'b' in 2 rows")):
        with pytest.raises(DecisionsError, match=words):
            Decisions().on_cell(table, row, "city", "fine", key="id")


def test_cells_that_are_not_there() -> None:
    with pytest.raises(SchemaError, match="did you mean 'city'"):
        Decisions().on_cell(frame(), 0, "citty", "fine")
    with pytest.raises(ParameterError, match="There is no row 4"):
        Decisions().on_cell(frame(), 4, "city", "fine")
    with pytest.raises(ParameterError, match="The cell holds 'Wien' already"):
        Decisions().on_cell(frame(), 0, "city", "replace", "Wien")
    with pytest.raises(ParameterError, match="The cell holds nothing already"):
        Decisions().on_cell(frame(), 2, "weight", "blank")
    with pytest.raises(ParameterError, match="The new value is empty"):
        Decisions().on_cell(frame(), 0, "city", "replace", " ")


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_decisions_find_their_rows(data: st.DataObject) -> None:
    """Any decisions on rows that differ, after any of them were carried out and the rows were shuffled."""
    n = data.draw(st.integers(2, 8))
    cell = st.sampled_from(["a", "b", "12", "12.0", "", " x"])
    table = pd.DataFrame(
        {"u": [f"u{row}" for row in range(n)], **{c: [data.draw(cell) for _ in range(n)] for c in "xy"}}
    )
    decisions, wanted = Decisions(), {}
    for _ in range(data.draw(st.integers(1, 6))):
        row, column = data.draw(st.integers(0, n - 1)), data.draw(st.sampled_from("xyu"))
        is_gap = not table.loc[row, column]
        kind = data.draw(st.sampled_from(["replace", "fine"] + ([] if column == "u" or is_gap else ["blank"])))
        value = f"new {row if column == 'u' else data.draw(st.integers(0, 1))}" if kind == "replace" else None
        decisions.add(decisions.on_cell(table, row, column, kind, value))
        wanted[row, column] = decisions.entries[-1]
    done = {place for place in wanted if data.draw(st.booleans())}
    now = table.copy()
    for row, column in done:
        decision = wanted[row, column]
        if decision.kind != "fine":
            now.loc[row, column] = decision.value or ""
    order = data.draw(st.permutations(range(n)))
    matched = decisions.match(now.iloc[order].reset_index(drop=True))
    assert not matched.unmatched
    assert {(order[one.row], one.decision.column): one.decision.id for one in matched.applied} == {
        place: decision.id for place, decision in wanted.items()
    }


def test_parts_of_a_table() -> None:
    decisions, table = Decisions(), frame()
    decisions.add(decisions.on_cell(table, 1, "city", "replace", "Hamburg"))
    decisions.add(decisions.on_cell(table, 3, "city", "fine", key="id"))
    matcher = decisions.matcher()
    parts = [(open_table(table.iloc[:2]), np.arange(2)), (open_table(table.iloc[2:]), np.arange(2, 4))]
    for part, numbers in parts:
        matcher.add(part, numbers)
    matched = decisions.matched(matcher, parts[0][0])
    assert not matched.unmatched
    found = [matched.settle(part, numbers) for part, numbers in parts]
    assert [each.table.column("city").to_pylist() for each in found] == [["Wien", "Hamburg"], ["Wien", "Graz"]]
    assert [each.cells["city"] for each in found] == [{1: True}, {1: False}]
    assert found[0].masks["city"].tolist() == [False, True]


def test_a_decision_of_its_own_id() -> None:
    decision = Decision("fine", "city", "x", row="0" * 16)
    assert replace(decision, note="y").id == decision.id
    assert Decision("fine", "city", "x", row="0" * 16).id != decision.id
