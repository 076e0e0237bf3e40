"""What each text column of a source holds: decided once, on its first rows, and applied to every batch alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._io.interface import InputError, Notes
from rfod._table.kinds import find_reading, kind_of
from rfod._table.kinds.base import MISSING_TEXTS, ORDERS, Reading, Sample, sample_values, trimmed, without
from rfod._table.kinds.numeric import find_decimal
from rfod._table.values import family, parse_arrow_type
from rfod.params import KINDS

Lines = NDArray[np.int64]


@dataclass
class Planner:
    """How the text columns of one source are read, and their reading."""

    name: str
    notes: Notes
    kinds: Mapping[str, str | Reading]
    decimal: str | None = None
    fixed: frozenset[str] = frozenset()
    readings: dict[str, Reading | None] | None = None
    """Of the columns of text; None for those that stay text."""
    _n_present: dict[str, int] = field(default_factory=dict)
    _n_odd: dict[str, int] = field(default_factory=dict)

    def convert(self, table: pa.Table, lines: Lines | None) -> tuple[pa.Table, pa.Table]:
        """The table with its text columns as what they hold, and the text of those that are no longer text.

        The first table decides."""
        texts = {name: table.column(name) for name in table.column_names if family(table.field(name).type) == "text"}
        if self.readings is None:
            samples = {name: sample_values(column) for name, column in texts.items()}
            decimal = self.decimal or find_decimal(samples.values())
            self.readings = {name: self._decide(name, values, decimal) for name, values in samples.items()}
        read = {name: self._read(name, column, lines) for name, column in texts.items()}
        parsed = [name for name in texts if self.readings.get(name) is not None]
        return pa.table({name: read.get(name, table.column(name)) for name in table.column_names}), table.select(parsed)

    def _decide(self, name: str, values: pa.ChunkedArray, decimal: str) -> Reading | None:
        """By what the caller says; otherwise by what nearly all values are."""
        given = self.kinds.get(name)
        if isinstance(given, Reading):
            return given
        order = given if given in ORDERS else ""
        kind = "datetime" if order else "numeric" if given == "number" else given
        if kind not in (None, *KINDS):
            return None
        sample = Sample(name, values, decimal, self.decimal is not None, order, way="--type {name!r}={kind}")
        reading = find_reading(sample, kind)
        for remark in sample.remarks:
            self.notes.add(remark)
        return reading

    def _read(self, name: str, texts: pa.ChunkedArray, lines: Lines | None) -> pa.ChunkedArray:
        reading = (self.readings or {}).get(name)
        if reading is None:
            return without(pc.utf8_trim_whitespace(texts), MISSING_TEXTS)
        texts = trimmed(texts)
        read = kind_of(reading.kind).parse(texts, reading)
        if reading.kind == "datetime":
            read = _in_type(read, parse_arrow_type(reading.arrow_type))
        self._n_present[name] = self._n_present.get(name, 0) + len(texts) - texts.null_count
        if read.null_count > texts.null_count:
            odd = np.flatnonzero(pc.and_(read.is_null(), texts.is_valid()).to_numpy())
            self._note_odd(name, kind_of(reading.kind).noun, texts, odd, lines)
        return read

    def _note_odd(self, name: str, noun: str, texts: pa.ChunkedArray, odd: Lines, lines: Lines | None) -> None:
        """Say which values could not be read; too many of them are an error."""
        numbers = None if lines is None else lines[odd[:5]].tolist()
        values = texts.take(pa.array(odd[:5])).to_pylist()
        examples = list(zip(values, numbers or [None] * len(values), strict=True))
        self._n_odd[name] = self._n_odd.get(name, 0) + len(odd)
        if 2 * self._n_odd[name] > self._n_present[name]:
            value, line = examples[0]
            place = f", line {line:,}" if line else ""
            way_out = (
                "the model was fitted on another kind of column; correct the file or fit again."
                if name in self.fixed
                else f"--type {name!r}=categorical reads the column as text."
            )
            raise InputError(
                f"{self.name}{place}, column {name!r}: {value[:40]!r} is no {noun}, as are {self._n_odd[name]:,} of "
                f"{self._n_present[name]:,} values. Hint: {way_out}"
            )
        self.notes.unreadable(name, noun, len(odd), examples)


def _in_type(moments: pa.ChunkedArray, arrow_type: pa.DataType) -> pa.ChunkedArray:
    """Moments in a type; null where it has no place for their clock."""
    if pa.types.is_date(arrow_type):
        days = pc.floor_temporal(moments, unit="day")
        return pc.if_else(pc.equal(days, moments), days, pa.scalar(None, days.type)).cast(arrow_type)
    return pc.assume_timezone(moments, "UTC") if arrow_type.tz else moments
