"""Findings in words: what was expected, which rows are evidence for it, and the sentence for both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._findings.conditions import Condition, category_text, exact_text, grouped, joined, name_text, rounded_up
from rfod._table.columns import Column
from rfod._table.encode import one_line, value_text
from rfod._table.kinds import kind_of
from rfod._table.values import SECONDS_PER_DAY

Floats = NDArray[np.float64]
MOST_LEFT_OUT = 0.05  # of the rows, by which a bound may be drawn closer ...
COST_PER_SHARE = 20.0  # ... when what is gained is worth it,
COST_OF_ANY = 0.2  # and worth not to say "all"
SAME = 0.9  # share of rows with one and the same value that is worth naming
BOUND_DIGITS = 3
FEW = 0.1  # share of rows that are "only" so many
FEWEST_AGREEING = 0.5  # share of rows that must lie on the other side of a value to be held against it
N_LIKELY = 3
SURE = 0.8  # probability of a category that is named alone
WORTH_NAMING = 0.1
DIGITS = 4  # of a number whose range is not known
STEPS = 10  # that a range is divided into, at least
MOST_TRIES = 8
_STEPS_OF_TIME = (SECONDS_PER_DAY, 3600, 60, 1)
RARE_SHARE = 0.1


# --------------------------------------------------------------------------------------------------- what was expected


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
    value: float = math.nan
    """Numbers: the expected value itself."""


def expected_category(column: Column, expected: int, shares: NDArray[np.float64]) -> Expected:
    """A category, with the likeliest ones and their probabilities."""
    order = np.argsort(-shares, kind="stable")[:N_LIKELY]
    order = order[shares[order] > 0].astype(np.int32)
    names = [category_text(text) for text in value_text(column, order)]
    likely = tuple((name, round(float(share), 4)) for name, share in zip(names, shares[order], strict=True))
    text = category_text(value_text(column, np.array([expected], dtype=np.int32))[0])
    named = [f"{name} ({100 * share:.0f} %)" for name, share in likely if share >= WORTH_NAMING]
    is_sure = not named or likely[0][1] >= SURE or likely[0][0] != text
    return Expected(text, f"expected {text if is_sure else joined(named)}", likely=likely)


def expected_number(column: Column, expected: float, low: float, high: float, observed: float) -> Expected:
    """A number, date, time or length; the range is shown where the observed value is outside of it."""
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
    if has_range and is_outside:
        words = f"expected {texts[1]}" if texts[1] == texts[2] else f"expected {texts[1]} to {texts[2]}"
    else:
        words = f"expected about {texts[0]}"
    low_text, high_text = texts[1:] if has_range else (None, None)
    return Expected(texts[0], words, first, last, low_text, high_text, value=expected)


def _step(column: Column, width: float) -> float:
    """What values are rounded to that are known within so much."""
    if width <= 0 or not math.isfinite(width):
        return 0.0
    if column.kind == "numeric":
        return float(10.0 ** (math.floor(math.log10(width)) - 1))
    return next((float(step) for step in _STEPS_OF_TIME if step <= width / STEPS), 1.0)


def _rounded(column: Column, value: float, step: float) -> float:
    if step <= 0 or not math.isfinite(value):
        return value
    if column.kind == "numeric" and step < 1:
        return round(value, round(-math.log10(step)))
    return float(round(value / step) * step)


# -------------------------------------------------------------------------------------------------- how many rows agree


@dataclass(frozen=True)
class Evidence:
    """So many of so many rows are like this."""

    n_such: int
    n_contradicting: int
    claim: str
    """What the agreeing rows are, after "have" or "are": see `verb`."""
    verb: str
    negative: bool = False
    """The claim is what rows are not: `n_contradicting` is the number of rows it does not hold for."""

    @property
    def is_informative(self) -> bool:
        """Whether most rows agree: only then are they held against the cell."""
        return self.n_contradicting >= FEWEST_AGREEING * max(1, self.n_such)


def numeric_evidence(column: Column, such: Floats, observed: float, low: float, high: float) -> Evidence:
    """Against a number expected from `low` to `high`: the bound that (nearly) all rows stay within, or the value that
    nearly all have; where many are as far out, how many are within what was expected."""
    name, n_such = name_text(column.name), len(such)
    values, counts = np.unique(such, return_counts=True)
    if n_such and counts.max() >= SAME * n_such and values[np.argmax(counts)] != observed:
        n_contradicting, value = int(counts.max()), float(values[np.argmax(counts)])
        return Evidence(n_such, n_contradicting, f"{name} = {_text(column, value)}", "have")
    is_high = observed > (low + high) / 2
    side = np.sort(such if is_high else -such)
    mark = observed if is_high else -observed
    inside = side[side < mark]
    if len(inside) < FEWEST_AGREEING * n_such or not n_such:
        n_contradicting = int(np.count_nonzero((such >= low) & (such <= high)))
        if low == high:
            return Evidence(n_such, n_contradicting, f"{name} = {_text(column, low)}", "have")
        return Evidence(n_such, n_contradicting, f"between {_text(column, low)} and {_text(column, high)}", "are")
    n_dropped = np.arange(min(len(inside), 1 + int(MOST_LEFT_OUT * n_such)))
    bounds = inside[len(inside) - 1 - n_dropped]
    bounds = bounds[: max(1, int(np.count_nonzero(bounds >= (high if is_high else -low))))]
    n_dropped = n_dropped[: len(bounds)]
    gained = (mark - bounds) if np.isfinite(mark) else -n_dropped
    kept = int(np.argmax(gained * (1 - COST_PER_SHARE * n_dropped / n_such - COST_OF_ANY * (n_dropped > 0))))
    limit = float(bounds[kept])
    n_contradicting = int(np.count_nonzero(side <= limit))
    beyond = float(min(side[side > limit].min(initial=np.inf), mark))
    if column.kind == "numeric":
        rounder = rounded_up(limit, BOUND_DIGITS)
        limit = rounder if limit <= rounder < beyond else limit
    return Evidence(n_such, n_contradicting, _bound(column, limit if is_high else -limit, is_high), "are")


def _bound(column: Column, value: float, is_high: bool) -> str:
    text = _text(column, value)
    if column.kind in ("datetime", "time"):
        return f"{text} or earlier" if is_high else f"{text} or later"
    return f"at most {text}" if is_high else f"at least {text}"


def _text(column: Column, value: float) -> str:
    return exact_text(value) if column.kind == "numeric" else value_text(column, np.array([value]))[0]


def categorical_evidence(
    column: Column, such: NDArray[Any], observed: int, expected: int, observed_text: str
) -> Evidence:
    """Against a category: how many rows have the expected one, or how few have this one."""
    name, n_such = name_text(column.name), len(such)
    n_expected, n_observed = int((such == expected).sum()), int((such == observed).sum())
    if n_expected >= SAME * n_such or observed < 0:
        text = category_text(value_text(column, np.array([expected], dtype=np.int32))[0])
        return Evidence(n_such, n_expected, f"{name} = {text}", "have")
    return Evidence(n_such, n_such - n_observed, f"{name} = {category_text(observed_text)}", "have", negative=True)


def evidence_words(evidence: Evidence, rows: tuple[str, str]) -> str:
    """As half a sentence; `rows` is what the rows are called: one, many."""
    one, many = rows
    n_such, n_contradicting, claim = evidence.n_such, evidence.n_contradicting, evidence.claim
    if evidence.negative:
        n_against = n_such - n_contradicting
        if n_against == 0:
            return f"none of {n_such:,} {many} has {claim}" if n_such > 1 else f"the only {one} does not have {claim}"
        few = "only " if n_against <= FEW * n_such else ""
        return f"{few}{n_against:,} of {n_such:,} {many} {'has' if n_against == 1 else 'have'} {claim}"
    singular = "has" if evidence.verb == "have" else "is"
    if n_contradicting == n_such:
        every = "both" if n_such == 2 else f"all {n_such:,}"
        return f"{every} {many} {evidence.verb} {claim}" if n_such > 1 else f"the only {one} {singular} {claim}"
    return f"{n_contradicting:,} of {n_such:,} {many} {singular if n_contradicting == 1 else evidence.verb} {claim}"


# ------------------------------------------------------------------------------------------------------------ sentences


def because_words(conditions: Sequence[Condition], evidence: Evidence, rows: tuple[str, str]) -> str:
    """ " because a and b (38 of 39 such rows are at most 42)"."""
    if conditions:
        listed = joined([condition.text for condition in conditions], "and")
        counted = f" ({evidence_words(evidence, ('such row', 'such rows'))})" if evidence.is_informative else ""
        return f" because {listed}{counted}"
    return f" ({evidence_words(evidence, rows)})" if evidence.is_informative else ""


def cell_sentence(
    column: Column, kind: str, observed: str, suggestion: str | None, expected: Expected, because: str, counted: str
) -> str:
    """What is wrong with a cell; `because` has its reasons in words, `counted` the rows that bear it out."""
    name = name_text(column.name)
    if kind == "missing":
        what = (
            "missing" if observed == "missing" else f"'{one_line(observed)}', which is no {kind_of(column.kind).noun}"
        )
        return f"{name} is {what}; {counted}; {expected.words}"
    if kind in ("unseen", "near miss"):
        start = f"{name} is '{observed}', which was never seen in training"
        if suggestion is None:
            return f"{start}; {expected.words}{because}"
        start += f"; did you mean '{suggestion}'?"
        if suggestion == expected.text:
            return f"{start} That is also what was expected{because}"
        return f"{start} It was {expected.words}{because}"
    observed = observed if column.is_categorical else grouped(observed)
    if kind == "present":
        return f"{name} is {observed}, where {counted}"
    observed = {"inf": "infinite", "-inf": "minus infinity"}.get(observed, observed)
    return f"{name} is {observed}; {expected.words}{because}"


def title_words(row: int, key: tuple[str, str] | None, score: float, standing: str) -> str:
    """Which row, and how unusual it is."""
    named = f"Row {row}" if key is None else f"Row {row} ({name_text(key[0])} {one_line(key[1])})"
    return f"{named}, score {score:.3g}: {standing}"


def rank_words(rank: int, n_rows: int) -> str:
    """The place of a row, from 1, among the rows of its table."""
    if rank == 1:
        return f"the highest of {n_rows:,} rows"
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"the {rank:,}{ending} highest of {n_rows:,} rows"


def rarity_words(p_value: float, n_training: int) -> str:
    """How many ordinary rows are as unusual, as far as so many training rows can tell."""
    if math.isnan(p_value):
        return "not judged"
    if p_value > RARE_SHARE:
        return f"{100 * p_value:.0f} % of ordinary rows are as unusual"
    n_rows = 1 / p_value if p_value > 0 else math.inf
    if n_rows > n_training:
        return f"fewer than 1 in {n_training:,} ordinary rows are as unusual"
    rounded = round(n_rows, 1 - math.floor(math.log10(n_rows)))
    return f"about 1 in {rounded:,.0f} ordinary rows is as unusual"
