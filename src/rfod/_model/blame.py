"""Which cells of a row are to blame: the few whose repair makes the row ordinary.

One wrong cell makes the cells that depend on it look wrong too. So cells are tried: each candidate is replaced by what
was expected in its place, the row is judged again, and the replacement that leaves the least surprise is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._model.judge import Rows, code_rows, judge
from rfod._model.model import Judged, Model

Floats = NDArray[np.float64]
CANDIDATES = 5  # cells tried per row and round, the most surprising ones
MOST_CELLS = 5  # of a row that are replaced
ORDINARY = 0.05  # a row is ordinary when its most surprising cell would be exceeded in this share of ordinary rows
CLEARLY = 0.75  # share of the surprise that another cell than the most surprising one may leave, to be blamed first
ROWS_TOGETHER = 2_048


@dataclass(frozen=True)
class Blame:
    """The cells of one row whose repair makes it ordinary."""

    row: int
    columns: tuple[str, ...]
    """In the order of blame."""
    repaired: Mapping[str, Any]
    """What to put in their place, by column."""
    ordinary: bool
    """Whether the row is ordinary once they are replaced."""


@dataclass(frozen=True, eq=False)
class Repair:
    """What `repair` did to one row: column numbers in order, their new encoded values."""

    columns: tuple[int, ...]
    values: tuple[Any, ...]
    ordinary: bool


def ordinary_limit(n_columns: int) -> float:
    """Surprise that the most surprising of so many cells of an ordinary row exceeds with probability `ORDINARY`."""
    return float(np.log10(n_columns / ORDINARY))


def repair(model: Model, rows: Rows, judged: Judged, n_jobs: int | None) -> list[Repair]:
    """Replace the cells to blame, row by row; `judged` is what the model says of the rows as they are."""
    found: list[Repair] = []
    surprise = model.surprise(judged)
    for start in range(0, len(rows), ROWS_TOGETHER):
        part = np.arange(start, min(start + ROWS_TOGETHER, len(rows)))
        expected = [column[part] for column in judged.expected]
        found += _repair_together(model, rows.take(part), surprise[part], expected, n_jobs)
    return found


def _repair_together(
    model: Model, rows: Rows, surprise: Floats, expected: Sequence[NDArray[Any]], n_jobs: int | None
) -> list[Repair]:
    n_rows, n_columns = surprise.shape
    limit = ordinary_limit(n_columns)
    values = [column.copy() for column in rows.encoded]
    expected = [column.copy() for column in expected]
    surprise = surprise.copy()
    replaced: list[list[int]] = [[] for _ in range(n_rows)]
    open_rows = np.arange(n_rows)
    for _ in range(min(MOST_CELLS, n_columns - 1)):
        tried = [(int(row), j) for row in open_rows for j in _candidates(surprise[row], replaced[row])]
        if not tried:
            break
        owners = np.array([row for row, _ in tried])
        trial = _with_expected(model, rows, values, expected, tried)
        judged = judge(model, trial, n_jobs, look_around=False)
        trial_surprise = model.surprise(judged)
        left = _left(trial_surprise)
        for row in open_rows:
            places = np.flatnonzero(owners == row)
            if len(places) == 0:
                continue
            first, best = places[0], places[np.argmin(left[places])]
            if left[best] > CLEARLY * left[first]:
                best = first
            if left[best] >= _left(surprise[[row]])[0]:
                continue
            j = tried[best][1]
            replaced[row].append(j)
            surprise[row] = trial_surprise[best]
            for k in range(n_columns):
                values[k][row] = trial.encoded[k][best]
                expected[k][row] = judged.expected[k][best]
        moved = np.array([len(replaced[row]) for row in open_rows])
        is_open = (surprise[open_rows].max(axis=1) > limit) & (moved == moved.max(initial=0))
        open_rows = open_rows[is_open]
    return [
        Repair(
            tuple(columns),
            tuple(values[j][row] for j in columns),
            bool(surprise[row].max() <= limit),
        )
        for row, columns in enumerate(replaced)
    ]


def _left(surprise: Floats) -> Floats:
    """How much there is left to explain in each row."""
    return np.asarray((surprise * surprise).sum(axis=1))


def _candidates(surprise: Floats, replaced: Sequence[int]) -> list[int]:
    order = np.argsort(-surprise, kind="stable")
    return [int(j) for j in order[: CANDIDATES + len(replaced)] if surprise[j] > 0 and j not in replaced][:CANDIDATES]


def _with_expected(
    model: Model,
    rows: Rows,
    values: Sequence[NDArray[Any]],
    expected: Sequence[NDArray[Any]],
    tried: Sequence[tuple[int, int]],
) -> Rows:
    """One row per trial, with the expected value in the place of the tried cell."""
    owners = np.array([row for row, _ in tried])
    columns = np.array([j for _, j in tried])
    encoded = []
    for k, (own, wanted) in enumerate(zip(values, expected, strict=True)):
        encoded.append(np.where(columns == k, wanted[owners], own[owners]).astype(own.dtype, copy=False))
    return code_rows(model, encoded).like(rows, owners)
