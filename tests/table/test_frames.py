"""The door: which tables come in, and how the others are turned away."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from rfod._table import table as frames
from rfod._table.table import open_table
from rfod.exceptions import SchemaError


def test_columns_of_every_library(open_columns):
    day = dt.date(2024, 5, 1)
    table = open_columns(
        {"n": [1.5, None, 3.0], "t": ["a", "b", None], "b": [True, None, False], "d": [day, None, day]}
    )
    assert table.n_rows == 3
    assert table.column("n").to_pylist() == [1.5, None, 3.0]
    assert table.column("t").to_pylist() == ["a", "b", None]
    assert table.column("b").to_pylist() == [True, None, False]
    assert table.column("d").to_pylist() == [day, None, day]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, Decimal("NaN"), np.float32("nan")], ids=repr)
@pytest.mark.parametrize("present", ["text", 1.5, True, Decimal("1.5"), dt.date(2024, 1, 1)], ids=repr)
def test_every_missing_value_in_object_columns(missing, present):
    frame = pd.DataFrame({"a": pd.Series([present, missing], dtype=object), "b": [1, 2]})
    assert open_table(frame).column("a").is_null().to_pylist() == [False, True]
    array = np.array([[present, 1], [missing, 2]], dtype=object)
    assert open_table(array).column("x0").is_null().to_pylist() == [False, True]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0, np.nan]}),
        pd.DataFrame({"a": pd.array([1.0, None], dtype="Float64")}),
        pd.DataFrame({"a": pd.array([1.0, np.nan], dtype="float16")}),
        pd.DataFrame({"a": pd.arrays.SparseArray([1.0, np.nan])}),
        pd.DataFrame({"a": pd.array([1, None], dtype="int8[pyarrow]")}),
        pl.DataFrame({"a": [1.0, float("nan")]}),
        pl.DataFrame({"a": [1, None]}),
        pl.LazyFrame({"a": [1, None]}),
        pa.table({"a": [1.0, float("nan")]}),
        pa.record_batch({"a": [1.0, None]}),
        np.array([[1.0], [np.nan]]),
        np.array([[1.0], [np.nan]], dtype=np.longdouble),
        np.array([[1.0], [np.nan]], dtype=np.float16),
        np.ma.masked_invalid(np.array([[1.0], [np.nan]])),
        [[1.0], [None]],
        ((1,), (None,)),
    ],
    ids=lambda frame: f"{type(frame).__module__.partition('.')[0]}-{type(frame).__name__}",
)
def test_missing_numbers_become_null(frame):
    table = open_table(frame)
    column = table.column(table.names[0])
    assert column.type in (pa.float64(), pa.float32(), pa.int64(), pa.int8())
    assert column.to_pylist() == [1, None]


def test_other_arrays():
    assert open_table(np.array([["a", "b"]])).column("x1").to_pylist() == ["b"]
    assert open_table(np.array([[True, False]])).column("x0").to_pylist() == [True]
    days = np.array([["2024-01-01", "NaT"]], "datetime64[D]")
    assert open_table(days).column("x0").cast(pa.date32()).to_pylist() == [dt.date(2024, 1, 1)]
    assert open_table(days).column("x1").to_pylist() == [None]
    hours = np.array([[1, 2]], "timedelta64[h]")
    assert open_table(hours).column("x1").to_pylist() == [dt.timedelta(hours=2)]


def test_things_that_look_like_arrays_or_arrow():
    class LikeArray:
        def __array__(self, dtype=None, copy=None):
            return np.eye(2)

    class LikeArrow:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"a": [1]}).__arrow_c_stream__(requested_schema)

    assert not open_table(LikeArray()).has_names
    assert open_table(LikeArrow()).names == ("a",)


def test_a_table_is_itself():
    table = open_table(np.eye(2))
    assert open_table(table) is table
    assert table.names == ("x0", "x1")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (None, "None came"),
        ("data.csv", "read it into a frame"),
        (Path("data.csv"), "read it into a frame"),
        ({"a": [1]}, "pandas.DataFrame"),
        ([{"a": 1}], "pandas.DataFrame"),
        (42, "is not a table"),
        (np.arange(3), "Reshape your data"),
        ([1, 2, 3], "Reshape your data"),
        (np.zeros((2, 2, 2)), "dim 3"),
        (pd.Series([1, 2]), "Reshape your data"),
        (pl.Series([1, 2]), "Reshape your data"),
        (pa.array([1, 2]), "Reshape your data"),
        (sparse.csr_matrix(np.eye(2)), "sparse"),
        (sparse.coo_array(np.eye(2)), "sparse"),
        (np.eye(2) * 1j, "Complex data not supported"),
        ([[1, 2], [3]], "between 1 and 2 values"),
        ([], "0 sample(s)"),
        (np.empty((0, 3)), "0 sample(s) (shape=(0, 3)) while a minimum of 1 is required."),
        (np.empty((4, 0)), "0 feature(s) (shape=(4, 0)) while a minimum of 1 is required."),
        (pd.DataFrame(index=range(4)), "0 feature(s) (shape=(4, 0)) while a minimum of 1 is required."),
        (pl.DataFrame({"a": []}), "0 sample(s)"),
        (pa.table({}), "0 feature(s)"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else None,
)
def test_what_is_no_table(data, text):
    with pytest.raises(SchemaError) as caught:
        open_table(data)
    assert text in str(caught.value)
    assert "Hint: " in str(caught.value)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(np.eye(2), columns=["age", "age"]),
        pd.DataFrame([[1, 2]], columns=[1, "1"]).rename(columns={1: "age", "1": "age"}),
        pa.table([[1], [2]], names=["age", "age"]),
    ],
)
def test_duplicate_names(frame):
    with pytest.raises(SchemaError, match="more than once: 'age'"):
        open_table(frame)


def test_names_that_are_no_text():
    assert open_table(pd.DataFrame(np.eye(2))).names == ("0", "1")
    pairs = pd.DataFrame(np.eye(2), columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))
    assert open_table(pairs).column("('a', 2)").to_pylist() == [0.0, 1.0]
    with pytest.raises(SchemaError, match="more than once: '1'"):
        open_table(pd.DataFrame([[1, 2]], columns=[1, "1"]))


def test_mixed_objects():
    frame = pd.DataFrame({"size": pd.Series([1, "two", 3.5, None, "four", 5], dtype=object)})
    with pytest.raises(SchemaError) as caught:
        open_table(frame).column("size")
    for part in ("'size'", "3 number, 2 text", "1 and 'two'", "'numeric'", "'categorical'", "'ignore'"):
        assert part in str(caught.value)
    assert open_table(frame).column("size", mixed_as_text=True).to_pylist() == ["1", "two", "3.5", None, "four", "5"]
    with pytest.raises(SchemaError, match="2 text, 1 number"):
        open_table(pl.DataFrame({"a": pl.Series([1, "x", "y"], dtype=pl.Object)})).column("a")
    with pytest.raises(SchemaError, match="1 boolean, 1 number"):
        open_table([[True], [2]]).column("x0")


def test_objects_that_arrow_would_misread():
    days = open_table([[dt.date(2024, 1, 1)], [np.datetime64("NaT", "D")]]).column("x0")
    assert days.to_pylist() == [dt.date(2024, 1, 1), None]
    day, moment = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 12)
    assert open_table([[day], [moment]]).column("x0").to_pylist() == [dt.datetime(2024, 1, 1), moment]
    with pytest.raises(SchemaError, match=r"1 date with a time zone and 1 without"):
        open_table([[moment], [moment.replace(tzinfo=dt.UTC)]]).column("x0")
    assert open_table([[2**70], [1]]).column("x0").to_pylist() == [2.0**70, 1.0]
    assert open_table([[Decimal("1.5")], [2.5], [Decimal("Infinity")]]).column("x0").to_pylist() == [1.5, 2.5, np.inf]
    assert open_table([["\ud800"], [None]]).column("x0").to_pylist() == ["\\ud800", None]
    with pytest.raises(SchemaError, match=r"'x0'.*of type object"):
        open_table([[object()], [object()]]).column("x0")
    with pytest.raises(SchemaError, match="Complex data not supported"):
        open_table(pd.DataFrame({"c": [1j, 2]})).column("c")


def test_frame_of_the_callers_library():
    columns = {"a": pa.array([1.5, None]), "b": pa.chunked_array([["x"], ["y"]])}
    index = pd.Index(["first", "second"])
    built = open_table(pd.DataFrame({"a": [1, 2]}, index=index)).frame(columns, np.array([1, 0]))
    assert isinstance(built, pd.DataFrame)
    assert list(built.index) == ["second", "first"]
    assert list(open_table(pd.DataFrame({"a": [1, 2]}, index=index)).frame(columns).index) == [0, 1]
    assert isinstance(open_table(pl.DataFrame({"a": [1]})).frame(columns), pl.DataFrame)
    assert isinstance(open_table(pl.LazyFrame({"a": [1]})).frame(columns), pl.DataFrame)
    assert open_table(pa.table({"a": [1]})).frame(columns).equals(pa.table(columns))
    assert isinstance(open_table(np.eye(2)).frame(columns), pd.DataFrame)


def test_frame_without_pandas(monkeypatch):
    monkeypatch.setattr(frames.importlib.util, "find_spec", lambda name: None)
    assert isinstance(open_table(np.eye(2)).frame({"a": pa.array([1])}), pa.Table)


def test_times_behind_many_gaps_are_kept():
    moments = [None] * 200 + [dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 10)]
    frame = pd.DataFrame({"it": pd.Series(moments, dtype=object)})
    assert open_table(frame).column("it").to_pylist()[-1] == dt.datetime(2024, 1, 1, 10)
