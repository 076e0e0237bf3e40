"""The page of a comparison: whole, closed to the outside, and text of the table stays text."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rfod
from report_tables import SCRIPT
from rfod import TableDiff
from rfod._diff.columns import Bars, ColumnChange, Movement
from rfod._diff.findings import Finding, FindingChange
from rfod._views.diff_page import render_diff, write_diff_page


def hostile() -> TableDiff:
    """Every text that comes from a table tries to be markup."""
    test = Movement(0.5, 1e-9, 1e-8, True, 100, 100)
    column = ColumnChange(
        SCRIPT,
        "numeric",
        test,
        None,
        test,
        {"distribution": SCRIPT},
        (SCRIPT,),
        (SCRIPT,),
        3,
        Bars((SCRIPT, "b"), (1, 0), (0.5, 0.5)),
    )
    finding = Finding(1, 2, SCRIPT, SCRIPT, SCRIPT, SCRIPT, 0.95, SCRIPT)
    changes = [
        FindingChange("new", "row", SCRIPT, SCRIPT, None, finding, None, SCRIPT),
        FindingChange("resolved", "value", SCRIPT, SCRIPT, finding, None, SCRIPT, SCRIPT),
    ]
    return TableDiff(
        (column,), tuple(changes), True, True, (10, 12), 9, SCRIPT, (SCRIPT,), (SCRIPT,), names=(SCRIPT, SCRIPT)
    )


def test_nothing_of_the_table_is_markup() -> None:
    page = render_diff(hostile()).decode()
    assert SCRIPT not in page
    assert "<script" not in page
    assert page.count("&lt;script") >= 10


def test_no_address_outside() -> None:
    page = render_diff(hostile()).decode()
    assert "default-src 'none'" in page
    assert not re.findall(r"https?://", page)
    assert not re.search(r'(src|href)="(?!#|data:)', page)


def test_file_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "diff.html"
    path.write_text("old")
    monkeypatch.setattr(Path, "write_bytes", lambda self, data: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_diff_page(hostile(), path)
    assert [file.name for file in tmp_path.iterdir()] == ["diff.html"]
    assert path.read_text() == "old"


def test_what_it_says() -> None:
    rng = np.random.default_rng(0)
    before = pd.DataFrame({"x": rng.normal(size=300), "y": rng.choice(["a", "b"], 300)})
    found = rfod.diff(before, before.assign(x=before["x"] + 2), n_estimators=5, n_jobs=1)
    page = render_diff(found).decode()
    assert "x is distributed otherwise" in page
    assert "1 column that did not move" in page
    assert page.count("<rect") == 24  # twelve intervals of x
