"""One condition on a column: what it asks, which rows meet it, and how a person would say it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._table.bins import Feature
from rfod._table.columns import Column
from rfod._table.encode import one_line, value_text
from rfod._table.values import MISSING, SECONDS_PER_DAY

Mask = NDArray[np.bool_]

_MONTHS = "January February March April May June July August September October November December"
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_NAMES = {"month": ["", *_MONTHS.split()], "weekday": _WEEKDAYS.split()}
MANY_DIGITS = 6
LEAST = 1e-3  # seconds; dates are not shown more exactly
SLACK = 0.02  # of the rows that meet a condition: as many may change sides for a rounder number
_CLOCK_STEPS = (10 * SECONDS_PER_DAY, SECONDS_PER_DAY, 6 * 3600, 3600, 600, 60, 10, 1)
_CALENDAR_STEPS = ("Y", "M", "D", "h", "m", "s")
_YEARS = 1e11  # seconds; beyond some 3,000 years there are no round dates
_DATE_WORDS = {"<": "before", "<=": "up to", ">": "after", ">=": "from"}


@dataclass(frozen=True)
class Condition:
    """What a column, or a part of its date, has to meet."""

    column: str
    part: str
    """"value", or "month", "day", "weekday" (Monday is 0), "hour" or "minute" of a date, in UTC."""
    relation: str
    """"<", "<=", ">", ">=", "=", "between" (both included), "one of", "not", "missing" or "present"."""
    values: tuple[Any, ...]
    """What is compared with: categories; numbers; seconds since 1970, since midnight or of length."""
    text: str
    """The condition in words."""

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return vars(self) | {"values": list(self.values)}


def holds(condition: Condition, column: Column, feature: Feature, values: NDArray[Any]) -> Mask:
    """Which values of an encoded column meet a condition."""
    relation, wanted = condition.relation, condition.values
    numbers = values if column.is_categorical else feature.numbers(values)
    is_missing = values == MISSING if column.is_categorical else np.isnan(numbers)
    if relation in ("missing", "present"):
        return np.asarray(is_missing == (relation == "missing"))
    if column.is_categorical:
        inside = np.isin(values, [column.categories.index(category) for category in wanted])
        return np.asarray(~inside & ~is_missing if relation == "not" else inside)
    if relation == "between":
        return np.asarray((numbers >= wanted[0]) & (numbers <= wanted[1]))
    compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "=": np.equal}
    return np.asarray(compare[relation](numbers, wanted[0]))


def gap_condition(column: Column, missing: bool) -> Condition:
    """Whether there is a value."""
    relation, words = ("missing", "is missing") if missing else ("present", "is not missing")
    return Condition(column.name, "value", relation, (), f"{name_text(column.name)} {words}")


def set_condition(column: Column, codes: Sequence[int], excluded: bool = False) -> Condition:
    """One of few categories, or none of them."""
    categories = tuple(column.categories[code] for code in codes)
    words = [category_text(text) for text in value_text(column, np.array(codes, dtype=np.int32))]
    relation, verb = ("not", "is not") if excluded else ("=", "=") if len(words) == 1 else ("one of", "is")
    return Condition(column.name, "value", relation, categories, f"{name_text(column.name)} {verb} {joined(words)}")


def range_condition(
    column: Column, feature: Feature, low: int, high: int, known: NDArray[np.float64], own: NDArray[np.float64]
) -> Condition | None:
    """Codes `low` to `high` of an ordered feature, in round numbers of its column.

    `known` are the feature's numbers in the sample, `own` those of the rows it is said of. Bounds are moved to rounder
    numbers as long as hardly any of the sample change sides; one that nothing in the sample lies beyond is left out.
    """
    present = known[~np.isnan(known)]
    from_edge = float(feature.edges[low - 2]) if low >= 2 else -math.inf
    to_edge = float(feature.edges[high - 1]) if high <= len(feature.edges) else math.inf
    inside = np.append(present[(present > from_edge) & (present <= to_edge)], own)
    below, above = present[present <= from_edge], present[present > to_edge]
    inside.sort()
    slack = int(SLACK * len(inside))
    least, most = float(min(inside[slack], *own)), float(max(inside[len(inside) - 1 - slack], *own))
    bound = _Bounds(column, feature.part, bool(np.all(present == np.floor(present))))
    if not len(below) and not len(above):
        return gap_condition(column, False) if np.isnan(known).any() else None
    if inside[0] == inside[-1] and bound.is_whole:
        return bound.condition("=", least)
    if feature.part in _NAMES:
        first = float(inside[0]) if len(below) else float(feature.part == "month")
        last = float(inside[-1]) if len(above) else len(_NAMES[feature.part]) - 1.0
        return bound.condition("between", first, last)
    before = float(np.sort(below)[-1 - min(slack, len(below) - 1)]) if len(below) else math.nan
    beyond = float(np.sort(above)[min(slack, len(above) - 1)]) if len(above) else math.nan
    if not len(below):
        return bound.condition(*bound.highest(most, beyond, to_edge))
    if not len(above):
        return bound.condition(*bound.lowest(before, least, from_edge))
    return bound.condition("between", bound.rounded(before, least, from_edge), bound.last(most, beyond, to_edge))


@dataclass(frozen=True)
class _Bounds:
    """How bounds of one column are chosen and said."""

    column: Column
    part: str
    all_whole: bool

    @property
    def is_number(self) -> bool:
        return self.part != "value" or self.column.kind == "numeric"

    @property
    def is_whole(self) -> bool:
        """Whether values are whole numbers, of which one alone is worth naming."""
        return self.is_number and self.all_whole

    def rounded(self, above: float, up_to: float, near: float) -> float:
        """A round number in (above, up_to]."""
        if not math.isfinite(near):
            near = up_to
        if self.is_number:
            return roundest(above, up_to, near)
        if above < 0 and up_to <= 0:  # the roundest number of [-up_to, -above) is not that of its mirror image
            return up_to
        if self.column.kind == "datetime":
            return roundest_moment(above, up_to)
        return roundest_seconds(above, up_to)

    def last(self, most: float, above: float, near: float) -> float:
        """A round number in [most, above)."""
        if self.is_number:
            return -self.rounded(-above, -most, -near)
        second_before = math.ceil(above) - 1.0
        return self.rounded(most - LEAST, second_before, near) if second_before > most else most

    def highest(self, most: float, above: float, near: float) -> tuple[str, float]:
        """`< x` or `<= x`, for values of at most `most`."""
        limit = self.rounded(most, above, near)
        if self.is_number and n_digits(most) < n_digits(limit) + (self.is_whole and limit == above):
            return "<=", most
        return "<", limit

    def lowest(self, below: float, least: float, near: float) -> tuple[str, float]:
        """`> x` or `>= x`, for values of at least `least`."""
        limit = self.rounded(below, least, near)
        if self.is_number and n_digits(below) < n_digits(limit):
            return ">", below
        return (">=" if limit == least or self.is_whole or not self.is_number else ">"), limit

    def condition(self, relation: str, *values: float) -> Condition:
        name = name_text(self.column.name)
        subject = name if self.part == "value" else f"{self.part} of {name}"
        words = [self.text(value) for value in values]
        if relation == "between" and values[0] == values[1]:
            relation, values = "=", values[:1]
        is_date = self.column.kind == "datetime" and self.part == "value"
        if relation == "between":
            between = ("from", "to") if is_date or self.part in _NAMES else ("between", "and")
            text = f"{subject} {between[0]} {words[0]} {between[1]} {words[1]}"
        elif is_date and relation in _DATE_WORDS:
            text = f"{subject} {_DATE_WORDS[relation]} {words[0]}{' on' if relation == '>=' else ''}"
        else:
            text = f"{subject} {relation} {words[0]}"
        return Condition(self.column.name, self.part, relation, tuple(values), text)

    def text(self, value: float) -> str:
        if self.part in _NAMES:
            return _NAMES[self.part][round(value)]
        if self.is_number:
            return exact_text(value)
        return value_text(self.column, np.array([value]))[0]


def exact_text(value: float) -> str:
    """A number in all its digits, without an exponent where it can do without."""
    if value == 0:
        return "0"
    text = f"{value:.15g}"
    if "e" in text and 1e-7 < abs(value) < 1e18:
        text = f"{value:.{max(0, 14 - math.floor(math.log10(abs(value))))}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return grouped(text)


def grouped(text: str) -> str:
    """A number of many digits with commas between thousands; other texts, years and postcodes as they are."""
    whole, point, fraction = text.partition(".")
    digits = whole.removeprefix("-")
    if len(digits) < MANY_DIGITS or not (digits + fraction).isdecimal() or not (digits + fraction).isascii():
        return text
    return f"{int(whole):,}{point}{fraction}"


def name_text(name: str) -> str:
    """The name of a column on one line."""
    return category_text(one_line(name))


def category_text(text: str) -> str:
    """A category among other words: in quotes where it would not be seen."""
    return text if text and text == text.strip() else f"'{text}'"


def joined(words: Sequence[str], before_last: str = "or") -> str:
    """a, b or c"""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {before_last} {words[-1]}"


# --------------------------------------------------------------------------------------------------- round numbers


def roundest(above: float, up_to: float, near: float) -> float:
    """The number in (above, up_to] with the fewest digits; of several, the one next to `near`."""
    largest = max(abs(above), abs(up_to))
    if not math.isfinite(largest) or largest == 0:
        return up_to
    top = math.floor(math.log10(largest)) + 1
    for exponent in range(top, top - 17, -1):
        found = _multiple(above, up_to, near, exponent)
        if found is not None:
            return found
    return up_to


def _multiple(above: float, up_to: float, near: float, exponent: int) -> float | None:
    step = 10.0**exponent
    first, last = math.floor(above / step), math.ceil(up_to / step)
    wanted = round(near / step)
    candidates = {min(max(wanted, first), last), first, first + 1, last - 1, last}
    numbers = [round(k * step, -exponent) if exponent < 0 else float(k * round(step)) for k in candidates]
    inside = [number for number in numbers if above < number <= up_to]
    return min(inside, key=lambda number: (abs(number - near), number)) if inside else None


def roundest_seconds(above: float, up_to: float) -> float:
    """The same for lengths and times of the day: full days before full hours before full minutes."""
    for step in _CLOCK_STEPS:
        found = math.floor(up_to / step) * step
        if above < found:
            return float(found)
    return up_to


def roundest_moment(above: float, up_to: float) -> float:
    """The same for moments, in seconds since 1970: new years before months before days."""
    if max(abs(above), abs(up_to)) > _YEARS:
        return up_to
    last = np.datetime64(math.floor(up_to), "s")
    for unit in _CALENDAR_STEPS:
        found = float(last.astype(f"datetime64[{unit}]").astype("datetime64[s]").astype(np.int64))
        if above < found:
            return found
    return up_to


def n_digits(value: float) -> int:
    """How many digits it takes to write a number, zeros at its end and its beginning aside."""
    return len(f"{abs(value):.15e}".partition("e")[0].replace(".", "").rstrip("0"))


def rounded_up(value: float, digits: int) -> float:
    """The next number of so many significant digits that is not smaller."""
    if value == 0 or not math.isfinite(value):
        return value
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    if decimals > 15:
        return value
    step = 10.0**decimals
    return float(round(math.ceil(value * step - 1e-6) / step, decimals))
