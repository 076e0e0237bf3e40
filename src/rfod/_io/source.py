"""A table that is read batch by batch: what all formats have in common."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._io.interface import InputError, Notes, ReadOptions
from rfod._io.plans import Planner
from rfod._table.kinds import NATURAL_KIND
from rfod._table.kinds.base import Reading
from rfod._table.table import Table, open_table
from rfod._table.values import family

Lines = NDArray[np.int64]
Block = tuple[pa.Table, Lines | None]
"""Some consecutive rows as a reader parses them, and the line of each row in its text file, from 1."""


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
    readings: Mapping[str, Reading | None] | None = None
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
        readings: Mapping[str, Reading | None] | None = None
        known: set[str] = set()
        with closing(self.blocks()) as blocks:
            for table, lines in blocks:
                if schema is None:
                    known.update(table.column_names)
                    table = table.select(options.pick(table.column_names))
                else:
                    for name in (name for name in table.column_names if name not in known):
                        self.notes.places("{count} field(s) that the first rows lack left out: {places}.").add(name)
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


def _readings(schema: pa.Schema) -> dict[str, Reading | None]:
    """How to read later rows that hold text where the first rows hold values."""
    kinds = {field.name: NATURAL_KIND.get(family(field.type)) for field in schema}
    return {
        field.name: Reading(kind, arrow_type=str(field.type))
        for field in schema
        if (kind := kinds[field.name]) in ("numeric", "boolean", "datetime")
    }


def _as_before(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of the schema. Those of another type become text, to be parsed, unless both are numbers."""
    columns = {}
    for field in schema:
        if field.name not in table.column_names:
            columns[field.name] = pa.nulls(table.num_rows, field.type)
            continue
        column = table.column(field.name)
        is_same = column.type == field.type or pa.types.is_null(column.type) or pa.types.is_null(field.type)
        is_kept = is_same or (_is_number(column.type) and _is_number(field.type))
        columns[field.name] = column if is_kept else column.cast(pa.large_string())
    return pa.table(columns)


def _is_number(arrow_type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type))
