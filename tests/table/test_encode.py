"""Values to numbers and codes, back to values, and to text."""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rfod._table.encode import INFINITE, MISSING, UNSEEN, cell_text, decode_column, encode_column, value_text
from rfod._table.schema import Column, Schema, infer_schema, match_columns
from rfod._table.table import open_table
from rfod.exceptions import SchemaError

BESIDE = [1.5, 2.5]


def fit(values, kind=None, arrow_type=None):
    """The column "it", fitted on these values."""
    values = values if isinstance(values, pa.Array) else pa.array(values, arrow_type)
    beside = pa.array(BESIDE * len(values))[: len(values)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schema = infer_schema(
            open_table(pa.table({"it": values, "a": beside, "b": beside})), {"it": kind} if kind else None
        )
    return schema.columns[0]


def encode(column, values, arrow_type=None):
    values = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, arrow_type)
    return encode_column(open_table(pa.table({"it": values})), column)


def test_same_bits_from_every_library(open_columns):
    table = open_columns(
        {
            "it": [0.1, None, 3.0],
            "money": [Decimal("0.10"), None, Decimal("12345678.91")],
            "moment": [dt.datetime(2024, 2, 29, 13, 14, 15, 678901), None, dt.datetime(1969, 12, 31, 23, 59, 59, 1)],
            "word": ["a", None, "b"],
        }
    )
    schema = infer_schema(table)
    it, money, moment, word = (encode_column(table, column) for column in schema.columns)
    np.testing.assert_array_equal(it, [0.1, np.nan, 3.0])
    np.testing.assert_array_equal(money, [0.1, np.nan, 12345678.91])
    np.testing.assert_array_equal(moment, [1709212455 + 0.678901, np.nan, -1 + 1e-6])
    np.testing.assert_array_equal(word, [0, MISSING, 1])
    assert (it.dtype, word.dtype) == (np.float64, np.int32)


