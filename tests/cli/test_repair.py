"""`rfod repair`: the table comes back as it was but for its repairs, with a log of them."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import Rfod

from rfod._cli.repairing import changes_schema, read_log
from rfod._io.write import open_sink

STATES = {"Austin": "TX", "Reno": "NV", "Boston": "MA"}
FAST = ("--trees", 20, "--jobs", 1)


@pytest.fixture(scope="module")
def rows() -> list[list[str]]:
    """Shops in cities; line 12 has a misspelt one, line 40 a wrong state."""
    rng = np.random.default_rng(0)
    cities = rng.choice(list(STATES), 300).tolist()
    table = [
        [f"s{n:04d}", city, STATES[city], f"zone {city}", f"{rng.integers(100, 999) / 10:.1f}"]
        for n, city in enumerate(cities)
    ]
    table[10][1] = table[10][1][:-2] + "x" + table[10][1][-1]
    table[38][2] = "NV" if table[38][2] != "NV" else "TX"
    return [["shop", "city", "state", "zone", "sales"], *table]


@pytest.fixture
def orders(rows: list[list[str]], tmp_path: Path) -> Path:
    path = tmp_path / "orders.csv"
    path.write_bytes("".join(";".join(row) + "\r\n" for row in rows).encode("utf-8-sig"))
    return path


def test_a_text_file_comes_back_byte_for_byte(rfod: Rfod, orders: Path, rows: list[list[str]], tmp_path: Path) -> None:
    clean = tmp_path / "clean.csv"
    ran = rfod("repair", orders, "-o", clean, "--repair-above", 0.5, "--key", "shop", *FAST)
    assert ran.code == 0, ran.err
    log = list(csv.DictReader((tmp_path / "clean.changes.csv").read_text(encoding="utf-8").splitlines(True)))
    assert list(log[0]) == ["row", "line", "key", "column", "before", "after", "why", "probability"]
    assert ("12", "city", rows[11][1]) in [(line["line"], line["column"], line["before"]) for line in log]
    before, after = orders.read_bytes().splitlines(), clean.read_bytes().splitlines()
    for line in log:
        fields = before[int(line["line"]) - 1].decode().split(";")
        fields[rows[0].index(line["column"])] = line["after"]
        before[int(line["line"]) - 1] = ";".join(fields).encode()
    assert before == after
    assert f"{len(log)} cell{'' if len(log) == 1 else 's'} changed (0 decided)" in ran.err
    assert f"shop s0010 (line 12), city: {rows[11][1]} → " in ran.out
    again = tmp_path / "again.csv"
    ran = rfod(
        "repair",
        clean,
        "-o",
        again,
        "--done",
        tmp_path / "clean.changes.csv",
        "--repair-above",
        0.5,
        "--key",
        "shop",
        *FAST,
    )
    assert ran.code == 0, ran.err
    assert again.read_bytes() == clean.read_bytes()
    assert len((tmp_path / "again.changes.csv").read_text().splitlines()) == 1


def test_decisions_are_carried_out(rfod: Rfod, orders: Path, rows: list[list[str]], tmp_path: Path) -> None:
    decisions, clean = tmp_path / "orders.decisions.jsonl", tmp_path / "clean.csv"
    for options in (("s0002", "--column", "sales", "--blank"), ("s0010", "--column", "city", "--fine"),
                    ("s0003", "--column", "zone", "--replace", 'a;"b"')):  # fmt: skip
        ran = rfod("decide", orders, "--decisions", decisions, "--key", "shop", "--row", *options)
        assert ran.code == 0, ran.err
    ran = rfod("repair", orders, "-o", clean, "--decisions", decisions, "--repair-above", 1, "--log",
               tmp_path / "l.jsonl", *FAST)  # fmt: skip
    assert ran.code == 0, ran.err
    before, after = orders.read_bytes().splitlines(), clean.read_bytes().splitlines()
    assert [n for n, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]] == [3, 4]
    assert after[3].endswith(b";")
    assert after[4] == before[4].replace(rows[4][3].encode(), b'"a;""b"""')
    assert "(2 decided)" in ran.err


