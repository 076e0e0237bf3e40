"""Findings with one cause are one pattern."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rfod
from tables import small


def parcels(n_rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    carrier = rng.choice(["DHL", "UPS", "Hermes", "DPD"], n_rows)
    size = rng.uniform(1, 20, n_rows)
    return pd.DataFrame(
        {
            "carrier": carrier,
            "size": size.round(1),
            "weight": (size * 2 + rng.normal(size=n_rows)).round(2),
            "volume": (size * 3 + rng.normal(size=n_rows)).round(2),
            "zone": np.select([carrier == "DHL", carrier == "UPS"], ["north", "south"], "west"),
        }
    )


@pytest.fixture(scope="module")
def found() -> Any:
    table = parcels(600, seed=1)
    heavy = np.flatnonzero(table.zone == "north")[:37]
    table.loc[heavy, "weight"] += 60
    table.loc[np.flatnonzero(table.zone == "west")[:5], "carrier"] = "DHL"
    return small(n_estimators=40).fit(parcels(2000, seed=0)).detect(table)


def test_the_most_frequent_cause_comes_first(found: Any) -> None:
    patterns = found.patterns()
    first = patterns[0]
    assert (first.column, first.what, first.n_findings) == ("weight", "is too high", 37)
    assert len(first.rows) == 37
    assert first.sentence in (
        "37 rows: weight is too high where carrier = DHL",
        "37 rows: weight is too high where zone = north",
    )
    assert first.example.column == "weight"
    assert first.example.row in first.rows
    assert [pattern.n_findings for pattern in patterns] == sorted((p.n_findings for p in patterns), reverse=True)


def test_patterns_hold_each_finding_once(found: Any) -> None:
    cells = found.cells(fdr=0.05, blame=True)
    told = sorted((row, pattern.column) for pattern in found.patterns() for row in pattern.rows)
    assert told == sorted(zip(cells["row"], cells["column"], strict=True))


def test_conditions_hold_for_all_rows_of_a_pattern(found: Any) -> None:
    patterns = found.patterns()
    assert any(pattern.conditions for pattern in patterns)
    for pattern in patterns:
        for condition in pattern.conditions:
            assert found.explainer.reasons.rows_meeting(
                condition, found.judged.rows(np.array(pattern.rows)).encoded
            ).all()
            assert condition.text in pattern.sentence


def test_categories_name_both_values() -> None:
    table = parcels(600, seed=1)
    wrong = np.flatnonzero(table.zone == "south")[:9]
    table.loc[wrong, "zone"] = "north"
    found = small(n_estimators=20).fit(parcels(2000, seed=0)).detect(table)
    patterns = found.patterns(wrong)
    assert sum(pattern.n_findings for pattern in patterns) >= 9
    for pattern in patterns:
        assert pattern.what in ("is north instead of south", "is UPS instead of DHL")
        assert f"row{'s' if pattern.n_findings > 1 else ''}: {pattern.column} {pattern.what}" in pattern.sentence


def test_json_is_plain(found: Any) -> None:
    data = [pattern.to_json() for pattern in found.patterns()]
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_rows_can_be_picked(found: Any) -> None:
    picked = found.flag(top=3)
    rows = {row for pattern in found.patterns(picked) for row in pattern.rows}
    assert rows == set(np.flatnonzero(picked))
    assert found.patterns([]) == []


def test_rows_beyond_the_worst_give_their_most_surprising_cell(found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = found.patterns()[0]
    monkeypatch.setattr("rfod._findings.patterns.MOST_REPAIRED", 4)
    after = found.patterns()[0]
    assert (after.column, after.what, set(after.rows)) == (before.column, before.what, set(before.rows))


def test_gaps_have_a_condition_too() -> None:
    table = parcels(600, seed=1)
    table.loc[table.zone == "north", "volume"] = np.nan
    found = small(n_estimators=20).fit(parcels(2000, seed=0)).detect(table)
    first = found.patterns()[0]
    assert first.sentence == f"{(table.zone == 'north').sum()} rows: volume is missing where carrier = DHL"


def test_without_findings_there_are_no_patterns() -> None:
    table = parcels(60, seed=2)
    found = small(n_estimators=10).fit(table).detect(table)
    assert found.flag(fdr=1e-9).sum() == 0
    assert found.patterns(fdr=1e-9) == []


def test_after_a_scan_patterns_are_those_of_wrong_cells() -> None:
    table = parcels(600, seed=2)
    carrier = table["carrier"].astype(object).copy()
    for row in range(0, 200, 40):
        carrier[row] = carrier[row][:1] + "x" + carrier[row][1:]
    found = rfod.scan(table.assign(carrier=carrier), n_estimators=10, random_state=0, n_jobs=1)
    patterns, cells = found.patterns(), found.suspects()
    sizes = [pattern.n_findings for pattern in patterns]
    assert sum(sizes) == len(cells)
    assert sizes == sorted(sizes, reverse=True)
    assert {(row, pattern.column) for pattern in patterns for row in pattern.rows} == {(c.row, c.column) for c in cells}
    assert any(pattern.column == "carrier" for pattern in patterns)
    for pattern in patterns:
        own = [cell for cell in cells if cell.column == pattern.column and cell.row in pattern.rows]
        assert len({(cell.kind, cell.sort) for cell in own}) == 1
        assert pattern.sentence.endswith(f"{pattern.column} {pattern.what}")
        assert json.loads(json.dumps(pattern.to_json()))["example"]["column"] == pattern.column
    with pytest.raises(rfod.ParameterError, match="new rows"):
        found.patterns(fdr=0.1)
