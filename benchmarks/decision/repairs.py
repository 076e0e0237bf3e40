"""Learns how likely a proposed repair is right, and measures it on families of tables left out.

    OMP_NUM_THREADS=1 python -m benchmarks.decision.repairs CORPUS PROPOSALS --heads DIRECTORY [--only TEXT]
    OMP_NUM_THREADS=1 python -m benchmarks.decision.repairs CORPUS PROPOSALS --learn [--to src/rfod/_evidence]
        [--results FILE]

The first writes one .npz per version of a table: all proposals for the cells that the heads of the fold that left the
family out (train.py --heads) do not take for right, with their inputs, and which are right: equal to the text of the
clean version but for outer white space. The second learns the probability of a repair from them, each family judged by
trees that have not seen it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks import record
from benchmarks.decision.extract import file_of, make_files, scanned
from benchmarks.decision.train import (
    CALIBRATION_WEIGHTS,
    QUIET_CALIBRATION,
    WEIGHTS,
    as_arrays,
    calibrated,
    folds_of,
    left_out_heads,
    log_odds,
    slope_and_shift,
    weight_of,
    with_calibration,
)
from rfod._evidence.decision import LearnedDecision, load_decision
from rfod._evidence.repair import FIELDS, NEVER_FALLING, NEVER_RISING, REPAIR_INPUTS, REPAIRED_FROM
from rfod._evidence.wrong_cells import CellProbabilities
from rfod._forest.boosted import BoostedTrees
from rfod.params import SURE

VERSION = "2"
MOST_CELLS = 4_000  # of a version, drawn at random where there are more
SIGNS = [int(name in NEVER_FALLING) - int(name in NEVER_RISING) for name in REPAIR_INPUTS]
N_FOLDS = 3  # where those of --heads are not given
TREES, LEAVES = 80, 12
MOST_LEARNED = 1_200  # proposals of a version
CALIBRATED_FROM = 0.5  # probability of the likeliest proposals that the calibration is fitted on


def proposals_of(heads: Path | None, version: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The proposals for the cells of one version."""
    found = scanned(folder, keep_evidence=False)
    clean = pq.read_table(folder.parent / "clean" / "dirty.parquet")
    wrong = pq.read_table(folder / "wrong.parquet")
    known = load_decision() if heads is None else _left_out(heads, version["family"])
    n_wrong = int(sum((column.to_numpy() > 0).sum() for column in wrong.columns))
    return {"n_wrong": n_wrong} | _proposals(found, known, clean)


def _left_out(folder: Path, family: str) -> LearnedDecision:
    """The heads that have not seen a family, calibrated as those of the package are."""
    heads = left_out_heads(folder)[family]
    card = json.loads(files("rfod._evidence").joinpath("decision.json").read_text(encoding="utf-8"))
    return replace(heads, table=calibrated(heads.table, *card["calibration"]))


def _proposals(found: Any, heads: Any, clean: Any) -> dict[str, Any]:
    """Of the cells of at least REPAIRED_FROM: number of the cell, inputs, label and text of each proposal."""
    judged = found.judged
    probabilities = CellProbabilities(judged, judged.table, decision=heads)
    chance = probabilities.probability
    rng = np.random.default_rng(0)
    rows, columns = np.nonzero(chance >= REPAIRED_FROM)
    n_cells = len(rows)
    if n_cells > MOST_CELLS:
        kept = np.sort(rng.choice(n_cells, MOST_CELLS, replace=False))
        rows, columns = rows[kept], columns[kept]
    parts: dict[str, list[Any]] = {name: [] for name in ("cell", "inputs", "right", "text", "row", "column")}
    for c in np.unique(columns).tolist():
        places = np.flatnonzero(columns == c)
        made = probabilities.repairs.proposed(c, rows[places].tolist())
        truth = clean.column(c).to_pylist()
        parts["cell"].append(places[made.cell])
        parts["inputs"].append(made.inputs)
        parts["row"].append(rows[places[made.cell]])
        parts["column"].append(np.full(len(made.cell), c))
        parts["text"].append(np.array([proposal.text for proposal in made.proposals], dtype=object))
        parts["right"].append(
            np.array(
                [
                    proposal.text == (truth[row] or "").strip()
                    for row, proposal in zip(rows[places[made.cell]].tolist(), made.proposals, strict=True)
                ],
                dtype=np.bool_,
            )
        )
    n_inputs = len(REPAIR_INPUTS)
    joined = {
        "cell": np.concatenate([np.zeros(0, np.int64), *parts["cell"]]).astype(np.int32),
        "inputs": np.concatenate([np.zeros((0, n_inputs)), *parts["inputs"]]).astype(np.float32),
        "right": np.concatenate([np.zeros(0), *parts["right"]]).astype(np.bool_),
        "text": np.concatenate([np.zeros(0, object), *parts["text"]]).astype(str),
        "row": np.concatenate([np.zeros(0), *parts["row"]]).astype(np.int32),
        "column": np.concatenate([np.zeros(0), *parts["column"]]).astype(np.int16),
    }
    return joined | {"n_cells": n_cells, "kept": len(rows)}


