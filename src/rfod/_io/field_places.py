"""Where the fields of a delimited file stand, byte by byte, by the rules that the reader follows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from rfod._io.delimited import BLOCK_BYTES, Dialect
from rfod._io.quotes import Mender

_LINE_END = re.compile(rb"\r\n|\n|\r")
_LINE = re.compile(rb"[^\r\n]*+(?:\r\n|\n|\r|\Z)")


class Place(NamedTuple):
    """One field."""

    start: int
    stop: int
    is_quoted: bool


class Record(NamedTuple):
    """One row of the file."""

    line: int
    """On which it begins, from 1."""
    fields: tuple[Place, ...]


class FieldPlaces:
    """The fields of delimited text in UTF-8, as stored but for the byte order mark: with all that the reader drops."""

    def __init__(self, data: bytes, dialect: Dialect) -> None:
        self._data, self._dialect = data, dialect
        separator = re.escape(dialect.separator.encode())
        plain = b"[^%b\\r\\n]*+" % separator
        self._quote = None if dialect.quote is None else dialect.quote.encode()
        self._opened: frozenset[int] = frozenset()  # where quotes open that are never closed
        field = plain
        if self._quote is not None:
            q = re.escape(self._quote)
            closed = b"%b([^%b]*+(?:%b%b[^%b]*+)*+)%b" % (q, q, q, q, q, q)
            field = b"(?:%b)?+%b" % (closed.replace(b"([", b"(?:["), plain)
            self._closed = re.compile(closed + b"(.*)", re.DOTALL)
            self._opened = frozenset(Mender(dialect.separator, str(dialect.quote), BLOCK_BYTES).mend(data, True).opened)
        self._separator = dialect.separator.encode()
        self._field, self._plain = re.compile(field), re.compile(plain)
        self._record = re.compile(b"%b(?:%b%b)*+(?:\\r\\n|\\n|\\r|\\Z)" % (field, separator, field))

    @property
    def has_open_quotes(self) -> bool:
        """Whether a quote is never closed: what other quotes mean may hang on it."""
        return bool(self._opened)

    def records(self, lines: Collection[int]) -> Iterator[Record]:
        """The rows that begin on these lines, in order; a row that cannot be told apart is left out."""
        wanted, last = frozenset(lines), max(lines, default=0)
        line, start, data = 1, 0, self._data
        for _ in range(self._dialect.n_lines_before):
            start, line = self._line_at(start), line + 1
        opened = sorted(self._opened)
        while start < len(data) and line <= last:
            stop = self._record_at(start, opened)
            if line in wanted:
                yield Record(line, tuple(self._fields(start, stop)))
            if self._quote is None:
                line += 1
            else:
                n_breaks = data.count(b"\n", start, stop)
                is_plain = n_breaks == 1 and data.count(b"\r", start, stop) == (data[stop - 2 : stop - 1] == b"\r")
                line += 1 if is_plain else max(1, len(_LINE_END.findall(data, start, stop)))
            start = stop

    def _line_at(self, start: int) -> int:
        found = _LINE.match(self._data, start)
        return len(self._data) if found is None else found.end()

    def _record_at(self, start: int, opened: list[int]) -> int:
        """The end of the row that begins here, its line end included."""
        found = self._record.match(self._data, start)
        if found is not None and not (opened and any(start <= place < found.end() for place in opened)):
            return found.end()
        for place in self._fields_from(start):
            stop = place.stop
            if self._data[stop : stop + 1] != self._separator:
                end = _LINE_END.match(self._data, stop)
                return stop if end is None else end.end()
        return len(self._data)

    def _fields_from(self, start: int) -> Iterator[Place]:
        """Fields up to the end of a row. A quote that is never closed is an ordinary character."""
        while True:
            is_open = start in self._opened
            found = (self._plain if is_open else self._field).match(self._data, start)
            stop = start if found is None else found.end()
            is_quoted = self._quote is not None and not is_open and self._data.startswith(self._quote, start)
            yield Place(start, stop, is_quoted)
            if self._data[stop : stop + 1] != self._separator:
                return
            start = stop + 1

    def _fields(self, start: int, stop: int) -> Iterator[Place]:
        for place in self._fields_from(start):
            if place.stop > stop:
                return
            yield place

    def value(self, place: Place) -> str:
        """What a field holds as the reader has it: without its quotes and NUL bytes; bytes that are no text as lone
        surrogates."""
        stored = self._data[place.start : place.stop]
        if place.is_quoted and self._quote is not None and (found := self._closed.fullmatch(stored)) is not None:
            stored = found[1].replace(self._quote * 2, self._quote) + found[2]
        return stored.replace(b"\0", b"").decode("utf-8", "surrogateescape")
