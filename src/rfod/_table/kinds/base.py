"""What every kind of column does, and how its text is recognised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._table.values import Category, Family, family, plain, read_numbers

if TYPE_CHECKING:
    from rfod._table.columns import Column

Families = tuple[Family, ...]

ORDERS = ("dmy", "mdy")
"""Of dates with slashes or dashes: day or month first."""

MOSTLY = 0.8  # a column of text is of the kind that at least this share of its values parses as
MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL", "NaN", "nan")
"""What counts as missing in every column of a text file."""
MISSING_AMONG_VALUES = ("-", "--", ".", "?", "None", "none", "Null", "na", "Na", "#VALUE!", "#DIV/0!", "#REF!")
"""What counts as missing too where text is read as numbers, dates, times or truth values."""
_SAMPLE_VALUES = 20_000


@dataclass(frozen=True)
class ColumnFormat:
    """How a column of text is read."""

    kind: str
    decimal: str = "."
    order: str = ""
    """One of ORDERS."""
    arrow_type: str = ""
    """In which values are given back."""


def is_missing(text: str) -> bool:
    """Whether a cell of a text file holds nothing."""
    return text.strip() in MISSING_TEXTS


def matches(texts: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    """Which texts match; null for null."""
    return pc.match_substring_regex(texts, pattern)


def without(texts: pa.ChunkedArray, missing: tuple[str, ...]) -> pa.ChunkedArray:
    """The texts with null for those that stand for nothing."""
    gone = pc.is_in(texts, value_set=pa.array(missing, texts.type))
    return pc.if_else(gone, pa.scalar(None, texts.type), texts) if pc.any(gone).as_py() else texts


def trimmed(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The texts without blanks around them; null for those that stand for nothing among numbers and dates."""
    return without(pc.utf8_trim_whitespace(plain(texts)), MISSING_TEXTS + MISSING_AMONG_VALUES)


@dataclass(frozen=True)
class TextSample:
    """Values of a column of text, by which it is decided how to read it."""

    name: str
    values: pa.ChunkedArray
    """Trimmed and present."""
    decimal: str = "."
    """Of the table."""
    fixed_decimal: bool = False
    """The caller gives the decimal sign."""
    given: str | None = None
    """What the caller says: a kind, or one of ORDERS for dates; None to recognise the kind."""
    remarks: list[str] = field(default_factory=list)
    """What the caller should know about the decision."""
    way: str = "column_types={{{name!r}: {kind!r}}}"
    """How the caller chooses a kind."""
    place_of: Callable[[str], str] | None = None
    """The first place of a value, where there are lines."""

    @property
    def order(self) -> str:
        """Of dates, if the caller gives it."""
        return self.given if self.given in ORDERS else ""

    def example(self, values: pa.ChunkedArray, picked: NDArray[np.bool_]) -> str:
        """The first of some values that is picked, quoted, with its place."""
        value = values[int(np.argmax(picked))].as_py()
        place = self.place_of(value) if self.place_of is not None else ""
        return f"{value[:40]!r}" + (f" ({place})" if place else "")

    def way_to(self, kind: str) -> str:
        """How the caller chooses the kind for this column."""
        return self.way.format(name=self.name, kind=kind)

    def share(self, pattern: str) -> float:
        """Of the values that match."""
        return float(pc.mean(matches(self.values, pattern)).as_py() or 0.0)

    def has(self, pattern: str) -> bool:
        """Whether a value matches."""
        return bool(pc.any(matches(self.values, pattern)).as_py())


def sample_values(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Up to so many values, trimmed, evenly spread over the column."""
    texts = texts.drop_null()
    if len(texts) > _SAMPLE_VALUES:
        texts = texts.take(pa.array(np.linspace(0, len(texts) - 1, _SAMPLE_VALUES).astype(np.int64)))
    return trimmed(texts).drop_null()


class ColumnKind:
    """What a column holds: how it is recognised, parsed, encoded, decoded and put into words."""

    name: ClassVar[str]
    noun: ClassVar[str] = "value"  # what a value of the kind is called
    is_categorical: ClassVar[bool] = False
    reads_text: ClassVar[bool] = True  # otherwise a text is a value as it stands
    natural: ClassVar[Families]  # taken as the kind without an override
    readable: ClassVar[Families]  # taken as the kind with an override
    stored: ClassVar[Families]  # in which values are given back
    default_type: ClassVar[str]  # Arrow type of values given back that came as something else
    parts: ClassVar[tuple[str, ...]] = ()  # of the calendar, which trees may split on beside the value

    def recognises(self, sample: TextSample) -> bool:
        """Whether a column of text is of this kind."""
        return False

    def reading(self, sample: TextSample) -> ColumnFormat | None:
        """How the text of a column of this kind is read; None where it stays text."""
        return ColumnFormat(self.name, arrow_type=self.default_type)

    def parse(self, texts: pa.ChunkedArray, reading: ColumnFormat) -> pa.ChunkedArray:
        """Trimmed text as values; null where it does not parse."""
        raise NotImplementedError

    def read(self, texts: pa.ChunkedArray, reading: ColumnFormat) -> pa.ChunkedArray:
        """Trimmed text as values of the type that the reading names; null where it does not parse."""
        return self.parse(texts, reading)

    def summarise(self, values: pa.ChunkedArray, from_text: bool) -> tuple[tuple[Category, ...], int, int]:
        """Of plain values: the categories, how many values are present, how many of them distinct."""
        numbers = read_numbers(values)
        present = np.sort(numbers[~np.isnan(numbers)])
        return (), len(present), int(np.isfinite(present).any()) and 1 + int(np.sum(present[1:] != present[:-1]))

    def encode(self, values: pa.ChunkedArray, column: Column) -> NDArray[Any]:
        """Float64, NaN for missing; int32 codes of a categorical column."""
        values = plain(values)
        return read_numbers(self.parse(trimmed(values), column.reading) if family(values.type) == "text" else values)

    def decode(self, values: NDArray[Any], arrow_type: pa.DataType, categories: tuple[Category, ...]) -> pa.Array:
        """Encoded values as Arrow."""
        raise NotImplementedError
