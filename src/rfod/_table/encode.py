"""Columns as numbers and category codes, and back again to values and to text."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._table.columns import NATURAL_FAMILIES, Column
from rfod._table.schema import READABLE_FAMILIES
from rfod._table.table import Table
from rfod._table.values import (
    INFINITE,
    MISSING,
    SECONDS_PER_DAY,
    TICKS_PER_SECOND,
    UNSEEN,
    as_category,
    category_values,
    family,
    map_distinct,
    parse_arrow_type,
    plain,
    read_numbers,
    value_type,
)
from rfod.exceptions import SchemaError

__all__ = ["INFINITE", "MISSING", "UNSEEN", "cell_text", "decode_column", "encode_column", "one_line", "value_text"]

_LONGEST_TEXT = 60
_FIRST_DAY, _LAST_DAY = -719162, 2932896  # 0001-01-01 and 9999-12-31, the dates that every library can show
_LONGEST_SECONDS = 8.6e13  # of Python's timedelta


def encode_column(table: Table, column: Column) -> NDArray[np.float64] | NDArray[np.int32]:
    """The values of a fitted column in a table, in the fitted unit or codes.

    Numeric, datetime, time, duration: float64 (seconds since 1970 UTC, since midnight, of length); NaN is missing, and
    numbers beyond INFINITE are infinite. May be a read-only view of the table. Categorical, boolean: int32 codes,
    MISSING or UNSEEN. `SchemaError` when the column arrives as another kind of values than it was fitted on.
    """
    arrived = table.column(column.name, mixed_as_text=column.from_text)
    if arrived.null_count == len(arrived):
        return np.full(len(arrived), MISSING, np.int32) if column.is_categorical else np.full(len(arrived), np.nan)
    _check_family(arrived, column)
    if not column.is_categorical:
        return read_numbers(plain(arrived), column.kind)
    values = arrived
    if not (pa.types.is_dictionary(arrived.type) and family(arrived.type.value_type) == "text"):
        values = plain(arrived)
        if column.kind == "categorical":
            values = category_values(values, column.from_text)
    to_category = as_category(column.kind, column.from_text)
    codes = {category: code for code, category in enumerate(column.categories)}

    def code_of(value: Any) -> int:
        category = to_category(value)
        return MISSING if category is None else codes.get(category, UNSEEN)

    encoded: NDArray[np.int32] = map_distinct(values, code_of, np.int32, MISSING)
    return encoded


def _check_family(arrived: pa.ChunkedArray, column: Column) -> None:
    """Raise `SchemaError` when the values are of another kind than the fitted ones."""
    arrived_type = value_type(arrived.type)
    found = family(arrived_type)
    fitted_type = parse_arrow_type(column.arrow_type)
    if column.from_text:
        accepted = READABLE_FAMILIES[column.kind]
    elif column.kind == "categorical":
        accepted = ("text",) if family(fitted_type) == "text" else ("number", "boolean")
    else:
        accepted = NATURAL_FAMILIES[column.kind]
    if found not in accepted:
        examples = list(plain(arrived.drop_null().slice(0, 2)))
        raise SchemaError(
            f"Column {column.name!r} was fitted as {column.kind} ({column.arrow_type}), but arrives as {found} "
            f"({arrived_type}), for example {' and '.join(one_line(str(example)) for example in examples)}.\n"
            f"Hint: convert it to {column.arrow_type} first, or fit again with column_types={{{column.name!r}: ...}}."
        )
    if column.kind == "datetime" and not column.from_text:
        fitted_zone, zone = getattr(fitted_type, "tz", None), getattr(arrived_type, "tz", None)
        if (fitted_zone is None) != (zone is None):
            raise SchemaError(
                f"Column {column.name!r} was fitted {_with_zone(fitted_zone)} ({column.arrow_type}), but arrives "
                f"{_with_zone(zone)} ({arrived_type}).\n"
                "Hint: give it a time zone or take it away first, for example with dt.tz_localize (pandas) or "
                "dt.replace_time_zone (polars)."
            )


def _with_zone(zone: str | None) -> str:
    return "without a time zone" if zone is None else "with a time zone"


def decode_column(column: Column, values: NDArray[Any]) -> pa.Array:
    """Encoded values as Arrow: float64, dates in the fitted type, categories; NaN and negative codes are null."""
    if column.is_categorical:
        codes = pa.array(values.astype(np.int64), mask=values < 0)
        return pa.array(column.categories, parse_arrow_type(column.arrow_type)).take(codes)
    missing = np.isnan(values)
    if column.kind == "numeric":
        return pa.array(values, pa.float64(), mask=missing)
    arrow_type = parse_arrow_type(column.arrow_type)
    ticks = _ticks(np.where(missing, 0.0, values), arrow_type)
    storage = pa.int32() if arrow_type.bit_width == 32 else pa.int64()
    return pa.array(ticks, mask=missing).cast(storage).cast(arrow_type)


def _ticks(seconds: NDArray[np.float64], arrow_type: pa.DataType) -> NDArray[np.int64]:
    """Seconds in whole units of the type, clipped to what the type and every library can hold."""
    if pa.types.is_date(arrow_type):
        days = np.clip(np.rint(seconds / SECONDS_PER_DAY), _FIRST_DAY, _LAST_DAY).astype(np.int64)
        unit = 1 if pa.types.is_date32(arrow_type) else SECONDS_PER_DAY * 1000
        return np.asarray(days * unit)
    per_second = TICKS_PER_SECOND[arrow_type.unit]
    step = 1
    low, high = -min(9e18 / per_second, _LONGEST_SECONDS), min(9e18 / per_second, _LONGEST_SECONDS)
    if not pa.types.is_duration(arrow_type):
        step = max(1, per_second // 10**6)  # Python's clock stops at microseconds, and a float64 date soon after
        is_time = pa.types.is_time(arrow_type)
        low = 0 if is_time else max(low, _FIRST_DAY * SECONDS_PER_DAY)
        high = SECONDS_PER_DAY - 1e-6 if is_time else min(high, (_LAST_DAY + 1) * SECONDS_PER_DAY - 1)
    clipped = np.clip(seconds, low, high)
    whole = np.floor(clipped)
    rest = np.rint((clipped - whole) * (per_second // step)).astype(np.int64)
    ticks = whole.astype(np.int64) * per_second + rest * step
    last = SECONDS_PER_DAY * per_second - step if pa.types.is_time(arrow_type) else 2**63 - 1
    return np.asarray(np.minimum(ticks, last))


def cell_text(column: Column, table: Table, rows: NDArray[np.intp]) -> list[str]:
    """The observed values of some rows as a person reads them; "missing" where there is none."""
    arrived = table.column(column.name, mixed_as_text=column.from_text)
    return _texts(plain(arrived.take(pa.array(rows))))


def value_text(column: Column, values: NDArray[Any]) -> list[str]:
    """Encoded values as a person reads them; numbers of integer columns with at most one decimal."""
    if column.kind == "numeric":
        decimals = 1 if pa.types.is_integer(parse_arrow_type(column.arrow_type)) else 15
        return [_number_text(value, decimals) for value in values.tolist()]
    return _texts(pa.chunked_array([decode_column(column, np.asarray(values))]))


def _texts(values: pa.ChunkedArray) -> list[str]:
    """Each value of a plain column as text."""
    found = family(values.type)
    if found == "datetime":
        return _moment_texts(values)
    if found in ("time", "duration"):
        return [_clock_text(seconds) for seconds in read_numbers(values, found).tolist()]
    return ["missing" if value is None else one_line(_value_text(value)) for value in values.to_pylist()]


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number_text(value, 15)
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def one_line(text: str) -> str:
    """Text on one line: control characters escaped, cut with an ellipsis."""
    cut = text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)


def _number_text(value: float, most_decimals: int) -> str:
    """Six significant digits without trailing zeros; an exponent only for very small and very large numbers."""
    if math.isnan(value):
        return "missing"
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
    seconds = read_numbers(values, "datetime")
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
