"""A table judged by a model: scores of rows and cells and what follows from them, each computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._decisions.settled import SettledCells
from rfod._model.blame import Repair, repair
from rfod._model.calibrate import UNSEEN_SHARE, conformal_p_values, own_p_values, p_values, surprise
from rfod._model.conditional import Conditional
from rfod._model.executor import Threads
from rfod._model.judge import EncodedRows, read_rows
from rfod._model.local_fdr import anomaly_probability
from rfod._model.model import JudgedCells, Model
from rfod._model.scores import row_scores, weights
from rfod._table.table import Table

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]


class JudgedTable:
    """The rows of one table against what a model expects of them.

    `table` holds the rows as they came, under the names of the model; `cells` are the judged cells, rows by modelled
    columns. For the rows of the model's own training table `read` says how to read them, with the trees that must not
    judge them. `n_jobs` is the number of threads for what is computed later. `settled` are the cells that a person has
    decided about, modelled or not.
    """

    def __init__(
        self,
        model: Model,
        table: Table,
        cells: JudgedCells,
        *,
        read: Callable[[Any], EncodedRows] | None = None,
        n_jobs: int | None = None,
        settled: SettledCells | None = None,
    ) -> None:
        self.model, self.table, self.cells, self.n_jobs = model, table, cells, n_jobs
        self.settled = SettledCells() if settled is None else settled
        self._read = read
        self._repairs: dict[int, Repair] = {}

    def take(self, rows: Positions) -> JudgedTable:
        """Some rows of a table that is not the model's own."""
        assert self._read is None
        table, cells, settled = self.table.take(rows), self.cells.take(rows), self.settled.take(rows)
        return JudgedTable(self.model, table, cells, n_jobs=self.n_jobs, settled=settled)

    def __len__(self) -> int:
        return len(self.cells.cell_scores)

    @property
    def is_own(self) -> bool:
        """Whether these are the rows that the model was fitted to, each judged by trees that have not seen it."""
        return self._read is not None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the modelled columns."""
        return tuple(column.name for column in self.model.schema.columns)

    @cached_property
    def row_scores(self) -> Floats:
        """(rows): how anomalous each row is, by the aggregation that the model was fitted with."""
        return row_scores(self.model, self.cells)

    @cached_property
    def weights(self) -> Floats:
        """(rows, columns): the paper's W."""
        return weights(self.model.ranges, self.model.params, self.cells)

    @cached_property
    def surprise(self) -> Floats:
        """(rows, columns): -log10 of how likely a cell at least as unusual is, gaps included."""
        return surprise(self.model.columns, self.cells)

    @cached_property
    def p_values(self) -> Floats:
        """(rows, columns): conformal p-value of each cell among the training cells of its column."""
        return p_values(self.model.columns, self.surprise)

    @cached_property
    def tail_p_values(self) -> Floats:
        """(rows, columns): 10 ** -surprise, but for known categories at least `p_values`: probabilities end at 0, so
        the fitted tail is invalid there; the conformal p-value applies."""
        scores = self.cells.cell_scores
        is_known = self.model.is_categorical & (self.cells.spread_or_share != UNSEEN_SHARE) & ~np.isnan(scores)
        return np.maximum(10.0**-self.surprise, np.where(is_known, self.p_values, 0.0))

    @cached_property
    def row_p_values(self) -> Floats:
        """(rows): twice the smaller of the p-values by score and by worst cell, at most 1."""
        by_cell = len(self.names) * self.tail_p_values.min(axis=1)
        return np.asarray(np.minimum(1.0, 2.0 * np.minimum(self.score_p_values, by_cell)))

    @cached_property
    def score_p_values(self) -> Floats:
        """(rows): p-value by the row score alone; conformal for rows of other tables."""
        if self.is_own:
            return own_p_values(self.row_scores)
        return conformal_p_values(self.row_scores, self.model.calibration)

    def row_probability(self, share: float | None = None) -> Floats:
        """(rows): how likely each row of a table that is not the model's own is anomalous, among the rows of the table;
        `share` is that of the anomalous rows, by default the `contamination` of the fit, or estimated."""
        assert not self.is_own
        share = self.model.anomalous_share if share is None else share
        return anomaly_probability(self.score_p_values, len(self.model.calibration), share)

    @cached_property
    def order(self) -> Positions:
        """(rows by falling score): ties in the order of the table."""
        return np.argsort(-self.row_scores, kind="stable")

    @cached_property
    def ranks(self) -> Positions:
        """(rows): place of each row in `order`, from 1."""
        found = np.empty(len(self), dtype=np.intp)
        found[self.order] = np.arange(1, len(self) + 1)
        return found

    def cell_order(self, row: int) -> NDArray[np.intp]:
        """Columns of a row, most surprising first, gaps at their place; of equal ones those with the higher score.
        Cells that no tree could judge are left out."""
        scores, surprise = self.cells.cell_scores[row], self.surprise[row]
        order = np.lexsort((-np.nan_to_num(scores), -surprise))
        return np.asarray(order[~np.isnan(self.cells.spread_or_share[row][order])])

    @cached_property
    def conditional(self) -> Conditional:
        """What was expected in the place of a cell, as a distribution."""
        return Conditional(self.model)

    def rows(self, picked: Positions | slice) -> EncodedRows:
        """Picked rows as the model reads them."""
        return self._read(picked) if self._read is not None else self._all_rows.take(picked)

    @property
    def encoded(self) -> Sequence[NDArray[Any]]:
        """Per modelled column, all rows as the model reads them; not copied."""
        return self.rows(slice(None)).encoded

    @cached_property
    def _all_rows(self) -> EncodedRows:
        return read_rows(self.model, self.table)

    def repairs(self, picked: Positions) -> list[Repair]:
        """Cells to blame for picked rows, and their repair; computed once per row."""
        new = np.array([row for row in dict.fromkeys(picked.tolist()) if row not in self._repairs], dtype=np.intp)
        if len(new):
            done = repair(self.model, self.rows(new), self.cells.take(new), Threads(self.n_jobs))
            self._repairs |= dict(zip(new.tolist(), done, strict=True))
        return [self._repairs[row] for row in picked.tolist()]
