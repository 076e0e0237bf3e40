"""The commands, from arguments to exit codes."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from rfod import load

ROWS = ["row", "line", "score", "p_value", "flagged", "cells", "fingerprint"]
CELLS = [
    "row",
    "line",
    "column",
    "observed",
    "expected",
    "score",
    "weight",
    "p_value",
    "surprise",
    "kind",
    "suggestion",
]
FEW = ("--trees", "10", "--jobs", "1")


def test_quiet(rfod: Any, orders_csv: Path, tmp_path: Path) -> None:
    ran = rfod("scan", orders_csv, "-q", "-o", tmp_path / "out.csv", *FEW)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert (tmp_path / "out.csv").exists()


def test_fail_above(rfod: Any, model: Path, orders_csv: Path) -> None:
    assert rfod("score", model, orders_csv, "--top", "8", "--fail-above", "0.02", "-q").code == 0
    assert rfod("score", model, orders_csv, "--top", "9", "--fail-above", "0.02", "-q").code == 3


def test_fail_above_cells(rfod: Any, model: Path, orders_csv: Path) -> None:
    found = load(model).detect(pyarrow.csv.read_csv(orders_csv).drop_columns("order_id"))
    n_wrong = int((found.cell_probability >= 0.9).sum())
    for batch_rows in (400, 37):
        ran = rfod("score", model, orders_csv, "--fail-above-cells", n_wrong, "--batch-rows", batch_rows)
        assert ran.code == 0, ran.err
        assert f"wrong cells: {n_wrong:,}" in ran.err
    if n_wrong:
        assert rfod("score", model, orders_csv, "--fail-above-cells", n_wrong - 1, "-q").code == 3


def test_fit_score_inspect(rfod: Any, orders_csv: Path, tmp_path: Path) -> None:
    model = tmp_path / "orders.rfod"
    ran = rfod("fit", orders_csv, "-o", model, "--key", "order_id", "--sample-rows", "300", *FEW)
    assert ran.code == 0, ran.err
    assert "a uniform sample of 300 of 400 rows is fitted" in ran.err
    assert load(model).model_.schema.n_rows == 300
    shown = rfod("inspect", model, width=160)
    assert shown.code == 0, shown.err
    assert "400 rows, of which 300 were fitted" in shown.out
    assert "left out    order_id (identifier)" in shown.out
    assert any(line.startswith("price") and "weight" in line and "R²" in line for line in shown.out.splitlines())
    told = json.loads(rfod("inspect", model, "--json").out)
    service = next(column for column in told["columns"] if column["name"] == "service")
    assert sum(service["facts"]["counts"].values()) == 400
    ran = rfod("score", model, orders_csv, "--key", "order_id", "--top", "1")
    assert "A00123" in ran.out


def test_inspect_reads_addresses(rfod: Any, model: Path) -> None:
    plain, ran = rfod("inspect", model, "--json"), rfod("inspect", f"file://{model}", "--json")
    assert (ran.code, ran.out) == (0, plain.out), ran.err
    missing = f"file://{model}.no"
    assert f"{missing}: there is no such model file" in rfod("inspect", missing, width=500).err


def test_fit_with_a_limit_on_predictors(rfod: Any, orders_csv: Path, tmp_path: Path) -> None:
    model = tmp_path / "orders.rfod"

    def fitted(*options: object) -> dict[str, Any]:
        ran = rfod("fit", orders_csv, "-o", model, "--key", "order_id", "--trees", "4", "--no-evidence", *options)
        assert ran.code == 0, ran.err
        return json.loads(rfod("inspect", model, "--json").out)

    told = fitted("--max-predictors", 2)
    n_others = len(told["columns"]) - 1
    assert {column["n_predictors"] for column in told["columns"]} == {2}
    assert told["params"]["max_predictors"] == 2
    assert f"of each column 2 of the {n_others} others" in rfod("inspect", model, width=160).out
    for options in ((), ("--as-published",), ("--as-published", "--max-predictors", 0)):
        assert {column["n_predictors"] for column in fitted(*options)["columns"]} == {n_others}
        assert "of each column" not in rfod("inspect", model, width=160).out
    assert load(model).max_predictors is None
    assert {column["n_predictors"] for column in fitted("--as-published", "--max-predictors", 3)["columns"]} == {3}


def test_score_is_the_library_whatever_the_batches(rfod: Any, model: Path, orders_csv: Path, tmp_path: Path) -> None:
    table = pyarrow.csv.read_csv(orders_csv)
    found = load(model).detect(table)
    for rule, options in (
        ({}, ()),
        ({"top": 7}, ("--top", "7")),
        ({"contamination": 0.05}, ("--contamination", "0.05")),
    ):
        target = tmp_path / "rows.parquet"
        ran = rfod("score", model, orders_csv, "-o", target, "--batch-rows", "37", *options)
        assert ran.code == 0, ran.err
        written = pq.read_table(target)
        assert written.column_names == ROWS
        assert np.array_equal(written.column("score").to_numpy(), found.row_scores)
        flagged = found.flag(**rule)
        assert np.array_equal(written.column("flagged").to_numpy(), flagged)
        assert written.column("row").to_pylist() == list(range(400))
        assert written.column("line").to_pylist() == list(range(2, 402))
        told = written.column("cells").is_valid().to_numpy()
        assert np.array_equal(told, flagged)
        assert f"{flagged.sum()} flagged" in ran.err
        rfod("score", model, orders_csv, "-o", target, "--cells", "--batch-rows", "37", *options)
        cells = pq.read_table(target)
        assert cells.column_names == [*CELLS, "probability", "suggested", "fingerprint"]
        assert sorted(set(cells.column("row").to_pylist())) == np.flatnonzero(flagged).tolist()


def test_row_probability_is_that_of_the_library(rfod: Any, model: Path, orders_csv: Path, tmp_path: Path) -> None:
    table = pyarrow.csv.read_csv(orders_csv)
    found = load(model).detect(table)
    target = tmp_path / "rows.parquet"
    command = ("score", model, orders_csv, "-o", target, "--row-probability", "--batch-rows", "37")
    for rule, options in (
        ({}, ()),
        ({"top": 7}, ("--top", "7")),
        ({"contamination": 0.05}, ("--contamination", "0.05")),
    ):
        assert rfod(*command, *options).code == 0
        written = pq.read_table(target)
        assert written.column_names == [*ROWS, "row_probability"]
        assert np.array_equal(written.column("row_probability").to_numpy(), found.row_probability)
        assert np.array_equal(written.column("flagged").to_numpy(), found.flag(**rule))
        assert rfod(*command, *options, "--cells").code == 0
        cells = pq.read_table(target)
        assert cells.column_names[-2:] == ["fingerprint", "row_probability"]
        rows = cells.column("row").to_numpy()
        assert np.array_equal(np.unique(rows), np.flatnonzero(found.flag(**rule)))
        assert np.array_equal(cells.column("row_probability").to_numpy(), found.row_probability[rows])
    assert len(np.unique(found.row_probability)) > 2


def test_row_probability_of_several_tables(rfod: Any, model: Path, orders_csv: Path, tmp_path: Path) -> None:
    """The files of a folder are one table, those of a pattern several; fewer than 100 rows are judged one by one."""
    table, folder = pyarrow.csv.read_csv(orders_csv), tmp_path / "orders"
    parts = [table.slice(0, 60), table.slice(60, 200), table.slice(260)]
    folder.mkdir()
    for number, part in enumerate(parts):
        pq.write_table(part, folder / f"{number}.parquet")
    options = ("-o", tmp_path / "out.parquet", "--row-probability", "--batch-rows", "50", "-q")
    assert rfod("score", model, folder, *options).code == 0
    whole = pq.read_table(tmp_path / "out.parquet")["row_probability"].to_numpy()
    assert np.array_equal(whole, load(model).detect(table).row_probability)
    assert rfod("score", model, f"{folder}/*.parquet", "-o", tmp_path / "out/", *options[2:]).code == 0
    for number, part in enumerate(parts):
        alone = pq.read_table(tmp_path / f"out/{number}.parquet")["row_probability"].to_numpy()
        assert np.array_equal(alone, load(model).detect(part).row_probability)
    ran = rfod("score", model, folder / "0.parquet", "-o", "-", *options[2:])
    printed = pyarrow.csv.read_csv(io.BytesIO(ran.out.encode()))["row_probability"].to_numpy()
    np.testing.assert_allclose(printed, load(model).detect(parts[0]).row_probability, rtol=1e-12)
    ran = rfod("score", model, folder, "--row-probability")
    assert (ran.code, "it is a column of the output. Hint: add -o FILE." in ran.err) == (2, True)


def test_row_probability_by_the_share_of_the_fit(rfod: Any, orders_csv: Path, tmp_path: Path) -> None:
    from rfod import RFOD

    table, model, target = pyarrow.csv.read_csv(orders_csv), tmp_path / "m.rfod", tmp_path / "rows.parquet"
    detector = RFOD(6, random_state=0, contamination=0.2, n_jobs=1, column_types={"order_id": "ignore"}).fit(table)
    detector.save(model)
    assert rfod("score", model, orders_csv, "-o", target, "--row-probability", "--batch-rows", "37").code == 0
    found = detector.detect(table).row_probability_given(0.2)
    assert np.array_equal(pq.read_table(target)["row_probability"].to_numpy(), found)


def test_score_several_tables_into_a_folder(rfod: Any, model: Path, orders_csv: Path, tmp_path: Path) -> None:
    table = pyarrow.csv.read_csv(orders_csv)
    for number in range(2):
        pq.write_table(table, tmp_path / f"part{number}.parquet")
    ran = rfod("score", model, tmp_path / "*.parquet", "-o", tmp_path / "scores", "-q")
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in (tmp_path / "scores").iterdir()) == ["part0.parquet", "part1.parquet"]
    ran = rfod("score", model, tmp_path / "*.parquet", "-o", "-")
    assert ran.code == 1
    assert "stdout takes one table" in ran.err


def test_equal_names_in_two_folders(rfod: Any, model: Path, orders_csv: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(orders_csv, tmp_path / name / "orders.csv")
    assert rfod("score", model, tmp_path / "*/orders.csv", "-o", tmp_path / "out/").code == 0
    assert sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.parquet")) == [
        "a/orders.parquet",
        "b/orders.parquet",
    ]


def test_fit_and_score_on_an_engine(rfod: Any, orders_csv: Path, tmp_path: Path) -> None:
    pq.write_table(pyarrow.csv.read_csv(orders_csv), tmp_path / "orders.parquet")
    model, kept = tmp_path / "m.rfod", tmp_path / "kept"
    fitted = rfod("fit", tmp_path / "orders.parquet", "-o", model, "--trees", 6, "--checkpoint", kept)
    assert fitted.code == 0
    assert (kept / "job.json").is_file()
    first = model.read_bytes()
    assert rfod("fit", tmp_path / "orders.parquet", "-o", model, "--trees", 6).code == 0
    assert model.read_bytes() == first
    arguments = ("score", model, tmp_path / "orders.parquet", "-o", tmp_path / "out", "--engine", "local", "--top", 4)
    ran = rfod(*arguments, "--json", "--fail-above", 0.001)
    assert ran.code == 3
    assert json.loads(ran.out)["n_flagged"] == 4
    assert "400 rows judged; 4 flagged" in ran.err
    assert rfod(*arguments, "--cells").code == 1
    refused = rfod(*arguments, "--row-probability")
    assert (refused.code, "scores with other options" in refused.err) == (1, True)
    assert rfod(*arguments[:4], tmp_path / "chances", *arguments[5:], "--row-probability").code == 0
    written = ds.dataset(tmp_path / "chances", format="parquet").to_table()["row_probability"].to_numpy()
    assert np.array_equal(written, load(model).detect(pq.read_table(tmp_path / "orders.parquet")).row_probability)
    assert rfod("fit", orders_csv, "-o", model, "--checkpoint", kept).code == 1
    assert rfod("score", model, orders_csv, "--engine", "local").code == 2
    for option, value in (("--baseline", orders_csv), ("--fail-above-cells", 3)):
        ran = rfod(*arguments, option, value, width=1000)
        assert (ran.code, "Hint: leave out --engine" in ran.err) == (2, True)
    assert "write the table as Parquet" in rfod(*arguments[:2], orders_csv, "-o", kept, "--engine", "local").err


def test_from_stdin_to_stdout(rfod: Any, model: Path, orders_csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(orders_csv.read_bytes())))
    ran = rfod("score", model, "-", "-o", "-", "--contamination", "0.01")
    assert ran.code == 0, ran.err
    written = pyarrow.csv.read_csv(io.BytesIO(ran.out.encode()))
    assert written.column_names == ROWS
    assert written.num_rows == 400


def test_query(rfod: Any, orders_csv: Path, tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_sqlite", reason="the drivers of rfod[sql] are not installed")
    rows = [tuple(row.values()) for row in pyarrow.csv.read_csv(orders_csv).to_pylist()]
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute("create table orders (order_id text, weight real, service text, price real, days integer)")
    connection.executemany("insert into orders values (?, ?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    database = f"sqlite:///{tmp_path}/shop.db"
    ran = rfod("scan", "--sql", "select * from orders", "--db", database, "--key", "order_id", "--top", "1", *FEW)
    assert ran.code == 0, ran.err
    assert "A00123" in ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["scan", "none.csv"], 1, "error: none.csv: there is no such file."),
        (["scan"], 2, "name one table"),
        (["scan", "{csv}", "--fdr", "0.1"], 2, "no rate holds in a scan"),
        (["scan", "{csv}", "--fail-above", "0.1"], 2, "Hint: --fail-above-cells N counts wrong cells"),
        (["scan", "{csv}", "--above", "2"], 2, "above 0 and at most 1"),
        (["scan", "{csv}", "--type", "price"], 2, "is not COLUMN=KIND"),
        (["scan", "{csv}", "--type", "prise=numeric"], 1, "did you mean 'price' for 'prise'?"),
        (["scan", "{csv}", "--key", "order"], 1, "no column 'order' to use as key. Hint: did you mean 'order_id'?"),
        (["scan", "{csv}", "-o", "out.xlsx"], 1, "Hint: .csv, .parquet or .jsonl."),
        (["scan", "{csv}", "--alpha", "0.7"], 2, "alpha is 0.7; it must be"),
        (["scan", "{csv}", "--sql", "select 1"], 2, "belong together"),
        (["score", "none.rfod", "{csv}"], 1, "there is no such model file. Hint: rfod fit"),
        (["score", "{csv}", "{csv}"], 1, "is no model file. Hint: the model comes first"),
        (["inspect", "{csv}"], 1, "is no model file. Hint: rfod fit TABLE -o MODEL writes one."),
        (["scan", "{csv}", "--decisions", "none.jsonl"], 1, "none.jsonl: there is no such file. Hint: rfod decide"),
        (["repair", "{csv}", "-o", "o.csv", "--done", "no.csv"], 1, "no.csv: there is no such change log. Hint: rfod"),
        (["fit", "{csv}"], 2, "-o"),
        (["nothing"], 2, "No such command"),
    ],
)
def test_errors(rfod: Any, orders_csv: Path, arguments: list[str], code: int, words: str) -> None:
    ran = rfod(*(argument.format(csv=orders_csv) for argument in arguments))
    assert ran.code == code, ran.err
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""
    if code == 1:
        assert ran.err.count("\n") == 1
        assert ran.err.startswith("error: ")


def test_a_model_and_a_table_that_do_not_fit(rfod: Any, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("weigth,service,price,days\n1,express,2,3\n")
    ran = rfod("score", model, path)
    assert ran.code == 1
    assert "new.csv: The table lacks 1 of the 4 columns" in ran.err
    assert "did you mean 'weigth' for 'weight'?" in ran.err
    path.write_text("weight,service,price,days\nheavy,express,2,3\nlight,express,2,3\n")
    ran = rfod("score", model, path)
    assert ran.code == 1
    assert "new.csv, line 2, column 'weight': 'heavy' is no number" in ran.err


def test_what_a_terminal_shows_is_harmless(rfod: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = "".join(f"{n % 7},{n % 7 * 2},k{n % 2}\n" for n in range(200))
    path.write_text(f"[red]a[/red],\x1b[31mb,c\n{rows}3,6,\x1b]0;owned\x07\n")
    ran = rfod("scan", path, "--top", "3", *FEW)
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.out + ran.err
    assert "\x07" not in ran.out + ran.err


def program(*arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "rfod", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_run_leaves_the_old_output(model: Path, tmp_path: Path, number: signal.Signals) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")
    run = program("score", model, "-", "-o", target, "--contamination", "0.01")
    assert run.stdin is not None
    run.stdin.write(b"weight,service,price,days\n" + b"2.0,express,18.0,1\n" * 1_500_000)
    run.stdin.flush()
    limit = time.monotonic() + 120
    while not list(tmp_path.glob(".out.csv.*.tmp")) and run.poll() is None and time.monotonic() < limit:
        time.sleep(0.05)
    assert run.poll() is None, run.stderr
    os.kill(run.pid, number)
    _, err = run.communicate(timeout=60)
    assert run.returncode != 0
    assert b"Traceback" not in err
    assert target.read_text() == "old"
    if number != signal.SIGKILL:
        assert (run.returncode, err.decode()) == (130, "error: interrupted; no file is half written.\n")
        assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_an_interrupted_run_says_no_more_than_is_true(
    rfod: Any, orders_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rfod._views.page.write_page", stopped)
    ran = rfod("scan", orders_csv, "-o", tmp_path / "o.csv", "--report", tmp_path / "r.html", "--top", "0", *FEW)
    assert (ran.code, [path.name for path in tmp_path.iterdir()]) == (130, ["o.csv"])
    assert "error: interrupted; no file is half written." in ran.err


@pytest.mark.slow
def test_a_reader_that_leaves(model: Path, orders_csv: Path) -> None:
    run = program("score", model, orders_csv, "-o", "-", "-q")
    assert run.stdout is not None
    run.stdout.close()
    run.stdout = None
    _, err = run.communicate(timeout=120)
    assert b"Traceback" not in err


def test_check_counts_known_errors(rfod: Any, model: Path, orders_csv: Path, tmp_path: Path) -> None:
    ran = rfod("check", model, orders_csv, "--kind", "swap", "--kind", "blank", width=100)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("Share of 160 known errors found at a false discovery rate of 0.05")
    assert any(line.startswith("price") and "R²" in line for line in ran.out.splitlines())
    assert "all rows checked" in ran.err
    told = json.loads(rfod("check", model, orders_csv, "--kind", "swap", "--sample-rows", "100", "--json").out)
    assert told["n_rows"] == 100
    assert sum(trial["n_errors"] for trial in told["trials"]) == 20
    rfod("check", model, orders_csv, "--kind", "swap", "-q", "-o", tmp_path / "check.parquet")
    assert pq.read_table(tmp_path / "check.parquet").column_names[:3] == ["column", "kind", "n_errors"]
    assert rfod("check", model, orders_csv, "--kind", "swop").code == 2
    assert rfod("check", model, orders_csv, "--share", "0").code == 2
