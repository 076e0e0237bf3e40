"""What every method gets: splits, samples, epochs within a budget."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import datasets
from benchmarks.paper import protocol


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    labels = np.repeat([0, 1], [900, 100]).astype(np.int8)
    pd.DataFrame({"row": np.arange(1000), "label": labels}).to_parquet(tmp_path / "pima.parquet")
    (tmp_path / "MANIFEST.json").write_text("{}")
    monkeypatch.setenv("RFOD_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("data_folder")
def test_training_rows_are_half_of_the_normal_ones() -> None:
    split = protocol.split("pima", 0, None)
    assert len(split.train) == 450
    assert (split.train["row"] < 900).all()
    assert len(split.test) == 550
    assert split.labels.sum() == 100


@pytest.mark.usefixtures("data_folder")
def test_samples_keep_the_share_of_anomalies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MOST_TEST_ROWS", 110)
    split = protocol.split("pima", 0, 50)
    assert len(split.train) == 50
    assert len(split.test) == 110
    assert split.labels.sum() == 20
    assert (split.labels == (split.test["row"] >= 900)).all()
    again = protocol.split("pima", 0, 50)
    assert split.test.equals(again.test)
    assert split.train.equals(again.train)


@pytest.mark.usefixtures("data_folder")
def test_another_seed_is_another_split() -> None:
    first, second = (datasets.split(datasets.load("pima"), seed) for seed in (0, 1))
    assert not first.train.equals(second.train)


@pytest.mark.parametrize(
    ("n_rows", "batch_size", "most_steps", "expected"),
    [(250, 64, 1500, 50), (20_000, 64, 1500, 4), (6400, 64, 1500, 15), (10**6, 64, 1500, 1)],
)
def test_epochs_fit_into_the_budget(n_rows: int, batch_size: int, most_steps: int, expected: int) -> None:
    assert protocol.epochs(n_rows, batch_size, most_steps) == expected
