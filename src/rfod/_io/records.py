"""JSON objects as rows: one per line, or an array of them, which may be inside of one object.

Arrow parses blocks of lines where it can.
"""

from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.json as pa_json

from rfod._io.interface import InputError, ReadOptions
from rfod._io.source import Block
from rfod._io.text import BLOCK_BYTES, TextSource
from rfod._table.table import listed

_BLOCK_LINES = 100_000
_ARRAY_START = re.compile(r"\s*\[\s*[{\]]")
_ARRAY_OF_OBJECTS = re.compile(r"\[\s*\{\s*\"")
_OBJECTS = "a table is one object per line, an array of them, or one object with one array of them."
_BLANKS = re.compile(r"[ \t\n\r]*")
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_LONGEST_INTEGER = 19  # digits; longer ones are beyond int64, and Python refuses to read those of thousands


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)


_DECODER = json.JSONDecoder(parse_int=_integer)
_DECODE_ERRORS = (ValueError, RecursionError)


class JsonSource(TextSource):
    """A file of JSON objects, one per line, all in one array, or all in the one array inside of an object; or stdin.

    Lines that hold no object, and what follows the first damage of an array, are left out with a note; they are an
    `InputError` with `strict`, or if they are more than half.
    """

    def __init__(self, path: str | BinaryIO, options: ReadOptions, name: str, may_be_array: bool = False) -> None:
        """With `may_be_array`, a first bracket opens an array, even if no object follows it."""
        super().__init__(path, options, name)
        self._may_be_array = may_be_array
        self._n_good = 0
        self._bad = self.notes.places("{count} {line|lines} left out, without a JSON object: line {places}.")

    def blocks(self) -> Generator[Block, None, None]:
        """The objects as columns; absent fields are missing."""
        is_empty = True
        with self.open_text() as text:
            start, whole = text.sample()
            is_array = bool(_ARRAY_START.match(start)) or (self._may_be_array and start.lstrip().startswith("["))
            held = () if is_array else self._arrays_in_object(start, whole)
            is_array = is_array or bool(held)
            buffered = io.BufferedReader(text, BLOCK_BYTES)
            for rows, lines in self._elements(buffered, bool(held)) if is_array else _lines(buffered):
                table = None if is_array else table_of_lines(rows)
                if table is None:
                    objects = [self._object(row, line) for row, line in zip(rows, lines, strict=True)]
                    lines = [line for line, value in zip(lines, objects, strict=True) if value is not None]
                    table = table_of([value for value in objects if value is not None])
                self._n_good += len(lines)
                self._check_share()
                if table.num_columns:
                    is_empty = False
                    has_lines = not held and (len(lines) == 1 or lines[0] != lines[-1])
                    yield table, np.array(lines, np.int64) if has_lines else None
        if is_empty:
            raise InputError(f"{self.name} is empty. Hint: one JSON object per line, or an array of them, is needed.")

    def _object(self, row: Any, line: int) -> dict[str, Any] | None:
        """The object of a line or an element of an array; None if it holds none."""
        try:
            value = _DECODER.decode(row.decode()) if isinstance(row, bytes) else row
        except _DECODE_ERRORS as error:
            problem, hint = f"no JSON ({_reason(error)})", "each line must be one whole JSON object."
        else:
            if isinstance(value, dict):
                return value
            problem = f"a JSON {type(value).__name__} where an object is needed"
            hint = 'write each row as {"column": value, ...}.'
        if self.options.strict:
            raise InputError(f"{self.name}, line {line:,}: {problem}. Hint: {hint}")
        self._bad.add(f"{line:,} ({problem})")
        return None

    def _check_share(self) -> None:
        if self._bad.count > self._n_good:
            raise InputError(
                f"{self.name}: {self._bad.count:,} of {self._bad.count + self._n_good:,} lines hold no JSON object: "
                f"line {self._bad}. Hint: each line must be one whole JSON object, or the file one array of objects."
            )

    def _arrays_in_object(self, start: str, whole: bool) -> tuple[str, ...]:
        """The fields with an array of objects, of a file that is one object; none where it is lines of objects."""
        start = start.lstrip()
        if not start.startswith("{"):
            return ()
        lines = start.splitlines()
        try:
            value, end = _DECODER.raw_decode(start)
            is_one = whole and not start[end:].strip()
        except _DECODE_ERRORS:  # also an object that is longer than the sample
            value, is_one = None, not any(map(_is_object, lines[:2]))
        if not is_one:
            return ()
        members = _members(start)
        held = tuple(name for name, _, has_objects in members if has_objects)
        if self.options.fixed_kinds & {name for name, _, _ in members}:  # one row of the table that a model knows
            return ()
        if value is None or len(held) == 1 or not any(isinstance(field, list | dict) for field in value.values()):
            return held
        if len(lines) > 1:
            raise InputError(f"{self.name}: {_one_object(held, list(value))}. Hint: {_OBJECTS}")
        self.notes.add(f"{_one_object(held, list(value))}; read as one row. Hint: {_OBJECTS}")
        return ()

    def _elements(self, stream: BinaryIO, in_object: bool) -> Iterator[tuple[list[Any], list[int]]]:
        """Blocks of values of an array, and the line on which each begins."""
        text = stream.read().decode()
        place = text.index("[") + 1
        if in_object:
            members = _members(text)
            held = [(name, start) for name, start, has_objects in members if has_objects]
            if len(held) != 1:
                found = _one_object([name for name, _ in held], [name for name, _, _ in members])
                raise InputError(f"{self.name}: {found}. Hint: {_OBJECTS}")
            ((name, place),) = held
            self.notes.add(f"read the array of objects in the field {name!r} of the one object.")
            self._check_end(text)
            place += 1
        numbered = self._numbered(text, place, in_object)
        while block := list(itertools.islice(numbered, _BLOCK_LINES)):
            yield [value for value, _ in block], [line for _, line in block]

    def _numbered(self, text: str, place: int, in_object: bool) -> Iterator[tuple[Any, int]]:
        """The values of an array, opened before the place, up to its end, or up to where it is damaged."""
        line, counted = 1, 0
        is_first = True
        while True:
            place = _after_blanks(text, place)
            line, counted = line + text.count("\n", counted, place), place
            if is_first and text.startswith("]", place):
                break
            try:
                value, end = _DECODER.raw_decode(text, place)
            except _DECODE_ERRORS as error:
                self._note_damage(line, _reason(error), is_first)
                return
            yield value, line
            is_first = False
            place = _after_blanks(text, end)
            if not text.startswith(",", place):
                break
            place += 1
        line += text.count("\n", counted, place)
        if not text.startswith("]", place):
            self._note_damage(line, "the array is not closed" if place == len(text) else "no comma between objects")
        elif text[place + 1 :].strip() and not in_object:
            self._note_damage(line, "more text after the end of the array")

    def _check_end(self, text: str) -> None:
        """Note text behind the one object of a file, which is not read; damage inside is noted where it is read."""
        end = len(text)
        with suppress(*_DECODE_ERRORS):
            end = _DECODER.raw_decode(text, _after_blanks(text, 0))[1]
        if not text[end:].strip():
            return
        line = text.count("\n", 0, _after_blanks(text, end)) + 1
        if self.options.strict:
            raise InputError(f"{self.name}, line {line:,}: more text after the end of the object. Hint: {_OBJECTS}")
        self.notes.add(f"line {line:,}: more text after the end of the object is not read. Hint: {_OBJECTS}")

    def _note_damage(self, line: int, reason: str, is_first: bool = False) -> None:
        if self.options.strict or is_first:
            raise InputError(f"{self.name}, line {line:,}: no JSON ({reason}). Hint: is the file whole?")
        self.notes.add(f"the array is damaged at line {line:,} ({reason}); only the objects before it are read.")


