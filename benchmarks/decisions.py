"""Decisions: is one lost when the review is killed, and do they help to find the other wrong cells?

    python -m benchmarks.decisions --part kills                  # 200 kills at random moments; needs a system with pty
    python -m benchmarks.decisions --part precision              # tables with known errors, in $RFOD_DATA/dirty

kills: a review of the cells of one scan runs in a pseudo-terminal, everything is called fine, and SIGKILL comes at a
random moment; the next review goes on from the file. A decision that the screen said was made and that is not in the
file is lost. Each review is a copy (fork) of a process that has scanned the table, since a scan takes most of the time.

precision: the 20 most probable cells of a table are decided by the truth (replaced by the right value, blanked, or
fine), and the table is scanned again with these decisions. Before: how many of the next 50 cells of the first scan are
wrong; after: how many of the first 50 of the second, in which no decided cell is listed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from benchmarks import datasets, record
from rfod import Decisions
from rfod._cli.review import review_cells
from rfod._io.interface import ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import read_all
from rfod._table.table import Table, open_table
from rfod.detection import Detection
from rfod.params import Params
from rfod.pipeline import fit_detect
from terminal import kill_reviews

OUTPUT = record.RESULTS / "decisions.json"
N_DECIDED, N_NEXT = 20, 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("kills", "precision"), required=True)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--tables", nargs="+", help="all by default")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--most-rows", type=int, default=3000, help="tables with more rows are left out")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, Any] = json.loads(OUTPUT.read_text(encoding="utf-8")) if OUTPUT.exists() else {}
    if arguments.part == "kills":
        found["kills"] = kills(arguments.kills)
    else:
        known = found["precision"] = {}
        folders = sorted(path.parent.name for path in (datasets.folder() / "dirty").glob("*/clean.csv"))
        for name in arguments.tables or folders:
            measured = precision(name, arguments.trees, arguments.most_rows)
            if measured is None:
                continue
            print(name, json.dumps(measured), flush=True)
            known[name] = measured
            record.write_json(OUTPUT, found | {"machine": record.machine(), **record.commit()})
        totals = {which: sum(measured[which] for measured in known.values()) for which in ("before", "after", "shown")}
        found["precision_of_all"] = {"n_tables": len(known), **totals}
        print(json.dumps(found["precision_of_all"]))
    record.write_json(OUTPUT, found | {"machine": record.machine(), **record.commit()})


# --------------------------------------------------------------------------------------------------------------- kills


def kills(n_kills: int) -> dict[str, int]:
    """Kill reviews of a made-up table, and count what was said, pressed and kept."""
    rng = np.random.default_rng(0)
    n = 600
    kind = rng.choice(["express", "standard"], n)
    columns = {
        "service": kind,
        "city": np.where(kind == "express", "Hamburg", "Wien"),
        "weight": rng.uniform(1, 30, n).round(1).astype(str),
        "price": rng.uniform(1, 30, n).round(2).astype(str),
    }
    table = open_table(pd.DataFrame(columns))
    found = fit_detect(table, Params(n_estimators=5, random_state=0, n_jobs=1))[1]
    cells = found.suspects(1e-9)
    totals = {"n_kills": 0, "n_pressed": 0, "n_said": 0, "n_kept": 0, "n_lost": 0, "n_twice": 0, "n_torn": 0}
    with tempfile.TemporaryDirectory() as folder:
        source = random.Random(0)
        number = 0
        while totals["n_kills"] < n_kills:
            number += 1
            path = Path(folder) / f"{number}.decisions.jsonl"

            def go_on(path: Path = path) -> None:
                review_cells(table, found, cells, Decisions.read(path, missing_ok=True), None)

            n_now = min(20, n_kills - totals["n_kills"])  # then a new file, so that cells are left to decide about
            for n_pressed, n_said, n_kept in kill_reviews(n_now, go_on, path, source):
                totals["n_kills"] += 1
                totals["n_pressed"] += n_pressed
                totals["n_said"] += n_said
                totals["n_kept"] += n_kept
                totals["n_lost"] += max(0, n_said - n_kept)
            read = Decisions.read(path, missing_ok=True)
            totals["n_twice"] += len(read.entries) - len({(entry.row, entry.column) for entry in read.entries})
            totals["n_torn"] += len(read.notes)
            print(json.dumps(totals), flush=True)
    return totals


# ----------------------------------------------------------------------------------------------------------- precision


def precision(name: str, n_trees: int, most_rows: int) -> dict[str, Any] | None:
    """Of one table, how many of 50 cells are wrong before and after 20 decisions; None for a table that is too long."""
    folder = datasets.folder() / "dirty" / name
    dirty, clean = (_texts(folder / f"{which}.csv") for which in ("dirty", "clean"))
    if len(dirty) > most_rows:
        return None
    wrong = dirty.to_numpy() != clean.to_numpy()
    table = read_all(open_source(str(folder / "dirty.csv"), ReadOptions())).table
    assert (table.n_rows, len(table.names)) == dirty.shape, f"{name}: the reader has {table.n_rows} rows"
    dirty.columns = clean.columns = pd.Index(table.names)  # some headers differ
    start = time.process_time()
    first = _scan(table, n_trees, None)
    ranked = _ranked(first)
    decisions, n_refused = Decisions(), 0
    for row, column in ranked[:N_DECIDED]:
        try:
            decided = _by_truth(decisions, table, row, column, dirty, clean)
            chance = float(first.cell_probability[row, first.judged_columns.index(column)])
            decisions.add(replace(decided, probability=chance))
        except ValueError:
            n_refused += 1
    after = _ranked(_scan(table, n_trees, decisions))
    decided = set(ranked[:N_DECIDED])
    again = [cell for cell in after if cell not in decided][:N_NEXT]
    place = {column: number for number, column in enumerate(dirty.columns)}

    def n_wrong(cells: list[tuple[int, str]]) -> int:
        return sum(bool(wrong[row, place[column]]) for row, column in cells)

    return {
        "n_rows": len(dirty),
        "n_wrong_cells": int(wrong.sum()),
        "decided_wrong": n_wrong(ranked[:N_DECIDED]),
        "before": n_wrong(ranked[N_DECIDED : N_DECIDED + N_NEXT]),
        "after": n_wrong(again),
        "shown": len(again),
        "refused": n_refused,
        "cpu_seconds": round(time.process_time() - start, 1),
    }


def _texts(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return frame.apply(lambda column: column.str.strip())


def _scan(table: Table, n_trees: int, decisions: Decisions | None) -> Detection:
    """The fit of a scan by which cells are judged."""
    return fit_detect(table, Params(n_estimators=n_trees, random_state=0, n_jobs=1), decisions=decisions)[1]


def _ranked(found: Detection) -> list[tuple[int, str]]:
    """Cells by falling probability."""
    cells = found.probabilities.above(1e-4)[: 4 * (N_DECIDED + N_NEXT)]
    return [(int(row), found.judged_columns[column]) for row, column in cells]


def _by_truth(
    decisions: Decisions, table: Table, row: int, column: str, dirty: pd.DataFrame, clean: pd.DataFrame
) -> Any:
    right = clean.loc[row, column]
    if right == dirty.loc[row, column]:
        return decisions.on_cell(table, row, column, "fine")
    if not right:
        return decisions.on_cell(table, row, column, "blank")
    return decisions.on_cell(table, row, column, "replace", right)


if __name__ == "__main__":
    main()
