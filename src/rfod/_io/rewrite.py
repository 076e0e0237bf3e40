"""Files with some of their cells changed, and all else byte for byte as it was."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import lzma
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rfod._io.delimited import DelimitedSource, Dialect
from rfod._io.field_places import FieldPlaces, Place, Record
from rfod._io.interface import OutputError
from rfod._io.source import Batch, Source
from rfod._io.storage import replaced
from rfod._io.text import open_bytes, plain_name, unpack
from rfod._table.edits import Edit, Refusal
from rfod._table.kinds.base import is_missing

_MARKS = {
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}
_BOMS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
PADDING_ROWS = 1_000  # of which most have blanks around their values, or not
_UNPLACED = "its field cannot be told apart in the file"
_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: bytes(pa.compress(data, "zstd", asbytes=True)),
    ".lz4": lambda data: bytes(pa.compress(data, "lz4", asbytes=True)),
}


@dataclass(frozen=True, eq=False)
class Rewritten:
    """The content of a file with its changes."""

    data: bytes
    refused: list[Refusal]
    texts: dict[tuple[int, str], tuple[str | None, str | None]]
    """What stood in each changed cell and what stands there now, by row and column, with the blanks around it."""


def stored_bytes(path: str) -> bytes:
    """The content of a file, unpacked."""
    with open_bytes(path) as stream:
        return unpack(stream).read()


def write_bytes(path: str, data: bytes) -> None:
    """A file of these contents, packed as its name says."""
    pack = _PACKERS.get(path.lower()[len(plain_name(path)) :])
    with replaced(path) as temporary:
        Path(temporary).write_bytes(data if pack is None else pack(data))


def rewrite(source: Source, path: str, batch: Batch, edits: Sequence[Edit]) -> Rewritten:
    """The file of a source that was read, with some cells changed."""
    data = stored_bytes(path)
    if isinstance(source, DelimitedSource):
        return rewrite_delimited(data, source.encoding, source.dialect, batch, edits, source.name)
    return rewrite_lines(data, batch, edits, source.name)


# ----------------------------------------------------------------------------------------------------- delimited text


def rewrite_delimited(
    stored: bytes, encoding: str, dialect: Dialect, batch: Batch, edits: Sequence[Edit], name: str
) -> Rewritten:
    """Delimited text with some fields changed. A field is changed only where the whole row is found as it was read."""
    assert batch.lines is not None
    mark, encoding = _encoding_of(stored, encoding)
    data = stored[len(mark) :]
    if encoding != "utf-8":
        text = data.decode(encoding, "surrogateescape")
        if text.encode(encoding, "surrogateescape") != data:
            raise OutputError(
                f"{name}: text in {encoding} that has several spellings cannot be written back byte for byte. "
                "Hint: convert the file to UTF-8 first."
            )
        data = text.encode("utf-8", "surrogateescape")
    by_line: dict[int, list[Edit]] = {}
    for edit in edits:
        by_line.setdefault(int(batch.lines[edit.row]), []).append(edit)
    places = FieldPlaces(data, dialect)
    writer = _FieldWriter(places, dialect, encoding, batch)
    pieces: list[tuple[Place, bytes]] = []
    refused: list[Refusal] = []
    texts: dict[tuple[int, str], tuple[str | None, str | None]] = {}
    seen: set[int] = set()
    for record in places.records(by_line):
        seen.add(record.line)
        for edit in by_line[record.line]:
            made = writer.write(record, edit)
            if isinstance(made, str):
                refused.append(Refusal(edit, made))
            else:
                pieces.append((made.place, made.data))
                texts[edit.row, edit.column] = made.before, made.after
    refused += [Refusal(edit, _UNPLACED) for line, wanted in by_line.items() if line not in seen for edit in wanted]
    changed = _spliced(data, pieces)
    if encoding != "utf-8":
        changed = changed.decode("utf-8", "surrogateescape").encode(encoding, "surrogateescape")
    return Rewritten(mark + changed, refused, texts)


def _encoding_of(stored: bytes, encoding: str) -> tuple[bytes, str]:
    """The byte order mark, and the encoding without one."""
    for mark, plain in _MARKS.get(encoding, ()):
        if stored.startswith(mark):
            return mark, plain
    mark = _BOMS.get(encoding, b"")
    return (mark if stored.startswith(mark) else b""), encoding


def _spliced(data: bytes, pieces: Sequence[tuple[Place, bytes]]) -> bytes:
    """The data with new bytes in some places."""
    parts, copied = [], 0
    for place, new in sorted(pieces):
        parts += [data[copied : place.start], new]
        copied = place.stop
    return b"".join([*parts, data[copied:]])


class _Field(NamedTuple):
    """A field that is changed."""

    place: Place
    data: bytes
    before: str | None
    after: str | None


class _FieldWriter:
    """Writes new values as fields of a file."""

    def __init__(self, places: FieldPlaces, dialect: Dialect, encoding: str, batch: Batch) -> None:
        self._places, self._dialect, self._encoding, self._batch = places, dialect, encoding, batch
        self._table = batch.table
        self._column = {name: number for number, name in enumerate(dialect.names)}
        self._checked: dict[int, bool] = {}
        self._sides: dict[str, tuple[bool, bool]] | None = None

    def write(self, record: Record, edit: Edit) -> _Field | str:
        """The field with its new bytes; or why it is left as it is."""
        if not self._is_row(record, edit.row):
            return _UNPLACED
        place = record.fields[self._column[edit.column]]
        before = self._places.value(place)
        text = edit.text
        if text is None:
            after, is_quoted = "", False
        else:
            after, is_quoted = text, place.is_quoted
            if edit.is_padded and before.strip() and before != before.strip():
                left, right = self._padded_sides(edit.column)
                start, stop = len(before) - len(before.lstrip()), len(before.rstrip())
                after = (before[:start] if left else "") + text + (before[stop:] if right else "")
        quote = self._dialect.quote
        needs_quote = any(mark in after for mark in (self._dialect.separator, "\n", "\r")) or (
            quote is not None and after.startswith(quote)
        )
        if "\0" in after or (needs_quote and quote is None):
            return f"{text!r} cannot be written without quotes, and the file has none"
        if self._places.has_open_quotes and (is_quoted or needs_quote or place.is_quoted or (quote or "") in before):
            return "a quote of the file is never closed, so that quotes near it are ambiguous"
        stored = after
        if (is_quoted or needs_quote) and quote is not None:
            stored = f"{quote}{after.replace(quote, quote * 2)}{quote}"
        try:
            stored.encode(self._encoding, "surrogateescape")
        except UnicodeEncodeError:
            return f"{text!r} has letters that {self._encoding} cannot write"
        held = None if is_missing(before) else _readable(before)
        return _Field(place, stored.encode("utf-8", "surrogateescape"), held, None if text is None else after)

    def _padded_sides(self, column: str) -> tuple[bool, bool]:
        """Whether most cells of a column begin, and end, with blanks; by a sample of its rows."""
        if self._sides is None:
            lines = np.unique(np.asarray(self._batch.lines))
            picked = lines[np.linspace(0, len(lines) - 1, min(len(lines), PADDING_ROWS)).astype(np.intp)]
            n_names = len(self._dialect.names)
            records = [record for record in self._places.records(picked.tolist()) if len(record.fields) == n_names]
            self._sides = {}
            for name, number in self._column.items():
                texts = [text for record in records if (text := self._places.value(record.fields[number])).strip()]
                n_left, n_right = sum(text[0].isspace() for text in texts), sum(text[-1].isspace() for text in texts)
                self._sides[name] = 2 * n_left > len(texts), 2 * n_right > len(texts)
        return self._sides[column]

    def _is_row(self, record: Record, row: int) -> bool:
        """Whether the fields hold what was read, one for one."""
        if row not in self._checked:
            self._checked[row] = len(record.fields) == len(self._dialect.names) and all(
                _is_same(self._places.value(place), self._table.written(name)[row].as_py())
                for place, name in zip(record.fields, self._dialect.names, strict=True)
                if name in self._table.names
            )
        return self._checked[row]


def _is_same(stored: str, read: Any) -> bool:
    """Whether a field is what the reader made of it."""
    shown = _readable(stored).strip()
    return is_missing(shown) if read is None else shown == str(read).strip()


def _readable(stored: str) -> str:
    """A field with the mark of the reader for bytes that are no text."""
    return "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in stored)


# ---------------------------------------------------------------------------------------------------------- JSON lines


def rewrite_lines(stored: bytes, batch: Batch, edits: Sequence[Edit], name: str) -> Rewritten:
    """JSON lines with some values changed; lines without a change stay as they are."""
    lines = stored.split(b"\n")
    if batch.lines is None or len(set(batch.lines.tolist())) < len(batch.lines):
        raise OutputError(f"{name}: a JSON array is not changed in place. Hint: -o with the ending .jsonl or .parquet.")
    refused: list[Refusal] = []
    texts: dict[tuple[int, str], tuple[str | None, str | None]] = {}
    by_line: dict[int, list[Edit]] = {}
    for edit in edits:
        by_line.setdefault(int(batch.lines[edit.row]), []).append(edit)
    for line, wanted in by_line.items():
        stored_line = lines[line - 1]
        body = stored_line.lstrip(codecs.BOM_UTF8)
        try:
            row = json.loads(body)
            assert isinstance(row, dict)
        except (ValueError, AssertionError, RecursionError):
            refused += [Refusal(edit, "its line is no JSON object") for edit in wanted]
            continue
        for edit in wanted:
            before = row.get(edit.column)
            try:
                row[edit.column] = _json_value(edit.text, before)
                if isinstance(before, str) and not is_missing(before):
                    texts[edit.row, edit.column] = before, edit.text
            except ValueError:
                refused.append(Refusal(edit, f"{edit.text!r} is no number"))
        is_spaced = b'": ' in body
        separators = (", ", ": ") if is_spaced else (",", ":")
        done = json.dumps(row, ensure_ascii=body.isascii(), separators=separators).encode()
        end = stored_line[len(stored_line.rstrip(b"\r")) :]
        lines[line - 1] = stored_line[: len(stored_line) - len(body)] + done + end
    return Rewritten(b"\n".join(lines), refused, texts)


def _json_value(text: str | None, before: Any) -> Any:
    """A text as a value of the type that stood there."""
    if text is None or isinstance(before, str):
        return text
    if isinstance(before, bool):
        return text.lower() == "true"
    if isinstance(before, int | float):
        number = float(text)
        return int(text) if isinstance(before, int) and number.is_integer() and text.lstrip("+-").isdigit() else number
    try:
        return json.loads(text)
    except ValueError:
        return text
