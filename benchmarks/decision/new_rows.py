"""New rows judged by a fitted model: fit on a clean half of a table, judge the dirty half, each row by itself.

    python -m benchmarks.decision.new_rows [--heads DIRECTORY] [--jobs 2]

For the government and everyday tables of the shared data directory. Rows at even positions of the clean version are
fitted, rows at odd positions of the dirty and of the clean version are judged, read from files as `rfod fit` and `rfod
score` read them. With the heads that `train --heads` kept, every table is judged by those that were learned without
its family; without, by the heads of the package, which know the tables. Writes results/decision_new_rows.json.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.datasets import folder as data_folder
from benchmarks.decision.measure import table_measures
from benchmarks.decision.tables import DirtyTable, dirty_tables
from benchmarks.decision.train import left_out_heads
from benchmarks.record import RESULTS, commit, machine, write_json
from rfod._cli.inputs import as_model_reads
from rfod._evidence.decision import LearnedDecision, load_decision
from rfod._io.interface import ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import read_all
from rfod.params import SCAN_SEED, Params
from rfod.pipeline import detect, fit_model

SORTS = {"dependency": "government", "outlier": "government", "typo": "government", "mixed": "government"}
SORTS |= {"everyday": "everyday"}


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The judged half of one version of a table."""

    table: str
    family: str
    sort: str
    version: str
    inputs: NDArray[np.float32]
    """(columns, rows, inputs)."""
    wrong: NDArray[np.bool_]
    """(columns, rows)."""
    seconds: float


def halves(table: DirtyTable) -> list[HeldOut]:
    """Fit on the clean half, judge the other half of both versions."""
    clean = table.text("clean")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train = Path(folder) / "train.csv"
        clean.iloc[0::2].to_csv(train, index=False)
        read = read_all(open_source(str(train), ReadOptions()))
        model = fit_model(read.table, Params(random_state=SCAN_SEED, n_jobs=1)).model
        found = []
        for version in ("dirty", "clean"):
            given = table.text(version).iloc[1::2].reset_index(drop=True)
            path = Path(folder) / f"{version}.csv"
            given.to_csv(path, index=False)
            began = time.perf_counter()
            rows = read_all(open_source(str(path), as_model_reads(model, ReadOptions())))
            collected = detect(model, rows.table, n_jobs=1).probabilities.collected
            seconds = time.perf_counter() - began
            right = clean.iloc[1::2].reset_index(drop=True)
            wrong = _differs(given, right)[[column.name for column in collected.written.columns]].to_numpy().T
            sort = SORTS[table.kind]
            found.append(HeldOut(table.name, table.family, sort, version, collected.inputs.values, wrong, seconds))
    return found


def _differs(given: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    return given.apply(lambda column: column.str.strip()) != right.apply(lambda column: column.str.strip())


def measured(held_out: list[HeldOut], by_family: dict[str, LearnedDecision]) -> dict[str, Any]:
    """Per sort of table the means over tables, precision at 0.9 pooled, and per table."""
    tables: list[dict[str, Any]] = []
    pooled: dict[str, list[int]] = {}
    for half in held_out:
        chance = by_family[half.family].first(half.inputs)
        measures = {name: round(value, 5) for name, value in table_measures(half.wrong, chance).items()}
        tables.append({"table": half.table, "sort": half.sort, "version": half.version} | measures)
        if half.version == "dirty":
            sure = chance >= 0.9
            counts = pooled.setdefault(half.sort, [0, 0])
            counts[0] += int((sure & half.wrong).sum())
            counts[1] += int(sure.sum())
    found: dict[str, Any] = {}
    for sort in pooled:
        for version in ("dirty", "clean"):
            own = [row for row in tables if (row["sort"], row["version"]) == (sort, version)]
            names = [name for name in own[0] if name not in ("table", "sort", "version")]
            means = {name: round(float(np.nanmean([row.get(name, np.nan) for row in own])), 4) for name in names}
            found[f"{sort}, {version}"] = {"tables": len(own)} | means
        hits, n_sure = pooled[sort]
        found[f"{sort}, dirty"]["pooled_precision_at_90"] = round(hits / max(1, n_sure), 4)
        found[f"{sort}, dirty"]["cells_at_90"] = n_sure
    return {"means": found, "tables": [_without_nan(row) for row in tables]}


def _without_nan(row: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(value, float) and np.isnan(value) else value for name, value in row.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heads", type=Path, help="folder that train --heads wrote")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="tables whose name contains this")
    parser.add_argument("--to", type=Path, default=RESULTS / "decision_new_rows.json")
    options = parser.parse_args()
    tables = [table for table in dirty_tables(data_folder() / "dirty") if table.kind in SORTS]
    tables = [table for table in tables if options.only in table.name]
    with ProcessPoolExecutor(options.jobs) as pool:
        held_out = [half for found in pool.map(halves, tables) for half in found]
    print(f"{len(tables)} tables, {sum(half.seconds for half in held_out):.0f} s of judging", flush=True)
    known = dict.fromkeys({half.family for half in held_out}, load_decision())
    result = measured(held_out, left_out_heads(options.heads) if options.heads else known)
    for sort, row in result["means"].items():
        print(f"{sort:20s}", " ".join(f"{name} {value:.4g}" for name, value in row.items()))
    result |= {"left_out": options.heads is not None, "decision": load_decision().version}
    write_json(options.to, result | {"commit": commit(), "machine": machine()})


if __name__ == "__main__":
    main()
