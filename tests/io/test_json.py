"""JSON lines and arrays, whole and damaged."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rfod._io.records as records
from rfod._io.interface import InputError, ReadOptions
from rfod._io.locations import open_source
from rfod._io.records import JsonSource
from rfod._io.source import read_all

GOOD = b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n\n{"a": 3, "b": "z"}\n'
ARRAY = b'[\n  {"a": 1,\n   "b": "x"},\n  {"a": 2, "b": "y"}, {"a": 3, "b": "z"}\n]\n'
ROWS = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": "z"}]


def read(data: bytes, name: str = "t.json", **options: Any) -> tuple[list[dict[str, Any]], list[int], list[str]]:
    source = JsonSource(io.BytesIO(data), ReadOptions(**options), name, may_be_array=name.endswith(".json"))
    batch = read_all(source)
    assert not any(pa.types.is_nested(kind) for kind in batch.rows.schema.types)
    lines = [1] * batch.rows.num_rows if batch.lines is None else batch.lines.tolist()  # None: all on one line
    return batch.rows.to_pylist(), lines, source.notes.texts()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"a": 1,', "no JSON (Expecting property name"),
        (b"[1, 2]", "a JSON list where an object is needed"),
        (b"7", "a JSON int where an object is needed"),
        (b'{"a": 1} {"a": 2}', "no JSON (Extra data)"),
        (b'{"a": ' + b"[" * 100_000, "no JSON (nested too deeply"),
        (b'{"a": ' * 100_000, "no JSON (nested too deeply"),
    ],
    ids=["cut", "list", "number", "two", "deep list", "deep object"],
)
def test_lines_that_are_no_objects(line: bytes, problem: str) -> None:
    rows, lines, notes = read(GOOD + line + b'\n{"a": 4}\n', "t.jsonl")
    assert [row["a"] for row in rows] == [1, 2, 3, 4]
    assert lines == [1, 2, 4, 6]
    assert notes[0].startswith(f"1 line left out, without a JSON object: line 5 ({problem}")
    with pytest.raises(InputError) as caught:
        read(GOOD + line + b"\n", "t.jsonl", strict=True)
    assert f"t.jsonl, line 5: {problem}" in str(caught.value)
    assert "Hint: " in str(caught.value)


def test_mostly_no_objects() -> None:
    with pytest.raises(InputError, match=r"4 of 7 lines hold no JSON object: line 5 \(no JSON"):
        read(GOOD + b"x\n" * 4, "t.jsonl")
    with pytest.raises(InputError, match=r"one JSON object without an array of several objects inside \('data'\)"):
        read(b'{\n  "data": [\n    1\n  ]\n}\n')
    with pytest.raises(InputError, match="is empty"):
        read(b"\n \n")
    with pytest.raises(InputError, match="is empty"):
        read(b"{}\n{}\n")


@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_arrays(name: str) -> None:
    assert read(ARRAY, name) == (ROWS, [2, 4, 4], [])
    assert read(b" \n" + ARRAY, name)[1] == [3, 5, 5]
    assert read(ARRAY, name, strict=True)[0] == ROWS


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_arrays_in_other_encodings(encoding: str) -> None:
    assert read(ARRAY.decode().encode(encoding))[0] == ROWS


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (b"", "line 4 (the array is not closed)"),
        (b",", "line 4 (Expecting value"),
        (b', {"a": 9', "line 4 (Expecting ',' delimiter"),
        (b',\n {"a": [1, }]', "line 5 (Expecting value"),
        (b' {"a": 9}]', "line 4 (no comma between objects)"),
        (b"]\n]", "line 4 (more text after the end of the array)"),
        (b', {"a": ' + b"[" * 100_000, "line 4 (nested too deeply)"),
    ],
    ids=["open", "comma", "cut", "inside", "no comma", "more", "deep"],
)
def test_damaged_arrays_keep_what_is_before(end: bytes, words: str) -> None:
    data = ARRAY.rstrip()[:-2] + end
    rows, lines, notes = read(data)
    assert (rows, lines) == (ROWS, [2, 4, 4])
    assert notes[0].startswith(f"the array is damaged at {words}")
    with pytest.raises(InputError, match=r"t\.json, line \d: no JSON \(.*Hint: is the file whole"):
        read(data, strict=True)


def test_arrays_without_objects() -> None:
    with pytest.raises(InputError, match="is empty"):
        read(b"[]")
    with pytest.raises(InputError, match=r"line 1: no JSON"):
        read(b"[{")
    with pytest.raises(InputError, match=r"2 of 3 lines hold no JSON object: line 1 \(a JSON int"):
        read(b'[1, [2], {"a": 1}]')
    rows, lines, notes = read(b'[{"a": 1}, {"a": 2},\n null, {"a": 3}]')
    assert (len(rows), lines) == (3, [1, 1, 2])
    assert "line 2 (a JSON NoneType where an object is needed)" in notes[0]


@pytest.mark.parametrize("wrap", [b"\n".join, lambda rows: b"[" + b",".join(rows) + b"]"], ids=["lines", "array"])
def test_nested_values_become_text(wrap: Any) -> None:
    rows, _, _ = read(wrap([b'{"a": [1, {"b": "\xc3\xbc"}], "c": {"d": null}, "e": 1}', b'{"a": "x", "e": 2}']))
    assert rows == [{"a": '[1, {"b": "ü"}]', "c": '{"d": null}', "e": 1}, {"a": "x", "c": None, "e": 2}]


@pytest.mark.parametrize("wrap", [b"\n".join, lambda rows: b"[" + b",".join(rows) + b"]"], ids=["lines", "array"])
def test_odd_values(wrap: Any) -> None:
    digits = b"9" * 5000
    rows, _, _ = read(
        wrap(
            [
                b'{"int": ' + digits + b', "nan": NaN, "inf": -Infinity, "half": "\\ud800", "a\\udfff": 1}',
                b'{"int": 1, "nan": 1.5, "inf": 1, "half": "x"}',
            ]
        )
    )
    assert [row["int"] for row in rows] == [np.inf, 1]
    assert rows[0]["half"] == "?"
    assert rows[0]["a?"] == 1
    assert rows[0]["inf"] == -np.inf


def test_texts_with_brackets_are_parsed_by_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "table_of", None)
    assert read(b'{"a": "[{", "b": "\\"{"}\n{"a": "x", "b": "y"}\n')[0][0] == {"a": "[{", "b": '"{'}


def test_later_rows_of_another_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_BLOCK_LINES", 10)
    lines = [
        json.dumps({"n": n, "t": "x", "b": True, "new": 1} if n != 15 else {"n": "odd", "t": 5}) for n in range(30)
    ]
    rows, numbers, notes = read("\n".join(lines).encode())
    assert [row["n"] for row in rows] == [*range(15), None, *range(16, 30)]
    assert rows[15] == {"n": None, "t": "5", "b": None, "new": None}
    assert numbers == list(range(1, 31))
    assert "column 'n': 1 value is no number and counts as missing: 'odd' (line 16)" in notes[0]


def test_fields_that_appear_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_BLOCK_LINES", 2)
    data = b'{"a": 1, "b": 2, "c": 3}\n' * 2 + b'{"c": 4}\n{"new": 5}\n' + b'{"new": 6}\n'
    rows, _, notes = read(data, columns=frozenset({"a", "b"}))
    assert rows == [{"a": 1, "b": 2}] * 2 + [{"a": None, "b": None}] * 3
    assert notes == ["1 field that the first rows lack left out: new."]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_arrays_from_stdin(monkeypatch: pytest.MonkeyPatch, pack: Any) -> None:
    for data in (ARRAY, b"\n " + ARRAY):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(data))))
        assert read_all(open_source("-", ReadOptions())).rows.to_pylist() == ROWS
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(b"[id],[name]\n1,x\n2,y\n"))))
    assert read_all(open_source("-", ReadOptions())).rows.column_names == ["[id]", "[name]"]


def test_arrays_in_files(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(ARRAY)
    assert read_all(open_source(str(tmp_path / "t.json"), ReadOptions())).rows.to_pylist() == ROWS


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
objects = st.lists(st.dictionaries(st.sampled_from(["a", "b", "ü", ""]), values), min_size=1, max_size=5)


@settings(max_examples=200, deadline=None)
@given(objects, st.booleans(), st.binary(max_size=10), st.integers(0, 200))
def test_any_objects_and_any_damage(rows: list[dict[str, Any]], is_array: bool, damage: bytes, place: int) -> None:
    text = json.dumps(rows) if is_array else "\n".join(map(json.dumps, rows))
    if any(rows):
        try:
            read(text.encode())
        except InputError as error:
            assert "is no " in str(error)  # noqa: PT017  # too many odd values in a column
    data = text.encode()[:place] + damage + text.encode()[place:]
    try:
        read(data)
    except InputError as error:
        assert "t.json" in str(error)  # noqa: PT017


RECORDS = [{"a": number, "b": f"x{number % 3}"} for number in range(8)]


@pytest.mark.parametrize("indent", [None, 1], ids=["one line", "many lines"])
@pytest.mark.parametrize("before", [{}, {"n": 8, "tags": ["x"], "of": {"a": [1]}}], ids=["alone", "among others"])
@pytest.mark.parametrize("name", ["t.json", "stdin"])
def test_the_one_array_inside_of_an_object(indent: int | None, before: dict[str, Any], name: str) -> None:
    data = json.dumps(before | {"rows": RECORDS, "page": 1}, indent=indent).encode()
    rows, lines, notes = read(data, name)
    assert rows == RECORDS
    assert notes == ["read the array of objects in the field 'rows' of the one object."]
    assert set(lines) == {1}, "a row is not to be changed in place by its line"


def test_an_object_larger_than_the_sample() -> None:
    many = RECORDS * 20_000
    for indent in (None, 1):
        rows, _, notes = read(json.dumps({"rows": many}, indent=indent).encode())
        assert len(rows) == len(many)
        assert len(notes) == 1
    rows, _, notes = read(json.dumps({"rows": many}).encode()[:-200_000])
    assert 100_000 < len(rows) < len(many)
    assert "the array is damaged" in notes[1]


def test_several_arrays_inside_of_an_object_or_none() -> None:
    with pytest.raises(InputError, match=r"several arrays of objects inside \('rows', 'more'\)\. Hint: a table is"):
        read(json.dumps({"rows": RECORDS, "more": RECORDS}, indent=1).encode())
    with pytest.raises(InputError, match=r"several arrays of objects inside \('rows', 'more'\)\. Hint: a table is"):
        read(json.dumps({"rows": RECORDS, "more": RECORDS * 20_000}).encode())
    with pytest.raises(InputError, match=r"without an array of several objects inside \('a', 'b'\)\. Hint: a table is"):
        read(json.dumps({"a": [1, 2], "b": [1, 2]}, indent=1).encode())
    rows, _, notes = read(json.dumps({"a": [1, 2], "b": 1}).encode())
    assert rows == [{"a": "[1, 2]", "b": 1}]
    assert "read as one row. Hint: a table is one object per line" in notes[0]


def test_lines_with_arrays_of_objects_stay_rows() -> None:
    line = json.dumps({"id": 1, "items": RECORDS}).encode()
    for data in (line + b"\n" + line, line[:-5] + b"\n" + line + b"\n" + line + b"\n"):
        rows, _, _ = read(data, "t.jsonl")
        assert [row["id"] for row in rows] == [1, 1]
    rows, _, notes = read(line, kinds={"id": "numeric"}, fixed_kinds=frozenset({"id"}))
    assert (rows[0]["id"], len(rows), notes) == (1, 1, [])


def test_objects_larger_than_the_sample_that_are_not_as_they_begin() -> None:
    wide = json.dumps({"id": 1, "items": RECORDS * 20_000}).encode()
    rows, _, notes = read(wide + b"\n" + wide)
    assert len(rows) == len(RECORDS) * 20_000
    assert notes[1].startswith("line 2: more text after the end of the object is not read. Hint: ")
    with pytest.raises(InputError, match="line 2: more text after"):
        read(wide + b"\n" + wide, strict=True)
    with pytest.raises(InputError, match=r"without an array of several objects inside \('rows'\)"):
        read(json.dumps({"rows": [*RECORDS * 20_000, None]}).encode())
