"""The findings of a report: rows worst first, each with the few cells that speak against it, as columns of JSON."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._report.texts import HIDDEN, TextTable, printable, rounded
from rfod._table.encode import cell_text, encode_column, value_text
from rfod.detection import Detection

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]

SHARE_OF_WORST = 0.2  # cells that add less than this share of the worst one are not worth a line
DIGITS = 12


@dataclass(frozen=True)
class Cells:
    """Cells of the picked rows; one entry per cell, the cells of a row together and worst first."""

    rows: Rows
    columns: Rows
    starts: Rows
    """Where the cells of each picked row begin, and where the last one's end."""


def worst_cells(found: Detection, picked: Rows, most: int) -> Cells:
    """The cells that add most to the scores of the picked rows, at most so many of each."""
    added = np.nan_to_num(found.cell_scores[picked] * found.weights[picked], nan=-1.0)
    order = np.argsort(-added, axis=1, kind="stable")[:, :most]
    values = np.take_along_axis(added, order, axis=1)
    kept = values >= np.maximum(SHARE_OF_WORST * values[:, :1], 0)
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    return Cells(np.repeat(picked, kept.sum(axis=1)), order[kept], starts.astype(np.intp))


def cells_json(found: Detection, cells: Cells, texts: TextTable, hidden: Collection[str]) -> dict[str, list[Any]]:
    """One list per property; texts by their number in the table of texts, places on the axis of a figure as numbers."""
    n = len(cells.rows)
    spot = (cells.rows, cells.columns)
    told: dict[str, list[Any]] = {
        "column": cells.columns.tolist(),
        "score": [rounded(score) for score in found.cell_scores[spot].tolist()],
        "surprise": [rounded(value, 3) for value in surprises(found)[spot].tolist()],
        "p": [rounded(value, 3) for value in found.p_values[spot].tolist()],
    }
    for name in ("observed", "expected", "at", "centre"):
        told[name] = [None] * n
    for j in np.unique(cells.columns).tolist():
        column = found._model.columns[j]
        places = np.flatnonzero(cells.columns == j)
        rows = cells.rows[places]
        if column.name in hidden:
            number = texts.number(HIDDEN)
            for place in places.tolist():
                told["observed"][place] = told["expected"][place] = number
            continue
        expected = found._judged.expected[j][rows]
        _put(told["observed"], places, [texts.number(printable(t)) for t in cell_text(column, found._table, rows)])
        _put(told["expected"], places, [texts.number(printable(t)) for t in value_text(column, expected)])
        if not column.is_categorical:
            observed = encode_column(found._table, column)[rows]
            _put(told["at"], places, [rounded(value, DIGITS) for value in observed.tolist()])
            _put(told["centre"], places, [rounded(value, DIGITS) for value in expected.tolist()])
    return told


def rows_json(found: Detection, picked: Rows, cells: Cells, hide_keys: bool) -> dict[str, list[Any]]:
    """One list per property of the findings."""
    keys = found.keys.take(picked).to_pylist() if found.key is not None and not hide_keys else None
    return {
        "row": (picked + found._first_row).tolist(),
        "key": [] if keys is None else ["missing" if key is None else printable(key) for key in keys],
        "score": [rounded(score) for score in found.row_scores[picked].tolist()],
        "p": [rounded(value, 3) for value in found.row_p_values[picked].tolist()],
        "start": cells.starts.tolist(),
    }


def surprises(found: Detection) -> Floats:
    """How unusual each cell is, as -log10 of a probability."""
    return np.asarray(-np.log10(found.p_values))


def _put(target: list[Any], places: Rows, values: list[Any]) -> None:
    for place, value in zip(places.tolist(), values, strict=True):
        target[place] = value
