"""What the columns of a table are taken for, and the words about it."""

from __future__ import annotations

import copy
import datetime as dt
import json
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rfod._table.schema import Column, Schema, infer_schema, match_columns
from rfod._table.table import open_table
from rfod.exceptions import ColumnMismatchError, ColumnWarning, ModelFormatError, SchemaError

ROWS = 30


def other(n_rows=ROWS):
    """A harmless second and third column."""
    return {
        "left": [0.5 * (row % 7) for row in range(n_rows)],
        "right": ["a" if row % 3 else "b" for row in range(n_rows)],
    }


def kind_of(values, column_types=None, name="it", arrow_type=None):
    """The kind or reason for one column, with the warning if there is one."""
    table = pa.table({name: pa.array(values, arrow_type), **other(len(values))})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        schema = infer_schema(open_table(table), column_types)
    assert len(caught) <= 1
    found = {column.name: column for column in schema.columns}.get(name) or schema.left_out[name]
    return (found.kind if isinstance(found, Column) else found), found, str(caught[0].message) if caught else ""


def test_kinds_of_every_library(open_columns):
    moments = [dt.datetime(2024, 1, 1 + row % 9, 12) for row in range(ROWS)]
    table = open_columns(
        {
            "number": [row * 7 % 10 for row in range(ROWS)],
            "text": ["yes" if row % 3 else None for row in range(ROWS)],
            "truth": [None if row == 4 else row % 4 > 0 for row in range(ROWS)],
            "moment": moments,
            "day": [moment.date() for moment in moments],
            "time": [dt.time(row % 24) for row in range(ROWS)],
            "length": [dt.timedelta(hours=row) for row in range(ROWS)],
            "money": [Decimal(row) / 4 for row in range(ROWS)],
            "nothing": [None] * ROWS,
            "key": [f"K{row}" for row in range(ROWS)],
        }
    )
    with pytest.warns(ColumnWarning) as caught:
        schema = infer_schema(table)
    assert len(caught) == 1
    kinds = {column.name: column.kind for column in schema.columns}
    assert kinds == {
        "number": "numeric",
        "text": "categorical",
        "truth": "boolean",
        "moment": "datetime",
        "day": "datetime",
        "time": "time",
        "length": "duration",
        "money": "numeric",
    }
    assert schema.left_out == {"nothing": "empty", "key": "identifier"}
    text, truth = schema.columns[1:3]
    assert (text.arrow_type, text.categories, text.n_missing, text.n_distinct) == ("string", ("yes",), 10, 1)
    assert text.constant
    assert (truth.arrow_type, truth.categories, truth.n_missing) == ("bool", (True, False), 1)
    assert schema.n_rows == ROWS
    assert schema.names == table.names


@pytest.mark.parametrize(
    ("values", "arrow_type", "kind"),
    [
        ([1, 2, 3, None] * 10, pa.uint8(), "numeric"),
        ([1, 2, 3, None] * 10, pa.uint64(), "numeric"),
        ([1, 2, None] * 10, pa.int64(), "categorical"),  # two values are no amounts
        ([0, 1, None] * 10, pa.int64(), "boolean"),
        ([10115, 80331] * 5 + [20095] * 10, pa.int64(), "numeric"),
        ([1.5, 2, None] * 10, pa.float16(), "numeric"),
        ([1.5, 2, None] * 10, pa.float32(), "numeric"),
        ([Decimal("1.5"), None] * 10, pa.decimal256(40, 2), "numeric"),
        (["a", None] * 10, pa.large_string(), "categorical"),
        (["a", None] * 10, pa.string_view(), "categorical"),
        (["a", None] * 10, pa.dictionary(pa.int8(), pa.string()), "categorical"),
        ([1, 2, None] * 10, pa.dictionary(pa.int8(), pa.int64()), "categorical"),
        ([True, None] * 10, pa.dictionary(pa.int8(), pa.bool_()), "boolean"),
        ([1, None] * 10, pa.timestamp("s", tz="Europe/Berlin"), "datetime"),
        ([1, None] * 10, pa.date64(), "datetime"),
        ([1, None] * 10, pa.time32("ms"), "time"),
        ([1, None] * 10, pa.duration("ns"), "duration"),
        ([None] * 20, pa.null(), "empty"),
        ([None] * 20, pa.string(), "empty"),
        ([float("nan")] * 20, pa.float64(), "empty"),
    ],
    ids=str,
)
def test_kinds_of_arrow_types(values, arrow_type, kind):
    assert kind_of(values, arrow_type=arrow_type)[0] == kind


