"""`rfod diff` on tables of which nothing changed, and on tables with a planted change.

python -m benchmarks.compare_runs           # benchmarks/results/compare_runs.json; goes on where it stopped

Two random halves of a clean table must rarely differ (false alarms). In the second half one column is then changed: a
quarter or half of a standard deviation added, categories replaced, cells blanked, or cells of some rows shuffled among
each other, which changes nothing but its relation to the others (power). Halves are rows drawn at random, at most 600
each.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record
from benchmarks.datasets import folder
from rfod._diff.columns import ColumnChange, compare_columns, judged_together
from rfod._diff.diff import LEVEL
from rfod._diff.samples import sides_of_model, sides_of_tables
from rfod._io.interface import ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import read_all
from rfod._table.table import Table
from rfod.params import SCAN_TRIM, Params
from rfod.pipeline import fit_model, scan_table

ROWS = 600
FEWEST = 200
MOST_COLUMNS = 40
PLANTED_SEEDS = 1
WELL_TOLD = 0.8  # R² or AUC from which on a shuffled column counts as one that has a relation
N_ESTIMATORS = 30
SHUFFLED = (1.0, 0.3, 0.1)
CHANGES = ("shift 0.5", "shift 0.25", "categories 0.1", "gaps 0.05", *(f"shuffle {share:g}" for share in SHUFFLED))
NAMES = ("pima", "bank", "thyroid", "pageblocks", "cardiotocography", "wine", "spambase", "ionosphere")
Line = dict[str, Any]


def paths() -> list[Path]:
    """Clean tables: those of one family (dependency, outlier, typo) have one clean version, so one is taken."""
    data = folder()
    found = [data / f"{name}.parquet" for name in NAMES]
    for place in sorted((data / "dirty").iterdir()):
        if place.name.startswith(("dependency_", "everyday_", "mixed_", "real_")) and place.is_dir():
            found.append(place / "clean.csv")
    return [path for path in found if path.is_file()]


def name_of(path: Path) -> str:
    return path.parent.name if path.name == "clean.csv" else path.stem


def halves(table: Table, seed: int) -> tuple[Table, Table]:
    order = np.random.default_rng(seed).permutation(table.n_rows)
    n = min(ROWS, table.n_rows // 2)
    return table.take(np.sort(order[:n])), table.take(np.sort(order[n : 2 * n]))


def with_column(table: Table, name: str, values: pa.Array) -> Table:
    """The table with other values in one column."""
    read = table._read

    def read_changed(index: int, wanted: str, mixed_as_text: bool) -> Any:
        return values if wanted == name else read(index, wanted, mixed_as_text)

    texts = {other: column for other, column in table.texts.items() if other != name}
    return replace(table, _read=read_changed, texts=texts)


def changed(table: Table, name: str, kind: str, is_categorical: bool, seed: int) -> pa.Array | None:
    """Another version of a column; None where the change cannot be made."""
    column = table.column(name).combine_chunks()
    rng = np.random.default_rng(seed)
    how, share = kind.split()
    picked = np.flatnonzero(rng.random(len(column)) < float(share))
    if how == "shift":
        if is_categorical or not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            return None
        values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return pa.array(values + float(share) * np.nanstd(values), from_pandas=True)
    if how == "gaps":
        mask = np.zeros(len(column), np.bool_)
        mask[picked] = True
        return pa.array(column.to_pylist(), column.type, mask=mask | np.asarray(column.is_null()))
    if how == "categories":
        counts = column.drop_null().value_counts()
        if not is_categorical or len(counts) < 2:
            return None
        order = np.argsort(-counts.field("counts").to_numpy())
        first, second = (counts.field("values")[int(order[k])].as_py() for k in (0, 1))
        values = column.to_pylist()
        for row in picked:
            if values[row] == first:
                values[row] = second
        return pa.array(values, column.type)
    places = np.arange(len(column))
    places[picked] = rng.permutation(picked)
    return column.take(pa.array(places))


def moved_of(changes: list[ColumnChange]) -> dict[str, list[str]]:
    return {change.column: list(change.moved) for change in changes if change.moved}


def compare(before: Any, model: Any, after: Table, mode: str) -> list[ColumnChange]:
    if mode == "model":
        return judged_together(compare_columns(model, *sides_of_model(model, after, 1), (None, after)), LEVEL)
    sides = sides_of_tables(before.judged, after, np.full(after.n_rows, -1), 1)
    return judged_together(compare_columns(model, *sides, (before.judged.table, after)), LEVEL)


def measure(path: Path, seeds: int) -> Iterator[Line]:
    table = read_all(open_source(str(path), ReadOptions()), lambda n: None).table
    if table.n_rows < FEWEST or len(table.names) > MOST_COLUMNS:
        return
    for seed in range(seeds):
        before, after = halves(table, seed)
        settings: dict[str, Any] = {"n_estimators": N_ESTIMATORS, "random_state": seed, "n_jobs": 1}
        model, found = scan_table(before, Params(**settings, trim=SCAN_TRIM))
        fitted = fit_model(before, Params(**settings, keep_evidence=False)).model
        for mode, own in (("tables", model), ("model", fitted)):
            common = {"table": name_of(path), "n_rows": after.n_rows, "seed": seed, "mode": mode}
            common["n_columns"] = len(own.columns)
            start = time.process_time()
            changes = compare(found, own, after, mode)
            seconds = round(time.process_time() - start, 2)
            yield {**common, "change": "none", "moved": moved_of(changes), "seconds": seconds}
            if seed >= PLANTED_SEEDS:
                continue
            j = int(np.random.default_rng([seed, 1]).integers(len(own.columns)))
            for kind in CHANGES:
                column = own.columns[j].column
                values = changed(after, column.name, kind, column.is_categorical, seed)
                if values is None:
                    continue
                changes = compare(found, own, with_column(after, column.name, values), mode)
                relation = {change.column: change.relation for change in changes if change.relation is not None}
                effect = relation[column.name].effect if column.name in relation else None
                largest = max((test.effect for test in relation.values() if test.moved), default=None)
                yield {
                    **common,
                    "change": kind,
                    "column": column.name,
                    "fitness": None if np.isnan(own.fitness[j]) else round(float(own.fitness[j]), 3),
                    "moved": moved_of(changes),
                    "relation_effect": effect,
                    "is_largest": effect is not None and effect == largest,
                }


def summary(lines: list[Line]) -> dict[str, Any]:
    """Shares of comparisons with a false alarm, and of planted changes that are found."""
    found: dict[str, Any] = {}
    for mode in ("tables", "model"):
        none = [line for line in lines if line["mode"] == mode and line["change"] == "none"]
        tests = [(line, name, test) for line in none for name, moved in line["moved"].items() for test in moved]
        found[mode] = {
            "unchanged": {
                "comparisons": len(none),
                "tables": len({line["table"] for line in none}),
                "with a moved column": sum(bool(line["moved"]) for line in none),
                "moved columns": sum(len(line["moved"]) for line in none),
                "columns": sum(line["n_columns"] for line in none),
                "by test": {
                    name: sum(test == name for *_, test in tests) for name in ("distribution", "gaps", "relation")
                },
            }
        }
        for kind in CHANGES:
            own = [line for line in lines if line["mode"] == mode and line["change"] == kind]
            test = {"shift": "distribution", "categories": "distribution", "gaps": "gaps"}.get(
                kind.split()[0], "relation"
            )
            for name, chosen in (
                ("all", own),
                ("well told", [line for line in own if line["fitness"] is not None and line["fitness"] >= WELL_TOLD]),
            ):
                if name == "well told" and test != "relation":
                    continue
                hits = [line for line in chosen if test in line["moved"].get(line["column"], [])]
                found[mode].setdefault(kind, {})[name] = {
                    "planted": len(chosen),
                    "found": len(hits),
                    "found with the largest effect": sum(line["is_largest"] for line in hits),
                    "other columns moved in distribution or gaps": sum(
                        any(
                            set(moved) - {"relation"}
                            for column, moved in line["moved"].items()
                            if column != line["column"]
                        )
                        for line in chosen
                    ),
                }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--output", type=Path, default=record.RESULTS / "compare_runs.json")
    parser.add_argument(
        "--parts", type=Path, default=Path(tempfile.gettempdir()) / "rfod-compare-runs.jsonl", help="kept results"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    done = [json.loads(line) for line in arguments.parts.read_text().splitlines()] if arguments.parts.is_file() else []
    known = {line["table"] for line in done}
    for path in paths():
        if name_of(path) in known:
            continue
        start = time.process_time()
        lines = list(measure(path, arguments.seeds))
        done += lines
        with arguments.parts.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        alarms = sum(bool(line["moved"]) for line in lines if line["change"] == "none")
        print(
            f"{name_of(path)}: {len(lines)} comparisons, {alarms} alarms, {time.process_time() - start:.0f} s",
            flush=True,
        )
    content = {"machine": record.machine(), "level": LEVEL, "rows": ROWS, "n_estimators": N_ESTIMATORS}
    record.write_json(arguments.output, content | {"summary": summary(done), "lines": done})
    print(json.dumps(summary(done), indent=1))


if __name__ == "__main__":
    main()
