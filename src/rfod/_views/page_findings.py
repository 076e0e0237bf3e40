"""The findings of a report: rows worst first, each with the few cells that speak against it, as columns of JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._findings.explanations import CellExplanation, RowExplanation
from rfod._findings.row_explainer import explain_rows
from rfod._table.encode import encode_column, value_text
from rfod._views.texts import HIDDEN, LONGEST_SENTENCE, TextTable, printable, rounded
from rfod.detection import Detection

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]

SHARE_OF_WORST = 0.5  # cells less surprising than this share of the worst one are not worth a line
LEVEL = 0.9  # of intervals
N_LIKELY = 3
DIGITS = 12


@dataclass(frozen=True)
class Cells:
    """Cells of the picked rows; one entry per cell, the cells of a row together and worst first."""

    rows: Rows
    columns: Rows
    starts: Rows
    """Where the cells of each picked row begin, and where the last one's end."""
    explained: tuple[RowExplanation, ...]
    """Of the first picked rows."""
    explanations: Mapping[int, CellExplanation]
    """By number of the cell."""

    def by_column(self, n: int | None = None) -> Iterator[tuple[int, Rows]]:
        """Column by column, where its cells are; only those of the first `n` picked rows."""
        end = None if n is None else int(self.starts[min(n, len(self.starts) - 1)])
        for j in np.unique(self.columns[:end]).tolist():
            yield j, np.flatnonzero(self.columns[:end] == j)


def told_cells(found: Detection, picked: Rows, most: int, n_explained: int, hidden: Collection[str] = ()) -> Cells:
    """The cells to tell of each picked row, at most so many.

    In the first `n_explained` rows those that the explanation tells, cells to blame first. In the others, and where
    there is nothing to explain, the most surprising ones.
    """
    explained = explain_rows(found, picked[:n_explained], most, hidden)
    number = {name: j for j, name in enumerate(found.columns)}
    surprise = np.nan_to_num(found.surprise[picked], nan=0.0)
    order = np.argsort(-surprise, axis=1, kind="stable")[:, :most]
    values = np.take_along_axis(surprise, order, axis=1)
    columns: list[int] = []
    starts = [0]
    explanations: dict[int, CellExplanation] = {}
    for place, (candidates, kept) in enumerate(zip(order, values >= SHARE_OF_WORST * values[:, :1], strict=True)):
        cells = explained[place].cells if place < len(explained) else ()
        explanations |= {len(columns) + k: cell for k, cell in enumerate(cells)}
        columns += [number[cell.column] for cell in cells] or candidates[kept].tolist()
        starts.append(len(columns))
    rows = np.repeat(picked, np.diff(starts))
    return Cells(rows, np.array(columns, dtype=np.intp), np.array(starts), tuple(explained), explanations)


