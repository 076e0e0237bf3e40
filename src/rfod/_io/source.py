"""A table that is read batch by batch: how its text columns are read, and what callers get of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._io.interface import EXAMPLES, InputError, Notes, ReadOptions
from rfod._table.kinds import NATURAL_KIND, find_reading, kind_of
from rfod._table.kinds.base import MISSING_TEXTS, ORDERS, ColumnFormat, TextSample, sample_values, trimmed, without
from rfod._table.kinds.numeric import find_decimal
from rfod._table.table import Table, open_table
from rfod._table.values import family
from rfod.params import KINDS

_ORDER_WORDS = {"dmy": " with the day first", "mdy": " with the month first"}
_LATE_FIELDS = "{count} {field|fields} that the first rows lack left out: {places}."

Lines = NDArray[np.int64]
Block = tuple[pa.Table, Lines | None]
"""Some consecutive rows as a reader parses them, and the line of each row in its text file, from 1."""


@dataclass
class Planner:
    """How the text columns of one source are read, and their reading."""

    name: str
    notes: Notes
    kinds: Mapping[str, str | ColumnFormat]
    decimal: str | None = None
    fixed: frozenset[str] = frozenset()
    readings: dict[str, ColumnFormat | None] | None = None
    """Of the columns of text; None for those that stay text."""
    _n_present: Counter[str] = field(default_factory=Counter)
    _n_odd: Counter[str] = field(default_factory=Counter)

    def convert(self, table: pa.Table, lines: Lines | None) -> tuple[pa.Table, pa.Table]:
        """The table with its text columns as what they hold, and the text of those that are no longer text.

        The first table decides."""
        texts = {name: table.column(name) for name in table.column_names if family(table.field(name).type) == "text"}
        if self.readings is None:
            samples = {name: sample_values(column) for name, column in texts.items()}
            decimal = self.decimal or find_decimal(samples.values())
            self.readings = {
                name: self._decide(name, values, decimal, partial(_place_of, texts[name], lines))
                for name, values in samples.items()
            }
        read = {name: self._read(name, column, lines) for name, column in texts.items()}
        parsed = [name for name in texts if self.readings.get(name) is not None]
        return pa.table({name: read.get(name, table.column(name)) for name in table.column_names}), table.select(parsed)

    def _decide(
        self, name: str, values: pa.ChunkedArray, decimal: str, place_of: Callable[[str], str]
    ) -> ColumnFormat | None:
        """By what the caller says; otherwise by what nearly all values are."""
        given = self.kinds.get(name)
        if isinstance(given, ColumnFormat):
            return given
        given = "numeric" if given == "number" else given
        if given not in (None, *KINDS, *ORDERS):
            return None
        sample = TextSample(
            name,
            values,
            decimal,
            self.decimal is not None,
            given,
            way="--type {name!r}={kind}",
            place_of=place_of,
        )
        reading = find_reading(sample)
        for remark in sample.remarks:
            self.notes.add(remark)
        return reading

    def _read(self, name: str, texts: pa.ChunkedArray, lines: Lines | None) -> pa.ChunkedArray:
        reading = (self.readings or {}).get(name)
        if reading is None:
            return without(pc.utf8_trim_whitespace(texts), MISSING_TEXTS)
        texts = trimmed(texts)
        read = kind_of(reading.kind).read(texts, reading)
        self._n_present[name] += len(texts) - texts.null_count
        if read.null_count > texts.null_count:
            odd = np.flatnonzero(pc.and_(read.is_null(), texts.is_valid()).to_numpy())
            noun = kind_of(reading.kind).noun + _ORDER_WORDS.get(reading.order, "")
            self._note_odd(name, noun, texts, odd, lines)
        return read

    def _note_odd(self, name: str, noun: str, texts: pa.ChunkedArray, odd: Lines, lines: Lines | None) -> None:
        """Say which values could not be read; too many of them are an error."""
        values = texts.take(pa.array(odd[:EXAMPLES])).to_pylist()
        places = ["" if lines is None else f", line {lines[row]:,}" for row in odd[:EXAMPLES]]
        self._n_odd[name] += len(odd)
        if 2 * self._n_odd[name] > self._n_present[name]:
            way_out = (
                "the model was fitted on another kind of column; correct the file or fit again."
                if name in self.fixed
                else f"--type {name!r}=categorical reads the column as text."
            )
            raise InputError(
                f"{self.name}{places[0]}, column {name!r}: {values[0][:40]!r} is no {noun}, as are "
                f"{self._n_odd[name]:,} of {self._n_present[name]:,} values. Hint: {way_out}"
            )
        noted = self.notes.places(
            "column {name}: {count} {value is|values are} no {noun} and {counts|count} as missing: {places}. "
            "Hint: --type {name}=categorical reads the column as text.",
            name=repr(name),
            noun=noun,
        )
        for value, place in zip(values, places, strict=True):
            noted.add(f"{value[:40]!r}" + (f" ({place[2:]})" if place else ""))
        noted.add(None, len(odd) - len(values))


def _place_of(texts: pa.ChunkedArray, lines: Lines | None, value: str) -> str:
    """The line of the first such text."""
    row = -1 if lines is None else pc.index(pc.utf8_trim_whitespace(texts), value).as_py()
    return "" if lines is None or row < 0 else f"line {lines[row]:,}"


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows."""

    rows: pa.Table
    first_row: int
    """Position of the first row in the source, from 0."""
    lines: Lines | None = None
    """Line of each row in its text file, from 1."""
    texts: pa.Table | None = None
    """The columns that were parsed, as they were written."""
    readings: Mapping[str, ColumnFormat | None] | None = None
    """How columns of text were parsed, None for those that stay text; None for a source that holds values."""

    @property
    def table(self) -> Table:
        """The rows with what was written."""
        texts = {} if self.texts is None else {name: self.texts.column(name) for name in self.texts.column_names}
        return replace(open_table(self.rows), texts=texts, readings=self.readings)

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> Batch:
        """Some of the rows."""
        picked = pa.array(rows, pa.int64())
        texts = None if self.texts is None else self.texts.take(picked)
        lines = None if self.lines is None else self.lines[picked.to_numpy()]
        return replace(self, rows=self.rows.take(picked), lines=lines, texts=texts)


