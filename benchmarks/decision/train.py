"""Learns the decision from the inputs that extract.py wrote, and measures it on families of tables left out.

    python -m benchmarks.decision.train CORPUS INPUTS [--to src/rfod/_evidence] [--folds 5]

With --folds, each family of tables is judged by heads that have not seen it, and the results are printed and kept;
without, the heads are learned from all tables and written as arrays.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks import record
from benchmarks.decision.measure import print_measures
from rfod._evidence.context import ORDER_INPUTS, SUSPECT_INPUTS, suspect_inputs
from rfod._evidence.decision import FIELDS, SCREENED, Decision
from rfod._evidence.inputs import CELL_INPUTS, NEVER_FALLING
from rfod._forest.boosted import LEAF, BoostedTrees

CELL_SIGNS = [int(name in NEVER_FALLING) for name in CELL_INPUTS]
TABLE_SIGNS = [*CELL_SIGNS, *(int(name == "between") for name in ORDER_INPUTS)]
TABLE_SIGNS += [int(name == "first") for name in SUSPECT_INPUTS]
VERSION = "1"  # of the decision; every output names it
SCREEN_SIZE, CELL_SIZE, TABLE_SIZE = (24, 8), (220, 16), (260, 16)  # trees, leaves
N_RIGHT, N_WRONG = 1_200, 500  # cells per version that a head is learned from
WEIGHTS = {"package": 1.0, "everyday": 4.0, "real": 2.0} | dict.fromkeys(
    ("dependency", "outlier", "typo", "mixed"), 3.0
)
CLEAN_WEIGHT = 2.0


@dataclass(frozen=True, eq=False)
class Version:
    """One version of a table with the inputs of its cells."""

    record: dict[str, Any]
    inputs: NDArray[np.float16]
    order: NDArray[np.float16]
    shuffled_order: NDArray[np.float16]
    codes: NDArray[np.int32]
    wrong: NDArray[np.bool_]

    @property
    def weight(self) -> float:
        """How much the version counts: few tables of a sort count more each, clean ones more than others."""
        sort = "package" if self.record["sort"] == "package" else self.record["table"].partition("_")[0]
        return WEIGHTS[sort] * (CLEAN_WEIGHT if self.record["version"] == "clean" else 1.0)

    @property
    def training_order(self) -> NDArray[np.float16]:
        """Row order of every third version is that of a shuffled table, so that order alone is not relied on."""
        return self.shuffled_order if hash_of(self.record["path"]) % 3 == 0 else self.order


def load(corpus: Path, folder: Path) -> list[Version]:
    """All versions that have inputs."""
    versions = []
    for entry in json.loads((corpus / "index.json").read_text())["versions"]:
        path = folder / f"{entry['path'].replace('/', '__')}.npz"
        if path.exists():
            with np.load(path) as arrays:
                versions.append(
                    Version(
                        entry,
                        arrays["inputs"],
                        arrays["order"],
                        arrays["shuffled_order"],
                        arrays["codes"],
                        arrays["wrong"] > 0,
                    )
                )
    return versions


def sampled(rows: NDArray[Any], wrong: NDArray[np.bool_], usable: NDArray[np.bool_], rng: Any) -> Any:
    """Some cells of a version, with weights that stand for all of its usable ones."""
    parts = []
    for label, most in ((1.0, N_WRONG), (0.0, N_RIGHT)):
        cells = np.flatnonzero(usable & (wrong == bool(label)))
        if len(cells):
            kept = rng.choice(cells, min(most, len(cells)), replace=False)
            parts.append(
                (rows[kept].astype(np.float32), np.full(len(kept), label), np.full(len(kept), len(cells) / len(kept)))
            )
    if not parts:
        return np.zeros((0, rows.shape[1]), np.float32), np.zeros(0), np.zeros(0)
    return tuple(np.concatenate(piece) for piece in zip(*parts, strict=True))


def fit_head(parts: list[Any], weights: list[float], signs: list[int], size: tuple[int, int]) -> BoostedTrees:
    """Monotone boosting; a version counts by the square root of its cells."""
    rows, labels = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    counts = [part[2] * weight * 40 / max(1.0, part[3]) ** 0.5 for part, weight in zip(parts, weights, strict=True)]
    learner = HistGradientBoostingClassifier(
        max_iter=size[0], max_leaf_nodes=size[1], learning_rate=0.1 if size[0] > 50 else 0.25, min_samples_leaf=50,
        l2_regularization=1.0, max_bins=127, monotonic_cst=signs, early_stopping=False, random_state=0,
    )  # fmt: skip
    learner.fit(rows, labels, sample_weight=np.concatenate(counts))
    return as_arrays(learner)


def as_arrays(learner: HistGradientBoostingClassifier) -> BoostedTrees:
    """The trees of scikit-learn's boosting as plain arrays."""
    trees = [stage[0].nodes for stage in learner._predictors]
    nodes = np.concatenate(trees)
    starts = np.concatenate([[0], np.cumsum([len(tree) for tree in trees])]).astype(np.int32)
    is_leaf = nodes["is_leaf"].astype(bool)
    return BoostedTrees(
        np.where(is_leaf, LEAF, nodes["feature_idx"]).astype(np.uint8),
        np.where(is_leaf, nodes["value"], nodes["num_threshold"]).astype(np.float32),
        nodes["left"].astype(np.uint8),
        nodes["right"].astype(np.uint8),
        starts,
        float(learner._baseline_prediction.ravel()[0]),
    )


