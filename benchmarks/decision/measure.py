"""How well probabilities of cells hold: per sort of table, and pooled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Judged = tuple[dict[str, Any], NDArray[np.bool_], NDArray[Any]]
"""Record of a version, which cells are wrong, and their probabilities; both (columns, rows)."""
BINS = ((0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01))


def average_precision(wrong: NDArray[np.bool_], chance: NDArray[Any]) -> float:
    """Area under the precision-recall curve, ties shared."""
    order = np.argsort(-chance, kind="stable")
    hits, values = wrong[order], chance[order]
    last = np.append(values[1:] != values[:-1], True)
    found = np.cumsum(hits)[last]
    seen = np.flatnonzero(last) + 1
    return float(np.sum(np.diff(np.append(0, found)) * found / seen) / max(1, hits.sum()))


def sort_of(record: dict[str, Any]) -> str:
    """Which line of the table of results a version belongs to."""
    name, version = record["table"], record["version"]
    first = name.partition("_")[0]
    if record.get("sort") == "package":
        return f"packages {version}"
    if version == "clean":
        return "clean versions"
    if first in ("dependency", "outlier", "typo", "mixed"):
        return f"government {'heavy' if version == 'heavy' else '2 %'}"
    return "everyday" if first == "everyday" else name.removeprefix("real_")


def table_measures(wrong: NDArray[np.bool_], chance: NDArray[Any]) -> dict[str, float]:
    """Of one table: average precision, F1 and precision at 0.5, precision and recall at 0.9, shares called wrong."""
    measures = {}
    flagged, sure = chance >= 0.5, chance >= 0.9
    if wrong.any():
        hits = int((flagged & wrong).sum())
        measures["ap"] = average_precision(wrong.ravel(), chance.ravel())
        measures["f1"] = 2 * hits / (int(flagged.sum()) + int(wrong.sum()))
        measures["precision"] = hits / int(flagged.sum()) if flagged.any() else np.nan
        measures["precision_at_90"] = float(wrong[sure].mean()) if sure.any() else np.nan
        measures["recall_at_90"] = float((sure & wrong).sum() / wrong.sum())
    measures["called_at_90"], measures["called_at_50"] = float(sure.mean()), float(flagged.mean())
    return measures


def measures(judged: Sequence[Judged]) -> dict[str, Any]:
    """Per sort, means over tables; reliability pooled over all."""
    by_sort: dict[str, list[dict[str, float]]] = {}
    for record, wrong, chance in judged:
        by_sort.setdefault(sort_of(record), []).append(table_measures(wrong, chance))
    found: dict[str, Any] = {}
    for sort, rows in sorted(by_sort.items()):
        names = list(dict.fromkeys(name for row in rows for name in row))
        found[sort] = {"tables": len(rows)} | {
            name: round(float(np.nanmean([row.get(name, np.nan) for row in rows])), 5) for name in names
        }
    reliability = []
    for low, high in BINS:
        inside = [
            (wrong[(chance >= low) & (chance < high)], chance[(chance >= low) & (chance < high)])
            for _, wrong, chance in judged
        ]
        wrong, chance = (np.concatenate([pair[part] for pair in inside]) for part in (0, 1))
        reliability.append([low, round(float(chance.mean()), 3), round(float(wrong.mean()), 3), len(wrong)])
    sure = [float(wrong[chance >= 0.9].mean()) for _, wrong, chance in judged if (chance >= 0.9).sum() >= 20]
    found["reliability"] = reliability
    found["tables_with_precision_80_at_90"] = [round(float(np.mean(np.array(sure) >= 0.8)), 3), len(sure)]
    return found


def print_measures(judged: Sequence[Judged]) -> dict[str, Any]:
    """The same, printed."""
    found = measures(judged)
    for sort, row in found.items():
        if isinstance(row, dict):
            print(f"{sort:20s}", " ".join(f"{name} {value:.4g}" for name, value in row.items()))
        else:
            print(sort, row)
    return found
