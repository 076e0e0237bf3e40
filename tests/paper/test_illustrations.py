"""The numbers of the illustrations: AGD is the cell score, and trees and errors follow beta."""

import numpy as np
import pandas as pd
import pytest
from benchmarks import datasets
from benchmarks.paper import illustrations, protocol

import rfod


@pytest.fixture
def split(monkeypatch: pytest.MonkeyPatch) -> datasets.Split:
    generator = np.random.default_rng(0)
    size = generator.normal(size=300)
    table = pd.DataFrame({name: size + generator.normal(size=300) for name in ("a", "b", "c")})
    table["skewed"] = np.exp(2 * table["a"])
    labels = np.repeat(np.array([0, 1], dtype=np.int8), [80, 20])
    parts = datasets.Split(table[:200], table[200:].reset_index(drop=True), labels)
    monkeypatch.setattr(protocol, "split", lambda *of: parts)
    return parts


def test_distances_of_two_rows(split: datasets.Split) -> None:
    shown = illustrations.agd()
    assert shown["column"] == "skewed"
    values = split.train["skewed"]
    detector = rfod.RFOD(random_state=0, n_jobs=1, alpha=illustrations.AGD_ALPHA).fit(split.train)
    scores = detector.detect(split.test).cell_scores[:, 3]
    for name, label in (("normal", 0), ("outlier", 1)):
        row = shown["rows"][name]
        place = int(np.flatnonzero(split.test["skewed"] == row["observed"])[0])
        assert split.labels[place] == label
        difference = abs(row["observed"] - row["expected"])
        assert row["distances"]["AGD"] == pytest.approx(scores[place])
        assert row["distances"]["AGD"] == row["by_alpha"][str(illustrations.AGD_ALPHA)]
        assert row["distances"]["Gower"] == pytest.approx(difference / (values.max() - values.min()))
        assert row["distances"]["IQR-Gower"] == pytest.approx(
            difference / (values.quantile(0.75) - values.quantile(0.25))
        )


def test_trees_are_sorted_and_errors_follow_beta(split: datasets.Split, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(illustrations, "BETAS", (0.5, 1.0))
    tasks = illustrations.pruning()
    assert len({task["column"] for task in tasks}) == 3
    normal = split.test[split.labels == 0]
    found = rfod.RFOD(beta=0.5, random_state=0, n_jobs=1).fit(split.train).detect(normal)
    for task in tasks:
        assert (np.diff(task["fitness"]) <= 0).all()
        assert task["best_beta"] == (0.5, 1.0)[int(np.argmin(task["errors"]))]
        error = ((normal[task["column"]] - found.expected[task["column"]]) ** 2).mean()
        assert task["errors"][0] == pytest.approx(error)
