"""How a text file is laid out: separator, quotes, header; found out from its first part."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rfod._io.errors import InputError
from rfod._io.notes import Notes
from rfod._io.options import ReadOptions
from rfod._io.quotes import Mender
from rfod._io.readings import is_date, is_missing, is_number

SEPARATORS = (",", ";", "\t", "|")
_RARE_SEPARATORS = (":", "^", "~", "#", "\x01", "\x1f", " ")  # which are never taken for one unasked
_SAMPLE_ROWS = 1000
MOST_TITLE_ROWS = 20
_EXCEL_LINE = re.compile(r"sep=(.)\r?\n")


@dataclass(frozen=True)
class Dialect:
    """The layout of a text file."""

    separator: str
    quote: str | None
    names: tuple[str, ...]
    n_lines_before: int
    """Lines before the first row of data."""


def find_dialect(sample: str, whole: bool, name: str, options: ReadOptions, notes: Notes) -> Dialect:
    """The layout that gives the most rows the same number of fields."""
    separator, n_before = options.separator, 0
    if (told := _EXCEL_LINE.match(sample)) is not None:
        separator, n_before, sample = separator or told[1], 1, sample[told.end() :]
    _check_separator(separator, name)
    if not sample.strip():
        raise InputError(f"{name} is empty. Hint: a table with a header and rows is needed.")
    quotes: list[str | None] = ['"', "'"] if options.quote is None else [_quote(options.quote, name)]
    candidates = [
        (candidate, quote) for quote in quotes for candidate in ((separator,) if separator else SEPARATORS) if candidate
    ]
    best = max(candidates, key=lambda pair: _fitness(sample, whole, *pair))
    rows, lines = _rows(sample, whole, *best)
    if not rows:
        raise InputError(f"{name}: no line ends within the first {len(sample):,} characters. Hint: is it a table?")
    start = _first_row(rows)
    if start:
        notes.say(
            f"{start} line(s) before the table left out, which have fewer fields: line {lines[0] + n_before:,}"
            + (f" to {lines[start - 1] + n_before:,}." if start > 1 else ".")
        )
        rows, lines = rows[start:], lines[start:]
    if len(rows[0]) == 1:
        _name_other_separator(sample, whole, best, name, options, notes)
    has_header = _has_header(rows) if options.header is None else options.header
    names = column_names(rows, has_header, notes)
    if has_header:
        n_before += lines[0]
    elif options.header is None:
        n_before += lines[0] - 1 if start else 0
        notes.say(
            f"no header found; the columns are called {names[0]!r}, ... Hint: --header takes the first line as one."
        )
    return Dialect(best[0], best[1], names, n_before)


def _quote(text: str, name: str) -> str | None:
    if text.lower() == "none":
        return None
    if len(text) != 1 or not text.isascii() or text in "\r\n":
        raise InputError(
            f"{name}: the quote {text!r} is not one ASCII character. Hint: --quote none switches quoting off."
        )
    return text


def _check_separator(text: str | None, name: str) -> None:
    if text is not None and (len(text) != 1 or not text.isascii() or text in "\r\n"):
        raise InputError(
            f"{name}: the separator {text!r} is not one ASCII character. Hint: for example --sep ';' or --sep '\\t'."
        )


def _rows(sample: str, whole: bool, separator: str, quote: str | None) -> tuple[list[list[str]], list[int]]:
    """Rows of the sample that are certainly complete and not blank, and the line each ends on."""
    if quote is not None and quote in sample:
        mender = Mender(separator, quote, len(sample) // 2)  # half: what is longer hides too many rows
        sample = mender.mend(sample.encode(), whole).data.decode()
    limit = csv.field_size_limit(1 << 30)
    try:
        if quote is None:
            reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator, quoting=csv.QUOTE_NONE)
        else:
            reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator, quotechar=quote)
        rows, lines = [], []
        for row in reader:
            rows.append(row)
            lines.append(reader.line_num)
            if len(rows) > _SAMPLE_ROWS:
                break
    except csv.Error:
        return [], []
    finally:
        csv.field_size_limit(limit)
    if not whole and len(rows) <= _SAMPLE_ROWS and len(rows) > 1:
        rows, lines = rows[:-1], lines[:-1]  # the last one may be cut off
    kept = [place for place, row in enumerate(rows) if row]
    return [rows[place] for place in kept], [lines[place] for place in kept]


def _name_other_separator(
    sample: str, whole: bool, found: tuple[str, str | None], name: str, options: ReadOptions, notes: Notes
) -> None:
    """Say what else could separate the columns of a table that has only one."""
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
    notes.say(f"the table has one column; {separator!r} does not separate any, but {text} reads them.")


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


def column_names(rows: Sequence[Sequence[str]], has_header: bool, notes: Notes) -> tuple[str, ...]:
    """Unique names for all columns; what had to be made up is said."""
    lengths = Counter(map(len, rows[1:] if has_header and len(rows) > 1 else rows))
    n_fields = lengths.most_common(1)[0][0]
    if not has_header:
        return tuple(f"column_{position + 1}" for position in range(n_fields))
    header = [cell.strip() for cell in rows[0]]
    if n_fields == len(header) + 1:  # row names without a heading, or a separator at the end of each line
        body = [row for row in rows[1:] if len(row) == n_fields]
        header = [*header, ""] if all(not row[-1].strip() for row in body) else ["", *header]
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
        notes.say(f"{len(made_up)} column(s) without a name are called {', '.join(map(repr, made_up[:5]))}.")
    if repeated:
        notes.say(f"{len(repeated)} column name(s) occur again; read {', '.join(repeated[:5])}.")
    return tuple(names)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
