"""Comma-separated files and their kin, parsed by Arrow as text and then read column by column."""

from __future__ import annotations

import io
import re
from collections.abc import Generator, Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
from numpy.typing import NDArray

from rfod._io.batches import Batch, cut
from rfod._io.dialect import find_dialect
from rfod._io.encoding import Utf8Stream
from rfod._io.errors import InputError
from rfod._io.notes import Notes
from rfod._io.options import ReadOptions
from rfod._io.plans import Planner
from rfod._io.quotes import READ_BYTES, MendedStream, Mender
from rfod._io.streams import closing_on_error, open_bytes, unpack

BLOCK_BYTES = 1 << 22  # no row may be longer
MOST_OPEN_QUOTES = 100  # more are no slips: the file has another layout
_DECISION_ROWS = 100_000


class _Skipped(NamedTuple):
    """A row that was left out because of its number of fields."""

    position: int
    """Among all rows of the file, from 0."""
    n_fields: int
    n_breaks: int
    """Line breaks inside of it."""


class DelimitedSource:
    """A CSV, TSV or similar file, or stdin."""

    def __init__(self, path: str | BinaryIO, options: ReadOptions, name: str | None = None) -> None:
        self.name = name or str(path)
        self.notes = Notes()
        self._options = options
        self._bytes = open_bytes(path)
        with closing_on_error(self._bytes):
            self._text = Utf8Stream(unpack(self._bytes), self.name, options.encoding, self.notes, options.strict)
            sample, whole = self._text.sample()
            self.dialect = find_dialect(sample, whole, self.name, options, self.notes)
        self._n_before = self.dialect.n_lines_before
        self._n_parsed = 0
        self._n_breaks = 0
        """Line breaks inside of quotes so far."""
        self._skipped: list[_Skipped] = []
        self._n_named = 0

    def progress(self) -> tuple[int, int | None]:
        return self._bytes.n_read, self._bytes.n_total

    def batches(self) -> Generator[Batch, None, None]:
        """The rows; the first ones are looked at together to decide what each column holds."""
        names = self._options.picked(self.dialect.names)
        planner = Planner(self.name, self.notes, self._options.kinds, self._options.decimal, self._options.told)
        first_row = 0
        with self._bytes:
            for table, lines in _gathered(self._batches(names), _DECISION_ROWS):
                table, lines = self._without_empty(table, lines)
                yield from cut(planner.convert(table, lines), lines, first_row, self._options.batch_rows)
                first_row += table.num_rows

    def _batches(self, names: list[str]) -> Iterator[tuple[pa.Table, NDArray[np.int64]]]:
        """All columns parsed as text, with the line of each row."""
        quoted = self.dialect.quote is not None
        try:
            reader = pc_csv.open_csv(
                self._mended(),
                read_options=pc_csv.ReadOptions(
                    use_threads=False,  # so that rows that do not parse know their number
                    block_size=BLOCK_BYTES,
                    column_names=list(self.dialect.names),
                    skip_rows=self._n_before,
                ),
                parse_options=pc_csv.ParseOptions(
                    delimiter=self.dialect.separator,
                    quote_char=self.dialect.quote or False,
                    double_quote=quoted,
                    newlines_in_values=quoted,
                    ignore_empty_lines=False,  # they are counted, for the line numbers
                    invalid_row_handler=self._skip,
                ),
                convert_options=pc_csv.ConvertOptions(
                    column_types=dict.fromkeys(self.dialect.names, pa.large_string()),
                    null_values=[],
                    check_utf8=False,  # the stream did
                ),
            )
            for batch in reader:
                if not batch.num_rows:
                    continue
                table = pa.Table.from_batches([batch])
                lines = self._lines(table)
                yield table.select(names), lines
            for place in range(self._n_named, len(self._skipped)):
                self._name_bad_line(self._n_breaks + sum(row.n_breaks for row in self._skipped[:place]))
        except pa.ArrowInvalid as error:
            raise InputError(self._message(error)) from error

    def _mended(self) -> io.BufferedReader:
        """The text with quotes that are never closed as ordinary characters. Buffered: a short block confuses Arrow."""
        stream: io.RawIOBase = self._text
        if self.dialect.quote is not None:
            mender = Mender(self.dialect.separator, self.dialect.quote, BLOCK_BYTES)
            stream = MendedStream(io.BufferedReader(self._text, READ_BYTES), mender, self._note_open_quote)
        return io.BufferedReader(stream, READ_BYTES)

    def _note_open_quote(self, line: int) -> None:
        self.notes.open_quotes.add(f"{line:,}")
        if self._options.strict or self.notes.open_quotes.count > MOST_OPEN_QUOTES:
            several = "" if self._options.strict else f", like {MOST_OPEN_QUOTES} before it"
            raise InputError(
                f"{self.name}, line {line:,}: the quote {self.dialect.quote} that opens here is never closed{several}. "
                "Hint: close it, or read quotes as ordinary characters: --quote none."
            )

    def _skip(self, row: Any) -> str:
        """Called for each row with another number of fields, before the rows around it arrive."""
        self._skipped.append(_Skipped(row.number - self._n_before - 1, row.actual_columns, row.text.count("\n")))
        return "skip"

    def _lines(self, table: pa.Table) -> NDArray[np.int64]:
        """Line on which each row begins: rows that were left out and line breaks inside of quotes are counted."""
        breaks = self._breaks(table)
        n_good_before = np.array([row.position for row in self._skipped], dtype=np.int64)
        n_good_before -= np.arange(len(self._skipped))
        breaks_of_skipped = np.cumsum([0, *(row.n_breaks for row in self._skipped)])
        positions = np.arange(self._n_parsed, self._n_parsed + table.num_rows)
        n_skipped_before = np.searchsorted(n_good_before, positions, side="right")
        breaks_before = self._n_breaks + np.concatenate([[0], np.cumsum(breaks)])
        lines = positions + n_skipped_before + self._n_before + 1
        lines += breaks_before[:-1] + breaks_of_skipped[n_skipped_before]
        for place in range(self._n_named, len(self._skipped)):
            n_before_in_table = int(n_good_before[place]) - self._n_parsed
            if n_before_in_table > table.num_rows:
                break
            self._name_bad_line(int(breaks_before[n_before_in_table] + breaks_of_skipped[place]))
        self._n_parsed += table.num_rows
        self._n_breaks = int(breaks_before[-1])
        return lines

    def _name_bad_line(self, breaks_before: int) -> None:
        """Note the line of the next row that was left out, now that the rows before it are known."""
        row = self._skipped[self._n_named]
        self._n_named += 1
        if self._options.strict:
            line = row.position + self._n_before + 1 + breaks_before
            raise InputError(
                f"{self.name}, line {line:,}: {row.n_fields} fields where the header has {len(self.dialect.names)}. "
                "Hint: correct the line, or read without --strict."
            )
        self.notes.bad_line(row.position + self._n_before + 1 + breaks_before, row.n_fields)

    def _breaks(self, table: pa.Table) -> NDArray[np.int64]:
        """Line breaks inside of each row."""
        counts = np.zeros(table.num_rows, dtype=np.int64)
        for column in table.columns if self.dialect.quote is not None else ():
            if _has_break(column):
                counts += pc.count_substring_regex(column, "\r\n|\n|\r").to_numpy()
        return counts

    def _without_empty(self, table: pa.Table, lines: NDArray[np.int64]) -> tuple[pa.Table, NDArray[np.int64]]:
        """Without the rows in which no cell holds anything; blank lines are such rows."""
        empty = np.ones(table.num_rows, dtype=np.bool_)
        for column in table.columns:
            if not empty.any():
                break
            empty &= pc.equal(column, "").to_numpy()
        if not empty.any():
            return table, lines
        for line in lines[empty]:
            self.notes.empty_lines.add(f"{line:,}")
        return table.filter(pa.array(~empty)), lines[~empty]

    def _message(self, error: pa.ArrowInvalid) -> str:
        line = self._n_parsed + len(self._skipped) + self._n_before + self._n_breaks + 1
        if "straddl" in str(error):
            return (
                f"{self.name}, after line {line:,}: a row is longer than {BLOCK_BYTES >> 20} MB. "
                "Hint: is it a table? --sep and --quote say how the file is laid out."
            )
        if "Could not skip initial" in str(error):
            return f"{self.name}: the table has no rows. Hint: a header alone is not enough."
        reason = re.sub(r"\s+", " ", str(error))[:200]
        return f"{self.name}, near line {line:,}: {reason}. Hint: --sep and --quote say how the file is laid out."


def _has_break(column: pa.ChunkedArray) -> bool:
    """Looks at the bytes of the whole column at once."""
    return any(
        b"\n" in memoryview(buffer).tobytes() or b"\r" in memoryview(buffer).tobytes()
        for chunk in column.chunks
        if (buffer := chunk.buffers()[2]) is not None
    )


def _gathered(
    batches: Iterator[tuple[pa.Table, NDArray[np.int64]]], n_rows: int
) -> Iterator[tuple[pa.Table, NDArray[np.int64]]]:
    """The first batches joined to at least so many rows, then one by one."""
    tables, lines, n_gathered = [], [], 0
    for table, numbers in batches:
        tables.append(table)
        lines.append(numbers)
        n_gathered += table.num_rows
        if n_gathered >= n_rows:
            yield pa.concat_tables(tables), np.concatenate(lines)
            tables, lines = [], []
    if tables:
        yield pa.concat_tables(tables), np.concatenate(lines)
