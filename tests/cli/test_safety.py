"""Nothing is lost, nothing leaks, and no traceback is shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

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

    monkeypatch.setattr("rfod._cli.rule.Rule.flag", broken)
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


def test_columns_and_exclude(rfod: Any, orders_csv: Path) -> None:
    for options in (("--columns", "weight,price"), ("--columns", "weight", "--columns", "price")):
        assert "400 rows, 2 columns judged" in rfod("scan", orders_csv, *options, *FEW).err
    assert "400 rows, 3 columns judged" in rfod("scan", orders_csv, "--exclude", "days", *FEW).err
    ran = rfod("scan", orders_csv, "--exclude", "dais", *FEW)
    assert (ran.code, "There is no column 'dais' to exclude. Hint: did you mean 'days'?" in ran.err) == (1, True)


def test_a_number_with_two_signs(rfod: Any, tmp_path: Path) -> None:
    lines = ["a,b", *(f"{i % 9 / 7:.3f},{i % 9}" for i in range(50)), "--0.165,5"]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    ran = rfod("scan", tmp_path / "t.csv", *FEW)
    assert ran.code == 0, ran.err
    assert "'--0.165' (line 52)" in ran.err
