"""`rfod scan` of a file with more rows than are held in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from rfod._evidence.wrong_cells import CellProbabilities
from rfod._io.row_sample import row_keys
from rfod.params import SCAN_TRIM, Params
from rfod.pipeline import detect, scan_table

SAMPLE, TREES, WRONG = 100, 40, 123


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_of_the_sample_are_judged_out_of_bag(rfod: Any, orders_csv: Path, tmp_path: Path, ending: str) -> None:
    table, path, out = pa_csv.read_csv(orders_csv), tmp_path / f"orders.{ending}", tmp_path / "out.parquet"
    (pa_csv.write_csv if ending == "csv" else pq.write_table)(table, path)
    options = ["--sample-rows", SAMPLE, "--trees", TREES, "--key", "order_id", "--above", 0.3, "-o", out]
    ran = rfod("scan", path, *options)
    assert ran.code == 0
    assert f"a uniform sample of {SAMPLE} rows" in ran.err
    scores = pq.read_table(out)
    assert scores["row"].to_pylist() == list(range(len(table)))
    sampled = np.sort(np.argsort(row_keys(0, "", np.arange(len(table))), kind="stable")[:SAMPLE])
    params = Params(trim=SCAN_TRIM, random_state=0, n_estimators=TREES)
    model, own = scan_table(table.take(sampled), params, key="order_id")
    expected = detect(model, table).row_scores.copy()
    expected[sampled] = own.row_scores
    np.testing.assert_allclose(scores["score"].to_numpy(), expected, rtol=1e-12)
    batch = ["--json", "--quiet", *options[:-2]]
    summary = json.loads(rfod("scan", path, *batch).out)
    assert summary["n_rows"] == len(table)
    assert summary["unusual_rows"][0]["row"] == WRONG
    wrong = summary["wrong_cells"]
    assert (WRONG, "price") in [(cell["row"], cell["column"]) for cell in wrong]
    assert wrong[0]["key"] == table["order_id"][wrong[0]["row"]].as_py()
    assert scores["probability"].to_numpy()[wrong[0]["row"]] == wrong[0]["probability"]
    assert rfod("scan", path, *options[:-2], "--cells", "-o", tmp_path / "cells.csv").code == 0
    assert len(pa_csv.read_csv(tmp_path / "cells.csv")) == len(wrong)


def test_a_small_table_is_held(rfod: Any, orders_csv: Path, tmp_path: Path) -> None:
    whole = rfod("scan", orders_csv, "--trees", 6, "--sample-rows", 400)
    assert "sample" not in whole.err
    assert "line 125" in whole.out  # which a sample does not know


def test_report_of_a_sample(rfod: Any, orders_csv: Path, tmp_path: Path) -> None:
    ran = rfod("scan", orders_csv, "--trees", 6, "--sample-rows", 100, "--report", tmp_path / "r.html")
    assert ran.code == 0
    assert (tmp_path / "r.html").stat().st_size > 10_000


def test_the_sample_alone_is_not_decided_on(rfod: Any, orders_csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells have their probabilities with the rest of the table: at once they would take most of the memory."""
    sizes = []
    first = CellProbabilities.first.func  # type: ignore[attr-defined]
    counted = property(lambda self: sizes.append(len(self.collected.judged)) or first(self))
    monkeypatch.setattr(CellProbabilities, "first", counted)
    assert rfod("scan", orders_csv, "--trees", 6, "--sample-rows", SAMPLE).code == 0
    assert sizes
    assert SAMPLE not in sizes
