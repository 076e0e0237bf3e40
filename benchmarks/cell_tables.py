"""Tables of the cell benchmark: mean over tables and seeds, per kind of error and method.

python -m benchmarks.cell_tables                      # those of results/cells.json, as Markdown
python -m benchmarks.cell_tables cells_models.json    # of another file in results/
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record
from benchmarks.cell_rfod import RATES
from benchmarks.wrong_cells import ERROR_KINDS

MEASURES = {
    "cell_ap": "average precision over cells",
    "cell_auc_roc": "AUC-ROC over cells",
    "top_1": "wrong cell first in its row",
    "top_3": "wrong cell among the first three of its row",
    "row_auc_roc": "AUC-ROC over rows",
}
Line = dict[str, Any]


def print_tables(results: list[Line]) -> None:
    """Everything that the results allow."""
    for variant in ("one", "two", "dirty"):
        chosen = [line for line in results if line["variant"] == variant]
        judged = {(line["table"], line["seed"]) for line in chosen if line["method"] == "surprise"}
        chosen = [line for line in chosen if (line["table"], line["seed"]) in judged]  # the same for all methods
        if not chosen:
            continue
        per_table = {table: sum(pair[0] == table for pair in judged) for table, _ in sorted(judged)}
        print(f"\n## {variant}\n\nseeds per table: {', '.join(f'{table} {n}' for table, n in per_table.items())}")
        for name, table, why in sorted({(x["method"], x["table"], x["failed"]) for x in chosen if "failed" in x}):
            print(f"{name} has no result on {table}: {why}")
        pointed = [line for line in chosen if "cell_ap" in line]
        methods = list(dict.fromkeys(line["method"] for line in pointed))
        for measure, words in MEASURES.items():
            if pointed:
                print(f"\n{variant}: {words}\n")
                _markdown(
                    ["method", *ERROR_KINDS, "mean"],
                    ([method, *_by_kind(pointed, method, lambda line, m=measure: line[m])] for method in methods),
                )
        told = [line for line in chosen if "findings" in line and line["kind"] != "none"]
        if told:
            print(f"\n{variant}: rfod's findings, expected values and intervals\n")
            _markdown(["", *ERROR_KINDS, "mean"], _rfod_rows(told))
        for rate in RATES:
            clean = [line["findings"][str(rate)]["n_flagged"] for line in chosen if line["kind"] == "none"]
            n_cells = sum(line["n_cells"] for line in chosen if line["kind"] == "none")
            if clean:
                print(f"{variant}, nothing wrong: {sum(clean)} findings in {n_cells:,} cells at {rate:g}")
        coverage = [line["coverage"] for line in chosen if line["kind"] == "none" and line["coverage"] is not None]
        if coverage:
            print(f"{variant}, nothing wrong: coverage of 90 % intervals {np.mean(coverage):.3f}")


def _rfod_rows(told: list[Line]) -> Iterable[list[str]]:
    for rate in RATES:
        at = f"at {rate:g}"
        yield [f"findings {at}", *_pooled(told, "findings", rate, lambda found: (found["n_flagged"], None))]
        yield [f"- false {at}, pooled", *_pooled(told, "findings", rate, _false)]
        yield [f"- in rows without an error {at}, pooled", *_pooled(told, "findings", rate, _elsewhere)]
        yield [f"- false {at}, mean of tables", *_mean_of(told, "findings", rate, "fdr")]
        yield [f"- found {at}", *_mean_of(told, "findings", rate, "recall")]
        yield [f"to blame as well: false {at}, pooled", *_pooled(told, "blamed", rate, _false)]
        yield [f"- found {at}", *_mean_of(told, "blamed", rate, "recall")]
    for key, words in (
        ("default_row_auc_roc", "AUC-ROC over rows, rfod's row score"),
        ("expected_distance_median", "expected number, distance (median)"),
        ("median_distance_median", "column's median, distance (median)"),
        ("expected_distance", "expected number, distance (mean)"),
        ("median_distance", "column's median, distance (mean)"),
        ("expected_agrees", "expected category is true"),
        ("mode_agrees", "commonest category is true"),
        ("coverage_of_true", "90 % interval holds true value"),
    ):
        yield [words, *_by_kind(told, None, lambda line, k=key: line[k])]


def _false(found: Line) -> tuple[int, int | None]:
    return found["n_false"], found["n_flagged"]


def _elsewhere(found: Line) -> tuple[int, int | None]:
    return found["n_false"] - found["n_false_in_wrong_rows"], found["n_flagged"]


def _pooled(
    told: list[Line], what: str, rate: float, counts: Callable[[Line], tuple[int, int | None]]
) -> Iterable[str]:
    """Per kind and over all: a sum over tables and seeds, or a share of sums."""
    for kinds in (*((kind,) for kind in ERROR_KINDS), ERROR_KINDS):
        pairs = [counts(line[what][str(rate)]) for line in told if line["kind"] in kinds]
        part, wholes = sum(pair[0] for pair in pairs), [pair[1] for pair in pairs]
        if None in wholes:
            yield f"{part:,}"
        else:
            yield f"{part / sum(wholes):.3f}" if sum(wholes) else "-"


def _mean_of(told: list[Line], what: str, rate: float, measure: str) -> list[str]:
    return _by_kind(told, None, lambda line: line[what][str(rate)][measure])


def _by_kind(lines: list[Line], method: str | None, value: Callable[[Line], float | None]) -> list[str]:
    """Mean over tables of the mean over seeds, per kind; then the mean of the kinds."""
    means = []
    for kind in ERROR_KINDS:
        by_table: dict[str, list[float]] = {}
        for line in lines:
            if line["kind"] == kind and method in (None, line["method"]) and value(line) is not None:
                by_table.setdefault(line["table"], []).append(float(value(line) or 0.0))
        means.append(np.mean([np.mean(values) for values in by_table.values()]) if by_table else np.nan)
    known = [mean for mean in means if np.isfinite(mean)]
    return [f"{mean:.3f}" if np.isfinite(mean) else "-" for mean in (*means, np.mean(known) if known else np.nan)]


def _markdown(head: list[str], rows: Iterable[list[str]]) -> None:
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    path = record.RESULTS / (sys.argv[1] if len(sys.argv) > 1 else "cells.json")
    print_tables(json.loads(path.read_text(encoding="utf-8"))["results"])
