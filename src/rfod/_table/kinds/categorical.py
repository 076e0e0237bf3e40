"""Values that are compared for equality only: categories, and truth values."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._table.kinds.base import ColumnFormat, ColumnKind, Families, TextSample, trimmed
from rfod._table.values import MISSING, UNSEEN, Category, as_text, by_distinct, family, plain

if TYPE_CHECKING:
    from rfod._table.columns import Column

_TRUTH = dict.fromkeys(("true", "yes", "y", "t", "1"), True) | dict.fromkeys(("false", "no", "n", "f", "0"), False)


class Categorical(ColumnKind):
    """Text, numbers or truth values as they are."""

    name = "categorical"
    is_categorical = True
    reads_text = False
    natural: ClassVar[Families] = ("number", "text", "boolean")
    readable: ClassVar[Families] = ("number", "boolean", "text", "datetime", "time", "duration")
    stored: ClassVar[Families] = natural
    default_type = "string"

    def reading(self, sample: TextSample) -> ColumnFormat | None:
        return None

    def values(self, column: pa.ChunkedArray, from_text: bool) -> pa.ChunkedArray:
        """What categories are made of: text, integers, floats or booleans."""
        if pa.types.is_dictionary(column.type) and family(column.type.value_type) == "text":
            return column
        column = plain(column)
        if from_text and family(column.type) not in ("text", "null"):
            return as_text(column)
        if pa.types.is_decimal(column.type):
            return column.cast(pa.large_string()).cast(pa.float64())
        return column

    def category(self, value: Any, from_text: bool) -> Category | None:
        """The category of a value; None for what counts as missing."""
        return None if isinstance(value, float) and math.isinf(value) else value

    def summarise(self, values: pa.ChunkedArray, from_text: bool) -> tuple[tuple[Category, ...], int, int]:
        """Categories by falling frequency, ties by value."""
        counted: Counter[Category] = Counter()
        for entry in self.values(values, from_text).drop_null().value_counts().to_pylist():
            category = self.category(entry["values"], from_text)
            if category is not None:
                counted[category] += entry["counts"]
        categories = tuple(sorted(counted, key=lambda category: (-counted[category], category)))
        return categories, counted.total(), len(categories)

    def encode(self, values: pa.ChunkedArray, column: Column) -> NDArray[Any]:
        codes = {category: code for code, category in enumerate(column.categories)}

        def code_of(value: Any) -> int:
            category = self.category(value, column.from_text)
            return MISSING if category is None else codes.get(category, UNSEEN)

        encoded = by_distinct(self.values(values, column.from_text), code_of, pa.int32())
        return np.asarray(encoded.fill_null(MISSING).to_numpy())

    def decode(self, values: NDArray[Any], arrow_type: pa.DataType, categories: tuple[Category, ...]) -> pa.Array:
        return pa.array(categories, arrow_type).take(pa.array(values.astype(np.int64), mask=values < 0))


class Boolean(Categorical):
    """Truth values. Text is recognised as true and false; an override reads yes, no, 1, 0 and the like too."""

    name = "boolean"
    noun = "truth value"
    reads_text = True
    natural = ("boolean", "number")
    readable = ("boolean", "number", "text")
    stored = ("boolean",)
    default_type = "bool"

    def recognises(self, sample: TextSample) -> bool:
        return sample.share("^(?i:true|false)$") == 1

    def reading(self, sample: TextSample) -> ColumnFormat:
        return ColumnFormat(self.name, arrow_type=self.default_type)

    def parse(self, texts: pa.ChunkedArray, reading: ColumnFormat) -> pa.ChunkedArray:
        return by_distinct(texts, lambda text: _TRUTH.get(text.lower()), pa.bool_())

    def values(self, column: pa.ChunkedArray, from_text: bool) -> pa.ChunkedArray:
        column = plain(column)
        return self.parse(trimmed(column), ColumnFormat(self.name)) if family(column.type) == "text" else column

    def category(self, value: Any, from_text: bool) -> Category | None:
        """What is neither 0 nor 1 is missing with an override, otherwise a category that was never seen."""
        return bool(value) if value in (0, 1) else None if from_text else value


KINDS = (Categorical(), Boolean())