def test_a_decided_value_is_written_as_decided(rfod: Rfod, orders: Path, tmp_path: Path) -> None:
    """Blanks around the old value are not glued to the new one; the log holds both to the letter."""
    decisions, clean, again = tmp_path / "d.jsonl", tmp_path / "clean.csv", tmp_path / "again.csv"
    shop, *rest = orders.read_bytes().splitlines()[3].split(b";")
    orders.write_bytes(orders.read_bytes().replace(b";".join([shop, *rest]), b";".join([shop, b"  - men ", *rest[1:]])))
    for column, options in (("city", ("--replace", "NA")), ("zone", ("--replace", "zone 1"))):
        ran = rfod("decide", orders, "--decisions", decisions, "--line", 4, "-c", column, *options)
        assert ran.code == 0, ran.err
    arguments = ("--decisions", decisions, "--repair-above", 1, *FAST)
    assert rfod("repair", orders, "-o", clean, *arguments).code == 0
    changed = b";".join([shop, b"NA", rest[1], b"zone 1", *rest[3:]])
    assert clean.read_bytes().splitlines()[3] == changed
    log = list(csv.DictReader((tmp_path / "clean.changes.csv").read_text(encoding="utf-8").splitlines(True)))
    assert [(line["before"], line["after"]) for line in log] == [("  - men ", "NA"), (rest[2].decode(), "zone 1")]
    ran = rfod("repair", clean, "-o", again, "--done", tmp_path / "clean.changes.csv", *arguments)
    assert ran.code == 0, ran.err
    assert "not found in the table" not in ran.err
    assert again.read_bytes() == clean.read_bytes()
    assert len((tmp_path / "again.changes.csv").read_text().splitlines()) == 1


def test_parquet_comes_back_by_value_and_schema(rfod: Rfod, rows: list[list[str]], tmp_path: Path) -> None:
    columns = list(zip(*rows[1:], strict=True))
    table = pa.table({name: pa.array(column) for name, column in zip(rows[0], columns, strict=True)})
    table = table.set_column(4, "sales", pa.array([float(value) for value in columns[4]], pa.float32()))
    table = table.set_column(2, "state", table.column("state").dictionary_encode())
    table = table.replace_schema_metadata({"made": "by hand"})
    path, clean = tmp_path / "orders.parquet", tmp_path / "clean.parquet"
    pq.write_table(table, path)
    ran = rfod("repair", path, "-o", clean, "--repair-above", 0.5, *FAST)
    assert ran.code == 0, ran.err
    repaired = pq.read_table(clean)
    assert repaired.schema.equals(pq.read_table(path).schema, check_metadata=False)
    assert repaired.schema.metadata[b"made"] == b"by hand"
    log = list(csv.DictReader((tmp_path / "clean.changes.csv").read_text(encoding="utf-8").splitlines(True)))
    assert log
    expected = table.to_pylist()
    for line in log:
        expected[int(line["row"])][line["column"]] = line["after"]
    assert repaired.to_pylist() == expected
    ran = rfod("repair", path, "-o", tmp_path / "clean.jsonl", "--repair-above", 0.5, *FAST)
    assert ran.code == 0, ran.err
    assert len((tmp_path / "clean.jsonl").read_text().splitlines()) == 300


def test_wrong_cells_that_are_left_are_counted(rfod: Rfod, orders: Path, tmp_path: Path) -> None:
    ran = rfod("repair", orders, "-o", tmp_path / "o.csv", "--repair-above", 1, "--key", "shop", *FAST, width=500)
    assert ran.code == 0, ran.err
    found = re.search(
        r"^(\d+) cells? (?:is|are) wrong \(probability 0\.9 and more\); .* at least 1 likely", ran.err, re.M
    )
    assert found
    assert f"Hint: rfod decide {orders} --review --key shop asks about " in ran.err
    assert rfod("repair", orders, "-o", tmp_path / "o.csv", "--repair-above", 1, "-q", *FAST).err == ""
    decisions = tmp_path / "d.jsonl"
    ran = rfod("decide", orders, "--decisions", decisions, "--key", "shop", "--row", "s0010", "-c", "city", "--fine")
    ran = rfod(
        "repair", orders, "-o", tmp_path / "o.csv", "--repair-above", 1, "--decisions", decisions, *FAST, width=500
    )
    left = re.search(r"^(\d+) cells? (?:is|are) wrong", ran.err, re.M)
    assert (int(left[1]) if left else 0) == int(found[1]) - 1