def test_declared_categories_are_believed():
    keys = [f"K{row}" for row in range(ROWS)]
    assert kind_of(keys)[0] == "identifier"
    assert kind_of(keys, arrow_type=pa.dictionary(pa.int8(), pa.string()))[0] == "categorical"
    for declared in (
        pd.DataFrame({"it": pd.Categorical(keys), **other()}),
        pl.DataFrame({"it": pl.Series(keys, dtype=pl.Enum(keys)), **other()}),
        pl.DataFrame({"it": pl.Series(keys, dtype=pl.Categorical), **other()}),
    ):
        assert infer_schema(open_table(declared)).columns[0].kind == "categorical"


def test_categories_by_frequency_then_value():
    assert kind_of(["b", "c", "a", "c", None])[1].categories == ("c", "a", "b")
    assert kind_of([3, 1, 1, 2, None], {"it": "categorical"})[1].categories == (1, 2, 3)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([f"K{row}" for row in range(20)], "categorical"),  # not more than 20 distinct values
        ([f"K{row}" for row in range(21)], "identifier"),
        ([f"K{row}" for row in range(21)] * 2, "categorical"),  # not more than half of the values
        ([f"K{row}" for row in range(21)] + [None] * 99, "identifier"),  # half of those present
        ([f"the {row}" for row in range(21)], "text"),
        (["x" * 60 + str(row) for row in range(21)], "text"),
        ([f"wheel {row} of cart" for row in range(30)] * 3, "text"),  # four words, a third distinct
        ([f"wheel {row} cart" for row in range(30)] * 3, "categorical"),
        ([f"wheel {row} of cart" for row in range(30)] * 4, "categorical"),
    ],
)
def test_text_rules(values, kind):
    assert kind_of(values)[0] == kind


@pytest.mark.parametrize(
    ("values", "name", "kind"),
    [
        (list(range(20)), "it", "identifier"),
        (list(range(19)), "it", "numeric"),  # too few rows
        (list(range(1000, 0, -10)), "it", "identifier"),
        ([*range(50), *range(60, 110)], "it", "identifier"),  # one gap
        ([row * row for row in range(30)], "it", "numeric"),  # rising, but no counter
        ([*range(25), 24], "id", "numeric"),  # not distinct
        ([*range(25), None], "id", "numeric"),
        ([row * 7 % 31 for row in range(31)], "it", "numeric"),
        ([row * 7 % 31 for row in range(31)], "id", "identifier"),
        ([row * 7 % 31 for row in range(31)], "customer_id", "identifier"),
        ([row * 7 % 31 for row in range(31)], "orderId", "identifier"),
        ([row * 7 % 31 for row in range(31)], "UUID", "identifier"),
        ([row * 7 % 31 for row in range(31)], "primary key", "identifier"),
        ([row * 7 % 31 for row in range(31)], "paid", "numeric"),
        ([row * 7 % 31 for row in range(31)], "monkey", "numeric"),
        ([float(row) for row in range(31)], "id", "numeric"),  # only integers
    ],
)
def test_integer_identifiers(values, name, kind):
    assert kind_of(values, name=name)[0] == kind


def test_arrays_have_no_identifiers_by_name_but_by_counting():
    shuffled = np.array([[row * 7 % 31, row % 5, row % 3] for row in range(31)])
    assert len(infer_schema(open_table(shuffled)).columns) == 3
    counted = np.array([[row, row % 5, row % 3] for row in range(31)])
    with pytest.warns(ColumnWarning, match="'x0'"):
        assert infer_schema(open_table(counted)).left_out == {"x0": "identifier"}


def test_one_warning_names_all_columns_and_the_way_out():
    table = pa.table(
        {
            "code": [f"K{row}" for row in range(ROWS)],
            "note": [f"a word {row}" for row in range(ROWS)],
            "gone": pa.nulls(ROWS),
            "mine": [f"K{row}" for row in range(ROWS)],
            **other(),
        }
    )
    with pytest.warns(ColumnWarning) as caught:
        schema = infer_schema(open_table(table), {"mine": "ignore"})
    text = str(caught[0].message)
    assert len(caught) == 1
    assert "3 columns are left out of the model: " in text
    for part in (
        "'code' looks like an identifier",
        "'note' looks like free text",
        "'gone' has no finite values",
        "column_types={'code': 'categorical'}",
    ):
        assert part in text
    assert "mine" not in text  # the caller knows
    assert schema.left_out == {"code": "identifier", "note": "text", "gone": "empty", "mine": "ignored"}


