"""Learns the decision from the inputs that extract.py wrote, and measures it on families of tables left out.

    OMP_NUM_THREADS=1 python -m benchmarks.decision.train CORPUS INPUTS --folds 6 [--heads DIRECTORY] [--results FILE]
        [--to src/rfod/_evidence]

Each family of tables is judged by heads that have not seen it, and the results are printed and kept; the probabilities
so found also calibrate the heads that are learned from all tables and written as arrays with --to. --heads keeps the
heads of each fold and of all tables, for benchmarks on tables that they have not seen, and takes those that a folder
has already.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks import record
from benchmarks.decision.extract import file_of
from benchmarks.decision.measure import print_measures
from rfod._evidence.context import ORDER_INPUTS, SUSPECT_INPUTS, Suspicion, suspect_inputs
from rfod._evidence.decision import FIELDS, HEADS, SCREENED, LearnedDecision, screened_rows, trees_from
from rfod._evidence.inputs import CELL_INPUTS, NEVER_FALLING
from rfod._forest.boosted import LEAF, BoostedTrees

CELL_SIGNS = [int(name in NEVER_FALLING) for name in CELL_INPUTS]
TABLE_SIGNS = [*CELL_SIGNS, *(int(name == "between") for name in ORDER_INPUTS)]
TABLE_SIGNS += [int(name == "first") for name in SUSPECT_INPUTS]
VERSION = "3"  # of the decision; every output names it
SCREEN_SIZE, CELL_SIZE, TABLE_SIZE = (40, 16, 0.25), (240, 16, 0.1), (420, 20, 0.08)  # trees, leaves, learning rate
ALL = "_all"  # in place of the number of a fold
CALIBRATED_FROM = 0.05  # probability of the cells that the calibration is fitted on
N_RIGHT, N_WRONG = 1_200, 500  # cells per version that a head is learned from
GOVERNMENT = ("dependency", "outlier", "typo", "mixed")
WEIGHTS = {"package": 1.0, "everyday": 50.0, "real": 4.0} | dict.fromkeys(GOVERNMENT, 20.0)  # when heads are learned
CALIBRATION_WEIGHTS = {"package": 1.0, "everyday": 4.0, "real": 2.0} | dict.fromkeys(GOVERNMENT, 3.0)
QUIET = ("clean", "light")  # versions that count more: most tables that people scan are nearly clean
QUIET_WEIGHT, QUIET_CALIBRATION = 2.0, 3.0  # times as much when heads are learned, and in the calibration
_SHARED: dict[str, Any] = {}  # what forked processes read


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
    def training_order(self) -> NDArray[np.float16]:
        """Row order of every third version is that of a shuffled table, so that order alone is not relied on."""
        return self.shuffled_order if hash_of(self.record["path"]) % 3 == 0 else self.order


def weight_of(entry: dict[str, Any], weights: dict[str, float], quiet: float = 1.0) -> float:
    """How much a version counts, by its record: few tables of a sort count more each, quiet ones `quiet` times."""
    sort = "package" if entry["sort"] == "package" else entry["table"].partition("_")[0]
    return weights[sort] * (quiet if entry["version"] in QUIET else 1.0)


def load(corpus: Path, folder: Path) -> list[Version]:
    """All versions that have inputs."""
    versions = []
    for entry in json.loads((corpus / "index.json").read_text())["versions"]:
        path = file_of(folder, entry)
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


def fit_head(parts: list[Any], weights: list[float], signs: list[int], size: tuple[int, int, float]) -> BoostedTrees:
    """Monotone boosting; a version counts by the square root of its cells, and a row once in the mean: the
    regularisation is relative to that."""
    rows, labels = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    scaled = [part[2] * weight / max(1.0, part[3]) ** 0.5 for part, weight in zip(parts, weights, strict=True)]
    counts = np.concatenate(scaled)
    learner = HistGradientBoostingClassifier(
        max_iter=size[0], max_leaf_nodes=size[1], learning_rate=size[2], min_samples_leaf=50, l2_regularization=1.0,
        max_bins=127, monotonic_cst=signs, early_stopping=False, random_state=0,
    )  # fmt: skip
    learner.fit(rows, labels, sample_weight=counts / counts.mean())
    return as_arrays(learner)


def calibrated(trees: BoostedTrees, slope: float, shift: float) -> BoostedTrees:
    """The same trees with other log-odds: slope times what they were, plus the shift."""
    limit = np.where(trees.input == LEAF, trees.limit * np.float32(slope), trees.limit)
    return replace(trees, limit=limit, base=slope * trees.base + shift)


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


def learn(versions: list[Version], seed: int = 0) -> LearnedDecision:
    """The three heads. The table head sees first probabilities of cell heads that were learned without the family."""
    rng = np.random.default_rng(seed)
    flat = [version.inputs.reshape(-1, len(CELL_INPUTS)) for version in versions]
    wrong = [version.wrong.ravel() for version in versions]
    sizes = [float(len(cells)) for cells in wrong]
    weights = [weight_of(version.record, WEIGHTS, QUIET_WEIGHT) for version in versions]

    def parts_of(rows: list[Any], usable: list[NDArray[np.bool_]]) -> list[Any]:
        return [(*sampled(r, w, u, rng), size) for r, w, u, size in zip(rows, wrong, usable, sizes, strict=True)]

    everything = [np.ones(len(cells), dtype=np.bool_) for cells in wrong]
    screen = fit_head(parts_of(flat, everything), weights, CELL_SIGNS, SCREEN_SIZE)
    chances = [screen.probability(rows.astype(np.float32)) for rows in flat]
    usable = [chance >= SCREENED for chance in chances]
    parts = parts_of(flat, usable)
    cell = fit_head(parts, weights, CELL_SIGNS, CELL_SIZE)
    third = np.array([hash_of(version.record["family"]) % 3 for version in versions])
    table_rows, picked = [], []
    others = [
        fit_head(
            [p for p, own in zip(parts, third, strict=True) if own != side],
            [w for w, own in zip(weights, third, strict=True) if own != side],
            CELL_SIGNS,
            CELL_SIZE,
        )
        for side in range(3)
    ]
    for version, rows, chance, use, side in zip(versions, flat, chances, usable, third, strict=True):
        first = chance.copy()
        first[use] = others[side].probability(rows[use].astype(np.float32))
        context = suspect_inputs(first.reshape(version.wrong.shape), version.codes)
        order = version.training_order.reshape(-1, len(ORDER_INPUTS))
        places = screened_rows(first, order)
        table_rows.append(np.hstack([rows[places], order[places], context.reshape(-1, len(SUSPECT_INPUTS))[places]]))
        picked.append(places)
    table_parts = [
        (*sampled(rows, w[places], np.ones(len(places), dtype=np.bool_), rng), size)
        for rows, w, places, size in zip(table_rows, wrong, picked, sizes, strict=True)
    ]
    table = fit_head(table_parts, weights, TABLE_SIGNS, TABLE_SIZE)
    return LearnedDecision(screen, cell, table, version="")


def folds_of(versions: list[Version], n_folds: int) -> NDArray[np.intp]:
    """(versions,): the fold in which each is left out. Versions of a family stay together; folds are filled evenly with
    the tables of each source, the largest families first."""
    sizes: Counter[tuple[bool, str]] = Counter()
    for version in versions:
        sizes[version.record["sort"] == "package", version.record["family"]] += 1
    load = np.zeros((2, n_folds))
    fold_of = {}
    for (is_package, family), size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        fold_of[family] = int(np.argmin(load[int(is_package)]))
        load[int(is_package), fold_of[family]] += size
    return np.array([fold_of[version.record["family"]] for version in versions])


def cross_judge(
    versions: list[Version], fold: NDArray[np.intp], processes: int, keep: Path | None = None
) -> list[tuple[NDArray[Any], ...]]:
    """Each version judged by heads that have not seen its family, not yet calibrated; the heads may be kept."""
    _SHARED["versions"], _SHARED["fold"], _SHARED["heads"] = versions, fold, keep
    judged: dict[int, tuple[NDArray[Any], ...]] = {}
    with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
        for k, (found, decision) in enumerate(pool.map(_judge_fold, range(int(fold.max()) + 1))):
            judged |= found
            if keep is not None:
                save(decision, keep, {"fold": k}, f"fold{k}")
    if keep is not None:
        families = {version.record["family"]: int(k) for version, k in zip(versions, fold, strict=True)}
        (keep / "folds.json").write_text(json.dumps(families, indent=1) + "\n")
    return [judged[place] for place in range(len(versions))]


def left_out_heads(folder: Path) -> dict[str, LearnedDecision]:
    """By family, the heads of the fold that left it out, as `--heads` kept them."""
    fold_of = json.loads((folder / "folds.json").read_text())
    decisions = [kept_heads(folder, k) for k in range(max(fold_of.values()) + 1)]
    return {family: decisions[k] for family, k in fold_of.items()}


def kept_heads(folder: Path, k: int | str) -> LearnedDecision:
    """The heads of one fold, or of all tables, not calibrated."""
    with np.load(folder / f"fold{k}.npz") as arrays:
        return LearnedDecision(*(trees_from(arrays, head) for head in HEADS), version="")


def learn_from_all(versions: list[Version], keep: Path | None) -> LearnedDecision:
    """The heads of all versions, not calibrated; kept and taken as those of a fold are."""
    if keep is not None and (keep / f"fold{ALL}.npz").exists():
        return kept_heads(keep, ALL)
    decision = learn(versions)
    if keep is not None:
        save(decision, keep, {"fold": ALL}, f"fold{ALL}")
    return decision


def _judge_fold(k: int) -> tuple[dict[int, tuple[NDArray[Any], ...]], LearnedDecision]:
    began = time.perf_counter()
    versions, fold, heads = _SHARED["versions"], _SHARED["fold"], _SHARED["heads"]
    if heads is not None and (heads / f"fold{k}.npz").exists():
        decision = kept_heads(heads, k)
    else:
        decision = learn([version for version, own in zip(versions, fold, strict=True) if own != k])
    found = {int(place): judge(decision, versions[place]) for place in np.flatnonzero(fold == k)}
    print(f"fold {k}: {time.perf_counter() - began:.0f} s", flush=True)
    return found, decision


def fit_calibration(versions: list[Version], chances: list[NDArray[Any]]) -> tuple[float, float]:
    """Slope and shift of the log-odds with which probabilities of tables left out hold, over the mix of versions."""
    odds, wrong, weights = [], [], []
    for version, chance in zip(versions, chances, strict=True):
        used = chance >= CALIBRATED_FROM
        odds.append(log_odds(chance[used]))
        wrong.append(version.wrong[used])
        weight = weight_of(version.record, CALIBRATION_WEIGHTS, QUIET_CALIBRATION) / version.wrong.size**0.5
        weights.append(np.full(int(used.sum()), weight))
    return slope_and_shift(odds, wrong, weights)


def slope_and_shift(
    odds: list[NDArray[Any]], labels: list[NDArray[np.bool_]], weights: list[NDArray[np.float64]]
) -> tuple[float, float]:
    """Those of the log-odds with which the labels hold best; one array per version."""
    learner = LogisticRegression(C=1e6).fit(
        np.concatenate(odds)[:, None], np.concatenate(labels), sample_weight=np.concatenate(weights)
    )
    return float(learner.coef_[0, 0]), float(learner.intercept_[0])


def log_odds(chance: NDArray[Any]) -> NDArray[np.float64]:
    """Finite for 0 and 1."""
    clipped = np.clip(chance.astype(np.float64), 1e-9, 1 - 1e-9)
    return np.asarray(np.log(clipped / (1 - clipped)))


def with_calibration(chance: NDArray[Any], slope: float, shift: float) -> NDArray[np.float64]:
    """Probabilities, calibrated."""
    return np.asarray(1 / (1 + np.exp(-(slope * log_odds(chance) + shift))))


def hash_of(text: str) -> int:
    """The same number for the same text in every process."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def judge(decision: LearnedDecision, version: Version) -> tuple[NDArray[Any], ...]:
    """First probabilities, those with context, and those with context had the rows been shuffled: (columns, rows)."""
    inputs = version.inputs.astype(np.float32)
    first = decision.first(inputs)
    suspicion = Suspicion(first)

    def in_context(orders: NDArray[np.float16]) -> NDArray[np.float64]:
        found = [
            decision.in_context(first[c], order, suspicion.inputs(c, version.codes[c]), inputs[c].__getitem__)
            for c, order in enumerate(orders.astype(np.float32))
        ]
        return np.stack(found)

    return first, in_context(version.order), in_context(version.shuffled_order)


