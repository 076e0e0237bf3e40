"""Checking a model on its training rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from rfod import RFOD
from rfod._model import fit as training
from rfod._model import judge as judging


def many_classes(is_late, seed=0, n_rows=400):
    """Two columns that follow from each other, the second with gaps in front."""
    generator = np.random.default_rng(seed)
    number = generator.uniform(0, 12, n_rows)
    names = np.array([f"k{int(value)}" for value in number], dtype=object)
    if is_late:
        names[: n_rows * 3 // 4] = None
    return pa.table({"number": number, "name": names, "other": generator.normal(size=n_rows)})


def fitted(table, monkeypatch, limit):
    for module in (judging, training):
        monkeypatch.setattr(module, "SHARES_LIMIT", limit)
    return RFOD(n_estimators=10, random_state=0, n_jobs=1).fit(table).model_.fitness


@pytest.mark.parametrize("is_late", [False, True])
def test_fitness_of_many_classes_is_measured_on_rows_that_have_one(is_late, monkeypatch):
    table = many_classes(is_late)
    whole = fitted(table, monkeypatch, 4_000_000)
    assert whole[1] > 0.8
    n_classes = len(set(table["name"].drop_null().to_pylist()))
    assert fitted(table, monkeypatch, 100 * n_classes)[1] == pytest.approx(whole[1], abs=0.1)
    np.testing.assert_array_equal(fitted(table, monkeypatch, 4_000_000), whole)


def test_rows_that_were_drawn_twice_keep_their_trees(monkeypatch):
    """Calibration rows and those of intervals, which may be others, are told apart when a sample is taken."""
    monkeypatch.setattr(training, "CALIBRATION_ROWS", 150)
    monkeypatch.setattr(training, "SAMPLE_ROWS", 200)
    monkeypatch.setattr(training, "INTERVAL_ROWS", 60)
    asked = []
    judge = training.judge

    def spy(model, rows, *rest, **options):
        asked.append((model, rows))
        return judge(model, rows, *rest, **options)

    monkeypatch.setattr(training, "judge", spy)
    detector = RFOD(n_estimators=10, random_state=0, n_jobs=2).fit(many_classes(is_late=True))
    (model, rows), usable = asked[0], {0: np.arange(400), 1: np.arange(300, 400), 2: np.arange(400)}
    assert len(rows) == 150
    for j in range(3):
        expected = model.forests[j].bags(model.seed, usable[j], 400)[:, rows.trained_as]
        np.testing.assert_array_equal(rows.in_bag(j), expected)
    assert all(0 < len(known) <= 60 for known in detector.model_.interval_calibration[::2])
