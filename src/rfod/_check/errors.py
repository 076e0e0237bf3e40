"""Planted errors: which kinds a column can have, the values they make, and a copy of a table that holds them."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._table.columns import Column
from rfod._table.encode import categories_of, decode_column, encode_column
from rfod._table.table import Table
from rfod._table.values import SECONDS_PER_DAY, TICKS_PER_SECOND, family, parse_arrow_type
from rfod.params import ERROR_KINDS, ErrorKind

Positions = NDArray[np.intp]
Mask = NDArray[np.bool_]
_TRIES = 8  # of a swap or a typo that may leave a value as it is
_CLOCK_STEP = 1e-6  # seconds; finer than any library's own clock type


class Numbers:
    """Numbers, and moments, times and durations in seconds, to be changed in place. Whole numbers stay whole, days stay
    days."""

    def __init__(self, table: Table, column: Column) -> None:
        self._column = column
        self._values = np.array(encode_column(table, column), dtype=np.float64)
        self._finite = self._values[np.isfinite(self._values)]
        self._step = _step(column, self._finite)
        self._spread = _spread(self._finite)

    def can_have(self, kind: ErrorKind) -> bool:
        """Dates and times have neither a sign nor ten times their value."""
        if kind in ("factor", "sign"):
            return self._column.kind in ("numeric", "duration")
        return kind in ("swap", "shift", "blank") and len(self._finite) > 0

    def spoil(self, kind: ErrorKind, rows: Positions, rng: np.random.Generator) -> Mask:
        """Put the error into the cells of these rows; which of them now hold another value."""
        old = self._values[rows]
        new = np.where(np.isfinite(old), self._wrong(kind, old, rng), old)
        self._values[rows] = new
        return np.asarray((new != old) & np.isfinite(old))

    def _wrong(self, kind: ErrorKind, old: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        if kind == "swap":
            donors = rng.choice(self._finite, (len(old), _TRIES))
            first = np.argmax(donors != old[:, None], axis=1)
            return np.asarray(donors[np.arange(len(old)), first])
        if kind == "factor":
            return old * 10
        if kind == "sign":
            return -old
        if kind == "blank":
            return np.full(len(old), np.nan)
        distance = rng.uniform(1, 3, len(old)) * self._spread
        if self._step:
            distance = np.maximum(np.rint(distance / self._step), 1) * self._step
        moved = old + np.where(rng.random(len(old)) < 0.5, -distance, distance)
        return np.asarray(moved % SECONDS_PER_DAY) if self._column.kind == "time" else moved

    def arrow(self) -> pa.Array:
        """As the column gives values back: float64 for numbers, dates in their own type."""
        return decode_column(self._column, self._values)


def _step(column: Column, finite: NDArray[np.float64]) -> float:
    """What values of the column are multiples of; 0 for real numbers."""
    arrow_type = parse_arrow_type(column.arrow_type)
    if column.kind == "numeric":
        return 1.0 if len(finite) and bool(np.all(finite == np.rint(finite))) else 0.0
    if pa.types.is_date(arrow_type):
        return float(SECONDS_PER_DAY)
    return max(1.0 / TICKS_PER_SECOND[arrow_type.unit], _CLOCK_STEP)


def _spread(finite: NDArray[np.float64]) -> float:
    """Half the distance between the 16 and 84 % quantiles, as one standard deviation of a bell curve is."""
    if not len(finite):
        return 0.0
    low, high = np.quantile(finite, [0.16, 0.84])
    spread = float(high - low) / 2 or float(np.std(finite)) or abs(float(finite[0]))
    return spread if 0 < spread < np.inf else 1.0


class Categories:
    """Text, numbers or booleans that are distinguished and not measured, to be changed in place."""

    def __init__(self, table: Table, column: Column) -> None:
        self._column = column
        self._values: list[Any] = list(categories_of(table, column))
        self._present = [value for value in self._values if value is not None]
        self._is_text = family(parse_arrow_type(column.arrow_type)) == "text"

    def can_have(self, kind: ErrorKind) -> bool:
        """Only text can be mistyped; another category needs a second one."""
        if not self._present:
            return False
        if kind == "category":
            return len(self._column.categories) > 1
        return kind in ("swap", "blank") or (kind == "typo" and self._is_text)

    def spoil(self, kind: ErrorKind, rows: Positions, rng: np.random.Generator) -> Mask:
        """See `Numbers.spoil`."""
        changed = np.zeros(len(rows), dtype=np.bool_)
        for place, row in enumerate(rows.tolist()):
            old = self._values[row]
            if old is not None:
                self._values[row] = self._wrong(kind, old, rng)
                changed[place] = self._values[row] != old
        return changed

    def _wrong(self, kind: ErrorKind, old: Any, rng: np.random.Generator) -> Any:
        if kind == "blank":
            return None
        for _ in range(_TRIES):
            if kind == "swap":
                new = self._present[rng.integers(len(self._present))]
            elif kind == "category":
                new = self._column.categories[rng.integers(len(self._column.categories))]
            else:
                new = _mistyped(old, rng)
            if new != old:
                return new
        return old

    def arrow(self) -> pa.Array:
        """Plain values: an enumeration has no place for a typo."""
        if self._is_text:
            return pa.array(self._values, pa.large_string())
        if not set(map(type, self._present)) <= {bool}:  # a 2 among booleans makes numbers of them
            return pa.array([int(value) if isinstance(value, bool) else value for value in self._values])
        return pa.array(self._values, pa.bool_())


def _mistyped(text: str, rng: np.random.Generator) -> str:
    """One slip: two letters exchanged, one left out, doubled or mistaken, another case, a blank behind."""
    if not text:
        return text
    slip = int(rng.integers(6))
    at = int(rng.integers(len(text)))
    before, letter, after = text[:at], text[at], text[at + 1 :]
    if slip == 0:
        return before + after[:1] + letter + after[1:]
    if slip == 1:
        return before + after if len(text) > 1 else text
    if slip == 2:
        return before + letter * 2 + after
    if slip == 3:
        near = string.digits if letter.isdigit() else string.ascii_lowercase
        return before + near[int(rng.integers(len(near)))] + after
    return text.swapcase() if slip == 4 else text + " "


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
    opened = [Categories(table, column) if column.is_categorical else Numbers(table, column) for column in columns]
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
