"""Workbooks as Excel and LibreOffice write them, made by hand."""

from __future__ import annotations

import datetime as dt
import gzip
import importlib
import io
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pytest

from rfod._io.interface import InputError, ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import read_all

pytest.importorskip("python_calamine", reason="the library of rfod[excel] is not installed")

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
FORMATS = {"date": 1, "datetime": 2, "time": 3, "duration": 4}

Cell = None | bool | int | float | str | tuple[str, float]
"""A pair is a number in the format of that name; text that begins with # is an error."""


def cell(value: Cell, place: str) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return f'<c r="{place}" s="{FORMATS[value[0]]}"><v>{value[1]}</v></c>'
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value}</v></c>'
    if value.startswith("#"):
        return f'<c r="{place}" t="e"><v>{value}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def xlsx(
    sheets: Mapping[str, Sequence[Sequence[Cell]]],
    first_row: int = 1,
    before: str = "",
    more: str = "",
    kind: str = "worksheet",
    hidden: Sequence[str] = (),
) -> bytes:
    """A workbook of the smallest kind that is one."""
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><numFmts><numFmt numFmtId="165" formatCode="[h]:mm"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="21"/><xf numFmtId="165"/>'
        "</cellXfs></styleSheet>",
    }
    listed, related = "", ""
    for number, (name, rows) in enumerate(sheets.items(), start=1):
        state = ' state="hidden"' if name in hidden else ""
        listed += f'<sheet name="{name}" sheetId="{number}"{state} r:id="rId{number}"/>'
        related += f'<Relationship Id="rId{number}" Type="{RELATIONS}/{kind}" Target="{kind}s/{number}.xml"/>'
        body = "".join(
            f'<row r="{row}">{"".join(cell(value, f"{chr(65 + n)}{row}") for n, value in enumerate(cells))}</row>'
            for row, cells in enumerate(rows, start=first_row)
        )
        body = f"{before}<sheetData>{body}</sheetData>{more}"
        parts[f"xl/{kind}s/{number}.xml"] = f'<{kind} xmlns="{MAIN}">{body}</{kind}>'
    parts["xl/workbook.xml"] = f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>{listed}</sheets></workbook>'
    related += f'<Relationship Id="rId99" Type="{RELATIONS}/styles" Target="styles.xml"/>'
    parts["xl/_rels/workbook.xml.rels"] = f'<Relationships xmlns="{PACKAGE}/relationships">{related}</Relationships>'
    return packed(parts)


