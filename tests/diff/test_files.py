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


def test_an_empty_list_of_findings(tmp_path: Path) -> None:
    for ending in ("csv", "parquet", "jsonl"):
        path = written(tmp_path / f"none.{ending}", CELLS.slice(0, 0))
        assert read_findings(path).findings == []
    found = diff_lists(read_findings(path), read_findings(written(tmp_path / "some.csv", CELLS)))
    assert [change.status for change in found.findings] == ["new", "new"]
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0
