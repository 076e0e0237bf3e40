"""A fitted model: names, bins, forests and what training rows scored. Saving, scoring and explaining take this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._forest.forest import Forest
from rfod._score.cells import Distance
from rfod._score.rows import confidence_weights, row_means
from rfod._table.binning import Feature
from rfod._table.columns import Column, Schema

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Judged:
    """The cells of a table against what a model expects: rows by modelled columns."""

    expected: tuple[NDArray[Any], ...]
    """Per column, encoded like the column itself."""
    cell_scores: Floats
    uncertainty: Floats
    """Spread of the trees: in the unit of a numeric column, of the expected category's probability for others."""


@dataclass(frozen=True, eq=False)
class Model:
    """Everything that scoring needs, as plain arrays and names."""

    schema: Schema
    features: tuple[Feature, ...]
    forests: tuple[Forest, ...]
    """One per modelled column."""
    ranges: Floats
    """Per column, what residuals are divided by; 1 for categorical columns."""
    fitness: Floats
    """Per column, R² or AUC of the kept trees on training rows, each row judged by trees that had not seen it."""
    calibration: Floats
    """Row scores of (a sample of) the training rows, judged the same way, ascending."""
    cell_calibration: tuple[Floats, ...]
    """Per column, cell scores of (a sample of) the training rows, judged the same way, ascending."""
    seed: int
    params: Mapping[str, Any]
    """Parameters of the detector as given."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The modelled columns."""
        return self.schema.columns

    @property
    def distance(self) -> Distance:
        """Which distance turns residuals into cell scores."""
        distance: Distance = self.params["distance"]
        return distance

    def weights(self, judged: Judged) -> Floats:
        """The paper's W; all 1 where the plain mean was asked for."""
        if self.params["aggregation"] == "mean":
            return np.ones_like(judged.uncertainty)
        if self.params["uncertainty"] == "raw":
            return confidence_weights(judged.uncertainty)
        return confidence_weights(judged.uncertainty / np.where(self.ranges > 0, self.ranges, 1.0))

    def row_scores(self, judged: Judged) -> Floats:
        """Weighted mean of each row's cell scores."""
        return row_means(judged.cell_scores, self.weights(judged))

    @property
    def n_bytes(self) -> int:
        """Memory of the forests."""
        arrays = [value for forest in self.forests for value in vars(forest.trees).values()]
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
