"""Columns as they were written: distinct texts, their counts, and numbers that stand for texts.

All keys of this package (values, shapes, groups of letters) are 64-bit integers, so that counting and looking up are
numpy operations. Texts are seen as matrices of code points, (distinct values, longest text), padded with 0; a column of
many values is seen in parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._table.fingerprint import mixed
from rfod._table.kinds import kind_of
from rfod._table.kinds.base import MISSING_TEXTS, ColumnFormat, trimmed
from rfod._table.table import Table
from rfod._table.values import Family, as_text, by_distinct, family, plain, plain_text_in_utc

Floats = NDArray[np.float64]
Keys = NDArray[np.int64]
Codes = NDArray[np.int32]

LONGEST = 64  # letters of a text that are looked at
BLANK = -1
PART_VALUES = 1 << 14  # texts that are seen at a time
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd: multiplying by it permutes the 64-bit integers
_COMMON = 0x600  # Latin, Greek, Cyrillic, Hebrew
LETTER_CLASSES = {"upper": 1, "lower": 2, "digit": 3, "space": 4}


@dataclass(frozen=True, eq=False)
class TextColumn:
    """One column of a table as text."""

    name: str
    values: tuple[str, ...]
    """Distinct texts that are present, without blanks around them."""
    codes: Codes
    """(rows,): position of each row's text in `values`; `BLANK` for a gap."""
    is_padded: NDArray[np.bool_]
    """(rows,): whether the text has blanks around it."""

    @cached_property
    def counts(self) -> Keys:
        """(values,): rows with each value."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values)).astype(np.int64)

    @cached_property
    def is_blank(self) -> NDArray[np.bool_]:
        """(rows,)."""
        return np.asarray(self.codes == BLANK)

    def parts(self) -> Iterator[tuple[slice, NDArray[np.uint32]]]:
        """Some of the values at a time, and their code points."""
        for start in range(0, len(self.values), PART_VALUES):
            part = slice(start, start + PART_VALUES)
            yield part, code_points(self.values[part])

    @cached_property
    def decimals(self) -> int:
        """How many decimals most rows have."""
        found = np.array([len(text.partition(".")[2]) for text in self.values], dtype=np.int64)
        return int(np.bincount(found, self.counts).argmax()) if len(found) else 0

    @cached_property
    def hashes(self) -> Keys:
        """(values,): one number per text."""
        return np.concatenate([np.zeros(0, np.int64), *(hash_rows(points) for _, points in self.parts())])

    def spread(self, per_value: NDArray[np.float64], blank: float = 0.0) -> Floats:
        """(rows,): a number per distinct value as a number per row; `blank` for gaps."""
        return np.append(per_value, blank)[self.codes]


@dataclass(frozen=True)
class Style:
    """How the values of a column were written in training."""

    decimals: int
    """Of its numbers."""
    truth_texts: Mapping[bool, str]
    """Its words for true and false."""
    truth_families: tuple[Family, ...]
    """Values of these families are truth values that need not be in its words, and are put into them."""


def read_texts(
    table: Table,
    names: tuple[str, ...] | None = None,
    rows: NDArray[np.intp] | None = None,
    known: Sequence[Style] | None = None,
) -> list[TextColumn]:
    """The columns of a table as text: of all rows, or of some. `known`: how each column was written in training."""
    names = table.names if names is None else names
    styles: Sequence[Style | None] = [None] * len(names) if known is None else known
    return [_read(table, name, rows, style) for name, style in zip(names, styles, strict=True)]


def _read(table: Table, name: str, rows: NDArray[np.intp] | None, style: Style | None) -> TextColumn:
    written = plain(table.written(name, mixed_as_text=True))
    written = written if rows is None else written.take(pa.array(rows))
    if style is not None:
        written = _as_in_training(written, style)
    encoded = plain_text_in_utc(written).cast(pa.large_string()).combine_chunks().dictionary_encode()
    given = encoded.dictionary
    stripped = pc.utf8_trim_whitespace(given)
    values = sorted(set(stripped.to_pylist()) - set(MISSING_TEXTS))
    number = {value: code for code, value in enumerate(values)}
    code_of = np.array([number.get(value, BLANK) for value in stripped.to_pylist()] + [BLANK], dtype=np.int32)
    padded = np.append(pc.not_equal(given, stripped).to_numpy(zero_copy_only=False).astype(np.bool_), False)
    place = encoded.indices.fill_null(len(given)).to_numpy(zero_copy_only=False)
    codes = code_of[place]
    return TextColumn(name, tuple(values), codes, padded[place] & (codes >= 0))


def _as_in_training(values: pa.ChunkedArray, style: Style) -> pa.ChunkedArray:
    """Whole numbers without decimals where the training table has none, and with them where it has: a frame makes
    floats of whole numbers as soon as one is missing. Truth values in the words of the training table."""
    decimals = style.decimals
    if family(values.type) in style.truth_families:
        return _in_words(values, style.truth_texts)
    if decimals == 0 and pa.types.is_floating(values.type):
        return by_distinct(
            values, lambda number: str(int(number) if number.is_integer() else number), pa.large_string()
        )
    if decimals > 0 and pa.types.is_integer(values.type):
        return values.cast(pa.float64(), safe=False)
    return values


def _in_words(values: pa.ChunkedArray, words: Mapping[bool, str]) -> pa.ChunkedArray:
    """Truth values, also written as text or as 0 and 1, in these words; other values as they are written."""
    if family(values.type) == "text":
        written = values.cast(pa.large_string())
        truths = kind_of("boolean").parse(trimmed(written), ColumnFormat("boolean"))
    else:
        written, truths = as_text(values), values

    def word_of(value: bool | float) -> str | None:
        return words.get(bool(value), str(bool(value))) if value in (0, 1) else None

    return pc.coalesce(by_distinct(truths, word_of, pa.large_string()), written)


def code_points(texts: Sequence[str]) -> NDArray[np.uint32]:
    """(texts, letters): code points of the first `LONGEST` letters, at least one column."""
    width = max(1, min(LONGEST, max(map(len, texts), default=1)))
    return np.array([text[:width] for text in texts], dtype=f"<U{width}").view(np.uint32).reshape(len(texts), width)


def hash_rows(rows: NDArray[np.uint32]) -> Keys:
    """(rows,): one number per row of a matrix; trailing zeros do not count."""
    total = np.zeros(len(rows), dtype=np.uint64)
    power = np.uint64(1)
    with np.errstate(over="ignore"):
        for column in rows.T:
            total += mixed(column.astype(np.uint64)) * power
            power = power * _BASE
    return total.view(np.int64)


def letter_classes(points: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Upper-case letters, lower-case letters, digits and white space by class, other letters as they are."""
    known = _common_classes()
    classes = known[np.minimum(points, len(known) - 1)]
    is_rare = points >= len(known)
    if is_rare.any():
        distinct, place = np.unique(points[is_rare], return_inverse=True)
        classes[is_rare] = np.array([_letter_class(int(point)) for point in distinct], dtype=np.uint32)[place]
    return classes


