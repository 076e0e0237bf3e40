"""Checking a model on its training rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rfod import RFOD
from rfod._model import fit as training
from rfod._model.judge import Comparison


def many_classes(is_late, seed=0, n_rows=400):
    """Two columns that follow from each other, the second with gaps in front."""
    generator = np.random.default_rng(seed)
    number = generator.uniform(0, 12, n_rows)
    names = np.array([f"k{int(value)}" for value in number], dtype=object)
    if is_late:
        names[: n_rows * 3 // 4] = None
    return pa.table({"number": number, "name": names, "other": generator.normal(size=n_rows)})


def fitted(table, monkeypatch, limit):
    monkeypatch.setattr(training, "SHARES_LIMIT", limit)
    return RFOD(n_estimators=10, random_state=0, n_jobs=1).fit(table).model_.fitness


@pytest.mark.parametrize("is_late", [False, True])
def test_fitness_of_many_classes_is_measured_on_rows_that_have_one(is_late, monkeypatch):
    table = many_classes(is_late)
    whole = fitted(table, monkeypatch, 4_000_000)
    assert whole[1] > 0.8
    n_classes = len(set(table["name"].drop_null().to_pylist()))
    assert fitted(table, monkeypatch, 100 * n_classes)[1] == pytest.approx(whole[1], abs=0.1)
    np.testing.assert_array_equal(fitted(table, monkeypatch, 4_000_000), whole)


def test_calibration_rows_keep_their_trees(monkeypatch):
    """Calibration rows and those of intervals are samples of their own: each has its own trees that must not judge."""
    monkeypatch.setattr(training, "CALIBRATION_ROWS", 150)
    monkeypatch.setattr(training, "KEPT_ROWS", 200)
    monkeypatch.setattr(training, "INTERVAL_ROWS", 60)
    judged = []
    cells = Comparison.cells

    def spy(comparison, j, part, in_bag, shares=None):
        judged.append((j, comparison.rows.training_rows, in_bag))
        return cells(comparison, j, part, in_bag, shares)

    monkeypatch.setattr(Comparison, "cells", spy)
    model = RFOD(n_estimators=10, random_state=0, n_jobs=2, keep_evidence=False).fit(many_classes(is_late=True)).model_
    usable = {0: np.arange(400), 1: np.arange(300, 400), 2: np.arange(400)}
    assert sorted(j for j, _, _ in judged) == [0, 1, 2]
    for j, origin, in_bag in judged:
        assert len(origin) == 150
        np.testing.assert_array_equal(in_bag, model.forests[j].bags(model.seed, usable[j], 400)[:, origin])
    assert all(0 < len(model.columns[j].offsets) <= 60 for j in (0, 2))


def with_one_far_value():
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    table = pd.DataFrame({"x": x, "z": rng.normal(size=600), "y": 2 * x + rng.normal(size=600) / 10})
    table.loc[17, "y"] = 40
    return table


@pytest.mark.parametrize("fitness", ["robust", "plain"])
def test_one_far_value_does_not_choose_the_trees(fitness):
    """By plain R² all kept trees have it in their bags, where it is no error."""
    model = RFOD(random_state=0, fitness=fitness).fit(with_one_far_value()).model_
    in_bag = model.forests[2].bags(model.seed, np.arange(600), 600)[:, 17] > 0
    assert in_bag.all() == (fitness == "plain")


def test_one_far_value_is_judged():
    table = with_one_far_value()
    found = RFOD(random_state=0).fit_detect(table)
    assert abs(found.expected.loc[17, "y"] - 2 * table.loc[17, "x"]) < 1
    assert found.row_scores.argmax() == 17
    plain = RFOD(random_state=0, fitness="plain").fit_detect(table)
    assert np.isnan(plain.expected.loc[17, "y"])


def test_fitness_of_noise_near_the_ends_of_its_range():
    """Residuals that count as less than the range would make guessing look better than it is."""
    rng = np.random.default_rng(0)
    noise = pd.DataFrame({name: rng.choice([1.0, 1.5, 2.0], 1000) for name in "abc"})
    fitted = RFOD(random_state=0, column_types=dict.fromkeys("abc", "numeric")).fit(noise)
    assert max(forest.fitness for forest in fitted.forests_.values()) < 0.05
