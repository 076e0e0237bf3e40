"""Decisions in scans, fits and detections: what is learned, and what is no longer reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rfod import RFOD, ColumnWarning, Decision, Decisions, DecisionsWarning, ParameterError, scan

SMALL = {"n_estimators": 20, "n_jobs": 1}
N = 300
MISSPELT, STRANGE, HEAVY = 7, 20, 40


def orders() -> pd.DataFrame:
    """Orders with a misspelt city, a city in a wrong encoding, and a weight that no price bears out."""
    rng = np.random.default_rng(0)
    country = rng.choice(["AT", "DE"], N)
    city = np.where(country == "AT", "Wien", "Hamburg").astype(object)
    weight = rng.uniform(1, 30, N).round(1)
    price = (weight * np.where(country == "AT", 9.0, 4.0)).round(2)
    city[MISSPELT], city[STRANGE] = f"{city[MISSPELT]}x", "Ã¼?1"
    weight[HEAVY] = 4000.0
    ids = [f"A{number:03d}" for number in range(N)]
    return pd.DataFrame({"id": ids, "country": country, "city": city, "weight": weight, "price": price})


CELLS = {(MISSPELT, "city"), (STRANGE, "city"), (HEAVY, "weight")}


@pytest.fixture(scope="module")
def found() -> Any:
    return scan(orders(), key="id", **SMALL)


def places(detection: Any, above: float = 0.5) -> set[tuple[int, str]]:
    return {(cell.row, cell.column) for cell in detection.suspects(above)}


def on_all(kind: str) -> Decisions:
    """The same decision on each of the three cells."""
    decisions, table = Decisions(), orders()
    right = {MISSPELT: table["city"][MISSPELT][:-1], HEAVY: "12.5"}
    right[STRANGE] = "Wien" if table["country"][STRANGE] == "AT" else "Hamburg"
    for row, column in sorted(CELLS):
        decisions.add(decisions.on_cell(table, row, column, kind, right[row] if kind == "replace" else None, key="id"))
    return decisions


def test_the_cells_are_reported_without_decisions(found: Any) -> None:
    assert places(found) >= CELLS - {(HEAVY, "weight")}
    assert found.surprise[HEAVY, found.columns.index("weight")] > 2


@pytest.mark.parametrize("kind", ["replace", "blank", "fine"])
def test_decided_cells_are_not_reported(kind: str, found: Any) -> None:
    again = scan(orders(), key="id", decisions=on_all(kind), **SMALL)
    assert not places(again) & CELLS
    assert not {row for row, _ in CELLS} & set(np.flatnonzero(again.flag()).tolist())
    assert not any((found.row_p_values <= 0) | np.isnan(again.row_scores))
    for row, column in CELLS:
        assert again.surprise[row, again.columns.index(column)] == 0
        assert all(cell.column != column for cell in again.explain(row).cells)


def test_what_a_scan_learns_is_the_decided_table() -> None:
    decisions, table = on_all("replace"), orders()
    for row, column, value in decisions.replacements(table):
        table.loc[row, column] = float(value) if column == "weight" else value
    decided = scan(orders(), key="id", decisions=decisions, **SMALL)
    repaired = scan(table, key="id", **SMALL)
    settled = np.zeros(decided.cell_scores.shape, dtype=bool)
    for row, column in CELLS:
        settled[row, decided.columns.index(column)] = True
    first = RFOD(random_state=0, **SMALL).fit_detect(table, key="id")
    own = RFOD(random_state=0, **SMALL).fit_detect(orders(), key="id", decisions=decisions)
    np.testing.assert_array_equal(own.cell_scores[~settled], first.cell_scores[~settled])
    assert places(repaired) == places(decided)


def test_blanked_cells_are_missing() -> None:
    types = {"id": "identifier"}
    own = RFOD(random_state=0, column_types=types, **SMALL).fit(orders(), decisions=on_all("blank"))
    weight = next(column for column in own.model_.schema.columns if column.name == "weight")
    assert weight.n_missing == 1


def test_a_row_with_a_fine_cell_is_not_left_out_of_the_second_fit(found: Any) -> None:
    again = scan(orders(), key="id", decisions=on_all("fine"), **SMALL)
    for row, _ in CELLS:
        assert again.row_scores[row] < found.row_scores[row]


def test_fine_wherever_a_condition_holds() -> None:
    decisions = Decisions([Decision("fine", "weight", wherever="weight > 1,000")])
    again = scan(orders(), key="id", decisions=decisions, **SMALL)
    assert (HEAVY, "weight") not in places(again)
    assert (MISSPELT, "city") in places(again)


def test_new_rows(tmp_path: Path) -> None:
    clean = orders().drop(index=[row for row, _ in CELLS])
    model = RFOD(random_state=0, column_types={"id": "identifier"}, **SMALL).fit(clean)
    plain = model.detect(orders(), key="id")
    path = tmp_path / "orders.decisions.jsonl"
    Decisions(path=str(path)).add(*on_all("fine"))
    again = model.detect(orders(), key="id", decisions=path)
    assert places(plain) >= CELLS - {(HEAVY, "weight")}
    assert not CELLS & places(again)
    rows = sorted(row for row, _ in CELLS)
    assert (again.row_scores[rows] < plain.row_scores[rows]).all()
    assert (again.row_p_values[rows] >= plain.row_p_values[rows]).all()
    others = np.setdiff1d(np.arange(N), rows)
    np.testing.assert_array_equal(plain.row_scores[others], again.row_scores[others])


def test_columns_that_are_not_modelled() -> None:
    table = orders()
    table["note"] = [f"note {number} of {N}" for number in range(N)]
    table.loc[3, "note"] = "Ã¼"
    with pytest.warns(ColumnWarning):
        plain = scan(table, key="id", **SMALL)
    decisions = Decisions()
    decisions.add(decisions.on_cell(table, 3, "note", "fine", key="id"))
    with pytest.warns(ColumnWarning):
        again = scan(table, key="id", decisions=decisions, **SMALL)
    assert (3, "note") in places(plain)
    assert (3, "note") not in places(again)


def test_what_does_not_apply_is_said() -> None:
    decisions = on_all("fine")
    table = orders()
    table.loc[MISSPELT, "city"] = "Bremen"
    with pytest.warns(DecisionsWarning, match="1 decision does not apply to this table: id A007: .*holds 'Bremen' now"):
        scan(table, key="id", decisions=decisions, **SMALL)


def test_what_is_no_decisions() -> None:
    with pytest.raises(ParameterError, match="decisions is int; it must be the path"):
        scan(orders(), decisions=3)


def test_arrays() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(200, 3)).round(3)
    numbers[:, 1] = numbers[:, 0] * 2
    numbers[5, 1] = 900
    decisions = Decisions()
    decisions.add(decisions.on_cell(numbers, 5, "x1", "fine"))
    plain = RFOD(random_state=0, **SMALL).fit(numbers[50:])
    assert plain.detect(numbers).surprise[5, 1] > 2
    again = plain.detect(numbers, decisions=decisions)
    assert again.surprise[5, 1] == 0
    assert again.cell_probability[5, 1] == 0
