"""Arrow values as plain numbers and as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._table.table import LONG_INTEGER, has_exact_floats, nan_as_null

Family = Literal["number", "text", "boolean", "datetime", "time", "duration", "null", "other"]
Category = str | int | float | bool

INFINITE = 1e150  # squares of smaller numbers still fit a float64
MISSING, UNSEEN = -1, -2
SECONDS_PER_DAY = 86400
TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

_EXACT_DIGITS = 15  # that every float64 keeps
_TYPE_WITH_ZONE = re.compile(r"timestamp\[(s|ms|us|ns), tz=([A-Za-z0-9_+\-:/]{1,64})\]")
_DECIMAL = re.compile(r"decimal(32|64|128|256)\((\d{1,2}), (-?\d{1,2})\)")


def family(arrow_type: pa.DataType) -> Family:
    """Which kind of values a plain Arrow type holds."""
    types = pa.types
    if types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_decimal(arrow_type):
        return "number"
    if types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_string_view(arrow_type):
        return "text"
    if types.is_boolean(arrow_type):
        return "boolean"
    if types.is_timestamp(arrow_type) or types.is_date(arrow_type):
        return "datetime"
    if types.is_time(arrow_type):
        return "time"
    if types.is_duration(arrow_type):
        return "duration"
    return "null" if types.is_null(arrow_type) else "other"


def value_type(arrow_type: pa.DataType) -> pa.DataType:
    """The type of the values behind a dictionary."""
    return arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column without dictionary or view encoding."""
    if pa.types.is_dictionary(column.type):
        column = nan_as_null(column.cast(column.type.value_type))
    return column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column


def parse_arrow_type(text: str) -> pa.DataType:
    """The Arrow type that `str` turned into this text; ValueError when there is none."""
    if match := _TYPE_WITH_ZONE.fullmatch(text):
        return pa.timestamp(match[1], tz=match[2])
    if match := _DECIMAL.fullmatch(text):
        return getattr(pa, f"decimal{match[1]}")(int(match[2]), int(match[3]))
    return pa.type_for_alias(text)


def read_numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """A plain column of numbers, truth values, moments, times or durations as float64; null becomes NaN."""
    found = family(column.type)
    if found == "null" or column.null_count == len(column):
        return np.full(len(column), np.nan)
    if found in ("number", "boolean"):
        if pa.types.is_decimal(column.type):  # by way of text, which rounds correctly whatever the scale
            column = column.cast(pa.large_string())
        if column.type != pa.float64():
            column = column.cast(pa.float64(), safe=False)
        numbers: NDArray[np.float64] = (column.fill_null(np.nan) if column.null_count else column).to_numpy()
    else:
        numbers = _seconds(column)
    beyond = np.abs(numbers) > INFINITE
    return np.where(beyond, np.copysign(np.inf, numbers), numbers) if beyond.any() else numbers


def count_merged(column: pa.ChunkedArray) -> int:
    """How many values of a plain column of numbers, or of text read as such, share their float64 with another value.

    Integers do from 2**53 on, decimals from 16 digits on. Text counts by its integers of at least 16 digits."""
    is_text, is_decimal = family(column.type) == "text", pa.types.is_decimal(column.type)
    if is_text:
        column = column.filter(pc.match_substring_regex(column, LONG_INTEGER))
    elif is_decimal:
        if column.type.precision <= _EXACT_DIGITS:
            return 0
    elif not pa.types.is_integer(column.type) or has_exact_floats(column):
        return 0
    counted = column.drop_null().value_counts()
    values = counted.field("values")
    numbers = read_numbers(pa.chunked_array([values.cast(pa.float64()) if is_text else values]))
    _, group, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    is_merged = (sizes[group] > 1) & np.isfinite(numbers)
    return int(counted.field("counts").to_numpy()[is_merged].sum())


def _seconds(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Moments, times and durations in seconds, rounded once, so that every unit gives the same bits."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    per_second = TICKS_PER_SECOND[column.type.unit]
    ticks = column.cast(pa.int32() if pa.types.is_time32(column.type) else pa.int64()).cast(pa.int64())
    whole, rest = np.divmod(ticks.fill_null(0).to_numpy(), per_second)
    seconds: NDArray[np.float64] = whole.astype(np.float64) + rest / per_second
    if column.null_count:
        seconds[column.is_null().to_numpy()] = np.nan
    return seconds


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values as Python writes them, which is also how they read in a column of mixed objects."""
    found = family(column.type)
    if found in ("number", "boolean"):
        return by_distinct(column, str, pa.large_string())
    if found == "duration":
        return as_text(pa.chunked_array([pa.array(_seconds(column), from_pandas=True)]))
    if found == "datetime" and pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return pc.replace_substring_regex(column.cast(pa.large_string()), r"\.0+$", "")


def plain_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A plain column as text: text as it is, other values by `as_text`."""
    return column if family(column.type) == "text" else as_text(column)


def plain_text_in_utc(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same, moments with a time zone in UTC: one text per moment, whatever the name of its zone."""
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    return plain_text(column)


def by_distinct(column: pa.ChunkedArray, read: Callable[[Any], Any], arrow_type: pa.DataType) -> pa.ChunkedArray:
    """`read` of each value, called once per distinct value and chunk; null for null."""
    parts = []
    for chunk in column.chunks:
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        values = [None if value is None else read(value) for value in encoded.dictionary.to_pylist()]
        parts.append(pa.array(values, arrow_type).take(encoded.indices))
    return pa.chunked_array(parts, arrow_type)
