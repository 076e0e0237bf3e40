"""Conditions on rows, as a person writes them: `country = NZ and weight > 100`.

    condition   = part { "or" part }
    part        = term { "and" term }
    term        = "not" term | "(" condition ")" | column test
    test        = ("=" | "!=" | "<" | "<=" | ">" | ">=") value
                | "in" "(" value { "," value } ")"
                | "between" value "and" value
                | "is" ["not"] "missing"

A column or value with other words of the language in it stands in quotes, ' or ", doubled inside.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rfod._decisions.texts import cell_texts, comparable
from rfod._table.table import Table
from rfod._table.values import family, plain, read_numbers
from rfod.exceptions import DecisionsError, did_you_mean

Mask = NDArray[np.bool_]

_SPACES = re.compile(r"\s*")
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_SIGN = re.compile(r"<=|>=|==|!=|<>|=|<|>")
_WORD = re.compile(r"[^\s()=<>!,'\"]+")
_BARE = re.compile(r"[^()=<>!'\"]+?(?=\s+(?:and|or)\b|\s*[)=<>!]|\s*$|,(?!\d{3}(?!\d)))", re.IGNORECASE)
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_ORDERS: dict[str, Callable[[NDArray[np.float64], float], Mask]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SAME = {"==": "=", "<>": "!="}
MOST_LETTERS = 10_000
MOST_DEPTH = 50  # of parentheses


@dataclass(frozen=True)
class Test:
    """What a column has to meet."""

    column: str
    relation: str
    """"=", "!=", "<", "<=", ">", ">=", "in", "between", "missing" or "present"."""
    values: tuple[str, ...] = ()

    def holds(self, table: Table) -> Mask:
        """(rows,): where it does. A gap meets "missing" only."""
        texts = cell_texts(table, self.column)
        gap = np.array([text is None for text in texts], dtype=np.bool_)
        if self.relation in ("missing", "present"):
            return gap if self.relation == "missing" else ~gap
        if self.relation in ("=", "!=", "in"):
            wanted = {comparable(value) for value in self.values}
            same = np.array([comparable(text) in wanted for text in texts], dtype=np.bool_)
            return ~same & ~gap if self.relation == "!=" else same & ~gap
        numbers, bounds = self._numbers(table, texts)
        with np.errstate(invalid="ignore"):
            if self.relation == "between":
                return np.asarray((numbers >= bounds[0]) & (numbers <= bounds[1]))
            return np.asarray(_ORDERS[self.relation](numbers, bounds[0]))

    def _numbers(self, table: Table, texts: Sequence[str | None]) -> tuple[NDArray[np.float64], list[float]]:
        """The column and the bounds as numbers, or as seconds since 1970."""
        column = plain(table.column(self.column, mixed_as_text=True))
        held = family(column.type)
        if held == "datetime":
            return read_numbers(column), [self._bound(value, _seconds) for value in self.values]
        bounds = [self._bound(value, _number) for value in self.values]
        if held == "text":
            return np.array([_number(text) for text in texts], dtype=np.float64), bounds
        return read_numbers(column), bounds

    def _bound(self, value: str, read: Callable[[str], float]) -> float:
        found = read(value)
        if np.isnan(found):
            what = "date" if read is _seconds else "number"
            raise DecisionsError(
                f"The condition compares {self.column!r} with {value!r}, which is no {what}.\n"
                "Hint: < and > take numbers, and of columns of dates a date such as 2024-12-31."
            )
        return found


@dataclass(frozen=True)
class Both:
    """All parts have to hold, or one of them."""

    parts: tuple[Node, ...]
    is_all: bool

    def holds(self, table: Table) -> Mask:
        """(rows,): where they do."""
        found = self.parts[0].holds(table)
        for part in self.parts[1:]:
            found = found & part.holds(table) if self.is_all else found | part.holds(table)
        return found


@dataclass(frozen=True)
class Not:
    """A part must not hold."""

    part: Node

    def holds(self, table: Table) -> Mask:
        """(rows,): where it does not."""
        return ~self.part.holds(table)


Node = Test | Both | Not


def parse_condition(text: str, names: Sequence[str]) -> Node:
    """The condition, on columns of these names; `DecisionsError` for what is none."""
    if len(text) > MOST_LETTERS:
        raise DecisionsError(f"The condition has {len(text):,} letters; {MOST_LETTERS:,} are the most.")
    return _Parser(text, names).parse()


class _Parser:
    """Reads a condition from left to right."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self._text, self._names = text, sorted(names, key=len, reverse=True)
        self._at, self._depth = 0, 0

    def parse(self) -> Node:
        found = self._any()
        if self._rest():
            raise self._error("'and', 'or' or the end is expected")
        return found

    def _any(self) -> Node:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise self._error(f"more than {MOST_DEPTH} parentheses are open")
        parts = [self._all()]
        while self._keyword("or"):
            parts.append(self._all())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else Both(tuple(parts), False)

    def _all(self) -> Node:
        parts = [self._term()]
        while self._keyword("and"):
            parts.append(self._term())
        return parts[0] if len(parts) == 1 else Both(tuple(parts), True)

    def _term(self) -> Node:
        n_not = 0
        while self._keyword("not"):
            n_not += 1
        if self._letter("("):
            part = self._any()
            self._require(")")
        else:
            part = self._test()
        return Not(part) if n_not % 2 else part

    def _test(self) -> Test:
        column = self._column()
        if self._keyword("is"):
            relation = "present" if self._keyword("not") else "missing"
            if not self._keyword("missing"):
                raise self._error("'missing' or 'not missing' is expected")
            return Test(column, relation)
        if self._keyword("in"):
            self._require("(")
            values = [self._value()]
            while self._letter(","):
                values.append(self._value())
            self._require(")")
            return Test(column, "in", tuple(values))
        if self._keyword("between"):
            low = self._value()
            if not self._keyword("and"):
                raise self._error("'and' is expected")
            return Test(column, "between", (low, self._value()))
        sign = self._take(_SIGN)
        if sign is None:
            raise self._error("=, !=, <, <=, >, >=, 'in', 'between' or 'is' is expected")
        return Test(column, _SAME.get(sign, sign), (self._value(),))

    def _column(self) -> str:
        quoted = self._take(_QUOTED)
        if quoted is not None:
            name = _unquoted(quoted)
            if name not in self._names:
                raise self._no_column(name)
            return name
        rest = self._rest()
        for name in self._names:  # the longest that fits
            if name and rest.startswith(name) and not re.match(r"\w", rest[len(name) :]):
                self._at += len(name)
                return name
        word = _WORD.match(rest)
        if word is None:
            raise self._error("the name of a column is expected")
        raise self._no_column(word[0])

    def _no_column(self, name: str) -> DecisionsError:
        hint = did_you_mean(name, self._names) or "quote a name that has other words of the condition in it."
        return DecisionsError(f"The condition {self._text!r}: there is no column {name!r}.\nHint: {hint}")

    def _value(self) -> str:
        quoted = self._take(_QUOTED)
        if quoted is not None:
            return _unquoted(quoted)
        bare = self._take(_BARE)
        if bare is None or not bare.strip():
            raise self._error("a value is expected, in quotes if it is no plain word or number")
        bare = bare.strip()
        return bare.replace(",", "") if _GROUPED.fullmatch(bare) else bare

    def _rest(self) -> str:
        self._at = _SPACES.match(self._text, self._at).end()  # type: ignore[union-attr]
        return self._text[self._at :]

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self._rest())
        if found is None:
            return None
        self._at += found.end()
        return found[0]

    def _keyword(self, word: str) -> bool:
        return self._take(re.compile(rf"{word}\b", re.IGNORECASE)) is not None

    def _letter(self, letter: str) -> bool:
        return self._take(re.compile(re.escape(letter))) is not None

    def _require(self, letter: str) -> None:
        if not self._letter(letter):
            raise self._error(f"{letter!r} is expected")

    def _error(self, problem: str) -> DecisionsError:
        rest = self._rest()
        where = f"before {rest[:30]!r}" if rest else "at its end"
        return DecisionsError(
            f"The condition {self._text!r} cannot be read: {problem} {where}.\n"
            "Hint: it is written like country = NZ and weight > 100; quote names and values with spaces or signs."
        )


def _unquoted(text: str) -> str:
    return text[1:-1].replace(text[0] * 2, text[0])


def _number(text: str | None) -> float:
    """A number, NaN for what is none."""
    try:
        return float("nan") if text is None or "_" in text else float(text)
    except ValueError:
        return float("nan")


def _seconds(text: str) -> float:
    """A date in seconds since 1970, NaN for what is none."""
    try:
        return float(np.datetime64(text.strip().replace(" ", "T"), "us").astype(np.int64)) / 1e6
    except ValueError:
        return float("nan")
