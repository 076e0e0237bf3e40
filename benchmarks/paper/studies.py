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

ALPHAS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25)
BETAS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
TREES = (5, 10, 25, 50, 100, 200)
KDD_TREES = 20
KDD_SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)

COMPLETE = "complete (defaults)"
ABLATIONS: dict[str, dict[str, Any]] = {
    COMPLETE: {},
    "without pruning": {"beta": 1.0},
    "with Gower": {"distance": "gower"},
    "with IQR-Gower": {"distance": "gower-iqr"},
    "without UWA (mean)": {"aggregation": "mean"},
    "UWA, raw uncertainty": {"uncertainty": "raw"},
}


def main() -> Iterator[Unit]:
    """Every method on every dataset, one seed after the other, so that a run that is stopped has all of a seed."""
    for seed in range(protocol.SEEDS):
        for name, method in METHODS.items():
            if seed < method.seeds:
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


def ablation() -> Iterator[Unit]:
    for seed in range(protocol.SEEDS):
        for dataset in datasets.ALL:
            for label, parameters in ABLATIONS.items():
                yield Unit("ablation", dataset, "rfod", seed, _rows(dataset), label, parameters)


def alpha() -> Iterator[Unit]:
    yield from _vary("alpha", ALPHAS)


def beta() -> Iterator[Unit]:
    yield from _vary("beta", BETAS)


def trees() -> Iterator[Unit]:
    yield from _vary("n_estimators", TREES, study="trees")


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
    "ablation": ablation,
    "alpha": alpha,
    "beta": beta,
    "trees": trees,
    "scalability": scalability,
}


def _vary(parameter: str, values: tuple[float, ...], study: str = "") -> Iterator[Unit]:
    for seed in range(protocol.DEEP_SEEDS):
        for dataset in SIX_DATASETS:
            for value in values:
                label = f"{parameter}={value}"
                yield Unit(study or parameter, dataset, "rfod", seed, _rows(dataset), label, {parameter: value})


def _rows(dataset: str) -> int | None:
    return protocol.LARGEST_TRAIN_ROWS if dataset in protocol.LARGEST else None
