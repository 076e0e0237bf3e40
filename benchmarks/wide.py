"""What a limit on predictors costs: rows and swapped cells of wide tables, with and without `max_predictors`.

    python -m benchmarks.wide
    python -m benchmarks.wide --datasets arrhythmia spambase --seeds 10 --limits 48

A dataset is split as in the paper, at most 6,000 rows to train and 5,000 to judge. AUC-ROC and AUC-PR are those of its
anomalies. For the average precision of cells, values of a hundredth of the cells of each column of up to 2,000 normal
test rows are replaced by those of other rows. `factors` is a table of numbers and categories that all follow five
common factors, so that every column says something of every other: the table that a limit costs most.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rfod
from benchmarks import datasets, record
from benchmarks.cell_measures import comparable
from benchmarks.probe import synthetic

DATASETS = ("arrhythmia", "spambase", "ethereum", "dos", "backdoor", "kdd", "factors")
LIMITS = (48, 32)
TRAIN_ROWS, TEST_ROWS, CELL_ROWS = 6_000, 5_000, 2_000
SHARE_SWAPPED = 0.01
FACTOR_COLUMNS = 240
Mask = NDArray[np.bool_]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limits", nargs="+", type=int, default=list(LIMITS))
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=Path, default=record.RESULTS / "wide.json")
    arguments = parser.parse_args()
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rfod.ColumnWarning)
        for name in arguments.datasets:
            for seed in range(arguments.seeds):
                table = _factors(seed) if name == "factors" else _split(name, seed)
                for limit in (None, *arguments.limits):
                    settings = {"n_estimators": arguments.trees, "max_predictors": limit, "n_jobs": arguments.jobs}
                    results.append({"dataset": name, "seed": seed, **_measured(*table, seed, settings)})
                    print(results[-1], flush=True)
                content = {"machine": record.machine(), **record.commit(), "trees": arguments.trees}
                record.write_json(arguments.output, content | {"results": results})
    print("\n| dataset | columns | limit | AUC-ROC | AUC-PR | cells AP | fit, CPU s |\n|---|---|---|---|---|---|---|")
    for name in arguments.datasets:
        for limit in (None, *arguments.limits):
            own = [line for line in results if (line["dataset"], line["max_predictors"]) == (name, limit)]
            means = [
                np.mean([line[key] for line in own]) for key in ("auc_roc", "auc_pr", "cell_ap", "fit_cpu_seconds")
            ]
            words = " | ".join(f"{mean:.4f}" for mean in means)
            print(f"| {name} | {own[0]['columns']} | {limit or 'none'} | {words} |")


def _split(name: str, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, NDArray[np.int8]]:
    split = datasets.split(datasets.load(name, max_rows=16_000), seed)
    picked = np.sort(np.random.default_rng(seed).permutation(len(split.test))[:TEST_ROWS])
    return split.train.iloc[:TRAIN_ROWS], split.test.iloc[picked].reset_index(drop=True), split.labels[picked]


def _factors(seed: int) -> tuple[pd.DataFrame, pd.DataFrame, NDArray[np.int8]]:
    """Half of the rows to train; of the others a fifth are anomalies, with one value in twenty from another row."""
    rng, table = np.random.default_rng(seed), synthetic(2 * CELL_ROWS, FACTOR_COLUMNS, seed)
    train, test = table.iloc[:CELL_ROWS], table.iloc[CELL_ROWS:].reset_index(drop=True)
    labels = (rng.random(len(test)) < 0.2).astype(np.int8)
    for column in rng.permutation(FACTOR_COLUMNS)[: FACTOR_COLUMNS // 20]:
        rows = np.flatnonzero(labels)
        test.iloc[rows, column] = test.iloc[rng.permutation(rows), column].to_numpy()
    return train, test, labels


def _measured(
    train: pd.DataFrame, test: pd.DataFrame, labels: NDArray[np.int8], seed: int, settings: dict[str, Any]
) -> dict[str, Any]:
    start = time.process_time()
    detector = rfod.RFOD(random_state=seed, keep_evidence=False, **settings).fit(train)
    seconds = time.process_time() - start
    scores = detector.detect(test).row_scores
    normal = test[labels == 0].iloc[:CELL_ROWS].reset_index(drop=True)
    spoilt, wrong = _swapped(normal, np.random.default_rng([seed, 2]))
    found = detector.detect(spoilt)
    wrong = wrong[:, [normal.columns.get_loc(name) for name in found.columns]]
    return {
        "columns": train.shape[1],
        "max_predictors": settings["max_predictors"],
        "auc_roc": float(roc_auc_score(labels, scores)),
        "auc_pr": float(average_precision_score(labels, scores)),
        "cell_ap": float(average_precision_score(wrong.ravel(), comparable(found.surprise).ravel())),
        "mean_fitness": float(np.nanmean(np.clip(detector.model_.fitness, -1, 1))),
        "fit_cpu_seconds": seconds,
        "trees_mb": detector.model_.n_bytes / 1e6,
    }


def _swapped(table: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, Mask]:
    """Some cells of every column with the value of another row, where that is another value."""
    spoilt, wrong = table.copy(), np.zeros(table.shape, dtype=np.bool_)
    n_cells = max(1, int(SHARE_SWAPPED * len(table)))
    for j, name in enumerate(table.columns):
        rows, others = rng.choice(len(table), n_cells, replace=False), rng.integers(0, len(table), n_cells)
        old, new = table[name].iloc[rows].reset_index(drop=True), table[name].iloc[others].reset_index(drop=True)
        differs = (old.notna() & new.notna() & (old.astype(object) != new.astype(object))).to_numpy()
        spoilt.iloc[rows[differs], j] = new[differs].to_numpy()
        wrong[rows[differs], j] = True
    return spoilt, wrong


if __name__ == "__main__":
    main()
