"""The numbers behind the paper's illustrations: what pruning does, what the distances do, what one case looks like.

    python -m benchmarks.paper.illustrations

writes results/illustrations.json, which the page draws. Rows and columns are picked by the rules stated here, not by
looks.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import rfod
from benchmarks import record
from benchmarks.datasets import Split
from benchmarks.paper import classical, protocol, results
from benchmarks.paper.variants import ALPHAS

PATH = results.FOLDER / "illustrations.json"
BETAS = tuple(round(0.05 * step, 2) for step in range(1, 21))  # as in the paper's figure
AGD_ALPHA = 0.05  # as in the paper's figure
ROWS_PER_SIDE = 50
CASE_COLUMNS = 3


def main() -> None:
    record.write_json(
        PATH, {"pruning": pruning(), "agd": agd(), "case": case(), "versions": record.versions(), **record.commit()}
    )
    print(f"{PATH.name} written")


def pruning(dataset: str = "cardiotocography") -> list[dict[str, Any]]:
    """Three columns: those with the smallest, the middle and the largest best share of trees.

    Fitness of each tree out of bag; squared error of the kept trees on normal test rows, for every share.
    """
    split = protocol.split(dataset, 0, None)
    normal = split.test[split.labels == 0].reset_index(drop=True)
    names = [name for name in split.train if split.train[name].nunique() > 10]
    errors: dict[str, list[float]] = {name: [] for name in names}
    for beta in BETAS:
        detector = rfod.RFOD(beta=beta, random_state=0, n_jobs=1).fit(split.train)
        expected = detector.detect(normal).expected
        for name in names:
            errors[name].append(float(np.mean((normal[name] - expected[name].astype(float)) ** 2)))
    by_best = sorted(names, key=lambda name: (BETAS[int(np.argmin(errors[name]))], name))
    return [
        {
            "dataset": dataset,
            "column": name,
            "betas": list(BETAS),
            "errors": errors[name],
            "best_beta": BETAS[int(np.argmin(errors[name]))],
            "fitness": np.sort(detector.forests_[name].tree_fitness)[::-1].tolist(),
        }
        for name in (by_best[0], by_best[len(by_best) // 2], by_best[-1])
    ]


def agd(dataset: str = "pageblocks") -> dict[str, Any]:
    """The most skewed column; the normal test row of median residual, the anomaly at the 90 % quantile of residuals."""
    split = protocol.split(dataset, 0, None)
    column = str(split.train.skew().abs().idxmax())
    values = split.train[column].to_numpy(np.float64)
    expected = rfod.RFOD(random_state=0, n_jobs=1).fit(split.train).detect(split.test).expected[column]
    observed = split.test[column].to_numpy(np.float64)
    residual = np.abs(observed - expected.to_numpy(np.float64))
    rows = {
        "normal": _row_at(residual, split.labels == 0, 0.5),
        "outlier": _row_at(residual, split.labels == 1, 0.9),
    }
    scales = {
        "Gower": float(np.ptp(values)),
        "IQR-Gower": _width(values, 0.25),
        "AGD": _width(values, AGD_ALPHA),
    }
    return {
        "dataset": dataset,
        "column": column,
        "alpha": AGD_ALPHA,
        "training": np.quantile(values, np.linspace(0, 1, 501)).tolist(),
        "rows": {
            name: {
                "observed": float(observed[row]),
                "expected": float(expected.iloc[row]),
                "distances": {kind: float(residual[row] / scale) for kind, scale in scales.items()},
                "by_alpha": {str(alpha): float(residual[row] / _width(values, alpha)) for alpha in ALPHAS},
            }
            for name, row in rows.items()
        },
    }


def case(dataset: str = "pima") -> dict[str, Any]:
    """Cell scores of 50 normal and 50 anomalous test rows beside what two methods without cells say of them.

    OCSVM and IF get the exact Shapley values of their row score, the median of the training rows as background. The
    single row is the anomaly with the highest RFOD score.
    """
    split = protocol.split(dataset, 0, None)
    generator = np.random.default_rng(0)
    picked = np.concatenate(
        [generator.choice(np.flatnonzero(split.labels == label), ROWS_PER_SIDE, replace=False) for label in (0, 1)]
    )
    sample = split.test.iloc[picked].reset_index(drop=True)
    found = rfod.RFOD(random_state=0, n_jobs=1).fit(split.train).detect(sample)
    worst = ROWS_PER_SIDE + int(np.argmax(found.row_scores[ROWS_PER_SIDE:]))
    by_score = np.argsort(-found.cell_scores[worst])[:CASE_COLUMNS]
    return {
        "dataset": dataset,
        "columns": list(found.columns),
        "maps": {
            "RFOD, cell scores": found.cell_scores.tolist(),
            "OCSVM, Shapley values": _shapley(classical.one_class_svm(0, 1), split, sample).tolist(),
            "IF, Shapley values": _shapley(classical.isolation_forest(0, 1), split, sample).tolist(),
        },
        "row": [
            {
                "column": found.columns[j],
                "observed": float(sample[found.columns[j]].iloc[worst]),
                "expected": float(found.expected[found.columns[j]].iloc[worst]),
                "score": float(found.cell_scores[worst, j]),
                "training": np.quantile(split.train[found.columns[j]], np.linspace(0, 1, 201)).tolist(),
            }
            for j in by_score
        ],
    }


def _shapley(detector: classical.Encoded, split: Split, sample: pd.DataFrame) -> NDArray[np.float64]:
    """Exact, over all sets of columns: those outside a set take the median of the training rows."""
    detector.fit(split.train)
    median = split.train.median()
    n_columns = sample.shape[1]
    sets = (np.arange(2**n_columns)[:, None] >> np.arange(n_columns)) & 1
    table = np.where(sets[:, None, :], sample.to_numpy()[None], median.to_numpy())
    frame = pd.DataFrame(table.reshape(-1, n_columns), columns=sample.columns)
    scores = detector.score(frame).reshape(len(sets), len(sample))
    sizes = sets.sum(axis=1)
    weights = np.array([1 / (n_columns * math.comb(n_columns - 1, size)) for size in range(n_columns)])
    values = np.empty(sample.shape)
    for j in range(n_columns):
        without = np.flatnonzero(sets[:, j] == 0)
        gain = scores[without + 2**j] - scores[without]
        values[:, j] = weights[sizes[without]] @ gain
    return values


def _row_at(residual: NDArray[np.float64], is_wanted: NDArray[np.bool_], share: float) -> int:
    rows = np.flatnonzero(is_wanted)
    return int(rows[np.argsort(residual[rows])[int(share * (len(rows) - 1))]])


def _width(values: NDArray[np.float64], alpha: float) -> float:
    low, high = np.quantile(values, [alpha, 1 - alpha])
    return float(high - low)


if __name__ == "__main__":
    main()
