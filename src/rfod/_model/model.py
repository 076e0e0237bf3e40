"""A fitted model: columns with their forests, and how training rows scored. It holds data and no mathematics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rfod._forest.forest import Forest
from rfod._forest.neighbours import Neighbours, neighbours
from rfod._model.calibrate import Tail
from rfod._model.margins import Margins, margins
from rfod._model.row_scale import RowScale
from rfod._table.bins import Feature
from rfod._table.columns import Column, Schema

if TYPE_CHECKING:
    from rfod._evidence.profile import Profile

Floats = NDArray[np.float64]
MOMENTS = ("datetime",)  # kinds whose new values lie beyond all others
MAX_NEIGHBOURS = 2_048  # rows of the sample that distances are measured from
_OF_ROWS = ("cell_scores", "uncertainty", "spread_or_share", "expected_share", "nearest", "rarity", "in_line")


@dataclass(frozen=True, eq=False)
class JudgedCells:
    """The cells of a table against what a model expects: rows by modelled columns."""

    expected: tuple[NDArray[Any], ...]
    """Per column, encoded like the column itself."""
    cell_scores: Floats
    uncertainty: Floats
    """Spread of the trees: in the unit of a numeric column, of the expected category's probability for others."""
    spread_or_share: Floats
    """Numeric columns: how far values like this one spread around their prediction, within leaves and between trees.
    Others: probability of all categories no likelier than the observed one, or `UNSEEN_SHARE`. NaN: no tree judged."""
    expected_share: Floats
    """Categorical columns: probability of the expected category; NaN for others."""
    nearest: Floats
    """Per row, mean distance per column from the nearest row of the sample; all 0 unless the row score needs it."""
    rarity: Floats
    """Per row, how far out its furthest value is in its column, in decades; all 0 unless the row score needs it."""
    in_line: NDArray[np.bool_]
    """Sizes that go with the other sizes of their row; all False unless the row score needs it."""

    def take(self, rows: NDArray[np.intp]) -> JudgedCells:
        """Some of the rows."""
        expected = tuple(column[rows] for column in self.expected)
        return JudgedCells(expected, *(getattr(self, name)[rows] for name in _OF_ROWS))

    def put(self, rows: NDArray[np.intp], others: JudgedCells) -> None:
        """Replace some of the rows by those of others."""
        for own, new in zip(self.expected, others.expected, strict=True):
            own[rows] = new
        for name in _OF_ROWS:
            getattr(self, name)[rows] = getattr(others, name)


@dataclass(frozen=True, eq=False)
class JudgedSample:
    """Rows of a larger table that were judged out of bag, when a model was fitted to them."""

    places: NDArray[np.int64]
    """Numbers of the rows in the table, ascending."""
    cells: JudgedCells

    def find(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.intp], JudgedCells]:
        """Which of the rows, given by their numbers in the table, are among these, and their cells."""
        at = np.minimum(np.searchsorted(self.places, rows), len(self.places) - 1)
        found = np.flatnonzero(self.places[at] == rows)
        return found, self.cells.take(at[found])


