"""Texts that are numbers, dates, times and truth values, and texts that are nearly so."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfod._io.options import ReadOptions
from rfod._io.readings import is_number, read_dates, read_numbers, read_times, read_truth
from rfod._io.sources import open_source, read_all

DATE_TYPES = [pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")]

arbitrary = st.text(max_size=30)
near_numbers = st.text("0123456789+-.,'eE %€$xXinfa_ \u00a0\u202f\uff13\u0663\0\n", max_size=14)
near_dates = st.builds(
    "{}{}{}{}{}{}{}".format,
    st.sampled_from(["2024", "0000", "9999", "0001", "31", "1", "\uff12\uff10\uff12\uff14"]),
    st.sampled_from(["-", ".", "/"]),
    st.integers(0, 14),
    st.sampled_from(["-", ".", "/"]),
    st.sampled_from(["2024", "0000", "31", "30", "1", "0"]),
    st.sampled_from(["", " 24:00", "T99:99", " 10:00", "T23:59:60", " 10:00:00.123456789", " 10"]),
    st.sampled_from(["", "Z", " UTC", "+99:99", "-23:59", "+14:00", "+0160", "\0"]),
)
near_times = st.from_regex(r"\A[0-9T]{0,3}:?[0-9]{0,2}(:[0-9]{1,2}(\.[0-9]{0,8})?)?(Z|\+01:00|\0)?\Z")
texts = st.lists(st.one_of(st.none(), arbitrary, near_numbers, near_dates, near_times), max_size=4)


def column(*values: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, pa.large_string())])


@settings(max_examples=400, deadline=None)
@given(texts)
def test_no_text_raises(values: list[str | None]) -> None:
    given_column = column(*values)
    for decimal in (".", ","):
        read_numbers(given_column, decimal).to_pylist()
    for arrow_type in DATE_TYPES:
        for order in (None, "dmy", "mdy"):
            read_dates(given_column, order, arrow_type).to_pylist()  # type: ignore[arg-type]
    read_times(given_column).to_pylist()
    read_truth(given_column).to_pylist()


@settings(max_examples=200, deadline=None)
@given(near_numbers)
def test_a_number_does_not_depend_on_the_texts_beside_it(text: str) -> None:
    alone, beside = read_numbers(column(text), "."), read_numbers(column(text, "no number"), ".")
    assert alone[0].as_py() == beside[0].as_py()


@pytest.mark.parametrize("text", ["--0.165", "+-1", "-+1", "-$-1", "+€ -2", "++5", "- -5", "0x10", "\uff13", "-nan"])
def test_no_numbers(text: str) -> None:
    assert not is_number(text)
    assert read_numbers(column(text, "1.5"), ".").to_pylist() == [None, 1.5]
    assert read_numbers(column(text, "1,5"), ",").to_pylist() == [None, 1.5]


@pytest.mark.parametrize(("text", "wanted"), [("-$1", -1), ("$-1", -1), ("+€ 2", 2), ("€ +2", 2), ("-3 €", -3)])
def test_a_sign_stands_before_or_after_the_currency(text: str, wanted: int) -> None:
    assert read_numbers(column(text), ".").to_pylist() == [wanted]


@pytest.mark.parametrize(
    "text",
    [
        "0000-01-01 10:00",
        "2024-01-01 10:00+99:99",
        "2024-01-01 10:00+0160",
        "9999-12-31 23:59-23:59",
        "0001-01-01 00:00+14:00",
        "2024-01-01 24:00Z",
        "31.02.2024",
    ],
)
@pytest.mark.parametrize("arrow_type", DATE_TYPES, ids=str)
def test_no_dates(text: str, arrow_type: pa.DataType) -> None:
    assert read_dates(column(text), None, arrow_type).to_pylist() == [None]


def test_the_year_0_is_no_date() -> None:
    assert read_dates(column("0000-01-01", "2024-01-05"), None, pa.date32()).to_pylist() == [None, dt.date(2024, 1, 5)]
    assert read_dates(column("0001-01-01"), None, pa.date32()).to_pylist() == [dt.date.min]


def test_times() -> None:
    values = ["9:15", "23:59:01", "1:02:03.5", "24:00", "99:99", "12:00:60", "1", "T10:00", "10:00Z", "120000"]
    read = read_times(column(*values)).to_pylist()
    assert read[:3] == [dt.time(9, 15), dt.time(23, 59, 1), dt.time(1, 2, 3, 500_000)]
    assert read[3:] == [None] * 7


def test_two_signs_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "signs.csv"
    path.write_text("a,b\n" + "".join(f"{n},{'--0.165' if n == 30 else f'-0.{n}'}\n" for n in range(60)))
    source = open_source(str(path), ReadOptions())
    assert read_all(source).rows.column("b")[30].as_py() is None
    assert source.notes.texts()[0].startswith(
        "column 'b': 1 value(s) are no number and count as missing: '--0.165' (line 32)"
    )
