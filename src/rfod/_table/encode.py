"""Columns as numbers and category codes, and back again to values and to text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._table.columns import Column
from rfod._table.kinds import kind_of
from rfod._table.kinds.base import trimmed
from rfod._table.kinds.categorical import Categorical
from rfod._table.kinds.wording import one_line, texts_of
from rfod._table.table import Table
from rfod._table.values import INFINITE, MISSING, UNSEEN, Category, family, parse_arrow_type, plain, value_type
from rfod.exceptions import SchemaError

__all__ = ["INFINITE", "MISSING", "UNSEEN", "cell_text", "decode_column", "encode_column", "one_line", "value_text"]


def encode_column(table: Table, column: Column) -> NDArray[np.float64] | NDArray[np.int32]:
    """The values of a fitted column in a table, in the fitted unit or codes.

    Numeric, datetime, time, duration: float64 (seconds since 1970 UTC, since midnight, of length); NaN is missing, and
    numbers beyond INFINITE are infinite. May be a read-only view of the table. Categorical kinds: int32 codes, MISSING
    or UNSEEN. `SchemaError` when the column arrives as another kind of values than it was fitted on.
    """
    arrived = _arrived(table, column)
    if arrived.null_count == len(arrived):
        return np.full(len(arrived), MISSING, np.int32) if column.is_categorical else np.full(len(arrived), np.nan)
    return kind_of(column.kind).encode(arrived, column)


def _arrived(table: Table, column: Column) -> pa.ChunkedArray:
    """The column; `SchemaError` when its values are of another kind than the fitted ones."""
    arrived = table.column(column.name, mixed_as_text=column.from_text)
    if arrived.null_count == len(arrived):
        return arrived
    kind = kind_of(column.kind)
    arrived_type, fitted_type = value_type(arrived.type), parse_arrow_type(column.arrow_type)
    found, accepted = family(arrived_type), kind.readable if column.from_text else kind.natural
    if column.kind == "categorical" and not column.from_text:
        accepted = ("text",) if family(fitted_type) == "text" else ("number", "boolean")
    if found not in accepted:
        examples = list(plain(arrived.drop_null().slice(0, 2)))
        raise SchemaError(
            f"Column {column.name!r} was fitted as {column.kind} ({column.arrow_type}), but arrives as {found} "
            f"({arrived_type}), for example {' and '.join(one_line(str(example)) for example in examples)}.\n"
            f"Hint: convert it to {column.arrow_type} first, or fit again with column_types={{{column.name!r}: ...}}."
        )
    fitted_zone, zone = getattr(fitted_type, "tz", None), getattr(arrived_type, "tz", None)
    if column.kind == "datetime" and not column.from_text and (fitted_zone is None) != (zone is None):
        raise SchemaError(
            f"Column {column.name!r} was fitted {'with' if fitted_zone else 'without'} a time zone "
            f"({column.arrow_type}), but arrives {'with' if zone else 'without'} ({arrived_type}).\n"
            "Hint: give it a time zone or take it away first, for example with dt.tz_localize (pandas) or "
            "dt.replace_time_zone (polars)."
        )
    return arrived


def categories_of(table: Table, column: Column) -> list[Category | None]:
    """The category of each value of a categorical column, known or not; None for missing."""
    kind = kind_of(column.kind)
    assert isinstance(kind, Categorical)
    values = kind.values(plain(_arrived(table, column)), column.from_text)
    return [None if value is None else kind.category(value, column.from_text) for value in values.to_pylist()]


def unread_cells(table: Table, column: Column) -> NDArray[np.bool_]:
    """Which cells hold text that does not parse, and so count as missing; `cell_text` shows it."""
    written = table.written(column.name, mixed_as_text=column.from_text)
    if family(value_type(written.type)) != "text" or not kind_of(column.kind).reads_text:
        return np.zeros(len(written), dtype=np.bool_)
    encoded = encode_column(table, column)
    missing = encoded == MISSING if column.is_categorical else np.isnan(encoded)
    return np.asarray(missing & trimmed(written).is_valid().to_numpy())


def decode_column(column: Column, values: NDArray[Any]) -> pa.Array:
    """Encoded values as Arrow: float64, dates in the fitted type, categories; NaN and negative codes are null."""
    return kind_of(column.kind).decode(values, parse_arrow_type(column.arrow_type), column.categories)


def cell_text(column: Column, table: Table, rows: NDArray[np.intp]) -> list[str]:
    """The observed values of some rows as a person reads them, text as it was written; "missing" where there is
    none."""
    written = plain(table.written(column.name, mixed_as_text=column.from_text).take(pa.array(rows)))
    is_parsed = family(written.type) == "text" and kind_of(column.kind).reads_text
    return texts_of(trimmed(written) if is_parsed else written)


def value_text(column: Column, values: NDArray[Any]) -> list[str]:
    """Encoded values as a person reads them; numbers of integer columns with at most one decimal."""
    most_decimals = 1 if pa.types.is_integer(parse_arrow_type(column.arrow_type)) else 15
    return texts_of(pa.chunked_array([decode_column(column, np.asarray(values))]), most_decimals)
