"""Warnings name the file and line of the program that called."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rfod
from rfod import ColumnWarning

FEW = {"n_estimators": 3, "n_jobs": 1}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns = {"id": np.arange(60), "x": rng.normal(size=60), "y": rng.normal(size=60), "z": rng.choice(["a", "b"], 60)}
    return pd.DataFrame(columns)


CALLS: dict[str, Callable[[pd.DataFrame], object]] = {
    "scan": lambda frame: rfod.scan(frame, **FEW),
    "fit": lambda frame: rfod.RFOD(**FEW).fit(frame),
    "fit_detect": lambda frame: rfod.RFOD(**FEW).fit_detect(frame),
    "fit_predict": lambda frame: rfod.RFOD(**FEW).fit_predict(frame),
    "diff": lambda frame: rfod.diff(frame, frame, **FEW),
}


@pytest.mark.parametrize("name", CALLS)
def test_columns_left_out(frame: pd.DataFrame, name: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name](frame)
    assert {warning.category for warning in caught} == {ColumnWarning}
    assert {Path(warning.filename) for warning in caught} == {Path(__file__)}


def test_names_of_columns(frame: pd.DataFrame) -> None:
    numbers = frame[["x", "y"]]
    model = rfod.RFOD(**FEW).fit(numbers)
    with pytest.warns(UserWarning, match="X does not have valid feature names") as caught:
        model.detect(numbers.to_numpy())
    assert Path(caught[0].filename) == Path(__file__)


def test_through_scikit_learn(frame: pd.DataFrame) -> None:
    pipeline = pytest.importorskip("sklearn.pipeline")
    with pytest.warns(ColumnWarning, match="left out") as caught:
        pipeline.make_pipeline(rfod.RFOD(**FEW)).fit(frame)
    assert Path(caught[0].filename) == Path(__file__)
