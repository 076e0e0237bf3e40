"""Text as numbers, dates, times and truth values: what counts as one, and whole columns of them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

Order = Literal["dmy", "mdy"]

MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL", "NaN", "nan")
"""What counts as missing in every column of a text file."""
MISSING_AMONG_NUMBERS = ("-", "--", ".", "?", "None", "none", "Null", "na", "Na", "#VALUE!", "#DIV/0!", "#REF!")
"""What counts as missing in columns of numbers and dates too."""
TRUTH = {"true": True, "false": False, "yes": True, "no": False, "y": True, "n": False, "1": True, "0": False}
TRUTH |= {"t": True, "f": False}

_CURRENCY = "[€$£¥]"
_GROUP = {".": "[,' \u00a0\u202f\u2019]", ",": "[.' \u00a0\u202f\u2019]"}


def _number_pattern(decimal: str) -> str:
    point = re.escape(decimal)
    digits = rf"(?:[0-9]+|[0-9]{{1,3}}(?:{_GROUP[decimal]}[0-9]{{3}})+)"
    amount = rf"(?:{digits}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    start = rf"(?:[+-](?:{_CURRENCY} ?)?|(?:{_CURRENCY} ?)?[+-]?)"  # one sign, before or after the currency
    return rf"^(?:{start}{amount}(?: ?(?:{_CURRENCY}|%))?|[+-]?(?i:inf|infinity))$"


NUMBER = {decimal: _number_pattern(decimal) for decimal in (".", ",")}
LEADING_ZERO = "^[+-]?0[0-9]+$"
_WHOLE = "^[+-]?[0-9]{1,18}$"
_CLOCK = r"[ T]+[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
ISO_DATE = rf"^[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}(?:{_CLOCK}(?: ?(?:Z|UTC|[+-][0-9]{{2}}:?[0-9]{{2}}))?)?$"
YEAR_FIRST_DATE = rf"^[0-9]{{4}}/[0-9]{{1,2}}/[0-9]{{1,2}}(?:{_CLOCK})?$"
DOTTED_DATE = rf"^[0-9]{{1,2}}\.[0-9]{{1,2}}\.[0-9]{{4}}(?:{_CLOCK})?$"
SLASHED_DATE = rf"^[0-9]{{1,2}}[/-][0-9]{{1,2}}[/-][0-9]{{4}}(?:{_CLOCK})?$"
DATE = "|".join((ISO_DATE, YEAR_FIRST_DATE, DOTTED_DATE, SLASHED_DATE))
TIME = r"^[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?$"
HAS_CLOCK = r"[0-9]:[0-9]{2}"
HAS_ZONE = r":[0-9.]+ ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})$"

_NUMBERS = tuple(re.compile(pattern) for pattern in NUMBER.values())
_DATE, _TIME = re.compile(DATE), re.compile(TIME)
_DATE_PARTS = re.compile(
    r"(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})(?:[ T]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?"
    r"(?: ?(Z|UTC|[+-]\d{2}:?\d{2}))?"
)
_TIME_PARTS = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?")


def is_missing(text: str) -> bool:
    """Whether a cell of a text file holds nothing."""
    return text.strip() in MISSING_TEXTS


def is_number(text: str) -> bool:
    """Whether a cell reads as a number, with decimal point or comma."""
    return any(pattern.match(text.strip()) for pattern in _NUMBERS)


def is_date(text: str) -> bool:
    """Whether a cell reads as a date or a time of day."""
    return bool(_DATE.match(text.strip()) or _TIME.match(text.strip()))


def matches(texts: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    """Which texts match; null for null."""
    return pc.match_substring_regex(texts, pattern)


def without(texts: pa.ChunkedArray, missing: tuple[str, ...]) -> pa.ChunkedArray:
    """The texts with null for those that stand for nothing."""
    gone = pc.is_in(texts, value_set=pa.array(missing, texts.type))
    return pc.if_else(gone, pa.scalar(None, texts.type), texts) if pc.any(gone).as_py() else texts


def read_numbers(texts: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    """Trimmed texts as int64, or float64 where one is not whole; null where a text is no number."""
    if decimal == "." and (plain := _read_plain(texts)) is not None:
        return plain
    readable = matches(texts, NUMBER[decimal])
    texts = pc.if_else(readable, texts, pa.scalar(None, texts.type))
    texts = pc.replace_substring_regex(texts, rf"{_GROUP[decimal]}|{_CURRENCY}|%| ", "")
    if decimal == ",":
        texts = pc.replace_substring(texts, ",", ".")
    whole = pc.all(matches(texts, _WHOLE)).as_py()
    texts = pc.replace_substring_regex(texts, r"^\+", "")
    return texts.cast(pa.int64() if whole else pa.float64())


def _read_plain(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """What Arrow's own cast reads, unless it takes a text for a number that the patterns do not."""
    for arrow_type in (pa.int64(), pa.float64()):
        try:
            numbers = texts.cast(arrow_type)
        except pa.ArrowInvalid:
            continue
        if pa.types.is_integer(arrow_type):
            hexadecimal = any(pc.any(pc.match_substring(texts, sign)).as_py() for sign in "xX")
            return None if hexadecimal else numbers
        return None if pc.any(pc.is_nan(numbers)).as_py() else numbers
    return None


