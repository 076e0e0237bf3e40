"""Findings in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rfod._explain.condition import Condition, alternatives, category_text
from rfod._explain.evidence import Evidence, evidence_words
from rfod._explain.rounding import at_least_digits
from rfod._table.columns import Column
from rfod._table.encode import one_line, value_text

SURE = 0.8  # probability of a category that is named alone
WORTH_NAMING = 0.1
DIGITS = 4
RARE, RAREST = 0.1, 1e-6


def tidy_text(column: Column, value: float) -> str:
    """An encoded value in few digits; categories as they are."""
    if column.kind == "numeric":
        value = _nearest(value)
    return category_text(value_text(column, np.array([value], dtype=np.int32 if column.is_categorical else None))[0])


def _nearest(value: float) -> float:
    up, down = (at_least_digits(value, DIGITS, up) for up in (True, False))
    return up if abs(up - value) < abs(down - value) else down


def expected_words(
    column: Column,
    expected: str,
    low: str | None,
    high: str | None,
    is_outside: bool,
    likely: Sequence[tuple[str, float]],
) -> str:
    """ "expected 24 to 38", "expected about 7", "expected DHL", "expected DHL (60 %) or UPS (30 %)"."""
    if column.is_categorical:
        if not likely or likely[0][1] >= SURE or likely[0][0] != expected:
            return f"expected {expected}"
        named = [f"{name} ({share:.0%})" for name, share in likely if share >= WORTH_NAMING]
        return f"expected {alternatives([name.replace('%', ' %') for name in named or [expected]])}"
    if low is None or high is None or not is_outside:
        return f"expected about {expected}"
    return f"expected {low}" if low == high else f"expected {low} to {high}"


def because_words(conditions: Sequence[Condition], evidence: Evidence, rows: tuple[str, str]) -> str:
    """ " because a and b (38 of 39 such rows are at most 42)"."""
    if conditions:
        texts = [condition.text for condition in conditions]
        listed = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
        return f" because {listed} ({evidence_words(evidence, ('such row', 'such rows'))})"
    return f" ({evidence_words(evidence, rows)})" if evidence.n_such else ""


def value_sentence(name: str, observed: str, expected: str, because: str) -> str:
    """A value that is not the expected one."""
    return f"{one_line(name)} is {observed}; {expected}{because}"


def missing_sentence(name: str, evidence: Evidence, rows: tuple[str, str], expected: str) -> str:
    """A gap where there is practically always a value."""
    counted = f"{evidence.n_agree:,} of {evidence.n_such:,}" if evidence.n_agree < evidence.n_such else "all"
    counted = counted if counted != "all" else f"all {evidence.n_such:,}"
    return f"{one_line(name)} is missing; {counted} {rows[1]} have a value; {expected}"


def present_sentence(name: str, observed: str, evidence: Evidence, rows: tuple[str, str]) -> str:
    """A value where there is practically never one."""
    return f"{one_line(name)} is {observed}; {evidence.n_agree:,} of {evidence.n_such:,} {rows[1]} have no value there"


def unseen_sentence(name: str, observed: str, suggestion: str | None, expected: str, told: str, because: str) -> str:
    """A category that training does not have; `expected` is the likeliest one, `told` says so."""
    start = f"{one_line(name)} is '{observed}', which was never seen in training"
    if suggestion is None:
        return f"{start}; {told}{because}"
    start += f"; did you mean '{suggestion}'?"
    if suggestion == expected:
        return f"{start} That is also what was expected{because}"
    return f"{start} {told[0].upper()}{told[1:]}{because}"


def title_words(row: int, key: tuple[str, str] | None, score: float, p_value: float) -> str:
    """Which row, and how unusual it is."""
    named = f"Row {row}" if key is None else f"Row {row} ({one_line(key[0])} {one_line(key[1])})"
    return f"{named}, score {score:.3g}: {rarity_words(p_value)}"


def rarity_words(p_value: float) -> str:
    """How many ordinary rows score as high."""
    if math.isnan(p_value):
        return "not judged"
    if p_value > RARE:
        return f"{100 * p_value:.0f} % of ordinary rows score as high"
    if p_value < RAREST:
        return "fewer than 1 in a million ordinary rows score as high"
    n_rows = 1 / p_value
    rounded = round(n_rows, 1 - math.floor(math.log10(n_rows)))
    return f"about 1 in {rounded:,.0f} ordinary rows scores as high"