def test_what_cannot_be_done_is_said_before_anything_is_read(rfod: Rfod, orders: Path, tmp_path: Path) -> None:
    for options, message in (
        (("-o", orders), "also the input"),
        (("-o", tmp_path / "o.csv", "--log", orders), "also the input"),
        (("-o", tmp_path / "o.csv", "--log", tmp_path / "o.csv"), "is the output, too"),
        (("-o", tmp_path / "o.xlsx"), "no output format"),
        (("-o", tmp_path / "o.csv", "--repair-above", 0), "a probability is needed"),
        (("-o", "-"), "a file is needed"),
        (("-o", tmp_path / "no" / "o.csv"), "there is no folder"),
    ):
        ran = rfod("repair", orders, *options, width=500)
        assert ran.code in (1, 2), options
        assert message in ran.err
    ran = rfod("repair", "-", "-o", tmp_path / "o.csv", width=500)
    assert ran.code == 2
    assert "stdin cannot be repaired" in ran.err
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    ran = rfod("repair", orders, "-o", tmp_path / "o.csv", "--done", tmp_path / "bad.csv", *FAST, width=500)
    assert ran.code == 1
    assert "is no change log" in ran.err
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("text", ["a\u2028b", "a\x85b", "a\r\nb", "a\rb", 'a\nb,"c"', "x" * 200_000])
def test_a_log_is_read_as_it_was_written(text: str, ending: str, tmp_path: Path) -> None:
    path, schema = tmp_path / f"log.{ending}", changes_schema(None)
    lines = [
        {"row": row, "line": row + 2, "column": f"c {text}", "before": text, "after": None, "why": text}
        for row in range(2)
    ]
    with open_sink(str(path), schema) as write:
        write(pa.Table.from_pylist(lines, schema))
    found = [(change.row, change.line, change.column, change.before, change.after) for change in read_log(str(path))]
    assert found == [(row, row + 2, f"c {text}", text, None) for row in range(2)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("log.csv", 'row,line,column,before,after\n1,2,a,"b\n",c\n2,two,a,b,c\n', "log.csv, line 4: 'line' is 'two'"),
        ("log.csv", "row,line,column,before,after\n1.5,,a,b,c\n", "log.csv, line 2: 'row' is '1.5'"),
        ("log.csv", f"row,line,column,before,after\n{'9' * 5000},,a,b,c\n", "line 2: 'row' is '999"),
        ("log.csv", "row,line,column,before,after\n1,2,a\n", "is no change log (line 2 lacks one of"),
        ("log.jsonl", '\n{"row": "x", "line": 1, "column": "a", "before": "b", "after": "c"}\n',
         "log.jsonl, line 2: 'row' is 'x', not a row number. Hint: give the log as rfod repair wrote it"),
        ("log.jsonl", "5\n", "is no change log (line 1 lacks one of"),
    ],
)  # fmt: skip
def test_a_damaged_log_is_refused_with_its_line(
    rfod: Rfod, orders: Path, name: str, content: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    ran = rfod("repair", orders, "-o", tmp_path / "o.csv", "--done", tmp_path / name, *FAST, width=500)
    assert ran.code == 1
    assert message in ran.err
    assert not (tmp_path / "o.csv").exists()


def test_a_log_may_have_passed_through_another_program(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("row,line,column,before,after\n1.0,3.0,a,b,c\n2.0,,a,,c\n", encoding="utf-8-sig")
    found = [(change.row, change.line, change.before) for change in read_log(str(path))]
    assert found == [(1, 3, "b"), (2, None, None)]
