"""Results as they were written: reading JSON lines, and one value per dataset and method."""

from __future__ import annotations

import json
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import datasets

FOLDER = Path(__file__).resolve().parent / "results"

Line = dict[str, Any]


def key(line: Line) -> str:
    """What makes two results the same result."""
    words = [line[name] for name in ("study", "dataset", "method", "label", "seed", "train_rows", "parameters")]
    return json.dumps(words, sort_keys=True)


def read(path: Path) -> list[Line]:
    """The results of a study; of a unit that was run again, the last."""
    if not path.is_file():
        return []
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return list({key(line): line for line in lines}.values())


def finished(lines: list[Line]) -> list[Line]:
    return [line for line in lines if line["status"] == "ok"]


def on_common_seeds(lines: list[Line], methods: Container[str]) -> list[Line]:
    """Finished lines, per dataset only those of the seeds that all of these methods have: the same splits for all."""
    seeds: dict[tuple[str, str], set[int]] = {}
    for line in finished(lines):
        if line["method"] in methods:
            seeds.setdefault((line["dataset"], line["method"]), set()).add(line["seed"])
    common: dict[str, set[int]] = {}
    for (dataset, _), own in seeds.items():
        common[dataset] = common[dataset] & own if dataset in common else own
    return [line for line in finished(lines) if line["seed"] in common.get(line["dataset"], ())]


def paired(lines: list[Line], others: list[str], name: str, measure: str) -> pd.DataFrame:
    """Datasets that `name` has, by it and the others: means over the seeds that all of them have there."""
    common = on_common_seeds(lines, [*others, name])
    has = {line["dataset"] for line in common if line["method"] == name}
    chosen = [line for line in common if line["dataset"] in has and line["method"] in (*others, name)]
    return by_dataset(chosen, measure)


def n_paired(lines: list[Line], others: list[str], name: str) -> tuple[int, int]:
    """Fewest and most seeds per dataset that `name` shares with all others."""
    common = [line for line in on_common_seeds(lines, [*others, name]) if line["method"] == name]
    counted = by_dataset(common, "auc_roc", how="count")[name]
    return int(counted.min()), int(counted.max())


def by_dataset(lines: list[Line], measure: str, column: str = "method", how: str = "mean") -> pd.DataFrame:
    """Datasets by methods (or by another field): the mean over seeds, or another summary; NaN where nothing ran."""
    table = pd.DataFrame(
        [(line["dataset"], line[column], line[measure]) for line in finished(lines)],
        columns=["dataset", column, measure],
    )
    wide = table.groupby(["dataset", column])[measure].agg(how).unstack()
    return wide.reindex(index=_in_order(wide.index, datasets.ALL))


def counts(lines: list[Line], wanted: Callable[[Line], bool] = lambda _: True) -> pd.DataFrame:
    """Methods by status: how many units."""
    rows = [(line["method"], line["status"]) for line in lines if wanted(line)]
    table = pd.DataFrame(rows, columns=["method", "status"])
    return pd.crosstab(table["method"], table["status"])


def _in_order(found: pd.Index, order: tuple[str, ...]) -> list[str]:
    return [name for name in order if name in found]
