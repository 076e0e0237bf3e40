"""Repairs the files of the tables with known errors, compares all bytes, and repairs the output again.

    python -m benchmarks.repair_files [--only TEXT ...] [--output FILE]

Per file: cells changed and how many of them are right now, whether any byte beside the changed fields differs, and the
cells that a second run changes without the log of the first. The trees that come with the package have seen these
tables: how often repairs are right on tables left out is measured by benchmarks/decision/repairs.py.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import warnings
from pathlib import Path
from typing import Any

from benchmarks import record
from benchmarks.datasets import folder as data_folder
from rfod._findings.changes import Change
from rfod._io.interface import ReadOptions
from rfod._io.locations import open_source
from rfod._io.rewrite import rewrite
from rfod._io.source import read_all
from rfod.params import SCAN_SEED, Params
from rfod.pipeline import fit_detect


def repaired(path: Path) -> tuple[bytes, list[Change], int]:
    """The file with its certain repairs made, the changes, and how many were refused."""
    source = open_source(str(path), ReadOptions())
    batch = read_all(source)
    params = Params(random_state=SCAN_SEED, n_jobs=1, keep_evidence=False)
    found = fit_detect(batch.table, params, lines=batch.lines)[1]
    changes = found.list_changes()
    made = rewrite(source, str(path), batch, [change.edit for change in changes])
    left = {refusal.edit for refusal in made.refused}
    return made.data, [change for change in changes if change.edit not in left], len(left)


def rows_of(data: bytes) -> list[list[str]]:
    """The fields of a file, by another parser."""
    return list(csv.reader(data.decode("utf-8-sig").splitlines(True)))


def measure(folder: Path) -> dict[str, Any]:
    """One table."""
    path = folder / "dirty.csv"
    data, changes, n_refused = repaired(path)
    stored = path.read_bytes()
    before, after, clean = rows_of(stored), rows_of(data), rows_of((folder / "clean.csv").read_bytes())
    place = {name: number for number, name in enumerate(before[0])}
    expected = [list(row) for row in before]
    for change in changes:
        field = expected[change.row + 1][place[change.column]]
        expected[change.row + 1][place[change.column]] = field.replace(field.strip(), change.after or "") or str(
            change.after
        )
    lines = {change.row for change in changes}
    if stored.count(b"\n") == len(before):  # no line ends inside of fields
        pairs = zip(stored.splitlines(True)[1:], data.splitlines(True)[1:], strict=True)
        others_same = all(one == other for row, (one, other) in enumerate(pairs) if row not in lines)
    else:
        others_same = True
    right = sum(
        change.after is not None and change.after.strip() == clean[change.row + 1][place[change.column]].strip()
        for change in changes
    )
    n_cells = (len(before) - 1) * len(before[0])
    with tempfile.TemporaryDirectory() as temporary:
        again = Path(temporary) / "dirty.csv"
        again.write_bytes(data)
        n_again = len(repaired(again)[1])
    return {
        "cells": n_cells,
        "changed": len(changes),
        "right": right,
        "refused": n_refused,
        "fields_as_expected": expected == after,
        "other_lines_same_bytes": others_same,
        "changed_again": n_again,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="tables whose name contains one of these")
    parser.add_argument("--output", type=Path, default=record.RESULTS / "repair_files.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = {}
    for clean in sorted((data_folder() / "dirty").glob("*/clean.csv")):
        name = clean.parent.name
        if any(text in name for text in options.only):
            tables[name] = measure(clean.parent)
            print(name, tables[name], flush=True)
            total = {key: sum(row[key] for row in tables.values()) for key in next(iter(tables.values()))}
            content = {"machine": record.machine(), **record.commit(), "tables": tables, "all": total}
            record.write_json(options.output, content)


if __name__ == "__main__":
    main()
