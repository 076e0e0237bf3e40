"""JSON lines: one object per line. Arrow parses blocks of lines; where it cannot, each line is looked at by itself."""

from __future__ import annotations

import io
import json
from collections.abc import Generator, Iterator
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.json as pa_json
from numpy.typing import NDArray

from rfod._io.encoding import Utf8Stream
from rfod._io.errors import InputError
from rfod._io.notes import Notes
from rfod._io.options import ReadOptions
from rfod._io.pieces import Piece, cut
from rfod._io.plans import Planner
from rfod._io.streams import closing_on_error, open_bytes, unpack

_BLOCK_LINES = 100_000


class JsonLinesSource:
    """A file of JSON objects, one per line, or stdin."""

    def __init__(self, path: str | BinaryIO, options: ReadOptions, name: str) -> None:
        self.name, self.notes, self._options = name, Notes(), options
        self._bytes = open_bytes(path)
        with closing_on_error(self._bytes):
            self._text = Utf8Stream(unpack(self._bytes), name, options.encoding, self.notes)

    def progress(self) -> tuple[int, int | None]:
        return self._bytes.n_read, self._bytes.n_total

    def pieces(self) -> Generator[Piece, None, None]:
        """The rows; texts are read as numbers and dates like those of a CSV file."""
        planner = Planner(self.name, self.notes, self._options.kinds, self._options.decimal, self._options.told)
        schema: pa.Schema | None = None
        first_row = 0
        with self._bytes:
            for rows, lines in self._blocks():
                table = self._parse(rows, lines)
                table = planner.convert(table.select(self._options.picked(table.column_names)), lines)
                schema = table.schema if schema is None else self._same_names(schema, table.schema)
                yield from cut(_filled(table, schema), lines, first_row, self._options.batch_rows)
                first_row += table.num_rows
        if first_row == 0:
            raise InputError(f"{self.name} is empty. Hint: one JSON object per line is needed.")

    def _blocks(self) -> Iterator[tuple[list[bytes], NDArray[np.int64]]]:
        rows, lines = [], []
        for number, line in enumerate(io.BufferedReader(self._text, 1 << 20), start=1):
            if line.strip():
                rows.append(line)
                lines.append(number)
            if len(rows) == _BLOCK_LINES:
                yield rows, np.array(lines)
                rows, lines = [], []
        if rows:
            yield rows, np.array(lines)

    def _parse(self, rows: list[bytes], lines: NDArray[np.int64]) -> pa.Table:
        data = b"\n".join(row.rstrip(b"\r\n") for row in rows)
        try:
            table = pa_json.read_json(
                io.BytesIO(data), read_options=pa_json.ReadOptions(block_size=max(len(data) + 1, 1 << 16))
            )
            if table.num_rows == len(rows):
                return table
        except (pa.ArrowException, pa.ArrowInvalid):
            pass
        return _table_of([self._object(row, int(line)) for row, line in zip(rows, lines, strict=True)])

    def _object(self, row: bytes, line: int) -> dict[str, Any]:
        try:
            value = json.loads(row)
        except ValueError as error:
            raise InputError(
                f"{self.name}, line {line:,}: no JSON ({error}). Hint: each line must be one whole JSON object."
            ) from error
        if not isinstance(value, dict):
            raise InputError(
                f"{self.name}, line {line:,}: a JSON {type(value).__name__} where an object is needed. "
                'Hint: write each row as {"column": value, ...}.'
            )
        return value

    def _same_names(self, schema: pa.Schema, found: pa.Schema) -> pa.Schema:
        new = [name for name in found.names if name not in schema.names]
        if new:
            self.notes.say(f"fields that appear first after {_BLOCK_LINES:,} lines are left out: {', '.join(new[:5])}.")
        return schema


def _filled(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the columns of the schema; absent ones are missing throughout."""
    return pa.table(
        {
            field.name: table.column(field.name)
            if field.name in table.column_names
            else pa.nulls(table.num_rows, field.type)
            for field in schema
        }
    )


def _table_of(objects: list[dict[str, Any]]) -> pa.Table:
    """Objects as columns; a column of several kinds of values becomes text, to be read like a column of a CSV file."""
    names = list(dict.fromkeys(name for row in objects for name in row))
    columns = {}
    for name in names:
        values = [row.get(name) for row in objects]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            columns[name] = pa.array([None if value is None else _text(value) for value in values], pa.large_string())
    return pa.table(columns)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
