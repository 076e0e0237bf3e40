"""One table, no clean training set: scan against isolation forest, ECOD and LOF, all fitted on the table they judge.

    python -m benchmarks.one_table --part compare      # the paper's datasets with all their anomalies inside
    python -m benchmarks.one_table --part dirt         # what 0, 1, 5 and 10 % anomalies in training cost, and `trim`

Rows are judged out of bag by rfod. The other methods get scaled numbers and one-hot categories.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rfod
from benchmarks import datasets, record

MAX_ROWS = 20_000
DIRT_ON = ("pima", "wine", "pageblocks", "thyroid", "spambase", "bank")
DIRT = (0.0, 0.01, 0.05, 0.1)
TRIMS = (0.0, 0.05, 0.1)
Floats = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("compare", "dirt"), required=True)
    parser.add_argument("--datasets", nargs="+", default=["all"])
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = compare(datasets.names(arguments.datasets)) if arguments.part == "compare" else dirt(arguments.seeds)
    content = {"machine": record.machine(), **record.commit(), "max_rows": MAX_ROWS, "results": results}
    record.write_json(record.RESULTS / f"one_table_{arguments.part}.json", content)


def compare(names: list[str]) -> list[dict[str, Any]]:
    """Every method on every dataset, anomalies and all."""
    methods: dict[str, Callable[[pd.DataFrame], Floats]] = {
        "scan": lambda frame: rfod.scan(frame, random_state=0).row_scores,
        "scan, trim=0.1": lambda frame: rfod.scan(frame, random_state=0, trim=0.1).row_scores,
        "isolation forest": lambda frame: -IsolationForest(random_state=0, n_jobs=2).fit(frame).score_samples(frame),
        "ECOD": _ecod,
        "LOF": _lof,
    }
    results = []
    print(f"{'dataset':<18}" + "".join(f"{name:>22}" for name in methods) + "   (AUC-ROC / AUC-PR)")
    for name in names:
        data = datasets.load(name, MAX_ROWS)
        plain = _plain(data.frame)
        line = f"{name:<18}"
        for method, judge in methods.items():
            start = time.perf_counter()
            scores = judge(data.frame if method.startswith("scan") else plain)
            results.append(_result(data.labels, scores) | {"dataset": name, "method": method})
            results[-1]["seconds"] = time.perf_counter() - start
            line += f"{results[-1]['auc_roc']:>14.4f} /{results[-1]['auc_pr']:>6.4f}"
        print(line, flush=True)
    means = [
        tuple(np.mean([r[measure] for r in results if r["method"] == method]) for measure in ("auc_roc", "auc_pr"))
        for method in methods
    ]
    print(f"{'mean':<18}" + "".join(f"{area:>14.4f} /{precision:>6.4f}" for area, precision in means))
    return results


def dirt(n_seeds: int) -> list[dict[str, Any]]:
    """Train on half of the normal rows plus a share of anomalies, test on the rest; with and without trimming."""
    results = []
    for name in DIRT_ON:
        data = datasets.load(name, MAX_ROWS)
        for seed in range(n_seeds):
            generator = np.random.default_rng([seed, 2])
            normal = generator.permutation(np.flatnonzero(data.labels == 0))
            anomalies = generator.permutation(np.flatnonzero(data.labels == 1))
            clean, held_out = np.array_split(normal, 2)
            tested = anomalies[len(anomalies) // 2 :]  # never in training, whatever its share of anomalies
            test = np.concatenate([held_out, tested])
            for share in DIRT:
                n_dirty = min(round(share * len(clean) / (1 - share)), len(anomalies) // 2)
                train = np.sort(np.concatenate([clean, anomalies[:n_dirty]]))
                for trim in TRIMS:
                    detector = rfod.RFOD(random_state=seed, trim=trim).fit(data.frame.iloc[train])
                    scores = detector.detect(data.frame.iloc[test]).row_scores
                    results.append(
                        _result(data.labels[test], scores)
                        | {
                            "dataset": name,
                            "seed": seed,
                            "wanted_share": share,
                            "share": n_dirty / len(train),
                            "trim": trim,
                        }
                    )
    print("mean AUC-ROC / AUC-PR over " + ", ".join(DIRT_ON))
    print(f"{'anomalies in training':<24}" + "".join(f"{f'trim {trim}':>20}" for trim in TRIMS))
    for share in DIRT:
        line = f"{share:<24}"
        for trim in TRIMS:
            chosen = [r for r in results if r["wanted_share"] == share and r["trim"] == trim]
            line += f"{np.mean([r['auc_roc'] for r in chosen]):>12.4f} /{np.mean([r['auc_pr'] for r in chosen]):>6.4f}"
        print(line)
    return results


def _result(labels: NDArray[np.int8], scores: Floats) -> dict[str, Any]:
    return {"auc_roc": float(roc_auc_score(labels, scores)), "auc_pr": float(average_precision_score(labels, scores))}


def _plain(frame: pd.DataFrame) -> Floats:
    """Scaled numbers and one-hot categories, medians for gaps."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = OneHotEncoder(handle_unknown="ignore", max_categories=50, sparse_output=False)
    transformer = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (categories, make_column_selector(dtype_exclude="number")),
    )
    return np.asarray(transformer.fit_transform(frame), dtype=np.float64)


def _ecod(table: Floats) -> Floats:
    from pyod.models.ecod import ECOD

    return np.asarray(ECOD().fit(table).decision_scores_)


def _lof(table: Floats) -> Floats:
    from pyod.models.lof import LOF

    return np.asarray(LOF(n_jobs=2).fit(table).decision_scores_)


if __name__ == "__main__":
    main()