def test_text_is_what_nearly_all_of_its_values_are():
    assert kind_of([f"{row / 7:.3f}" for row in range(ROWS)])[0] == "numeric"
    assert kind_of([f"2024-01-{row + 1:02d}" for row in range(ROWS)])[0] == "datetime"
    assert kind_of(["x", "y"] + [f"{row / 7:.3f}" for row in range(ROWS)])[0] == "numeric"
    assert kind_of(["x", "y"] + ["1.5"] * 17)[0] == "numeric"
    assert kind_of(["x", "y"] + ["1.5"] * 7)[0] == "categorical"  # less than 80 %
    assert kind_of(["1.5"] * 20, arrow_type=pa.dictionary(pa.int8(), pa.string()))[0] == "categorical"


@pytest.mark.parametrize(
    ("kind", "values", "n_missing", "n_distinct"),
    [
        ("numeric", ["1", " 2.5", "1e3", "x", "1_0", None], 3, 3),
        ("numeric", [True, False, None], 1, 2),
        ("datetime", ["2024-01-01", "2024-01-01T00:00", "2024-01-02T10:00+02:00", "soon"], 1, 2),
        ("time", ["10:30", "10:30:00", "late", None], 2, 1),
        ("duration", ["1:30:00", "5400", "-0:10", "1 day, 2:00:00", "long"], 1, 3),
        ("duration", [90, 30, None], 1, 2),
        ("boolean", ["yes", "No", "TRUE", "0", "maybe"], 1, 2),
        ("boolean", [0, 1, 2, None], 2, 2),
        ("categorical", [1.5, 2.5, float("inf"), None], 2, 2),
        ("categorical", [Decimal("1.50"), Decimal("2.00"), None], 1, 2),
        ("categorical", [dt.date(2024, 1, 1), dt.date(2024, 1, 2), None], 1, 2),
        ("categorical", [True, False, None], 1, 2),
        ("numeric", list(range(ROWS)), 0, ROWS),
        ("categorical", [f"K{row}" for row in range(ROWS)], 0, ROWS),
    ],
)
def test_overrides(kind, values, n_missing, n_distinct):
    found, column, text = kind_of(values, {"it": kind})
    assert (found, column.n_missing, column.n_distinct) == (kind, n_missing, n_distinct)
    n_unread = n_missing - sum(value is None for value in values)
    assert (f"{n_unread} of 'it' (as {kind})" in text) == (n_unread > 0)


@pytest.mark.parametrize(
    ("override", "reason"), [("identifier", "identifier"), ("text", "text"), ("ignore", "ignored")]
)
def test_overrides_that_leave_out_are_silent(override, reason):
    assert kind_of([1.5, 2.5], {"it": override})[::2] == (reason, "")


def test_overrides_on_mixed_objects():
    frame = pd.DataFrame({"it": pd.Series([1, "two", 3.5, "four"], dtype=object), **other(4)})
    with pytest.raises(SchemaError, match="'it' mixes kinds"):
        infer_schema(open_table(frame))
    with pytest.warns(ColumnWarning, match="2 of 'it'"):
        assert infer_schema(open_table(frame), {"it": "numeric"}).columns[0].n_distinct == 2
    categories = infer_schema(open_table(frame), {"it": "categorical"}).columns[0].categories
    assert categories == ("1", "3.5", "four", "two")
    assert infer_schema(open_table(frame), {"it": "ignore"}).left_out == {"it": "ignored"}


def test_bad_overrides():
    table = open_table(pa.table(other()))
    with pytest.raises(SchemaError, match=r"'Lefft'.*\n.*did you mean 'left' for 'Lefft'"):
        infer_schema(table, {"Lefft": "numeric"})
    with pytest.raises(SchemaError, match=r"'zzz'.*\n.*the columns are 'left', 'right'"):
        infer_schema(table, {"zzz": "numeric"})
    with pytest.raises(SchemaError, match=r"'numerical'.*\n.*did you mean 'numeric'"):
        infer_schema(table, {"left": "numerical"})
    with pytest.raises(SchemaError, match=r"'left' holds number values \(double\).*as datetime"):
        infer_schema(table, {"left": "datetime"})
    with pytest.raises(
        SchemaError, match="None of the 30 values of column 'right' reads as numeric, for example 'b', 'a'"
    ):
        infer_schema(table, {"right": "numeric"})


