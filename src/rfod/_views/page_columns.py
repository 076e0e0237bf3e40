"""The columns of a report: what they hold, whether the others tell them, from what, and what was found in them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

import numpy as np

from rfod._check.selfcheck import SelfCheck
from rfod._views.distributions import distribution
from rfod._views.page_findings import Cells
from rfod._views.texts import printable, rounded
from rfod.detection import Detection

Verdict = Literal["predictable", "partly", "blind", "constant"]
N_PREDICTORS = 5
LEAST_PARTLY = {"R²": 0.1, "AUC": 0.6}
LEAST_PREDICTABLE = {"R²": 0.5, "AUC": 0.8}


def verdict(measure: str, fitness: float) -> Verdict:
    """In one word, how well the other columns tell this one."""
    if np.isnan(fitness):
        return "constant"
    if fitness < LEAST_PARTLY[measure]:
        return "blind"
    return "partly" if fitness < LEAST_PREDICTABLE[measure] else "predictable"


def columns_json(
    found: Detection, cells: Cells, hidden: Collection[str], self_check: SelfCheck | None
) -> list[dict[str, Any]]:
    """One dict per modelled column, in their order."""
    model = found._model
    n_worst = np.bincount(
        cells.columns[cells.starts[:-1][np.diff(cells.starts) > 0]], minlength=len(model.schema.columns)
    )
    n_cells = np.bincount(cells.columns, minlength=len(model.schema.columns))
    told = []
    for j, (column, forest, fitness) in enumerate(zip(model.schema.columns, model.forests, model.fitness, strict=True)):
        measure = "AUC" if forest.n_classes else "R²"
        order = np.argsort(-forest.importances, kind="stable")[:N_PREDICTORS].tolist()
        shares = [[k, rounded(float(forest.importances[k]), 3)] for k in order if forest.importances[k] > 0]
        recall = np.nan if self_check is None else self_check.recall(column=column.name)
        told.append(
            {
                "name": printable(column.name),
                "kind": column.kind,
                "missing": rounded(column.n_missing / model.schema.n_rows),
                "n_distinct": column.n_distinct,
                "measure": measure,
                "fitness": rounded(float(fitness), 3),
                "verdict": verdict(measure, float(fitness)),
                "predictors": shares,
                "n_worst": int(n_worst[j]),
                "n_cells": int(n_cells[j]),
                "self_check": rounded(recall, 3),
                "hidden": column.name in hidden,
                "values": None if column.name in hidden else distribution(column, model.sample.values[j]),
            }
        )
    return told