def cells_json(
    found: Detection, cells: Cells, texts: TextTable, hidden: Collection[str], n_ranges: int
) -> dict[str, list[Any]]:
    """One list per property; texts by their number in the table of texts, places on the axis of a figure as numbers.

    What was expected has its range, or the likeliest categories, in the first `n_ranges` findings.
    """
    pairs = list(zip(cells.rows.tolist(), cells.columns.tolist(), strict=True))
    lines = found._cell_columns(pairs)
    told: dict[str, list[Any]] = {
        "column": cells.columns.tolist(),
        "blamed": [int(cell in cells.explanations and cells.explanations[cell].blamed) for cell in range(len(pairs))],
        "sentence": [None] * len(pairs),
        "score": [rounded(value) for value in lines["score"].to_pylist()],
        "surprise": [rounded(value, 3) for value in lines["surprise"].to_pylist()],
        "rarity": [rounded(value, 3) for value in -np.log10(found._tail_p_values[cells.rows, cells.columns])],
        "p": [rounded(value, 3) for value in lines["p_value"].to_pylist()],
    }
    is_hidden = [name in hidden for name in found.columns]
    shown = [not is_hidden[j] for j in told["column"]]
    for name in ("observed", "expected", "suggestion"):
        veil = None if name == "suggestion" else HIDDEN
        values = [value if is_shown else veil for value, is_shown in zip(lines[name].to_pylist(), shown, strict=True)]
        told[name] = [None if value is None else texts.number(printable(value)) for value in values]
    told["kind"] = [
        kind if is_shown else "value" for kind, is_shown in zip(lines["kind"].to_pylist(), shown, strict=True)
    ]
    for name in ("at", "centre", "low", "high", "from", "to", "likely"):
        told[name] = [None] * len(pairs)
    for j, places in cells.by_column():
        if not is_hidden[j] and not found._model.schema.columns[j].is_categorical:
            rows = cells.rows[places]
            _put(told["at"], places, encode_column(found._table, found._model.schema.columns[j])[rows])
            _put(told["centre"], places, found._judged.expected[j][rows])
    for j, places in cells.by_column(n_ranges):
        if not is_hidden[j]:
            add = _add_likely if found._model.schema.columns[j].is_categorical else _add_interval
            add(found, cells, j, places, texts, told)
    for cell, explanation in cells.explanations.items():
        told["sentence"][cell] = printable(explanation.sentence, LONGEST_SENTENCE)
        told["expected"][cell] = texts.number(printable(explanation.expected))
        for name, text in (("low", explanation.low), ("high", explanation.high)):
            if text is not None and told[name][cell] is not None:
                told[name][cell] = texts.number(printable(text))
    return told


def _add_interval(
    found: Detection, cells: Cells, j: int, places: Rows, texts: TextTable, told: dict[str, list[Any]]
) -> None:
    """Between which values the numbers of a column were expected."""
    low, high = found._conditional.interval(found._read(cells.rows[places]), j, LEVEL)
    known = np.isfinite(low) & np.isfinite(high)
    places = places[known]
    for name, position, values in (("low", "from", low[known]), ("high", "to", high[known])):
        _put(told[position], places, values)
        for place, text in zip(places.tolist(), value_text(found._model.schema.columns[j], values), strict=True):
            told[name][place] = texts.number(printable(text))


def _add_likely(
    found: Detection, cells: Cells, j: int, places: Rows, texts: TextTable, told: dict[str, list[Any]]
) -> None:
    """Which categories of a column were likeliest."""
    shares = found._conditional.shares(found._read(cells.rows[places]), j)
    order = np.argsort(-shares, axis=1, kind="stable")[:, :N_LIKELY]
    for place, codes, share in zip(places.tolist(), order, shares, strict=True):
        codes = codes[share[codes] > 0].astype(np.int32)
        names = value_text(found._model.schema.columns[j], codes)
        told["likely"][place] = [
            [texts.number(printable(name)), rounded(float(share[code]), 3)]
            for name, code in zip(names, codes.tolist(), strict=True)
        ]


def rows_json(found: Detection, picked: Rows, cells: Cells, hide_keys: bool) -> dict[str, list[Any]]:
    """One list per property of the findings."""
    keys = found.keys.take(picked).to_pylist() if found.key is not None and not hide_keys else None
    return {
        "row": (picked + found._first_row).tolist(),
        "key": [] if keys is None else ["missing" if key is None else printable(key) for key in keys],
        "score": [rounded(score) for score in found.row_scores[picked].tolist()],
        "p": [rounded(value, 3) for value in found.row_p_values[picked].tolist()],
        "start": cells.starts.tolist(),
        "mended": [int(row.ordinary and bool(row.remedy)) for row in cells.explained],
        "remedy": [printable(row.remedy, LONGEST_SENTENCE) for row in cells.explained],
    }


def _put(target: list[Any], places: Rows, values: NDArray[Any]) -> None:
    for place, value in zip(places.tolist(), values.tolist(), strict=True):
        target[place] = rounded(value, DIGITS)