@pytest.mark.parametrize("values", [[[1], [2]], [{"a": 1}, {"a": 2}], [b"a", b"b"]], ids=str)
def test_types_without_a_place(values):
    table = open_table(pa.table({"it": values, **other(2)}))
    with pytest.raises(SchemaError, match=r"'it' is of type(.|\n)*column_types=\{'it': 'ignore'\}"):
        infer_schema(table)
    assert infer_schema(table, {"it": "ignore"}).left_out == {"it": "ignored"}


def test_types_of_pandas_alone():
    cut = pd.DataFrame({"it": pd.cut(pd.Series([1.0, 2.0]), 2), **other(2)})
    period = pd.DataFrame({"it": pd.period_range("2024-01", periods=2, freq="M"), **other(2)})
    for frame in (cut, period):
        with pytest.raises(SchemaError, match="'it' is of type"):
            infer_schema(open_table(frame))


def test_too_few_rows_and_columns():
    with pytest.raises(SchemaError, match="1 sample"):
        infer_schema(open_table(np.eye(1, 3)))
    with pytest.raises(SchemaError, match=r"1 feature\(s\).*each column is predicted from the others"):
        infer_schema(open_table(np.eye(3, 1)))
    table = pa.table({"gone": pa.nulls(ROWS), "left": other()["left"], "key": range(ROWS)})
    with pytest.raises(SchemaError, match=r"Only 1 of the 3 columns.*empty: 'gone'; ignored: 'key'.*predicted"):
        infer_schema(open_table(table), {"key": "ignore"})


def test_identifiers_and_texts_are_categories_where_two_columns_are_needed():
    texts = [f"word {min(row, ROWS - 5)} and some more" for row in range(ROWS)]
    table = pa.table({"key": [f"K{row}" for row in range(ROWS)], "number": range(ROWS), "text": texts})
    with pytest.warns(ColumnWarning, match=r"Two columns are needed.*hardly a value repeats: 'text', 'key'"):
        schema = infer_schema(open_table(table))
    assert [(column.name, column.kind) for column in schema.columns] == [
        ("key", "categorical"),
        ("text", "categorical"),
    ]
    assert schema.left_out == {"number": "identifier"}
    with pytest.warns(ColumnWarning, match=r"hardly a value repeats: 'text'"):
        schema = infer_schema(open_table(table.append_column("left", [other()["left"]])))
    assert [column.name for column in schema.columns] == ["text", "left"]


def test_constant_columns_are_modelled_and_columns_of_infinities_are_not():
    table = open_table(pa.table({"it": [5.0] * ROWS, "inf": [np.inf, -np.inf] * 15, **other()}))
    with pytest.warns(ColumnWarning, match="no finite values"):
        schema = infer_schema(table)
    assert schema.columns[0].constant
    assert schema.left_out == {"inf": "empty"}


@pytest.fixture
def schema():
    table = {
        "age": [1, 2],
        "city": ["a", "b"],
        "When": [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)] * 2,
        "gone": [None] * 2,
    }
    with pytest.warns(ColumnWarning):
        return infer_schema(open_table(pa.table(table)))


def test_columns_match_by_name(schema, open_columns):
    table = open_columns({"extra": [1], "When": [None], "city": ["a"], "age": [3]})
    assert match_columns(schema, table).column("age").to_pylist() == [3]


def test_lacking_columns_are_named(schema):
    with pytest.raises(ColumnMismatchError) as caught:
        match_columns(schema, open_table(pa.table({"Age": [1], "When": [2], "x": [1]})))
    assert str(caught.value) == (
        "The table lacks 2 of the 3 columns the model was fitted on: 'age', 'city'.\n"
        "Hint: did you mean 'Age' for 'age'?"
    )


def test_columns_match_by_position(schema):
    with pytest.warns(UserWarning, match="X does not have valid feature names, but RFOD was fitted with feature names"):
        table = match_columns(schema, open_table([[7, "a", None, None]]))
    assert table.column("age").to_pylist() == [7]
    with pytest.raises(ColumnMismatchError, match="X has 3 features, but RFOD is expecting 4 features as input"):
        match_columns(schema, open_table(np.eye(3)))
    nameless = infer_schema(open_table(np.eye(3)))
    assert match_columns(nameless, open_table(np.eye(3))).names == ("x0", "x1", "x2")
    with pytest.warns(UserWarning, match="X has feature names, but RFOD was fitted without feature names"):
        assert match_columns(nameless, open_table(pa.table({"a": [1], "b": [2], "c": [3]}))).column(
            "x1"
        ).to_pylist() == [2]
    with pytest.raises(ColumnMismatchError, match="X has 2 features, but RFOD is expecting 3 features"):
        match_columns(nameless, open_table(pa.table({"a": [1], "b": [2]})))


