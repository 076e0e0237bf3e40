"""A self-check counts what was put in and what came out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rfod
from rfod import ParameterError
from rfod._check.selfcheck import SelfCheck, Trial
from rfod._table.table import open_table
from rfod.params import ERROR_KINDS
from tables import IN_LIBRARY, mixed_columns, small


def predictable(n_rows: int = 1200, seed: int = 0) -> dict[str, Any]:
    """A column that the others give away, and one that nothing predicts."""
    rng = np.random.default_rng(seed)
    size, noise = rng.uniform(1, 9, n_rows), rng.normal(size=n_rows)
    label = np.array(["small", "middle", "large"], dtype=object)[np.digitize(size, [4, 7])]
    return {"size": size, "double": 2 * size, "label": label, "noise": noise}


@pytest.fixture(scope="module")
def detector() -> rfod.RFOD:
    return small(n_estimators=20).fit(pd.DataFrame(predictable(2000, seed=1)))


@pytest.fixture(scope="module")
def checked(detector: rfod.RFOD) -> SelfCheck:
    return rfod.self_check(detector, pd.DataFrame(predictable()), kinds=["swap", "shift", "typo", "blank"])


def test_it_tells_blind_columns_from_others(checked: SelfCheck) -> None:
    assert checked.recall(column="double", kind="swap") > checked.recall(column="noise", kind="swap") + 0.3
    assert checked.recall(kind="typo") > 0.9
    assert checked.false_share() < 0.1
    assert checked.kinds == ("swap", "shift", "typo", "blank")
    assert set(checked.columns) == {"size", "double", "label", "noise"}


def test_counts_add_up(checked: SelfCheck) -> None:
    for kind in checked.kinds:
        assert sum(trial.n_errors for trial in checked.trials if trial.kind == kind) == 240
    assert all(0 <= trial.n_found <= trial.n_errors for trial in checked.trials)
    n_found = sum(trial.n_found for trial in checked.trials)
    assert checked.recall() == n_found / 960
    assert not any(trial.kind == "shift" and trial.column == "label" and trial.n_errors for trial in checked.trials)


def test_text(checked: SelfCheck) -> None:
    lines = str(checked).splitlines()
    assert lines[0] == "Share of 960 known errors found at a false discovery rate of 0.05"
    assert lines[2].split() == ["column", "fit", "swap", "shift", "typo", "blank", "all"]
    assert any(line.startswith("label") and "AUC" in line and " - " in line for line in lines)
    assert lines[-1].startswith("The 1,200 rows had ")
    assert max(map(len, lines)) < 100


def test_json(checked: SelfCheck) -> None:
    told = json.loads(json.dumps(checked.to_json(), allow_nan=False))
    assert told["recall"] == checked.recall()
    assert {line["column"] for line in told["columns"]} == set(checked.columns)
    assert len(told["trials"]) == len(checked.trials)


def test_frame_is_of_the_callers_library(detector: rfod.RFOD) -> None:
    told = {}
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        found = rfod.self_check(detector, make(predictable(300)), kinds=["swap"]).frame()
        assert type(found) is (pa.Table if make is pa.table else make)
        told[make] = found if make is pd.DataFrame else found.to_pandas()
    names = ["column", "kind", "n_errors", "n_found", "recall", "n_collateral", "n_false", "n_probable"]
    assert list(told[pd.DataFrame].columns) == names
    for other in (pl.DataFrame, pa.table):
        assert told[other][names[2:]].to_numpy().tolist() == told[pd.DataFrame][names[2:]].to_numpy().tolist()


@pytest.mark.parametrize("library", IN_LIBRARY)
def test_every_kind_of_column(library: str) -> None:
    frame = IN_LIBRARY[library](mixed_columns())
    checked = rfod.self_check(small().fit(frame), frame)
    assert checked.kinds == ERROR_KINDS
    assert checked.n_rows == 120


def test_the_seed_decides(detector: rfod.RFOD) -> None:
    frame = pd.DataFrame(predictable(300))
    first, again, other = (
        rfod.self_check(detector, frame, kinds=["swap"], random_state=state).trials for state in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_large_tables_are_sampled(detector: rfod.RFOD) -> None:
    checked = rfod.self_check(detector, pd.DataFrame(predictable()), kinds=["swap"], max_rows=200)
    assert checked.n_rows == 200
    assert sum(trial.n_errors for trial in checked.trials) == 40


def test_the_table_is_left_as_it_was(detector: rfod.RFOD) -> None:
    frame = pd.DataFrame(predictable(300))
    before = frame.copy()
    rfod.self_check(detector, frame, kinds=["swap", "blank"])
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("wrong", [{"fdr": 0}, {"share": 1.0}, {"kinds": ["swop"]}, {"kinds": []}, {"max_rows": 0}])
def test_parameters(detector: rfod.RFOD, wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        rfod.self_check(detector, pd.DataFrame(predictable(50)), **wrong)


def test_nothing_found_and_nothing_to_find() -> None:
    table = open_table(pd.DataFrame({"a": [1.0], "b": [2.0]}))
    fitness = {"a": ("R2", float("nan")), "b": ("AUC", 0.75)}
    trials = (Trial("a", "swap", 0, 0, 1, 3), Trial("b", "swap", 4, 0, 0, 0))
    checked = SelfCheck(0.1, 10, 1, trials, fitness, table)
    assert np.isnan(checked.recall(column="a"))
    assert checked.recall() == 0
    assert checked.collateral_share() == 0.25
    assert checked.false_share() == 0.75
    assert "The 10 rows had 1 finding before" in str(checked)
    assert "constant" in str(checked)
    assert pd.isna(checked.frame()["recall"][0])
    assert checked.to_json()["trials"][0]["recall"] is None
