"""A text file with some of its cells changed: the changed fields differ, and not one byte else."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rfod._io.interface import OutputError, ReadOptions
from rfod._io.locations import open_source
from rfod._io.rewrite import Rewritten, rewrite, stored_bytes, write_bytes
from rfod._io.source import Batch, Source, read_all
from rfod._table.edits import Edit

KINDS = {"a": "text", "b": "text", "c": "text"}


def opened(path: Path, **options: object) -> tuple[Source, Batch]:
    source = open_source(str(path), ReadOptions(**{"kinds": KINDS} | options))  # type: ignore[arg-type]
    return source, read_all(source)


def changed(path: Path, *edits: Edit, **options: object) -> Rewritten:
    source, batch = opened(path, **options)
    return rewrite(source, str(path), batch, edits)


def written(tmp_path: Path, data: bytes, name: str = "t.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


# Each file, the edit of row 1, and the file afterwards: by hand.
FILES = {
    "plain": (b"a,b,c\n1,x,y\n2,x,y\n3,x,y\n", Edit(1, "b", "new"), b"a,b,c\n1,x,y\n2,new,y\n3,x,y\n"),
    "windows line ends": (b"a;b;c\r\n1;x;y\r\n2;x;y\r\n", Edit(1, "c", "z"), b"a;b;c\r\n1;x;y\r\n2;x;z\r\n"),
    "no last line end": (b"a,b,c\n1,x,y\n2,x,y", Edit(1, "c", "z"), b"a,b,c\n1,x,y\n2,x,z"),
    "old line ends": (b"a,b,c\r1,x,y\r2,x,y\r3,x,y\r", Edit(1, "c", "z"), b"a,b,c\r1,x,y\r2,x,z\r3,x,y\r"),
    "quoted": (b'a,b,c\n1,"x",y\n2,"x ""1""",y\n', Edit(1, "b", 'n"w'), b'a,b,c\n1,"x",y\n2,"n""w",y\n'),
    "separator in the new text": (b"a,b,c\n1,x,y\n2,x,y\n", Edit(1, "b", "p,q"), b'a,b,c\n1,x,y\n2,"p,q",y\n'),
    "line end in a field before": (b'a,b,c\n1,"x\nx",y\n2,x,y\n', Edit(1, "b", "z"), b'a,b,c\n1,"x\nx",y\n2,z,y\n'),
    "blanks around": (b"a, b\n1, x\n2, x \n3, x\n", Edit(1, "b", "z", is_padded=True), b"a, b\n1, x\n2, z\n3, x\n"),
    "blanks around most": (
        b"a,b\n1,x\n2,  x \n3,x \n4, \n", Edit(1, "b", "z", is_padded=True), b"a,b\n1,x\n2,z \n3,x \n4, \n",
    ),
    "blanks in quotes": (
        b'a,b\n1,"x"\n2," x"\n3,"x"\n', Edit(1, "b", "z", is_padded=True), b'a,b\n1,"x"\n2,"z"\n3,"x"\n',
    ),
    "blanks around, to the letter": (b"a, b\n1, x\n2, x\n", Edit(1, "b", "z"), b"a, b\n1, x\n2,z\n"),
    "blanks of the new text": (b"a, b\n1, x\n2, x\n", Edit(1, "b", "  z "), b"a, b\n1, x\n2,  z \n"),
    "a gap": (b"a,b,c\n1,x,y\n2,x,y\n", Edit(1, "b", None), b"a,b,c\n1,x,y\n2,,y\n"),
    "in place of a gap": (b"a,b,c\n1,x,y\n2,,y\n", Edit(1, "b", "z"), b"a,b,c\n1,x,y\n2,z,y\n"),
    "byte order mark": (b"\xef\xbb\xbfa,b,c\n1,x,y\n2,x,y\n", Edit(1, "a", "9"), b"\xef\xbb\xbfa,b,c\n1,x,y\n9,x,y\n"),
    "title": (b"Orders\n\na,b,c\n1,x,y\n2,x,y\n3,x,y\n", Edit(1, "b", "z"), b"Orders\n\na,b,c\n1,x,y\n2,z,y\n3,x,y\n"),
    "Excel's first line": (b"sep=;\na;b;c\n1;x;y\n2;x;y\n", Edit(1, "b", "z"), b"sep=;\na;b;c\n1;x;y\n2;z;y\n"),
    "ragged and blank lines": (
        b"a,b,c\n1,x,y\n1,2\n\n,,\n2,x,y\n1,2,3,4\n3,x,y\n4,x,y\n",
        Edit(1, "b", "z"),
        b"a,b,c\n1,x,y\n1,2\n\n,,\n2,z,y\n1,2,3,4\n3,x,y\n4,x,y\n",
    ),
    "Latin-1": (
        "a,b,c\n1,é,y\n2,x,ü\n".encode("latin-1"), Edit(1, "b", "ö"), "a,b,c\n1,é,y\n2,ö,ü\n".encode("latin-1"),
    ),
    "UTF-16": (
        "a,b,c\n1,é,y\n2,x,ü\n".encode("utf-16"), Edit(1, "b", "ö"), "a,b,c\n1,é,y\n2,ö,ü\n".encode("utf-16"),
    ),
    "broken bytes": (
        "a,b,c\n1,é,y\n1,é,é\n".encode() + b"\xff,x,y\n3,x,\xff\n",
        Edit(1, "b", "z"),
        "a,b,c\n1,é,y\n1,z,é\n".encode() + b"\xff,x,y\n3,x,\xff\n",
    ),
    "NUL bytes": (b"a,b,c\n1,x\0,y\n2,x,y\0\n", Edit(1, "b", "z"), b"a,b,c\n1,x\0,y\n2,z,y\0\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_all_else_stays(name: str, tmp_path: Path) -> None:
    before, edit, after = FILES[name]
    made = changed(written(tmp_path, before), edit, quote='"')
    assert made.refused == []
    assert made.data == after


def test_what_stood_there_and_stands_there_now(tmp_path: Path) -> None:
    path = written(tmp_path, b'a,b,c\n1, x,NA\n2,x ," y"\n3, x,y\n4, x,\xff\n')
    edits = [
        Edit(0, "b", "z", is_padded=True),
        Edit(0, "c", "NA"),
        Edit(1, "b", "z", is_padded=True),
        Edit(1, "c", None),
    ]
    made = changed(path, *edits, Edit(3, "c", "z"), quote='"', encoding="utf-8")
    assert made.data == b"a,b,c\n1, z,NA\n2,z,\n3, x,y\n4, x,z\n"
    assert made.texts == {
        (0, "b"): (" x", " z"),
        (0, "c"): (None, "NA"),
        (1, "b"): ("x ", "z"),
        (1, "c"): (" y", None),
        (3, "c"): ("\ufffd", "z"),
    }


def test_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    data = b'a,b,c\n1,x,y\n2,"x,y\n3,x,y\n4,x,y\n'
    made = changed(written(tmp_path, data), Edit(2, "b", "z"), Edit(1, "b", "z"), quote='"', separator=",")
    assert made.data == b'a,b,c\n1,x,y\n2,"x,y\n3,z,y\n4,x,y\n'
    assert [(refusal.edit.row, "never closed" in refusal.reason) for refusal in made.refused] == [(1, True)]


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,c\n1,é,y\n2,x,y\n3,x,y\n".encode("latin-1"))
    made = changed(path, Edit(1, "b", "語"), Edit(2, "b", "p,q"), quote="none")
    assert made.data == path.read_bytes()
    assert [refusal.reason for refusal in made.refused] == [
        "'語' has letters that cp1252 cannot write",
        "'p,q' cannot be written without quotes, and the file has none",
    ]


def test_a_row_that_is_not_found_as_it_was_read_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, b"a,b,c\n1,x,y\n2,x,y\n")
    source, batch = opened(path)
    path.write_bytes(b"a,b,c\n1,x,y\n3,x,y\n")
    made = rewrite(source, str(path), batch, [Edit(1, "b", "z")])
    assert made.data == path.read_bytes()
    assert "cannot be told apart" in made.refused[0].reason


