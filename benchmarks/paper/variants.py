"""Settings that change the scores of a fitted model but not its trees: one fit serves them all.

The trees, and what training rows score cell by cell, do not depend on the row score, the distance or alpha. So the
studies fit once per dataset, seed and way of growing, and read every such variant off the same model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rfod._model.model import JudgedCells, Model
from rfod._model.scores import numeric_range, row_scores

Floats = NDArray[np.float64]
Variant = tuple[dict[str, Any], Floats]

ALPHAS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25)
PAPER_SCORE = {"aggregation": "uncertainty"}


def rescored(detector: Any, train: pd.DataFrame, test: pd.DataFrame, only_rows: bool) -> Iterator[Variant]:
    """(what differs from the detector's parameters, row scores of the test rows) for each variant.

    `only_rows` leaves out the variants of cell scores.
    """
    model, judged = detector.model_, detector.detect(test).judged.cells
    for change in ({"aggregation": "surprise"}, PAPER_SCORE, {"aggregation": "mean"}):
        yield change, row_scores(_changed(model, change), judged)
    if only_rows:
        return
    change = PAPER_SCORE | {"uncertainty": "raw"}
    yield change, row_scores(_changed(model, change), judged)

    for alpha in ALPHAS:
        change = PAPER_SCORE | {"alpha": alpha}
        yield change, _scaled_anew(model, judged, change, _ranges(model, train, "agd", alpha))

    change = PAPER_SCORE | {"distance": "gower"}
    ranges = _ranges(model, train, "gower", model.params["alpha"])
    gower = _changed(model, change, ranges)
    detector.model_ = gower
    matched = detector.detect(test).judged.cells
    detector.model_ = model
    yield change, row_scores(gower, matched)
    change = PAPER_SCORE | {"distance": "gower-iqr"}
    yield change, _scaled_anew(gower, matched, change, _ranges(model, train, "gower-iqr", model.params["alpha"]))


def _scaled_anew(model: Model, judged: JudgedCells, change: dict[str, Any], ranges: Floats) -> Floats:
    """Row scores with the residuals of numeric columns divided by other ranges."""
    factor = np.where(ranges > 0, model.ranges / np.where(ranges > 0, ranges, 1.0), 1.0)
    cells = replace(judged, cell_scores=judged.cell_scores * factor)
    return row_scores(_changed(model, change, ranges), cells)


def _changed(model: Model, change: dict[str, Any], ranges: Floats | None = None) -> Model:
    """The model with other parameters, and with other ranges of its columns if they are given."""
    ranges = model.ranges if ranges is None else ranges
    columns = [replace(own, value_range=float(value)) for own, value in zip(model.columns, ranges, strict=True)]
    return replace(model, params={**model.params, **change}, columns=tuple(columns))


def _ranges(model: Model, train: pd.DataFrame, distance: Any, alpha: float) -> Floats:
    return np.array(
        [
            1.0 if column.is_categorical else numeric_range(train[column.name].to_numpy(np.float64), distance, alpha)
            for column in model.schema.columns
        ]
    )
