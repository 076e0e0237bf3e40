"""Numbers, with decimal point or comma, thousands in groups, a currency or a percent sign."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._table.kinds.base import MOSTLY, ColumnFormat, ColumnKind, TextSample, matches
from rfod._table.values import Category

_CURRENCY = "[€$£¥]"
_GROUP = {".": "[,' \u00a0\u202f\u2019]", ",": "[.' \u00a0\u202f\u2019]"}


def _number_pattern(decimal: str) -> str:
    point = re.escape(decimal)
    digits = rf"(?:[0-9]+|[0-9]{{1,3}}(?:{_GROUP[decimal]}[0-9]{{3}})+)"
    amount = rf"(?:{digits}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    start = rf"(?:[+-](?:{_CURRENCY} ?)?|(?:{_CURRENCY} ?)?[+-]?)"  # one sign, before or after the currency
    return rf"^(?:{start}{amount}(?: ?(?:{_CURRENCY}|%))?|[+-]?(?i:inf|infinity))$"


_NUMBER = {decimal: _number_pattern(decimal) for decimal in (".", ",")}
_OTHER = {".": ",", ",": "."}
_LEADING_ZERO = "^[+-]?0[0-9]+$"
_STRAY = 0.01  # share of values with leading zeros that may be slips in a column of amounts
_WHOLE = "^[+-]?[0-9]{1,18}$"
_PATTERNS = tuple(re.compile(pattern) for pattern in _NUMBER.values())


def is_number(text: str) -> bool:
    """Whether a text reads as a number, with decimal point or comma."""
    return any(pattern.match(text.strip()) for pattern in _PATTERNS)


def find_decimal(samples: Iterable[pa.ChunkedArray]) -> str:
    """Decimal point or comma of a table: by the values that can be read in one way only."""
    votes = {".": 0, ",": 0}
    for values in samples:
        fits = {decimal: matches(values, pattern) for decimal, pattern in _NUMBER.items()}
        counts = {decimal: pc.sum(fit).as_py() or 0 for decimal, fit in fits.items()}
        if len(values) and max(counts.values()) >= MOSTLY * len(values):
            both = pc.sum(pc.and_(*fits.values())).as_py() or 0
            for decimal, count in counts.items():
                votes[decimal] += count - both
    return "," if votes[","] > votes["."] else "."


class Numeric(ColumnKind):
    """Amounts and counts."""

    name = "numeric"
    noun = "number"
    natural = ("number", "boolean")
    readable = ("number", "boolean", "text")
    stored = ("number",)
    default_type = "double"

    def recognises(self, sample: TextSample) -> bool:
        if not len(sample.values) or sample.share(_LEADING_ZERO) > _STRAY:
            return False  # 00123 is a code, not an amount
        share = max(sample.share(pattern) for pattern in _NUMBER.values())
        if 1 - MOSTLY < share < MOSTLY:
            sample.remarks.append(
                f"column {sample.name!r} mixes numbers ({share:.0%}) with other text; read as text. "
                f"Hint: {sample.way_to(self.name)} reads the numbers and takes the rest as missing."
            )
        return share >= MOSTLY

    def reading(self, sample: TextSample) -> ColumnFormat:
        """With the table's decimal sign, unless this column clearly has the other."""
        decimal = sample.decimal
        if not sample.fixed_decimal:
            if sample.share(_NUMBER[decimal]) < MOSTLY <= sample.share(_NUMBER[_OTHER[decimal]]):
                decimal = _OTHER[decimal]
            elif decimal == ".":
                self._note_thousands(sample)
        return ColumnFormat(self.name, decimal, arrow_type=self.default_type)

    def _note_thousands(self, sample: TextSample) -> None:
        """1,234 throughout may be a decimal comma."""
        if sample.has("^[+-]?[0-9]{1,3},[0-9]{3}$") and sample.share(r"^[+-]?[0-9]{1,3}(,[0-9]{3})?$") == 1:
            example = sample.values.filter(matches(sample.values, ","))[0].as_py()
            sample.remarks.append(
                f"column {sample.name!r}: {example!r} is read as {example.replace(',', '')}. "
                "Hint: --decimal , reads the comma as decimal sign."
            )

    def parse(self, texts: pa.ChunkedArray, reading: ColumnFormat) -> pa.ChunkedArray:
        """Int64, or float64 where a number is not whole."""
        decimal = reading.decimal
        if decimal == "." and (plain := _parse_plain(texts)) is not None:
            return plain
        texts = pc.if_else(matches(texts, _NUMBER[decimal]), texts, pa.scalar(None, texts.type))
        texts = pc.replace_substring_regex(texts, rf"{_GROUP[decimal]}|{_CURRENCY}|%| ", "")
        if decimal == ",":
            texts = pc.replace_substring(texts, ",", ".")
        whole = pc.all(matches(texts, _WHOLE)).as_py()
        texts = pc.replace_substring_regex(texts, r"^\+", "")
        return texts.cast(pa.int64() if whole else pa.float64())

    def decode(self, values: NDArray[Any], arrow_type: pa.DataType, categories: tuple[Category, ...]) -> pa.Array:
        return pa.array(values, pa.float64(), mask=np.isnan(values))


def _parse_plain(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """What Arrow's own cast reads, unless it takes a text for a number that the patterns do not."""
    for arrow_type in (pa.int64(), pa.float64()):
        try:
            numbers = texts.cast(arrow_type)
        except pa.ArrowInvalid:
            continue
        if pa.types.is_integer(arrow_type):
            return None if pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py() else numbers
        return None if pc.any(pc.is_nan(numbers)).as_py() else numbers
    return None


KINDS = (Numeric(),)
