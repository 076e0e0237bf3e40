"""Decisions: is one lost when the review is killed, and do they help to find the other wrong cells?

    python -m benchmarks.decisions --part kills                  # 200 kills at random moments; needs a system with pty
    python -m benchmarks.decisions --part precision              # tables with known errors, in $RFOD_DATA/dirty
    python -m benchmarks.decisions --part halve                  # four tables of it, about 10 minutes

kills: a review of the cells of one scan runs in a pseudo-terminal, everything is called fine, and SIGKILL comes at a
random moment; the next review goes on from the file. A decision that the screen said was made and that is not in the
file is lost. Each review is a copy (fork) of a process that has scanned the table, since a scan takes most of the time.

precision: the 20 most probable cells of a table are decided by the truth (replaced by the right value, blanked, or
fine), and the table is scanned again with these decisions. Before: how many of the next 50 cells of the first scan are
wrong; after: how many of the first 50 of the second, in which no decided cell is listed.

halve: how many decisions a person who knows the right values makes until half of the wrong cells of a table are left.
Certain repairs (`found.repair()`) are made first and cost nothing. What is left is decided in the order of `rfod decide
--review`; after 20 decisions the table is scanned again with them. After the last finding of 0.5 the person goes on
with the other cells, most probable first. A value that is right wherever it stands, and is a finding elsewhere too, is
called fine by one decision with a condition; all other decisions are about one cell.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
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
from rfod._decisions.condition import parse_condition
from rfod._decisions.decision import Decision
from rfod._decisions.settled import shifted
from rfod._decisions.texts import cell_texts
from rfod._evidence.wrong_cells import WORTH_A_CHECK
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
N_BETWEEN = 20  # decisions until the table is scanned again
MOST_DECISIONS = 3_000  # half of the wrong cells of flights are 2,460
HALVED: dict[str, tuple[str, ...]] = {  # tables, and columns of systematic errors that are not counted
    "real_hospital": (),
    "real_flights": (),
    "real_beers": (),
    "real_beers without ounces, ibu": ("ounces", "ibu"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("kills", "precision", "halve"), required=True)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--tables", nargs="+", help="all by default")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--most-rows", type=int, default=3000, help="tables with more rows are left out")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, Any] = json.loads(OUTPUT.read_text(encoding="utf-8")) if OUTPUT.exists() else {}
    if arguments.part == "kills":
        found["kills"] = kills(arguments.kills)
    elif arguments.part == "halve":
        halve_all(found, arguments.tables or list(HALVED), arguments.trees)
        return
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
    table, dirty, clean = _read(name)
    if len(dirty) > most_rows:
        return None
    wrong = dirty.to_numpy() != clean.to_numpy()
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


def _read(name: str) -> tuple[Table, pd.DataFrame, pd.DataFrame]:
    """A table as the program reads it, and its dirty and clean texts under the same names."""
    folder = datasets.folder() / "dirty" / name
    dirty, clean = (_texts(folder / f"{which}.csv") for which in ("dirty", "clean"))
    table = read_all(open_source(str(folder / "dirty.csv"), ReadOptions())).table
    assert (table.n_rows, len(table.names)) == dirty.shape, f"{name}: the reader has {table.n_rows} rows"
    dirty.columns = clean.columns = pd.Index(table.names)  # some headers differ
    return table, dirty, clean


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


# --------------------------------------------------------------------------------------------------------------- halve


def halve_all(found: dict[str, Any], names: Sequence[str], n_trees: int) -> None:
    """Measure tables of HALVED, and write them into the results beside what is there of other tables and parts."""
    part = {"machine": record.machine(), "n_between_scans": N_BETWEEN, "most_decisions": MOST_DECISIONS}
    commit = record.commit()  # before the results are written, which belong to the repository
    tables: dict[str, Any] = found.get("halve", {}).get("tables", {})
    for name in names:
        tables[name] = Halving(name.partition(" ")[0], HALVED[name], n_trees).run() | commit
        print(name, json.dumps(tables[name]), flush=True)
        found["halve"] = part | {"tables": tables}
        record.write_json(OUTPUT, found)


class Halving:
    """A person who knows the right values decides cells of a table until half of its wrong cells are left."""

    def __init__(self, name: str, left_out: Sequence[str], n_trees: int) -> None:
        self._table, dirty, clean = _read(name)
        self._dirty, self._clean, self._n_trees = dirty, clean, n_trees
        self._place = {column: number for number, column in enumerate(self._table.names)}
        self._right = clean.to_numpy()
        self._now = dirty.to_numpy().copy()  # the texts with all decisions and repairs
        self._wrong = self._now != self._right
        self._is_counted = np.array([column not in left_out for column in self._table.names])
        self._decisions, self._kinds = Decisions(), Counter[str]()
        self._is_decided = np.zeros(self._now.shape, dtype=np.bool_)
        self._is_repaired = self._is_decided.copy()
        self._n_cells = len(dirty) * int(self._is_counted.sum())
        self._target = self._n_left // 2

    @property
    def _n_left(self) -> int:
        """Counted cells that are wrong now."""
        return int((self._now != self._right)[:, self._is_counted].sum())

    @property
    def _state(self) -> dict[str, Any]:
        """Decisions so far and what they led to."""
        return {
            "decisions": self._kinds.total(),
            "wrong_left": self._n_left,
            "halved": self._n_left <= self._target,
            "of_wrong_cells": self._kinds["wrong"] + self._kinds["refused"],
        }

    def run(self) -> dict[str, Any]:
        """The measures of this table."""
        start, n_wrong, is_halved = time.process_time(), self._n_left, False
        repairs: dict[str, Any] = {}
        listed: dict[str, Any] | None = None
        n_when_repaired = 0
        while not is_halved and self._kinds.total() < MOST_DECISIONS:
            found = _scan(self._table, self._n_trees, self._decisions)
            n = self._kinds.total()
            if not repairs or n - n_when_repaired >= max(N_BETWEEN, n // 10):  # repairs take longer than the scan
                self._repair(found)
                repairs = repairs or self._repair_measures()
                n_when_repaired = n
            cells = self._open_cells(found, WORTH_A_CHECK) if listed is None else []
            if listed is None and not cells:
                listed = self._state
            cells = cells or self._open_cells(found, 1e-9)
            if not cells:
                break
            is_halved = self._decide(found, cells)
            print(json.dumps(self._state), flush=True)
        return {
            "n_cells": self._n_cells,
            "wrong_cells": n_wrong,
            "target": self._target,
            "repairs": repairs,
            "findings": listed or self._state,
            "all_cells": self._state,
            "fine_wherever": self._kinds["wherever"],
            "refused": self._kinds["refused"],
            "unmatched": len(self._decisions.match(self._table).unmatched),
            "at_random": round((n_wrong - self._target) * (self._n_cells + 1) / (n_wrong + 1)),  # expected, no RFOD
            "cpu_seconds": round(time.process_time() - start),
        }

    def _repair(self, found: Detection) -> None:
        """The table as decided, with its certain repairs."""
        self._now = self._dirty.to_numpy().copy()
        self._is_repaired[:] = False
        for change in found.list_changes():
            cell = change.row, self._place[change.column]
            self._now[cell] = (change.after or "").strip()
            self._is_repaired[cell] = change.probability is not None

    def _repair_measures(self) -> dict[str, Any]:
        """What the certain repairs did that were made without any decision."""
        made = self._is_repaired & self._is_counted
        n_right = int((self._now == self._right)[made].sum())
        return {"made": int(made.sum()), "right": n_right, "broken": int((made & ~self._wrong).sum())} | {
            "wrong_left": self._n_left,
            "halved": self._n_left <= self._target,
        }

    def _open_cells(self, found: Detection, above: float) -> list[tuple[int, int]]:
        """Counted cells that are neither decided nor repaired, in the order of the review."""
        place = [self._place[column] for column in found.judged_columns]
        cells = [(int(row), place[column]) for row, column in found.probabilities.above(above)]
        is_open = ~self._is_decided & ~self._is_repaired & self._is_counted
        return [cell for cell in cells if is_open[cell]]

    def _decide(self, found: Detection, cells: Sequence[tuple[int, int]]) -> bool:
        """Decide the first cells; True when half of the wrong cells are left."""
        n_before = self._kinds.total()
        for row, c in cells:
            if self._n_left <= self._target:
                return True
            if self._kinds.total() >= min(n_before + N_BETWEEN, MOST_DECISIONS):
                break
            if self._is_decided[row, c]:  # by a condition
                continue
            if not self._wrong[row, c] and self._fine_wherever(found, row, c):
                continue
            self._decide_cell(found, row, c)
        return self._n_left <= self._target

    def _decide_cell(self, found: Detection, row: int, c: int) -> None:
        column = self._table.names[c]
        said = found.cell_probability[row, found.judged_columns.index(column)]
        shift = found.judged.settled.shifts.get(column, 0.0)
        chance = float(shifted(np.array([said]), -shift)[0])  # as the review keeps it: without what decisions added
        self._is_decided[row, c] = True
        try:
            decision = _by_truth(Decisions(), self._table, row, column, self._dirty, self._clean)
        except ValueError:  # the right value is none that the column can hold
            self._kinds["refused"] += 1
            return
        self._decisions.add(replace(decision, probability=chance))
        self._now[row, c] = self._right[row, c]
        self._kinds["wrong" if self._wrong[row, c] else "fine"] += 1

    def _fine_wherever(self, found: Detection, row: int, c: int) -> bool:
        """Call the value of a right cell fine wherever it stands, if it is and several findings have it."""
        column = self._table.names[c]
        text = cell_texts(self._table, column, np.array([row]))[0]
        condition = f"{_quoted(column)} is missing" if text is None else f"{_quoted(column)} = {_quoted(text)}"
        holds = parse_condition(condition, self._table.names).holds(self._table)
        chance = found.cell_probability[:, found.judged_columns.index(column)]
        n_findings = np.count_nonzero(holds & (chance >= WORTH_A_CHECK) & ~self._is_decided[:, c])
        if n_findings < 2 or self._wrong[holds, c].any():
            return False
        self._decisions.add(Decision("fine", column, wherever=condition))
        self._is_decided[holds, c] = True
        self._kinds["wherever"] += 1
        return True


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


if __name__ == "__main__":
    main()
