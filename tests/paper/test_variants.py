"""Variants of scores that are read off one model are those of a model fitted with these settings."""

import numpy as np
import pandas as pd
import pytest
from benchmarks.paper import variants

import rfod


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    generator = np.random.default_rng(0)
    a = generator.normal(size=200)
    return pd.DataFrame({"a": a, "b": a + generator.normal(size=200), "c": np.where(a > 0, "x", "y"), "d": a**2})


def test_rescored_is_what_a_fit_of_its_own_gives(table: pd.DataFrame) -> None:
    train, test = table[:120], table[120:].reset_index(drop=True)
    settings = {"n_estimators": 5, "random_state": 0, "n_jobs": 1}
    detector = rfod.RFOD(**settings).fit(train)
    found = list(variants.rescored(detector, train, test, only_rows=False))
    assert len(found) == 4 + len(variants.ALPHAS) + 2
    for change, scores in found:
        own = rfod.RFOD(**settings, **change).fit(train).detect(test).row_scores
        np.testing.assert_allclose(scores, own, rtol=1e-9, err_msg=str(change))


def test_the_model_is_left_as_it_was(table: pd.DataFrame) -> None:
    detector = rfod.RFOD(n_estimators=5, random_state=0, n_jobs=1).fit(table)
    before = detector.model_
    assert len(list(variants.rescored(detector, table, table, only_rows=True))) == 3
    assert detector.model_ is before
