"""Values as a person reads them, by their Arrow type."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rfod._table.values import SECONDS_PER_DAY, family, read_numbers

_LONGEST_TEXT = 60


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