# ------------------------------------------------------------------------------------------------------------- learning


@dataclass(frozen=True, eq=False)
class Version:
    """One version of a table with the proposals for its cells."""

    record: dict[str, Any]
    cell: NDArray[np.int32]
    inputs: NDArray[np.float32]
    right: NDArray[np.bool_]
    n_wrong: int
    """Wrong cells of the version."""
    share: float
    """Of the cells of at least REPAIRED_FROM that are here."""

    @property
    def sort(self) -> str:
        """Government, everyday, packages, or the name of the table."""
        if self.record["sort"] == "package":
            return "packages"
        first, _, rest = self.record["table"].partition("_")
        if first == "real":
            return rest
        return "everyday" if first == "everyday" else "government"

    @property
    def weight(self) -> float:
        """What each of its proposals counts in learning."""
        return weight_of(self.record, WEIGHTS) * 40 / max(100.0, len(self.right)) ** 0.5

    def best(self, chance: NDArray[Any]) -> NDArray[np.intp]:
        """The likeliest proposal of each cell."""
        order = np.lexsort((-chance, self.cell))
        is_first = np.ones(len(order), dtype=np.bool_)
        is_first[1:] = self.cell[order][1:] != self.cell[order][:-1]
        return order[is_first]


def load(corpus: Path, folder: Path) -> list[Version]:
    """All versions that have proposals."""
    versions = []
    for entry in json.loads((corpus / "index.json").read_text())["versions"]:
        path = file_of(folder, entry)
        if path.exists():
            with np.load(path) as arrays:
                share = int(arrays["kept"]) / max(1, int(arrays["n_cells"]))
                versions.append(
                    Version(
                        entry, *(arrays[name] for name in ("cell", "inputs", "right")), int(arrays["n_wrong"]), share
                    )
                )
    return versions


def learn(versions: Sequence[Version], seed: int = 0) -> BoostedTrees:
    """Monotone boosting over all proposals."""
    rng = np.random.default_rng(seed)
    picked = [_some(len(version.right), rng) for version in versions]
    learner = HistGradientBoostingClassifier(
        max_iter=TREES, max_leaf_nodes=LEAVES, learning_rate=0.1, min_samples_leaf=40, l2_regularization=1.0,
        max_bins=127, monotonic_cst=SIGNS, early_stopping=False, random_state=seed,
    )  # fmt: skip
    learner.fit(
        np.concatenate([version.inputs[rows] for version, rows in zip(versions, picked, strict=True)]),
        np.concatenate([version.right[rows] for version, rows in zip(versions, picked, strict=True)]),
        sample_weight=np.concatenate(
            [
                np.full(len(rows), version.weight * len(version.right) / max(1, len(rows)))
                for version, rows in zip(versions, picked, strict=True)
            ]
        ),
    )
    return as_arrays(learner)