def read_dates(texts: pa.ChunkedArray, order: Order | None, arrow_type: pa.DataType) -> pa.ChunkedArray:
    """Trimmed texts as dates or timestamps; null where a text is no such date."""
    try:
        if pa.types.is_date(arrow_type) or arrow_type.tz is None:
            dates = texts.cast(arrow_type)
            first = pc.min(dates)
            if not first.is_valid or first.value >= pa.scalar(dt.date.min).cast(arrow_type).value:
                return dates  # Python's dates, unlike Arrow's, have no year 0
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    return _by_distinct(texts, lambda text: _moment(text, order, arrow_type), arrow_type)


def _moment(text: str, order: Order | None, arrow_type: pa.DataType) -> dt.datetime | dt.date | None:
    """One date; None where the text is none, or has a clock or a zone that the type has no place for."""
    found = _DATE_PARTS.fullmatch(text)
    if found is None or not _DATE.match(text):
        return None
    first, second, third, hour, minute, second_of_minute, fraction, zone = found.groups()
    if len(first) == 4:
        year, month, day = int(first), int(second), int(third)
    elif len(third) != 4 or (order is None and "." not in text[:3]):
        return None
    elif "." in text[:3] or order == "dmy":
        year, month, day = int(third), int(second), int(first)
    else:
        year, month, day = int(third), int(first), int(second)
    try:
        if pa.types.is_date(arrow_type):
            return dt.date(year, month, day) if hour is None else None
        microsecond = int((fraction or "0")[:6].ljust(6, "0"))
        moment = dt.datetime(
            year, month, day, int(hour or 0), int(minute or 0), int(second_of_minute or 0), microsecond
        )
        if (zone is None) != (arrow_type.tz is None):
            return None
        return moment if zone is None else moment.replace(tzinfo=_zone(zone)).astimezone(dt.UTC)
    except (ValueError, OverflowError):  # no such day, hour or zone; in UTC before the year 1 or after 9999
        return None


def _zone(text: str) -> dt.timezone:
    if text in ("Z", "UTC"):
        return dt.UTC
    offset = dt.time(int(text[1:3]), int(text[-2:]))
    minutes = offset.hour * 60 + offset.minute
    return dt.timezone(dt.timedelta(minutes=-minutes if text[0] == "-" else minutes))


def read_times(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Trimmed texts as times of day; null where a text is none."""
    return _by_distinct(texts, _time, pa.time64("us"))


def _time(text: str) -> dt.time | None:
    found = _TIME_PARTS.fullmatch(text)
    if found is None:
        return None
    hour, minute, second, fraction = found.groups(default="0")
    try:
        return dt.time(int(hour), int(minute), int(second), int(fraction.ljust(6, "0")))
    except ValueError:
        return None


def read_truth(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Trimmed texts as truth values; null where a text is none."""
    return _by_distinct(texts, lambda text: TRUTH.get(text.lower()), pa.bool_())


def _by_distinct(
    texts: pa.ChunkedArray, read: Callable[[str], dt.date | dt.time | bool | None], arrow_type: pa.DataType
) -> pa.ChunkedArray:
    parts = []
    for chunk in texts.chunks:
        encoded = chunk.dictionary_encode()
        values = [read(text) for text in encoded.dictionary.to_pylist()]
        parts.append(pa.array(values, arrow_type).take(encoded.indices))
    return pa.chunked_array(parts, arrow_type)
