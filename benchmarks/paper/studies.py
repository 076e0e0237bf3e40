"""Which units belong to which experiment of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks import datasets
from benchmarks.paper import protocol
from benchmarks.paper.methods import METHODS
from benchmarks.paper.units import Unit

QUICK_DATASETS = ("pima", "ionosphere", "cardiotocography", "wine", "spambase", "pageblocks", "thyroid")
QUICK_METHODS = ("rfod", "ecod", "lof", "if", "ocsvm", "knn")

# Small, middle and large; numbers only and mixed; the paper names none of its six.
SIX_DATASETS = ("spambase", "bank", "ethereum", "thyroid", "pageblocks", "cardiotocography")

BETAS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
TREES = (10, 25, 50, 100, 200)
DEFAULT_BETA, DEFAULT_TREES = 0.5, 100
KDD_TREES = 10
KDD_SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)


def main() -> Iterator[Unit]:
    """Every method on every dataset, one seed after the other, so that a run that is stopped has all of a seed."""
    for seed in range(protocol.SEEDS):
        for name, method in METHODS.items():
            if method.in_grid and seed < method.seeds:
                for dataset in datasets.ALL:
                    yield Unit("main", dataset, name, seed, _rows(dataset))


def full() -> Iterator[Unit]:
    """The largest datasets again, trained on all training rows, by the methods that are fast enough."""
    for seed in range(protocol.DEEP_SEEDS):
        for name in ("rfod", "ecod", "if"):
            for dataset in protocol.LARGEST:
                yield Unit("full", dataset, name, seed)


def quick() -> Iterator[Unit]:
    for dataset in QUICK_DATASETS:
        for name in QUICK_METHODS:
            yield Unit("quick", dataset, name, seed=0)


def variants() -> Iterator[Unit]:
    """Ablation on all datasets, pruning and tree counts on six; what needs no other trees is read off the same fit."""
    for seed in range(protocol.DEEP_SEEDS):
        for dataset in datasets.ALL:
            yield _grown(dataset, seed)
            yield _grown(dataset, seed, beta=1.0)
        for dataset in SIX_DATASETS:
            for beta in BETAS:
                if beta not in (DEFAULT_BETA, 1.0):
                    yield _grown(dataset, seed, beta=beta)
            for n_estimators in TREES:
                if n_estimators != DEFAULT_TREES:
                    yield _grown(dataset, seed, n_estimators=n_estimators)


def scalability() -> Iterator[Unit]:
    """Six training sizes of kdd, all rows per tree so that the size matters; each also with trees hardly judged."""
    n_train = int((datasets.load("kdd").labels == 0).sum()) // 2
    settings: dict[str, Any] = {"max_samples": 1.0, "n_estimators": KDD_TREES}
    for share in KDD_SHARES:
        rows = round(share * n_train)
        yield Unit("scalability", "kdd", "rfod", 0, rows, f"{share:.0%} pruned", settings)
        yield Unit("scalability", "kdd", "rfod", 0, rows, f"{share:.0%} unjudged", settings | {"judged_rows": 1})


STUDIES = {
    "main": main,
    "full": full,
    "quick": quick,
    "variants": variants,
    "scalability": scalability,
}


def _grown(dataset: str, seed: int, **growth: float) -> Unit:
    label = ", ".join(f"{name}={value}" for name, value in growth.items()) or "defaults"
    return Unit("variants", dataset, "rfod", seed, _rows(dataset), label, growth)


def _rows(dataset: str) -> int | None:
    return protocol.LARGEST_TRAIN_ROWS if dataset in protocol.LARGEST else None
