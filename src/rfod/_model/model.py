"""A fitted model: names, bins, forests and what training rows scored. Saving, scoring and explaining take this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rfod._forest.forest import Forest
from rfod._forest.leaf_sample import Neighbours, neighbours
from rfod._model.calibrate import conformal_p_values
from rfod._model.cell_scores import Distance
from rfod._model.row_scores import agree, confidence_weights, root_mean_squares, row_means
from rfod._model.surprise import (
    RAREST_IN_ROWS,
    STEEPEST,
    Tail,
    categorical_strangeness,
    fit_tail,
    numeric_strangeness,
    share_surprise,
)
from rfod._table.bins import Feature
from rfod._table.columns import Column, Schema

Floats = NDArray[np.float64]
NEIGHBOURS = 2_048  # rows of the sample that distances are measured from
UNSEEN_SHARE = -1.0  # in place of a probability: a category that training never saw


@dataclass(frozen=True, eq=False)
class Judged:
    """The cells of a table against what a model expects: rows by modelled columns."""

    expected: tuple[NDArray[Any], ...]
    """Per column, encoded like the column itself."""
    cell_scores: Floats
    uncertainty: Floats
    """Spread of the trees: in the unit of a numeric column, of the expected category's probability for others."""
    local: Floats
    """Numeric columns: how far values like this one spread around their prediction, within leaves and between trees.
    Others: probability of all categories no likelier than the observed one, or `UNSEEN_SHARE`. NaN: nobody judged."""
    nearest: Floats
    """Per row, mean distance per column from the nearest row of the sample; all 0 when no score asks for it."""

    def take(self, rows: NDArray[np.intp]) -> Judged:
        """Some of the rows."""
        return Judged(
            tuple(column[rows] for column in self.expected),
            self.cell_scores[rows],
            self.uncertainty[rows],
            self.local[rows],
            self.nearest[rows],
        )


