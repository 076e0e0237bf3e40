"""The five measures, and the stated rules behind three of them."""

import numpy as np
import pytest
from benchmarks.paper import metrics


def test_a_perfect_ranking() -> None:
    labels = np.array([0, 0, 0, 1, 1], dtype=np.int8)
    found = metrics.measure(labels, np.array([0.0, 1.0, 2.0, 9.0, 10.0]), seed=0)
    assert found["auc_roc"] == found["auc_pr"] == found["f1"] == found["accuracy"] == 1.0


def test_as_many_are_flagged_as_there_are_anomalies() -> None:
    labels = np.array([0, 1, 0, 1], dtype=np.int8)
    found = metrics.measure(labels, np.array([4.0, 3.0, 2.0, 1.0]), seed=0)
    assert found["f1"] == pytest.approx(0.5)
    assert found["accuracy"] == pytest.approx(0.5)


def test_equal_scores_are_not_flagged_by_row_order() -> None:
    flags = np.stack([metrics.flag_most_anomalous(np.zeros(100), 10, seed) for seed in range(50)])
    assert (flags.sum(axis=1) == 10).all()
    assert flags[:, :10].mean() < 0.3


def test_probabilities_stay_off_the_ends() -> None:
    assert metrics.probabilities(np.array([-5.0, 0.0, 5.0])).tolist() == [0.001, 0.5, 0.999]
    assert metrics.probabilities(np.array([3.0, 3.0])).tolist() == [0.5, 0.5]
