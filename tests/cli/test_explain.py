"""`rfod explain`."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

from rfod import Decisions


def test_row(rfod: Any, model: Path, orders_csv: Path) -> None:
    ran = rfod("explain", model, orders_csv, "--row", "123", "-j", "1", width=300)
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0].startswith("Line 125, row 123, score ")
    assert any(line.startswith("- price is ") and "; expected " in line for line in lines[1:])
    assert f"{orders_csv}: 1 of 400 rows explained." in ran.err


def test_key(rfod: Any, model: Path, orders_csv: Path) -> None:
    ran = rfod("explain", model, orders_csv, "--key", "order_id=A00123", "--key", "order_id=A00007", "-q")
    assert (ran.code, ran.err) == (0, "")
    assert "Line 125, row 123 (order_id A00123), score " in ran.out
    assert "Line 9, row 7 (order_id A00007), score " in ran.out


@pytest.fixture(scope="module")
def timed_csv(orders_csv: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Orders with the time of each; that of row 123 is 2024-01-06 03:30."""
    rows = pyarrow.csv.read_csv(orders_csv)
    start = dt.datetime(2024, 1, 1, 0, 30)
    times = [f"{start + dt.timedelta(hours=row):%Y-%m-%d %H:%M}" for row in range(rows.num_rows)]
    path = tmp_path_factory.mktemp("timed") / "timed.csv"
    pyarrow.csv.write_csv(rows.append_column("ts", pa.array(times)), path)
    return path


@pytest.mark.parametrize("time", ["2024-01-06 03:30", "2024-01-06 03:30:00"])
def test_a_time_is_a_key_as_written_and_as_shown(rfod: Any, model: Path, timed_csv: Path, time: str) -> None:
    ran = rfod("explain", model, timed_csv, "--key", f"ts={time}", "-q", "-j", "1")
    assert ran.code == 0, ran.err
    assert "Line 125, row 123 (ts 2024-01-06 03:30:00), score " in ran.out
    kept = timed_csv.with_name(f"{len(time)}.jsonl")
    ran = rfod("decide", timed_csv, "--key", "ts", "--row", time, "-c", "price", "--fine", "--decisions", kept)
    assert ran.code == 0, ran.err
    assert next(iter(Decisions.read(kept))).key == ("ts", "2024-01-06 03:30:00")


def test_the_worst_rows_as_json(rfod: Any, model: Path, orders_csv: Path) -> None:
    ran = rfod("explain", model, orders_csv, "--json", "--top", "2", "--cells", "1", "-q")
    told = json.loads(ran.out)
    assert told["source"] == str(orders_csv)
    assert told["rows"][0]["row"] == 123
    assert len(told["rows"]) == 2
    assert [len(row["cells"]) for row in told["rows"]] == [1, 1]
    assert told["rows"][0]["cells"][0]["column"] == "price"
    picked = json.loads(rfod("explain", model, orders_csv, "--json", "--row", "123", "--cells", "1", "-q").out)
    assert picked["rows"][0] == told["rows"][0]


def test_what_is_not_there(rfod: Any, model: Path, orders_csv: Path) -> None:
    for arguments, code, message in (
        (("--row", "400"), 1, "there is no row 400. Hint: rows are numbered from 0 to 399."),
        (("--key", "order_id=B1"), 1, "no row has order_id = B1."),
        (
            ("--key", "order_ib=A00001"),
            1,
            "There is no column 'order_ib' to use as key. Hint: did you mean 'order_id'?",
        ),
        (("--key", "A00001"), 2, "'A00001' is not COLUMN=VALUE."),
        (("--row", "1", "--top", "2"), 2, "give rows, or --top."),
    ):
        ran = rfod("explain", model, orders_csv, *arguments, width=200)
        assert (ran.code, ran.out) == (code, ""), ran.err
        assert message in ran.err