@dataclass(frozen=True, eq=False)
class TrainingSample:
    """Training rows that the model keeps: intervals, reasons and distances are computed from them."""

    rows: NDArray[np.int64]
    """Their positions in the training table, ascending."""
    values: tuple[NDArray[Any], ...]
    """Per modelled column, encoded."""

    def find(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions in the sample of rows, given by their positions in the training table; -1 for those not in it."""
        places = np.searchsorted(self.rows, rows)
        found = self.rows[np.minimum(places, len(self.rows) - 1)] == rows
        return np.where(found, places, -1)

    def reference(self, columns: Sequence[ColumnForest]) -> Reference:
        """What whole rows are compared with."""
        is_categorical = np.array([column.column.is_categorical for column in columns])
        is_moment = np.array([column.column.kind in MOMENTS for column in columns])
        every = slice(None, None, -(-len(self.rows) // MAX_NEIGHBOURS))
        ranges = np.array([column.value_range for column in columns])
        points = neighbours([values[every] for values in self.values], is_categorical, ranges)
        return Reference(points, every.step, margins(self.values, is_categorical, is_moment))


@dataclass(frozen=True, eq=False)
class Reference:
    """A sample of the training rows as whole rows are compared with it."""

    points: Neighbours
    """At most `MAX_NEIGHBOURS` evenly spaced rows of it, that distances are measured from."""
    step: int
    """One in so many is a point."""
    margins: Margins

    def measure(self, encoded: Sequence[NDArray[Any]], own: NDArray[np.int64]) -> MeasuredRows:
        """Rows, given encoded, against the sample; `own` are their positions in it, -1 for others."""
        own_point = np.where((own >= 0) & (own % self.step == 0), own // self.step, -1)
        in_line = self.margins.in_line(encoded)
        rarity = self.margins.rarity(encoded, own >= 0, in_line)
        return MeasuredRows(self.points.distances(encoded, own_point), rarity, in_line)


class MeasuredRows(NamedTuple):
    """What whole rows are against a sample: see `JudgedCells`."""

    nearest: Floats
    rarity: Floats
    in_line: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ColumnForest:
    """A column and the forest that predicts it."""

    column: Column
    forest: Forest
    value_range: float
    """Divisor of residuals: 0 for a constant numeric column, 1 for categorical columns."""


@dataclass(frozen=True, eq=False)
class ColumnModel(ColumnForest):
    """A column, its forest, and what the training cells scored, each judged by trees that had not seen it."""

    n_rows: int
    """Rows of the training table, with and without a value."""
    fitness: float
    """R² or AUC of the kept trees together; NaN for a constant column."""
    floor: float
    """Lower limit of local spreads; 0 for categorical columns."""
    n_single: int
    """Categories that occur in one training row only; 0 for numeric columns."""
    tail: Tail
    """How strange (a sample of) the training cells are."""
    offsets: Floats
    """Distance of (a few) training cells from the middle of their predicted distributions, ascending, from 0 to 1;
    empty for categorical columns."""


@dataclass(frozen=True, eq=False)
class Model:
    """Everything that scoring needs."""

    schema: Schema
    features: tuple[Feature, ...]
    columns: tuple[ColumnModel, ...]
    """In the order of `schema.columns`."""
    sample: TrainingSample
    seed: int
    params: Mapping[str, Any]
    """Parameters of the detector as given."""
    scale: RowScale
    """What the parts of the row score (see `row_parts`) are among training rows judged out of bag."""
    calibration: Floats
    """Row scores of (a sample of) the training rows, judged out of bag, ascending."""
    profile: Profile | None = None
    """What is kept of the training table as evidence on cells of new rows; None with `keep_evidence=False`."""

    @cached_property
    def forests(self) -> tuple[Forest, ...]:
        """Per column."""
        return tuple(column.forest for column in self.columns)

    @cached_property
    def ranges(self) -> Floats:
        """Per column, the divisor of residuals."""
        return np.array([column.value_range for column in self.columns])

    @cached_property
    def fitness(self) -> Floats:
        """Per column, R² or AUC of the kept trees, out of bag."""
        return np.array([column.fitness for column in self.columns])

    @cached_property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Per column, whether its values are categories."""
        return np.array([column.is_categorical for column in self.schema.columns])

    @cached_property
    def reference(self) -> Reference:
        """The sample as rows are compared with it."""
        return self.sample.reference(self.columns)

    @property
    def anomalous_share(self) -> float | None:
        """Share of the rows to judge that are anomalous, where the fit was given one (`contamination`)."""
        contamination = self.params["contamination"]
        return None if contamination == "auto" else float(contamination)

    @property
    def n_bytes(self) -> int:
        """Memory of the forests."""
        arrays = [value for forest in self.forests for value in vars(forest.trees).values()]
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


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
    n_predictors: int
    """Other columns that the trees may split on: `max_predictors` at most."""
    importances: Mapping[str, float]
    """Share of each other column in the impurity decrease of the kept trees; largest first, zeros left out."""
    n_leaves: int


def summarise_forests(model: Model) -> dict[str, ForestSummary]:
    """Per modelled column, what is known of its forest."""
    names = [column.name for column in model.schema.columns]
    return {
        name: ForestSummary(
            measure="AUC" if column.forest.n_classes else "R2",
            fitness=column.fitness,
            tree_fitness=column.forest.fitness,
            kept=column.forest.kept,
            n_predictors=len(column.forest.predictors),
            importances={
                names[j]: float(column.forest.importances[j])
                for j in np.argsort(-column.forest.importances, kind="stable")
                if column.forest.importances[j] > 0
            },
            n_leaves=column.forest.trees.n_leaves,
        )
        for name, column in zip(names, model.columns, strict=True)
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