def test_infinite_numbers():
    values = encode(fit([1.0, 2.0]), [INFINITE, -INFINITE, 1e151, -1e200, np.inf, -np.inf, None])
    np.testing.assert_array_equal(values, [INFINITE, -INFINITE, np.inf, -np.inf, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_units_of_time(unit):
    column = fit([1, 2], arrow_type=pa.timestamp(unit))
    assert column.arrow_type == f"timestamp[{unit}]"
    moment = dt.datetime(2024, 1, 1, 12, 30)
    assert encode(column, [moment, None], pa.timestamp(unit)).tolist()[0] == 1704112200.0
    assert decode_column(column, np.array([1704112200.0])).cast(pa.timestamp("us")).to_pylist() == [moment]
    length = fit([1, 2], arrow_type=pa.duration(unit))
    assert encode(length, [dt.timedelta(seconds=-90)], pa.duration(unit)).tolist() == [-90.0]


def test_dates_and_times():
    for arrow_type in (pa.date32(), pa.date64()):
        column = fit([dt.date(2024, 1, 1)] * 2, arrow_type=arrow_type)
        assert encode(column, [dt.date(1970, 1, 3), None], arrow_type).tolist()[0] == 172800.0
        assert encode(column, [dt.datetime(1970, 1, 3)]).tolist() == [172800.0]
        assert decode_column(column, np.array([172800.0 + 5, np.nan])).to_pylist() == [dt.date(1970, 1, 3), None]
    for arrow_type in (pa.time32("s"), pa.time64("ns")):
        column = fit([dt.time(1)] * 2, arrow_type=arrow_type)
        assert encode(column, [dt.time(1, 0, 5)], arrow_type).tolist() == [3605.0]
        assert decode_column(column, np.array([3605.0])).cast(pa.time64("us")).to_pylist() == [dt.time(1, 0, 5)]


def test_codes():
    column = fit(["b", "a", "b", None])
    for values in (
        pa.array(["a", "b", "new", None], pa.large_string()),
        pa.array(["a", "b", "new", None], pa.string_view()),
        pa.array(["a", "b", "new", None]).dictionary_encode(),
        pa.chunked_array([["a", "b"], [], ["new", None]]),
    ):
        assert encode(column, values).tolist() == [1, 0, UNSEEN, MISSING]
    assert encode(column, [None, None]).tolist() == [MISSING, MISSING]
    assert encode(column, [None], pa.int64()).tolist() == [MISSING]
    encoded = pa.chunked_array([pa.array(["new", "a"]).dictionary_encode(), pa.array(["b", None]).dictionary_encode()])
    assert encode(column, encoded).tolist() == [UNSEEN, 1, 0, MISSING]
    listed = pa.DictionaryArray.from_arrays(pa.array([1, 0, 2, None]), pa.array(["b", None, "new", "unused"]))
    assert encode(column, pa.chunked_array([listed])).tolist() == [MISSING, 0, UNSEEN, MISSING]
    for frame in (
        pd.DataFrame({"it": pd.Categorical(["a", None, "b"])}),
        pl.DataFrame({"it": pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a"]))}),
    ):
        assert encode_column(open_table(frame), column).tolist() == [1, MISSING, 0]


def test_numbers_as_categories():
    column = fit([7, 5, 7, None], "categorical")
    assert encode(column, [5.0, 7.0, 7.5, None, float("inf")]).tolist() == [1, 0, UNSEEN, MISSING, MISSING]
    assert encode(column, [5, 7], pa.uint8()).tolist() == [1, 0]
    assert encode(fit([Decimal("1.50"), Decimal("2")], "categorical"), [1.5, 2]).tolist() == [0, 1]
    assert encode(fit([1, 0, 1], "categorical"), [True, False]).tolist() == [0, 1]
    with pytest.raises(SchemaError, match=r"'it' was fitted as categorical \(int64\), but arrives as text"):
        encode(column, ["5"])


def test_booleans_and_zero_one():
    column = fit([True, False, True, None])
    assert encode(column, [True, False, None]).tolist() == [0, 1, MISSING]
    assert encode(column, [1, 0, 2, None]).tolist() == [0, 1, UNSEEN, MISSING]
    assert encode(column, [1.0, 0.0]).tolist() == [0, 1]
    assert encode(fit([0, 1]), [True, False]).tolist() == [1.0, 0.0]
    assert encode(fit([0, 1, 1, 2], "boolean"), [0, 1, 2]).tolist() == [1, 0, MISSING]
    with pytest.raises(SchemaError, match="'it' was fitted as boolean"):
        encode(column, ["True"])


@pytest.mark.parametrize(
    ("fitted", "arriving", "words"),
    [
        ([1, 2], ["12", "n/a", "x"], ("numeric (int64)", "text (string)", "12 and n/a")),
        ([1, 2], [dt.date(2024, 1, 1)], ("numeric (int64)", "datetime (date32[day])", "2024-01-01")),
        (["a", "b"], [1, 2], ("categorical (string)", "number (int64)", "1 and 2")),
        (["a", "b"], [True], ("categorical (string)", "boolean (bool)")),
        ([dt.date(2024, 1, 1)] * 2, ["2024-01-01"], ("datetime (date32[day])", "text (string)")),
        ([dt.date(2024, 1, 1)] * 2, [20240101], ("datetime (date32[day])", "number (int64)")),
        ([dt.time(1)] * 2, ["01:00"], ("time (time64[us])", "text")),
        ([dt.timedelta(1)] * 2, [1.0], ("duration (duration[us])", "number")),
        ([1, 2], [[1]], ("numeric", "other (list")),
    ],
    ids=str,
)
def test_another_kind_of_values(fitted, arriving, words):
    with pytest.raises(SchemaError) as caught:
        encode(fit(fitted), arriving)
    for word in ("Column 'it'", *words, "Hint: ", "column_types={'it'"):
        assert word in str(caught.value)


def test_text_in_dictionaries_is_text():
    with pytest.raises(SchemaError, match=r"arrives as text \(string\), for example 1 and 2"):
        encode(fit([1, 2]), pa.array(["1", "2"]).dictionary_encode())


def test_time_zones():
    naive, aware = dt.datetime(2024, 1, 1, 12), dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
    berlin = pa.array([aware]).cast(pa.timestamp("ns", tz="Europe/Berlin"))
    assert encode(fit([aware] * 2), berlin).tolist() == [1704110400.0]
    with pytest.raises(SchemaError, match=r"fitted with a time zone .* arrives without(.|\n)*Hint"):
        encode(fit([aware] * 2), [naive])
    with pytest.raises(SchemaError, match=r"fitted without a time zone .* arrives with(.|\n)*Hint"):
        encode(fit([naive] * 2), [aware])


def test_overridden_columns_read_the_same_at_detection():
    number = fit(["1", "2", "x"], "numeric")
    np.testing.assert_array_equal(encode(number, ["2", "y", None]), [2.0, np.nan, np.nan])
    assert encode(number, [3]).tolist() == [3.0]
    moment = fit(["1970-01-02", "soon"], "datetime")
    assert encode(moment, ["1970-01-02T02:00+01:00"]).tolist() == [86400.0 + 3600]
    assert encode(moment, [dt.date(1970, 1, 2)]).tolist() == [86400.0]
    mixed = pd.DataFrame({"it": pd.Series([1, "two", 1.5, dt.date(2024, 1, 1)], dtype=object), "a": 1.0, "b": 2.0})
    column = infer_schema(open_table(mixed), {"it": "categorical"}).columns[0]
    assert column.categories == ("1", "1.5", "2024-01-01", "two")
    assert encode_column(open_table(mixed), column).tolist() == [0, 3, 1, 2]
    assert encode(column, [1, 2]).tolist() == [0, UNSEEN]
    assert encode(column, [1.5]).tolist() == [1]
    assert encode(column, [dt.date(2024, 1, 1)]).tolist() == [2]
    moments = pa.array([0, 1_500_000_000], pa.timestamp("ns"))
    column = fit(moments, "categorical")
    assert column.categories == ("1970-01-01 00:00:00", "1970-01-01 00:00:01.500000")
    assert encode(column, moments.cast(pa.timestamp("us"))).tolist() == [0, 1]
    assert encode(fit([dt.timedelta(1), dt.timedelta(2)], "categorical"), [dt.timedelta(2), None]).tolist() == [
        0,
        MISSING,
    ]


def any_value(values):
    return values != [None] * len(values)


finite = st.floats(-1e150, 1e150)
moments = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))


@given(st.lists(finite | st.none(), min_size=2, max_size=20).filter(any_value))
def test_numbers_come_back(values):
    column = fit(values, arrow_type=pa.float64())
    assert decode_column(column, encode(column, values, pa.float64())).to_pylist() == values


@given(st.lists(moments | st.none(), min_size=2, max_size=20).filter(any_value), st.sampled_from(["us", "ns"]))
def test_moments_come_back(values, unit):
    column = fit(values, arrow_type=pa.timestamp(unit))
    decoded = decode_column(column, encode(column, values, pa.timestamp(unit)))
    assert decoded.type == pa.timestamp(unit)
    ticks = [array.cast(pa.int64()).fill_null(0).to_numpy() for array in (decoded, pa.array(values, decoded.type))]
    assert np.abs(ticks[0] - ticks[1]).max() <= (500 if unit == "ns" else 0)  # float64 seconds hold microseconds


@given(st.lists(moments, min_size=2, max_size=20))
def test_every_unit_gives_the_same_bits(values):
    encoded = [encode(fit(values, arrow_type=pa.timestamp(unit)), values, pa.timestamp(unit)) for unit in ("us", "ns")]
    assert encoded[0].tobytes() == encoded[1].tobytes()


@given(st.lists(st.text(max_size=5) | st.none(), min_size=2, max_size=20).filter(any_value))
def test_categories_come_back(values):
    column = fit(values, "categorical", pa.string())
    codes = encode(column, values, pa.string())
    assert codes.max() < len(column.categories)
    assert decode_column(column, codes).to_pylist() == values


@given(
    st.lists(
        st.tuples(
            finite | st.none(), st.text("abc", max_size=2) | st.none(), st.booleans() | st.none(), moments | st.none()
        ),
        min_size=2,
        max_size=12,
    )
)
def test_libraries_agree(in_every_library, rows):
    columns = {name: [row[position] for row in rows] for position, name in enumerate(["n", "t", "b", "d"])}
    columns |= {"first": [1.0] * len(rows), "second": ["a"] * len(rows)}
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for frame in in_every_library(columns):
            table = open_table(frame)
            schema = infer_schema(table)
            described = [
                (column.kind, column.categories, column.n_missing, column.n_distinct) for column in schema.columns
            ]
            results.append((described, [encode_column(table, column).tobytes() for column in schema.columns]))
    assert all(result == results[0] for result in results)


def test_decode():
    column = fit(["b", "a", "b"])
    assert decode_column(column, np.array([1, 0, MISSING, UNSEEN], np.int32)).to_pylist() == ["a", "b", None, None]
    decoded = decode_column(fit([True, False, True]), np.array([0, 1, MISSING], np.int32))
    assert (decoded.type, decoded.to_pylist()) == (pa.bool_(), [True, False, None])
    decoded = decode_column(fit([1, 2]), np.array([1.5, np.nan]))
    assert (decoded.type, decoded.to_pylist()) == (pa.float64(), [1.5, None])
    numbers = decode_column(fit([1, 5, 5], "categorical", pa.int16()), np.array([0, 1], np.int32))
    assert (numbers.type, numbers.to_pylist()) == (pa.int16(), [5, 1])


@pytest.mark.parametrize(
    "arrow_type",
    [pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"), pa.timestamp("us", tz="UTC")]
    + [make(unit) for make in (pa.timestamp, pa.duration) for unit in ("s", "ms", "us", "ns")],
    ids=str,
)
@pytest.mark.parametrize("seconds", [np.inf, -np.inf, 1e300, -1e300, 1e15, -1e15, 9.3e9, -9.3e9, -0.5])
def test_decode_clips_what_the_type_cannot_hold(arrow_type, seconds):
    column = fit([1, 2], arrow_type=arrow_type)
    decoded = decode_column(column, np.array([seconds, np.nan]))
    assert decoded.type == arrow_type
    assert decoded.is_null().to_pylist() == [False, True]
    assert value_text(column, np.array([seconds]))[0] != "missing"
    for frame in (pa.table({"it": decoded}).to_pandas(), pl.from_arrow(pa.table({"it": decoded}))):
        assert len(str(frame["it"][0])) > 0


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1234567, None], ["1234567", "missing"]),
        ([1234567.25, 0.1 + 0.2, 1e-9, 1e20, -0.0, 100.0], ["1234567", "0.3", "1e-09", "1e+20", "0", "100"]),
        ([float("inf"), 0.000123456], ["inf", "0.000123456"]),
        ([Decimal("12.50"), None], ["12.50", "missing"]),
        ([True, False, None], ["true", "false", "missing"]),
        (["a\nb\u202e", "x" * 61, "x" * 60, None], ["a\\nb\\u202e", "x" * 59 + "…", "x" * 60, "missing"]),
        ([dt.date(2024, 1, 2), None], ["2024-01-02", "missing"]),
        (
            [dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 2, 3, 4), dt.datetime(2024, 1, 2, 3, 4, 5)],
            ["2024-01-02", "2024-01-02 03:04", "2024-01-02 03:04:05"],
        ),
        ([dt.time(3, 4, 5, 250000), None], ["03:04:05.25", "missing"]),
        ([dt.timedelta(days=-2, hours=-3), dt.timedelta(seconds=61)], ["-2 d 03:00:00", "00:01:01"]),
    ],
    ids=str,
)
def test_cell_text(values, texts, open_columns):
    table = open_columns({"it": values, "a": (BESIDE * 3)[: len(values)], "b": (BESIDE * 3)[: len(values)]})
    column = infer_schema(table).columns[0]
    assert cell_text(column, table, np.arange(len(values))) == texts
    assert cell_text(column, table, np.array([len(values) - 1, 0])) == [texts[-1], texts[0]]