@dataclass(frozen=True, eq=False)
class Sample:
    """Training rows that the model keeps: intervals, reasons and distances are read off them."""

    rows: NDArray[np.int64]
    """Where they stood in the training table, ascending."""
    values: tuple[NDArray[Any], ...]
    """Per modelled column, encoded."""

    def places(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where rows of the training table are in the sample; -1 for those that are not."""
        places = np.searchsorted(self.rows, rows)
        found = self.rows[np.minimum(places, len(self.rows) - 1)] == rows
        return np.where(found, places, -1)


@dataclass(frozen=True)
class ForestSummary:
    """What is known of the forest of one column after `fit`."""

    measure: str
    """"R2" for numeric columns, "AUC" for categorical ones."""
    fitness: float
    """Of the kept trees together, each training row judged by trees that had not seen it; NaN for a constant column."""
    tree_fitness: Floats
    """Of every grown tree, on rows it had not seen."""
    kept: NDArray[np.int64]
    """Numbers of the kept trees, best first."""
    importances: Mapping[str, float]
    """Share of each other column in the impurity decrease of the kept trees; largest first, zeros left out."""
    n_leaves: int


@dataclass(frozen=True, eq=False)
class Model:
    """Everything that scoring needs, as plain arrays and names."""

    schema: Schema
    features: tuple[Feature, ...]
    forests: tuple[Forest, ...]
    """One per modelled column."""
    ranges: Floats
    """Per column, what residuals are divided by; 1 for categorical columns."""
    sample: Sample
    seed: int
    params: Mapping[str, Any]
    """Parameters of the detector as given."""
    fitness: Floats
    """Per column, R² or AUC of the kept trees on training rows, each row judged by trees that had not seen it."""
    floors: Floats
    """Per numeric column, what no local spread falls below."""
    n_single: NDArray[np.int64]
    """Per categorical column, how many categories a single training row has."""
    cell_calibration: tuple[Floats, ...]
    """Per column, how strange (a sample of) the training cells are, judged out of bag, ascending."""
    interval_calibration: tuple[Floats, ...]
    """Per numeric column, how far from the middle of their distributions (a few of) the training cells are, judged the
    same way, ascending; empty for others."""
    centres: Floats
    """Of the parts of the consensus score, over training rows judged out of bag: their medians; 0 for other scores."""
    scales: Floats
    """Their spreads; 1 for other scores."""
    calibration: Floats
    """Row scores of (a sample of) the training rows, judged the same way, ascending."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The modelled columns."""
        return self.schema.columns

    @property
    def distance(self) -> Distance:
        """Which distance turns residuals into cell scores."""
        distance: Distance = self.params["distance"]
        return distance

    @cached_property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Per column, whether its values are categories."""
        return np.array([column.is_categorical for column in self.columns])

    @cached_property
    def neighbours(self) -> Neighbours:
        """The sample as points."""
        rows = slice(None, None, -(-len(self.sample.rows) // NEIGHBOURS))
        return neighbours([column[rows] for column in self.sample.values], self.is_categorical, self.ranges)

    def neighbour_places(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where rows of the training table are among the neighbours; -1 for those that are not."""
        step = -(-len(self.sample.rows) // NEIGHBOURS)
        places = self.sample.places(rows)
        return np.where((places >= 0) & (places % step == 0), places // step, -1)

    # ------------------------------------------------------------------------------------------------------- surprise

    def strangeness(self, judged: Judged, j: int) -> Floats:
        """How unusual the cells of a column are, in the column's own measure; NaN where there is nothing to compare."""
        scores, local = judged.cell_scores[:, j], judged.local[:, j]
        if self.ranges[j] == 0:  # a constant, or another value
            return np.minimum(scores, 1.0)
        if self.is_categorical[j]:
            return np.where(np.isnan(scores), np.nan, categorical_strangeness(local))
        return numeric_strangeness(scores * self.ranges[j], local, float(self.floors[j]))

    @cached_property
    def tails(self) -> tuple[Tail, ...]:
        """Per column, what strangeness means."""
        robust = bool(self.params["trim"])
        return tuple(
            fit_tail(known, 1.0 if is_categorical else STEEPEST, robust)
            for known, is_categorical in zip(self.cell_calibration, self.is_categorical, strict=True)
        )

    def surprise(self, judged: Judged, bounded: bool = False) -> Floats:
        """-log10 of how likely a cell at least as unusual is, for every cell, gaps included; 0 where nobody judged.

        `bounded`: no category counts for more than its forest says. In the sum of a row, many columns whose categories
        are rarely in doubt would otherwise outweigh the rest.
        """
        found = np.empty_like(judged.cell_scores)
        n_rows = self.schema.n_rows
        for j, column in enumerate(self.columns):
            scores, local = judged.cell_scores[:, j], judged.local[:, j]
            if self.ranges[j] == 0:  # a constant
                surprise = np.where(scores > 0, self._other_surprise(j), 0.0)
            else:
                surprise = self.tails[j].surprise(self.strangeness(judged, j))
            if self.is_categorical[j]:
                if bounded:
                    surprise = np.minimum(surprise, categorical_strangeness(local, RAREST_IN_ROWS))
                novelty = share_surprise(int(self.n_single[j]), n_rows - column.n_missing)
                surprise = np.where(local == UNSEEN_SHARE, novelty, surprise)
            gap, presence = self.gap_surprise(j)
            surprise = np.where(np.isnan(scores), gap, np.maximum(surprise, presence))
            found[:, j] = np.where(np.isnan(local), 0.0, surprise)
        return found

    def _other_surprise(self, j: int) -> float:
        """Surprise of another value than the constant of a column; there may be some that were trimmed, or infinite."""
        known, n_present = self.cell_calibration[j], self.schema.n_rows - self.columns[j].n_missing
        share = np.count_nonzero(known > 0) / max(1, len(known))
        return share_surprise(int(np.ceil(share * n_present)), n_present)

    def gap_surprise(self, j: int) -> tuple[float, float]:
        """Surprise of a gap in a column, and of any value there."""
        n_rows, n_missing = self.schema.n_rows, self.columns[j].n_missing
        return share_surprise(n_missing, n_rows), share_surprise(n_rows - n_missing, n_rows)

    def p_values(self, surprise: Floats, j: int) -> Floats:
        """Share of the training cells of a column, judged out of bag, gaps included, at least as surprising."""
        known, (gap, presence) = self.cell_calibration[j], self.gap_surprise(j)
        if self.ranges[j] == 0:
            values = np.where(known > 0, self._other_surprise(j), 0.0)
        else:
            values = self.tails[j].surprise(known)
        share_missing = self.columns[j].n_missing / self.schema.n_rows
        among_values = conformal_p_values(surprise, np.maximum(values, presence))
        return (1 - share_missing) * among_values + share_missing * (gap >= surprise)

    # ----------------------------------------------------------------------------------------------------- row scores

    def weights(self, judged: Judged) -> Floats:
        """The paper's W; all 1 where the plain mean was asked for."""
        if self.params["aggregation"] == "mean":
            return np.ones_like(judged.uncertainty)
        if self.params["uncertainty"] == "raw":
            return confidence_weights(judged.uncertainty)
        scales = np.where(self.ranges > 0, self.ranges, 1.0)
        return confidence_weights(judged.uncertainty, scales)

    def row_parts(self, judged: Judged) -> Floats:
        """(3, rows): the paper's score, the surprise of the row, its distance from the nearest training row."""
        surprise = root_mean_squares(self.surprise(judged, bounded=True)) ** 2
        return np.stack([row_means(judged.cell_scores, self.weights(judged)), surprise, judged.nearest])

    def row_scores(self, judged: Judged) -> Floats:
        """How anomalous each row is, by the aggregation that was asked for."""
        aggregation = self.params["aggregation"]
        if aggregation == "surprise":
            return root_mean_squares(self.surprise(judged, bounded=True))
        if aggregation == "consensus":
            return agree(self.row_parts(judged), self.centres, self.scales)
        return row_means(judged.cell_scores, self.weights(judged))

    @property
    def n_bytes(self) -> int:
        """Memory of the forests."""
        arrays = [value for forest in self.forests for value in vars(forest.trees).values()]
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def summarise_forests(model: Model) -> dict[str, ForestSummary]:
    """Per modelled column, what is known of its forest."""
    names = [column.name for column in model.schema.columns]
    return {
        name: ForestSummary(
            measure="AUC" if forest.n_classes else "R2",
            fitness=float(fitness),
            tree_fitness=forest.fitness,
            kept=forest.kept,
            importances={
                names[j]: float(forest.importances[j])
                for j in np.argsort(-forest.importances, kind="stable")
                if forest.importances[j] > 0
            },
            n_leaves=forest.trees.n_leaves,
        )
        for name, forest, fitness in zip(names, model.forests, model.fitness, strict=True)
    }


class Fitted(Protocol):
    """A detector after `fit`, as far as figures and the self-check need to know it."""

    @property
    def model_(self) -> Model:
        """The fitted model."""
        ...

    n_jobs: int | None

    @property
    def forests_(self) -> dict[str, ForestSummary]:
        """Per modelled column, what is known of its forest; raises where `fit` was not called."""
        ...
