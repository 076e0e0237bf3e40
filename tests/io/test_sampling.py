"""One pass over a source: the sample that is fitted, and the facts of all rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rfod._io import source_stats as facts_module
from rfod._io.batches import Batch, cut
from rfod._io.sampling import RowSampler
from rfod._io.sketch import QuantileSketch
from rfod._io.source_stats import SourceStats

N = 250_000


def batches(n: int, size: int) -> list[Batch]:
    rng = np.random.default_rng(3)
    table = pa.table(
        {"n": np.arange(n), "x": rng.normal(size=n), "c": rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1])}
    )
    return list(cut(table, None, 0, size))


def sample(n: int, size: int, wanted: int, seed: int = 0) -> np.ndarray:
    sampler = RowSampler(wanted, seed)
    for batch in batches(n, size):
        sampler.add(batch)
    assert np.array_equal(sampler.positions(), sampler.rows().rows.column("n").to_numpy())
    return sampler.positions()


def test_a_small_source_is_kept_whole() -> None:
    assert np.array_equal(sample(1000, 64, 1000), np.arange(1000))


def test_the_sample_does_not_depend_on_the_pieces() -> None:
    assert np.array_equal(sample(N, 65_536, 5000), sample(N, 1001, 5000))
    assert not np.array_equal(sample(N, 65_536, 5000), sample(N, 65_536, 5000, seed=1))


def test_the_sample_is_uniform() -> None:
    rows = sample(N, 65_536, 20_000)
    assert len(np.unique(rows)) == 20_000
    counts = np.histogram(rows, bins=20, range=(0, N))[0]
    # chi-square with 19 degrees of freedom: 43.8 is exceeded once in a thousand
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8


@pytest.mark.parametrize("order", ["random", "ascending", "descending"])
def test_quantiles_are_near(order: str) -> None:
    values = np.random.default_rng(5).lognormal(size=N)
    values = {"random": values, "ascending": np.sort(values), "descending": np.sort(values)[::-1]}[order]
    sketch = QuantileSketch()
    for start in range(0, N, 10_000):
        sketch.add(values[start : start + 10_000])
    shares = np.linspace(0, 1, 21)
    ranks = np.searchsorted(np.sort(values), sketch.quantiles(shares)) / N
    assert np.abs(ranks - shares).max() < 0.003
    assert sketch.quantiles(np.array([0.0, 1.0])).tolist() == [values.min(), values.max()]


def test_quantiles_of_few_numbers_are_exact() -> None:
    sketch = QuantileSketch()
    sketch.add(np.array([3.0, np.nan, 1.0, 2.0]))
    assert sketch.quantiles(np.array([0.0, 0.5, 1.0])).tolist() == [1, 2, 3]
    assert np.isnan(QuantileSketch().quantiles(np.array([0.5]))).all()


def test_sketches_merge() -> None:
    values = np.random.default_rng(6).normal(size=N)
    parts = [QuantileSketch(seed) for seed in range(4)]
    for sketch, part in zip(parts, np.array_split(values, 4), strict=True):
        sketch.add(part)
    for sketch in parts[1:]:
        parts[0].merge(sketch)
    assert parts[0].n == N
    ranks = np.searchsorted(np.sort(values), parts[0].quantiles(np.array([0.1, 0.5, 0.9]))) / N
    assert np.abs(ranks - [0.1, 0.5, 0.9]).max() < 0.003


def test_facts_are_those_of_all_rows() -> None:
    whole, first, second = SourceStats("t"), SourceStats("t"), SourceStats("t")
    given = batches(20_000, 3000)
    for place, batch in enumerate(given):
        whole.add(batch)
        (first if place < 3 else second).add(batch)
    first.merge(second)
    counted = Counter(value for batch in given for value in batch.rows.column("c").to_pylist())
    assert whole.columns["c"].counts == counted == first.columns["c"].counts
    assert whole.n_rows == first.n_rows == 20_000
    assert whole.columns["x"].sketch is not None
    assert whole.columns["x"].sketch.n == 20_000
    assert whole.to_json()["columns"]["c"]["n_distinct"] == 3


def test_counts_stop_before_they_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_module, "MOST_CATEGORIES", 10)
    facts = SourceStats("t")
    facts.add(Batch(pa.table({"c": [str(n) for n in range(11)]}), 0))
    facts.add(Batch(pa.table({"c": ["x"]}), 11))
    assert facts.columns["c"].counts is None


def test_damaged_facts_are_no_facts(tmp_path: Path) -> None:
    (tmp_path / "no.rfod").write_bytes(b"no zip")
    assert facts_module.read_stats(tmp_path / "no.rfod") is None
