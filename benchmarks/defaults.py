"""What each default is worth: rfod's defaults against one change at a time, on the datasets set aside for choosing.

    python -m benchmarks.defaults

The rule: a default gives way only if the mean AUC-ROC over these five datasets and three seeds rises by at least 0.01,
or if the same accuracy (within 0.002) comes at half the cost. The other ten datasets are not looked at for this.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rfod
from benchmarks import datasets, record

CHOSEN_ON = ("pima", "ionosphere", "wine", "thyroid", "bank")
MAX_ROWS = 20_000
CHANGES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "n_estimators=50": {"n_estimators": 50},
    "n_estimators=200": {"n_estimators": 200},
    "min_samples_leaf=1": {"min_samples_leaf": 1},
    "min_samples_leaf=10": {"min_samples_leaf": 10},
    "max_features=None": {"max_features": None},
    "max_features=0.5": {"max_features": 0.5},
    "max_features=sqrt": {"max_features": "sqrt"},
    "max_depth=10": {"max_depth": 10},
    "beta=1.0": {"beta": 1.0},
    "beta=0.2": {"beta": 0.2},
    "alpha=0.01": {"alpha": 0.01},
    "alpha=0.05": {"alpha": 0.05},
    "uncertainty=raw": {"uncertainty": "raw"},
    "aggregation=uncertainty": {"aggregation": "uncertainty"},
    "aggregation=surprise": {"aggregation": "surprise"},
    "aggregation=mean": {"aggregation": "mean"},
    "distance=gower": {"distance": "gower"},
    "max_bins=64": {"max_bins": 64},
    "max_samples=1024": {"max_samples": 1024},
    "max_samples=16384": {"max_samples": 16384},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=record.RESULTS / "defaults.json")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", rfod.ColumnWarning)
    results = []
    for name in CHOSEN_ON:
        data = datasets.load(name, MAX_ROWS)
        for seed in range(arguments.seeds):
            split = datasets.split(data, seed)
            for label, change in CHANGES.items():
                scores = rfod.RFOD(random_state=seed, **change).fit(split.train).detect(split.test).row_scores
                results.append(
                    {
                        "dataset": name,
                        "seed": seed,
                        "change": label,
                        "auc_roc": float(roc_auc_score(split.labels, scores)),
                        "auc_pr": float(average_precision_score(split.labels, scores)),
                    }
                )
        print(f"{name} done", flush=True)
    print(f"\n{'change':<22}{'AUC-ROC':>9}{'AUC-PR':>9}   {'  '.join(CHOSEN_ON)}")
    for label in CHANGES:
        by_set = [_mean(results, "auc_roc", change=label, dataset=name) for name in CHOSEN_ON]
        means = f"{np.mean(by_set):>9.4f}{_mean(results, 'auc_pr', change=label):>9.4f}"
        print(f"{label:<22}{means}   {'  '.join(f'{value:.3f}' for value in by_set)}")
    content = {"machine": record.machine(), **record.commit(), "max_rows": MAX_ROWS, "results": results}
    record.write_json(arguments.output, content)


def _mean(results: list[dict[str, Any]], measure: str, **where: Any) -> float:
    return float(
        np.mean([line[measure] for line in results if all(line[key] == value for key, value in where.items())])
    )


if __name__ == "__main__":
    main()
