"""Which cell is wrong? Known errors in clean tables, and how well rfod and others point at them.

    python -m benchmarks.cells                                   # needs rfod[bench], shap, outliertree, robpy
    python -m benchmarks.cells --tables wine --seeds 1 --groups rfod

Normal rows only, half for training. In the other half a fifth of the rows gets one wrong cell ("one"; "two": two), of
seven kinds (rfod._check.errors). "dirty": one wrong cell, and before training each kind went into 1 % of the training
rows too. Each half is a sample of at most --max-rows rows. What is done is kept in results/cells_cache.jsonl and not
done again while the code is the same; results/cells.json is written from it at the end.

Per method: AUC-ROC and average precision over all cells, share of wrong rows with the wrong cell first or among the
first three, AUC-ROC of rows. For rfod also, over all wrong cells: expected against true value; findings at false
discovery rates of 1, 5 and 10 %; coverage of 90 % intervals.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import datasets, record
from benchmarks.cell_measures import pointing
from benchmarks.cell_methods import PEERS, SHAP_ROWS
from benchmarks.cell_rfod import Detector
from benchmarks.cell_tables import print_tables
from benchmarks.wrong_cells import ERROR_KINDS, inject, modelled_columns

TABLES = ("bank", "wine", "pageblocks", "thyroid", "kdd", "backdoor", "ethereum", "spambase")
VARIANTS = ("one", "two", "dirty")
GROUPS = ("peers", "rfod")
SHARE_WRONG = 0.2
SHARE_DIRTY = 0.01
CACHE = record.RESULTS / "cells_cache.jsonl"
HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src" / "rfod"
ENGINE = ("_forest", "_run", "_score", "_table", "detection.py", "model.py")
ERRORS = [SOURCE / "_check" / "errors.py", SOURCE / "_check" / "inject.py", HERE / "cell_measures.py"]
CODE = {
    "peers": [*ERRORS, HERE / "cell_methods.py"],
    "rfod": [*ERRORS, HERE / "cell_rfod.py", *(SOURCE / part for part in ENGINE)],
}


@dataclass(frozen=True)
class Unit:
    """What one line of the cache is about; kind "none" is the table without errors."""

    table: str
    seed: int
    variant: str
    kind: str
    group: str
    max_rows: int
    code: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    parser.add_argument("--groups", nargs="+", default=list(GROUPS), choices=GROUPS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--max-rows", type=int, default=5000, help="of each half")
    parser.add_argument("--output", type=Path, default=record.RESULTS / "cells.json")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    codes = {group: record.fingerprint(*CODE[group]) for group in GROUPS}
    done = _read_cache()
    for seed in range(arguments.seeds):
        for table in arguments.tables:
            for group in arguments.groups:
                for variant in arguments.variants:
                    if variant == "dirty" and group == "peers":
                        continue
                    kinds = ("none", *ERROR_KINDS) if group == "rfod" else ERROR_KINDS
                    units = [
                        Unit(table, seed, variant, kind, group, arguments.max_rows, codes[group]) for kind in kinds
                    ]
                    todo = [unit for unit in units if unit not in done]
                    start = time.perf_counter()
                    for unit, found in _run(todo):
                        done[unit] = found
                        _append_cache(unit, found)
                    if todo:
                        print(f"{table} {seed} {variant} {group}: {time.perf_counter() - start:.0f} s", flush=True)
    wanted = [
        (unit, found)
        for unit, found in done.items()
        if unit.table in arguments.tables
        and unit.seed < arguments.seeds
        and unit.max_rows == arguments.max_rows
        and unit.code == codes[unit.group]
    ]
    results = [
        {key: value for key, value in asdict(unit).items() if key not in ("max_rows", "code", "group")} | line
        for unit, found in wanted
        for line in found
    ]
    content = {
        "machine": record.machine(),
        **record.commit(),
        "max_rows": arguments.max_rows,
        "share_wrong": SHARE_WRONG,
        "share_dirty": SHARE_DIRTY,
        "shap_rows": SHAP_ROWS,
        "differences": {name: text for name, text in datasets.DIFFERENCES.items() if name in arguments.tables},
        "results": results,
    }
    record.write_json(arguments.output, content)
    print_tables(results)


def _run(units: list[Unit]) -> Iterator[tuple[Unit, list[dict[str, Any]]]]:
    """All units of one table, seed, variant and group: the methods are fitted once."""
    if not units:
        return
    first = units[0]
    train, test = halves(first.table, first.seed, first.max_rows)
    columns = modelled_columns(train)
    names = [column.name for column in columns]
    train, test = train[names], test[names]
    if first.variant == "dirty":
        for number, kind in enumerate(ERROR_KINDS):
            train, _ = inject(train, kind, SHARE_DIRTY, 1000 * first.seed + number + 1, columns=columns)
    n_cells = 2 if first.variant == "two" else 1
    if first.group == "rfod":
        detector = Detector(train, first.seed)
        for unit in units:
            if unit.kind == "none":
                yield unit, detector.untouched(test)
                continue
            spoilt, wrong = inject(test, unit.kind, SHARE_WRONG, first.seed, n_cells, columns)
            yield unit, detector.results(test, spoilt, wrong) if wrong.any() else []
        return
    methods = {name: make(first.seed) for name, make in PEERS.items()}
    for method in methods.values():
        method.fit(train)
    for unit in units:
        spoilt, wrong = inject(test, unit.kind, SHARE_WRONG, first.seed, n_cells, columns)
        found = []
        for name, method in methods.items() if wrong.any() else ():
            start = time.perf_counter()
            scores = method.score(spoilt)
            seconds = time.perf_counter() - start
            measures = pointing(scores.cells, scores.rows, wrong, first.seed)
            found.append({"method": name, "n_wrong": int(wrong.sum()), "seconds": seconds, **measures})
        yield unit, found


def halves(table: str, seed: int, max_rows: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two samples of the normal rows, without a row in common."""
    data = datasets.load(table)
    order = np.random.default_rng([seed, 3]).permutation(np.flatnonzero(data.labels == 0))
    size = min(max_rows, len(order) // 2)
    return tuple(data.frame.iloc[part].reset_index(drop=True) for part in (order[:size], order[size : 2 * size]))


def _read_cache() -> dict[Unit, list[dict[str, Any]]]:
    if not CACHE.is_file():
        return {}
    lines = [json.loads(line) for line in CACHE.read_text(encoding="utf-8").splitlines()]
    return {Unit(**line["unit"]): line["found"] for line in lines}


def _append_cache(unit: Unit, found: list[dict[str, Any]]) -> None:
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    with CACHE.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"unit": asdict(unit), "found": found}) + "\n")


if __name__ == "__main__":
    main()
