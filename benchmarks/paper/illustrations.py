"""The numbers behind the paper's illustrations: what pruning does, and what the distances do.

    python -m benchmarks.paper.illustrations

writes results/illustrations.json, which the page draws. Rows and columns are picked by the rules stated here, not by
looks.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import rfod
from benchmarks import record
from benchmarks.paper import protocol, results
from benchmarks.paper.variants import ALPHAS

PATH = results.FOLDER / "illustrations.json"
BETAS = tuple(round(0.05 * step, 2) for step in range(1, 21))  # as in the paper's figure
AGD_ALPHA = 0.05  # as in the paper's figure


def main() -> None:
    record.write_json(PATH, {"pruning": pruning(), "agd": agd(), "versions": record.versions(), **record.commit()})
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


def _row_at(residual: NDArray[np.float64], is_wanted: NDArray[np.bool_], share: float) -> int:
    rows = np.flatnonzero(is_wanted)
    return int(rows[np.argsort(residual[rows])[int(share * (len(rows) - 1))]])


def _width(values: NDArray[np.float64], alpha: float) -> float:
    low, high = np.quantile(values, [alpha, 1 - alpha])
    return float(high - low)


if __name__ == "__main__":
    main()
