"""A quote that is never closed costs nothing but itself."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rfod._io.delimited as delimited
from rfod._io.delimited import MOST_OPEN_QUOTES, DelimitedSource
from rfod._io.interface import InputError, ReadOptions
from rfod._io.quotes import Mender
from rfod._io.source import read_all
from rfod._io.text import ChunkStream

KINDS = {"a": "text", "b": "text", "c": "text"}


def never_closed(n: int, lines: str) -> str:
    if n == 1:
        return f"1 quote that is never closed read as an ordinary character: line {lines}."
    return f"{n} quotes that are never closed read as ordinary characters: line {lines}."


def read(text: str, **options: object) -> tuple[list[tuple[object, ...]], list[int], list[str]]:
    """Rows, their lines and the notes of a table with the columns a, b and c, from a stream as stdin is one."""
    source = DelimitedSource(
        io.BytesIO(("a,b,c\n" + text).encode()),
        ReadOptions(kinds=KINDS, quote='"', separator=",", header=True, **options),  # type: ignore[arg-type]
        "t.csv",
    )
    batch = read_all(source)
    assert batch.lines is not None
    return [tuple(row.values()) for row in batch.rows.to_pylist()], batch.lines.tolist(), source.notes.texts()


ORDINARY = ["1,x,y", "2,x,y", "3,x,y", "4,x,y"]


@pytest.mark.parametrize("place", [0, 2, 4], ids=["first line", "middle line", "last line"])
@pytest.mark.parametrize(
    ("line", "row"),
    [('"9,x,y', ('"9', "x", "y")), ('9,"x,y', ("9", '"x', "y")), ('9,x,"y', ("9", "x", '"y'))],
    ids=["first column", "middle column", "last column"],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_one_quote(place: int, line: str, row: tuple[str, ...], end: str) -> None:
    lines = [*ORDINARY[:place], line, *ORDINARY[place:]]
    rows, numbers, notes = read((end or "\n").join(lines) + end)
    assert rows == [*(tuple(text.split(",")) for text in ORDINARY[:place]), row] + [
        tuple(text.split(",")) for text in ORDINARY[place:]
    ]
    assert numbers == [2, 3, 4, 5, 6]
    assert notes == [never_closed(1, f"{place + 2}")]
    with pytest.raises(InputError, match=rf't\.csv, line {place + 2}: the quote " that opens here is never closed\.'):
        read("\n".join(lines), strict=True)


def test_other_quotes_of_the_line_keep_their_meaning() -> None:
    rows, _, _ = read('1,"x, ""x""","y\n2,x,y\n')
    assert rows == [("1", 'x, "x"', '"y'), ("2", "x", "y")]


def test_a_line_with_the_wrong_number_of_fields_is_left_out() -> None:
    rows, numbers, notes = read('1,x,y\n2,"x\n3,x,y\n')
    assert rows == [("1", "x", "y"), ("3", "x", "y")]
    assert numbers == [2, 4]
    assert notes == [
        "33% of the lines are not read: the header has 3 names; 1 of 3 lines has another number of fields and is left "
        "out: line 3 (2 fields). Hint: a value with ',' in it needs quotes; --sep names another separator, --no-header "
        "reads a table without names.",
        never_closed(1, "3"),
    ]


def test_two_quotes_do_not_close_each_other() -> None:
    rows, numbers, notes = read('1,x,y\n2,"x,y\n3,x,y\n4,"x,y\n5,x,y\n6,"x",y\n')
    assert [row[1] for row in rows] == ["x", '"x', "x", '"x', "x", "x"]
    assert numbers == [2, 3, 4, 5, 6, 7]
    assert notes == [never_closed(2, "3, 5")]


def test_line_breaks_in_quotes_before_and_after() -> None:
    text = '1,"x\nx",y\n"2","x\r\n\r\nx","y"\n3,"x,y\n4,x,"y\ny"\n5,"x, ""x""\n",y\n6,"x,y\n'
    rows, numbers, notes = read(text)
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    assert rows[2] == ("3", '"x', "y")
    assert numbers == [2, 4, 7, 8, 10, 12]
    assert notes == [never_closed(2, "7, 12")]


def test_quotes_inside_of_fields_are_ordinary() -> None:
    rows, _, notes = read('1,5" x 3",y\n2,"5" wide,y\n3,x""x,"y\n5" tall"\n')
    assert [row[1] for row in rows] == ['5" x 3"', "5 wide", 'x""x']
    assert notes == []


