"""Evidence in words: one half-sentence per group, with the counts behind it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from rfod._evidence.collect import Collected
from rfod._evidence.form import MARKS, NO_LETTER, marks_of
from rfod._evidence.inputs import CELL_INPUTS, ColumnInputs
from rfod._evidence.numbers import as_numbers, best_unit
from rfod._evidence.profile import FACTS
from rfod._evidence.proposals import written_category
from rfod._evidence.spelling import NOT_NEAR
from rfod._evidence.texts import code_points
from rfod._model.judged import JudgedTable
from rfod._table.encode import one_line, value_text
from rfod._table.kinds import kind_of

_PLACE = {name: number for number, name in enumerate(CELL_INPUTS)}
_GRAMS = {
    "gram1": ("the letter", "stands", 1),
    "gram2": ("the letters", "stand", 2),
    "gram3": ("the letters", "stand", 3),
}
_UNITS = {10.0: "ten times", 100.0: "a hundred times", 1000.0: "a thousand times"}
CLEAR_UNIT = 1.5  # log of how much nearer another unit brings a number to what is expected
NEAR_UNIT = 2.0  # local spreads that a number may be away from what was expected, in the other unit, ...
NEAR_SHARE = 0.3  # ... and share of what was expected
SAME_NUMBER = 0.01  # share by which a suggestion, rounded as its column is, may differ from a number in another unit
MOST_LETTERS = 1  # of a rare piece that cells are grouped by; longer ones differ from cell to cell
ReasonText = tuple[str, str] | tuple[str, str, str]  # text and sort of a reason, and what it leads to
NO_TEXT: ReasonText = ("", "")


@dataclass(frozen=True)
class Reason:
    """One group of evidence on a cell, in words."""

    group: str
    text: str = ""
    sort: str = ""
    """The same without what holds for this cell alone, after the name of the column: cells with one sort are alike."""
    leads_to: str | None = None
    """The value that it names in place of the observed one; None where it names none."""


def reasons_of(
    collected: Collected,
    judged: JudgedTable,
    row: int,
    c: int,
    groups: Sequence[str],
    hidden: Collection[str] = (),
    suggested: str | None = None,
) -> list[Reason]:
    """Half-sentences of the groups, in their order; groups without a text are left out, the first excepted. Those that
    lead to another value than the suggested one come last. Values of `hidden` columns are not told."""
    make: dict[str, Callable[[], ReasonText]] = {
        "form": lambda: _form(collected, row, c),
        "spelling": lambda: _spelling(collected, row, c),
        "votes": lambda: _votes(collected, row, c, hidden),
        "forest": lambda: _forest(collected, judged, row, c, suggested),
        "margin": lambda: _margin(collected, judged, row, c),
        "regularities": lambda: _regularity(collected, row, c),
    }
    numbers = collected.written.numbers[c]
    if numbers is not None and np.isfinite(numbers[row]):  # to a reader, the form of a number is the weakest
        groups = sorted(groups, key=lambda group: group == "form")
    found = [Reason(group, *make[group]()) for group in groups]
    found = [reason for reason in found if reason.text] or found[:1]
    if suggested is None:
        return found
    return sorted(found, key=lambda reason: reason.leads_to not in (None, suggested))


def _form(collected: Collected, row: int, c: int) -> ReasonText:
    inputs, column = collected.inputs.cell(c, row).values[0], collected.written.columns[c]
    known = collected.profile.columns[c]
    n_values = known.n_rows - known.n_blank
    if inputs[_PLACE["gap"]] > 0:
        return f"{n_values:,} of {known.n_rows:,} rows have a value", "is missing"
    text = column.values[column.codes[row]]
    if inputs[_PLACE["disguised_gap"]] > 0:
        return "it looks like a word for a missing value", "holds a word for a missing value"
    if inputs[_PLACE["type_break"]] > 0:
        j, n_read = int(collected.written.place[c]), float(known.facts[FACTS.index("numeric_share")]) * n_values
        kind = "numeric" if j < 0 else collected.judged.model.schema.columns[j].kind
        noun = kind_of("numeric" if kind == "categorical" else kind).noun
        return f"it is not a {noun} ({round(n_read):,} of {n_values:,} values are)", f"is not a {noun}"
    if inputs[_PLACE["encoding"]] > 0:
        return "letters are broken, as by a wrong encoding", "has letters broken by a wrong encoding"
    if inputs[_PLACE["padded"]] > 0:
        n_plain = known.n_rows - known.n_padded
        return f"it has blanks around it ({n_plain:,} of {known.n_rows:,} values do not)", "has blanks around it"
    marks = {mark: float(inputs[_PLACE[f"form_{mark}"]]) for mark in MARKS}
    order = sorted(marks, key=lambda mark: -marks[mark])
    mark = next((mark for mark in order if mark in _GRAMS and marks[mark] >= 0.7 * marks[order[0]]), order[0])
    if marks[mark] <= 0:
        return NO_TEXT
    number = MARKS.index(mark)
    keys = marks_of(code_points([text]))[number][0]
    rows = known.form.counts[number].find(keys)
    rarest = int(np.argmin(np.where(keys == NO_LETTER, NO_LETTER, rows)))
    is_own = collected.judged.is_own
    n_rows = max(1, int(rows[rarest]) + (0 if is_own else 1))
    usual = int(known.form.ordinary(number, np.array([float(n_rows)]), is_own)[0])
    times = "in this cell only" if n_rows == 1 else f"in {n_rows:,} cells"
    if mark in _GRAMS:
        subject, verb, size = _GRAMS[mark]
        letters = one_line(text[rarest : rarest + size])
        if letters.isdecimal() and size == 1:
            return f"a digit occurs {times} (letters in at least {usual:,})", "has a digit"
        letters = "".join("#" if letter.isdecimal() else letter for letter in letters)  # digits count as one
        digits = "; # is any digit" if "#" in letters else ""
        sort = f"has the {subject[4:].rstrip('s')} '{letters}'" if size <= MOST_LETTERS else "has an unusual form"
        return f"{subject} '{letters}' {verb} {times} (others in at least {usual:,}{digits})", sort
    if mark == "length":
        return f"its length of {len(text)} occurs {times} (others in at least {usual:,})", "has an unusual length"
    if mark == "value":
        return f"this value occurs {times} (others in at least {usual:,})", "has a value that hardly occurs"
    return f"its form occurs {times} (others in at least {usual:,})", "has an unusual form"


def _spelling(collected: Collected, row: int, c: int) -> ReasonText:
    cell, code = collected.inputs.cell(c, row), int(collected.written.columns[c].codes[row])
    if code < 0:
        return NO_TEXT
    vocabulary = collected.profile.columns[c].spelling
    near = near_text(cell)
    if near is not None:
        n_rows, better = int(vocabulary.values.counts[near]), one_line(vocabulary.values.texts[near])
        text = f"it is one letter from '{better}' ({n_rows:,} rows)"
        return text, "is one letter from a frequent value", vocabulary.values.texts[near]
    if code in cell.words:
        word, better = cell.words[code]
        text = f"'{one_line(word)}' is one letter from '{one_line(better)}'"
        return text, "has a word one letter from a frequent one"
    return NO_TEXT


def near_text(cell: ColumnInputs) -> int | None:
    """The place of the near text of a cell in its column's vocabulary; None if none is more frequent."""
    near = int(cell.near[0])
    is_rarer = max(cell.values[0, _PLACE["near"]], cell.values[0, _PLACE["near_digits"]]) > 0
    return near if near != NOT_NEAR and is_rarer else None


