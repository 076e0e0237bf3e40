"""`rfod report` and `rfod scan --report`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

FEW = ("--trees", "10", "--jobs", "1")


def data_of(path: Path) -> dict[str, Any]:
    page = path.read_text(encoding="utf-8")
    return json.loads(re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)[0])


def test_scan_with_a_report(rfod: Any, orders_csv: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    ran = rfod("scan", orders_csv, "--key", "order_id", "--top", "4", "--report", path, *FEW)
    assert ran.code == 0, ran.err
    assert "A00123" in ran.out
    told = data_of(path)
    assert told["title"] == orders_csv.name
    assert told["key"] == "order_id"
    assert told["findings"]["key"][0] == "A00123"
    assert told["findings"]["line"][0] == 125


def test_report_of_a_model(rfod: Any, model: Path, orders_csv: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    ran = rfod("report", model, orders_csv, "-o", path, "--top", "3")
    assert (ran.code, ran.out) == (0, ""), ran.err
    assert f"{path}: 3 of 400 rows of {orders_csv} flagged (the 3 highest scores)." in ran.err
    told = data_of(path)
    assert told["findings"]["line"][0] == 125
    assert told["rule"] == "the 3 highest scores"


def test_redact(rfod: Any, orders_csv: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    redact = ("--redact", "service", "--redact", "order_id")
    ran = rfod("scan", orders_csv, "--key", "order_id", "--top", "9", "--report", path, "-q", *redact, *FEW)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    text = path.read_text(encoding="utf-8")
    assert "A00123" not in text
    assert "express" not in text
    assert data_of(path)["hidden"] == ["order_id", "service"]


@pytest.mark.parametrize("command", ["scan", "report"])
def test_wrong_names_fail_before_the_work(
    rfod: Any, model: Path, orders_csv: Path, tmp_path: Path, command: str
) -> None:
    path = tmp_path / "report.html"
    arguments = ("scan", orders_csv, "--report") if command == "scan" else ("report", model, orders_csv, "-o")
    ran = rfod(*arguments, path, "--redact", "servise")
    assert ran.code == 1
    assert "no column 'servise' to redact. Hint: did you mean 'service'?" in ran.err
    ran = rfod(*arguments, tmp_path / "nowhere" / "report.html")
    assert ran.code == 1
    assert "there is no folder" in ran.err
    ran = rfod(*arguments, tmp_path / "report.pdf", width=500)
    assert ran.code == 1
    assert "a report is HTML, not '.pdf'. Hint: name a .html file" in ran.err
    assert not path.exists()


def test_redact_without_a_report(rfod: Any, orders_csv: Path) -> None:
    ran = rfod("scan", orders_csv, "--redact", "price")
    assert ran.code == 2
    assert "it belongs to --report" in ran.err
