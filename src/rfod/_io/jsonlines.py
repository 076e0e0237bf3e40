"""JSON: one object per line, or one array of objects. Arrow parses blocks of lines where it can."""

from __future__ import annotations

import io
import re
from collections.abc import Generator, Iterator
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._io.batches import Batch, cut
from rfod._io.encoding import Utf8Stream
from rfod._io.errors import InputError
from rfod._io.notes import Notes
from rfod._io.options import ReadOptions
from rfod._io.plans import Plan, Planner
from rfod._io.records import DECODE_ERRORS, DECODER, reason_of, table_of, table_of_lines
from rfod._io.streams import closing_on_error, open_bytes, unpack

_BLOCK_LINES = 100_000
_ARRAY_START = re.compile(r"\s*\[\s*[{\]]")
_BLANKS = re.compile(r"[ \t\n\r]*")

Block = tuple[pa.Table, NDArray[np.int64] | None]


class JsonSource:
    """A file of JSON objects, one per line or all in one array, or stdin.

    Lines that hold no object, and what follows the first damage of an array, are left out with a note; they are an
    `InputError` with `strict`, or if they are more than half.
    """

    def __init__(self, path: str | BinaryIO, options: ReadOptions, name: str, may_be_array: bool = False) -> None:
        """`may_be_array` says that a first bracket opens an array, even if no object follows it."""
        self.name, self.notes, self._options = name, Notes(), options
        self._bytes = open_bytes(path)
        with closing_on_error(self._bytes):
            self._text = Utf8Stream(unpack(self._bytes), name, options.encoding, self.notes, options.strict)
            start = self._text.sample()[0]
        self._is_array = bool(_ARRAY_START.match(start)) or (may_be_array and start.lstrip().startswith("["))
        self._n_good = 0

    def progress(self) -> tuple[int, int | None]:
        return self._bytes.n_read, self._bytes.n_total

    def batches(self) -> Generator[Batch, None, None]:
        """The rows; texts are read as numbers and dates like those of a CSV file."""
        planner = Planner(self.name, self.notes, self._options.kinds, self._options.decimal, self._options.told)
        schema: pa.Schema | None = None
        first_row = 0
        with self._bytes:
            for table, lines in self._array_blocks() if self._is_array else self._line_blocks():
                table = table.select(self._options.picked(table.column_names))
                table = planner.convert(table if schema is None else _with_types(table, schema), lines)
                if schema is None:
                    schema = table.schema
                    planner.plans = _plans(schema) | (planner.plans or {})
                yield from cut(self._filled(table, schema), lines, first_row, self._options.batch_rows)
                first_row += table.num_rows
        if first_row == 0:
            self._check_share()
            raise InputError(f"{self.name} is empty. Hint: one JSON object per line, or an array of them, is needed.")

    # --------------------------------------------------------------------------------------------------------- lines

    def _line_blocks(self) -> Iterator[Block]:
        rows, lines = [], []
        for number, line in enumerate(io.BufferedReader(self._text, 1 << 20), start=1):
            if line.strip():
                rows.append(line)
                lines.append(number)
            if len(rows) == _BLOCK_LINES:
                yield from self._parsed(rows, lines)
                rows, lines = [], []
        if rows:
            yield from self._parsed(rows, lines)

    def _parsed(self, rows: list[bytes], lines: list[int]) -> Iterator[Block]:
        """The objects of some lines, without the lines that hold none."""
        table = table_of_lines(rows)
        if table is None:
            found = [(self._object(row, line), line) for row, line in zip(rows, lines, strict=True)]
            objects = [value for value, _ in found if value is not None]
            lines = [line for value, line in found if value is not None]
            table = table_of(objects)
        yield from self._block(table, lines)

    def _object(self, row: bytes, line: int) -> dict[str, Any] | None:
        try:
            return self._checked(DECODER.decode(row.decode()), line)
        except DECODE_ERRORS as error:
            if isinstance(error, InputError):
                raise
            self._leave_out(line, f"no JSON ({reason_of(error)})", "each line must be one whole JSON object.")
            return None

    def _checked(self, value: Any, line: int) -> dict[str, Any] | None:
        if isinstance(value, dict):
            return value
        problem = f"a JSON {type(value).__name__} where an object is needed"
        self._leave_out(line, problem, 'write each row as {"column": value, ...}.')
        return None

    def _leave_out(self, line: int, problem: str, hint: str) -> None:
        if self._options.strict:
            raise InputError(f"{self.name}, line {line:,}: {problem}. Hint: {hint}")
        self.notes.bad_json.add(f"{line:,} ({problem})")

    def _block(self, table: pa.Table, lines: list[int]) -> Iterator[Block]:
        self._n_good += len(lines)
        self._check_share()
        if table.num_columns:
            yield table, np.array(lines, dtype=np.int64) if len(set(lines)) > 1 or len(lines) == 1 else None

    def _check_share(self) -> None:
        n_bad = self.notes.bad_json.count
        if n_bad > self._n_good:
            raise InputError(
                f"{self.name}: {n_bad:,} of {n_bad + self._n_good:,} lines hold no JSON object: "
                f"line {self.notes.bad_json}. Hint: each line must be one whole JSON object, or the file one array "
                "of objects."
            )

    # --------------------------------------------------------------------------------------------------------- array

    def _array_blocks(self) -> Iterator[Block]:
        """The objects of an array, and the line on which each begins."""
        text = io.BufferedReader(self._text, 1 << 20).read().decode()
        objects: list[dict[str, Any]] = []
        lines: list[int] = []
        for value, line in self._elements(text):
            if (found := self._checked(value, line)) is not None:
                objects.append(found)
                lines.append(line)
            if len(objects) == _BLOCK_LINES:
                yield from self._block(table_of(objects), lines)
                objects, lines = [], []
        if objects:
            yield from self._block(table_of(objects), lines)

    def _elements(self, text: str) -> Iterator[tuple[Any, int]]:
        """The values of an array up to its end, or up to where it is damaged."""
        place = text.index("[") + 1
        line, counted = 1, 0
        is_first = True
        while True:
            place = _BLANKS.match(text, place).end()  # type: ignore[union-attr]
            line, counted = line + text.count("\n", counted, place), place
            if is_first and text.startswith("]", place):
                break
            try:
                value, end = DECODER.raw_decode(text, place)
            except DECODE_ERRORS as error:
                self._note_damage(line, reason_of(error), is_first)
                return
            yield value, line
            is_first = False
            place = _BLANKS.match(text, end).end()  # type: ignore[union-attr]
            if not text.startswith(",", place):
                break
            place += 1
        line += text.count("\n", counted, place)
        if not text.startswith("]", place):
            self._note_damage(line, "the array is not closed" if place == len(text) else "no comma between objects")
        elif text[place + 1 :].strip():
            self._note_damage(line, "more text after the end of the array")

    def _note_damage(self, line: int, reason: str, is_first: bool = False) -> None:
        if self._options.strict or is_first:
            raise InputError(f"{self.name}, line {line:,}: no JSON ({reason}). Hint: is the file whole?")
        self.notes.say(f"the array is damaged at line {line:,} ({reason}); only the objects before it are read.")

    # --------------------------------------------------------------------------------------------------------- types

    def _filled(self, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """The table with the columns of the schema; absent ones are missing throughout."""
        new = [name for name in table.column_names if name not in schema.names]
        if new:
            self.notes.say(f"fields that appear first after {_BLOCK_LINES:,} rows are left out: {', '.join(new[:5])}.")
        return pa.table(
            {
                field.name: table.column(field.name)
                if field.name in table.column_names
                else pa.nulls(table.num_rows, field.type)
                for field in schema
            }
        )


def _plans(schema: pa.Schema) -> dict[str, Plan]:
    """How later rows are read if they write as text what the first rows do not."""
    plans = {}
    for field in schema:
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            plans[field.name] = Plan("number")
        elif pa.types.is_boolean(field.type):
            plans[field.name] = Plan("truth")
        elif pa.types.is_timestamp(field.type):
            plans[field.name] = Plan("date", arrow_type=field.type)
    return plans


def _with_types(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Columns of another type than before as text, unless both are numbers; the plans then read them as before."""
    columns = {}
    for field in table.schema:
        column = table.column(field.name)
        known = schema.field(field.name).type if field.name in schema.names else field.type
        is_same = known == field.type or pa.types.is_null(known) or pa.types.is_null(field.type)
        are_numbers = _is_number(known) and _is_number(field.type)
        columns[field.name] = column if is_same or are_numbers else column.cast(pa.large_string())
    return pa.table(columns)


def _is_number(arrow_type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type))
