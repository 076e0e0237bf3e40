"""The values of one column, looked up by what a slip leaves of them, and how the column writes numbers and dates."""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from functools import cached_property

from rapidfuzz import process
from rapidfuzz.distance import OSA

SHORTEST = 3  # letters of a text that is completed or compared with others
MOST_COMPARED = 2_000  # values of a column, the most frequent, that a misspelt text is compared with
MOST_WRONG = 0.34  # of the letters of a text may differ from what was meant
LONGEST = 64  # letters of a text that is compared
LEAST_SHARE = 0.9  # of the values of a column that are written in one way
MOST_DECIMALS = 15
STYLE_VALUES = 500  # that the way of writing is read from
_DIGITS = Context(prec=400, rounding=ROUND_HALF_EVEN)  # any number below the largest float
_SEPARATORS = re.compile(r"[\s,;:/_\-]+")
_NOT_ALPHANUMERIC = re.compile(r"[^\w]+|_")
_ALPHANUMERIC = re.compile(r"[^\W_]")
_EDGES = re.compile(r"^[^\w]+|[^\w]+$")
_NUMBER = re.compile(
    r"(?P<before>[^\d+\-.,]*)(?P<number>[+-]?\d(?:[\d.,' \u00a0\u202f\u2019]*\d)?|[+-]?\.\d+)(?P<after>\D*)"
)
_GROUPED = re.compile(r"\d{1,3}([,.' \u00a0\u202f\u2019])\d{3}(?:\1\d{3})*(?!\d)")
_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y", "%d %b %Y", "%d %B %Y",
          "%B %d, %Y", "%b %d, %Y", "%d-%b-%Y")  # fmt: skip
_CLOCKS = ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S", "T%H:%M", "T%H:%M:%SZ", " %I:%M %p", " %I:%M:%S %p")
_TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")


@dataclass(frozen=True)
class Near:
    """A value of a column that a text may stand for."""

    text: str
    distance: int
    """Letters that are replaced, added, left out or exchanged with their neighbour."""
    n_others: int
    """Other values that are as near."""


class Domain:
    """The values that at least two rows of a column have, the most frequent first, with their rows."""

    def __init__(self, values: Sequence[str], rows: Sequence[int]) -> None:
        self.rows: dict[str, int] = dict(zip(values, rows, strict=True))

    @cached_property
    def _folded(self) -> dict[str, str]:
        return self._by(lambda text: "".join(text.casefold().split()))

    @cached_property
    def _letters(self) -> dict[str, str]:
        return self._by(lambda text: _NOT_ALPHANUMERIC.sub("", text.casefold()))

    @cached_property
    def _words(self) -> dict[str, str]:
        return self._by(_sorted_words)

    def _by(self, key_of: Callable[[str], str]) -> dict[str, str]:
        """The most frequent value with each key."""
        found: dict[str, str] = {}
        for value in self.rows:
            found.setdefault(key_of(value), value)
        return found

    def same_letters(self, text: str) -> str | None:
        """The value that differs in case and blanks only, or in marks too."""
        folded = "".join(text.casefold().split())
        letters = _NOT_ALPHANUMERIC.sub("", folded)
        return _other(text, self._folded.get(folded) or (self._letters.get(letters) if letters else None))

    def same_words(self, text: str) -> str | None:
        """The value that has the same words in another order."""
        return _other(text, self._words.get(_sorted_words(text)))

    def inside(self, text: str) -> str | None:
        """The longest value that a text begins or ends with; or that it is with marks around it."""
        parts = (text[cut:] for cut in range(1, len(text) - SHORTEST + 1))
        parts_before = (text[:-cut].rstrip() for cut in range(1, len(text) - SHORTEST + 1))
        for pair in zip(parts, parts_before, strict=True):
            for part in pair:
                if part.strip() in self.rows:
                    return part.strip()
        stripped = _EDGES.sub("", text)
        return stripped if stripped != text and stripped in self.rows else None

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.rows)

    def completed(self, text: str) -> tuple[str, int] | None:
        """The most frequent value that begins with a text, and how many others do."""
        start = text.rstrip(". …")
        if len(start) < 2:
            return None
        place, found = bisect_left(self._sorted, start), []
        while place < len(self._sorted) and self._sorted[place].startswith(start):
            if self._sorted[place] != text:
                found.append(self._sorted[place])
            place += 1
        if not found:
            return None
        return max(found, key=self.rows.__getitem__), len(found) - 1

    @cached_property
    def _compared(self) -> list[str]:
        return [value for value in self.rows if SHORTEST <= len(value) <= LONGEST][:MOST_COMPARED]

    def nearest(self, text: str) -> Near | None:
        """The nearest value, of equally near ones the most frequent."""
        if not SHORTEST <= len(text) <= LONGEST:
            return None
        most = max(1, int(MOST_WRONG * len(text)))
        matches = process.extract(text, self._compared, scorer=OSA.distance, score_cutoff=most, limit=4)
        near = [(int(distance), place, value) for value, distance, place in matches if value != text]
        if not near:
            return None
        least = min(near)[0]
        best = min(found for found in near if found[0] == least)
        return Near(best[2], least, sum(found[0] == least for found in near) - 1)