def _one_object(held: Sequence[str], names: Sequence[str]) -> str:
    """What is wrong with a file of one object."""
    if held:
        return f"the file is one JSON object with several arrays of objects inside ({listed(held)})"
    return f"the file is one JSON object without an array of several objects inside ({listed(names)})"


def _is_object(line: str) -> bool:
    try:
        return isinstance(_DECODER.decode(line), dict)
    except _DECODE_ERRORS:
        return False


def _members(text: str) -> list[tuple[str, int, bool]]:
    """The fields of the object that the text begins with, up to where it is cut off or damaged: their names, where
    their values begin, and whether these are arrays of several objects."""
    members: list[tuple[str, int, bool]] = []
    place = text.index("{")
    while not members or text.startswith(",", place):
        try:
            name, place = _DECODER.raw_decode(text, _after_blanks(text, place + 1))
            place = _after_blanks(text, place)
            if not isinstance(name, str) or not text.startswith(":", place):
                break
            place = _after_blanks(text, place + 1)
            members.append((name, place, _ARRAY_OF_OBJECTS.match(text, place) is not None))
            value, end = _DECODER.raw_decode(text, place)
            place = _after_blanks(text, end)
            is_array = isinstance(value, list) and len(value) > 1
            has_objects = is_array and all(isinstance(field, dict) and field for field in value)
            members[-1] = (*members[-1][:2], has_objects)
        except _DECODE_ERRORS:
            break
    return members


