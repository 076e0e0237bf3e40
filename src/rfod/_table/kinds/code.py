"""Postcodes, phone and account numbers: digits that are categories and no amounts. By override only."""

from __future__ import annotations

import contextlib

import pyarrow as pa
import pyarrow.compute as pc

from rfod._table.kinds.categorical import Categorical
from rfod._table.values import plain, plain_text


class Code(Categorical):
    """Each value as its text; a number without the decimals that a gap in its column gives it."""

    name = "code"
    natural = ("text",)
    readable = ("text", "number")
    stored = natural

    def values(self, column: pa.ChunkedArray, from_text: bool) -> pa.ChunkedArray:
        column = plain(column)
        if pa.types.is_floating(column.type):
            with contextlib.suppress(pa.ArrowInvalid):
                column = column.cast(pa.int64())
        return pc.utf8_trim_whitespace(plain_text(column))


KINDS = (Code(),)
