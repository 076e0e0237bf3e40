"""Known errors in a copy of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._check.errors import Values, open_values
from rfod._table.columns import Column
from rfod._table.table import Table
from rfod.params import ERROR_KINDS, ErrorKind


@dataclass(frozen=True, eq=False)
class Injected:
    """A table with errors in it, and where they are."""

    table: Table
    wrong: NDArray[np.bool_]
    """Rows by columns: cells that hold another value than before."""


def inject(
    table: Table, columns: Sequence[Column], kind: ErrorKind, *, share: float, seed: int, n_cells: int = 1
) -> Injected:
    """Put `n_cells` errors of one kind into each of a share of the rows, in columns drawn at random.

    Where an error would leave a cell as it is, or the cell is missing, another column of the row is drawn; a row in
    which none is left stays as it was. Which rows are drawn depends on `seed` only, not on the kind.
    """
    n_rows = table.n_rows
    rows = np.random.default_rng(seed).permutation(n_rows)[: round(share * n_rows)]
    rng = np.random.default_rng([seed, ERROR_KINDS.index(kind)])
    opened: list[Values] = [open_values(table, column) for column in columns]
    capable = np.array([j for j, values in enumerate(opened) if values.can_have(kind)], dtype=np.intp)
    wrong = np.zeros((n_rows, len(columns)), dtype=np.bool_)
    order = capable[np.argsort(rng.random((len(rows), len(capable))), axis=1)]
    for drawn in order.T:
        lacking = wrong[rows].sum(axis=1) < n_cells
        for j in np.unique(drawn[lacking]):
            chosen = rows[lacking & (drawn == j)]
            wrong[chosen, j] = opened[j].spoil(kind, chosen, rng)
    spoilt = {columns[j].name: opened[j].arrow() for j in np.flatnonzero(wrong.any(axis=0)).tolist()}

    def read(index: int, name: str, mixed_as_text: bool) -> Any:
        return spoilt[name] if name in spoilt else table.column(name, mixed_as_text=mixed_as_text)

    return Injected(replace(table, _read=read), wrong)
