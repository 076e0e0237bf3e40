"""Comma-separated files and their like: the first part shows the layout, then Arrow parses all columns as text."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from rfod._io.interface import EMPTY_LINES, InputError, Notes, Occurrences, ReadOptions
from rfod._io.quotes import READ_BYTES, Mender
from rfod._io.source import Block, Lines
from rfod._io.text import ChunkStream, TextSource, Utf8Stream
from rfod._table.kinds.base import is_missing
from rfod._table.kinds.moments import is_date
from rfod._table.kinds.numeric import is_number
from rfod._table.schema import IDENTIFIER_NAME
from rfod._table.table import listed
from rfod.exceptions import counted

BLOCK_BYTES = 1 << 22  # no row may be longer
MOST_OPEN_QUOTES = 100  # more are no slips: the file has another layout
MOST_TITLE_ROWS = 20
SEPARATORS = (",", ";", "\t", "|")
_RARE_SEPARATORS = (":", "^", "~", "#", "\x01", "\x1f", " ")  # suggested, never chosen
_LAYOUT_ROWS = 1000  # looked at to find the layout
_FIRST_ROWS = 100_000
_NEARLY_ALL = 0.98  # of the lines have one field more than the header: fewer have it by a separator inside a value
_MANY_LOST = 0.2  # share of lines left out from which the rows that are read may not speak for the file
_NO_TABLE, _EACH_WAY = 1 / 3, 0.1  # shares of all lines left out, and of those with fewer and those with more fields
_MANY_ALIKE = 0.05  # of the lines have as many fields as a line above the table: it is their header
_EXCEL_LINE = re.compile(r"sep=(.)\r?\n")


class _Skipped(NamedTuple):
    """A row that was left out because of its number of fields."""

    position: int
    """Among all rows of the file, from 0."""
    n_fields: int
    n_breaks: int
    """Line breaks inside of it."""


class DelimitedSource(TextSource):
    """A CSV, TSV or similar file, or stdin. All columns are text."""

    dialect: Dialect
    """Known when the first rows are read."""

    def __init__(self, path: str | BinaryIO, options: ReadOptions, name: str | None = None) -> None:
        super().__init__(path, options, name or str(path))
        self._n_parsed = 0
        """Rows of the file so far, with those that were left out."""
        self._line = 1
        """On which the next row begins."""
        self._skipped: list[_Skipped] = []
        """Rows whose line is not known yet."""
        self._n_kept = 0
        """Rows so far that hold anything and have the right number of fields."""
        self._n_fields_left_out: Counter[int] = Counter()
        """Rows that were left out so far, by their number of fields."""

    def blocks(self) -> Generator[Block, None, None]:
        """The first 100,000 rows are one block, enough to decide what each column holds; later ones pass as parsed."""
        n_rows = 0
        tables, lines = [], []
        with self.open_text() as text:
            self.dialect = find_dialect(*text.sample(), self.name, self.options, self.notes)
            self._line += self.dialect.n_lines_before
            for table in self._parsed(text):
                tables.append(table)
                lines.append(self._lines(self._n_breaks(table)))
                n_rows += table.num_rows
                if n_rows >= _FIRST_ROWS:
                    yield self._counted(pa.concat_tables(tables), np.concatenate(lines))
                    tables, lines = [], []
        self._lines(np.zeros(0, dtype=np.int64))  # rows at the end that were left out
        if tables:
            yield self._counted(pa.concat_tables(tables), np.concatenate(lines))
        self._check_share()

    def _parsed(self, text: Utf8Stream) -> Iterator[pa.Table]:
        dialect, is_quoted = self.dialect, self.dialect.quote is not None
        read_options = pa_csv.ReadOptions(
            use_threads=False,  # so that rows that do not parse know their number
            block_size=BLOCK_BYTES,
            column_names=list(dialect.names),
            skip_rows=dialect.n_lines_before,
        )
        parse_options = pa_csv.ParseOptions(
            delimiter=dialect.separator,
            quote_char=dialect.quote or False,
            double_quote=is_quoted,
            newlines_in_values=is_quoted,
            ignore_empty_lines=False,  # they are counted, for the line numbers
            invalid_row_handler=self._skip,
        )
        as_text = pa_csv.ConvertOptions(
            column_types=dict.fromkeys(dialect.names, pa.large_string()),
            null_values=[],
            check_utf8=False,  # the stream did
        )
        try:
            for batch in pa_csv.open_csv(self._mended(text), read_options, parse_options, as_text):
                yield pa.Table.from_batches([batch])
        except pa.ArrowInvalid as error:
            raise InputError(self._message(str(error))) from error

    def _mended(self, text: Utf8Stream) -> io.BufferedReader:
        """The text with quotes that are never closed as ordinary characters. Buffered: a short block confuses Arrow."""
        stream: ChunkStream = text
        if self.dialect.quote is not None:
            mender = Mender(self.dialect.separator, self.dialect.quote, BLOCK_BYTES)
            stream = ChunkStream(mender.mend_stream(io.BufferedReader(text, READ_BYTES), self._note_open_quote))
        return io.BufferedReader(stream, READ_BYTES)

    def _note_open_quote(self, line: int) -> None:
        places = self.notes.places(
            "{count} {quote that is|quotes that are} never closed read as {an ordinary character|ordinary characters}: "
            "line {places}."
        )
        places.add(f"{line:,}")
        if self.options.strict or places.count > MOST_OPEN_QUOTES:
            several = "" if self.options.strict else f", like {MOST_OPEN_QUOTES} before it"
            raise InputError(
                f"{self.name}, line {line:,}: the quote {self.dialect.quote} that opens here is never closed{several}. "
                "Hint: close it, or read quotes as ordinary characters: --quote none."
            )

    def _skip(self, row: Any) -> str:
        """Called for each row with another number of fields, before the rows around it arrive."""
        position = row.number - self.dialect.n_lines_before - 1
        self._skipped.append(_Skipped(position, row.actual_columns, row.text.count("\n")))
        return "skip"

    def _n_breaks(self, table: pa.Table) -> Lines:
        """Line breaks inside of each row."""
        counts = np.zeros(table.num_rows, dtype=np.int64)
        for column in table.columns if self.dialect.quote is not None else ():
            if _has_break(column):
                counts += pc.count_substring_regex(column, "\r\n|\n|\r").to_numpy()
        return counts

    def _lines(self, n_breaks: Lines) -> Lines:
        """Line on which each of the next rows begins, by the line breaks inside of them.

        Rows that were left out before and between them are counted, too, and noted, now that their lines are known.
        """
        n_good_before = np.array([row.position - n for n, row in enumerate(self._skipped)], np.int64) - self._n_parsed
        n_good_before = n_good_before[n_good_before <= len(n_breaks)]
        skipped, self._skipped = self._skipped[: len(n_good_before)], self._skipped[len(n_good_before) :]
        n_lines = 1 + np.insert(n_breaks, n_good_before, [row.n_breaks for row in skipped])
        lines = self._line + np.cumsum(n_lines) - n_lines
        is_skipped = n_good_before + np.arange(len(skipped))
        for line, row in zip(lines[is_skipped], skipped, strict=True):
            self._note_skipped(line, row.n_fields)
        self._n_parsed += len(lines)
        self._line += int(n_lines.sum())
        return np.delete(lines, is_skipped)

    def _note_skipped(self, line: int, n_fields: int) -> None:
        if self.options.strict:
            raise InputError(
                f"{self.name}, line {line:,}: {n_fields} fields where the header has {len(self.dialect.names)}. "
                "Hint: correct the line, or read without --strict."
            )
        self._n_fields_left_out[n_fields] += 1
        self._left_out().add(f"{line:,} ({counted(n_fields, 'field')})")

    def _left_out(self) -> Occurrences:
        """The lines with another number of fields."""
        return self.notes.places(
            "{layout}; {count} of {total} lines {has|have} another number of fields and {is|are} left out: "
            "line {places}. Hint: {hint}",
            layout=self._layout_words(),
            hint=self._way_out(),
        )

    def _layout_words(self) -> str:
        n_fields = len(self.dialect.names)
        return (
            f"the header has {counted(n_fields, 'name')}" if self.dialect.is_named else f"rows have {n_fields} fields"
        )

    def _way_out(self) -> str:
        hint = f"a value with {self.dialect.separator!r} in it needs quotes; --sep names another separator"
        return f"{hint}, --no-header reads a table without names." if self.dialect.is_named else f"{hint}."

    def _check_share(self) -> None:
        """At the end of the file: warn where many lines are left out, raise `InputError` where most are, or where many
        have fewer and many more fields, as in a program."""
        n_lost = self._n_fields_left_out.total()
        n_lines = n_lost + self._n_kept
        if not n_lost:
            return
        noted = self._left_out()
        noted.total = n_lines
        noted.warning = f"{n_lost / n_lines:.0%} of the lines are not read: " if n_lost > _MANY_LOST * n_lines else ""
        n_fewer = sum(n for n_fields, n in self._n_fields_left_out.items() if n_fields < len(self.dialect.names))
        both_ways = n_lost > _NO_TABLE * n_lines and min(n_fewer, n_lost - n_fewer) > _EACH_WAY * n_lines
        if n_lost > self._n_kept or both_ways:
            ((n_fields, count),) = self._n_fields_left_out.most_common(1)
            others = "" if count == n_lost else f" {count:,} of them have {counted(n_fields, 'field')}."
            lines = f"have {counted(n_fields, 'field')}" if count == n_lost else "have another number of fields"
            raise InputError(
                f"{self.name}: {self._layout_words()}, but {n_lost:,} of {n_lines:,} lines {lines}, for "
                f"example line {noted.examples[0].split(' ')[0]}.{others} Hint: is it a table? {self._way_out()}"
            )

    def _without_empty(self, table: pa.Table, lines: Lines) -> tuple[pa.Table, Lines]:
        """Without the rows in which no cell holds anything; blank lines are such rows."""
        is_empty = np.ones(table.num_rows, dtype=np.bool_)
        for column in table.columns:
            if not is_empty.any():
                return table, lines
            is_empty &= pc.equal(column, "").to_numpy()
        for line in lines[is_empty]:
            self.notes.places(EMPTY_LINES).add(f"{line:,}")
        return table.filter(pa.array(~is_empty)), lines[~is_empty]

    def _counted(self, table: pa.Table, lines: Lines) -> tuple[pa.Table, Lines]:
        """A block without empty rows, counted."""
        table, lines = self._without_empty(table, lines)
        self._n_kept += table.num_rows
        return table, lines

    def _message(self, reason: str) -> str:
        line = self._line + len(self._skipped)
        hint = "--sep and --quote say how the file is laid out."
        if "straddl" in reason:
            size = f"{BLOCK_BYTES >> 20} MB"
            return f"{self.name}, after line {line:,}: a row is longer than {size}. Hint: is it a table? {hint}"
        if "Could not skip initial" in reason:
            return f"{self.name}: the table has no rows. Hint: a header alone is not enough."
        return f"{self.name}, near line {line:,}: {' '.join(reason.split())[:200]}. Hint: {hint}"


def _has_break(column: pa.ChunkedArray) -> bool:
    """Looks at the bytes of the whole column at once."""
    buffers = [memoryview(chunk.buffers()[2] or b"").tobytes() for chunk in column.chunks]
    return any(b"\n" in buffer or b"\r" in buffer for buffer in buffers)


# -------------------------------------------------------------------------------------------------------------- layout


@dataclass(frozen=True)
class Dialect:
    """The layout of a text file."""

    separator: str
    quote: str | None
    names: tuple[str, ...]
    n_lines_before: int
    """Lines before the first row of data."""
    is_named: bool = True
    """Whether a header names all columns."""


def find_dialect(sample: str, whole: bool, name: str, options: ReadOptions, notes: Notes) -> Dialect:
    """The layout that gives the most rows the same number of fields."""
    separator, n_before = options.separator, 0
    if (excel_line := _EXCEL_LINE.match(sample)) is not None:
        separator, n_before, sample = separator or excel_line[1], 1, sample[excel_line.end() :]
    _check_character(separator, "separator", name, "for example --sep ';' or --sep '\\t'.")
    quotes: list[str | None] = ['"', "'"] if options.quote is None else [options.quote]
    if options.quote is not None and options.quote.lower() == "none":
        quotes = [None]
    _check_character(quotes[0], "quote", name, "--quote none switches quoting off.")
    if not sample.strip():
        raise InputError(f"{name} is empty. Hint: a table with a header and rows is needed.")
    candidates = list(itertools.product([separator] if separator is not None else SEPARATORS, quotes))
    best = max(candidates, key=lambda pair: _fitness(sample, whole, *pair))
    rows, lines = _rows(sample, whole, *best)
    if not rows:
        raise InputError(f"{name}: no line ends within the first {len(sample):,} characters. Hint: is it a table?")
    start = _first_row(rows)
    if options.header is not False and _is_header_of_others(rows, start):
        start -= 1
    if start:
        notes.add(
            f"{counted(start, 'line')} before the table left out for having fewer fields: line {lines[0] + n_before:,}"
            + (f" to {lines[start - 1] + n_before:,}." if start > 1 else ".")
        )
        rows, lines = rows[start:], lines[start:]
    if len(rows[0]) == 1:
        _name_other_separator(sample, whole, best, name, options, notes)
    has_header = _has_header(rows) if options.header is None else options.header
    names = column_names(rows, has_header, notes, separator=best[0])
    if has_header:
        n_before += lines[0]
    elif options.header is None:
        n_before += lines[0] - 1 if start else 0
        notes.add(
            f"no header found; the columns are called {names[0]!r}, ... Hint: --header takes the first line as one."
        )
    return Dialect(best[0], best[1], names, n_before, has_header and len(names) == len(rows[0]))


def _check_character(text: str | None, what: str, name: str, hint: str) -> None:
    if text is not None and (len(text) != 1 or not text.isascii() or text in "\r\n"):
        raise InputError(f"{name}: the {what} {text!r} is not one ASCII character. Hint: {hint}")


def _rows(sample: str, whole: bool, separator: str, quote: str | None) -> tuple[list[list[str]], list[int]]:
    """Rows of the sample that are certainly complete and not blank, and the line each ends on."""
    if quote is not None and quote in sample:
        mender = Mender(separator, quote, len(sample) // 2)  # half: what is longer hides too many rows
        sample = mender.mend(sample.encode(), whole).data.decode()
    limit = csv.field_size_limit(1 << 30)
    quoting: Any = {"quotechar": quote} if quote is not None else {"quoting": csv.QUOTE_NONE}
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator, **quoting)
    try:
        rows = [(row, reader.line_num) for row in itertools.islice(reader, _LAYOUT_ROWS + 1)]
    except csv.Error:
        return [], []
    finally:
        csv.field_size_limit(limit)
    if not whole and 1 < len(rows) <= _LAYOUT_ROWS:
        del rows[-1]  # which may be cut off
    return [row for row, _ in rows if row], [line for row, line in rows if row]


def _name_other_separator(
    sample: str, whole: bool, found: tuple[str, str | None], name: str, options: ReadOptions, notes: Notes
) -> None:
    """Note what else could separate the columns of a table that has only one."""
    separator, quote = found
    numbers = {
        other: _n_columns(_rows(sample, whole, other, quote)[0])
        for other in (*SEPARATORS, *_RARE_SEPARATORS)
        if other != separator and other in sample
    }
    likely = max(numbers, key=lambda other: numbers[other], default="")
    if not likely or numbers[likely] < (3 if likely == " " else 2):
        return
    text = f"{likely!r} does and gives {numbers[likely]} columns. Hint: --sep {likely!r}"
    if options.separator is not None and separator not in sample:
        raise InputError(f"{name}: the separator {separator!r} does not occur in it; {text}.")
    notes.add(f"the table has one column; {separator!r} does not separate any, but {text} reads them.")


def _n_columns(rows: Sequence[Sequence[str]]) -> int:
    """Of a table whose header and nearly all rows have as many; otherwise 0."""
    n_same = sum(len(row) == len(rows[0]) for row in rows)
    return len(rows[0]) if len(rows) > 1 and n_same >= 0.95 * len(rows) else 0


def _fitness(sample: str, whole: bool, separator: str, quote: str | None) -> tuple[float, ...]:
    """How well a layout fits: rows agree, the header too, no other separator inside, plain quotes, more fields."""
    rows, _ = _rows(sample, whole, separator, quote)
    if not rows:
        return (-1.0,)
    counts = Counter(map(len, rows))
    n_fields = max(counts, key=lambda length: (counts[length], length))
    if n_fields < 2:
        return (0.0, 0.0, 0.0, float(quote == '"'), 0.0)
    body = [row for row in rows if len(row) == n_fields]
    others = [other for other in SEPARATORS[1:] if other != separator]
    n_inside = sum(any(other in cell for other in others) for row in body for cell in row)
    share_inside = n_inside / (len(body) * n_fields)
    agreement = counts[n_fields] / len(rows)
    header = float(len(rows[_first_row(rows)]) in (n_fields, n_fields - 1))
    return (round(agreement * (1 - share_inside), 2) + header, -share_inside, agreement, float(quote == '"'), n_fields)


def _first_row(rows: Sequence[Sequence[str]]) -> int:
    """Where the table begins: titles and comments above it have fewer fields than most rows."""
    counts = Counter(map(len, rows))
    n_fields = max(counts, key=lambda length: (counts[length], length))
    if n_fields < 3 or counts[n_fields] < max(3, len(rows) // 2):
        return 0
    start = next(place for place, row in enumerate(rows) if len(row) in (n_fields, n_fields - 1))
    return start if start <= MOST_TITLE_ROWS and all(len(row) < n_fields - 1 for row in rows[:start]) else 0


def _is_header_of_others(rows: Sequence[Sequence[str]], start: int) -> bool:
    """Whether the row above the table is no title but a header that most lines do not fit: it reads as names, and some
    lines have as many fields, or else the table would have no header."""
    if not start:
        return False
    above, body = [cell.strip() for cell in rows[start - 1]], rows[start:]
    are_names = all(cell and not is_number(cell) and not is_date(cell) for cell in above) and above[0][0] != "#"
    if len(above) < 2 or len(set(above)) < len(above) or not are_names:
        return False
    return sum(len(row) == len(above) for row in body) >= _MANY_ALIKE * len(body) or not _has_header(body)


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: no value stands where the rows below have numbers or dates."""
    first, body = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if not body:
        return not any(is_number(cell) or is_date(cell) for cell in first)
    votes = 0
    for column, cell in enumerate(first):
        below = [row[column] for row in body[:200] if not is_missing(row[column])]
        typed = sum(is_number(value) or is_date(value) for value in below)
        if below and typed >= 0.8 * len(below) and not is_missing(cell):
            votes += -1 if is_number(cell) or is_date(cell) else 1
    if votes:
        return votes > 0
    repeated = sum(cell in {row[column] for row in body} for column, cell in enumerate(first))
    return 2 * repeated < len(first)


