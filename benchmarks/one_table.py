"""One table, no clean training set: scan against PyOD's detectors, all fitted on the table they judge.

    python -m benchmarks.one_table --part compare --seeds 3   # anomalies inside: all of them, and at most a tenth
    python -m benchmarks.one_table --part dirt                # 0, 1, 5, 10 % anomalies in training, and `trim`

Rows are judged out of bag by rfod. The other methods get scaled numbers and one-hot categories, and have PyOD's
defaults. A seed draws the rows, where there are more than MAX_ROWS, and the anomalies that are left in.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rfod
from benchmarks import datasets, record

MAX_ROWS = 10_000
SHARES = {"all": 1.0, "at most 10 %": 0.1}  # anomalies of the table
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
    names = datasets.names(arguments.datasets)
    results = compare(names, arguments.seeds) if arguments.part == "compare" else dirt(arguments.seeds)
    content = {"machine": record.machine(), **record.commit(), "max_rows": MAX_ROWS, "results": results}
    record.write_json(record.RESULTS / f"one_table_{arguments.part}.json", content)


def compare(names: list[str], n_seeds: int) -> list[dict[str, Any]]:
    """Every method on every dataset, with its anomalies inside."""
    results = []
    for seed in range(n_seeds):
        for name in names:
            whole = datasets.load(name, MAX_ROWS, seed)
            for share, most in SHARES.items():
                data = _with_at_most(whole, most, seed)
                plain = _plain(data.frame)
                for method in METHODS:
                    start = time.perf_counter()
                    scores = _judge(method, data.frame, plain, seed)
                    found = {"dataset": name, "seed": seed, "anomalies": share, "method": method}
                    found |= {"share": round(float(data.labels.mean()), 4), "rows": len(data.labels)}
                    results.append(found | _result(data.labels, scores) | {"seconds": time.perf_counter() - start})
            print(name, seed, flush=True)
    for share in SHARES:
        print(f"anomalies: {share}\n{'':<18}{'AUC-ROC':>9}{'AUC-PR':>9}{'ranks':>14}")
        of_share = [line for line in results if line["anomalies"] == share]
        means = {
            measure: np.array([[_mean(of_share, name, method, measure) for method in METHODS] for name in names])
            for measure in ("auc_roc", "auc_pr")
        }
        ranks = {measure: rankdata(-table, axis=1).mean(axis=0) for measure, table in means.items()}
        for place, method in enumerate(METHODS):
            areas = "".join(f"{table[:, place].mean():>9.4f}" for table in means.values())
            print(f"{method:<18}{areas}" + "".join(f"{rank[place]:>7.2f}" for rank in ranks.values()))
    return results


METHODS = ("scan", "ECOD", "IForest", "LOF", "KNN")


def _judge(method: str, frame: pd.DataFrame, plain: Floats, seed: int) -> Floats:
    if method == "scan":
        return rfod.scan(frame, random_state=seed, keep_evidence=False).row_scores
    detector = getattr(import_module(f"pyod.models.{method.lower()}"), method)
    options = {"random_state": seed} if method == "IForest" else {}
    return np.asarray(detector(**options).fit(plain).decision_scores_)


def _with_at_most(data: datasets.Dataset, share: float, seed: int) -> datasets.Dataset:
    """The table with at most this share of anomalies, drawn at random, in its order."""
    anomalies, normal = np.flatnonzero(data.labels == 1), np.flatnonzero(data.labels == 0)
    n_kept = min(len(anomalies), int(share * len(normal) / (1 - share))) if share < 1 else len(anomalies)
    kept = np.random.default_rng([seed, 3]).choice(anomalies, n_kept, replace=False)
    rows = np.sort(np.concatenate([normal, kept]))
    return datasets.Dataset(data.name, data.frame.iloc[rows].reset_index(drop=True), data.labels[rows])


def _mean(results: list[dict[str, Any]], name: str, method: str, measure: str) -> float:
    own = [line[measure] for line in results if line["dataset"] == name and line["method"] == method]
    return float(np.mean(own))


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


if __name__ == "__main__":
    main()
