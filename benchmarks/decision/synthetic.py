"""How often clean synthetic tables list a wrong cell.

    python -m benchmarks.decision.synthetic [--seeds 20]

Four sorts of 1,000 rows and 6 columns without any wrong cell; a table counts as loud when `scan` calls a cell wrong
(probability 0.9 and more).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import rfod
from benchmarks import record
from rfod._evidence.wrong_cells import WORTH_A_CHECK, WRONG

Floats = NDArray[np.float64]
N_ROWS, N_COLUMNS = 1_000, 6


def factors(rng: np.random.Generator) -> Floats:
    """Two Gaussian factors with noise of 0.3."""
    loadings = rng.normal(size=(2, N_COLUMNS))
    return rng.normal(size=(N_ROWS, 2)) @ loadings + 0.3 * rng.normal(size=(N_ROWS, N_COLUMNS))


def heavy_tails(rng: np.random.Generator) -> Floats:
    """Independent t with three degrees of freedom."""
    return rng.standard_t(3, size=(N_ROWS, N_COLUMNS))


def shifted(rng: np.random.Generator) -> Floats:
    """The factors with 5 % of the rows shifted by 3."""
    return factors(rng) + 3.0 * (rng.random((N_ROWS, 1)) < 0.05)


def curves(rng: np.random.Generator) -> Floats:
    """x, x², x³, |x| + noise, and two columns of noise."""
    x = rng.normal(size=N_ROWS)
    return np.stack([x, x**2, x**3, np.abs(x) + 0.1 * rng.normal(size=N_ROWS), *rng.normal(size=(2, N_ROWS))], axis=1)


SORTS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "two factors": factors,
    "heavy tails": heavy_tails,
    "shifted rows": shifted,
    "curves": curves,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--store", action="store_true")
    options = parser.parse_args()
    found = {}
    for name, make in SORTS.items():
        wrong, checked = [], []
        for seed in range(options.seeds):
            values = make(np.random.default_rng(seed))
            table = pa.table({f"x{j}": values[:, j] for j in range(N_COLUMNS)})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                chance = rfod.scan(table).cell_probability
            wrong.append(int((chance >= WRONG).sum()))
            checked.append(int((chance >= WORTH_A_CHECK).sum()))
        found[name] = {
            "tables that list a wrong cell": float(np.mean(np.array(wrong) > 0)),
            "wrong cells per table": float(np.mean(wrong)),
            "cells worth a check per table": float(np.mean(checked)),
        }
        print(name, found[name], flush=True)
    if options.store:
        content = {"machine": record.machine(), **record.commit(), "seeds": options.seeds, "sorts": found}
        record.write_json(record.RESULTS / "decision_synthetic.json", content)


if __name__ == "__main__":
    main()
