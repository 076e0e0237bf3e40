"""How many training rows speak against a cell, and what they are like instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._findings.conditions import category_text, exact_text, name_text
from rfod._findings.rounding import rounded_up
from rfod._table.columns import Column
from rfod._table.encode import value_text

Floats = NDArray[np.float64]
MOST_LEFT_OUT = 0.05  # of the rows, by which a bound may be drawn closer ...
COST_PER_SHARE = 20.0  # ... when what is gained is worth it,
COST_OF_ANY = 0.2  # and worth not to say "all"
SAME = 0.9  # share of rows with one and the same value that is worth naming
DIGITS = 3
FEW = 0.1  # share of rows that are "only" so many
FEWEST_AGREEING = 0.5  # share of rows that must lie on the other side of a value to be held against it


@dataclass(frozen=True)
class Evidence:
    """So many of so many rows are like this."""

    n_such: int
    n_agree: int
    claim: str
    """What the agreeing rows are, after "have" or "are": see `verb`."""
    verb: str
    negative: bool = False
    """The claim is what rows are not: `n_agree` is the number of rows it does not hold for."""

    @property
    def is_telling(self) -> bool:
        """Whether most rows agree: only then are they held against the cell."""
        return self.n_agree >= FEWEST_AGREEING * max(1, self.n_such)


def numeric_evidence(column: Column, such: Floats, observed: float, low: float, high: float) -> Evidence:
    """Against a number expected from `low` to `high`: the bound that (nearly) all rows stay within, or the value that
    nearly all have; where many are as far out, how many are within what was expected."""
    name, n_such = name_text(column.name), len(such)
    values, counts = np.unique(such, return_counts=True)
    if n_such and counts.max() >= SAME * n_such and values[np.argmax(counts)] != observed:
        n_agree, value = int(counts.max()), float(values[np.argmax(counts)])
        return Evidence(n_such, n_agree, f"{name} = {_text(column, value)}", "have")
    is_high = observed > (low + high) / 2
    side = np.sort(such if is_high else -such)
    mark = observed if is_high else -observed
    inside = side[side < mark]
    if len(inside) < FEWEST_AGREEING * n_such or not n_such:
        n_agree = int(np.count_nonzero((such >= low) & (such <= high)))
        if low == high:
            return Evidence(n_such, n_agree, f"{name} = {_text(column, low)}", "have")
        return Evidence(n_such, n_agree, f"between {_text(column, low)} and {_text(column, high)}", "are")
    n_dropped = np.arange(min(len(inside), 1 + int(MOST_LEFT_OUT * n_such)))
    bounds = inside[len(inside) - 1 - n_dropped]
    bounds = bounds[: max(1, int(np.count_nonzero(bounds >= (high if is_high else -low))))]
    n_dropped = n_dropped[: len(bounds)]
    gained = (mark - bounds) if np.isfinite(mark) else -n_dropped
    kept = int(np.argmax(gained * (1 - COST_PER_SHARE * n_dropped / n_such - COST_OF_ANY * (n_dropped > 0))))
    limit = float(bounds[kept])
    n_agree = int(np.count_nonzero(side <= limit))
    beyond = float(min(side[side > limit].min(initial=np.inf), mark))
    if column.kind == "numeric":
        rounder = rounded_up(limit, DIGITS)
        limit = rounder if limit <= rounder < beyond else limit
    return Evidence(n_such, n_agree, _bound(column, limit if is_high else -limit, is_high), "are")


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
    n_such, n_agree, claim = evidence.n_such, evidence.n_agree, evidence.claim
    if evidence.negative:
        n_against = n_such - n_agree
        if n_against == 0:
            return f"none of {n_such:,} {many} has {claim}" if n_such > 1 else f"the one {one} has not {claim}"
        few = "only " if n_against <= FEW * n_such else ""
        return f"{few}{n_against:,} of {n_such:,} {many} {'has' if n_against == 1 else 'have'} {claim}"
    singular = "has" if evidence.verb == "have" else "is"
    if n_agree == n_such:
        every = "both" if n_such == 2 else f"all {n_such:,}"
        return f"{every} {many} {evidence.verb} {claim}" if n_such > 1 else f"the one {one} {singular} {claim}"
    return f"{n_agree:,} of {n_such:,} {many} {singular if n_agree == 1 else evidence.verb} {claim}"
