"""Quotes that open a field and are never closed, made ordinary characters before a parser sees them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

READ_BYTES = 1 << 20
_LINE_END = re.compile(rb"[\n\r]")


class Mended(NamedTuple):
    """The settled part of some bytes."""

    data: bytes
    """Well-formed: each quote that opens a field is closed."""
    n_settled: int
    """How many of the given bytes that stands for; a field begins behind them."""
    opened: list[int]
    """Where, among the given bytes, a quote opens that is never closed."""


class Mender:
    """Finds quotes that are never closed, and quotes the field they stand in as a whole.

    A quote opens a field where it is the field's first character. It is closed by the next quote that is not doubled.
    It is never closed if there is none within `limit` bytes; or if the next one, on a later line, is itself the first
    character of a field and not the last: then that one opens, too.
    """

    def __init__(self, separator: str, quote: str, limit: int) -> None:
        self._quote, self._limit = quote.encode(), limit
        self._edges = separator.encode() + b"\n\r"
        q, e = re.escape(self._quote), re.escape(self._edges)
        opened = b"%b[^%b]*+(?:%b[^%b]*+)*" % (q, q, q + q, q)
        unquoted = b"[^%b][^%b]*+" % (q + e, e)
        self._opened = re.compile(opened)
        # Fields that need no second look. Up to so many at a time, since each takes memory until the match ends.
        self._plain_fields = re.compile(b"(?:(?:%b%b|%b)?[%b]){0,5000}" % (opened, q, unquoted, e))
        self._edge = re.compile(b"[%b]" % e)

    def mend(self, data: bytes, is_last: bool) -> Mended:
        """Settle as much as possible of bytes that begin with a field; all of them where none follow."""
        if self._quote not in data:
            n_settled = len(data) if is_last else max(map(data.rfind, self._edges)) + 1
            return Mended(data[:n_settled], n_settled, [])
        parts: list[bytes] = []
        opened: list[int] = []
        copied = start = 0
        while start < len(data):
            end = self._plain_fields.match(data, start).end()  # type: ignore[union-attr]
            if end > start:
                start = end
                continue
            if not data.startswith(self._quote, start):
                break
            stop = self._opened.match(data, start).end()  # type: ignore[union-attr]
            end = self._edge_from(data, stop)
            if end == len(data) and not is_last and end - start <= self._limit:
                break
            if stop == len(data) or self._opens_another(data, start, stop):
                end = self._edge_from(data, start)
                opened.append(start)
                parts += [data[copied:start], self._quoted(data[start:end])]
                copied = end
            start = end + 1
        n_settled = len(data) if is_last else min(start, len(data))
        return Mended(b"".join(parts) + data[copied:n_settled], n_settled, opened)

    def mend_stream(self, raw: BinaryIO, on_open_quote: Callable[[int], None]) -> Iterator[bytes]:
        """Delimited text in UTF-8 with all quotes closed; line ends stay where they are.

        `on_open_quote` is called with the line of each quote that is never closed.
        """
        pending = last = b""
        n_lines, is_last = 0, False
        while not is_last:
            block = raw.read(READ_BYTES) or b""
            is_last = not block
            pending += block
            mended = self.mend(pending, is_last)
            for start, stop in itertools.pairwise([0, *mended.opened, mended.n_settled]):
                part = pending[start:stop]
                n_lines += part.count(b"\n") + part.count(b"\r") - (last + part).count(b"\r\n")
                last = part[-1:] or last
                if stop in mended.opened:
                    on_open_quote(n_lines + 1)
            pending = pending[mended.n_settled :]
            if mended.data:
                yield mended.data

    def _opens_another(self, data: bytes, start: int, stop: int) -> bool:
        """Whether the quote that should close a field looks as if it opened one on a later line."""
        is_first = data[stop - 1] in self._edges
        is_final = stop + 1 == len(data) or data[stop + 1] in self._edges
        return is_first and not is_final and _LINE_END.search(data, start, stop) is not None

    def _quoted(self, field: bytes) -> bytes:
        return self._quote + field.replace(self._quote, self._quote * 2) + self._quote

    def _edge_from(self, data: bytes, place: int) -> int:
        found = self._edge.search(data, place)
        return len(data) if found is None else found.start()