def learn(versions: list[Version], seed: int = 0) -> Decision:
    """The three heads. The table head sees first probabilities of cell heads that were learned without the family."""
    rng = np.random.default_rng(seed)
    flat = [version.inputs.reshape(-1, len(CELL_INPUTS)) for version in versions]
    wrong = [version.wrong.ravel() for version in versions]
    sizes = [float(len(cells)) for cells in wrong]
    weights = [version.weight for version in versions]

    def parts_of(rows: list[Any], usable: list[NDArray[np.bool_]]) -> list[Any]:
        return [(*sampled(r, w, u, rng), size) for r, w, u, size in zip(rows, wrong, usable, sizes, strict=True)]

    everything = [np.ones(len(cells), dtype=np.bool_) for cells in wrong]
    screen = fit_head(parts_of(flat, everything), weights, CELL_SIGNS, SCREEN_SIZE)
    chances = [screen.probability(rows.astype(np.float32)) for rows in flat]
    usable = [chance >= SCREENED for chance in chances]
    parts = parts_of(flat, usable)
    cell = fit_head(parts, weights, CELL_SIGNS, CELL_SIZE)
    half = np.array([hash_of(version.record["family"]) % 2 for version in versions])
    table_rows, picked = [], []
    others = [
        fit_head(
            [p for p, h in zip(parts, half, strict=True) if h != side],
            [w for w, h in zip(weights, half, strict=True) if h != side],
            CELL_SIGNS,
            CELL_SIZE,
        )
        for side in (0, 1)
    ]
    for version, rows, chance, use, side in zip(versions, flat, chances, usable, half, strict=True):
        first = chance.copy()
        first[use] = others[side].probability(rows[use].astype(np.float32))
        context = suspect_inputs(first.reshape(version.wrong.shape), version.codes)
        places = np.flatnonzero(use)
        table_rows.append(
            np.hstack(
                [
                    rows[places],
                    version.training_order.reshape(-1, len(ORDER_INPUTS))[places],
                    context.reshape(-1, len(SUSPECT_INPUTS))[places],
                ]
            )
        )
        picked.append(places)
    table_parts = [
        (*sampled(rows, w[places], np.ones(len(places), dtype=np.bool_), rng), size)
        for rows, w, places, size in zip(table_rows, wrong, picked, sizes, strict=True)
    ]
    table = fit_head(table_parts, weights, TABLE_SIGNS, TABLE_SIZE)
    return Decision(screen, cell, table, version="")


def hash_of(text: str) -> int:
    """The same number for the same text in every process."""
    return int.from_bytes(__import__("hashlib").sha256(text.encode()).digest()[:4], "big")


def judge(decision: Decision, version: Version) -> tuple[NDArray[Any], ...]:
    """First probabilities, those with context, and those with context had the rows been shuffled: (columns, rows)."""
    inputs = version.inputs.astype(np.float32)
    first = decision.first(inputs)
    orders = (version.order, version.shuffled_order)
    return first, *(decision.with_context(inputs, order.astype(np.float32), version.codes, first) for order in orders)


def save(decision: Decision, folder: Path, card: dict[str, Any]) -> None:
    """The heads as arrays, and the card."""
    arrays: dict[str, Any] = {}
    for head in ("screen", "cell", "table"):
        trees = getattr(decision, head)
        arrays |= {f"{head}_{field}": getattr(trees, field) for field in FIELDS} | {
            f"{head}_base": np.float64(trees.base)
        }
    np.savez_compressed(folder / "decision.npz", **arrays)
    (folder / "decision.json").write_text(json.dumps(card, indent=1) + "\n")


def card_of(versions: list[Version]) -> dict[str, Any]:
    """What the learned file says of itself."""
    records = [version.record for version in versions]
    return {
        "version": VERSION,
        "learned_from": {
            "versions": len(records),
            "tables": len({entry["table"] for entry in records}),
            "families": len({entry["family"] for entry in records}),
            "cells": sum(version.wrong.size for version in versions),
            "wrong_cells": sum(int(version.wrong.sum()) for version in versions),
            "list": "benchmarks/decision/corpus.json",
        },
        "held_out": "benchmarks/results/decision.json",
        "libraries": record.versions(),
        "cell_inputs": list(CELL_INPUTS),
        "context_inputs": [*ORDER_INPUTS, *SUSPECT_INPUTS],
        "unknown": "errors in the sense of a value only, whole columns in a wrong unit, tables of fewer than 200 rows",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("--to", type=Path)
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    versions = load(options.corpus, options.inputs)
    print(f"{len(versions)} versions")
    if options.folds:
        families = sorted({version.record["family"] for version in versions}, key=hash_of)
        fold = {family: number % options.folds for number, family in enumerate(families)}
        judged: list[Any] = [None] * len(versions)
        for k in range(options.folds):
            began = time.perf_counter()
            decision = learn([version for version in versions if fold[version.record["family"]] != k])
            for place, version in enumerate(versions):
                if fold[version.record["family"]] == k:
                    judged[place] = judge(decision, version)
            print(f"fold {k}: {time.perf_counter() - began:.0f} s", flush=True)
        found = {}
        for stage, name in enumerate(("cell", "table", "table, shuffled")):
            print(name)
            found[name] = print_measures(
                [(version.record, version.wrong, pair[stage]) for version, pair in zip(versions, judged, strict=True)]
            )
        if options.results:
            content = {"machine": record.machine(), **record.commit(), "folds": options.folds, "heads": found}
            record.write_json(options.results, content)
    if options.to:
        decision = learn(versions)
        save(decision, options.to, card_of(versions))
        print((options.to / "decision.npz").stat().st_size)


if __name__ == "__main__":
    main()
