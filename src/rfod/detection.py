"""The answer for one table: scores of rows and cells, and what was expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._findings.explanations import RowExplanation
from rfod._findings.patterns import Pattern, find_patterns
from rfod._findings.reasons import Reasons
from rfod._findings.row_explainer import explain_rows
from rfod._model.blame import Blame, Repair, repair
from rfod._model.calibrate import conformal_p_values, own_p_values
from rfod._model.conditional import Conditional
from rfod._model.judge import Rows, read_rows
from rfod._model.model import UNSEEN_SHARE, Judged, Model
from rfod._model.threshold import benjamini_hochberg, highest
from rfod._table.encode import cell_text, decode_column, value_text
from rfod._table.spelling import nearest_category
from rfod._table.table import Table
from rfod.exceptions import ParameterError, SchemaError

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]
Picked = NDArray[Any] | Sequence[int] | None

RARE = 2.0  # surprise from which on a gap is worth telling
FEW_ROWS = 16
FRAME_COLUMNS = frozenset(
    [
        "row_score",
        "column",
        "observed",
        "expected",
        "score",
        "weight",
        "p_value",
        "surprise",
        "kind",
        "suggestion",
        "cells",
    ]
)
MOSTLY = 0.99  # a column that is filled, or empty, in this share of the training rows practically always is


class Detection:
    """What a model found in one table. Rows are those of the table, columns the modelled ones (`columns`)."""

    def __init__(
        self,
        model: Model,
        table: Table,
        judged: Judged,
        *,
        given: Table | None = None,
        key: str | None = None,
        first_row: int = 0,
        own_rows: Callable[[Any], Rows] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        given = table if given is None else given
        if key is not None and key not in given.names:
            raise SchemaError(f"The table has no column {key!r} to use as key.\nHint: it has {', '.join(given.names)}.")
        self._model = model
        self._table = table  # under the names of the model
        self._given = given  # under those of the caller
        self._judged = judged
        self._own_rows = own_rows  # of a model's own training table: how to read them
        self._n_jobs = n_jobs
        self._first_row = first_row
        self.key = key
        """Name of the column that identifies rows, or None for row numbers."""
        self.row_scores: Floats = model.row_scores(judged)
        """How anomalous each row is; higher is more anomalous."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the modelled columns, in the order of all (rows, columns) arrays."""
        return tuple(column.name for column in self._model.schema.columns)

    @property
    def cell_scores(self) -> Floats:
        """Distance of each cell from its prediction (the paper's S_cell); NaN where the cell is missing."""
        return self._judged.cell_scores

    @property
    def uncertainty(self) -> Floats:
        """Spread of the trees' predictions per cell, in the unit of the column; of a probability for categories."""
        return self._judged.uncertainty

    @cached_property
    def weights(self) -> Floats:
        """Confidence in each cell's prediction (the paper's W), which its score is multiplied by in the row score."""
        return self._model.weights(self._judged)

    @cached_property
    def expected(self) -> Any:
        """What each cell should have been, as a frame of the library the table came from."""
        decoded = {
            column.name: decode_column(column, values)
            for column, values in zip(self._model.schema.columns, self._judged.expected, strict=True)
        }
        return self._table.frame(decoded, aligned=True)

    @cached_property
    def surprise(self) -> Floats:
        """How unusual each cell is given the rest of its row, as -log10 of a probability: 3 is one in a thousand.

        In one unit for all columns. Gaps have one too: how rarely the column is empty. Beyond what training rows show,
        the surprise of a category ranks it and is no probability any more; `p_values` are. See docs/surprise.md.
        """
        return self._model.surprise(self._judged)

    def intervals(self, picked: Picked = None, level: float = 0.9) -> tuple[Floats, Floats]:
        """Between which values each cell was expected to lie: low and high, (picked rows, columns).

        These are conditional quantiles: each training row of the model's sample counts by how often it shares a leaf
        with the row; which ones hold the share `level` was measured out of bag. In the unit of the column, seconds for
        dates and times; NaN for categorical columns.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level is {level!r}; it must be a number between 0 and 1, both excluded.")
        rows = self._read(self._positions(picked))
        low, high = (np.full((len(rows), len(self.columns)), np.nan) for _ in range(2))
        for j in np.flatnonzero(~self._model.is_categorical):
            low[:, j], high[:, j] = self._conditional.interval(rows, int(j), level)
        return low, high

    def likely(self, row: int, column: str, n: int = 3) -> list[tuple[Any, float]]:
        """The `n` likeliest categories of a cell with their probabilities, likeliest first."""
        j = self._column(column)
        if not self._model.is_categorical[j]:
            raise ParameterError(f"Column {column!r} is not categorical.\nHint: intervals() tells what was expected.")
        shares = self._conditional.shares(self._read(self._positions([row])), j)[0]
        order = np.argsort(-shares, kind="stable")[: max(n, 0)]
        order = order[shares[order] > 0].astype(np.int32)
        names = decode_column(self._model.schema.columns[j], order).to_pylist()
        return list(zip(names, shares[order].tolist(), strict=True))

    @cached_property
    def _conditional(self) -> Conditional:
        return Conditional(self._model)

    @cached_property
    def _new_rows(self) -> Rows:
        return read_rows(self._model, self._table)

    def _read(self, rows: Positions) -> Rows:
        """Rows of the table as the model reads them."""
        return self._own_rows(rows) if self._own_rows else self._new_rows.take(rows)

    def _column(self, name: str) -> int:
        if name not in self.columns:
            raise SchemaError(f"There is no modelled column {name!r}.\nHint: columns are {', '.join(self.columns)}.")
        return self.columns.index(name)

    # ----------------------------------------------------------------------------------------- how unlikely, and which

    @cached_property
    def row_p_values(self) -> Floats:
        """How likely a row like those of training is at least as unusual: by its score, or by its worst cell.

        Twice the smaller of two p-values, at most 1. By score, for new rows: the share of training rows, judged out of
        bag, that score at least as high (conformal; never below 1 / (n + 1)); for the rows of the training table
        itself: beyond its 90 % quantile, the tail of a log-normal distribution fitted to the bulk of the scores. By
        cells: the smallest p-value that `flag_cells` sees, times the number of columns.
        """
        if self._own_rows:
            by_score = own_p_values(self.row_scores)
        else:
            by_score = conformal_p_values(self.row_scores, self._model.calibration)
        by_cell = len(self.columns) * self._tail_p_values.min(axis=1)
        return np.asarray(np.minimum(1.0, 2.0 * np.minimum(by_score, by_cell)))

    @cached_property
    def p_values(self) -> Floats:
        """Per cell, the share of training cells of its column, judged out of bag, that are at least as surprising.

        Conformal: valid for cells like those of training, whatever their distribution. Among n cells with a value it is
        never below 1 / (n + 1).
        """
        return np.column_stack([self._model.p_values(column, j) for j, column in enumerate(self.surprise.T)])

    def flag_cells(self, fdr: float = 0.05) -> NDArray[np.bool_]:
        """Which cells to call findings: as many as possible while the expected share of false ones among them stays at
        most `fdr`, over all cells of the table (Benjamini-Hochberg over 10 ** -surprise, or for categories, whose
        surprise is not a tail of numbers, over `p_values` where these are larger)."""
        if not 0 < fdr < 1:
            raise ParameterError(f"fdr is {fdr!r}; it must be a number between 0 and 1, both excluded.")
        return benjamini_hochberg(self._tail_p_values.ravel(), fdr).reshape(self.surprise.shape)

    @cached_property
    def _tail_p_values(self) -> Floats:
        """10 ** -surprise; known categories stay with `p_values`: probabilities end at 0, and a tail has no ground."""
        is_known = self._model.is_categorical & (self._judged.local != UNSEEN_SHARE) & ~np.isnan(self.cell_scores)
        return np.maximum(10.0**-self.surprise, np.where(is_known, self.p_values, 0.0))

    def blame(self, row: int) -> Blame:
        """The smallest set of cells of a row, in order, whose replacement by what was expected makes it ordinary.

        Of a row that is ordinary as it is, the one cell whose replacement leaves least to wonder at. In batches,
        `row` is a position in the batch, and the row of the answer counts through all batches.
        """
        return self.blames([row])[0]

    def blames(self, picked: Picked) -> list[Blame]:
        """`blame` for many rows at once."""
        rows = self._positions(picked)
        columns = self._model.schema.columns
        return [
            Blame(
                int(row) + self._first_row,
                tuple(columns[j].name for j in done.columns),
                {
                    columns[j].name: decode_column(columns[j], np.array([value]))[0].as_py()
                    for j, value in zip(done.columns, done.values, strict=True)
                },
                done.ordinary,
            )
            for row, done in zip(rows, self._repairs(rows), strict=True)
        ]

    def _repairs(self, rows: Positions) -> list[Repair]:
        n_jobs = self._n_jobs if len(rows) > FEW_ROWS else 1  # starting threads takes longer than they save
        return repair(self._model, self._read(rows), self._judged.take(rows), n_jobs)

    def explain(self, row: int, n_cells: int = 5) -> RowExplanation:
        """Why a row stands out: its cells to blame, then others that are surprising, each with the reason in words."""
        return self.explain_rows([row], n_cells)[0]

    def explain_rows(self, picked: Picked, n_cells: int = 5) -> list[RowExplanation]:
        """`explain` for many rows at once, which is much faster."""
        return explain_rows(self, self._positions(picked), n_cells)

    def patterns(self, picked: Picked = None, *, fdr: float = 0.05) -> list[Pattern]:
        """What many findings have in common, most frequent first: cells to blame, by column, way and condition.

        Of the picked rows; by default the findings of `cells(fdr=fdr, blame=True)`, or, where there are none, the cells
        to blame of the rows that `flag(fdr=fdr)` picks.
        """
        wanted = self.flag_cells(fdr) if picked is None else np.ones(self.surprise.shape, dtype=np.bool_)
        rows = np.flatnonzero(wanted.any(axis=1)) if picked is None else self._positions(picked)
        if picked is None and not len(rows):
            wanted[:], rows = True, np.flatnonzero(self.flag(fdr=fdr))
        return find_patterns(self, rows, wanted)

    @cached_property
    def _reasons(self) -> Reasons:
        return Reasons(self._model)

    def flag(
        self, *, fdr: float | None = None, top: int | None = None, contamination: float | None = None
    ) -> NDArray[np.bool_]:
        """Which rows to call findings, by one of three rules.

        fdr: as many as possible while the expected share of false ones among them stays at most this
        (Benjamini-Hochberg over `row_p_values`); top: the highest scores; contamination: rows that score higher than
        all but this share of the training rows. Without any: fdr = 0.05.
        """
        given = [
            name for name, value in (("fdr", fdr), ("top", top), ("contamination", contamination)) if value is not None
        ]
        if len(given) > 1:
            raise ParameterError(f"Give one rule, not {' and '.join(given)}.")
        if top is not None:
            return highest(self.row_scores, top)
        share = contamination if contamination is not None else 0.05 if fdr is None else fdr
        if not 0 < share < 1:
            raise ParameterError(f"{given[0]} is {share!r}; it must be a number between 0 and 1, both excluded.")
        if contamination is not None:
            return np.asarray(self.row_scores > np.quantile(self._model.calibration, 1 - contamination))
        return benjamini_hochberg(self.row_p_values, share)

    # ----------------------------------------------------------------------------------------------------- tidy tables

    @cached_property
    def keys(self) -> pa.ChunkedArray:
        """Value of the key column per row, or row numbers from 0."""
        if self.key is not None:
            return self._given.column(self.key)
        return pa.chunked_array([pa.array(np.arange(len(self)) + self._first_row)])

    def rows(self, picked: Picked = None, n_cells: int = 3) -> Any:
        """One line per row, as a frame of the table's library: key (or row), score, p_value, cells.

        `picked` are row positions or a mask, all rows by default. `cells` tells the `n_cells` worst cells in words.
        """
        rows = self._positions(picked)
        told = dict.fromkeys(rows.tolist(), "")
        cells = self._worst_cells(np.unique(rows), n_cells)
        texts = zip(cells, self._texts(cells, observed=True), self._texts(cells, observed=False), strict=True)
        for (row, j), observed, expected in texts:
            before = f"{told[int(row)]}; " if told[int(row)] else ""
            told[int(row)] = f"{before}{self.columns[j]}: {observed} (expected {expected})"
        return self._table.frame(
            {
                self._key_name: self.keys.take(pa.array(rows)),
                "score": pa.array(self.row_scores[rows]),
                "p_value": pa.array(self.row_p_values[rows]),
                "cells": pa.array([told[row] for row in rows.tolist()], pa.string()),
            }
        )

    def cells(self, picked: Picked = None, *, fdr: float | None = None, blame: bool = False) -> Any:
        """One line per cell, as a frame of the table's library: of the picked rows, all by default.

        fdr: only findings at this false discovery rate over all cells of the table (`flag_cells`), gaps included.
        blame: only cells to blame for their row (`blame`), in that order, and `expected` is the repair. Of the picked
        rows; by default of those that have findings at `fdr`, or that `flag` calls findings.

        Columns: key (or row), column, observed, expected, score, weight, p_value, surprise, kind, suggestion. `kind` is
        "value", "missing" (where training practically always has a value), "present" (the reverse), "unseen" (a
        category that training does not have) or "near miss" (of the category in `suggestion`).
        """
        wanted = ~np.isnan(self.cell_scores) if fdr is None else self.flag_cells(fdr)
        rows = np.flatnonzero(self.flag()) if picked is None and fdr is None and blame else self._positions(picked)
        rows = rows[wanted[rows].any(axis=1)]
        if not blame:
            cells = [(int(row), int(j)) for row in rows for j in np.flatnonzero(wanted[row])]
            return self._table.frame(self._key_of(cells) | self._cell_columns(cells))
        cells, repaired = [], []
        for row, done in zip(rows, self._repairs(rows), strict=True):
            for j, value in zip(done.columns, done.values, strict=True):
                if fdr is None or wanted[row, j]:
                    cells.append((int(row), j))
                    repaired += value_text(self._model.schema.columns[j], np.array([value]))
        return self._table.frame(
            self._key_of(cells) | self._cell_columns(cells) | {"expected": pa.array(repaired, pa.string())}
        )

    def _kinds(self, cells: list[tuple[Any, Any]]) -> tuple[list[str], list[str | None]]:
        """What sort of finding each cell would be, and the category that a near miss was meant to be."""
        kinds, suggestions = [], []
        n_rows = self._model.schema.n_rows
        near: dict[tuple[int, str], str | None] = {}
        observed = self._texts(cells, observed=True)
        for (row, j), text in zip(cells, observed, strict=True):
            column, kind, suggestion = self._model.schema.columns[j], "value", None
            if np.isnan(self.cell_scores[row, j]) and (text == "missing" or not np.isnan(self._judged.local[row, j])):
                kind = "missing"
            elif self._judged.local[row, j] == UNSEEN_SHARE and column.is_categorical:
                if (j, text) not in near:
                    known = [c for c in column.categories if isinstance(c, str)]
                    near[j, text] = nearest_category(text, known)
                suggestion = near[j, text]
                kind = "unseen" if suggestion is None else "near miss"
            elif column.n_missing >= MOSTLY * n_rows:
                kind = "present"
            kinds.append(kind)
            suggestions.append(suggestion)
        return kinds, suggestions

    def top(self, n: int = 10, n_cells: int = 3) -> Any:
        """The `n` most anomalous rows with their `n_cells` worst cells each, as a frame of the table's library.

        One line per cell: key (or row), row_score, column, observed, expected, score, weight, p_value. Cells are in the
        order of their surprise.
        """
        rows = np.argsort(-self.row_scores, kind="stable")[: max(n, 0)]
        cells = self._worst_cells(rows, n_cells)
        scores = {"row_score": pa.array([float(self.row_scores[row]) for row, _ in cells], pa.float64())}
        return self._table.frame(self._key_of(cells) | scores | self._cell_columns(cells))

    @property
    def _key_name(self) -> str:
        """What the key is called in frames: its own name, unless a frame has a column of that name already."""
        name = self.key or "row"
        return f"{name} (key)" if name in FRAME_COLUMNS else name

    def _positions(self, picked: Picked) -> Positions:
        """Positions of rows in the table; negative ones count from its end."""
        if picked is None:
            return np.arange(len(self))
        given = np.asarray(picked)
        if given.dtype == np.bool_:
            if given.shape != (len(self),):
                raise ParameterError(f"A mask of shape {given.shape} came for a table of {len(self)} rows.")
            return np.flatnonzero(given)
        if given.size and given.dtype.kind not in "iu":
            raise ParameterError(f"Rows are picked by whole numbers or a mask, but {given.dtype} came.")
        rows = given.astype(np.intp).reshape(-1)
        outside = rows[(rows < -len(self)) | (rows >= len(self))]
        if len(outside):
            raise IndexError(f"There is no row {outside[0]}: the table has {len(self)} rows, counted from 0.")
        return rows % max(1, len(self))

    def _worst_cells(self, rows: Positions, n_cells: int) -> list[tuple[Any, Any]]:
        """(row, column) of the most surprising cells of each row; of equal ones, those with the higher score."""
        cells = []
        for row in rows:
            scores, surprise = self.cell_scores[row], self.surprise[row]
            order = np.lexsort((-np.nan_to_num(scores), -surprise))
            told = order[~np.isnan(scores[order]) | (surprise[order] >= RARE)]
            cells += [(row, j) for j in told[: max(n_cells, 0)]]
        return cells

    def _key_of(self, cells: list[tuple[Any, Any]]) -> dict[str, Any]:
        return {self._key_name: self.keys.take(pa.array([int(row) for row, _ in cells], pa.int64()))}

    def _cell_columns(self, cells: list[tuple[Any, Any]]) -> dict[str, Any]:
        index = tuple(np.array(cells, dtype=np.intp).reshape(-1, 2).T)
        kinds, suggestions = self._kinds(cells)
        return {
            "column": pa.array([self.columns[j] for _, j in cells], pa.string()),
            "observed": pa.array(self._texts(cells, observed=True), pa.string()),
            "expected": pa.array(self._texts(cells, observed=False), pa.string()),
            "score": pa.array(self.cell_scores[index], from_pandas=True),
            "weight": pa.array(self.weights[index]),
            "p_value": pa.array(self.p_values[index]),
            "surprise": pa.array(self.surprise[index]),
            "kind": pa.array(kinds, pa.string()),
            "suggestion": pa.array(suggestions, pa.string()),
        }

    def _texts(self, cells: list[tuple[Any, Any]], observed: bool) -> list[str]:
        """Values of cells as a person reads them; column by column, since each is converted as a whole."""
        texts = [""] * len(cells)
        places_of: dict[int, list[int]] = {}
        for place, (_, j) in enumerate(cells):
            places_of.setdefault(int(j), []).append(place)
        for j, places in places_of.items():
            column = self._model.schema.columns[j]
            rows = np.array([cells[place][0] for place in places], dtype=np.intp)
            if observed:
                found = cell_text(column, self._table, rows)
            else:
                found = value_text(column, self._judged.expected[j][rows])
            for place, text in zip(places, found, strict=True):
                texts[place] = text
        return texts

    def __len__(self) -> int:
        return len(self.row_scores)

    def __repr__(self) -> str:
        return f"<Detection: {len(self)} rows, {len(self.columns)} columns>"
