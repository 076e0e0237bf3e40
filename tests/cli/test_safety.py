"""Nothing is lost, nothing leaks, and no traceback is shown."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from rfod._cli.console import Reporter
from rfod._io.interface import ReadOptions
from rfod._io.locations import open_source

FEW = ("--trees", "5", "--jobs", "1")


@pytest.fixture
def copied(orders_csv: Path, tmp_path: Path) -> Path:
    path = tmp_path / "orders.csv"
    path.write_bytes(orders_csv.read_bytes())
    return path


def commands(table: Path, model: Path, output: Path) -> list[tuple[object, ...]]:
    return [
        ("scan", table, "-o", output, *FEW),
        ("scan", table, "--report", output, *FEW),
        ("fit", table, "-o", output, *FEW),
        ("score", model, table, "-o", output),
        ("report", model, table, "-o", output),
        ("check", model, table, "-o", output),
    ]


@pytest.mark.parametrize("spelling", ["same", "dotted", "link", "hard link", "pattern", "folder"])
def test_an_output_that_is_the_input_is_refused(rfod: Any, copied: Path, model: Path, spelling: str) -> None:
    before = copied.read_bytes()
    table, output = copied, copied
    if spelling == "dotted":
        output = copied.parent / "." / "nowhere" / ".." / copied.name
        (copied.parent / "nowhere").mkdir()
    elif spelling == "link":
        output = copied.parent / "link.csv"
        output.symlink_to(copied)
    elif spelling == "hard link":
        output = copied.parent / "other.csv"
        output.hardlink_to(copied)
    elif spelling == "pattern":
        table = copied.parent / "*.csv"
    elif spelling == "folder":
        table = copied.parent
    for arguments in commands(table, model, output):
        ran = rfod(*arguments, width=300)
        assert ran.code == 1, arguments
        assert "is also the input. Hint: write to another file." in ran.err
        assert copied.read_bytes() == before


def test_an_output_folder_that_holds_the_input(rfod: Any, model: Path, orders_csv: Path, tmp_path: Path) -> None:
    pq.write_table(pyarrow.csv.read_csv(orders_csv), tmp_path / "orders.parquet")
    before = (tmp_path / "orders.parquet").read_bytes()
    ran = rfod("score", model, tmp_path / "orders.parquet", "-o", f"{tmp_path}/", width=300)
    assert ran.code == 1
    assert "is also the input" in ran.err
    assert (tmp_path / "orders.parquet").read_bytes() == before


def test_a_model_is_not_overwritten_by_its_own_scores(rfod: Any, copied: Path, model: Path) -> None:
    before = model.read_bytes()
    assert rfod("report", model, copied, "-o", model).code == 1
    assert model.read_bytes() == before


def test_passwords_are_not_shown(rfod: Any) -> None:
    for address in ("mysql://bob:secret@host/db", "postgresql://bob:sec:ret@127.0.0.1:1/db", "bob:secret@host"):
        ran = rfod("scan", "--sql", "select 1", "--db", address)
        assert ran.code == 1
        assert "secret" not in ran.err
        assert "sec:ret" not in ran.err


def test_formulas_are_escaped_on_demand(rfod: Any, tmp_path: Path) -> None:
    names = ["=1+1", "+2", "-x", "@sum", "plain"]
    table = pa.table(
        {"id": [names[i % 5] + ("" if i < 5 else str(i)) for i in range(60)], "a": [i % 7 for i in range(60)]}
    )
    table = table.append_column("b", pa.array([2 * (i % 7) for i in range(60)]))
    pyarrow.csv.write_csv(table, tmp_path / "t.csv")
    for options, expected in (((), names), (("--csv-safe",), ["'=1+1", "'+2", "'-x", "'@sum", "plain"])):
        ran = rfod("scan", tmp_path / "t.csv", "--key", "id", "-o", tmp_path / "out.csv", *options, *FEW)
        assert ran.code == 0, ran.err
        assert pyarrow.csv.read_csv(tmp_path / "out.csv").column("key").to_pylist()[:5] == expected


def test_a_bug_ends_with_one_line_and_a_file(
    rfod: Any, orders_csv: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("postgresql://bob:secret@host")

    monkeypatch.setattr("rfod.pipeline.scan_table", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ran = rfod("scan", orders_csv, *FEW)
    assert ran.code == 1
    assert "Traceback" not in ran.err
    message = next(line for line in ran.err.splitlines() if line.startswith("error: "))
    assert message.startswith("error: this is a bug in rfod (ZeroDivisionError).")
    path = Path(re.search(r"traceback in (\S+);", message)[1])
    written = path.read_text(encoding="utf-8")
    assert "Traceback" in written
    assert "secret" not in written
    monkeypatch.setenv("RFOD_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        rfod("scan", orders_csv, *FEW)


@pytest.mark.parametrize("name", [":warning:[final].csv", "[2024]/[/2024].csv"])
def test_names_of_files_are_no_markup(
    rfod: Any, dirty_csv: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    table = Path("[/b].csv")
    table.parent.mkdir()
    table.write_bytes(dirty_csv.read_bytes())
    few = ("--show", "1", *FEW)
    scanned = rfod("scan", table, "--cells", "-o", name, "--above", "0.2", "--top", "0", *few)
    scored = rfod("score", model, table, "-o", name, "--top", "5", "--show", "1", "-j", "1")
    for ran in (scanned, scored):
        assert ran.code == 0, ran.err
        assert f" in {name}\n" in ran.out
        assert f"{table}: 400 rows" in ran.err.replace("\n", "")
    ran = rfod("repair", table, "-o", "r.csv", "--log", name, "--repair-above", "0.1", *few)
    assert ran.code == 0, ran.err
    assert f" more in {name}\n" in ran.out


def test_names_of_files_above_a_bar(tmp_path: Path) -> None:
    path = tmp_path / "[bold]x[/2024].csv"
    path.parent.mkdir()
    path.write_text("a,b\n1,2\n")
    reporter, drawn = Reporter(False), io.StringIO()
    reporter.console = Console(file=drawn, force_terminal=True, width=200)
    source = open_source(str(path), ReadOptions())
    with reporter.bar("reading", source) as advance:
        advance(1)
    assert "[bold]x[/2024].csv" in drawn.getvalue()


def test_columns_and_exclude(rfod: Any, orders_csv: Path) -> None:
    for options in (("--columns", "weight,price"), ("--columns", "weight", "--columns", "price")):
        assert "400 rows, 2 columns judged" in rfod("scan", orders_csv, *options, *FEW).err
    assert "400 rows, 4 columns judged" in rfod("scan", orders_csv, "--exclude", "days", *FEW).err
    ran = rfod("scan", orders_csv, "--exclude", "dais", *FEW)
    assert (ran.code, "There is no column 'dais' to exclude. Hint: did you mean 'days'?" in ran.err) == (1, True)


def test_a_number_with_two_signs(rfod: Any, tmp_path: Path) -> None:
    lines = ["a,b", *(f"{i % 9 / 7:.3f},{i % 9}" for i in range(50)), "--0.165,5"]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    ran = rfod("scan", tmp_path / "t.csv", *FEW)
    assert ran.code == 0, ran.err
    assert "'--0.165' (line 52)" in ran.err


def test_one_column_or_a_header_alone(rfod: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name\n" + "\n".join("abc" * 9), encoding="utf-8")
    assert "the table has one column, 'name'. Hint: each column" in rfod("scan", tmp_path / "t.csv", *FEW).err
    (tmp_path / "t.csv").write_text("a,b\n", encoding="utf-8")
    assert "the table has no rows. Hint: a header alone" in rfod("scan", tmp_path / "t.csv", *FEW).err


def test_titles_above_the_header(rfod: Any, orders_csv: Path, tmp_path: Path) -> None:
    text = orders_csv.read_text(encoding="utf-8")
    for title, told in (
        ("Orders of May\n", "1 line before the table left out for having fewer fields: line 1."),
        ("Orders\nof, May\n\n", "line 1 to 2."),
        ("# exported today\n", "line 1."),
    ):
        (tmp_path / "t.csv").write_text(title + text, encoding="utf-8")
        ran = rfod("scan", tmp_path / "t.csv", "--key", "order_id", "--top", "1", "--trees", "20")
        assert ran.code == 0, ran.err
        assert told in ran.err
        assert ran.out.splitlines()[-1].startswith(f"1. order_id A00123 (line {125 + title.count(chr(10))}): ")


def test_strict_refuses_lines_with_another_number_of_fields(rfod: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n" + "1,2,x\n" * 9 + "1,2\n" + "3,4,y\n" * 9, encoding="utf-8")
    ran = rfod("scan", tmp_path / "t.csv", "--strict", *FEW)
    assert (ran.code, "line 11: 2 fields where the header has 3." in ran.err) == (1, True)


def test_one_file_for_two_tables_is_refused(rfod: Any, model: Path, orders_csv: Path, tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_bytes(orders_csv.read_bytes())
    ran = rfod("score", model, orders_csv, tmp_path / "b.csv", "-o", tmp_path / "both.csv")
    assert (ran.code, "is one file for 2 tables" in ran.err) == (1, True)
    assert not (tmp_path / "both.csv").exists()
    ran = rfod("score", model, orders_csv, tmp_path / "b.csv", "--top", "1")
    assert [line for line in ran.out.splitlines() if line.endswith(".csv:")] == [f"{orders_csv}:", f"{tmp_path}/b.csv:"]


def test_rows_and_json_do_not_share_stdout(rfod: Any, model: Path, orders_csv: Path) -> None:
    for command in (("scan", orders_csv), ("score", model, orders_csv)):
        ran = rfod(*command, "-o", "-", "--json")
        assert (ran.code, ran.out) == (2, "")


def test_explain_takes_the_line_that_scan_shows(rfod: Any, model: Path, orders_csv: Path) -> None:
    by_line = rfod("explain", model, orders_csv, "--line", "125", "-q").out
    assert by_line == rfod("explain", model, orders_csv, "--row", "123", "-q").out
    assert by_line.startswith("Line 125, row 123, ")
    ran = rfod("explain", model, orders_csv, "--line", "1")
    assert (ran.code, "no row begins on line 1." in ran.err) == (1, True)


def test_letters_that_the_output_cannot_show(tmp_path: Path) -> None:
    lines = ["a,b,c", *(f"{i % 7},{2 * (i % 7)},öko" for i in range(60)), "3,5000,öl"]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "rfod", "scan", tmp_path / "t.csv", "--above", "0.001", "--show", "100", *FEW],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert "\\xf6" in ran.stdout


def test_notes_on_columns_are_in_the_json(rfod: Any, orders_csv: Path) -> None:
    notes = json.loads(rfod("scan", orders_csv, "--json", "-q", *FEW).out)["notes"]
    assert any("'order_id' looks like an identifier" in note for note in notes)
    assert any("--type COLUMN=ignore" in note for note in notes)


@pytest.mark.parametrize("first", [2**53, 2**63, 2**64 - 300, 10**25])
def test_long_integers_in_text_stay_apart_or_are_named(rfod: Any, tmp_path: Path, first: int) -> None:
    accounts = [first + (7 * i) % 200 for i in range(200)]
    lines = [f"{account},{i % 9},{2 * (i % 9)}" for i, account in enumerate(accounts)]
    (tmp_path / "t.csv").write_text("\n".join(["amount,a,b", *lines]), encoding="utf-8")
    ran = rfod("scan", tmp_path / "t.csv", "--key", "amount", "-o", tmp_path / "o.parquet", *FEW)
    assert ran.code == 0, ran.err
    assert [int(key) for key in pq.read_table(tmp_path / "o.parquet").column("key").to_pylist()] == accounts
    ran = rfod("scan", tmp_path / "t.csv", *FEW)
    assert "share their float with another value" in ran.err
    assert "of 'amount'" in ran.err
