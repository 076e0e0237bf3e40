"""`rfod explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_row(rfod: Any, model: Path, orders_csv: Path) -> None:
    ran = rfod("explain", model, orders_csv, "--row", "123", "-j", "1", width=300)
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0].startswith("Row 123, score ")
    assert any(line.startswith("- price is ") and "; expected " in line for line in lines[1:])
    assert f"{orders_csv}: 1 of 400 rows explained." in ran.err


def test_key(rfod: Any, model: Path, orders_csv: Path) -> None:
    ran = rfod("explain", model, orders_csv, "--key", "order_id=A00123", "--key", "order_id=A00007", "-q")
    assert (ran.code, ran.err) == (0, "")
    assert "Row 123 (order_id A00123), score " in ran.out
    assert "Row 7 (order_id A00007), score " in ran.out


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