def _other(text: str, found: str | None) -> str | None:
    return None if found == text else found


def _sorted_words(text: str) -> str:
    return " ".join(sorted(_SEPARATORS.split(text.casefold())))


@dataclass(frozen=True)
class NumberStyle:
    """How a column writes numbers."""

    least: int
    """Decimals that practically all numbers have."""
    most: int
    decimal: str = "."
    group: str = ""
    before: str = ""
    after: str = ""

    @classmethod
    def of(cls, texts: Sequence[str], decimals: int, decimal: str = ".") -> NumberStyle:
        """From some of the column's texts; `decimals` where they say nothing."""
        found = [match for match in map(_NUMBER.fullmatch, texts[:STYLE_VALUES]) if match is not None]
        if not found:
            return cls(decimals, decimals, decimal)
        before, after = (_usual([match[name] for match in found]) for name in ("before", "after"))
        group = _usual([_group_mark(match["number"], decimal) for match in found if _is_long(match["number"], decimal)])
        n_decimals = sorted(len(match["number"].strip().partition(decimal)[2]) for match in found)
        last = len(n_decimals) - 1
        return cls(n_decimals[int(0.02 * last)], n_decimals[round(0.98 * last)], decimal, group, before, after)

    def read(self, text: str) -> Decimal | None:
        """The number that a text holds; None where it holds none."""
        plain = text.removeprefix(self.before).removesuffix(self.after).strip()
        plain = plain.replace(self.group, "") if self.group else plain
        try:
            value = Decimal(plain.replace(self.decimal, ".")) if plain and plain[-1:].isdigit() else None
        except InvalidOperation:
            return None
        return value if value is not None and value.is_finite() else None

    def write(self, value: Decimal) -> str:
        """A number with as many decimals as the column has."""
        rounded = _DIGITS.quantize(value, Decimal(1).scaleb(-min(self.most, MOST_DECIMALS)))
        whole, _, rest = f"{rounded:f}".partition(".")
        rest = rest.rstrip("0").ljust(self.least, "0")
        if not rest and whole == "-0":
            whole = "0"
        if self.group:
            whole = f"{int(whole):,}".replace(",", self.group)
        return f"{self.before}{whole}{self.decimal if rest else ''}{rest}{self.after}"


def _is_long(number: str, decimal: str) -> bool:
    """Whether a number has digits enough to be grouped."""
    return sum(letter.isdigit() for letter in number.partition(decimal)[0]) > 3


def _group_mark(number: str, decimal: str) -> str:
    """What stands between the groups of three digits; nothing where they are written without."""
    found = _GROUPED.search(number)
    return "" if found is None or found[1] == decimal else found[1]


def usual_form(texts: Sequence[str]) -> str | None:
    """The places of letters and digits ("\0") and of the marks between them that most texts share; None where they
    differ."""
    if not texts:
        return None
    form, count = Counter(_ALPHANUMERIC.sub("\0", text) for text in texts[:STYLE_VALUES]).most_common(1)[0]
    return form if 2 * count >= len(texts[:STYLE_VALUES]) else None


def in_form(text: str, form: str) -> str | None:
    """The letters and digits of a text in a form, filled up with zeros where one digit lacks; None where they do not
    fit."""
    letters, n_places = "".join(_ALPHANUMERIC.findall(text)), form.count("\0")
    if len(letters) == n_places - 1 and letters.isdecimal() and letters == text:
        letters = f"0{letters}"
    if len(letters) != n_places:
        return None
    places = iter(letters)
    return "".join(next(places) if mark == "\0" else mark for mark in form)


def _usual(texts: Sequence[str]) -> str:
    """What nearly all are; nothing where they differ."""
    if not texts:
        return ""
    text, count = Counter(texts).most_common(1)[0]
    return text if count >= LEAST_SHARE * len(texts) else ""


def date_style(texts: Sequence[str], seconds: Sequence[float], is_time: bool) -> str | None:
    """The format in which a column writes its moments, or times of day; None where it is none of the usual. A mark "-"
    before it: day and month without leading zeros; "--": the hour too."""
    patterns = _TIMES if is_time else [date + clock for clock in _CLOCKS for date in _DATES]
    pairs = list(zip(texts[:STYLE_VALUES], seconds[:STYLE_VALUES], strict=True))
    for pattern in patterns:
        for plain in ("", "-", "--"):
            style = plain + pattern
            n_same = sum(write_moment(value, style) == text for text, value in pairs)
            if pairs and n_same >= LEAST_SHARE * len(pairs):
                return style
    return None


def write_moment(seconds: float, style: str) -> str | None:
    """Seconds since 1970 in a format of `date_style`; None beyond the calendar."""
    try:
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=round(seconds))  # as in the file
    except (OverflowError, ValueError):
        return None
    pattern = style.lstrip("-")
    plain = {"%Y": f"{moment.year:04d}"}
    if style.startswith("-"):
        plain |= {"%d": f"{moment.day}", "%m": f"{moment.month}"}
    if style.startswith("--"):
        plain |= {"%H": f"{moment.hour}", "%I": f"{moment.hour % 12 or 12}"}
    for sign, number in plain.items():
        pattern = pattern.replace(sign, number)
    return moment.strftime(pattern)
