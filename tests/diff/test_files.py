"""Findings from files: whatever the program wrote, in each of its formats."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rfod._diff.diff import diff_lists
from rfod._diff.files import check_comparable, is_findings_file, read_findings
from rfod._io.interface import InputError
from rfod._io.write import open_sink

PRINTS = ["0123456789" * 4, "abcdef0123" * 4, "00000000010000000002000000000300000000aa"]
CELLS = pa.table(
    {
        "row": [4, 9, 12],
        "line": pa.array([6, None, 14]),
        "column": ["city", "price", "city"],
        "observed": ["Bo,nn\n", None, ""],
        "suggested": ["Bonn", None, "Ulm"],
        "probability": [0.97, 0.6, 0.93],
        "reason": ["city is 'Bo,nn': one letter", "price is missing", "city is ''"],
        "fingerprint": PRINTS,
    }
)
ROWS = pa.table(
    {
        "row": [0, 1, 2],
        "line": pa.array([2, 3, 4]),
        "score": [1.0, 9.0, 8.0],
        "flagged": [False, True, True],
        "cells": [None, "price: 3 (expected 5)", "city: x"],
        "fingerprint": PRINTS,
    }
)


def written(path: Path, table: pa.Table) -> str:
    with open_sink(str(path), table.schema) as write:
        write(table)
    return str(path)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_cells_of_any_format(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path / f"found.{ending}", CELLS)
    assert is_findings_file(path)
    read = read_findings(path)
    assert read.level == "cells"
    assert [finding.observed for finding in read.findings] == ["Bo,nn\n", None, ""]
    assert [finding.line for finding in read.findings] == [6, None, 14]
    assert [finding.probability for finding in read.findings] == [0.97, 0.6, 0.93]
    same = diff_lists(read, read_findings(written(tmp_path / "other.parquet", CELLS.take([2, 1, 0]))))
    assert [change.status for change in same.findings] == ["persisting", "persisting"]  # 0.6 is below 0.9 in both


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_rows_of_any_format(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path / f"found.{ending}", ROWS)
    read = read_findings(path)
    assert read.level == "rows"
    assert [(finding.row, finding.column, finding.observed) for finding in read.findings] == [
        (1, None, "price: 3 (expected 5)"),
        (2, None, "city: x"),
    ]
    less = read_findings(written(tmp_path / "less.csv", ROWS.slice(0, 2)))
    changes = diff_lists(less, read)
    assert [(change.status, change.finding.row) for change in changes.findings] == [("persisting", 1), ("new", 2)][::-1]


def test_what_json_says(tmp_path: Path) -> None:
    cells, rows = tmp_path / "cells.json", tmp_path / "rows.json"
    cells.write_text(json.dumps({"source": "x", "wrong_cells": CELLS.to_pylist()}))
    found = [{"row": 3, "line": 5, "key": "k", "text": "row k", "fingerprint": PRINTS[0], "cells": []}]
    rows.write_text(json.dumps({"source": "x", "findings": found}))
    assert is_findings_file(str(cells))
    assert is_findings_file(str(rows))
    assert read_findings(str(cells)).level == "cells"
    read = read_findings(str(rows))
    assert (read.level, read.findings[0].key, read.findings[0].observed) == ("rows", "k", "row k")
    cells.write_text(json.dumps({"wrong_cells": CELLS.slice(0, 1).to_pylist() * 1000}))
    with pytest.raises(InputError, match="lists 1,000 findings, the most that --json does"):
        read_findings(str(cells))


def test_cells_without_probabilities_count_as_their_rows(tmp_path: Path) -> None:
    table = CELLS.drop_columns(["probability", "suggested", "reason"]).append_column("score", pa.array([1.0, 2.0, 3.0]))
    read = read_findings(written(tmp_path / "found.csv", table))
    assert read.level == "rows"
    assert [finding.row for finding in read.findings] == [4, 9, 12]


def test_keys_as_numbers_and_as_text(tmp_path: Path) -> None:
    table = CELLS.append_column("key", pa.array([7, 8, 9])).drop_columns("fingerprint")
    one, two = written(tmp_path / "one.parquet", table), written(tmp_path / "two.csv", table.slice(0, 2))
    found = diff_lists(read_findings(one), read_findings(two))
    assert [(change.status, str(change.key)) for change in found.findings] == [("persisting", "7"), ("resolved", "9")]
    assert found.key == "key"


def test_a_table_is_no_file_of_findings(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("row,city\n1,Bonn\n")
    assert not is_findings_file(str(path))
    assert not is_findings_file(str(tmp_path / "none.csv"))
    assert not is_findings_file("table.xlsx")
    with pytest.raises(InputError, match="is no file of findings: it lacks the columns"):
        read_findings(str(path))
    with pytest.raises(InputError, match="there is no such file of findings"):
        read_findings(str(tmp_path / "none.csv"))


def test_without_keys_and_fingerprints_rows_cannot_be_found(tmp_path: Path) -> None:
    path = written(tmp_path / "old.parquet", CELLS.drop_columns("fingerprint"))
    with pytest.raises(InputError, match="neither keys nor fingerprints"):
        read_findings(path)


def test_cells_and_rows_are_not_compared(tmp_path: Path) -> None:
    cells = read_findings(written(tmp_path / "cells.csv", CELLS))
    rows = read_findings(written(tmp_path / "rows.csv", ROWS))
    with pytest.raises(InputError, match="write both with --cells, or both without"):
        check_comparable(cells, rows)
    keyed = read_findings(
        written(tmp_path / "k.parquet", CELLS.drop_columns("fingerprint").add_column(0, "key", CELLS["row"]))
    )
    with pytest.raises(InputError, match="neither keys nor fingerprints in common"):
        check_comparable(cells, keyed)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "json"])
def test_damaged_files_give_one_line(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"bad.{ending}"
    for content in (
        b"" if ending != "jsonl" else b"7",
        b"\x00\xff\xfe{",
        b'{"row": 1,',
        b"row,line,column,observed\n1,2",
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match="bad"):
            read_findings(str(path))
        is_findings_file(str(path))


@pytest.mark.parametrize(
    ("table", "field", "value", "message"),
    [
        (CELLS, "row", "x", "finding 2: 'row' is 'x', not a whole number. Hint: correct it"),
        (CELLS, "row", None, "finding 2: it has no 'row'"),
        (CELLS, "line", -3, r"finding 2: 'line' is '?-3'?, not a whole number"),
        (CELLS, "probability", "high", "finding 2: 'probability' is 'high', not a number from 0 to 1"),
        (CELLS, "probability", 97, r"finding 2: 'probability' is '?97'?, not a number from 0 to 1"),
        (CELLS, "column", None, "finding 2: it has no 'column'"),
        (CELLS, "fingerprint", "ab" * 40, "finding 2: 'fingerprint' is '(ab){20}...', not 40 hexadecimal digits"),
        (ROWS, "flagged", "maybe", "finding 2: 'flagged' is 'maybe', neither true nor false"),
        (ROWS, "row", "1.5", "finding 2: 'row' is '1.5', not a whole number"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_fields_that_cannot_be_read_are_named(
    tmp_path: Path, ending: str, table: pa.Table, field: str, value: object, message: str
) -> None:
    records = table.to_pylist()
    records[1][field] = value
    if ending == "csv":
        records = [{name: None if one is None else str(one) for name, one in record.items()} for record in records]
        path = written(tmp_path / "bad.csv", pa.Table.from_pylist(records))
    else:
        (tmp_path / "bad.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
        path = str(tmp_path / "bad.jsonl")
    with pytest.raises(InputError, match=f"bad.{ending}, {message}"):
        read_findings(path)


def test_fields_that_are_not_there_are_named(tmp_path: Path) -> None:
    path, records = tmp_path / "bad.json", CELLS.to_pylist()
    for name in ("row", "observed", "probability"):
        others = {field: value for field, value in records[2].items() if field != name}
        path.write_text(json.dumps({"wrong_cells": [*records[:2], others]}))
        with pytest.raises(InputError, match=f"bad.json, finding 3: it has no '{name}'"):
            read_findings(str(path))
    path.write_text(json.dumps({"wrong_cells": [*records[:2], 7]}))
    with pytest.raises(InputError, match="finding 3: it is no JSON object"):
        read_findings(str(path))
    path.write_text(json.dumps({"wrong_cells": [records[0] | {"reason": ["a"]}]}))
    with pytest.raises(InputError, match=r"finding 1: 'reason' is \['a'\], not a text"):
        read_findings(str(path))
    path.write_text('{\n"wrong_cells": [')
    with pytest.raises(InputError, match="it is no JSON from line 2, column 17 on"):
        read_findings(str(path))
    path = written(tmp_path / "bad.jsonl", CELLS)
    with Path(path).open("a") as file:
        file.write('{"row": 1, "li')
    with pytest.raises(InputError, match="line 4: it is no JSON"):
        read_findings(path)


def test_findings_that_passed_through_another_program(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(
        f"row,line,score,flagged,cells,fingerprint\n1.0,3.0,9.0,TRUE,5,{PRINTS[0]}\n2,4,9.0,FALSE,,{PRINTS[1]}\n"
    )
    (finding,) = read_findings(str(tmp_path / "rows.csv")).findings
    assert (finding.row, finding.line, finding.observed) == (1, 3, "5")
    numbers = CELLS.set_column(3, "observed", pa.array([512.5, None, 3.0]))
    read = read_findings(written(tmp_path / "cells.parquet", numbers))
    assert [finding.observed for finding in read.findings] == ["512.5", None, "3.0"]


def test_an_empty_list_of_findings(tmp_path: Path) -> None:
    for ending in ("csv", "parquet", "jsonl"):
        path = written(tmp_path / f"none.{ending}", CELLS.slice(0, 0))
        assert read_findings(path).findings == []
    found = diff_lists(read_findings(path), read_findings(written(tmp_path / "some.csv", CELLS)))
    assert [change.status for change in found.findings] == ["new", "new"]
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0