def column_names(rows: Sequence[Sequence[str]], has_header: bool, notes: Notes, separator: str = "") -> tuple[str, ...]:
    """Unique names for all columns; names that are made up are noted."""
    lengths = Counter(map(len, rows[1:] if has_header and len(rows) > 1 else rows))
    n_fields = lengths.most_common(1)[0][0]
    if not has_header:
        return tuple(f"column_{position + 1}" for position in range(n_fields))
    header = [cell.strip() for cell in rows[0]]
    body = [row for row in rows[1:] if len(row) == len(header) + 1]
    if body and len(body) >= _NEARLY_ALL * (len(rows) - 1):
        if all(not row[-1].strip() for row in body):  # a separator at the end of each line
            header = [*header, ""]
        elif _has_row_names(header, body, separator):
            name = _free("column_1", set(header))
            notes.add(
                f"the header has {counted(len(header), 'name')} and each line a field more: the first field, different "
                f"in each line, is taken for row names and called {name!r}. Hint: if a separator inside of a value is "
                "the reason, put such values in quotes."
            )
            header = [name, *header]
    names: list[str] = []
    made_up, repeated = [], []
    taken = set(header)
    for position, cell in enumerate(header):
        name = cell
        if not name:
            name = _free(f"column_{position + 1}", taken)
            made_up.append(name)
        elif name in names:
            name = _free(f"{cell}_{header[:position].count(cell) + 1}", taken)
            repeated.append(f"{cell!r} as {name!r}")
        taken.add(name)
        names.append(name)
    if made_up:
        notes.add(f"{counted(len(made_up), 'column')} without a name: called {listed(made_up)}.")
    if repeated:
        notes.add(f"{counted(len(repeated), 'column name')} used again: read {', '.join(repeated[:5])}.")
    return tuple(names)


def _has_row_names(header: Sequence[str], body: Sequence[Sequence[str]], separator: str) -> bool:
    """Whether the first field, which the header does not name, is different in each line. Commas stand inside of values
    too: there the first name must not be that of a key, which would be different in each line itself."""
    if separator == "," and IDENTIFIER_NAME.fullmatch(header[0]):
        return False
    return len({row[0] for row in body}) == len(body)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