@pytest.mark.parametrize(("ending", "unpack"), [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_packed_files(ending: str, unpack: object, tmp_path: Path) -> None:
    data = b"a,b,c\n1,x,y\n2,x,y\n"
    path = written(tmp_path, unpack.compress(data), f"t.csv{ending}")  # type: ignore[attr-defined]
    made = changed(path, Edit(1, "b", "z"))
    write_bytes(str(tmp_path / f"o.csv{ending}"), made.data)
    assert unpack.decompress((tmp_path / f"o.csv{ending}").read_bytes()) == data.replace(b"2,x", b"2,z")  # type: ignore[attr-defined]
    assert stored_bytes(str(tmp_path / f"o.csv{ending}")) == made.data


@pytest.mark.parametrize("ending", [".zst", ".lz4"])
def test_files_packed_by_arrow(ending: str, tmp_path: Path) -> None:
    write_bytes(str(tmp_path / f"o.csv{ending}"), b"a,b\n1,2\n" * 1000)
    assert stored_bytes(str(tmp_path / f"o.csv{ending}")) == b"a,b\n1,2\n" * 1000


def test_json_lines(tmp_path: Path) -> None:
    data = b'{"a": 1, "b": "x", "c": true}\n\n{"a":2,"b":"x","c":true}\r\n{"b": "x", "a": 3.50}\n'
    made = changed(
        written(tmp_path, data, "t.jsonl"),
        *(Edit(1, "b", "z"), Edit(1, "a", "12"), Edit(1, "c", "false"), Edit(2, "b", None)),
    )
    assert made.refused == []
    assert made.data == (b'{"a": 1, "b": "x", "c": true}\n\n{"a":12,"b":"z","c":false}\r\n{"b": null, "a": 3.5}\n')
    with pytest.raises(OutputError, match="array is not changed in place"):
        changed(written(tmp_path, b'[{"a": 1, "b": "x"}, {"a": 2, "b": "x"}]', "t.json"), Edit(1, "b", "z"))


# ------------------------------------------------------------------------------------------------------ any dialect

TEXTS = st.text(st.sampled_from("abz019 .é\"';,\t|\n\r-"), max_size=6)


@st.composite
def files(draw: st.DrawFn) -> tuple[list[list[str]], bytes, str, str, list[tuple[int, int, str]]]:
    """A table as a delimited file, how it is laid out, and new texts for some of its cells."""
    n_rows = draw(st.integers(3, 6))
    separator = draw(st.sampled_from(",;\t|"))
    quote = draw(st.sampled_from("\"'"))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "cp1252", "utf-16"]))
    rows = [[f"{row}k", draw(TEXTS), draw(TEXTS)] for row in range(n_rows)]
    sink = io.StringIO(newline="")
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    writer = csv.writer(sink, delimiter=separator, quotechar=quote, lineterminator=end, quoting=quoting)
    writer.writerows([["a", "b", "c"], *rows])
    text = sink.getvalue()
    if draw(st.booleans()):
        text = text.removesuffix(end)
    edits = draw(
        st.lists(st.tuples(st.integers(0, n_rows - 1), st.integers(1, 2), TEXTS), max_size=3, unique_by=lambda e: e[:2])
    )
    return rows, text.encode(encoding), separator, quote, edits


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files())
def test_any_dialect(
    tmp_path: Path, drawn: tuple[list[list[str]], bytes, str, str, list[tuple[int, int, str]]]
) -> None:
    """What is read again is what was read, but for the changed cells; without changes all bytes are the same, and
    taking the changes back gives the file of before, but for quotes."""
    rows, data, separator, quote, edits = drawn
    path = written(tmp_path, data)
    options = {"separator": separator, "quote": quote, "header": True}
    try:
        source, batch = opened(path, **options)
    except ValueError:  # for example, not a row is left
        return
    assert rewrite(source, str(path), batch, []).data == data
    place = {row["a"]: number for number, row in enumerate(batch.rows.to_pylist())}
    wanted = [
        Edit(place[rows[row][0]], "abc"[column], text.strip() or None)
        for row, column, text in edits
        if rows[row][0] in place
    ]
    made = rewrite(source, str(path), batch, wanted)
    refused = {refusal.edit for refusal in made.refused}
    after = read_all(open_source(str(written(tmp_path, made.data)), ReadOptions(kinds=KINDS, **options)))
    expected = batch.rows.to_pylist()
    for edit in wanted:
        if edit not in refused:
            expected[edit.row][edit.column] = edit.text
    assert after.rows.to_pylist() == expected
    if not source.notes.texts():
        assert not refused
        assert pa.array([row["a"] for row in expected]).null_count == 0
