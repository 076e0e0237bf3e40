"""What every method gets: the paper's split, seeds, limits, and stated training sizes on the largest datasets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks import datasets

SEEDS = 5
DEEP_SEEDS = 3
DEEP_EPOCHS = 50  # as in the paper; fewer where they would pass a method's budget of gradient steps

# On these every method trains on the same sample of the training rows, since the slow ones would take hours.
LARGEST = ("kdd", "fraud", "backdoor", "online_fraud")
LARGEST_TRAIN_ROWS = 10_000

# Larger test sets are sampled, the share of anomalies kept, for all methods alike: DIF needs 2 seconds per 1,000 rows.
MOST_TEST_ROWS = 50_000

SECONDS_PER_UNIT = 600  # of processor time, so that other work on the machine does not decide who passes the limit
WALL_SECONDS_PER_UNIT = 3600
MEMORY_MB_PER_UNIT = 10_000


@dataclass(frozen=True)
class Limits:
    seconds: float = SECONDS_PER_UNIT
    wall_seconds: float = WALL_SECONDS_PER_UNIT
    memory_mb: float = MEMORY_MB_PER_UNIT
    threads: int = 1


def split(dataset: str, seed: int, train_rows: int | None) -> datasets.Split:
    """Half of the normal rows against the rest and all anomalies; `train_rows` samples the training half."""
    parts = datasets.split(datasets.load(dataset), seed)
    train, test, labels = parts.train, parts.test, parts.labels
    if train_rows is not None and len(train) > train_rows:
        rows = np.sort(np.random.default_rng([seed, 2]).choice(len(train), train_rows, replace=False))
        train = train.iloc[rows].reset_index(drop=True)
    if len(test) > MOST_TEST_ROWS:
        rows = _sample_with_shares(labels, MOST_TEST_ROWS, seed)
        test, labels = test.iloc[rows].reset_index(drop=True), labels[rows]
    return datasets.Split(train, test, labels)


def epochs(n_rows: int, batch_size: int, most_steps: int) -> int:
    """As many of the paper's fifty epochs as fit into a budget of gradient steps, at least one."""
    steps_per_epoch = -(-n_rows // batch_size)
    return max(1, min(DEEP_EPOCHS, most_steps // steps_per_epoch))


def _sample_with_shares(labels: NDArray[np.int8], n_rows: int, seed: int) -> NDArray[np.intp]:
    generator = np.random.default_rng([seed, 5])
    n_anomalies = round(n_rows * int(labels.sum()) / len(labels))
    return np.sort(
        np.concatenate(
            [
                generator.choice(np.flatnonzero(labels == label), size, replace=False)
                for label, size in ((1, n_anomalies), (0, n_rows - n_anomalies))
            ]
        )
    )
