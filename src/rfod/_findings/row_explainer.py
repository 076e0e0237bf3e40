"""From judged rows to their explanations, column by column."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rfod._findings.cell_explainer import HIDDEN, Asked, CellExplainer
from rfod._findings.explanations import CellExplanation, RowExplanation
from rfod._findings.found import Found, Positions
from rfod._model.blame import Repair
from rfod._model.judge import Rows, code_rows
from rfod._model.model import Model

SURPRISING = 2.0  # cells that are not to blame are told when this surprising: one in a hundred


@dataclass(frozen=True)
class _Cell:
    """A cell to explain."""

    place: int
    """Of its row among the rows to explain."""
    j: int
    blamed: bool


def explain_rows(
    found: Found,
    rows: Positions,
    n_cells: int,
    hidden: Collection[str] = (),
    only: Sequence[Collection[int]] | None = None,
) -> list[RowExplanation]:
    """Explanations of rows, by their positions, with at most `n_cells` cells each.

    `hidden` are columns whose values are not told; `only`, per row, the columns to speak of.
    """
    repairs = found._repairs(rows)
    chosen = _choose(found, rows, repairs, n_cells, only)
    told = _explain_cells(found, rows, repairs, chosen, hidden)
    cells_of: list[list[CellExplanation]] = [[] for _ in rows]
    for cell, text in zip(chosen, told, strict=True):
        # what looks unusual only beside a cell to blame is left out where nothing can be held against it
        if cell.blamed or only is not None or not cells_of[cell.place] or 2 * text.n_agree > text.n_such:
            cells_of[cell.place].append(text)
    keys = found.keys.take(pa.array(rows)).to_pylist() if found.key is not None else [None] * len(rows)
    if found.key in hidden:
        keys = [HIDDEN] * len(rows)
    explained = []
    for row, repair, key, cells in zip(rows.tolist(), repairs, keys, cells_of, strict=True):
        explanation = RowExplanation(
            row=row,
            key=key,
            key_column=found.key,
            score=float(found.row_scores[row]),
            p_value=float(found.row_p_values[row]),
            cells=tuple(cells),
            ordinary=repair.ordinary,
        )
        explained.append(explanation.renumbered(row + found._first_row) if found._first_row else explanation)
    return explained


def _choose(
    found: Found,
    rows: Positions,
    repairs: Sequence[Repair],
    n_cells: int,
    only: Sequence[Collection[int]] | None,
) -> list[_Cell]:
    """The cells to blame in their order, then others that are surprising; the most surprising one in any case."""
    chosen = []
    for place, (row, repair) in enumerate(zip(rows.tolist(), repairs, strict=True)):
        surprise = found.surprise[row]
        order = [int(j) for j in np.argsort(-surprise, kind="stable") if not np.isnan(found._judged.local[row, j])]
        if only is None:
            order = [j for j in order if surprise[j] >= SURPRISING or j == order[0]]
        columns = list(dict.fromkeys([*repair.columns, *order]))
        if only is not None:
            columns = [j for j in columns if j in only[place]]
        chosen += [_Cell(place, j, j in repair.columns) for j in columns[: max(n_cells, 0)]]
    return chosen


def _explain_cells(
    found: Found, rows: Positions, repairs: Sequence[Repair], chosen: Sequence[_Cell], hidden: Collection[str]
) -> list[CellExplanation]:
    """Explanations of cells, in their order."""
    cells: list[tuple[Any, Any]] = [(int(rows[cell.place]), cell.j) for cell in chosen]
    observed = found._texts(cells, observed=True)
    kinds, suggestions = found._kinds(cells)
    read = found._read(rows)
    both = _with_repaired(found._model, read, repairs)
    told: dict[int, CellExplanation] = {}
    members_of: dict[int, list[int]] = {}
    for n, cell in enumerate(chosen):
        members_of.setdefault(cell.j, []).append(n)
    for j, members in members_of.items():
        # a cell to blame is held against the row as it should have been, others against the row as it is
        at = np.array([chosen[n].place + len(rows) * chosen[n].blamed for n in members], dtype=np.intp)
        explainer = CellExplainer(found, j, both.take(at), hidden)
        for i, n in enumerate(members):
            cell, repair = chosen[n], repairs[chosen[n].place]
            asked = Asked(
                row=int(rows[cell.place]),
                values=[column[cell.place] for column in read.encoded],
                expected=repair.values[repair.columns.index(j)]
                if cell.blamed
                else found._judged.expected[j][rows[cell.place]],
                without=frozenset(repair.columns) if cell.blamed else frozenset(),
                observed=observed[n],
                kind=kinds[n],
                suggestion=suggestions[n],
                blamed=cell.blamed,
            )
            told[n] = explainer.tell(i, asked)
    return [told[n] for n in range(len(chosen))]


def _with_repaired(model: Model, read: Rows, repairs: Sequence[Repair]) -> Rows:
    """Rows as they are, and once more with the cells to blame repaired."""
    n_rows = len(read)
    encoded = [np.concatenate([column, column]) for column in read.encoded]
    for place, repair in enumerate(repairs):
        for j, value in zip(repair.columns, repair.values, strict=True):
            encoded[j][n_rows + place] = value
    return code_rows(model, encoded).like(read, np.concatenate([np.arange(n_rows), np.arange(n_rows)]))
