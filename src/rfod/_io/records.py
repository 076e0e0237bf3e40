"""JSON objects as rows of a table. Whatever they hold, nested values and absurd numbers too, it becomes columns."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.json as pa_json

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_LONGEST_INTEGER = 19  # digits; longer ones are beyond int64, and Python refuses to read those of thousands


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)


DECODER = json.JSONDecoder(parse_int=_integer)
DECODE_ERRORS = (ValueError, RecursionError)


def reason_of(error: Exception) -> str:
    """Why a text is no JSON, in a few words."""
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:100]


def table_of_lines(rows: Sequence[bytes]) -> pa.Table | None:
    """Objects, one per row, parsed by Arrow; None where it cannot, or where values are nested."""
    data = b"\n".join(row.rstrip(b"\r\n") for row in rows)
    if not _is_flat(data, len(rows)):  # Arrow makes nested columns, and dies of deep ones
        return None
    try:
        table = pa_json.read_json(
            pa.BufferReader(data), read_options=pa_json.ReadOptions(block_size=max(len(data) + 1, 1 << 16))
        )
    except (pa.ArrowException, UnicodeError):
        return None
    return table if table.num_rows == len(rows) else None


def _is_flat(data: bytes, n_objects: int) -> bool:
    for _ in range(2):  # the second time without texts, which may hold brackets of their own
        if b"[" not in data and data.count(b"{") == n_objects:
            return True
        data = _TEXT.sub(b"", data)
    return b"[" not in data and data.count(b"{") == n_objects


def table_of(objects: Sequence[dict[str, Any]]) -> pa.Table:
    """Objects as columns; a column of several kinds of values becomes text, to be read like a column of a CSV file."""
    names = dict.fromkeys(name for row in objects for name in row)
    columns: dict[str, pa.Array] = {}
    for name in names:
        column = _array([row.get(name) for row in objects])
        columns[_encodable(name)] = column
    return pa.table(columns)


def _array(values: list[Any]) -> pa.Array:
    if not any(isinstance(value, list | dict) for value in values):
        try:
            return pa.array(values)
        except (pa.ArrowException, OverflowError, ValueError):
            pass
    return pa.array([None if value is None else _text(value) for value in values], pa.large_string())


def _text(value: Any) -> str:
    """Texts as they are, all else as JSON."""
    return _encodable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _encodable(text: str) -> str:
    """Without halves of surrogate pairs, which JSON can write and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()
