"""The answer for one table: scores of rows and cells, and what was expected."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._score.calibrate import conformal_p_values, own_p_values
from rfod._score.threshold import benjamini_hochberg, highest
from rfod._table.encode import cell_text, decode_column, value_text
from rfod._table.frames import Table
from rfod.exceptions import ParameterError, SchemaError
from rfod.model import Judged, Model

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


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
        own_rows: bool = False,
    ) -> None:
        given = table if given is None else given
        if key is not None and key not in given.names:
            raise SchemaError(f"The table has no column {key!r} to use as key.\nHint: it has {', '.join(given.names)}.")
        self._model = model
        self._table = table  # under the names of the model
        self._given = given  # under those of the caller
        self._judged = judged
        self._own_rows = own_rows
        self._first_row = first_row
        self.key = key
        """Name of the column that identifies rows, or None for row numbers."""
        self.row_scores: Floats = model.row_scores(judged)
        """How anomalous each row is: the weighted mean of its cell scores. Higher is more anomalous."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the modelled columns, in the order of all (rows, columns) arrays."""
        return tuple(column.name for column in self._model.columns)

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
            for column, values in zip(self._model.columns, self._judged.expected, strict=True)
        }
        return self._table.frame(decoded, aligned=True)

    # ----------------------------------------------------------------------------------------- how unlikely, and which

    @cached_property
    def row_p_values(self) -> Floats:
        """How likely a row like those of training scores at least as high.

        For new rows: the share of training rows, judged out of bag, that do (conformal; never below 1 / (n + 1)). For
        the rows of the training table itself: beyond its 90 % quantile, the tail of a log-normal distribution fitted to
        the bulk of the scores.
        """
        if self._own_rows:
            return own_p_values(self.row_scores)
        return conformal_p_values(self.row_scores, self._model.calibration)

    @cached_property
    def p_values(self) -> Floats:
        """Per cell, the share of training cells of its column, judged out of bag, that score at least as high."""
        columns = zip(self.cell_scores.T, self._model.cell_calibration, strict=True)
        values = np.column_stack([conformal_p_values(scores, known) for scores, known in columns])
        return np.where(np.isnan(self.cell_scores), np.nan, values)

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

    def rows(self, picked: NDArray[Any] | Sequence[int] | None = None, n_cells: int = 3) -> Any:
        """One line per row, as a frame of the table's library: key (or row), score, p_value, cells.

        `picked` are row positions or a mask, all rows by default. `cells` tells the `n_cells` worst cells in words.
        """
        rows = self._positions(picked)
        told = [""] * len(rows)
        place_of = {int(row): place for place, row in enumerate(rows)}
        cells = self._worst_cells(rows, n_cells)
        texts = zip(cells, self._texts(cells, observed=True), self._texts(cells, observed=False), strict=True)
        for (row, j), observed, expected in texts:
            place = place_of[int(row)]
            told[place] += f"{'; ' if told[place] else ''}{self.columns[j]}: {observed} (expected {expected})"
        return self._table.frame(
            {
                self.key or "row": self.keys.take(pa.array(rows)),
                "score": pa.array(self.row_scores[rows]),
                "p_value": pa.array(self.row_p_values[rows]),
                "cells": pa.array(told, pa.string()),
            }
        )

    def cells(self, picked: NDArray[Any] | Sequence[int] | None = None) -> Any:
        """One line per scored cell of the picked rows (all by default), as a frame of the table's library.

        Columns: key (or row), column, observed, expected, score, weight, p_value.
        """
        rows = self._positions(picked)
        cells = [(row, j) for row in rows for j in np.flatnonzero(~np.isnan(self.cell_scores[row]))]
        return self._table.frame(self._key_of(cells) | self._cell_columns(cells))

    def top(self, n: int = 10, n_cells: int = 3) -> Any:
        """The `n` most anomalous rows with their `n_cells` worst cells each, as a frame of the table's library.

        One line per cell: key (or row), row_score, column, observed, expected, score, weight, p_value. Cells are in the
        order of what they add to the row score.
        """
        rows = np.argsort(-self.row_scores, kind="stable")[: max(n, 0)]
        cells = self._worst_cells(rows, n_cells)
        scores = {"row_score": pa.array([float(self.row_scores[row]) for row, _ in cells], pa.float64())}
        return self._table.frame(self._key_of(cells) | scores | self._cell_columns(cells))

    def _positions(self, picked: NDArray[Any] | Sequence[int] | None) -> Rows:
        if picked is None:
            return np.arange(len(self))
        given = np.asarray(picked)
        return np.flatnonzero(given) if given.dtype == np.bool_ else given.astype(np.intp)

    def _worst_cells(self, rows: Rows, n_cells: int) -> list[tuple[Any, Any]]:
        """(row, column) of the cells that add most to their row's score."""
        added = np.nan_to_num(self.cell_scores[rows] * self.weights[rows], nan=-1.0)
        return [
            (row, j)
            for row, part in zip(rows, added, strict=True)
            for j in np.argsort(-part, kind="stable")[: max(n_cells, 0)]
            if part[j] >= 0
        ]

    def _key_of(self, cells: list[tuple[Any, Any]]) -> dict[str, Any]:
        return {self.key or "row": self.keys.take(pa.array([int(row) for row, _ in cells], pa.int64()))}

    def _cell_columns(self, cells: list[tuple[Any, Any]]) -> dict[str, Any]:
        index = tuple(np.array(cells, dtype=np.intp).reshape(-1, 2).T)
        return {
            "column": pa.array([self.columns[j] for _, j in cells], pa.string()),
            "observed": pa.array(self._texts(cells, observed=True), pa.string()),
            "expected": pa.array(self._texts(cells, observed=False), pa.string()),
            "score": pa.array(self.cell_scores[index]),
            "weight": pa.array(self.weights[index]),
            "p_value": pa.array(self.p_values[index]),
        }

    def _texts(self, cells: list[tuple[Any, Any]], observed: bool) -> list[str]:
        """Values of cells as a person reads them; column by column, since each is converted as a whole."""
        texts = [""] * len(cells)
        places_of: dict[int, list[int]] = {}
        for place, (_, j) in enumerate(cells):
            places_of.setdefault(int(j), []).append(place)
        for j, places in places_of.items():
            column = self._model.columns[j]
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
