"""Rows like one whose cell is wrong that have what is suggested for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.texts import BLANK
from rfod._evidence.wrong_cells import WORTH_A_CHECK, CellProbabilities, WrongCell

Floats = NDArray[np.float64]
DETERMINING = 10.0  # columns that an agreeing column counts for, where it determines the wrong cell's


def similar_rows(found: CellProbabilities, cell: WrongCell, n_rows: int = 3) -> list[int]:
    """The rows most like that of a cell, most similar first: of those that have the suggested value, if there are any,
    and whose own cell is not suspicious. Columns that determine the column of the cell count most."""
    written, c = found.collected.written, found.names.index(cell.column)
    column = written.columns[c]
    allowed = (found.probability[:, c] < WORTH_A_CHECK) & (column.codes != BLANK)
    allowed[cell.row] = False
    if cell.suggested in column.values:
        have = allowed & (column.codes == column.values.index(cell.suggested))
        allowed = have if have.any() else allowed
    likeness = np.zeros(len(column.codes))
    weights = {j: 1.0 for j in range(len(written.columns)) if j != c}
    for determinant in found.collected.profile.determinants[c]:
        weights |= dict.fromkeys(determinant.columns, DETERMINING)
    for j, weight in weights.items():
        numbers = written.numbers[j]
        likeness += weight * (
            _same(written.columns[j].codes, cell.row) if numbers is None else _near(numbers, cell.row)
        )
    rows = np.flatnonzero(allowed)
    order = rows[np.argsort(-likeness[rows], kind="stable")[:n_rows]]
    return [int(row) for row in order]


def _same(codes: NDArray[np.int32], row: int) -> Floats:
    """(rows,): 1 for rows with the same value."""
    return np.asarray((codes == codes[row]) & (codes[row] != BLANK), dtype=np.float64)


def _near(numbers: Floats, row: int) -> Floats:
    """(rows,): 1 for rows with the same number, less the further away, in distances that half of the rows have."""
    if not np.isfinite(numbers[row]):
        return np.zeros(len(numbers))
    with np.errstate(invalid="ignore", over="ignore"):
        away = np.abs(numbers - numbers[row])
    known = away[np.isfinite(away)]
    typical = float(np.median(known)) or 1.0
    return np.where(np.isfinite(away), 1 / (1 + away / typical), 0.0)
