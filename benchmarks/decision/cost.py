"""How long evidence and decision take beside one fit of the forests.

    python -m benchmarks.decision.cost [--repeats 5]

On hospital and bank, as data frames, in one process: a fit without evidence, and the probabilities of all cells of the
table after a fit that judged it; the shortest of some repeats, with one thread and with two.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd

from benchmarks import datasets, record
from rfod.params import SCAN_SEED, Params
from rfod.pipeline import fit_detect, fit_model

Timed = tuple[float, Any]


def timed(work: Callable[[], Any]) -> Timed:
    """Seconds on the clock, and what came of it."""
    began = time.perf_counter()
    made = work()
    return time.perf_counter() - began, made


def measured(name: str, table: pd.DataFrame, jobs: int, repeats: int) -> dict[str, Any]:
    """The shortest of the repeats."""
    params = Params(random_state=SCAN_SEED, keep_evidence=False, n_jobs=jobs)
    fits, decisions = [], []
    for _ in range(repeats):
        fits.append(timed(lambda: fit_model(table, params))[0])
        found = fit_detect(table, params)[1]
        decisions.append(timed(lambda found=found: found.cell_probability)[0])
    fit, decision = min(fits), min(decisions)
    sizes = {"table": name, "rows": len(table), "columns": table.shape[1], "jobs": jobs}
    return sizes | {"fit_seconds": round(fit, 3), "decision_seconds": round(decision, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    hospital = datasets.folder() / "dirty" / "real_hospital" / "dirty.csv"
    tables = {
        "hospital": pd.read_csv(hospital, dtype=str, keep_default_na=False),
        "bank": datasets.load("bank").frame,
    }
    results = []
    for name, table in tables.items():
        measured(name, table, 2, 1)  # compiles, and warms the caches
        for jobs in (1, 2):
            results.append(measured(name, table, jobs, options.repeats))
            print(results[-1], flush=True)
    content = {"machine": record.machine(), **record.commit(), "results": results}
    record.write_json(record.RESULTS / "decision_cost.json", content)


if __name__ == "__main__":
    main()
