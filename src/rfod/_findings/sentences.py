"""Findings in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rfod._findings.conditions import Condition, name_text
from rfod._findings.evidence import Evidence, evidence_words
from rfod._findings.expected import Expected
from rfod._table.encode import one_line

RARE, RAREST = 0.1, 1e-6


def because_words(conditions: Sequence[Condition], evidence: Evidence, rows: tuple[str, str]) -> str:
    """ " because a and b (38 of 39 such rows are at most 42)"."""
    if conditions:
        texts = [condition.text for condition in conditions]
        listed = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
        told = f" ({evidence_words(evidence, ('such row', 'such rows'))})" if evidence.is_telling else ""
        return f" because {listed}{told}"
    return f" ({evidence_words(evidence, rows)})" if evidence.is_telling else ""


def value_sentence(name: str, observed: str, expected: str, because: str) -> str:
    """A value that is not the expected one."""
    observed = {"inf": "infinite", "-inf": "minus infinity"}.get(observed, observed)
    return f"{name_text(name)} is {observed}; {expected}{because}"


def missing_sentence(name: str, evidence: Evidence, rows: tuple[str, str], expected: str) -> str:
    """A gap where there is practically always a value."""
    return f"{name_text(name)} is missing; {evidence_words(evidence, rows)}; {expected}"


def present_sentence(name: str, observed: str, evidence: Evidence, rows: tuple[str, str]) -> str:
    """A value where there is practically never one."""
    return f"{name_text(name)} is {observed}, where {evidence_words(evidence, rows)}"


def unseen_sentence(name: str, observed: str, suggestion: str | None, expected: Expected, because: str) -> str:
    """A category that training does not have, with the known one it is near to."""
    start = f"{name_text(name)} is '{observed}', which was never seen in training"
    if suggestion is None:
        return f"{start}; {expected.words}{because}"
    start += f"; did you mean '{suggestion}'?"
    if suggestion == expected.text:
        return f"{start} That is also what was expected{because}"
    return f"{start} It was {expected.words}{because}"


def hidden_sentence(name: str) -> str:
    """A value that is not told."""
    return f"{name_text(name)} is not what the rest of the row leads to expect"


def title_words(row: int, key: tuple[str, str] | None, score: float, p_value: float) -> str:
    """Which row, and how unusual it is."""
    named = f"Row {row}" if key is None else f"Row {row} ({name_text(key[0])} {one_line(key[1])})"
    return f"{named}, score {score:.3g}: {rarity_words(p_value)}"


def rarity_words(p_value: float) -> str:
    """How many ordinary rows are as unusual."""
    if math.isnan(p_value):
        return "not judged"
    if p_value > RARE:
        return f"{100 * p_value:.0f} % of ordinary rows are as unusual"
    if p_value < RAREST:
        return "fewer than 1 in a million ordinary rows are as unusual"
    n_rows = 1 / p_value
    rounded = round(n_rows, 1 - math.floor(math.log10(n_rows)))
    return f"about 1 in {rounded:,.0f} ordinary rows is as unusual"
