"""Which rows and columns a figure shows, and what they are called."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._table.table import listed
from rfod._views.style import as_text
from rfod.detection import Detection
from rfod.exceptions import ParameterError

Rows = NDArray[np.intp]


def picked_rows(found: Detection, rows: NDArray[Any] | Sequence[int]) -> Rows:
    """Row positions from positions or a mask."""
    given = np.asarray(rows).ravel()
    if given.dtype == np.bool_:
        if len(given) != len(found):
            raise ParameterError(f"The mask of rows has {len(given)} places; the table has {len(found)} rows.")
        return np.flatnonzero(given)
    wrong = [row for row in given.tolist() if not 0 <= row < len(found)]
    if wrong:
        raise ParameterError(f"There is no row {wrong[0]}; the table has {len(found)} rows, counted from 0.")
    return given.astype(np.intp)


def column_number(names: Sequence[str], name: str) -> int:
    """Position of a column among the modelled ones."""
    if name not in names:
        near = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {listed(names)}."
        raise ParameterError(f"There is no modelled column {name!r}.\nHint: {hint}")
    return list(names).index(name)


def row_label(found: Detection, row: int) -> str:
    """A row as a person names it: its key, or its number."""
    return as_text(found.keys[int(row)].as_py(), 24)


def row_ticks(found: Detection, rows: Rows, most: int) -> dict[str, Any]:
    """Labels of a vertical axis whose rows run downwards: all of them, or every so many."""
    step = -(-len(rows) // most) or 1
    places = np.arange(0, len(rows), step)
    return {
        "autorange": "reversed",
        "tickvals": places,
        "ticktext": [row_label(found, row) for row in rows[places]],
        "title": {"text": as_text(found.key or "row"), "standoff": 12},
    }
