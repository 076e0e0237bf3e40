"""One pass over a source: the sample that is fitted, and the statistics of all rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rfod._io import source_stats
from rfod._io.source import Batch, cut
from rfod._io.source_stats import RowSampler, SourceStats

N = 250_000


def batches(n: int, size: int) -> list[Batch]:
    rng = np.random.default_rng(3)
    table = pa.table(
        {"n": np.arange(n), "x": rng.normal(size=n), "c": rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1])}
    )
    return list(cut(Batch(table, 0), size))


def sample(n: int, size: int, wanted: int, seed: int = 0) -> np.ndarray:
    sampler = RowSampler(wanted, seed)
    for batch in batches(n, size):
        sampler.add(batch)
    return np.asarray(sampler.rows().rows.column("n").to_numpy())


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


def test_statistics_are_those_of_all_rows() -> None:
    stats, sampler, given = SourceStats("t"), RowSampler(5000, 0), batches(N, 30_000)
    for batch in given:
        stats.add(batch)
        sampler.add(batch)
    written = stats.to_json(sampler.rows().rows)
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


def test_damaged_statistics_are_none(tmp_path: Path) -> None:
    (tmp_path / "no.rfod").write_bytes(b"no zip")
    assert source_stats.read_stats(tmp_path / "no.rfod") is None
