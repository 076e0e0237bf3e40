"""Evidence in words: one half-sentence per group, with the counts behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rfod._evidence.collect import Collected
from rfod._evidence.form import MARKS, NO_LETTER, marks_of
from rfod._evidence.inputs import CELL_INPUTS
from rfod._evidence.numbers import best_unit
from rfod._evidence.profile import FACTS
from rfod._evidence.regularities import violations
from rfod._evidence.spelling import NOT_NEAR
from rfod._model.judged import JudgedTable
from rfod._table.encode import one_line, value_text

_PLACE = {name: number for number, name in enumerate(CELL_INPUTS)}
_GRAMS = {
    "gram1": ("the letter", "stands", 1),
    "gram2": ("the letters", "stand", 2),
    "gram3": ("the letters", "stand", 3),
}
_UNITS = {10.0: "ten times", 100.0: "a hundred times", 1000.0: "a thousand times"}
_LETTER_BITS = 21


@dataclass(frozen=True)
class Reason:
    """What one group of evidence says of a cell."""

    group: str
    text: str


def reasons_of(collected: Collected, judged: JudgedTable, row: int, c: int, groups: Sequence[str]) -> list[Reason]:
    """Half-sentences of the groups, in their order; groups with nothing to say are left out, the first excepted."""
    say = {
        "form": _form,
        "spelling": _spelling,
        "votes": _votes,
        "forest": _forest,
        "margin": _margin,
        "regularities": _regularity,
    }
    found = [Reason(group, say[group](collected, judged, row, c)) for group in groups]
    return [reason for reason in found if reason.text] or found[:1]


def _form(collected: Collected, judged: JudgedTable, row: int, c: int) -> str:
    inputs, column = collected.inputs.values[c, row], collected.written.columns[c]
    known = collected.profile.columns[c]
    n_values = known.n_rows - known.n_blank
    if inputs[_PLACE["gap"]] > 0:
        return f"{n_values:,} of {known.n_rows:,} rows have a value"
    text = column.values[column.codes[row]]
    if inputs[_PLACE["type_break"]] > 0:
        n_numbers = round(float(known.facts[FACTS.index("numeric_share")]) * n_values)
        return f"it is not a number; {n_numbers:,} of {n_values:,} values are"
    if inputs[_PLACE["encoding"]] > 0:
        return "letters are broken, as by a wrong encoding"
    if inputs[_PLACE["disguised_gap"]] > 0:
        return "it looks like a word for a missing value"
    if inputs[_PLACE["padded"]] > 0:
        return f"it has blanks around it; {known.n_rows - known.n_padded:,} of {known.n_rows:,} values do not"
    marks = {mark: float(inputs[_PLACE[f"form_{mark}"]]) for mark in MARKS}
    order = sorted(marks, key=lambda mark: -marks[mark])
    mark = next((mark for mark in order if mark in _GRAMS and marks[mark] >= 0.7 * marks[order[0]]), order[0])
    if marks[mark] <= 0:
        return ""
    number = MARKS.index(mark)
    keys = marks_of(column.points[column.codes[row]][None])[number][0]
    rows = known.form.counts[number].find(keys)
    rarest = int(np.argmin(np.where(keys == NO_LETTER, NO_LETTER, rows)))
    n_rows, usual = max(1, int(rows[rarest])), int(known.form.breaks[number])
    times = "in this cell only" if n_rows == 1 else f"in {n_rows:,} cells"
    if mark in _GRAMS:
        subject, verb, size = _GRAMS[mark]
        letters = one_line(text[rarest : rarest + size])
        return f"{subject} '{letters}' {verb} {times}; others in at least {usual:,}"
    if mark == "length":
        return f"its length of {len(text)} occurs {times}; others in at least {usual:,}"
    if mark == "value":
        return f"this value occurs {times}; others in at least {usual:,}"
    return f"its form occurs {times}; others in at least {usual:,}"


def _spelling(collected: Collected, judged: JudgedTable, row: int, c: int) -> str:
    column, spelling = collected.written.columns[c], collected.inputs.spelling[c]
    code = int(column.codes[row])
    if code < 0:
        return ""
    vocabulary = collected.profile.columns[c].spelling
    near = int(spelling.suggested[code])
    if near != NOT_NEAR and max(spelling.near[code], spelling.near_digits[code]) > 0:
        text, rows = vocabulary.values.texts[near], int(vocabulary.values.counts[near])
        return f"it is one letter from '{one_line(text)}' ({rows:,} rows)"
    if code in spelling.words:
        word, better = spelling.words[code]
        return f"'{one_line(word)}' is one letter from '{one_line(better)}'"
    return ""


def _votes(collected: Collected, judged: JudgedTable, row: int, c: int) -> str:
    votes = collected.inputs.votes[c]
    number = int(votes.determinant[row])
    if number < 0:
        return ""
    vote = collected.profile.determinants[c][number]
    by = collected.written.columns[vote.column]
    rival = collected.profile.columns[c].text_of.get(int(votes.rival[row]))
    n_rival, n_own = (round(float(np.expm1(votes.inputs[row, place]))) for place in (2, 3))
    if rival is None or not n_rival:
        return ""
    value = by.values[by.codes[row]]
    rows = f"{n_rival:,} of {n_rival + n_own:,} other rows" if n_own else f"all {n_rival:,} other rows"
    if n_rival == 1 and not n_own:
        rows = "the only other row"
    return f"{rows} with {by.name} = '{one_line(value)}' {'has' if n_rival == 1 else 'have'} '{one_line(rival)}'"


def _forest(collected: Collected, judged: JudgedTable, row: int, c: int) -> str:
    j = int(collected.written.place[c])
    if j < 0:
        return ""
    column, cells = judged.model.schema.columns[j], judged.cells
    expected = cells.expected[j][row]
    if column.is_categorical:
        if expected < 0:
            return ""
        text = value_text(column, np.array([expected], dtype=np.int32))[0]
        return f"the other columns lead to '{text}' ({100 * cells.expected_share[row, j]:.0f} %)"
    if not np.isfinite(expected):
        return ""
    numbers = collected.written.numbers[c]
    if collected.inputs.values[c, row, _PLACE["unit"]] > 1.5 and numbers is not None:
        factor = best_unit(float(numbers[row]), float(expected))
        words = _UNITS.get(factor) or (f"one {_UNITS[1 / factor].split()[-2]}th of" if 1 / factor in _UNITS else "")
        if factor == -1.0:
            return "with the other sign it would be as expected"
        return (
            f"{words} it would be as expected"
            if words
            else f"in another unit (times {factor:.4g}) it would be as expected"
        )
    return f"the other columns lead to about {value_text(column, np.array([_rounded(float(expected))]))[0]}"


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _margin(collected: Collected, judged: JudgedTable, row: int, c: int) -> str:
    known, values = collected.profile.columns[c].numbers, collected.written.numbers[c]
    if known is None or values is None or not np.isfinite(values[row]):
        return ""
    if collected.inputs.values[c, row, _PLACE["rare_sign"]] > 0:
        n_same = round((known.negative if values[row] < 0 else 1 - known.negative) * known.n_values)
        return f"only {n_same:,} of {known.n_values:,} values have this sign"
    low, high = float(known.quantiles[3]), float(known.quantiles[-4])
    j = int(collected.written.place[c])
    if j < 0:
        return f"nearly all values are between {low:g} and {high:g}"
    first, last = value_text(judged.model.schema.columns[j], np.array([low, high]))
    return f"nearly all values are between {first} and {last}"


def _regularity(collected: Collected, judged: JudgedTable, row: int, c: int) -> str:
    written = collected.written
    for rule in collected.profile.regularities:
        if (
            c in rule.columns
            and rule.kind != "unique"
            and violations(rule, written.columns, written.numbers, None)[row]
        ):
            return f"{rule.text(collected.profile.names)}, but not here"
    for rule in collected.profile.regularities:
        if c in rule.columns and rule.kind == "unique":
            return f"another row has the same value; {rule.text(collected.profile.names)}"
    return ""