def test_cell_text_in_a_time_zone():
    berlin = pa.array([0, None], pa.timestamp("us", tz="Europe/Berlin"))
    nowhere = pa.array([60_000_000, None], pa.timestamp("us", tz="Nowhere/Land"))
    column = fit(berlin)
    assert cell_text(column, open_table(pa.table({"it": berlin})), np.arange(2)) == [
        "1970-01-01 01:00 Europe/Berlin",
        "missing",
    ]
    assert value_text(column, np.array([0.0])) == ["1970-01-01 01:00 Europe/Berlin"]
    assert value_text(fit(nowhere), np.array([60.0])) == ["1970-01-01 00:01 UTC"]


def test_cell_text_shows_what_could_not_be_read():
    table = open_table(pa.table({"it": ["1", "x", None]}))
    assert cell_text(fit(["1", "2"], "numeric"), table, np.arange(3)) == ["1", "x", "missing"]


def test_value_text():
    assert value_text(fit([1, 2]), np.array([1234.5678, 2.0, np.nan])) == ["1234.6", "2", "missing"]
    assert value_text(fit([1.5, 2]), np.array([1234.5678, 1 / 3, 123456.7])) == ["1234.57", "0.333333", "123457"]
    assert value_text(fit(["b", "a", "b"]), np.array([1, MISSING], np.int32)) == ["a", "missing"]
    assert value_text(fit([True, False]), np.array([1], np.int32)) == ["true"]
    assert value_text(fit([dt.datetime(2024, 1, 1)] * 2), np.array([59.7])) == ["1970-01-01 00:01"]


