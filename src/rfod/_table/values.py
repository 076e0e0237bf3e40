"""Arrow values as plain numbers and categories, and text read as numbers, dates, times and durations."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._table.table import has_exact_floats, nan_as_null
from rfod.params import Kind

Family = Literal["number", "text", "boolean", "datetime", "time", "duration", "null", "other"]
Category = str | int | float | bool

INFINITE = 1e150  # squares of smaller numbers still fit a float64
MISSING, UNSEEN = -1, -2
SECONDS_PER_DAY = 86400
TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

_EXACT_DIGITS = 15  # that every float64 keeps
_LONG_INTEGER = r"^\s*[+-]?[0-9]{16,}\s*$"
_TYPE_WITH_ZONE = re.compile(r"timestamp\[(s|ms|us|ns), tz=([A-Za-z0-9_+\-:/]{1,64})\]")
_DECIMAL = re.compile(r"decimal(32|64|128|256)\((\d{1,2}), (-?\d{1,2})\)")
_CLOCK = re.compile(r"([+-]?)(?:(\d+) days?,? )?(\d+):([0-5]?\d)(?::([0-5]?\d(?:\.\d*)?))?")
_TRUTH = dict.fromkeys(("true", "yes", "y", "t", "1"), True) | dict.fromkeys(("false", "no", "n", "f", "0"), False)


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


def read_numbers(column: pa.ChunkedArray, kind: Kind) -> NDArray[np.float64]:
    """A plain column as float64 in the unit of its kind; null and text that does not read as the kind become NaN."""
    found = family(column.type)
    if found == "null" or column.null_count == len(column):
        return np.full(len(column), np.nan)
    if found == "text":
        reader = _READERS[kind]
        numbers = map_distinct(column, lambda text: _read(reader, text), np.float64, np.nan)
    elif found in ("number", "boolean"):
        if pa.types.is_decimal(column.type):  # by way of text, which rounds correctly whatever the scale
            column = column.cast(pa.large_string())
        if column.type != pa.float64():
            column = column.cast(pa.float64(), safe=False)
        numbers = (column.fill_null(np.nan) if column.null_count else column).to_numpy()
    else:
        numbers = _seconds(column)
    beyond = np.abs(numbers) > INFINITE
    return np.where(beyond, np.copysign(np.inf, numbers), numbers) if beyond.any() else numbers


def count_merged(column: pa.ChunkedArray) -> int:
    """How many values of a plain column of numbers, or of text read as such, share their float64 with another value.

    Integers do from 2**53 on, decimals from 16 digits on. Text counts by its integers of at least 16 digits."""
    found = family(column.type)
    if pa.types.is_integer(column.type):
        if has_exact_floats(column):
            return 0
    elif pa.types.is_decimal(column.type):
        if column.type.precision <= _EXACT_DIGITS:
            return 0
    elif found == "text":
        column = column.filter(pc.match_substring_regex(column, _LONG_INTEGER))
    else:
        return 0
    counted = column.drop_null().value_counts()
    numbers = read_numbers(pa.chunked_array([counted.field("values")]), "numeric")
    _, group, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    is_merged = (sizes[group] > 1) & np.isfinite(numbers)
    return int(counted.field("counts").to_numpy()[is_merged].sum())


def _seconds(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Moments, times and durations in seconds, rounded once, so that every unit gives the same bits."""
    if pa.types.is_date32(column.type):
        per_second, ticks = 1, column.cast(pa.int32()).cast(pa.int64())
        ticks = pc.multiply(ticks, SECONDS_PER_DAY)
    elif pa.types.is_date64(column.type):
        per_second, ticks = 1000, column.cast(pa.int64())
    else:
        per_second = TICKS_PER_SECOND[column.type.unit]
        ticks = column.cast(pa.int32() if pa.types.is_time32(column.type) else pa.int64()).cast(pa.int64())
    missing = column.is_null().to_numpy() if column.null_count else None
    whole, rest = np.divmod(ticks.fill_null(0).to_numpy(), per_second)
    seconds: NDArray[np.float64] = whole.astype(np.float64) + rest / per_second
    if missing is not None:
        seconds[missing] = np.nan
    return seconds


