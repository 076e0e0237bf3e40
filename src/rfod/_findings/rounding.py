"""Round numbers between two others: what a person would have said."""

from __future__ import annotations

import math

import numpy as np

from rfod._table.values import SECONDS_PER_DAY

_CLOCK_STEPS = (10 * SECONDS_PER_DAY, SECONDS_PER_DAY, 6 * 3600, 3600, 600, 60, 10, 1)
_CALENDAR_STEPS = ("Y", "M", "D", "h", "m", "s")
_YEARS = 1e11  # seconds; beyond some 3,000 years there are no round dates


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