def test_matched_by_position_then_encoded():
    schema = infer_schema(open_table(pa.table({"age": [1, 2], "city": ["a", "b"]})))
    with pytest.warns(UserWarning, match="valid feature names"):
        table = match_columns(schema, open_table([[5, "b"]]))
    assert encode_column(table, schema.columns[1]).tolist() == [1]


def test_a_column_of_a_file_may_have_no_categories_of_its_own():
    column = Column("it", "categorical", "string", ("a",), 0, 1)
    assert encode(column, ["a", "b"]).tolist() == [0, UNSEEN]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.5, None, 1.5]).dictionary_encode(),
        pa.array([dt.date(2024, 1, 1), None, dt.date(2024, 1, 1)]).dictionary_encode(),
        pc.run_end_encode(pa.array([1, None, 1])),
        pc.run_end_encode(pa.array(["a", None, "a"])),
    ],
    ids=lambda values: str(values.type),
)
def test_encoded_arrow_columns(values):
    table = open_table(pa.table({"it": pa.chunked_array([values, values]), "a": BESIDE * 3, "b": BESIDE * 3}))
    schema = infer_schema(table)
    assert Schema.from_json(schema.to_json()) == schema
    column = schema.columns[0]
    assert (column.n_missing, column.n_distinct) == (2, 1)
    assert decode_column(column, encode_column(table, column)).is_null().to_pylist() == [False, True, False] * 2
    texts = cell_text(column, table, np.array([0, 1]))
    assert texts == [value_text(column, encode_column(table, column))[0], "missing"]