class Source:
    """A table that is read batch by batch, once. A subclass per format implements `blocks`."""

    parses_text = True
    """Whether text columns may hold numbers, dates and the like, as those of a CSV file do."""

    def __init__(self, name: str, options: ReadOptions) -> None:
        self.name, self.options = name, options
        self._notes = Notes()
        self._n_read = 0
        self.n_rows: int | None = None
        """Number of all rows, where it is known before they are read."""

    @property
    def notes(self) -> Notes:
        """What the reader noticed so far."""
        return self._notes

    def progress(self) -> tuple[int, int | None]:
        """How much has been read, and of how much; rows or bytes."""
        return self._n_read, self.n_rows

    def blocks(self) -> Generator[Block, None, None]:
        """The rows in order, of any number per block. The first block decides on names and types of the columns."""
        raise NotImplementedError

    def batches(self) -> Generator[Batch, None, None]:
        """The rows in order: the wanted columns, of the same names and types throughout."""
        options = self.options
        planner = Planner(self.name, self.notes, options.kinds, options.decimal, options.fixed_kinds)
        schema: pa.Schema | None = None
        readings: Mapping[str, ColumnFormat | None] | None = None
        known: set[str] = set()
        with closing(self.blocks()) as blocks:
            for table, lines in blocks:
                if schema is None:
                    known.update(table.column_names)
                    table = table.select(options.pick(table.column_names))
                else:
                    for name in (name for name in table.column_names if name not in known):
                        self.notes.places(_LATE_FIELDS).add(name)
                        known.add(name)
                    table = _as_before(table, schema)
                texts = None
                if self.parses_text:
                    table, texts = planner.convert(table, lines)
                if schema is None:
                    schema, readings = table.schema, planner.readings
                    planner.readings = _readings(schema) | (planner.readings or {})
                whole = Batch(table, self._n_read, lines, texts, readings)
                for batch in cut(whole, options.batch_rows):
                    self._n_read += batch.rows.num_rows
                    yield batch


