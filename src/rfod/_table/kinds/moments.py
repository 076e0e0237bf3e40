"""Dates with or without a clock, times of day and lengths of time; all in seconds."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._table.kinds.base import MOSTLY, ORDERS, ColumnFormat, ColumnKind, TextSample, matches
from rfod._table.values import SECONDS_PER_DAY, TICKS_PER_SECOND, Category, by_distinct, parse_arrow_type

_FIRST_DAY, _LAST_DAY = -719162, 2932896  # 0001-01-01 and 9999-12-31, the dates that every library can show
_LONGEST_SECONDS = 8.6e13  # of Python's timedelta
_LEAST_TELLING, _AGREEING = 20, 0.98  # dates that tell the order of day and month, and share of them that agree
_EPOCH_LIMIT = 9e11  # seconds; some 28,000 years, where Arrow's calendar still works

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<name>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))\.?"
)
_CLOCK = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?"
    r"(?: ?(?P<half>[AaPp][Mm]))?"
)
_ZONE = r"(?: ?(?P<zone>Z|UTC|[+-][0-9]{2}:?[0-9]{2}))?"
_FORMS = [
    re.compile(f"^{form}(?:[ T]+{_CLOCK}{_ZONE})?$")
    for form in (
        r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})",
        r"(?P<year>[0-9]{4})/(?P<month>[0-9]{1,2})/(?P<day>[0-9]{1,2})",
        r"(?P<day>[0-9]{1,2})\.(?P<month>[0-9]{1,2})\.(?P<year>[0-9]{4})",
        r"(?P<a>[0-9]{1,2})[/-](?P<b>[0-9]{1,2})[/-](?P<year>[0-9]{4})",
        rf"{_MONTH} (?P<day>[0-9]{{1,2}}),? (?P<year>[0-9]{{4}}),?",
        rf"(?P<day>[0-9]{{1,2}})\.?[ -]{_MONTH},?[ -](?P<year>[0-9]{{4}}),?",
    )
]
_SLASHED = _FORMS[3].pattern
_TIME_FORM = re.compile(f"^{_CLOCK}$")
_DATE, _TIME = (re.sub(r"\?P<\w+>", "?:", "|".join(form.pattern for form in forms)) for forms in (_FORMS, [_TIME_FORM]))
_HAS_CLOCK, _HAS_ZONE = r"[0-9]:[0-9]{2}", r":[0-9.]+ ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})$"
_LENGTH = re.compile(r"([+-]?)(?:([0-9]+) days?,? )?([0-9]+):([0-5]?[0-9])(?::([0-5]?[0-9](?:\.[0-9]*)?))?")
_SECONDS = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def is_date(text: str) -> bool:
    """Whether a text reads as a date or a time of day."""
    return any(form.match(text.strip()) for form in (*_FORMS, _TIME_FORM))


def _time(found: re.Match[str]) -> dt.time:
    """The clock of a match; ValueError where there is no such time."""
    hour, half = int(found["hour"] or 0), (found["half"] or "").lower()
    if half and not 1 <= hour <= 12:
        raise ValueError(hour)
    hour = hour % 12 + 12 * (half == "pm") if half else hour
    microsecond = int((found["fraction"] or "0")[:6].ljust(6, "0"))
    return dt.time(hour, int(found["minute"] or 0), int(found["second"] or 0), microsecond)


def _moment(text: str, order: str) -> dt.datetime | None:
    """A date and its clock in UTC, where what has no zone is taken to be; None where the text is none."""
    found = next(filter(None, (form.match(text) for form in _FORMS)), None)
    if found is None:
        return None
    parts = found.groupdict()
    if "a" in parts:
        if not order:
            return None
        parts["day"], parts["month"] = (parts["a"], parts["b"]) if order == "dmy" else (parts["b"], parts["a"])
    month = _MONTHS.index(parts["name"][:3].lower()) + 1 if "name" in parts else int(parts["month"])
    try:
        moment = dt.datetime.combine(dt.date(int(parts["year"]), month, int(parts["day"])), _time(found), dt.UTC)
        offset = dt.datetime.strptime(found["zone"], "%z").utcoffset() if (found["zone"] or "UTC") != "UTC" else None
        return moment - (offset or dt.timedelta())
    except (ValueError, OverflowError):  # no such day, hour or zone; in UTC before the year 1 or after 9999
        return None


class _Temporal(ColumnKind):
    """Seconds in the unit of an Arrow type."""

    def decode(self, values: NDArray[Any], arrow_type: pa.DataType, categories: tuple[Category, ...]) -> pa.Array:
        missing = np.isnan(values)
        ticks = _ticks(np.where(missing, 0.0, values), arrow_type)
        storage = pa.int32() if arrow_type.bit_width == 32 else pa.int64()
        return pa.array(ticks, mask=missing).cast(storage).cast(arrow_type)


class Datetime(_Temporal):
    """Moments, in seconds since 1970 UTC."""

    name = "datetime"
    noun = "date"
    natural = stored = ("datetime",)
    readable = ("datetime", "text")
    default_type = "timestamp[us]"
    parts = ("month", "day", "weekday", "hour", "minute")

    def recognises(self, sample: TextSample) -> bool:
        return sample.share(_DATE) >= MOSTLY

    def reading(self, sample: TextSample) -> ColumnFormat | None:
        """None where values could be day first or month first."""
        order = sample.order
        slashed = sample.values.filter(matches(sample.values, _SLASHED))
        if not order and len(slashed):
            order = _order(slashed, sample)
            if not order:
                return None
        arrow_type = "date32[day]"
        if not len(sample.values) or sample.has(_HAS_CLOCK):
            arrow_type = "timestamp[us, tz=UTC]" if sample.has(_HAS_ZONE) else "timestamp[us]"
        return ColumnFormat(self.name, order=order, arrow_type=arrow_type)

    def parse(self, texts: pa.ChunkedArray, reading: ColumnFormat) -> pa.ChunkedArray:
        """Timestamps in UTC."""
        try:
            moments = texts.cast(pa.timestamp("us"))
            first = pc.min(moments)
            if not first.is_valid or first.value >= _FIRST_DAY * SECONDS_PER_DAY * 10**6:
                return moments  # Python's dates, unlike Arrow's, have no year 0
        except pa.ArrowInvalid:
            pass
        return by_distinct(texts, lambda text: _moment(text, reading.order), pa.timestamp("us", "UTC")).cast(
            pa.timestamp("us")
        )

    def read(self, texts: pa.ChunkedArray, reading: ColumnFormat) -> pa.ChunkedArray:
        """A moment that is no midnight is null among dates."""
        moments, arrow_type = self.parse(texts, reading), parse_arrow_type(reading.arrow_type)
        if pa.types.is_date(arrow_type):
            days = pc.floor_temporal(moments, unit="day")
            return pc.if_else(pc.equal(days, moments), days, pa.scalar(None, days.type)).cast(arrow_type)
        return pc.assume_timezone(moments, "UTC") if arrow_type.tz else moments


def _order(slashed: pa.ChunkedArray, sample: TextSample) -> str:
    """Whether dates with slashes put the day or the month first, by those that tell; "" where that is remarked on.

    Of many that tell, a few may tell otherwise: these do not parse."""
    parts = pc.extract_regex(slashed, _SLASHED).combine_chunks()
    is_late = [np.asarray(pc.greater(parts.field(part).cast(pa.int64()), 12)) for part in ("a", "b")]
    tells = {"dmy": is_late[0] & ~is_late[1], "mdy": is_late[1] & ~is_late[0]}
    counts = {order: int(which.sum()) for order, which in tells.items()}
    order = max(counts, key=lambda name: counts[name])
    n_telling = sum(counts.values())
    if counts[order] and (
        counts[order] == n_telling or (n_telling >= _LEAST_TELLING and counts[order] >= _AGREEING * n_telling)
    ):
        return order
    if n_telling:
        day, month = (sample.example(slashed, tells[which]) for which in ORDERS)
        why = f"holds dates of which some put the day first, as {day}, and some the month, as {month}"
    else:
        why = f"holds dates like {slashed[0].as_py()!r} where day and month could be either"
    sample.remarks.append(
        f"column {sample.name!r} {why}; read as text. "
        f"Hint: {sample.way_to('dmy')} or {sample.way_to('mdy')} says which comes first."
    )
    return ""


class Time(_Temporal):
    """Times of day, in seconds since midnight."""

    name = "time"
    noun = "time of day"
    natural = stored = ("time",)
    readable = ("time", "text")
    default_type = "time64[us]"
    parts = ("hour",)

    def recognises(self, sample: TextSample) -> bool:
        return sample.share(_TIME) >= MOSTLY

    def parse(self, texts: pa.ChunkedArray, reading: ColumnFormat) -> pa.ChunkedArray:
        def read(text: str) -> dt.time | None:
            found = _TIME_FORM.match(text)
            try:
                return _time(found) if found else None
            except ValueError:
                return None

        return by_distinct(texts, read, pa.time64("us"))


class Duration(_Temporal):
    """Lengths of time, in seconds. Text is read as days and a clock, or as a number of seconds; by override only."""

    name = "duration"
    noun = "length of time"
    natural = stored = ("duration",)
    readable = ("duration", "number", "text")
    default_type = "duration[us]"

    def parse(self, texts: pa.ChunkedArray, reading: ColumnFormat) -> pa.ChunkedArray:
        def read(text: str) -> float | None:
            if found := _LENGTH.fullmatch(text):
                sign, days, hours, minutes, seconds = found.groups(default="0")
                length = int(days) * SECONDS_PER_DAY + int(hours) * 3600 + int(minutes) * 60 + float(seconds)
                return -length if sign == "-" else length
            return float(text) if _SECONDS.fullmatch(text) else None

        return by_distinct(texts, read, pa.float64())


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


def calendar_part(seconds: NDArray[np.float64], part: str) -> NDArray[np.float64]:
    """A part of the calendar in UTC; the values themselves for "value"."""
    if part == "value":
        return seconds
    missing = np.isnan(seconds)
    whole = np.floor(np.clip(np.where(missing, 0.0, seconds), -_EPOCH_LIMIT, _EPOCH_LIMIT)).astype(np.int64)
    moments = pa.array(whole, mask=missing).cast(pa.timestamp("s"))
    numbers = getattr(pc, "day_of_week" if part == "weekday" else part)(moments)  # Monday is 0
    return np.asarray(numbers.cast(pa.float64()).to_numpy(zero_copy_only=False))


KINDS = (Datetime(), Time(), Duration())
