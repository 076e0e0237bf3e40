"""Columns of numpy arrays and of Python objects as Arrow."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod.exceptions import SchemaError, counted


def refuse_complex(dtype: np.dtype[Any], name: str | None = None) -> None:
    if dtype.kind == "c":
        where = f" (column {name!r})" if name else ""
        raise SchemaError(f"Complex data not supported{where}.\nHint: pass real and imaginary parts as two columns.")


def arrow_from_array(values: NDArray[Any], name: str, mixed_as_text: bool) -> Any:
    """One column of an array as Arrow; missing values of every library become null."""
    refuse_complex(values.dtype, name)
    if isinstance(values, np.ma.MaskedArray):
        masked, values = np.ma.getmaskarray(values), np.ma.getdata(values).astype(object)
        values[masked] = None
    kind = values.dtype.kind
    if kind == "f" and values.dtype.itemsize > 8:
        values = values.astype(np.float64)
    elif kind in "mM" and np.datetime_data(values.dtype)[0] not in ("s", "ms", "us", "ns"):
        values = values.astype(f"{kind}8[s]")
    elif kind == "T":
        values = values.astype(object)
    if values.dtype.kind == "O":
        return arrow_from_objects(values, name, mixed_as_text)
    return pa.array(np.ascontiguousarray(values), from_pandas=True)


# in this order, because bool is an int and datetime is a date
_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("text", (str,)),
    ("boolean", (bool, np.bool_)),
    ("number", (int, float, Decimal, np.integer, np.floating)),
    ("datetime", (dt.datetime, dt.date, np.datetime64)),
    ("time", (dt.time,)),
    ("duration", (dt.timedelta, np.timedelta64)),
)
_MISSING_TYPES = ("NoneType", "NAType", "NaTType")  # by name: pandas need not be installed


def arrow_from_objects(values: NDArray[np.object_], name: str, mixed_as_text: bool) -> pa.Array:
    """Python objects as one Arrow array, when they are of one kind; missing values of every library become null."""
    kinds = {_kind_of_type(cls) for cls in set(map(type, values))} - {"missing"}
    if len(kinds) > 1 and "number" in kinds and not any(_is_number(value) for value in values):
        kinds.remove("number")  # the only "numbers" are NaN, that is: missing
        values = np.fromiter((None if _is_missing(value) else value for value in values), object, len(values))
    if len(kinds) > 1:
        if mixed_as_text:
            return pa.array([None if _is_missing(value) else _utf8(str(value)) for value in values], pa.large_string())
        raise SchemaError(_mixed_message(values, name))
    kind = kinds.pop() if kinds else "missing"
    if kind == "missing":
        return pa.nulls(len(values))
    if kind == "datetime":
        return _datetimes(values, name)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError, ValueError) as error:
        if kind == "number":
            return _numbers([None if _is_missing(value) else value for value in values])
        if kind == "text":  # lone surrogates
            return pa.array([None if _is_missing(value) else _utf8(value) for value in values], pa.large_string())
        raise SchemaError(
            f"Column {name!r} holds Python objects of type {kind}, for example {_examples(values)}.\n"
            f"Hint: convert it to text or numbers, or leave it out: column_types={{{name!r}: 'ignore'}}."
        ) from error


def _kind_of_type(cls: type) -> str:
    if cls.__name__ in _MISSING_TYPES:
        return "missing"
    return next((kind for kind, classes in _KINDS if issubclass(cls, classes)), cls.__name__)


def _is_missing(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return type(value).__name__ in _MISSING_TYPES or (isinstance(value, float | np.floating) and bool(value != value))


def _is_number(value: Any) -> bool:
    return _kind_of_type(type(value)) == "number" and not _is_missing(value)


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _numbers(values: list[Any]) -> pa.Array:
    """Numbers that are not of one type. Integers stay exact, and floats become decimals where one among them needs
    it; numbers of too many digits become floats."""
    present = [value for value in values if value is not None]
    exact: Callable[[Any], Any] = int
    types: tuple[pa.DataType | None, ...] = ()
    if all(isinstance(value, int | np.integer) for value in present):
        types = (pa.int64(), pa.uint64(), pa.decimal256(76, 0))
    elif not all(isinstance(value, float | np.floating) or value == _as_float(value) for value in present):
        exact, types = lambda value: Decimal(str(value)), (None,)
    for arrow_type in types:
        with contextlib.suppress(pa.ArrowException, OverflowError):  # more than 76 digits, or infinite
            return pa.array([None if value is None else exact(value) for value in values], arrow_type)
    return pa.array([None if value is None else _as_float(value) for value in values], pa.float64())


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return math.copysign(math.inf, value)


def _datetimes(values: NDArray[np.object_], name: str) -> pa.Array:
    """Dates, or timestamps where one value has a time; with and without a time zone is mixed."""
    present = [value for value in values if not _is_missing(value)]
    if any(isinstance(value, np.datetime64) for value in present):
        return pa.array(np.array([None if _is_missing(value) else value for value in values], "datetime64[us]"))
    if not any(isinstance(value, dt.datetime) for value in present):
        return pa.array([None if _is_missing(value) else value for value in values], pa.date32())
    with_zone = sum(isinstance(value, dt.datetime) and value.tzinfo is not None for value in present)
    if 0 < with_zone < len(present):
        raise SchemaError(
            f"Column {name!r} holds {counted(with_zone, 'date')} with a time zone and {len(present) - with_zone} "
            f"without, for example {_examples(values)}.\nHint: give all of them a time zone, or none."
        )
    moments = [value if isinstance(value, dt.datetime) else _midnight(value) for value in values]
    return pa.array(moments, pa.timestamp("us", tz="UTC" if with_zone else None), from_pandas=True)


def _midnight(value: Any) -> dt.datetime | None:
    return None if _is_missing(value) else dt.datetime.combine(value, dt.time())


def _mixed_message(values: NDArray[np.object_], name: str) -> str:
    by_kind: dict[str, list[Any]] = {}
    for value in values:
        if not _is_missing(value):
            by_kind.setdefault(_kind_of_type(type(value)), []).append(value)
    kinds = sorted(by_kind.items(), key=lambda item: -len(item[1]))
    held = ", ".join(f"{len(found)} {kind}" for kind, found in kinds[:5])
    shown = " and ".join(repr(found[0])[:60] for _, found in kinds[:2])
    return (
        f"Column {name!r} mixes kinds of values: {held}; for example {shown}.\n"
        f"Hint: make them one kind, or say how to read the column: column_types={{{name!r}: 'numeric'}} "
        "(what is no number becomes missing), 'categorical' (each value as text) or 'ignore'."
    )


def _examples(values: NDArray[np.object_]) -> str:
    return " and ".join(repr(value)[:60] for value in [value for value in values if not _is_missing(value)][:2])
