"""Texts that are numbers, dates, times and truth values, and texts that are nearly so; the same in files and frames."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfod._io.interface import ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import read_all
from rfod._table.columns import Schema
from rfod._table.encode import cell_text, encode_column, value_text
from rfod._table.kinds import kind_of
from rfod._table.kinds.base import ColumnFormat, trimmed
from rfod._table.kinds.numeric import is_number
from rfod._table.schema import infer_schema
from rfod._table.table import open_table
from rfod.exceptions import ColumnWarning
from rfod.params import KINDS

arbitrary = st.text(max_size=30)
near_numbers = st.text("0123456789+-.,'eE %€$xXinfa_ \u00a0\u202f\uff13\u0663\0\n", max_size=14)
near_dates = st.builds(
    "{}{}{}{}{}{}{}".format,
    st.sampled_from(["2024", "0000", "9999", "0001", "31", "1", "\uff12\uff10\uff12\uff14", "Aug ", "3 May"]),
    st.sampled_from(["-", ".", "/", " "]),
    st.integers(0, 14),
    st.sampled_from(["-", ".", "/", ", "]),
    st.sampled_from(["2024", "0000", "31", "30", "1", "0"]),
    st.sampled_from(["", " 24:00", "T99:99", " 10:00", "T23:59:60", " 10:00:00.123456789", " 10", " 13:00 PM"]),
    st.sampled_from(["", "Z", " UTC", "+99:99", "-23:59", "+14:00", "+0160", "\0"]),
)
near_times = st.from_regex(r"\A[0-9T]{0,3}:?[0-9]{0,2}(:[0-9]{1,2}(\.[0-9]{0,8})?)?(Z|\+01:00| ?[aApP]M|\0)?\Z")
texts = st.lists(st.one_of(st.none(), arbitrary, near_numbers, near_dates, near_times), max_size=4)


def parse(kind: str, *values: str | None, decimal: str = ".", order: str = "") -> list:
    column = pa.chunked_array([pa.array(values, pa.large_string())])
    return kind_of(kind).parse(trimmed(column), ColumnFormat(kind, decimal, order)).to_pylist()


@settings(max_examples=400, deadline=None)
@given(texts)
def test_no_text_raises(values):
    for decimal in (".", ","):
        parse("numeric", *values, decimal=decimal)
    for order in ("", "dmy", "mdy"):
        parse("datetime", *values, order=order)
    for kind in ("time", "boolean", "duration"):
        parse(kind, *values)


@settings(max_examples=200, deadline=None)
@given(near_numbers)
def test_a_number_does_not_depend_on_the_texts_beside_it(text):
    assert parse("numeric", text)[0] == parse("numeric", text, "no number")[0]


@pytest.mark.parametrize(
    "text", ["--0.165", "+-1", "-+1", "-$-1", "+€ -2", "++5", "- -5", "0x10", "\uff13", "-nan", "1_000"]
)
def test_no_numbers(text):
    assert not is_number(text)
    assert parse("numeric", text, "1.5") == [None, 1.5]
    assert parse("numeric", text, "1,5", decimal=",") == [None, 1.5]


@pytest.mark.parametrize(("text", "wanted"), [("-$1", -1), ("$-1", -1), ("+€ 2", 2), ("€ +2", 2), ("-3 €", -3)])
def test_a_sign_stands_before_or_after_the_currency(text, wanted):
    assert parse("numeric", text) == [wanted]


@pytest.mark.parametrize(
    "text",
    [
        "0000-01-01 10:00",
        "0000-01-01",
        "2024-01-01 10:00+99:99",
        "2024-01-01 10:00+0160",
        "9999-12-31 23:59-23:59",
        "0001-01-01 00:00+14:00",
        "2024-01-01 24:00Z",
        "31.02.2024",
        "08/27/2021 13:00 PM",
        "08/27/2021 0:30 AM",
        "Foo 27, 2021",
    ],
)
def test_no_dates(text):
    assert parse("datetime", text, "2024-01-05", order="mdy") == [None, dt.datetime(2024, 1, 5)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("08/27/2021 12:00:00 AM", dt.datetime(2021, 8, 27)),
        ("8/27/2021 1:05 pm", dt.datetime(2021, 8, 27, 13, 5)),
        ("8/27/2021 12:05PM", dt.datetime(2021, 8, 27, 12, 5)),
        ("Aug 27, 2021", dt.datetime(2021, 8, 27)),
        ("August 27 2021 4:30 PM", dt.datetime(2021, 8, 27, 16, 30)),
        ("27 Aug 2021", dt.datetime(2021, 8, 27)),
        ("27-SEP-2021", dt.datetime(2021, 9, 27)),
        ("1. May 2021 06:00", dt.datetime(2021, 5, 1, 6)),
        ("12.03.2024", dt.datetime(2024, 3, 12)),
        ("2021/8/7", dt.datetime(2021, 8, 7)),
        ("0001-01-01", dt.datetime.min),
        ("2021-08-27T10:00+02:00", dt.datetime(2021, 8, 27, 8)),
    ],
)
def test_dates(text, wanted):
    assert parse("datetime", text, order="mdy") == [wanted]


def test_times():
    values = [
        "9:15",
        "23:59:01",
        "1:02:03.5",
        "9:15 pm",
        "24:00",
        "99:99",
        "12:00:60",
        "1",
        "T10:00",
        "10:00Z",
        "13:00 am",
    ]
    read = parse("time", *values)
    assert read[:4] == [dt.time(9, 15), dt.time(23, 59, 1), dt.time(1, 2, 3, 500_000), dt.time(21, 15)]
    assert read[4:] == [None] * 7


ROWS = 40
COLUMNS = {
    "thousands": [f"{row % 7 + 1},234.5" for row in range(ROWS)],
    "currency": [f"€ {row % 9}" for row in range(ROWS)],
    "comma": [f"{row % 9},5" for row in range(ROWS)],
    "dotted": [f"{row % 28 + 1}.03.2024" for row in range(ROWS)],
    "american": [
        f"0{row % 3 + 1}/{row % 28 + 1}/2021 {row % 12 + 1}:00:00 {'AM' if row % 2 else 'PM'}" for row in range(ROWS)
    ],
    "ambiguous": [f"0{row % 3 + 1}/0{row % 9 + 1}/2021" for row in range(ROWS)],
    "named": [f"Aug {row % 28 + 1}, 2021" for row in range(ROWS)],
    "clock": [f"{row % 20}:30" for row in range(ROWS)],
    "truth": ["True" if row % 3 else "false" for row in range(ROWS)],
    "zip": [f"0{row % 9}123" for row in range(ROWS)],
    "hex": [f"0x{row % 9}" for row in range(ROWS)],
    "word": ["yes" if row % 3 else "no" for row in range(ROWS)],
    "dirty": ["1xx19" if row == 7 else f"{row * 7 % 10}" for row in range(ROWS)],
    "mixed": ["a" if row % 3 else str(row % 5) for row in range(ROWS)],
}


def file_of(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    pd.DataFrame(COLUMNS).to_csv(path, index=False, sep=";")
    return path


def test_files_and_frames_are_read_alike(tmp_path):
    """One set of rules: '1,234.5', '€ 12', '12.03.2024' and '9:30' are values in both, and '0x10' in neither."""
    frame, batch = pd.DataFrame(COLUMNS), read_all(open_source(str(file_of(tmp_path)), ReadOptions()))
    found = []
    for table in (open_table(frame), batch.table):
        with warnings.catch_warnings(action="ignore"):
            schema = infer_schema(table)
        encoded = {column.name: encode_column(table, column).tolist() for column in schema.columns}
        shown = {column.name: cell_text(column, table, np.arange(9)) for column in schema.columns}
        found.append((schema, str(encoded), shown))
    assert found[0] == found[1]
    schema, _, shown = found[0]
    kinds = {column.name: column.kind for column in schema.columns}
    assert kinds == {
        **dict.fromkeys(("thousands", "currency", "comma", "dirty"), "numeric"),
        **dict.fromkeys(("dotted", "american", "named"), "datetime"),
        **dict.fromkeys(("ambiguous", "zip", "hex", "word", "mixed"), "categorical"),
        "clock": "time",
        "truth": "boolean",
    }
    assert {column.name: column.n_missing for column in schema.columns if column.n_missing} == {"dirty": 1}
    assert (shown["dirty"][7], shown["thousands"][0], shown["clock"][3]) == ("1xx19", "1,234.5", "3:30")
    described = {column.name: (column.decimal, column.order, column.arrow_type) for column in schema.columns}
    assert described["comma"] == (",", "", "double")
    assert described["american"] == (".", "mdy", "timestamp[us]")
    assert described["dirty"] == (".", "", "int64")
    assert Schema.from_json(schema.to_json()) == schema


def test_a_frame_says_what_it_cannot_read():
    with pytest.warns(ColumnWarning) as caught:
        infer_schema(open_table(pd.DataFrame(COLUMNS)))
    text = str(caught[0].message)
    assert "1 of 'dirty' (as numeric), for example '1xx19'" in text
    assert "'ambiguous' holds dates like '01/01/2021' where day and month could be either" in text
    assert "column_types={'ambiguous': 'dmy'}" in text
    assert "'mixed' mixes numbers" in text


def test_the_order_of_dates_is_given():
    table = open_table(pd.DataFrame({"it": COLUMNS["ambiguous"], "x": 1.5, "y": range(ROWS)}))
    for order, month in (("dmy", 5), ("mdy", 2)):
        with warnings.catch_warnings(action="ignore"):
            column = infer_schema(table, {"it": order}).columns[0]
        assert (column.kind, column.order, column.arrow_type) == ("datetime", order, "date32[day]")
        assert COLUMNS["ambiguous"][4] == "02/05/2021"
        assert dt.datetime.fromtimestamp(encode_column(table, column)[4], dt.UTC).month == month


def test_new_rows_are_read_like_the_fitted_ones():
    """The decimal sign and the order of dates are those of the model, whatever the new rows look like."""
    frame = pd.DataFrame({name: COLUMNS[name] for name in ("comma", "american", "word")})
    comma, american, _ = Schema.from_json(infer_schema(open_table(frame)).to_json()).columns
    new = open_table(pd.DataFrame({"comma": ["1,234", "x"], "american": ["02/03/2021 1:00 PM", None]}))
    np.testing.assert_array_equal(encode_column(new, comma), [1.234, np.nan])
    assert dt.datetime.fromtimestamp(encode_column(new, american)[0], dt.UTC) == dt.datetime(
        2021, 2, 3, 13, tzinfo=dt.UTC
    )
    assert np.isnan(encode_column(new, american)[1])


def test_codes_are_categories():
    """Postcodes and account numbers, by override: text, integers and floats with gaps are the same code."""
    values = ["01234", "1234", "99 ", None]
    table = open_table(pd.DataFrame({"zip": values, "x": [1.5, 2, 3, 4], "y": [1.5, 2, 3, 5]}))
    column = infer_schema(table, {"zip": "code"}).columns[0]
    assert (column.kind, column.arrow_type, column.is_categorical) == ("code", "string", True)
    assert column.categories == ("01234", "1234", "99")
    assert encode_column(table, column).tolist() == [0, 1, 2, -1]
    for numbers in ([1234, 99, 5], [1234.0, None, 99.0]):
        codes = encode_column(open_table(pa.table({"zip": numbers})), column).tolist()
        assert codes == [{1234: 1, 99: 2, 5: -2, None: -1}[number] for number in numbers]
    assert value_text(column, np.array([1, -1], np.int32)) == ["1234", "missing"]
    schema = infer_schema(table, {"zip": "code"})
    assert Schema.from_json(schema.to_json()) == schema


def test_codes_in_a_file(tmp_path):
    path = tmp_path / "zip.csv"
    path.write_text("zip,x\n" + "".join(f"{10115 + row % 3},{row % 7}.5\n" for row in range(30)))
    batch = read_all(open_source(str(path), ReadOptions(kinds={"zip": "code"})))
    column = infer_schema(batch.table, {"zip": "code"}).columns[0]
    assert column.categories == ("10115", "10116", "10117")


def test_every_kind_is_registered_under_its_name():
    assert {kind_of(name).name for name in KINDS} == set(KINDS)
    code = "import sys, rfod.params; assert not {'numpy', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_two_signs_in_a_file(tmp_path):
    path = tmp_path / "signs.csv"
    path.write_text("a,b\n" + "".join(f"{n},{'--0.165' if n == 30 else f'-0.{n}'}\n" for n in range(60)))
    source = open_source(str(path), ReadOptions())
    batch = read_all(source)
    assert batch.rows.column("b")[30].as_py() is None
    assert batch.table.written("b")[30].as_py() == "--0.165"
    assert source.notes.texts()[0].startswith(
        "column 'b': 1 value is no number and counts as missing: '--0.165' (line 32)"
    )


def test_batches_keep_what_was_written(tmp_path):
    source = open_source(str(file_of(tmp_path)), ReadOptions(batch_rows=7))
    batches = list(source.batches())
    assert [batch.table.written("thousands").to_pylist() for batch in batches][1] == COLUMNS["thousands"][7:14]
    taken = batches[1].take([3, 0])
    assert taken.lines.tolist() == [12, 9]
    assert taken.table.written("thousands").to_pylist() == [COLUMNS["thousands"][10], COLUMNS["thousands"][7]]


def test_lengths_of_time_in_a_file(tmp_path):
    path = tmp_path / "lengths.csv"
    path.write_text("it,x\n" + "".join(f"{'soon' if row == 9 else f'{row % 7}:30'},{row % 5}.5\n" for row in range(30)))
    source = open_source(str(path), ReadOptions(kinds={"it": "duration"}))
    table = read_all(source).table
    column = infer_schema(table, {"it": "duration"}).columns[0]
    assert (column.kind, column.arrow_type, column.n_missing) == ("duration", "duration[us]", 1)
    assert encode_column(table, column)[:2].tolist() == [1800.0, 5400.0]
    assert cell_text(column, table, np.array([8, 9])) == ["1:30", "soon"]
    assert "'soon' (line 11)" in source.notes.texts()[0]


def test_one_date_in_another_order_is_a_value_that_does_not_parse():
    days = [f"{13 + n % 16}/{1 + n % 12:02d}/2024" for n in range(60)]
    days[7] = "05/28/2024"
    table = open_table(pd.DataFrame({"when": days, "n": [n % 7 for n in range(60)], "m": [n % 5 for n in range(60)]}))
    with pytest.warns(ColumnWarning, match=r"1 of 'when' \(as datetime\), for example '05/28/2024'"):
        column = infer_schema(table).columns[0]
    assert (column.name, column.kind, column.order, column.n_missing) == ("when", "datetime", "dmy", 1)
