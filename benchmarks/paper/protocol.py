"""What every method gets: the paper's split, seeds, limits, and stated training sizes on the largest datasets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks import datasets

SEEDS = 5
DEEP_SEEDS = 3
DEEP_EPOCHS = 50  # as in the paper

# On these, fifty epochs on two cores take hours: every method of the comparison trains on the same sample instead.
# Methods that are fast enough also have rows trained on all training rows (`train_rows` is null there).
LARGEST = ("kdd", "fraud", "backdoor", "online_fraud")
LARGEST_TRAIN_ROWS = 20_000

SECONDS_PER_UNIT = 3 * 3600
MEMORY_MB_PER_UNIT = 10_000


@dataclass(frozen=True)
class Limits:
    seconds: float = SECONDS_PER_UNIT
    memory_mb: float = MEMORY_MB_PER_UNIT
    threads: int = 1


def split(dataset: str, seed: int, train_rows: int | None) -> datasets.Split:
    """Half of the normal rows against the rest and all anomalies; `train_rows` samples the training half."""
    parts = datasets.split(datasets.load(dataset), seed)
    if train_rows is None or len(parts.train) <= train_rows:
        return parts
    rows = np.sort(np.random.default_rng([seed, 2]).choice(len(parts.train), train_rows, replace=False))
    return datasets.Split(parts.train.iloc[rows].reset_index(drop=True), parts.test, parts.labels)