def save(decision: LearnedDecision, folder: Path, card: dict[str, Any], name: str = "decision") -> None:
    """The heads as arrays, and the card."""
    arrays: dict[str, Any] = {}
    for head in HEADS:
        trees = getattr(decision, head)
        arrays |= {f"{head}_{field}": getattr(trees, field) for field in FIELDS} | {
            f"{head}_base": np.float64(trees.base)
        }
    np.savez_compressed(folder / f"{name}.npz", **arrays)
    (folder / f"{name}.json").write_text(json.dumps(card, indent=1) + "\n")


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
    parser.add_argument("--folds", type=int, default=0, help="needed for the calibration of what is written")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--heads", type=Path, help="folder for the heads of the folds; those that are there are used")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--note", help="for the card: what else is to be known of how the heads were learned")
    options = parser.parse_args()
    versions = load(options.corpus, options.inputs)
    print(f"{len(versions)} versions")
    calibration = (1.0, 0.0)
    if options.heads:
        options.heads.mkdir(parents=True, exist_ok=True)
    if options.folds:
        fold = folds_of(versions, options.folds)
        judged = cross_judge(versions, fold, options.processes, options.heads)
        chances = [table for _, table, _ in judged]
        calibration = fit_calibration(versions, chances)
        per_fold = []  # each fold with the calibration of the others
        for k in range(options.folds):
            others = np.flatnonzero(fold != k)
            per_fold.append(fit_calibration([versions[i] for i in others], [chances[i] for i in others]))
        print(f"calibration {calibration}, per fold {per_fold}")
        found = {}
        for stage, name in enumerate(("cell", "table", "table, shuffled")):
            print(name)
            shown = [
                (version.record, version.wrong, with_calibration(stages[stage], *per_fold[k]) if stage else stages[0])
                for version, stages, k in zip(versions, judged, fold, strict=True)
            ]
            found[name] = print_measures(shown)
        if options.results:
            content = {"machine": record.machine(), **record.commit(), "folds": options.folds}
            record.write_json(options.results, content | {"calibration": calibration, "heads": found})
    if options.to:
        decision = learn_from_all(versions, options.heads)
        decision = replace(decision, table=calibrated(decision.table, *calibration))
        card = card_of(versions) | {"calibration": calibration}
        save(decision, options.to, card | ({"note": options.note} if options.note else {}))
        print((options.to / "decision.npz").stat().st_size)


if __name__ == "__main__":
    main()
