"""Files that releases wrote: later ones read them, judge to the same scores and find the same findings in them.

`tests/kept/VERSION/` is never changed. A release that writes something new gets its own (`tests/keep.py`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rfod as package
from rfod._cli.repairing import read_log
from rfod._io.interface import ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import read_all
from rfod._table.table import Table

KEPT = Path(__file__).parents[1] / "kept"
VERSIONS = sorted(path.name for path in KEPT.iterdir())
# What scans of `orders.csv` list with a probability of 0.9 and more, by key and column.
WRONG = {("A019", "city"), ("A061", "service"), ("A114", "city")}
SCANS = ["scan-cells.csv", "scan-cells.jsonl", "scan.json"]
# Findings that scores of `new.csv` list: rows, or cells with a probability of 0.9 and more.
SCORES = {"score-rows.csv": 4, "score-cells.csv": 2, "score.json": 4}
SCAN = ("--key", "order_id", "--type", "zip=code", "--trees", "10", "--jobs", "1")


@pytest.fixture(params=VERSIONS)
def kept(request: pytest.FixtureRequest) -> Path:
    """The files of one release."""
    return KEPT / request.param


def read(path: Path) -> Table:
    return read_all(open_source(str(path), ReadOptions())).table


def changes(ran: Any, status: str) -> list[dict[str, Any]]:
    """The findings of a comparison that are new, persist or are resolved."""
    assert ran.code == 0, ran.err
    return [change for change in json.loads(ran.out)["findings"] if change["status"] == status]


def test_model_judges_to_the_same_scores(kept: Path) -> None:
    expected = json.loads((kept / "judged.json").read_text(encoding="utf-8"))
    model = package.load(kept / "orders.rfod")
    if kept.name == "0.2.0":
        assert model.fitness == "plain"  # as it was fitted
    found = model.detect(read(kept / "new.csv"))
    assert list(found.columns) == expected["columns"]
    for name in ("row_scores", "row_p_values", "cell_scores", "surprise"):
        wanted = np.array(expected[name], dtype=np.float64)  # null becomes NaN
        np.testing.assert_allclose(getattr(found, name), wanted, rtol=1e-6, atol=1e-9, err_msg=name)
    assert list(found.judged_columns) == expected["judged_columns"]
    assert found.has_probabilities
    if found.probabilities.decision.version == expected["decision"]:  # another one may weigh evidence differently
        wanted = np.array(expected["cell_probability"])
        np.testing.assert_allclose(found.cell_probability, wanted, rtol=1e-6, atol=1e-9)


def test_model_is_inspected_and_compared_with_a_table(kept: Path, rfod: Any) -> None:
    shown = rfod("inspect", kept / "orders.rfod", "--json")
    assert shown.code == 0, shown.err
    assert {column["name"]: column["kind"] for column in json.loads(shown.out)["columns"]}["zip"] == "code"
    compared = rfod("diff", kept / "orders.rfod", kept / "new.csv", "--json", "--jobs", "1")
    assert compared.code == 0, compared.err
    assert {column["column"] for column in json.loads(compared.out)["columns"]} >= {"city", "price", "day"}


def test_decisions_apply(kept: Path, rfod: Any) -> None:
    decisions = package.Decisions.read(kept / "orders.decisions.jsonl")
    assert [(d.kind, d.column, d.value, d.wherever is None, d.key is None) for d in decisions.in_force] == [
        ("replace", "city", "Wien", True, False),
        ("fine", "weight", None, True, False),
        ("blank", "country", None, True, False),
        ("fine", "price", None, True, True),
        ("fine", "service", None, False, True),
    ]
    _, applied, unmatched = decisions.apply(read(kept / "orders.csv"))
    assert unmatched == []
    assert len(applied) == 4  # on single cells; the fifth is a condition
    ran = rfod("scan", kept / "orders.csv", *SCAN, "--decisions", kept / "orders.decisions.jsonl", "--json")
    assert ran.code == 0, ran.err
    decided = {("A019", "city"), ("A005", "weight"), ("A051", "country"), ("A099", "price"), ("A061", "service")}
    assert not {(cell["key"], cell["column"]) for cell in json.loads(ran.out)["wrong_cells"]} & decided


@pytest.mark.parametrize("name", SCANS)
def test_findings_of_scans_are_compared(kept: Path, rfod: Any, name: str) -> None:
    ran = rfod("diff", kept / name, kept / SCANS[0], "--json")
    assert {(change["key"], change["column"]) for change in changes(ran, "persisting")} == WRONG
    assert changes(ran, "new") == changes(ran, "resolved") == []


def test_rows_of_a_scan_are_compared(kept: Path, rfod: Any) -> None:
    ran = rfod("diff", kept / "scan-rows.csv", kept / "scan-rows.csv", "--json")
    assert {change["key"] for change in changes(ran, "persisting")} == {key for key, _ in WRONG}
    assert changes(ran, "new") == changes(ran, "resolved") == []


@pytest.mark.parametrize("name", [*SCANS, "scan-rows.csv"])
def test_findings_of_scans_are_a_baseline(kept: Path, rfod: Any, name: str) -> None:
    ran = rfod("scan", kept / "orders.csv", *SCAN, "--baseline", kept / name, "--json")
    assert ran.code in (0, 3), ran.err  # a later decision may find more
    baseline = json.loads(ran.out)["baseline"]
    assert baseline["n_known"] >= 1
    assert not {(change["key"], change["column"]) for change in baseline["new"]} & WRONG


@pytest.mark.parametrize("name", SCORES)
def test_findings_of_scores_are_a_baseline(kept: Path, rfod: Any, name: str) -> None:
    """The scores are the same, so the rows with the four highest are not new; a later decision may call fewer cells
    wrong."""
    options = ("--key", "order_id", "--top", "4", "--jobs", "1", "--baseline", kept / name, "--json")
    ran = rfod("score", kept / "orders.rfod", kept / "new.csv", *options)
    assert ran.code == 0, ran.err
    baseline = json.loads(ran.out)["baseline"]
    assert baseline["n_new"] == 0
    assert 1 <= baseline["n_known"] <= SCORES[name]
    assert baseline["n_known"] == SCORES[name] or name == "score-cells.csv"


def test_log_of_a_repair_is_read(kept: Path, rfod: Any, tmp_path: Path) -> None:
    log = kept / "orders.changes.csv"
    lines = (kept / "orders.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    for change in read_log(str(log)):
        assert change.line is not None
        at = change.line - 1
        lines[at] = lines[at].replace(f",{change.before},", f",{change.after or ''},", 1)
    (tmp_path / "clean.csv").write_text("".join(lines), encoding="utf-8")
    ran = rfod("repair", tmp_path / "clean.csv", *SCAN, "--done", log, "-o", tmp_path / "again.csv")
    assert ran.code == 0, ran.err
    again = (tmp_path / "again.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    for change in read_log(str(log)):
        assert change.line is not None
        assert again[change.line - 1] == lines[change.line - 1]
