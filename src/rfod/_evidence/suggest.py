"""What to put in the place of a wrong cell: a value of the column's own domain, from the evidence against the cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rfod._evidence.collect import Collected
from rfod._evidence.reasons import clear_unit, near_text, written_category
from rfod._model.judged import JudgedTable
from rfod._table.encode import value_text


def suggest(collected: Collected, judged: JudgedTable, row: int, c: int, groups: Sequence[str]) -> str | None:
    """The suggestion of the strongest evidence that has one; None where none has."""
    ways: dict[str, Callable[[], str | None]] = {
        "spelling": lambda: _near(collected, row, c),
        "votes": lambda: _vote(collected, row, c),
        "regularities": lambda: _sum(collected, row, c),
        "forest": lambda: _expected(collected, judged, row, c),
    }
    for group in dict.fromkeys((*groups, "votes", "spelling", "forest")):
        if group in ways and (found := ways[group]()) is not None:
            return found
    return None


def _near(collected: Collected, row: int, c: int) -> str | None:
    column, cell = collected.written.columns[c], collected.inputs.cell(c, row)
    code = int(column.codes[row])
    if code < 0:
        return None
    near = near_text(cell)
    if near is not None:
        return collected.profile.columns[c].spelling.values.texts[near]
    if code in cell.words:
        word, better = cell.words[code]
        text = column.values[code]
        place = text.lower().find(word)
        if place < 0 or len(text.lower()) != len(text):
            return None
        old = text[place : place + len(word)]
        new = better.upper() if old.isupper() else better.capitalize() if old[0].isupper() else better
        return text[:place] + new + text[place + len(word) :]
    return None


def _vote(collected: Collected, row: int, c: int) -> str | None:
    votes = collected.inputs.cell(c, row).votes
    if votes.determinant[0] < 0 or votes.inputs[0, 0] <= 0:
        return None
    return collected.profile.columns[c].text_of.get(int(votes.rival[0]))


def _sum(collected: Collected, row: int, c: int) -> str | None:
    written = collected.written
    for rule in collected.profile.regularities:
        if rule.kind == "sum" and c in rule.columns and collected.inputs.broken(rule)[row]:
            total, *parts = (written.numbers[j] for j in rule.columns)
            if total is None or any(part is None for part in parts):
                continue
            values = [float(part[row]) for part in parts if part is not None]
            if c == rule.columns[0]:
                return as_written(collected, c, sum(values))
            own = rule.columns.index(c) - 1
            return as_written(collected, c, float(total[row]) - sum(values) + values[own])
    return None


def _expected(collected: Collected, judged: JudgedTable, row: int, c: int) -> str | None:
    j = int(collected.written.place[c])
    if j < 0:
        return None
    column, expected = judged.model.schema.columns[j], judged.cells.expected[j][row]
    if column.is_categorical:
        return written_category(collected, column, c, int(expected)) if expected >= 0 else None
    if not np.isfinite(expected):
        return None
    numbers = collected.written.numbers[c]
    if column.kind == "numeric" and numbers is not None:
        factor = clear_unit(collected, row, c, float(expected))
        return as_written(collected, c, float(expected) if factor is None else float(numbers[row]) * factor)
    return value_text(column, np.array([expected]))[0]


def as_written(collected: Collected, c: int, value: float) -> str:
    """A number with the decimals that the column usually has."""
    return f"{value:.{min(collected.profile.columns[c].decimals, 12)}f}"