def cut(whole: Batch, n_rows: int) -> Iterator[Batch]:
    """Batches of at most so many rows."""
    for start in range(0, whole.rows.num_rows, n_rows):
        lines = None if whole.lines is None else whole.lines[start : start + n_rows]
        texts = None if whole.texts is None else whole.texts.slice(start, n_rows)
        yield Batch(whole.rows.slice(start, n_rows), whole.first_row + start, lines, texts, whole.readings)


def read_all(source: Source, on_batch: Callable[[int], None] | None = None) -> Batch:
    """The whole source in memory; `on_batch` is called with the number of rows of each batch."""
    batches = []
    for batch in source.batches():
        batches.append(batch)
        if on_batch is not None:
            on_batch(batch.rows.num_rows)
    if not batches:
        raise InputError(f"{source.name}: the table has no rows. Hint: a header alone is not enough.")
    return joined(batches)


def joined(batches: Sequence[Batch]) -> Batch:
    """Batches of one source as one, its first row counted as 0."""
    rows = pa.concat_tables([batch.rows for batch in batches], promote_options="permissive")
    lines = [batch.lines for batch in batches if batch.lines is not None]
    texts = [batch.texts for batch in batches if batch.texts is not None]
    return Batch(
        rows,
        0,
        np.concatenate(lines) if len(lines) == len(batches) else None,
        pa.concat_tables(texts, promote_options="permissive") if len(texts) == len(batches) else None,
        batches[0].readings,
    )


class ChainedSource(Source):
    """Several sources with the same columns, one after the other."""

    def __init__(self, sources: Sequence[Source], name: str) -> None:
        super().__init__(name, sources[0].options)
        self._sources = sources

    @property
    def notes(self) -> Notes:
        """Those of all parts, each with its file."""
        notes = Notes()
        for source in self._sources:
            for text in source.notes.texts():
                notes.add(f"{source.name}: {text}")
        return notes

    def progress(self) -> tuple[int, int | None]:
        """The sums of all parts."""
        read, totals = zip(*(source.progress() for source in self._sources), strict=True)
        return sum(read), None if None in totals else sum(total or 0 for total in totals)

    def batches(self) -> Generator[Batch, None, None]:
        """The rows; columns are matched by name."""
        names: list[str] | None = None
        for source in self._sources:
            for batch in source.batches():
                names = names or batch.rows.column_names
                if set(names) != set(batch.rows.column_names):
                    raise InputError(_differing(source.name, names, batch.rows.column_names))
                yield replace(batch, rows=batch.rows.select(names), first_row=self._n_read, lines=None)
                self._n_read += batch.rows.num_rows


def _differing(name: str, wanted: Sequence[str], found: Sequence[str]) -> str:
    lacking = [column for column in wanted if column not in found]
    more = [column for column in found if column not in wanted]
    parts = [f"lacks {', '.join(map(repr, lacking[:5]))}"] if lacking else []
    parts += [f"has {', '.join(map(repr, more[:5]))} on top"] if more else []
    return f"{name}: other columns than the files before it: {' and '.join(parts)}. Hint: read them one by one."


def _readings(schema: pa.Schema) -> dict[str, ColumnFormat | None]:
    """How to read later rows that hold text where the first rows hold values."""
    kinds = {field.name: (NATURAL_KIND.get(family(field.type), ""), str(field.type)) for field in schema}
    typed = ("numeric", "boolean", "datetime")
    return {name: ColumnFormat(kind, arrow_type=held) for name, (kind, held) in kinds.items() if kind in typed}


def _as_before(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of the schema. Those of another type become text, to be parsed, unless both are numbers."""
    columns = {}
    for wanted in schema:
        if wanted.name not in table.column_names:
            columns[wanted.name] = pa.nulls(table.num_rows, wanted.type)
            continue
        column = table.column(wanted.name)
        held = {family(column.type), family(wanted.type)}
        is_kept = column.type == wanted.type or "null" in held or held == {"number"}
        columns[wanted.name] = column if is_kept else column.cast(pa.large_string())
    return pa.table(columns)
