"""What callers and sources exchange: options in, notes and errors out, neither with a password."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rfod.exceptions import RFODError

BATCH_ROWS = 65_536
EXAMPLES = 5
EMPTY_LINES = "{count} {line|lines} without any value left out: line {places}."
_SLOT = re.compile(r"\{([^{}]*)\}")

_MASK = "***"
# To the last @ of the word: a password may hold @, : and / too. Rather a host too many masked than a password shown.
_IN_ADDRESS = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://[^\s:/]*:)\S*(?P<after>@)", re.IGNORECASE)
_NAMED = re.compile(
    r"""
    (?P<before> (?:passw(?:or)?d | passphrase | pwd | secret | token | api_?key) \s* = \s* )
    (?: ' (?: [^'\\] | \\. | '' )* (?: ' | $ )         # quoted, or cut off within the quotes
      | " (?: [^"\\] | \\. | "" )* (?: " | $ )
      | \{ [^}]* (?: \} | $ )
      | [^\s&;]+? (?= ['")\]},.:]* (?: [\s&;] | $ ) )  # plain, without the punctuation behind it
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)


def redacted(text: str) -> str:
    """The text with `***` for passwords in addresses (`scheme://user:password@host`) and in `password=...`."""
    text = _IN_ADDRESS.sub(rf"\g<before>{_MASK}\g<after>", text)
    return _NAMED.sub(rf"\g<before>{_MASK}", text)


class InputError(RFODError, ValueError):
    """A file, stream or database cannot be read as a table. Its message holds no password."""

    def __init__(self, message: str) -> None:
        super().__init__(redacted(message))


class OutputError(RFODError, OSError):
    """A result cannot be written to its target. Its message holds no password."""

    def __init__(self, message: str) -> None:
        super().__init__(redacted(message))


@dataclass(frozen=True)
class ReadOptions:
    """How to read a source. None means "detect"."""

    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    quote: str | None = None
    """One character, or "none" where quotes are ordinary characters."""
    header: bool | None = None
    kinds: Mapping[str, Any] = field(default_factory=dict)
    """Kinds of text columns: a kind of column, "dmy" or "mdy" for dates by the order of day and month, or the
    `ColumnFormat` of a fitted column."""
    fixed_kinds: frozenset[str] = frozenset()
    """Columns whose kind comes from a fitted model."""
    columns: frozenset[str] | None = None
    """The columns to read; None for all."""
    batch_rows: int = BATCH_ROWS
    strict: bool = False
    """Refuse damaged input (undecodable bytes, unclosed quotes, lines that are no JSON) instead of noting it."""
    sheet: str | None = None
    """Of a spreadsheet: a name, or a number counted from 1; None for the first sheet."""

    def pick(self, names: Sequence[str]) -> list[str]:
        """The names of the columns to read; all where a wanted one is absent, so that an error can list them."""
        if self.columns is None or not self.columns <= set(names):
            return list(names)
        return [name for name in names if name in self.columns]


@dataclass
class Occurrences:
    """How often something happened, and the first places."""

    count: int = 0
    examples: list[str] = field(default_factory=list)
    has_more: bool = False
    """Whether some of the places are not among the examples."""
    total: int = 0
    """Of how many, where the text says it."""
    warning: str = ""
    """Put before the text of a matter that changes what the table says; such matters come first."""

    def add(self, place: str | None, count: int = 1) -> None:
        """Count events; None for those whose place is not known."""
        self.count += count
        if place is not None and place not in self.examples and len(self.examples) < EXAMPLES:
            self.examples.append(place)
        elif count and place not in self.examples:
            self.has_more = True

    def __str__(self) -> str:
        return ", ".join(self.examples) + (", ..." if self.has_more else "")


class Notes:
    """What a reader noticed and did about it, once per matter instead of once per line."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, tuple[tuple[str, str], ...]], Occurrences] = {}

    def add(self, text: str) -> None:
        """Note something that has no count; the same text is kept once."""
        self.places("{text}", text=text).count = 1

    def places(self, text: str, /, **values: object) -> Occurrences:
        """The places of a matter, to add to. Its text may hold "{count}", "{total}" and "{places}", "{line|lines}" for
        a word that depends on the count, and names of `values`, whose braces stay as they are."""
        matter = text, tuple((name, str(value)) for name, value in values.items())
        return self._places.setdefault(matter, Occurrences())

    def texts(self) -> list[str]:
        """One line per matter, warnings first, else in the order of their first occurrence, without passwords."""
        noted = [(text, dict(values), places) for (text, values), places in self._places.items() if places.count]
        return [redacted(_filled(*one)) for one in sorted(noted, key=lambda one: not one[2].warning)]


def _filled(text: str, values: Mapping[str, str], places: Occurrences) -> str:
    """The text of a matter with its numbers and places."""
    known = {**values, "count": f"{places.count:,}", "total": f"{places.total:,}", "places": str(places)}

    def fill(slot: re.Match[str]) -> str:
        one, is_choice, many = slot[1].partition("|")
        return (one if places.count == 1 else many) if is_choice else known[one]

    return places.warning + _SLOT.sub(fill, text)