def ods(rows: Sequence[Sequence[float | str]]) -> bytes:
    office, table = (
        "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
        "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    )
    text = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
    body = ""
    for row in rows:
        cells = [
            f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'
            if isinstance(value, str)
            else f'<table:table-cell office:value-type="float" office:value="{value}"/>'
            for value in row
        ]
        body += f"<table:table-row>{''.join(cells)}</table:table-row>"
    content = (
        f'<office:document-content xmlns:office="{office}" xmlns:table="{table}" xmlns:text="{text}"><office:body>'
        f'<office:spreadsheet><table:table table:name="Orders">{body}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    manifest = '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    return packed({"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest})


def packed(parts: Mapping[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part if name == "mimetype" else f'<?xml version="1.0"?>{part}')
    return data.getvalue()


def read(folder: Path, data: bytes, name: str = "t.xlsx", **options: Any) -> tuple[pa.Table, list[int], list[str]]:
    (folder / name).write_bytes(data)
    source = open_source(str(folder / name), ReadOptions(**options))
    batch = read_all(source)
    assert batch.lines is not None
    return batch.rows, batch.lines.tolist(), source.notes.texts()


SIMPLE: list[list[Cell]] = [["a", "b"], [1, "x"], [2, "y"]]


@pytest.mark.parametrize("name", ["t.xlsx", "t.xlsm", "T.XLSX", "t.xlsx.gz", "without-ending"])
def test_names(tmp_path: Path, name: str) -> None:
    data = xlsx({"Orders": SIMPLE})
    table, lines, notes = read(tmp_path, gzip.compress(data) if name.endswith("gz") else data, name)
    assert table.to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert (lines, notes) == ([2, 3], [])


def test_libre_office(tmp_path: Path) -> None:
    table, lines, _ = read(tmp_path, ods([["a", "b"], [1.5, "x"], [2.0, "y"]]), "t.ods")
    assert table.to_pylist() == [{"a": 1.5, "b": "x"}, {"a": 2.0, "b": "y"}]
    assert lines == [2, 3]


def test_types_of_cells(tmp_path: Path) -> None:
    rows: list[list[Cell]] = [
        ["whole", "part", "day", "at", "clock", "span", "ok", "error", "code", "mixed", "none"],
        [1, 1.5, ("date", 45000), ("datetime", 45000.5), ("time", 0.25), ("duration", 1.5), True, "#N/A", "007", 1],
        [2, 2, ("date", 45001), ("datetime", 45001), ("time", 0.5), ("duration", 2.25), False, 1, "008", "x"],
        [None] * 9,
        [3, None, None, None, None, None, None, 2, "009", "x"],
    ]
    table, lines, notes = read(tmp_path, xlsx({"Orders": rows}))
    assert table.schema.types == [
        pa.int64(),
        pa.float64(),
        pa.date32(),
        pa.timestamp("us"),
        pa.time64("us"),
        pa.duration("us"),
        pa.bool_(),
        pa.int64(),
        pa.large_string(),
        pa.large_string(),
        pa.large_string(),
    ]
    assert list(table.to_pylist()[0].values()) == [
        1,
        1.5,
        dt.date(2023, 3, 15),
        dt.datetime(2023, 3, 15, 12),
        dt.time(6),
        dt.timedelta(days=1.5),
        True,
        None,
        "007",
        "1",
        None,
    ]
    assert table.column("at")[1].as_py() == dt.datetime(2023, 3, 16)
    assert lines == [2, 3, 5]
    assert "without any value left out: line 4." in " ".join(notes)


def test_mixed_columns_are_read_like_those_of_a_csv_file(tmp_path: Path) -> None:
    rows: list[list[Cell]] = [["n", "x"], *([n, "x"] for n in range(30)), ["odd", "x"], [" 7 ", "x"]]
    table, _, notes = read(tmp_path, xlsx({"Orders": rows}))
    assert table.column("n").to_pylist() == [*range(30), None, 7]
    assert "'odd' (line 32)" in notes[0]


def test_kinds_that_are_told(tmp_path: Path) -> None:
    data = xlsx({"Orders": SIMPLE})
    assert read(tmp_path, data, kinds={"a": "categorical"})[0].column("a").to_pylist() == ["1", "2"]
    assert read(tmp_path, data, kinds={"a": "numeric"})[0].column("a").to_pylist() == [1, 2]
    assert read(tmp_path, data, columns=frozenset({"b"}))[0].column_names == ["b"]
    with pytest.raises(InputError, match=r"line 2, column 'b': 'x' is no number"):
        read(tmp_path, data, kinds={"b": "numeric"})


def test_the_first_row_with_anything_is_the_header(tmp_path: Path) -> None:
    table, lines, _ = read(tmp_path, xlsx({"Orders": [[], [None, "a", "b"], [None, 1, 2]]}, first_row=3))
    assert (table.to_pylist(), lines) == ([{"a": 1, "b": 2}], [5])
    table, lines, _ = read(tmp_path, xlsx({"Orders": SIMPLE}), header=False)
    assert table.column("column_1").to_pylist() == ["a", "1", "2"]
    assert lines == [1, 2, 3]


def test_names_of_columns(tmp_path: Path) -> None:
    rows: list[list[Cell]] = [["a", "a", None, None, 2024], [1, 2, 3, None, 4], [1, 2, 3, None, 4]]
    table, _, notes = read(tmp_path, xlsx({"Orders": rows}))
    assert table.column_names == ["a", "a_2", "column_3", "2024"]
    assert any("without a name" in note for note in notes)
    assert any("'a' as 'a_2'" in note for note in notes)


def test_sheets(tmp_path: Path) -> None:
    data = xlsx({"Notes": [["x"], ["y"]], "Orders": SIMPLE, "3": [["c"], [5]]})
    table, _, notes = read(tmp_path, data)
    assert table.column_names == ["x"]
    assert notes == ["read the sheet 'Notes'; there are others: 'Orders', '3'. Hint: --sheet names one of them."]
    for sheet, column in (("Orders", "a"), ("2", "a"), ("3", "c"), ("1", "x")):
        table, _, notes = read(tmp_path, data, sheet=sheet)
        assert (table.column_names[0], notes) == (column, [])
    for sheet in ("orders", "0", "4", "-1", "", "9" * 30):
        with pytest.raises(InputError, match=r"no sheet '.*'\. Hint: the sheets are 'Notes', 'Orders', '3'\."):
            read(tmp_path, data, sheet=sheet)
    hidden = xlsx({"Hidden": [["x"], ["y"]], "Orders": SIMPLE}, hidden=["Hidden"])
    assert read(tmp_path, hidden)[0].column_names == ["a", "b"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl", "t.txt"])
def test_other_formats_have_no_sheets(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"only spreadsheets have sheets\. Hint: leave out --sheet"):
        open_source(str(tmp_path / name), ReadOptions(sheet="Orders"))


def test_hidden_columns_and_merged_cells(tmp_path: Path) -> None:
    more = '<mergeCells count="1"><mergeCell ref="A2:A3"/></mergeCells>'
    table, _, _ = read(tmp_path, xlsx({"Orders": [["a", "b"], ["x", 1], [None, 2]]}, more=more))
    assert table.to_pylist() == [{"a": "x", "b": 1}, {"a": None, "b": 2}]
    hidden = '<cols><col min="1" max="1" hidden="1"/></cols>'
    assert read(tmp_path, xlsx({"Orders": SIMPLE}, before=hidden))[0].column_names == ["a", "b"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (xlsx({"Orders": []}), "the sheet 'Orders' is empty. Hint: the workbook has no other sheet"),
        (xlsx({"Orders": [["", " "], []]}), "the sheet 'Orders' is empty"),
        (xlsx({"Orders": [["a", "b"]]}), "the table has no rows"),
        (xlsx({"Notes": [], "Staff": SIMPLE}), "the sheet 'Notes' is empty. Hint: other sheets are 'Staff'; --sheet"),
        (
            xlsx({"Notes": [["Staff of May"]], "Staff": SIMPLE, "Left": SIMPLE}),
            "the sheet 'Notes' has a header alone: the table has no rows. Hint: other sheets are 'Staff', 'Left';",
        ),
        (xlsx({"Chart": []}, kind="chartsheet"), "no sheet with cells"),
        (xlsx({}), "no sheet with cells"),
        (xlsx({"Orders": SIMPLE})[:-40], "cannot be read as a spreadsheet"),
        (xlsx({"Orders": SIMPLE}).replace(b"</row>", b"<rrow>"), "cannot be read as a spreadsheet"),
        (xlsx({"Orders": [["a", "b"], [("duration", 1e12), 1]]}), "cannot be read as a spreadsheet"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(3000), "cannot be read as a spreadsheet"),
        (b"", "cannot be read as a spreadsheet"),
    ],
    ids=[
        "no cells",
        "blanks",
        "header",
        "empty of two",
        "title of three",
        "chart",
        "nothing",
        "cut",
        "damaged",
        "span",
        "old",
        "empty",
    ],
)
def test_workbooks_without_a_table(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read(tmp_path, data)
    assert "t.xlsx" in str(caught.value)
    assert "Hint: " in str(caught.value)


def test_dates_out_of_range(tmp_path: Path) -> None:
    rows: list[list[Cell]] = [["a", "b"], [("date", 45000), 1], [("date", 9e6), 2], [("date", -5), 3]]
    assert read(tmp_path, xlsx({"Orders": rows}))[0].num_rows == 3


def test_text_under_the_name_of_a_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "t.xls").write_text("a\tb\n1\tx\n2\ty\n")
    source = open_source(str(tmp_path / "t.xls"), ReadOptions())
    assert read_all(source).rows.to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert source.notes.texts() == ["t.xls is no spreadsheet but text; read as such."]
    (tmp_path / "t.xls").write_text("<html><table><tr><td>1</td></tr></table></html>")
    with pytest.raises(InputError, match=r"t\.xls is an HTML page, not a table"):
        read_all(open_source(str(tmp_path / "t.xls"), ReadOptions()))


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(xlsx({"Orders": SIMPLE}))))
    assert read_all(open_source("-", ReadOptions(sheet="Orders"))).rows.num_rows == 2


def test_batches(tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").write_bytes(xlsx({"Orders": [["a", "b"], *([n, "x"] for n in range(10))]}))
    batches = list(open_source(str(tmp_path / "t.xlsx"), ReadOptions(batch_rows=4)).batches())
    assert [batch.first_row for batch in batches] == [0, 4, 8]
    (tmp_path / "u.xlsx").write_bytes(xlsx({"Orders": [["b", "a"], ["y", 10]]}))
    assert read_all(open_source(str(tmp_path), ReadOptions())).rows.num_rows == 11


def test_the_library_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.xlsx").write_bytes(xlsx({"Orders": SIMPLE}))
    whole = importlib.import_module

    def without(name: str) -> Any:
        if name == "python_calamine":
            raise ImportError(name)
        return whole(name)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(InputError, match=r"Hint: pip install 'rfod\[excel\]'"):
        open_source(str(tmp_path / "t.xlsx"), ReadOptions())