def test_json_round_trip(schema):
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema
    numbers = pa.table(
        {"a": pa.array([2**63, 1], pa.uint64()), "b": [0.1, 0.2], "c": [Decimal("0.1"), None], **other(2)}
    )
    schema = infer_schema(open_table(numbers), {"a": "categorical", "b": "categorical", "right": "categorical"})
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


def _set(path, value):
    def damage(data):
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = value

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        _set(["n_rows"], 1),
        _set(["n_rows"], 2.0),
        _set(["n_rows"], True),
        _set(["has_names"], 1),
        _set(["names"], ["age", "city", "When", "age"]),
        _set(["names"], ["age", "city", "When"]),
        _set(["names"], ["city", "age", "When", "gone"]),
        _set(["names"], ["age", "city", "When", 3]),
        _set(["left_out"], {}),
        _set(["left_out"], {"gone": "bored"}),
        _set(["left_out"], {"gone": []}),
        _set(["left_out"], {"gone": "empty", "age": "text"}),
        _set(["columns"], []),
        _set(["columns", 0], None),
        _set(["columns", 0, "more"], 1),
        _set(["columns", 0, "name"], "\ud800"),
        _set(["columns", 0, "name"], "city"),
        _set(["columns", 0, "kind"], "sorcery"),
        _set(["columns", 0, "kind"], "datetime"),
        _set(["columns", 0, "arrow_type"], "int63"),
        _set(["columns", 0, "arrow_type"], "decimal128(99, 2)"),
        _set(["columns", 0, "arrow_type"], "string"),
        _set(["columns", 0, "n_missing"], -1),
        _set(["columns", 0, "n_missing"], 2),
        _set(["columns", 0, "n_distinct"], 3),
        _set(["columns", 0, "n_distinct"], 0),
        _set(["columns", 0, "categories"], [1, 2]),
        _set(["columns", 0, "from_text"], 0),
        _set(["columns", 0, "decimal"], ";"),
        _set(["columns", 0, "order"], "ymd"),
        _set(["columns", 1, "categories"], ["a", "a"]),
        _set(["columns", 1, "categories"], ["a"]),
        _set(["columns", 1, "categories"], ["a", 1]),
        _set(["columns", 1, "categories"], ["a", "\udfff"]),
        _set(["columns", 1, "categories"], [[], []]),
        _set(["columns", 1, "categories"], [1, 2]),
        _set(["columns", 1, "categories"], [float("nan"), float("inf")]),
        _set(["columns", 1, "arrow_type"], "int8"),
        _set(["columns", 2, "arrow_type"], "timestamp[us, tz=\x00]"),
    ],
)
def test_damaged_json(schema, damage):
    data = copy.deepcopy(schema.to_json())
    damage(data)
    with pytest.raises(ModelFormatError):
        Schema.from_json(data)


@pytest.mark.parametrize("data", [None, [], {}, "x", 3])
def test_json_that_is_no_schema(data):
    with pytest.raises(ModelFormatError):
        Schema.from_json(data)


def test_the_warning_says_it_in_the_right_number_and_what_still_judges_the_cells():
    one = pa.table({"code": [f"K{row}" for row in range(ROWS)], **other()})
    with pytest.warns(ColumnWarning) as caught:
        infer_schema(open_table(one))
    first, hint = str(caught[0].message).splitlines()
    assert first == "1 column is left out of the model: 'code' looks like an identifier."
    assert "column_types={'code': 'categorical'}" in hint
    with pytest.warns(ColumnWarning, match=r"an identifier\. Its cells are judged by form, spelling and votes only\."):
        infer_schema(open_table(one), judges_cells=True)
    many = pa.table({f"code{n}": [f"K{row}" for row in range(ROWS)] for n in range(6)} | other())
    with pytest.warns(
        ColumnWarning, match=r"^6 columns are .*'code4', \.\.\. \(6 columns\) look like identifiers\. Their"
    ):
        infer_schema(open_table(many), judges_cells=True)
    empty = pa.table({"gone": pa.nulls(ROWS), **other()})
    with pytest.warns(ColumnWarning, match=r"'gone' has no finite values\.\n"):
        infer_schema(open_table(empty), judges_cells=True)