def _after_blanks(text: str, place: int) -> int:
    return _BLANKS.match(text, place).end()  # type: ignore[union-attr]


def _lines(stream: BinaryIO) -> Iterator[tuple[list[bytes], list[int]]]:
    """Blocks of lines that are not blank, and their numbers."""
    n_before = 0
    while block := list(itertools.islice(stream, _BLOCK_LINES)):
        if rows := [row for row in block if not row.isspace()]:
            yield rows, [number for number, row in enumerate(block, n_before + 1) if not row.isspace()]
        n_before += len(block)


def _reason(error: Exception) -> str:
    """Why a text is no JSON, in a few words."""
    if isinstance(error, json.JSONDecodeError):
        return error.msg.removesuffix(" at")  # without a place in a text that the user does not see
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:100]


def table_of_lines(rows: Sequence[bytes]) -> pa.Table | None:
    """Objects, one per row, parsed by Arrow; None where it cannot, or where values are nested."""
    data = b"\n".join(row.rstrip(b"\r\n") for row in rows)
    is_flat = _is_flat(data, len(rows)) or _is_flat(_TEXT.sub(b"", data), len(rows))
    if not is_flat:  # Arrow makes nested columns, and dies of deep ones
        return None
    try:
        table = pa_json.read_json(
            pa.BufferReader(data), read_options=pa_json.ReadOptions(block_size=max(len(data) + 1, 1 << 16))
        )
    except (pa.ArrowException, UnicodeError):
        return None
    return table if table.num_rows == len(rows) else None


def _is_flat(data: bytes, n_objects: int) -> bool:
    return b"[" not in data and data.count(b"{") == n_objects


def table_of(objects: Sequence[dict[str, Any]]) -> pa.Table:
    """Objects as columns; a column of several kinds of values becomes text, to be read like a column of a CSV file."""
    names = dict.fromkeys(name for row in objects for name in row)
    return pa.table({_encodable(name): _array([row.get(name) for row in objects]) for name in names})


def _array(values: list[Any]) -> pa.Array:
    if not any(isinstance(value, list | dict) for value in values):
        with suppress(pa.ArrowException, OverflowError, ValueError):
            return pa.array(values)
    return pa.array([None if value is None else _text(value) for value in values], pa.large_string())


def _text(value: Any) -> str:
    """Texts as they are, all else as JSON."""
    return _encodable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _encodable(text: str) -> str:
    """Without halves of surrogate pairs, which JSON can write and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()
