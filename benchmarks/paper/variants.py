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

Floats = NDArray[np.float64]
Variant = tuple[dict[str, Any], Floats]

ALPHAS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25)
PAPER_SCORE = {"aggregation": "uncertainty"}


def rescored(detector: Any, train: pd.DataFrame, test: pd.DataFrame, only_rows: bool) -> Iterator[Variant]:
    """(what differs from the detector's parameters, row scores of the test rows) for each variant.

    `only_rows` leaves out the variants of cell scores.
    """
    model, judged = detector.model_, detector.detect(test)._judged
    for change in ({"aggregation": "surprise"}, PAPER_SCORE, {"aggregation": "mean"}):
        yield change, replace(model, params={**model.params, **change}).row_scores(judged)
    if only_rows:
        return
    change = PAPER_SCORE | {"uncertainty": "raw"}
    yield change, replace(model, params={**model.params, **change}).row_scores(judged)

    for alpha in ALPHAS:
        change = PAPER_SCORE | {"alpha": alpha}
        yield change, _scaled_anew(model, judged, change, _ranges(model, train, "agd", alpha))

    change = PAPER_SCORE | {"distance": "gower"}
    ranges = _ranges(model, train, "gower", model.params["alpha"])
    gower = replace(model, params={**model.params, **change}, ranges=ranges)
    detector.model_ = gower
    matched = detector.detect(test)._judged
    detector.model_ = model
    yield change, gower.row_scores(matched)
    change = PAPER_SCORE | {"distance": "gower-iqr"}
    yield change, _scaled_anew(gower, matched, change, _ranges(model, train, "gower-iqr", model.params["alpha"]))


def _scaled_anew(model: Any, judged: Any, change: dict[str, Any], ranges: Floats) -> Floats:
    """Row scores with the residuals of numeric columns divided by other ranges."""
    factor = np.where(ranges > 0, model.ranges / np.where(ranges > 0, ranges, 1.0), 1.0)
    other = replace(model, params={**model.params, **change}, ranges=ranges)
    scores: Floats = other.row_scores(replace(judged, cell_scores=judged.cell_scores * factor))
    return scores


def _ranges(model: Any, train: pd.DataFrame, distance: Any, alpha: float) -> Floats:
    from rfod._model.cell_scores import numeric_range

    return np.array(
        [
            1.0 if column.is_categorical else numeric_range(train[column.name].to_numpy(np.float64), distance, alpha)
            for column in model.schema.columns
        ]
    )