def _votes(collected: Collected, row: int, c: int, hidden: Collection[str]) -> ReasonText:
    votes = collected.inputs.cell(c, row).votes
    number = int(votes.determinant[0])
    if number < 0:
        return NO_TEXT
    vote = collected.profile.determinants[c][number]
    by = [collected.written.columns[j] for j in vote.columns]
    rival = collected.profile.columns[c].text_of.get(int(votes.rival[0]))
    n_rival, n_own = (round(float(np.expm1(votes.inputs[0, place]))) for place in (2, 3))
    if rival is None or not n_rival:
        return NO_TEXT
    rows = f"{n_rival:,} of {n_rival + n_own:,} other rows" if n_own else f"all {n_rival:,} other rows"
    if n_rival <= 2 and not n_own:
        rows = "the only other row" if n_rival == 1 else "both other rows"
    names = [one_line(column.name) for column in by]
    values = [one_line(column.values[column.codes[row]]) for column in by]
    shared = [
        f"the same {name}" if column.name in hidden else f"{name} = '{value}'"
        for column, name, value in zip(by, names, values, strict=True)
    ]
    text = f"{rows} with {' and '.join(shared)} {'has' if n_rival == 1 else 'have'} '{one_line(rival)}'"
    return text, f"differs from other rows with the same {' and '.join(names)}", rival


