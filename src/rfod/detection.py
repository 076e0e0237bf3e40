"""The answer for one table: scores of rows and cells, and what was expected."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._table.encode import cell_text, decode_column, value_text
from rfod._table.frames import Table
from rfod._table.schema import match_columns
from rfod.model import Judged, Model

Floats = NDArray[np.float64]


class Detection:
    """What a model found in one table. Rows are those of the table, columns the modelled ones (`columns`)."""

    def __init__(self, model: Model, table: Table, judged: Judged) -> None:
        self._model = model
        self._table = match_columns(model.schema, table)
        self._judged = judged
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

    def top(self, n: int = 10, n_cells: int = 3) -> Any:
        """The `n` most anomalous rows with their `n_cells` worst cells each, as a frame of the table's library.

        One line per cell: row (position in the table), row_score, column, observed, expected, cell_score. Cells are in
        the order of what they add to the row score.
        """
        rows = np.argsort(-self.row_scores, kind="stable")[: max(n, 0)]
        parts = np.nan_to_num(self.cell_scores[rows] * self.weights[rows], nan=-1.0)
        cells = [
            (row, j)
            for row, part in zip(rows, parts, strict=True)
            for j in np.argsort(-part, kind="stable")[: max(n_cells, 0)]
            if part[j] >= 0
        ]
        return self._table.frame(
            {
                "row": pa.array([int(row) for row, _ in cells], pa.int64()),
                "row_score": pa.array([float(self.row_scores[row]) for row, _ in cells], pa.float64()),
                "column": pa.array([self.columns[j] for _, j in cells], pa.string()),
                "observed": pa.array(self._texts(cells, observed=True), pa.string()),
                "expected": pa.array(self._texts(cells, observed=False), pa.string()),
                "cell_score": pa.array([float(self.cell_scores[cell]) for cell in cells], pa.float64()),
            }
        )

    def _texts(self, cells: list[tuple[Any, Any]], observed: bool) -> list[str]:
        """Values of cells as a person reads them; column by column, since each is converted as a whole."""
        texts = [""] * len(cells)
        for j, column in enumerate(self._model.columns):
            places = [place for place, cell in enumerate(cells) if cell[1] == j]
            if not places:
                continue
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