def _some(n_proposals: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """At most MOST_LEARNED of them."""
    if n_proposals <= MOST_LEARNED:
        return np.arange(n_proposals)
    return np.sort(rng.choice(n_proposals, MOST_LEARNED, replace=False))


def fit_calibration(versions: Sequence[Version], chances: Sequence[NDArray[Any]]) -> tuple[float, float]:
    """Slope and shift of the log-odds with which the likeliest proposals of tables left out are right."""
    odds, right, weights = [], [], []
    for version, chance in zip(versions, chances, strict=True):
        if not len(chance):
            continue
        best = version.best(chance)
        best = best[chance[best] >= CALIBRATED_FROM]
        odds.append(log_odds(chance[best]))
        right.append(version.right[best])
        weight = weight_of(version.record, CALIBRATION_WEIGHTS, QUIET_CALIBRATION)
        weights.append(np.full(len(best), weight * 40 / max(100.0, len(best)) ** 0.5))
    return slope_and_shift(odds, right, weights)


def cross_judge(versions: Sequence[Version], fold_of: dict[str, int]) -> list[NDArray[np.float64]]:
    """The probabilities of the proposals of each version by trees that have not seen its family, calibrated by the
    other folds."""
    fold = np.array([fold_of[version.record["family"]] for version in versions])
    chances: list[Any] = [None] * len(versions)
    for k in range(int(fold.max()) + 1):
        trees = learn([version for version, own in zip(versions, fold, strict=True) if own != k])
        for place in np.flatnonzero(fold == k).tolist():
            chances[place] = trees.probability(versions[place].inputs)
    found = list(chances)
    for k in range(int(fold.max()) + 1):
        others = np.flatnonzero(fold != k).tolist()
        slope, shift = fit_calibration([versions[i] for i in others], [chances[i] for i in others])
        for place in np.flatnonzero(fold == k).tolist():
            found[place] = with_calibration(chances[place], slope, shift)
    return found


def measures(versions: Sequence[Version], chances: Sequence[NDArray[Any]], above: float = SURE) -> dict[str, Any]:
    """Per sort of version, pooled: repairs of at least this probability, how many are right, and of the wrong cells how
    many they repair; and how often repairs of a probability are right."""
    rows: dict[str, list[tuple[float, float, int]]] = {}
    bins: list[tuple[NDArray[Any], NDArray[Any]]] = []
    for version, chance in zip(versions, chances, strict=True):
        best = version.best(chance)
        sure = best[chance[best] >= above]
        n, right = len(sure) / max(version.share, 1e-9), version.right[sure].sum() / max(version.share, 1e-9)
        if version.record["version"] == "clean":
            sort = f"{version.sort}, clean"
        else:
            sort = version.sort + (
                f", {version.record['version']}" if version.sort in ("government", "packages") else ""
            )
        rows.setdefault(sort, []).append((n, right, version.n_wrong))
        bins.append((chance[best], version.right[best]))
    found: dict[str, Any] = {}
    for sort, parts in sorted(rows.items()):
        n, right, wrong = (float(sum(part[k] for part in parts)) for k in range(3))
        found[sort] = {
            "tables": len(parts),
            "wrong_cells": int(wrong),
            "repairs": round(n),
            "precision": round(right / n, 4) if n else None,
            "repaired": round(right / wrong, 4) if wrong else None,
        }
    chance, right = (np.concatenate([pair[k] for pair in bins]) for k in (0, 1))
    found["reliability"] = []
    for low, high in ((0.5, 0.7), (0.7, 0.9), (0.9, 0.95), (0.95, 0.99), (0.99, 1.01)):
        inside = (chance >= low) & (chance < high)
        if inside.any():
            found["reliability"].append(
                [low, round(float(chance[inside].mean()), 3), round(float(right[inside].mean()), 3), int(inside.sum())]
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("proposals", type=Path)
    parser.add_argument("--heads", type=Path, help="folder of the heads of the folds, by train.py")
    parser.add_argument("--only", default="", help="versions whose path contains this")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("--to", type=Path)
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    if not options.learn:
        _extract_all(options)
        return
    versions = load(options.corpus, options.proposals)
    if options.heads:
        fold_of = json.loads((options.heads / "folds.json").read_text())
    else:
        folds = folds_of(versions, N_FOLDS)  # type: ignore[arg-type]  # which looks at the records only
        fold_of = {version.record["family"]: int(k) for version, k in zip(versions, folds, strict=True)}
    print(f"{len(versions)} versions, {sum(len(version.right) for version in versions):,} proposals")
    chances = cross_judge(versions, fold_of)
    found = measures(versions, chances)
    for sort, row in found.items():
        print(f"{sort:22s}", row)
    if options.results:
        content = {"machine": record.machine(), **record.commit(), "above": SURE, "folds": max(fold_of.values()) + 1}
        content["cell_probabilities"] = "heads that left the family out" if options.heads else "decision of the package"
        record.write_json(options.results, content | {"repairs": found})
    if options.to:
        save(versions, chances, options.to)


def save(versions: Sequence[Version], chances: Sequence[NDArray[Any]], folder: Path) -> None:
    """The trees that were learned from all versions, calibrated by those of the folds, and what they were made from."""
    calibration = fit_calibration(versions, chances)
    trees = calibrated(learn(versions), *calibration)
    np.savez_compressed(
        folder / "repair.npz", base=np.float64(trees.base), **{name: getattr(trees, name) for name in FIELDS}
    )
    card = {
        "version": VERSION,
        "learned_from": {
            "versions": len(versions),
            "tables": len({version.record["table"] for version in versions}),
            "families": len({version.record["family"] for version in versions}),
            "proposals": sum(len(version.right) for version in versions),
            "right": sum(int(version.right.sum()) for version in versions),
        },
        "held_out": "benchmarks/results/repairs.json",
        "calibration": calibration,
        "libraries": record.versions(),
        "inputs": list(REPAIR_INPUTS),
    }
    (folder / "repair.json").write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    print((folder / "repair.npz").stat().st_size)


def _extract_all(options: argparse.Namespace) -> None:
    versions = json.loads((options.corpus / "index.json").read_text())["versions"]
    known = json.loads((options.heads / "folds.json").read_text()) if options.heads else {}
    chosen = [
        version
        for version in versions
        if options.only in version["path"]
        and (not known or version["family"] in known)
        and not (version["sort"] == "package" and version["version"] == "clean")  # of which few proposals come
    ]
    make_files(options.corpus, options.proposals, chosen, partial(proposals_of, options.heads), options.processes)


if __name__ == "__main__":
    main()
