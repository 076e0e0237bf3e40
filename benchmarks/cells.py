"""Which cell is wrong? Known errors in clean tables, and how well rfod and others point at them.

    python -m benchmarks.cells                                   # needs rfod[bench], shap, outliertree, robpy
    python -m benchmarks.cells --tables wine --seeds 1 --groups rfod
    python -m benchmarks.cells --groups surprise conformal lace ARF --variants one --seeds 1 --max-rows 1000 \\
        --output benchmarks/results/cells_models.json

Normal rows only, half for training. In the other half a fifth of the rows gets one wrong cell ("one"; "two": two), of
seven kinds (rfod._check.errors). "dirty": one wrong cell, and before training each kind went into 1 % of the training
rows too. Each half is a sample of at most --max-rows rows. What is done is kept in results/cells_cache.jsonl and not
done again while the code is the same; results/cells.json is written from it at the end. With --keep, lines of groups
that are not run stay in it.

The models of the second command (cell_conformal.py, cell_density.py) take long, so that a run of their own has smaller
halves, beside "surprise", rfod's score alone, on the same rows. lace and ARF have environments of their own; when one
passes a limit, a line says so.

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
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import cell_density, datasets, record
from benchmarks.cell_conformal import PLAIN, RANKED, ConformalCleaning
from benchmarks.cell_density import DensityCells, MethodError
from benchmarks.cell_measures import pointing
from benchmarks.cell_methods import PEERS, SHAP_ROWS, Method, Scores
from benchmarks.cell_rfod import Detector, SurpriseCells
from benchmarks.cell_tables import print_tables
from benchmarks.wrong_cells import ERROR_KINDS, inject, modelled_columns
from rfod._table.columns import Column

TABLES = ("bank", "wine", "pageblocks", "thyroid", "kdd", "backdoor", "ethereum", "spambase")
VARIANTS = ("one", "two", "dirty")
GROUPS = ("peers", "surprise", "conformal", "lace", "ARF", "rfod")
SHARE_WRONG = 0.2
SHARE_DIRTY = 0.01
CACHE = record.RESULTS / "cells_cache.jsonl"
HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src" / "rfod"
ENGINE = ("_forest", "_model", "_table", "params.py", "pipeline.py")
ERRORS = [SOURCE / "_check" / "errors.py", HERE / "wrong_cells.py", HERE / "cell_measures.py"]
DENSITY = [HERE / "cell_matrix.py", HERE / "cell_density.py", HERE / "environments" / "worker.py"]
CAPS = {
    "train_rows": cell_density.TRAIN_ROWS,
    "scored_rows": cell_density.SCORED_ROWS,
    "max_seconds": cell_density.MAX_SECONDS,
}
CODE = {
    "peers": [*ERRORS, HERE / "cell_methods.py"],
    "surprise": [*ERRORS, HERE / "cell_rfod.py", *(SOURCE / part for part in ENGINE)],
    "conformal": [*ERRORS, HERE / "cell_matrix.py", HERE / "cell_conformal.py"],
    "lace": [*ERRORS, *DENSITY, *(HERE / "environments" / name for name in ("lace_worker.py", "lace.txt"))],
    "ARF": [*ERRORS, *DENSITY, *(HERE / "environments" / name for name in ("arf_worker.py", "arf.txt"))],
    "rfod": [*ERRORS, HERE / "cell_rfod.py", *(SOURCE / part for part in ENGINE)],
}
OTHERS: dict[str, dict[str, Callable[[int], Method]]] = {
    "peers": PEERS,
    "surprise": {"surprise": SurpriseCells},
    "conformal": {PLAIN: ConformalCleaning},
    "lace": {"lace": partial(DensityCells, "lace")},
    "ARF": {"ARF": partial(DensityCells, "arf")},
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
    parser.add_argument("--keep", action="store_true", help="add to the output: lines of groups not run stay")
    parser.add_argument("--output", type=Path, default=record.RESULTS / "cells.json")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    codes = {group: record.fingerprint(*CODE[group]) for group in GROUPS}
    done = _read_cache()
    for seed in range(arguments.seeds):
        for table in arguments.tables:
            for group in arguments.groups:
                if group == "surprise" and "rfod" in arguments.groups:
                    continue  # it is part of rfod's own lines
                units = [
                    Unit(table, seed, variant, kind, group, arguments.max_rows, codes[group])
                    for variant in arguments.variants
                    for kind in (("none", *ERROR_KINDS) if group == "rfod" else ERROR_KINDS)
                    if variant != "dirty" or group == "rfod"
                ]
                todo = [unit for unit in units if unit not in done]
                start = time.perf_counter()
                for unit, found in _run_rfod(todo) if group == "rfod" else _run_others(todo):
                    done[unit] = found
                    _append_cache(unit, found)
                if todo:
                    print(f"{table} {seed} {group}: {time.perf_counter() - start:.0f} s", flush=True)
    wanted = [
        (unit, found)
        for unit, found in done.items()
        if unit.table in arguments.tables
        and unit.seed < arguments.seeds
        and unit.group in arguments.groups
        and unit.max_rows == arguments.max_rows
        and unit.code == codes[unit.group]
    ]
    results = [
        {key: value for key, value in asdict(unit).items() if key not in ("max_rows", "code", "group")} | line
        for unit, found in wanted
        for line in found
    ]
    content = _content(arguments, results)
    record.write_json(arguments.output, content)
    print_tables(content["results"])


def _content(arguments: argparse.Namespace, results: list[dict[str, Any]]) -> dict[str, Any]:
    """What is written: the machine and commit of this run, or the file as it was with these groups anew."""
    this_run = {"machine": record.machine(), **record.commit()}
    content = this_run | {
        "max_rows": arguments.max_rows,
        "share_wrong": SHARE_WRONG,
        "share_dirty": SHARE_DIRTY,
        "shap_rows": SHAP_ROWS,
        "differences": {name: text for name, text in datasets.DIFFERENCES.items() if name in arguments.tables},
    }
    if arguments.keep:
        content = json.loads(arguments.output.read_text(encoding="utf-8"))
        kept = [line for line in content["results"] if _group(line["method"]) not in arguments.groups]
        results = kept + results
    for group in sorted(arguments.groups):
        content[group] = this_run | (CAPS if group in ("lace", "ARF") else {})
    return content | {"results": results}


def _group(method: str) -> str:
    """The group of a method by its name in the results."""
    if method == RANKED:
        return "conformal"
    return next((group for group, methods in OTHERS.items() if method in methods), "rfod")


def _run_rfod(units: list[Unit]) -> Iterator[tuple[Unit, list[dict[str, Any]]]]:
    """All units of one table and seed: one fit per variant of training rows."""
    for is_dirty in (False, True):
        chosen = [unit for unit in units if (unit.variant == "dirty") is is_dirty]
        if not chosen:
            continue
        train, test, columns = _modelled_halves(chosen[0])
        if is_dirty:
            for number, kind in enumerate(ERROR_KINDS):
                train, _ = inject(train, kind, SHARE_DIRTY, 1000 * chosen[0].seed + number + 1, columns=columns)
        detector = Detector(train, chosen[0].seed)
        for unit in chosen:
            if unit.kind == "none":
                yield unit, detector.untouched(test)
                continue
            spoilt, wrong = _inject(unit, test, columns)
            yield unit, detector.results(test, spoilt, wrong) if wrong.any() else []


def _run_others(units: list[Unit]) -> Iterator[tuple[Unit, list[dict[str, Any]]]]:
    """All units of one table, seed and group: the methods are fitted once. A failure is a result too."""
    if not units:
        return
    train, test, columns = _modelled_halves(units[0])
    methods = {name: make(units[0].seed) for name, make in OTHERS[units[0].group].items()}
    failed: dict[str, str] = {}
    try:
        for name, method in methods.items():
            start = time.perf_counter()
            try:
                method.fit(train)
            except MethodError as failure:
                failed[name] = str(failure)
            print(f"  {name}: fit {time.perf_counter() - start:.0f} s {failed.get(name, '')}", flush=True)
        for unit in units:
            spoilt, wrong = _inject(unit, test, columns)
            found: list[dict[str, Any]] = []
            for name, method in methods.items() if wrong.any() else ():
                start = time.perf_counter()
                try:
                    told = {} if name in failed else _named_scores(name, method, spoilt)
                except MethodError as failure:
                    failed[name] = str(failure)
                seconds = time.perf_counter() - start
                if name in failed:
                    found.append({"method": name, "failed": failed[name]})
                    continue
                for label, scores in told.items():
                    measures = pointing(scores.cells, scores.rows, wrong, unit.seed)
                    found.append({"method": label, "n_wrong": int(wrong.sum()), "seconds": seconds, **measures})
            yield unit, found
    finally:
        for method in methods.values():
            if isinstance(method, DensityCells):
                method.close()


def _modelled_halves(unit: Unit) -> tuple[pd.DataFrame, pd.DataFrame, tuple[Column, ...]]:
    """Clean rows to learn from and to spoil, with the columns that a model has."""
    train, test = halves(unit.table, unit.seed, unit.max_rows)
    columns = modelled_columns(train)
    names = [column.name for column in columns]
    return train[names], test[names], columns


def _inject(unit: Unit, test: pd.DataFrame, columns: tuple[Column, ...]) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    return inject(test, unit.kind, SHARE_WRONG, unit.seed, 2 if unit.variant == "two" else 1, columns)


def _named_scores(name: str, method: Method, frame: pd.DataFrame) -> dict[str, Scores]:
    """Scores by the name in the tables; conformal cleaning has two."""
    return method.scores(frame) if isinstance(method, ConformalCleaning) else {name: method.score(frame)}


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
