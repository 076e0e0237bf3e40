"""Conditions are true of the row, and counts are those of the training rows: both worked out again with pandas."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rfod
from make_shipments import make_shipments
from rfod import CellExplanation, Condition
from tables import as_pandas, mixed_columns, small


def part_of(values: pd.Series, part: str) -> pd.Series:
    if part == "value":
        return values
    return getattr(values.dt, {"weekday": "day_of_week"}.get(part, part)).astype("float64")


def as_numbers(values: pd.Series) -> pd.Series:
    """Dates and lengths in seconds."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return (values - pd.Timestamp("1970-01-01")) / pd.Timedelta(seconds=1)
    if pd.api.types.is_timedelta64_dtype(values):
        return values / pd.Timedelta(seconds=1)
    if values.dtype == object and values.notna().any() and hasattr(values.dropna().iloc[0], "toordinal"):
        return as_numbers(pd.to_datetime(values))
    return values


def holds(condition: Condition, frame: pd.DataFrame) -> np.ndarray:
    values, wanted = frame[condition.column], list(condition.values)
    if condition.relation == "missing":
        return values.isna().to_numpy()
    if condition.relation == "present":
        return values.notna().to_numpy()
    if isinstance(wanted[0], str | bool):
        inside = values.isin(wanted)
        return ((~inside & values.notna()) if condition.relation == "not" else inside).to_numpy(dtype=bool)
    if condition.part != "value":
        values = pd.to_datetime(values)
    numbers = pd.to_numeric(as_numbers(part_of(values, condition.part))).astype("float64").to_numpy()
    low = {">": numbers > wanted[0], ">=": numbers >= wanted[0], "between": numbers >= wanted[0]}
    high = {"<": numbers < wanted[0], "<=": numbers <= wanted[0], "between": numbers <= wanted[-1]}
    same = numbers == wanted[0] if condition.relation == "=" else np.ones(len(numbers), dtype=bool)
    every = np.ones(len(numbers), dtype=bool)
    return same & low.get(condition.relation, every) & high.get(condition.relation, every)


def agrees(claim: str, column: str, values: pd.Series) -> np.ndarray:
    """Which of the rows a claim counts."""
    if match := re.fullmatch(rf"(not )?{re.escape(column)} = (.*)", claim):
        texts = values.map(lambda value: {True: "true", False: "false"}.get(value, value)).astype(str)
        wanted = match[2]
        if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            same = pd.to_numeric(values).astype("float64").to_numpy() == float(wanted.replace(",", ""))
        else:
            same = (texts == wanted).to_numpy()
        return ~same if match[1] else same
    numbers = pd.to_numeric(as_numbers(values)).astype("float64").to_numpy()
    if match := re.fullmatch(r"(.*) or (earlier|later)", claim):
        bound = number_of(match[1])
        return np.rint(numbers) <= bound if match[2] == "earlier" else np.rint(numbers) >= bound
    if match := re.fullmatch(r"between (.*) and (.*)", claim):
        return (numbers >= number_of(match[1])) & (numbers <= number_of(match[2]))
    word, bound = re.fullmatch(r"(at most|at least) (.*)", claim).groups()
    return numbers <= number_of(bound) if word == "at most" else numbers >= number_of(bound)


def number_of(text: str) -> float:
    """Numbers, dates and lengths as the sentences write them."""
    if re.fullmatch(r"\d{4}-\d\d-\d\d.*", text):
        return (pd.Timestamp(text) - pd.Timestamp("1970-01-01")).total_seconds()
    return pd.Timedelta(text.replace(" d ", " days ")).total_seconds() if ":" in text else float(text.replace(",", ""))


def check(cell: CellExplanation, found: Any, table: pd.DataFrame, train: pd.DataFrame, row: int, is_own: bool) -> None:
    sample = found.judged.model.sample.rows
    rows = train.iloc[sample[sample != row] if is_own else sample]
    for condition in cell.conditions:
        assert condition.column != cell.column
        assert holds(condition, table.iloc[[row]]).all(), condition
        rows = rows[holds(condition, rows)]
    if cell.kind in ("missing", "present"):
        assert not cell.conditions
        assert cell.n_such == len(rows)
        assert cell.n_contradicting == int((rows[cell.column].notna() == (cell.kind == "missing")).sum())
        return
    rows = rows[rows[cell.column].notna()]
    assert cell.n_such == len(rows), cell.sentence
    assert cell.n_contradicting == int(agrees(cell.claim, cell.column, rows[cell.column]).sum()), cell.sentence
    for number in (cell.n_such, cell.n_contradicting):
        is_informative = 2 * cell.n_contradicting >= cell.n_such and not cell.claim.startswith("not ")
        assert not is_informative or number == 1 or f"{number:,}" in cell.sentence


def check_all(found: Any, table: pd.DataFrame, train: pd.DataFrame, n_rows: int, is_own: bool = False) -> list[str]:
    worst = np.argsort(-found.row_scores, kind="stable")[:n_rows]
    told = found.explain_rows(worst)
    assert len(told) == n_rows
    for row, explanation in zip(worst.tolist(), told, strict=True):
        assert explanation.row == row
        assert explanation.cells
        for cell in explanation.cells:
            check(cell, found, table, train, row, is_own)
    return [cell.sentence for explanation in told for cell in explanation.cells]


@pytest.fixture(scope="module")
def shipments() -> tuple[pd.DataFrame, pd.DataFrame]:
    table, _ = make_shipments(n_rows=2400, n_clean=1800)
    table = table.drop(columns="shipment_id")
    return table[:1800].reset_index(drop=True), table[1800:].reset_index(drop=True)


def test_new_rows(shipments: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    train, test = shipments
    found = rfod.RFOD(n_estimators=20, random_state=0, n_jobs=1).fit(train).detect(test)
    sentences = check_all(found, test, train, 60)
    assert sum(" because " in sentence for sentence in sentences) > len(sentences) / 3


def test_own_rows_are_not_their_own_witnesses(shipments: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    _, table = shipments
    found = rfod.scan(table, n_estimators=20, random_state=0, n_jobs=1)
    assert any("other" in sentence for sentence in check_all(found, table, table, 40, is_own=True))


def test_every_kind_of_column() -> None:
    train, test = as_pandas(mixed_columns(400)), as_pandas(mixed_columns(60, seed=1))
    found = small(n_estimators=20).fit(train).detect(test)
    for sentence in check_all(found, test, train, 60):
        assert not re.search(r"\bnan\b|\binf\b|None|\d\.0*[1-9]\d{6}", sentence), sentence


def test_numbers_with_gaps_and_infinities() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=600)
    table = pd.DataFrame({"a": a, "b": a * 3 + rng.normal(size=600) / 10, "c": rng.integers(0, 3, 600) * (a > 0)})
    table.loc[rng.random(600) < 0.2, "a"] = np.nan
    train, test = table[:500].copy(), table[500:].reset_index(drop=True)
    train.loc[3, "b"] = math.inf
    test.loc[0, "b"] = math.inf
    test.loc[1, ["a", "b"]] = [np.nan, 80.0]
    found = small(n_estimators=20).fit(train).detect(test)
    for row in (0, 1, 2):
        for cell in found.explain(row).cells:
            assert "nan" not in cell.sentence
    assert "b is infinite" in str(found.explain(0))
    assert "b is 80" in str(found.explain(1))
