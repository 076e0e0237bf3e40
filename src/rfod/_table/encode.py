"""Columns as numbers and category codes, and back again to values and to the text that a person reads."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._table.columns import Column
from rfod._table.kinds import kind_of
from rfod._table.kinds.base import trimmed
from rfod._table.kinds.categorical import Categorical
from rfod._table.table import Table
from rfod._table.values import (
    INFINITE,
    MISSING,
    SECONDS_PER_DAY,
    UNSEEN,
    Category,
    family,
    parse_arrow_type,
    plain,
    read_numbers,
    value_type,
)
from rfod.exceptions import SchemaError

_LONGEST_TEXT = 60


__all__ = ["INFINITE", "MISSING", "UNSEEN", "cell_text", "decode_column", "encode_column", "one_line", "value_text"]


def texts_of(values: pa.ChunkedArray, most_decimals: int = 15) -> list[str]:
    """Each value of a plain column as text; "missing" for null."""
    found = family(values.type)
    if found == "datetime":
        return _moment_texts(values)
    if found in ("time", "duration"):
        return [_clock_text(seconds) for seconds in read_numbers(values).tolist()]
    return ["missing" if value is None else one_line(_value_text(value, most_decimals)) for value in values.to_pylist()]


def one_line(text: str) -> str:
    """Text on one line: control characters escaped, cut with an ellipsis."""
    cut = text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)


def _value_text(value: Any, most_decimals: int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number_text(value, most_decimals)
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _number_text(value: float, most_decimals: int) -> str:
    """Six significant digits without trailing zeros; an exponent only for very small and very large numbers."""
    if math.isinf(value) or (value != 0 and not 1e-5 <= abs(value) < 1e15):
        return f"{value:.6g}"
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:.{min(most_decimals, max(0, 5 - magnitude))}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _moment_texts(values: pa.ChunkedArray) -> list[str]:
    """ISO dates, with the time only where it is not midnight, and the name of the time zone."""
    zone = getattr(values.type, "tz", None)
    if zone is not None:
        try:
            values = pc.local_timestamp(values)
        except pa.ArrowException:  # a zone this machine does not know
            zone = "UTC"
    seconds = read_numbers(values)
    present = ~np.isnan(seconds)
    moments = np.where(present, np.rint(seconds), 0).astype(np.int64).astype("datetime64[s]")
    texts = []
    for moment, is_present in zip(np.datetime_as_string(moments).tolist(), present.tolist(), strict=True):
        date, _, clock = moment.partition("T")
        clock = "" if clock == "00:00:00" else " " + clock.removesuffix(":00")
        texts.append(f"{date}{clock}{f' {zone}' if zone and clock else ''}" if is_present else "missing")
    return texts


def _clock_text(seconds: float) -> str:
    """Hours, minutes and seconds, with days before and fractions behind where there are some."""
    if math.isnan(seconds):
        return "missing"
    whole = math.floor(abs(seconds))
    days, whole = divmod(whole, SECONDS_PER_DAY)
    fraction = f"{abs(seconds) % 1:.3f}"[1:].rstrip("0").rstrip(".") if abs(seconds) % 1 < 0.9995 else ""
    clock = f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}{fraction}"
    return f"{'-' if seconds < 0 else ''}{f'{days} d ' if days else ''}{clock}"


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
