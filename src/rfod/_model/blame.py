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

from rfod._model.calibrate import surprise
from rfod._model.executor import Executor
from rfod._model.judge import EncodedRows, code_rows, judge
from rfod._model.model import JudgedCells, Model

Floats = NDArray[np.float64]
CANDIDATES = 5  # cells tried per row and round, the most surprising ones
MOST_CELLS = 5  # of a row that are replaced
ORDINARY = 0.05  # a row is ordinary when its most surprising cell would be exceeded in this share of ordinary rows
CLEARLY_LESS = 0.75  # remaining surprise of another cell than the most surprising one, to be blamed first
BATCH_ROWS = 2_048


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
    """What `repair` did to one row."""

    values: dict[int, Any]
    """By number of the column, in the order of blame: the new encoded value."""
    ordinary: bool


def ordinary_limit(n_columns: int) -> float:
    """Surprise that the most surprising of so many cells of an ordinary row exceeds with probability `ORDINARY`."""
    return float(np.log10(n_columns / ORDINARY))


def repair(model: Model, rows: EncodedRows, cells: JudgedCells, executor: Executor) -> list[Repair]:
    """Replace the cells to blame, row by row; `cells` are the judged cells of the rows as they are."""
    found: list[Repair] = []
    for start in range(0, len(rows), BATCH_ROWS):
        part = np.arange(start, min(start + BATCH_ROWS, len(rows)))
        found += _repair_batch(model, rows.take(part), cells.take(part), executor)
    return found


def _repair_batch(model: Model, rows: EncodedRows, cells: JudgedCells, executor: Executor) -> list[Repair]:
    current = surprise(model.columns, cells)
    n_rows, n_columns = current.shape
    limit, is_judged = ordinary_limit(n_columns), ~np.isnan(cells.spread_or_share)
    values = [column.copy() for column in rows.encoded]
    expected = [column.copy() for column in cells.expected]
    replaced: list[list[int]] = [[] for _ in range(n_rows)]
    open_rows = np.arange(n_rows)
    for _ in range(min(MOST_CELLS, n_columns - 1)):
        trials = [(int(row), j) for row in open_rows for j in _candidates(current[row], replaced[row])]
        if not trials:
            break
        owners, columns = np.array(trials).T
        # one row per trial, with the expected value in the place of the tried cell
        encoded = [
            np.where(columns == k, expected[k][owners], values[k][owners]).astype(values[k].dtype, copy=False)
            for k in range(n_columns)
        ]
        trial_rows = code_rows(model, encoded).like(rows, owners)
        judged = judge(model, trial_rows, executor, with_rows=False)
        # what was not judged of a row, such as a cell that a person has decided about, is not judged in trials either
        trial_surprise = np.where(is_judged[owners], surprise(model.columns, judged), 0.0)
        remaining = _remaining(trial_surprise)
        before, accepted = _remaining(current), []
        starts, ends = np.searchsorted(owners, open_rows, "left"), np.searchsorted(owners, open_rows, "right")
        for row, first, end in zip(open_rows.tolist(), starts.tolist(), ends.tolist(), strict=True):
            if first == end:
                continue
            best = first + int(np.argmin(remaining[first:end]))
            if remaining[best] > CLEARLY_LESS * remaining[first]:
                best = first
            if remaining[best] < before[row]:
                replaced[row].append(trials[best][1])
                accepted.append((row, best))
        changed, best_trials = np.array(accepted, dtype=np.intp).reshape(-1, 2).T
        current[changed] = trial_surprise[best_trials]
        for k in range(n_columns):
            values[k][changed] = encoded[k][best_trials]
            expected[k][changed] = judged.expected[k][best_trials]
        n_replaced = np.array([len(replaced[row]) for row in open_rows])
        is_open = (current[open_rows].max(axis=1) > limit) & (n_replaced == n_replaced.max(initial=0))
        open_rows = open_rows[is_open]
    return [
        Repair({j: values[j][row] for j in columns}, bool(current[row].max() <= limit))
        for row, columns in enumerate(replaced)
    ]


def repaired_rows(model: Model, rows: EncodedRows, repairs: Sequence[Repair | None]) -> EncodedRows:
    """Rows with their cells to blame repaired; None leaves a row as it is."""
    encoded = [column.copy() for column in rows.encoded]
    for place, own in enumerate(repairs):
        for j, value in own.values.items() if own else ():
            encoded[j][place] = value
    return code_rows(model, encoded).like(rows, np.arange(len(rows)))


def _remaining(surprise: Floats) -> Floats:
    """Per row, the surprise that is left to explain."""
    return np.asarray((surprise * surprise).sum(axis=1))


def _candidates(surprise: Floats, replaced: Sequence[int]) -> list[int]:
    order = np.argsort(-surprise, kind="stable")
    return [int(j) for j in order[: CANDIDATES + len(replaced)] if surprise[j] > 0 and j not in replaced][:CANDIDATES]
