"""`rfod decide` one cell at a time, and --decisions of the other commands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from rfod import Decision, Decisions
from rfod._io import columnar

WRONG = 123  # the row of orders.csv with a wrong price


@pytest.fixture
def table(orders_csv: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(orders_csv, tmp_path / "orders.csv"))


@pytest.fixture
def file(table: Path) -> Path:
    return table.with_name("orders.decisions.jsonl")


def test_a_decision_is_appended(rfod: Any, table: Path, file: Path) -> None:
    before = table.read_bytes()
    ran = rfod(
        "decide", table, "--key", "order_id", "--row", "A00123", "-c", "price", "--replace", "12.5", "--note", "n"
    )
    assert (ran.code, ran.out) == (0, "")
    assert "orders.decisions.jsonl: order_id A00123 (line 125): price" in ran.err.replace("\n", "")
    ran = rfod("decide", table, "--row", "7", "--column", "service", "--blank", width=500)
    assert (ran.code, "orders.decisions.jsonl: line 9 (row 7): service '" in ran.err) == (0, True)
    assert rfod("decide", table, "--line", "9", "--column", "days", "--fine").code == 0
    assert (
        rfod("decide", table, "--column", "price", "--fine", "--wherever", "weight > 29 and service = express").code
        == 0
    )
    replace, blank, fine, wherever = Decisions.read(file)
    assert (replace.kind, replace.key, replace.value, replace.note) == ("replace", ("order_id", "A00123"), "12.5", "n")
    assert replace.version
    assert (blank.kind, blank.key, blank.row is None) == ("blank", None, False)
    assert (fine.row, fine.column) == (blank.row, "days")  # line 9 is row 7
    assert wherever.wherever == "weight > 29 and service = express"
    assert table.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--row", "3", "-c", "price"], 2, "give one of --replace, --blank and --fine, or --review"),
        (["--row", "3", "-c", "price", "--fine", "--blank"], 2, "give one of --replace"),
        (["--row", "3", "--fine"], 2, "name the column of the cell"),
        (["-c", "price", "--fine"], 2, "give --row KEY or --line N"),
        (["-c", "price", "--row", "3", "--line", "3", "--fine"], 2, "give --row KEY or --line N"),
        (["-c", "price", "--row", "3", "--blank", "--wherever", "price > 3"], 2, "it belongs to --fine"),
        (["--review", "--row", "3"], 2, "the review asks for rows"),
        (["-c", "prise", "--row", "3", "--fine"], 1, "did you mean 'price'?"),
        (["-c", "price", "--row", "A1", "--fine"], 1, "there is no row 'A1'; rows are numbered from 0 to 399"),
        (["-c", "price", "--row", "400", "--fine"], 1, "there is no row '400'"),
        (["-c", "price", "--line", "900", "--fine"], 1, "no row begins on line 900"),
        (["-c", "price", "--key", "order_id", "--row", "B1", "--fine"], 1, "no row has order_id = B1"),
        (["-c", "price", "--key", "service", "--row", "express", "--fine"], 1, "rows have service = express"),
        (["-c", "price", "--row", "3", "--replace", "much"], 1, "'much' is no number"),
        (["-c", "price", "--row", "3", "--replace", " "], 2, "The new value is empty"),
        (["-c", "price", "--fine", "--wherever", "weight >"], 1, "a value is expected"),
        (["-c", "price", "--fine", "--wherever", "weight > 900"], 1, "holds for no row"),
        (["-c", "price", "--row", "3", "--fine", "--wherever", "order_id = A00004"], 1, "does not hold for this row"),
    ],
)
def test_what_is_refused(rfod: Any, table: Path, file: Path, arguments: list[str], code: int, message: str) -> None:
    ran = rfod("decide", table, *arguments, width=400)
    assert (ran.code, message in ran.err) == (code, True), ran.err
    assert not file.exists()


def test_places_without_a_file_beside_them(rfod: Any, table: Path, tmp_path: Path) -> None:
    ran = rfod("decide", str(table.parent / "*.csv"), "--row", "3", "-c", "price", "--fine")
    assert (ran.code, "name the file to keep decisions in" in ran.err) == (2, True)
    kept = tmp_path / "kept.jsonl"
    assert rfod("decide", table.parent / "*.csv", "--row", "3", "-c", "price", "--fine", "--decisions", kept).code == 0
    assert len(Decisions.read(kept)) == 1


def decide_price(rfod: Any, table: Path, file: Path) -> None:
    key = ("--key", "order_id", "--row", "A00123")
    assert rfod("decide", table, *key, "-c", "price", "--fine", "--decisions", file).code == 0


def test_scan(rfod: Any, table: Path, file: Path, tmp_path: Path) -> None:
    arguments = ["scan", table, "--key", "order_id", "--trees", "10", "-j", "1", "--above", "0.0005", "--json"]
    plain = json.loads(rfod(*arguments).out)
    decide_price(rfod, table, file)
    ran = rfod(*arguments, "--decisions", file, "--report", tmp_path / "report.html")
    again = json.loads(ran.out)
    assert ("price", WRONG) in {(cell["column"], cell["row"]) for cell in plain["wrong_cells"]}
    assert ("price", WRONG) not in {(cell["column"], cell["row"]) for cell in again["wrong_cells"]}
    assert again["notes"] == []


def test_what_does_not_apply_is_noted(rfod: Any, table: Path, file: Path) -> None:
    decide_price(rfod, table, file)
    table.write_text(table.read_text().replace("A00123", "A99999"))
    with file.open("a") as lines:
        lines.write('{"format": 1, "id": "')
    ran = rfod("scan", table, "--key", "order_id", "--trees", "3", "-j", "1", "--decisions", file, width=1000)
    assert ran.code == 0
    assert "note: 1 decision does not apply to this table: order_id A00123: price" in ran.err
    assert "line 2: it is cut off" in ran.err


def test_a_condition_that_cannot_be_evaluated_is_noted(
    rfod: Any, table: Path, file: Path, model: Path, tmp_path: Path
) -> None:
    Decisions(path=str(file)).add(Decision("fine", "price", wherever="service > 2024-01-02"))
    note = "note: 1 decision does not apply to this table: price is fine wherever service > 2024-01-02 (The condition"
    few = ("--trees", "3", "-j", "1")
    for command in (
        ["scan", table, *few],
        ["scan", table, "--sample-rows", "200", *few],
        ["repair", table, "-o", tmp_path / "o.csv", *few],
        ["fit", table, "-o", tmp_path / "o.rfod", *few],
        ["score", model, table, "--batch-rows", "50", "-j", "1"],
        ["explain", model, table, "--row", "3", "-j", "1"],
        ["report", model, table, "-o", tmp_path / "o.html", "-j", "1"],
    ):
        ran = rfod(*command, "--decisions", file, width=1000)
        assert (ran.code, ran.err.count(note)) == (0, 1), ran.err
    assert rfod("decide", table, "-c", "days", "--row", "3", "--fine").code == 0


def test_damaged_files_are_errors(rfod: Any, table: Path, file: Path, model: Path) -> None:
    file.write_text("nothing\n")
    for command in (
        ["scan", table],
        ["explain", model, table],
        ["score", model, table],
        ["fit", table, "-o", "x.rfod"],
    ):
        ran = rfod(*command, "--decisions", file, width=1000)
        assert ran.code == 1
        assert "orders.decisions.jsonl, line 1: 'nothing' is not a decision" in ran.err


def test_a_scan_in_batches(rfod: Any, table: Path, file: Path, tmp_path: Path) -> None:
    decide_price(rfod, table, file)
    assert rfod("decide", table, "--row", "8", "-c", "service", "--replace", "courier", "--decisions", file).code == 0
    arguments = ["scan", table, "--sample-rows", "200", "--trees", "10", "-j", "1", "--cells", "--above", "0.001", "-q"]
    assert rfod(*arguments, "-o", tmp_path / "plain.csv").code == 0
    ran = rfod(*arguments, "-o", tmp_path / "again.csv", "--decisions", file)
    assert (ran.code, ran.err) == (0, "")
    plain, again = (
        {(line["row"], line["column"]) for line in pyarrow.csv.read_csv(tmp_path / name).to_pylist()}
        for name in ("plain.csv", "again.csv")
    )
    assert (WRONG, "price") in plain
    assert (WRONG, "price") not in again
    assert (8, "service") not in again


def test_score(rfod: Any, table: Path, file: Path, model: Path) -> None:
    arguments = ["score", model, table, "--key", "order_id", "--batch-rows", "50", "-j", "1", "--json"]
    plain = json.loads(rfod(*arguments).out)
    decide_price(rfod, table, file)
    ran = rfod(*arguments, "--decisions", file, "--fail-above", "0", "--fail-above-cells", "0")
    again = json.loads(ran.out)
    assert WRONG in {finding["row"] for finding in plain["findings"]}
    assert WRONG not in {finding["row"] for finding in again["findings"]}
    assert rfod(*arguments, "--fail-above", "0").code == 3
    assert (ran.code, again["n_wrong"], again["n_flagged"]) == (0, 0, 0)
    twice = pa.concat_tables([pyarrow.csv.read_csv(table)] * 2)  # the same row in two batches
    pyarrow.csv.write_csv(twice, table)
    ran = rfod(*arguments, "--decisions", file, width=1000)
    assert "2 rows match, numbers 123, 523 from 0" in ran.err
    assert WRONG in {finding["row"] for finding in json.loads(ran.out)["findings"]}


def test_score_on_an_engine(
    rfod: Any, table: Path, file: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar, "PART_ROWS", 20)
    decide_price(rfod, table, file)
    orders, folder = pyarrow.csv.read_csv(table), tmp_path / "orders"
    folder.mkdir()
    for number, (start, stop) in enumerate(
        [(0, 100), (100, 400)]
    ):  # the decided row is in the second part of the second
        pq.write_table(orders.slice(start, stop - start), folder / f"{number}.parquet", row_group_size=20)
    arguments = ("score", model, folder, "--key", "order_id", "-j", "1", "-q")
    on_engine = (*arguments, "--engine", "local", "-o", tmp_path / "out", "--cells", "--fail-above", "0")
    decided = ("--decisions", file)
    assert rfod("decide", table, "--row", "300", "-c", "service", "--blank", *decided).code == 0  # by fingerprint
    assert rfod("decide", table, "-c", "price", "--fine", "--wherever", "weight > 29", *decided).code == 0
    assert rfod(*arguments, "-o", tmp_path / "rows.parquet", *decided).code == 0
    assert rfod(*on_engine, *decided).code == 0
    rows = pq.read_table(tmp_path / "rows.parquet")
    parts = ds.dataset(tmp_path / "out", format="parquet").to_table().sort_by("key")
    for name in ("key", "score", "p_value"):
        assert parts[name].to_pylist() == rows[name].to_pylist()
    assert "price" not in {cell["column"] for cell in parts["cells"][WRONG].as_py()}
    assert len(list((tmp_path / "out").glob("*.parquet"))) > 10
    assert rfod(*on_engine, *decided, "--row-probability").code == 1
    assert rfod(*on_engine, *decided).code == 0  # again, from the parts that are there
    ran = rfod(*on_engine)
    assert (ran.code, "scores with other options" in ran.err) == (1, True)
    assert rfod("decide", table, "--row", "3", "-c", "days", "--fine", *decided).code == 0
    ran = rfod(*on_engine, *decided)
    assert (ran.code, "--decisions" in ran.err) == (1, True)
    assert rfod(*on_engine[:-4], tmp_path / "plain", "--fail-above", "0").code == 3


def test_score_reads_files_only(rfod: Any, file: Path, table: Path, model: Path) -> None:
    decide_price(rfod, table, file)
    ran = rfod("score", model, "-", "--decisions", file)
    assert (ran.code, "read twice, not stdin" in ran.err.replace("\n", "")) == (2, True)


def test_explain_and_report(rfod: Any, table: Path, file: Path, model: Path, tmp_path: Path) -> None:
    decide_price(rfod, table, file)
    ran = rfod("explain", model, table, "--row", WRONG, "--decisions", file, "-q", "-j", "1")
    assert "price is" not in ran.out
    ran = rfod("report", model, table, "-o", tmp_path / "r.html", "--decisions", file, "-j", "1", width=1000)
    assert ": 0 of 400 rows" in ran.err


def test_fit(rfod: Any, table: Path, file: Path, tmp_path: Path) -> None:
    decide = ["decide", table, "--key", "order_id", "--decisions", file, "-c", "service"]
    assert rfod(*decide, "--row", "A00007", "--replace", "courier").code == 0
    arguments = ["fit", table, "--trees", "2", "-j", "1", "--key", "order_id", "-q", "-o", tmp_path / "m.rfod"]
    assert rfod(*arguments, "--decisions", file).code == 0
    columns = json.loads(rfod("inspect", tmp_path / "m.rfod", "--json").out)["columns"]
    assert next(column for column in columns if column["name"] == "service")["n_distinct"] == 3
    ran = rfod(*arguments[:-3], "-o", tmp_path / "m.rfod", "--decisions", file, "--sample-rows", "100", width=1000)
    assert ran.code == 0