def category_values(column: pa.ChunkedArray, from_text: bool) -> pa.ChunkedArray:
    """A plain column as the values that categories are made of: text, integers, floats or booleans."""
    if from_text and family(column.type) not in ("text", "null"):
        return _as_text(column)
    if pa.types.is_decimal(column.type):
        return column.cast(pa.large_string()).cast(pa.float64())
    return column


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values as Python writes them, which is also how they read in a column of mixed objects."""
    found = family(column.type)
    if found in ("number", "boolean"):
        parts = []
        for chunk in column.chunks:
            encoded = chunk.dictionary_encode()
            texts = pa.array(map(str, encoded.dictionary.to_pylist()), pa.large_string())
            parts.append(texts.take(encoded.indices))
        return pa.chunked_array(parts, pa.large_string())
    if found == "duration":
        return _as_text(pa.chunked_array([pa.array(_seconds(column), from_pandas=True)]))
    if found == "datetime" and pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return pc.replace_substring_regex(column.cast(pa.large_string()), r"\.0+$", "")


def as_category(kind: Kind, from_text: bool) -> Callable[[Any], Category | None]:
    """From a value of a column to its category; None for what counts as missing."""
    if kind == "boolean":
        return _truth_or_missing if from_text else _truth_or_itself
    return _finite


def _truth_or_missing(value: Any) -> bool | None:
    if isinstance(value, str):
        return _TRUTH.get(value.strip().lower())
    return bool(value) if value in (0, 1) else None


def _truth_or_itself(value: Any) -> Category:
    return bool(value) if value in (0, 1) else value


def _finite(value: Any) -> Category | None:
    return None if isinstance(value, float) and math.isinf(value) else value


def map_distinct(
    column: pa.ChunkedArray, lookup: Callable[[Any], float], dtype: type[np.generic], missing: float
) -> NDArray[Any]:
    """`lookup` of each value, called once per distinct value and chunk; `missing` for null."""
    parts = [np.empty(0, dtype)]
    for chunk in column.chunks:
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        mapped = np.array([lookup(value) for value in encoded.dictionary.to_pylist()] + [missing], dtype)
        parts.append(mapped[encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy()])
    return np.concatenate(parts)


def _read(reader: Callable[[str], float], text: str) -> float:
    try:
        return reader(text.strip())
    except (ValueError, OverflowError):
        return math.nan


def _read_number(text: str) -> float:
    if "_" in text:  # Python's own digit separator is no number in a table
        raise ValueError(text)
    return float(text)


def _read_datetime(text: str) -> float:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    since = moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return (since.days * SECONDS_PER_DAY + since.seconds) + since.microseconds / 10**6


def _read_time(text: str) -> float:
    time = dt.time.fromisoformat(text)
    return (time.hour * 3600 + time.minute * 60 + time.second) + time.microsecond / 10**6


def _read_duration(text: str) -> float:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return _read_number(text)
    sign, days, hours, minutes, seconds = match.groups()
    length = int(days or 0) * SECONDS_PER_DAY + int(hours) * 3600 + int(minutes) * 60 + float(seconds or 0)
    return -length if sign == "-" else length


_READERS: dict[Kind, Callable[[str], float]] = {
    "numeric": _read_number,
    "datetime": _read_datetime,
    "time": _read_time,
    "duration": _read_duration,
}


def reads_as(texts: list[str]) -> Kind | None:
    """The kind that every one of these texts can be read as, numbers before dates."""
    for kind in ("numeric", "datetime"):
        if texts and not any(math.isnan(_read(_READERS[kind], text)) for text in texts):
            return kind
    return None
