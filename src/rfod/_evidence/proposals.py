"""What may have stood in the place of a wrong cell: every way of undoing an error makes proposals, each a text of the
column's own domain, with the evidence for it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.collect import Collected
from rfod._evidence.context import column_order
from rfod._evidence.domain import LONGEST, SHORTEST, Domain, NumberStyle, date_style, in_form, usual_form, write_moment
from rfod._evidence.form import MARKS, marks_of
from rfod._evidence.inputs import CELL_INPUTS, ColumnInputs
from rfod._evidence.numbers import best_unit
from rfod._evidence.spelling import NOT_NEAR
from rfod._evidence.texts import Floats, code_points
from rfod._table.columns import Column
from rfod._table.encode import value_text

WAYS = (
    *("near", "word", "nearest", "letters", "words", "inside", "bare", "token", "removed", "form", "completed"),
    *("encoding", "digits", "votes", "forest", "unit", "sum", "equal", "between", "step", "swap"),
)
"""Ways of undoing an error; several may lead to one text."""
OF_OTHER_COLUMNS = frozenset({"equal", "sum", "swap"})
"""Ways that copy the values of other columns, or add them up."""
MORE_INPUTS = ("n_ways", "vote_against", "n_for", "n_against", "n_as_near")
"""Other evidence for and against a proposal."""
SPELLING = {name: CELL_INPUTS.index(name) for name in ("near", "near_digits", "near_word")}
RESIDUAL = CELL_INPUTS.index("residual")
RARE_SIGN = CELL_INPUTS.index("rare_sign")
PRACTICALLY_ALL = math.log(99)  # log-odds that a value of a column is different from all others
LEAST_STEPS = 0.5  # of the rows of a column that go on in even steps, for a value between two others to follow
_POWERS = (10.0, 100.0, 1000.0, 0.1, 0.01, 0.001, -1.0)
MOST_SWAPPED = 30  # columns that a cell may have been exchanged with
_ENCODINGS = ("cp1252", "latin-1", "cp1250", "cp437", "mac_roman")
_LOOK_ALIKE = {"0": "OoQD", "1": "lIi|!", "2": "Zz", "5": "Ss", "6": "bG", "8": "B", "9": "gq", ".": ","}
_CONFUSED = str.maketrans({letter: digit for digit, letters in _LOOK_ALIKE.items() for letter in letters})
_EDGES, _START, _END = (re.compile(pattern) for pattern in (r"^[^\w]+|[^\w]+$", r"^[^\w]+", r"[^\w]+$"))
_LETTER = MARKS.index("gram1")
Made = tuple[str, str, float, dict[str, float]]
"""Way, text, strength, and MORE_INPUTS."""
_NO_NUMBER = re.compile(r"[^0-9.]+")


@dataclass
class Proposal:
    """A text for one cell."""

    text: str
    strength: dict[str, float] = field(default_factory=dict)
    """By way: the evidence for the text, 0 where the way does not lead to it."""


class ColumnProposals:
    """Makes proposals for the cells of one column."""

    def __init__(self, collected: Collected, c: int) -> None:
        self.collected, self.c = collected, c
        self.column, self.known = collected.written.columns[c], collected.profile.columns[c]
        self.numbers = collected.written.numbers[c]
        j = int(collected.written.place[c])
        self.j = j
        self._letter_rows: dict[str, NDArray[np.int64]] = {}
        self.model_column: Column | None = None if j < 0 else collected.judged.model.schema.columns[j]

    @cached_property
    def domain(self) -> Domain:
        """The frequent values of the column."""
        return Domain(self.known.frequent, self.known.frequent_rows.tolist())

    @cached_property
    def style(self) -> NumberStyle:
        """How the column writes numbers."""
        decimal = "." if self.model_column is None else self.model_column.reading.decimal
        texts = self._texts
        return NumberStyle.of(texts, self.known.decimals, decimal or ".")

    @property
    def _texts(self) -> tuple[str, ...]:
        """Texts that show how the column is written: a new row does not."""
        return self.column.values if self.collected.judged.is_own else self.known.frequent

    @cached_property
    def _form(self) -> str | None:
        return usual_form(self._texts)

    @cached_property
    def _date_style(self) -> str | None:
        column = self.model_column
        if column is None or column.kind not in ("datetime", "time") or not self.collected.judged.is_own:
            return None
        rows = np.flatnonzero((self.column.codes >= 0) & np.isfinite(self._expected_of_column(observed=True)))[:500]
        seconds = self._expected_of_column(observed=True)[rows]
        texts = [self.column.values[code] for code in self.column.codes[rows]]
        return date_style(texts, seconds.tolist(), column.kind == "time")

    def _expected_of_column(self, observed: bool = False) -> Floats:
        judged = self.collected.judged
        return np.asarray(judged.encoded[self.j] if observed else judged.cells.expected[self.j], dtype=np.float64)

    @cached_property
    def _order(self) -> np.ndarray | None:
        judged = self.collected.judged
        return column_order(self.collected.written, self.c) if judged.is_own else None

    @cached_property
    def _step_share(self) -> float:
        """Share of the rows whose distance to the row before is that to the row after, and not 0."""
        if self.numbers is None or len(self.numbers) < 10:
            return 0.0
        with np.errstate(all="ignore"):
            step = np.diff(self.numbers)
            return float(np.mean((step[1:] == step[:-1]) & (step[1:] != 0)))

    def of(self, row: int, cell: ColumnInputs) -> list[Proposal]:
        """The proposals for a cell, of which `prepare` was told; none is what stands there."""
        code = int(self.column.codes[row])
        observed = "" if code < 0 else self.column.values[code]
        found: dict[str, Proposal] = {}
        extra: dict[str, dict[str, float]] = {}
        for way, text, strength, more in self._ways(row, code, observed, cell):
            text = text.strip()
            if text and text != observed and self._is_possible(text, observed, cell):
                proposal = found.setdefault(text, Proposal(text))
                proposal.strength[way] = max(strength, proposal.strength.get(way, 0.0))
                extra.setdefault(text, {}).update(more)
        for text, proposal in found.items():
            proposal.strength |= extra[text]
            proposal.strength["n_ways"] = float(sum(way in proposal.strength for way in WAYS))
        return list(found.values())

    def _is_possible(self, text: str, observed: str, cell: ColumnInputs) -> bool:
        """Whether a text can stand in the column: a number among numbers, without the rare sign of the observed one; in
        a column of different values none of another row."""
        if self._is_unique and text in self._taken:
            return False
        if self.numbers is None or text in self.domain.rows:
            return True
        number, before = self.style.read(text), self.style.read(observed)
        if number is None:
            return self.model_column is not None and self.model_column.kind in ("datetime", "time", "duration")
        return not (cell.values[0, RARE_SIGN] > 0 and before is not None and (number < 0) == (before < 0))

    @cached_property
    def _is_unique(self) -> bool:
        rules = self.collected.profile.regularities
        return any(
            rule.kind == "unique" and rule.columns == (self.c,) and rule.strength >= PRACTICALLY_ALL for rule in rules
        )

    @cached_property
    def _taken(self) -> frozenset[str]:
        return frozenset(self.column.values) if self.collected.judged.is_own else frozenset()

    def _ways(self, row: int, code: int, observed: str, cell: ColumnInputs) -> Iterator[Made]:
        values = cell.values[0]
        if code >= 0:
            yield from self._spelling(code, observed, cell)
            if self.numbers is not None and not np.isfinite(self.numbers[row]):
                yield from self._as_number(observed)
            for text in self._redecoded(observed):
                yield "encoding", text, 1.0, {}
        yield from self._vote(row, cell)
        if self.model_column is not None:
            yield from self._expected(row, observed, float(values[RESIDUAL]))
        yield from self._rules(row)
        yield from self._neighbours(row, code)
        yield from self._swapped(row, observed)

    def _spelling(self, code: int, observed: str, cell: ColumnInputs) -> Iterator[Made]:
        near = int(cell.near[0])
        if near != NOT_NEAR:
            gain = float(max(cell.values[0, SPELLING["near"]], cell.values[0, SPELLING["near_digits"]]))
            if gain > 0:
                yield "near", self.known.spelling.values.texts[near], gain, {}
        if code in cell.words:
            text = _with_word(observed, *cell.words[code])
            if text is not None:
                yield "word", text, float(cell.values[0, SPELLING["near_word"]]), {}
        domain = self.domain
        nearest = domain.nearest(observed)
        if nearest is not None:
            share = 1 - nearest.distance / max(1, len(observed))
            yield "nearest", nearest.text, share, {"n_as_near": float(nearest.n_others)}
        by_text: tuple[tuple[str, Callable[[str], str | None]], ...] = (
            ("letters", domain.same_letters),
            ("words", domain.same_words),
            ("inside", domain.inside),
        )
        for way, find in by_text:
            text = find(observed)
            if text is not None:
                yield way, text, 1.0, {}
        for text in dict.fromkeys(edge.sub("", observed) for edge in (_EDGES, _START, _END)):
            yield "bare", text, 1.0, {}
        for text in (observed.rpartition(" ")[0], observed.partition(" ")[2]):
            yield "token", text, 1.0, {}
        yield from self._without_rarest(observed)
        text = None if self._form is None else in_form(observed, self._form)
        if text is not None:
            yield "form", text, 1.0, {}
        completed = domain.completed(observed)
        if completed is not None:
            yield "completed", completed[0], 1 / (1 + completed[1]), {}

    def prepare(self, rows: Sequence[int]) -> None:
        """Count the letters of the cells of these rows together: one by one takes as long as all else."""
        codes = {int(code) for code in self.column.codes[list(rows)] if code >= 0}
        texts = sorted({self.column.values[code] for code in codes} - self._letter_rows.keys())
        if texts:
            marks = marks_of(code_points(texts))[_LETTER]
            counted = self.known.form.counts[_LETTER].find(marks.ravel()).reshape(marks.shape)
            self._letter_rows |= {text: counted[k, : len(text)] for k, text in enumerate(texts)}

    def _without_rarest(self, observed: str) -> Iterator[Made]:
        """A text without the letter that the fewest values of the column have."""
        if not SHORTEST <= len(observed) <= LONGEST:
            return
        rows = self._letter_rows[observed]
        rarest = int(np.argmin(rows))
        if 2 * np.count_nonzero(rows == rows[rarest]) <= len(rows):
            usual = float(np.median(rows)) + 1
            strength = float(np.log(usual / (rows[rarest] + 1)))
            yield "removed", observed[:rarest] + observed[rarest + 1 :], max(strength, 0.01), {}

    def _as_number(self, observed: str) -> Iterator[Made]:
        """A text among numbers without what is no digit, or with digits for the letters that look like them."""
        digits = _NO_NUMBER.sub("", observed)
        sign = "-" if observed.startswith("-") else ""
        for text, strength in ((sign + digits, 1.0), (observed.translate(_CONFUSED), 2.0)):
            if self.style.read(text) is not None:
                yield "digits", text, strength, {}

    @staticmethod
    def _redecoded(observed: str) -> Iterator[str]:
        """A text that was written in UTF-8 and read in an older encoding."""
        if observed.isascii():
            return
        for encoding in _ENCODINGS:
            try:
                yield observed.encode(encoding).decode("utf-8")
            except UnicodeError:
                continue

    def _vote(self, row: int, cell: ColumnInputs) -> Iterator[Made]:
        votes = cell.votes
        if votes.determinant[0] < 0 or votes.inputs[0, 0] <= 0:
            return
        text = self.known.text_of.get(int(votes.rival[0]))
        if text is None:
            return
        margins, same = votes.margins[:, 0], votes.same_rival[:, 0]
        more = {
            "n_for": float(((margins > 0) & same).sum()),
            "n_against": float(((margins > 0) & ~same).sum()),
            "vote_against": float(margins[(margins > 0) & ~same].max(initial=0.0)),
        }
        yield "votes", text, float(votes.inputs[0, 0]), more

    def _expected(self, row: int, observed: str, residual: float) -> Iterator[Made]:
        column, cells = self.model_column, self.collected.judged.cells
        assert column is not None
        expected = cells.expected[self.j][row]
        if column.is_categorical:
            if expected >= 0:
                text = written_category(self.collected, column, self.c, int(expected))
                yield "forest", text, float(cells.expected_share[row, self.j]), {}
            return
        if not np.isfinite(expected):
            return
        if column.kind in ("datetime", "time"):
            moment = None if self._date_style is None else write_moment(float(expected), self._date_style)
            if moment is not None:
                yield "forest", moment, 0.1, {}
            return
        if column.kind != "numeric":
            return
        yield "forest", self.style.write(Decimal(float(expected))), 0.1, {}
        number = self.style.read(observed)
        if number is None or number == 0:
            return
        value = float(number)
        before = abs(value - float(expected))
        spread = max(before / max(np.expm1(residual), 1e-9), 1e-300)
        for factor in {best_unit(value, float(expected)), *_POWERS}:
            gain = np.log((before + spread) / (abs(value * factor - float(expected)) + spread))
            if gain > 0:
                yield "unit", self.style.write(number * _exactly(factor)), float(gain), {}

    def _rules(self, row: int) -> Iterator[Made]:
        collected, c = self.collected, self.c
        for rule in collected.profile.regularities:
            if rule.kind not in ("sum", "equal") or c not in rule.columns or not collected.inputs.broken(rule)[row]:
                continue
            if rule.kind == "equal":
                other = collected.written.columns[next(j for j in rule.columns if j != c)]
                if other.codes[row] >= 0:
                    yield "equal", other.values[other.codes[row]], rule.strength, {}
                continue
            total, *parts = (collected.written.numbers[j] for j in rule.columns)
            if total is None or any(part is None for part in parts):
                continue
            values = [float(part[row]) for part in parts if part is not None]
            own = rule.columns.index(c) - 1
            value = sum(values) if own < 0 else float(total[row]) - sum(v for k, v in enumerate(values) if k != own)
            if np.isfinite(value):
                yield "sum", self.style.write(Decimal(repr(value))), rule.strength, {}

    def _neighbours(self, row: int, code: int) -> Iterator[Made]:
        """What the rows before and after share, or what lies between them in a column of even steps."""
        codes = self.column.codes
        if self._order is None or not 0 < row < len(codes) - 1:
            return
        before, after = int(codes[row - 1]), int(codes[row + 1])
        if before == after and before >= 0 and before != code:
            yield "between", self.column.values[before], max(0.01, float(self._order[row, 0])), {}
        if self.numbers is not None and self._step_share >= LEAST_STEPS:
            first, last = float(self.numbers[row - 1]), float(self.numbers[row + 1])
            is_number = self.model_column is None or self.model_column.kind == "numeric"
            if is_number and np.isfinite(first) and np.isfinite(last) and first != last:
                yield "step", self.style.write(Decimal(repr((first + last) / 2))), self._step_share, {}

    def _swapped(self, row: int, observed: str) -> Iterator[Made]:
        """What stands in another column of the row, where each of the two is at home in the column of the other."""
        if not observed or observed in self.domain.rows:
            return
        profile, columns = self.collected.profile, self.collected.written.columns
        for other in range(max(0, self.c - MOST_SWAPPED), min(len(columns), self.c + MOST_SWAPPED + 1)):
            code = int(columns[other].codes[row])
            if other == self.c or code < 0:
                continue
            text = columns[other].values[code]
            if text in self.domain.rows and text not in profile.columns[other].frequent_set:
                yield "swap", text, 1.0 + float(observed in profile.columns[other].frequent_set), {}


def _exactly(factor: float) -> Decimal:
    """A factor of another unit, or its inverse, in all its decimals."""
    return Decimal(repr(factor)) if factor >= 1 or factor < 0 else 1 / Decimal(repr(round(1 / factor, 9)))


def written_category(collected: Collected, column: Column, c: int, code: int) -> str:
    """A category as the column writes it: truth values as yes and no, or 1 and 0."""
    text = value_text(column, np.array([code], dtype=np.int32))[0]
    if column.kind == "boolean":
        return collected.profile.columns[c].truth_texts.get(text == "true", text)
    return text


def _with_word(text: str, word: str, better: str) -> str | None:
    """A text with a better word in the place of one of its words, in the case of the old one."""
    place = text.lower().find(word)
    if place < 0 or len(text.lower()) != len(text):
        return None
    old = text[place : place + len(word)]
    new = better.upper() if old.isupper() else better.capitalize() if old[0].isupper() else better
    return text[:place] + new + text[place + len(word) :]
