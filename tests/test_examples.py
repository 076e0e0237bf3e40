"""The example table is what it says, and the demo finds what was planted in it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from make_shipments import PLANTED, SLIPS, make_shipments

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def shipments() -> tuple[pd.DataFrame, pd.DataFrame]:
    return make_shipments()


def test_same_seed_same_table(shipments: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    for first, second in zip(shipments, make_shipments(), strict=True):
        pd.testing.assert_frame_equal(first, second)


def test_truth_lists_each_planted_cell(shipments: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    table, truth = shipments
    assert truth["row"].is_unique
    assert (truth["row"] >= 3000).all()
    assert len(truth) == len(PLANTED)
    for cell in truth.itertuples():
        assert table.at[cell.row, cell.column] == cell.planted != cell.correct


def test_planted_values_are_ordinary_for_their_column(shipments: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    table, truth = shipments
    for cell in truth.itertuples():
        correct = table[cell.column][:3000].dropna()
        if pd.api.types.is_numeric_dtype(correct) and not pd.api.types.is_bool_dtype(correct):
            assert correct.quantile(0.01) <= cell.planted <= correct.quantile(0.99), cell.column
        else:
            assert (correct == cell.planted).mean() > 0.05, cell.column


def test_slips_come_on_top() -> None:
    (plain, _), (table, truth) = make_shipments(), make_shipments(n_slips=2)
    assert truth["row"].is_unique
    assert truth["column"].tolist()[len(PLANTED) :] == [slip.column for slip in SLIPS for _ in range(2)]
    for cell in truth.itertuples():
        assert table.at[cell.row, cell.column] == cell.planted != cell.correct
    assert int((table.fillna(0) != plain.fillna(0)).to_numpy().sum()) == 2 * len(SLIPS)


def test_script_writes_table_and_truth(tmp_path: Path) -> None:
    output, truth = tmp_path / "shipments.csv", tmp_path / "planted.csv"
    command = [sys.executable, EXAMPLES / "make_shipments.py", "--output", output, "--truth", truth, "--seed", "1"]
    subprocess.run(command, check=True)
    assert len(pd.read_csv(output)) == 4000
    assert len(pd.read_csv(truth)) == len(PLANTED)


def test_demo_shows_what_a_user_would_see(tmp_path: Path) -> None:
    demo = subprocess.run(
        [sys.executable, EXAMPLES / "demo.py"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "$ rfod scan shipments.csv --key shipment_id --report report.html" in demo.stdout
    assert "most unusual rows by score" in demo.stdout
    pattern = r"(\d+) of (\d+) planted errors found, (\d+) more among the most unusual rows"
    n_found, n_planted, n_ranked = map(int, re.search(pattern, demo.stdout).groups())
    lines = re.findall(r"^  (found |ranked|missed)  S\d+  ", demo.stdout, re.MULTILINE)
    assert n_planted == len(PLANTED) + 3 * len(SLIPS) == len(lines)
    assert (n_found, n_ranked) == (lines.count("found "), lines.count("ranked"))
    assert n_found >= 9
    assert n_found + n_ranked >= 18
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000
