"""New values put into cells of a table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rfod._decisions.texts import cell_texts
from rfod._table.kinds import NATURAL_KIND, kind_of
from rfod._table.kinds.base import ColumnFormat, trimmed
from rfod._table.table import Table
from rfod._table.values import family, plain

Changes = Mapping[int, str | None]
"""New text of cells by position of their row, None for a gap."""


def edited(table: Table, name: str, changes: Changes) -> tuple[Table, dict[int, str]]:
    """The table with new values in cells of a column, and the reason for each that does not read as the column."""
    column = plain(table.column(name, mixed_as_text=True))
    rows = sorted(changes)
    wanted = pa.chunked_array([pa.array([changes[row] for row in rows], pa.large_string())])
    read = _read(table, name, wanted, column.type)
    odd = np.flatnonzero(pc.and_(read.is_null(), wanted.is_valid()).to_numpy())
    refused = {}
    for place in odd.tolist():
        held = table.readings.get(name) if table.readings else None
        noun = kind_of(held.kind if held else NATURAL_KIND.get(family(column.type), "categorical")).noun
        refused[rows[place]] = f"{changes[rows[place]]!r} is no {noun}, as the column has them"
    kept = np.array([row not in refused for row in rows], dtype=np.bool_)
    picked = np.array(rows, dtype=np.int64)[kept]
    values = read.filter(pa.array(kept))
    written = None if name not in table.texts else _put(table.texts[name], picked, wanted.filter(pa.array(kept)))
    shown = cell_texts(table, name, picked)
    before = dict(zip(picked.tolist(), shown, strict=True))
    return table.with_column(name, _put(column, picked, values), written, before), refused


def _read(table: Table, name: str, texts: pa.ChunkedArray, held: pa.DataType) -> pa.ChunkedArray:
    """Texts as values of a column; null where they are none."""
    if family(held) == "text":
        return texts.cast(held)
    if family(held) == "null":
        return pa.chunked_array([pa.nulls(len(texts), held)])
    reading = table.readings.get(name) if table.readings else None
    if reading is None:
        reading = ColumnFormat(NATURAL_KIND.get(family(held), "numeric"), arrow_type=str(held))
    read = kind_of(reading.kind).read(trimmed(texts), reading)
    try:
        return read.cast(held)
    except pa.ArrowException:
        return pa.chunked_array([[_cast(value, held) for value in read]], held)


def _cast(value: pa.Scalar, held: pa.DataType) -> object:
    """One value in another type; None where it does not fit."""
    try:
        return value.cast(held).as_py()
    except (pa.ArrowException, ValueError):
        return None


def _put(column: pa.ChunkedArray, rows: np.ndarray, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with other values in some rows."""
    source = np.arange(len(column))
    source[rows] = len(column) + np.arange(len(rows))
    together = pa.chunked_array([*column.chunks, *values.cast(column.type).chunks], column.type)
    return together.take(pa.array(source))
