"""Distances of rows from the nearest row of a sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._forest.jit import kernel

Floats = NDArray[np.float64]
PART = 256  # sampled rows that distances are computed from together: they stay in cache
MAX_DISTANCE = np.float32(1e9)  # numbers are clipped here, in units of the cell score


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Rows of a sample as points: numbers in units of the cell score, categories as they are."""

    parts: NDArray[np.float32]
    """(part, column, PART rows); the last part is filled up with zeros."""
    n_rows: int
    is_categorical: NDArray[np.bool_]
    centres: Floats
    ranges: Floats

    def distances(self, values: Sequence[NDArray[Any]], own: NDArray[np.int64]) -> Floats:
        """Mean distance per column from the nearest row of the sample, other than the row itself and one copy of it."""
        out = np.empty(len(own))
        points = _as_points(values, self.is_categorical, self.centres, self.ranges)
        n_copies, total = np.zeros(len(own), dtype=np.int64), np.empty(PART, dtype=np.float32)
        _nearest_rows(points, self.parts, self.n_rows, self.is_categorical, own, n_copies, total, out)
        return np.where(np.isinf(out), 0.0, out / max(1, len(values)))


def neighbours(values: Sequence[NDArray[Any]], is_categorical: NDArray[np.bool_], ranges: Floats) -> Neighbours:
    """The rows of a sample, given by columns, as points to compute distances from."""
    centres = np.zeros(len(values))
    for j in np.flatnonzero(~is_categorical).tolist():  # float32 has few digits, and dates are far from 0
        known = values[j][np.isfinite(values[j])]
        centres[j] = np.median(known) if len(known) else 0.0
    points = _as_points(values, is_categorical, centres, ranges)
    n_parts = -(-len(points) // PART)
    filled = np.zeros((n_parts * PART, len(values)), dtype=np.float32)
    filled[: len(points)] = points
    parts = np.ascontiguousarray(filled.reshape(n_parts, PART, -1).transpose(0, 2, 1))
    return Neighbours(parts, len(points), is_categorical, centres, ranges)


def _as_points(
    values: Sequence[NDArray[Any]], is_categorical: NDArray[np.bool_], centres: Floats, ranges: Floats
) -> NDArray[np.float32]:
    """(row, column) of encoded columns; NaN where a cell is missing."""
    points = np.empty((len(values[0]), len(values)), dtype=np.float32)
    for j, column in enumerate(values):
        if is_categorical[j]:
            points[:, j] = np.where(column == -1, np.nan, column)
        else:
            with np.errstate(over="ignore"):
                points[:, j] = np.clip((column - centres[j]) / (ranges[j] or 1.0), -MAX_DISTANCE, MAX_DISTANCE)
    return points


@kernel
def _nearest_rows(rows, parts, n_sample, is_categorical, own, n_copies, total, out):
    """out[i] = smallest sum over columns of the distances of row i from a row of the sample: |difference| of numbers, 0
    or 1 for categories; a missing value is 1 away from any other. Row i itself, number own[i] of the sample or -1, is
    skipped, and so is one exact copy: it may be the row itself.

    rows: float32 (rows, columns), parts: float32 (parts, columns, PART), missing NaN; is_categorical: bool (columns,);
    own: int64 (rows,); n_copies: int64 (rows,), zeros; total: float32 (PART,); out: float64 (rows,).

    Plain loops along a part, which stays in cache; the compiler turns them into vector instructions."""
    n_rows, n_columns, n_part = rows.shape[0], rows.shape[1], parts.shape[2]
    zero, one = np.float32(0.0), np.float32(1.0)
    for i in range(n_rows):
        out[i] = np.inf
    for p in range(parts.shape[0]):
        start = p * n_part
        for i in range(n_rows):
            for r in range(n_part):
                total[r] = zero
            for j in range(n_columns):
                value, others = rows[i, j], parts[p, j]
                if value != value:
                    for r in range(n_part):
                        total[r] += one if others[r] == others[r] else zero
                elif is_categorical[j]:
                    for r in range(n_part):
                        total[r] += one if others[r] != value else zero
                else:
                    for r in range(n_part):
                        difference = abs(others[r] - value)
                        total[r] += difference if difference == difference else one
            if start <= own[i] < start + n_part:
                total[own[i] - start] = np.float32(np.inf)
            best = out[i]
            for r in range(n_part if n_part < n_sample - start else n_sample - start):
                if total[r] < best:
                    if total[r] == zero and n_copies[i] == 0:
                        n_copies[i] = 1
                    else:
                        best = np.float64(total[r])
            out[i] = best
