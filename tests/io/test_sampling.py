"""One pass over a source: the sample that is fitted, and the statistics of all rows."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rfod._io import source_stats
from rfod._io.row_sample import RowSample, likely_bound, row_keys
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
    taken = RowSample(wanted)
    for batch in batches(n, size):
        offer(taken, batch, seed)
    return np.asarray(taken.rows().column("n").to_numpy())


def offer(taken: RowSample, batch: Batch, seed: int = 0) -> None:
    places = batch.first_row + np.arange(batch.rows.num_rows)
    taken.add(batch.rows, row_keys(seed, "t.parquet", places), places)


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


def test_samples_of_parts_merge_to_the_sample_of_the_whole() -> None:
    parts = []
    for batch in batches(N, 30_000):
        parts.append(RowSample(5000, likely_bound(5000, N)))
        offer(parts[-1], batch)
    assert 5000 <= sum(map(len, parts)) < 5800  # little more than the sample is moved
    for order in (parts, parts[::-1]):
        merged = RowSample(5000)
        for part in order:
            merged.merge(part)
        assert np.array_equal(merged.rows().column("n").to_numpy(), sample(N, 65_536, 5000))


def test_of_equal_keys_the_first_rows_are_taken() -> None:
    taken = RowSample(3)
    keys = np.array([7, 7, 1, 7], dtype=np.uint64)
    taken.add(pa.table({"n": [3, 2, 1, 0]}), keys, np.array([3, 2, 1, 0]))
    assert taken.rows().column("n").to_pylist() == [0, 1, 2]
    assert taken.places.tolist() == [0, 1, 2]


def test_keys_depend_on_seed_name_and_row() -> None:
    rows = np.arange(1000)
    keys = row_keys(0, "a/b.parquet", rows)
    assert keys[:2].tolist() == [6456892708644392645, 12968164964928913358]  # the sample of a seed stays what it is
    assert np.array_equal(row_keys(0, "a/b.parquet", rows[500:]), keys[500:])
    every = np.concatenate([keys, row_keys(1, "a/b.parquet", rows), row_keys(0, "a/c.parquet", rows)])
    assert len(np.unique(every)) == 3000


def test_the_bound_leaves_enough_rows() -> None:
    assert likely_bound(10, 10) == likely_bound(10, 5) == 2**64 - 1
    for seed in range(50):
        assert (row_keys(seed, "t", np.arange(10_000)) <= likely_bound(100, 10_000)).sum() >= 100


def test_statistics_of_parts_merge_to_those_of_the_whole() -> None:
    whole = SourceStats("t")
    parts = [SourceStats("t"), SourceStats("t"), SourceStats("t")]
    for number, batch in enumerate(batches(N, 30_000)):
        whole.add(batch)
        parts[number % 3].add(batch)
    table = batches(1000, 1000)[0].rows
    for order in (parts, parts[::-1]):
        merged = SourceStats("t")
        for part in copy.deepcopy(order):
            merged.merge(part)
        assert json.dumps(merged.to_json(table)) == json.dumps(whole.to_json(table))


def test_statistics_are_those_of_all_rows() -> None:
    stats, taken, given = SourceStats("t"), RowSample(5000), batches(N, 30_000)
    for batch in given:
        stats.add(batch)
        offer(taken, batch)
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


def test_too_many_categories_in_all_parts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_stats, "MOST_CATEGORIES", 10)
    parts = [SourceStats("t"), SourceStats("t")]
    for number, part in enumerate(parts):
        part.add(Batch(pa.table({"c": [f"{number}{n}" for n in range(10)]}), 0))
    parts[0].merge(parts[1])
    assert (parts[0].n_rows, parts[0].columns["c"].counts) == (20, None)


def test_damaged_statistics_are_none(tmp_path: Path) -> None:
    (tmp_path / "no.rfod").write_bytes(b"no zip")
    assert source_stats.read_stats(tmp_path / "no.rfod") is None