@cache
def _common_classes() -> NDArray[np.uint32]:
    """The classes of the first code points, which are nearly all that occur."""
    return np.array([_letter_class(point) for point in range(_COMMON)], dtype=np.uint32)


def _letter_class(point: int) -> int:
    letter = chr(point)
    if letter.isdecimal():
        return LETTER_CLASSES["digit"]
    if letter.isalpha():
        return LETTER_CLASSES["lower" if letter.islower() else "upper"]
    return LETTER_CLASSES["space"] if letter.isspace() else point


def largest(counts: Keys, most: int) -> Keys:
    """Positions of at most so many counts, the largest, ascending; of equal counts the first."""
    return np.arange(len(counts)) if len(counts) <= most else np.sort(np.argsort(-counts, kind="stable")[:most])


@dataclass(frozen=True, eq=False)
class KeyCounts:
    """How many rows have each key."""

    keys: Keys
    """Ascending."""
    counts: Keys

    @classmethod
    def of(cls, keys: Keys, weights: Keys) -> KeyCounts:
        """Count keys, each with its weight."""
        distinct, place = np.unique(keys, return_inverse=True)
        return cls(distinct, np.bincount(place, weights, minlength=len(distinct)).astype(np.int64))

    @classmethod
    def joined(cls, parts: Sequence[KeyCounts]) -> KeyCounts:
        """The counts of several parts of a column, added up."""
        if len(parts) == 1:
            return parts[0]
        none = np.zeros(0, dtype=np.int64)
        keys, counts = ([none, *(getattr(part, field) for part in parts)] for field in ("keys", "counts"))
        return cls.of(np.concatenate(keys), np.concatenate(counts))

    def most_frequent(self, most: int) -> KeyCounts:
        """At most so many keys, of equally frequent ones the smaller."""
        if len(self.keys) <= most:
            return self
        kept = largest(self.counts, most)
        return KeyCounts(self.keys[kept], self.counts[kept])

    def find(self, keys: Keys) -> Keys:
        """The count of each key; 0 for unknown ones."""
        if not len(self.keys):
            return np.zeros(keys.shape, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.counts[place], 0)
