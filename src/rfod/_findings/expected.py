"""What was expected in the place of a cell, in as many digits as it is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rfod._findings.conditions import alternatives, category_text, grouped
from rfod._table.columns import Column
from rfod._table.encode import value_text
from rfod._table.values import SECONDS_PER_DAY

N_LIKELY = 3
SURE = 0.8  # probability of a category that is named alone
WORTH_NAMING = 0.1
DIGITS = 4  # of a number whose range is not known
STEPS = 10  # that a range is divided into, at least
MOST_TRIES = 8
_CLOCK_STEPS = (SECONDS_PER_DAY, 3600, 60, 1)


@dataclass(frozen=True)
class Expected:
    """The expected value, its range or its alternatives, as numbers and as texts."""

    text: str
    words: str
    """"expected 24 to 38", "expected about 7", "expected DHL", "expected DHL (60 %) or UPS (30 %)"."""
    low: float = math.nan
    high: float = math.nan
    """As rounded as their texts."""
    low_text: str | None = None
    high_text: str | None = None
    likely: tuple[tuple[str, float], ...] = ()


def expected_category(column: Column, expected: int, shares: NDArray[np.float64]) -> Expected:
    """A category, with the likeliest ones and their probabilities."""
    order = np.argsort(-shares, kind="stable")[:N_LIKELY]
    order = order[shares[order] > 0].astype(np.int32)
    names = [category_text(text) for text in value_text(column, order)]
    likely = tuple((name, round(float(share), 4)) for name, share in zip(names, shares[order], strict=True))
    text = category_text(value_text(column, np.array([expected], dtype=np.int32))[0])
    named = [f"{name} ({100 * share:.0f} %)" for name, share in likely if share >= WORTH_NAMING]
    is_sure = not named or likely[0][1] >= SURE or likely[0][0] != text
    return Expected(text, f"expected {text if is_sure else alternatives(named)}", likely=likely)


def expected_number(column: Column, expected: float, low: float, high: float, observed: float) -> Expected:
    """A number, date, time or length; the range is told where the observed value is outside of it."""
    has_range = math.isfinite(low) and math.isfinite(high)
    if not has_range:
        low = high = expected
    step = _step(column, high - low if high > low else abs(expected) / 10 ** (DIGITS - 1))
    is_outside = not low <= observed <= high
    for _ in range(MOST_TRIES):
        first, last, middle = (_rounded(column, value, step) for value in (low, high, expected))
        if not is_outside or not first <= observed <= last:
            break
        step /= 10
    else:
        first, last, middle = low, high, expected
    if low == high == expected:
        first = last = middle = low
    texts = [grouped(text) for text in value_text(column, np.array([middle, first, last]))]
    if not has_range:
        return Expected(texts[0], f"expected about {texts[0]}", first, last)
    if not is_outside:
        words = f"expected about {texts[0]}"
    else:
        words = f"expected {texts[1]}" if texts[1] == texts[2] else f"expected {texts[1]} to {texts[2]}"
    return Expected(texts[0], words, first, last, texts[1], texts[2])


def _step(column: Column, width: float) -> float:
    """What values are rounded to that are known within so much."""
    if width <= 0 or not math.isfinite(width):
        return 0.0
    if column.kind == "numeric":
        return float(10.0 ** (math.floor(math.log10(width)) - 1))
    return next((float(step) for step in _CLOCK_STEPS if step <= width / STEPS), 1.0)


def _rounded(column: Column, value: float, step: float) -> float:
    if step <= 0 or not math.isfinite(value):
        return value
    if column.kind == "numeric" and step < 1:
        return round(value, round(-math.log10(step)))
    return float(round(value / step) * step)