def _forest(collected: Collected, judged: JudgedTable, row: int, c: int, suggested: str | None) -> ReasonText:
    j = int(collected.written.place[c])
    if j < 0:
        return NO_TEXT
    column, cells = judged.model.schema.columns[j], judged.cells
    expected = cells.expected[j][row]
    if column.is_categorical:
        if expected < 0:
            return NO_TEXT
        text = written_category(collected, column, c, int(expected))
        share = 100 * cells.expected_share[row, j]
        return (
            f"the other columns lead to '{one_line(text)}' ({share:.0f} %)",
            "is not what the other columns lead to",
            text,
        )
    if not np.isfinite(expected):
        return NO_TEXT
    factor = clear_unit(collected, row, c, float(expected), suggested)
    if factor is not None:
        words = _UNITS.get(factor) or (f"one {_UNITS[1 / factor].split()[-2]}th of" if 1 / factor in _UNITS else "")
        if factor == -1.0:
            return "with the other sign it would be as expected", "has the wrong sign"
        words = f"{words} it" if words else f"in another unit (times {factor:.4g}) it"
        return f"{words} would be as expected", f"would be as expected times {factor:.4g}"
    about = value_text(column, np.array([_rounded(float(expected))]))[0]
    return f"the other columns lead to about {about}", "is not what the other columns lead to"


def clear_unit(collected: Collected, row: int, c: int, expected: float, suggested: str | None) -> float | None:
    """The factor that makes a number what was expected of it; None where none clearly does, or another number is
    suggested."""
    numbers = collected.written.numbers[c]
    if numbers is None or collected.inputs.cell(c, row).values[0, _PLACE["unit"]] <= CLEAR_UNIT:
        return None
    value = float(numbers[row])
    factor = best_unit(value, expected)
    local_spread = abs(value - expected) / np.expm1(collected.inputs.cell(c, row).values[0, _PLACE["residual"]])
    if abs(value * factor - expected) > min(NEAR_UNIT * local_spread, NEAR_SHARE * abs(expected)):
        return None
    if suggested is None:
        return factor
    column = collected.judged.model.schema.columns[int(collected.written.place[c])]
    plain = suggested.replace(".", "").replace(",", ".") if column.reading.decimal == "," else suggested
    read = as_numbers((plain,))[0]
    return None if abs(value * factor - read) > SAME_NUMBER * abs(read) else factor


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _margin(collected: Collected, judged: JudgedTable, row: int, c: int) -> ReasonText:
    known, values = collected.profile.columns[c].numbers, collected.written.numbers[c]
    if known is None or values is None or not np.isfinite(values[row]):
        return NO_TEXT
    if collected.inputs.cell(c, row).values[0, _PLACE["rare_sign"]] > 0:
        n_same = round((known.negative if values[row] < 0 else 1 - known.negative) * known.n_values)
        return f"only {n_same:,} of {known.n_values:,} values have this sign", "has an unusual sign"
    low, high = float(known.quantiles[3]), float(known.quantiles[-4])
    if low <= values[row] <= high:
        return NO_TEXT
    j = int(collected.written.place[c])
    if j < 0 or judged.model.is_categorical[j]:
        return f"nearly all values are between {low:g} and {high:g}", "is far from the other values"
    first, last = value_text(judged.model.schema.columns[j], np.array([low, high]))
    return f"nearly all values are between {first} and {last}", "is far from the other values"


def _regularity(collected: Collected, row: int, c: int) -> ReasonText:
    for rule in collected.profile.regularities:
        if c in rule.columns and rule.kind != "unique" and collected.inputs.broken(rule)[row]:
            text = rule.text(collected.profile.names)
            return f"{text}, but not here", f"breaks a rule: {text}"
    for rule in collected.profile.regularities:
        if c in rule.columns and rule.kind == "unique" and collected.inputs.broken(rule)[row]:
            text = rule.text(collected.profile.names)
            return f"another row has the same value ({text})", "is the same as in another row"
    return NO_TEXT
