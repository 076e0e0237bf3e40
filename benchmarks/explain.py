"""How long explanations take: one row of a loaded model, and the findings of a scan.

    python -m benchmarks.explain                     # dos (41 columns) and bank (45,211 rows)

One row: a model of `dos` is saved, loaded, and asked for the rows with the highest scores of other rows, one by one;
the very first one apart, which sorts the sample of the model into leaves. Findings: `bank` is scanned and its worst 1 %
explained at once; patterns are those of the same rows.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rfod
from benchmarks import datasets, record

TARGET = record.RESULTS / "explain.json"


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """The result, with seconds on the clock and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, {"seconds": time.perf_counter() - clock, "processor_seconds": time.process_time() - processor}


def one_by_one(name: str, max_rows: int, n_rows: int) -> dict[str, Any]:
    """Rows of a loaded model, one after the other."""
    frame = datasets.load(name, max_rows).frame
    half = len(frame) // 2
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.rfod"
        rfod.RFOD(random_state=0).fit(frame[:half]).save(path)
        detector = rfod.load(path)
    found = detector.detect(frame[half:].reset_index(drop=True))
    _ = found.p_values
    rows = np.argsort(-found.row_scores, kind="stable")[: n_rows + 1].tolist()
    _, first = timed(lambda: found.explain(rows[0]))
    each = [timed(lambda row=row: found.explain(row))[1] for row in rows[1:]]  # type: ignore[misc]
    return {
        "dataset": name,
        "columns": len(found.columns),
        "rows": n_rows,
        "first_row": first,
        "median": {key: float(np.median([times[key] for times in each])) for key in first},
        "slowest": {key: max(times[key] for times in each) for key in first},
    }


def findings(name: str, share: float) -> dict[str, Any]:
    """The worst rows of a scan, all at once."""
    frame = datasets.load(name).frame
    found = rfod.scan(frame, random_state=0)
    worst = found.flag(top=round(share * len(found)))
    _ = found.p_values
    told, explaining = timed(lambda: found.explain_rows(worst))
    patterns, grouping = timed(lambda: found.patterns(worst))
    cells = [cell for row in told for cell in row.cells]
    return {
        "dataset": name,
        "table_rows": len(found),
        "columns": len(found.columns),
        "rows": len(told),
        "cells": len(cells),
        "cells_with_a_reason": sum(bool(cell.conditions) for cell in cells),
        "explain": explaining,
        "patterns": grouping | {"n_patterns": len(patterns)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how long explanations take.")
    parser.add_argument("--rows", type=int, default=20, help="rows explained one by one")
    parser.add_argument("--share", type=float, default=0.01, help="share of the scanned rows that is explained")
    parser.add_argument("--output", type=Path, default=TARGET)
    arguments = parser.parse_args()
    single = one_by_one("dos", 20_000, arguments.rows)
    print(f"one row of {single['columns']} columns: {1000 * single['median']['seconds']:.0f} ms (median)")
    many = findings("bank", arguments.share)
    print(f"{many['rows']} rows of a scan of {many['table_rows']:,}: {many['explain']['seconds']:.1f} s")
    record.write_json(
        arguments.output,
        {"machine": record.machine(), **record.commit(), "one_row": single, "findings": many},
    )


if __name__ == "__main__":
    main()
