"""One pass over a source: the sample that is fitted, and the statistics of all rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rfod._io import row_sample, source_stats
from rfod._io.row_sample import RowSample, row_keys
from rfod._io.source import Batch, cut
from rfod._io.source_stats import SourceStats

N = 250_000


def batches(n: int, size: int) -> list[Batch]:
    rng = np.random.default_rng(3)
    table = pa.table(
        {"n": np.arange(n), "x": rng.normal(size=n), "c": rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1])}
    )
    return list(cut(Batch(table, 0), size))


def sample(n: int, size: int, wanted: int, seed: int = 0) -> np.ndarray:
    taken = RowSample(wanted, seed)
    for batch in batches(n, size):
        taken.add(batch.rows)
    return np.asarray(taken.rows().column("n").to_numpy())


def test_a_small_source_is_kept_whole() -> None:
    assert np.array_equal(sample(1000, 64, 1000), np.arange(1000))


def test_the_sample_does_not_depend_on_the_batches() -> None:
    assert np.array_equal(sample(N, 65_536, 5000), sample(N, 1001, 5000))
    assert not np.array_equal(sample(N, 65_536, 5000), sample(N, 65_536, 5000, seed=1))


def test_the_sample_is_uniform() -> None:
    rows = sample(N, 65_536, 20_000)
    assert len(np.unique(rows)) == 20_000
    counts = np.histogram(rows, bins=20, range=(0, N))[0]
    # chi-square with 19 degrees of freedom: 43.8 is exceeded once in a thousand
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8


def test_of_equal_keys_the_first_rows_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = np.array([7, 7, 1, 7], dtype=np.uint64)
    monkeypatch.setattr(row_sample, "row_keys", lambda seed, rows: keys[rows])
    taken = RowSample(3, 0)
    for n in range(4):
        taken.add(pa.table({"n": [n]}))
        taken.rows()
    assert taken.rows().column("n").to_pylist() == [0, 1, 2]


def test_keys_depend_on_seed_and_row() -> None:
    rows = np.arange(1000)
    keys = row_keys(0, rows)
    assert keys[:2].tolist() == [16089826330479778562, 4254055988605678672]  # the sample of a seed stays what it is
    assert np.array_equal(row_keys(0, rows[500:]), keys[500:])
    assert len(np.unique(np.concatenate([keys, row_keys(1, rows)]))) == 2000


def test_statistics_are_those_of_all_rows() -> None:
    stats, taken, given = SourceStats("t"), RowSample(5000, 0), batches(N, 30_000)
    for batch in given:
        stats.add(batch)
        taken.add(batch.rows)
    written = stats.to_json(taken.rows())
    values = np.sort(np.concatenate([batch.rows.column("x").to_numpy() for batch in given]))
    counted = Counter(value for batch in given for value in batch.rows.column("c").to_pylist())
    assert stats.columns["c"].counts == counted
    assert written["n_rows"] == N
    assert written["columns"]["c"]["n_distinct"] == 3
    quantiles = written["columns"]["x"]["quantiles"]
    assert (quantiles["0.0"], quantiles["1.0"]) == (values[0], values[-1])
    ranks = np.searchsorted(values, list(quantiles.values())) / N
    assert np.abs(ranks - [float(share) for share in quantiles]).max() < 0.02


def test_statistics_of_few_and_odd_numbers() -> None:
    table = pa.table({"x": [3.0, None, 1.0, 2.0, np.nan, -np.inf], "none": pa.nulls(6, pa.float64())})
    stats = SourceStats("t")
    stats.add(Batch(table, 0))
    columns = stats.to_json(table)["columns"]
    assert (columns["x"]["quantiles"]["0.0"], columns["x"]["quantiles"]["0.5"]) == ("-inf", 1.0)
    assert columns["x"]["quantiles"]["1.0"] == 3.0
    assert columns["none"] == {"type": "double", "n_missing": 6}
    assert list(stats.to_json(table.slice(1, 1))["columns"]["x"]["quantiles"]) == ["0.0", "1.0"]


def test_counts_stop_before_they_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_stats, "MOST_CATEGORIES", 10)
    stats = SourceStats("t")
    stats.add(Batch(pa.table({"c": [str(n) for n in range(11)]}), 0))
    stats.add(Batch(pa.table({"c": ["x"]}), 11))
    assert stats.columns["c"].counts is None
    assert stats.to_json(pa.table({"c": ["x", "x", "y"]}))["columns"]["c"]["counts_in_sample"] == {"x": 2, "y": 1}


def test_damaged_statistics_are_none(tmp_path: Path) -> None:
    (tmp_path / "no.rfod").write_bytes(b"no zip")
    assert source_stats.read_stats(tmp_path / "no.rfod") is None
