"""Which row is anomalous? Row scores of the same forests, beside nearest neighbours and isolation forest.

    python -m benchmarks.rows
    python -m benchmarks.rows --datasets small --seeds 1

The paper's split: half of the normal rows for training, the other half and all anomalies for testing; at most
TRAIN_ROWS and TEST_ROWS of them, drawn at random. Five datasets are there to design a score on, the other ten to
confirm it; their means are shown apart. What is done is kept in results/rows_cache.jsonl and not done again while the
code is the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rfod
from benchmarks import datasets, record
from benchmarks.paper.classical import isolation_forest, nearest_neighbours
from rfod._model.scores import row_scores

DESIGN = ("pima", "ionosphere", "wine", "thyroid", "bank")
CONFIRM = tuple(name for name in datasets.ALL if name not in DESIGN)
TRAIN_ROWS, TEST_ROWS = 10_000, 20_000
CACHE = record.RESULTS / "rows_cache.jsonl"
HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src" / "rfod"
CODE = [HERE / "rows.py", *(SOURCE / part for part in ("_forest", "_model", "_table"))]
Floats = NDArray[np.float64]


AGGREGATIONS = {"uncertainty": "the paper's", "mean": "plain mean", "surprise": "surprise", "consensus": "consensus"}
OTHERS = {"nearest neighbours": nearest_neighbours, "isolation forest": isolation_forest}
METHODS = (*AGGREGATIONS.values(), *OTHERS)


def judge(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> dict[str, Floats]:
    """Row scores by every method; rfod's are all read off the same forests."""
    detector = rfod.RFOD(aggregation="consensus", random_state=seed, n_jobs=1, keep_evidence=False).fit(train)
    judged = detector.detect(test).judged.cells
    scores = {}
    for aggregation, words in AGGREGATIONS.items():
        params = {**detector.model_.params, "aggregation": aggregation}
        scores[words] = row_scores(replace(detector.model_, params=params), judged)
    for name, make in OTHERS.items():
        method = make(seed, 1)
        method.fit(train)
        scores[name] = np.asarray(method.score(test), dtype=np.float64)
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["all"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=record.RESULTS / "rows.json")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    names = datasets.names(arguments.datasets)
    code = record.fingerprint(*CODE)
    done = _read_cache(code)
    for seed in range(arguments.seeds):
        for name in names:
            if (name, seed) not in done:
                start = time.perf_counter()
                train, test, labels = split(name, seed)
                done[name, seed] = [
                    {
                        "dataset": name,
                        "seed": seed,
                        "method": method,
                        "n_train": len(train),
                        "n_test": len(test),
                        "auc_roc": float(roc_auc_score(labels, scores)),
                        "auc_pr": float(average_precision_score(labels, scores)),
                    }
                    for method, scores in judge(train, test, seed).items()
                ]
                with CACHE.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"code": code, "results": done[name, seed]}) + "\n")
                print(f"{name} {seed}: {time.perf_counter() - start:.0f} s", flush=True)
    results = [line for name in names for seed in range(arguments.seeds) for line in done[name, seed]]
    content = {
        "machine": record.machine(),
        **record.commit(),
        "train_rows": TRAIN_ROWS,
        "test_rows": TEST_ROWS,
        "design": DESIGN,
        "differences": {name: text for name, text in datasets.DIFFERENCES.items() if name in names},
        "results": results,
    }
    record.write_json(arguments.output, content)
    print_tables(results, names)


def split(name: str, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, NDArray[np.int8]]:
    """The paper's halves, each cut to a random sample."""
    whole = datasets.split(datasets.load(name), seed)
    generator = np.random.default_rng([seed, 4])
    train = np.sort(generator.permutation(len(whole.train))[:TRAIN_ROWS])
    test = np.sort(generator.permutation(len(whole.test))[:TEST_ROWS])
    return (
        whole.train.iloc[train].reset_index(drop=True),
        whole.test.iloc[test].reset_index(drop=True),
        whole.labels[test],
    )


def print_tables(results: list[dict[str, Any]], names: list[str]) -> None:
    """Mean over seeds per dataset, and the means of the two sets of datasets, as Markdown."""
    print("\nAUC-ROC / AUC-PR\n\n| dataset | " + " | ".join(METHODS) + " |\n|" + "---|" * (len(METHODS) + 1))
    groups = [(name, [name]) for name in names]
    for label, members in (("mean of the design sets", DESIGN), ("mean of the confirming sets", CONFIRM)):
        present = [name for name in members if name in names]
        groups += [(f"**{label}** ({len(present)})", present)] if present else []
    groups.append((f"**mean** ({len(names)})", names))
    for label, members in groups:
        cells = []
        for method in METHODS:
            chosen = [line for line in results if line["dataset"] in members and line["method"] == method]
            means = [np.mean([line[measure] for line in chosen]) for measure in ("auc_roc", "auc_pr")]
            cells.append(f"{means[0]:.3f} / {means[1]:.3f}")
        print(f"| {label} | " + " | ".join(cells) + " |")


def _read_cache(code: str) -> dict[tuple[str, int], list[dict[str, Any]]]:
    if not CACHE.is_file():
        return {}
    lines = [json.loads(line) for line in CACHE.read_text(encoding="utf-8").splitlines()]
    found = [line["results"] for line in lines if line["code"] == code]
    return {(results[0]["dataset"], results[0]["seed"]): results for results in found}


if __name__ == "__main__":
    main()