@pytest.mark.parametrize("place", [5, 7000, 19_990])
def test_files_of_many_blocks(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr("rfod._io.text.BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr("rfod._io.quotes.READ_BYTES", 1 << 12)
    lines = [f"{n},x,{'yyyyyyyyyyyyyyyyy'}" for n in range(20_000)]
    lines[place] = f'{place},"x,y'
    lines[3] = '3,"x\nx",y'
    rows, numbers, notes = read("\n".join(lines))
    assert [row[0] for row in rows] == [str(n) for n in range(20_000)]
    assert numbers == [n + 2 + (n > 3) for n in range(20_000)]
    assert notes == [never_closed(1, f"{place + 3:,}")]


def test_too_many_are_another_layout() -> None:
    text = '1,"x,y\n' * (MOST_OPEN_QUOTES + 1)
    with pytest.raises(InputError, match=r"line 102: .* never closed, like 100 before it\. .*--quote none"):
        read(text)
    assert len(read('1,"x,y\n' * MOST_OPEN_QUOTES)[0]) == MOST_OPEN_QUOTES


def test_the_layout_is_found_in_spite_of_it() -> None:
    text = 'a;b\n"x;1\n' + "y;2\n" * 50_000
    source = DelimitedSource(io.BytesIO(text.encode()), ReadOptions(), "t.csv")
    assert read_all(source).rows.column("a").to_pylist()[:2] == ['"x', "y"]
    assert source.dialect.separator == ";"


def test_the_header_may_have_it_too() -> None:
    source = DelimitedSource(io.BytesIO(b'a,"b\n1,2\n3,4\n'), ReadOptions(), "t.csv")
    assert read_all(source).rows.to_pylist() == [{"a": 1, '"b': 2}, {"a": 3, '"b': 4}]


# ----------------------------------------------------------------------------------------------------- any text at all


def reference(text: str) -> tuple[list[list[str]], list[int]]:
    """Rows, and the lines of quotes that are never closed, read letter by letter."""
    rows, row, lines, place = [], [], [], 0
    while place < len(text):
        field, place, is_open = _field(text, place)
        if is_open is not None:
            lines.append(text.count("\n", 0, is_open) + 1)
        row.append(field)
        if place == len(text) or text[place] == "\n":
            rows.append(row)
            row = []
        elif place + 1 == len(text):  # a separator at the very end
            rows.append([*row, ""])
        place += 1
    return rows, lines


def _field(text: str, start: int) -> tuple[str, int, int | None]:
    """A field, the edge it ends at, and where its quote stands if that is never closed."""
    edge = next((n for n in range(start, len(text)) if text[n] in ",\n"), len(text))
    if text[start : start + 1] != '"':
        return text[start:edge], edge, None
    place = start + 1
    while place < len(text):
        if text[place : place + 2] == '""':
            place += 2
        elif text[place] == '"':
            break
        else:
            place += 1
    opens = text[place - 1] in ",\n" and text[place + 1 : place + 2] not in ("", ",", "\n")
    if place >= len(text) or ("\n" in text[start:place] and opens):
        return text[start:edge], edge, start
    end = next((n for n in range(place + 1, len(text)) if text[n] in ",\n"), len(text))
    return text[start + 1 : place].replace('""', '"') + text[place + 1 : end], end, None


class Dripping(io.RawIOBase):
    """Gives a few bytes at a time."""

    def __init__(self, data: bytes, sizes: Iterator[int]) -> None:
        self._data, self._sizes = data, sizes

    def read(self, size: int = -1) -> bytes:
        given, self._data = self._data[: (n := next(self._sizes))], self._data[n:]
        return given


texts = st.lists(st.sampled_from(["a", "b", ",", '"', '"', '""', "\n", ',"', '",', '\n"']), max_size=40).map("".join)


@settings(max_examples=600, deadline=None)
@given(texts, st.lists(st.integers(1, 5), min_size=1))
def test_any_text_in_any_portions(text: str, sizes: list[int]) -> None:
    rows, lines = reference(text)
    whole = Mender(",", '"', 1 << 20).mend(text.encode(), is_last=True)
    assert [row or [""] for row in csv.reader(io.StringIO(whole.data.decode(), newline=""))] == rows
    assert [text.count("\n", 0, place) + 1 for place in whole.opened] == lines
    found: list[int] = []
    portions = Dripping(text.encode(), (sizes[n % len(sizes)] for n in range(1000)))
    stream = ChunkStream(Mender(",", '"', 1 << 20).mend_stream(portions, found.append))  # type: ignore[arg-type]
    assert io.BufferedReader(stream).read() == whole.data
    assert found == lines


@settings(max_examples=300, deadline=None)
@given(st.lists(texts, max_size=6).map("\n".join))
def test_what_the_parser_makes_of_any_text(text: str) -> None:
    text = "0,x,y\n" * 20 + text  # so that the header is known to name all columns
    rows, _ = reference(text)
    wanted = [tuple(cell.strip() or None for cell in row) for row in rows if len(row) == 3 and any(row)]
    assert read(text)[0] == wanted
