"""Cells as decisions name them: as they were written, whatever library a table came from."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._table.kinds.base import MISSING_TEXTS
from rfod._table.table import Table
from rfod._table.values import family, plain, plain_text, plain_text_in_utc

Hashes = NDArray[np.uint64]
Rows = NDArray[np.intp]

_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{0,15})?")
_MIDNIGHT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]00:00:00(?:\.0+)?")


def cell_texts(table: Table, name: str, rows: NDArray[np.intp] | None = None) -> list[str | None]:
    """The cells of a column as they were written, without blanks around them; None for gaps."""
    found: list[str | None] = _texts(table, name, rows).to_pylist()
    return found


def texts_as_given(table: Table, name: str, rows: Rows) -> list[str | None]:
    """The same of some rows, of columns of text with the blanks around them and the words for gaps."""
    written = plain(table.written(name, mixed_as_text=True))
    if family(written.type) != "text":
        return cell_texts(table, name, rows)
    found: list[str | None] = written.take(pa.array(rows, pa.int64())).to_pylist()
    return found


def _texts(table: Table, name: str, rows: NDArray[np.intp] | None = None) -> pa.ChunkedArray:
    written = plain(table.written(name, mixed_as_text=True))
    if rows is not None:
        written = written.take(pa.array(rows, pa.int64()))
    texts = pc.utf8_trim_whitespace(plain_text_in_utc(written))
    gone = pc.is_in(texts, value_set=pa.array(MISSING_TEXTS, texts.type))
    return pc.if_else(gone, pa.scalar(None, texts.type), texts)


def key_texts(table: Table, name: str) -> list[str | None]:
    """The values of a key column; numbers as `comparable` writes them."""
    return [comparable(text) for text in plain_text(plain(table.exact(name))).to_pylist()]


def rows_with_key(table: Table, name: str, text: str) -> Rows:
    """Positions of the rows with a key: as its column has it, as rfod prints it, or as decisions keep it."""
    return places_of_key(table.exact(name), table.written(name), text)


def places_of_key(values: pa.ChunkedArray, written: pa.ChunkedArray, text: str) -> Rows:
    """The same of the values of a key column, and what was written there."""
    values, written = plain(values), plain(written)
    held = family(values.type)
    if held == "text":
        found = _is_same(values, text)
        if found.any():  # not also text that `comparable` takes for the same number
            return np.flatnonzero(found)
    found = np.array([value is not None and str(value) == text for value in values.to_pylist()], dtype=np.bool_)
    if held != "other":
        wanted = comparable(text)
        alike = [value is not None and comparable(value) == wanted for value in plain_text(values).to_pylist()]
        found |= np.array(alike, dtype=np.bool_)
    if held == "datetime":
        found |= _is_same(values.cast(pa.large_string()), text)  # as CSV output has it
    if family(written.type) == "text":
        found |= _is_same(pc.utf8_trim_whitespace(written), text.strip())
    return np.flatnonzero(found)


def _is_same(texts: pa.ChunkedArray, text: str) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = pc.equal(texts, pa.scalar(text, texts.type)).fill_null(False).to_numpy()
    return same


@lru_cache(maxsize=100_000)
def comparable(text: str | None) -> str | None:
    """One text for all ways in which libraries write a value: 12 for 12.0, no time at midnight, true for True."""
    if text is None:
        return None
    text = text.strip()
    if _NUMBER.fullmatch(text):
        number = text.partition(".")
        fraction = number[2].rstrip("0")
        whole = number[0].removeprefix("+")
        return f"{whole}.{fraction}" if fraction else "0" if whole == "-0" else whole
    if text in ("True", "False"):
        return text.lower()
    date = _MIDNIGHT.fullmatch(text)
    return date[1] if date else text


def is_typed(table: Table, name: str) -> bool:
    """Whether a column came as values, so that nobody knows how they were written."""
    return name not in table.texts and family(plain(table.column(name, mixed_as_text=True)).type) != "text"


def cell_hash(column: str, text: str | None) -> int:
    """What a cell adds to the fingerprint of its row: 64 bits of BLAKE2b; gaps add nothing."""
    if text is None:
        return 0
    data = f"{column}\0{comparable(text)}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


def row_hashes(table: Table, rows: NDArray[np.intp]) -> Hashes:
    """(rows,): the sum of the hashes of the cells of some rows, modulo 2^64. Decided cells can be taken out of it, so
    that a row is found before and after its repairs; those of `rfod._table.fingerprint` allow one changed value."""
    total = np.zeros(len(rows), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for name in table.names:
            encoded = _texts(table, name, rows).combine_chunks().dictionary_encode()
            hashes = [cell_hash(name, text) for text in encoded.dictionary.to_pylist()]
            codes = encoded.indices.fill_null(len(hashes)).to_numpy(zero_copy_only=False)
            total += np.array([*hashes, 0], dtype=np.uint64)[codes]
    return total


def fingerprint(hashed: int) -> str:
    """A sum of hashes as decisions files hold it, by which a decision finds its row again: 16 hexadecimal digits. Not
    the fingerprint of files of findings, which has 40 (`rfod._table.fingerprint.fingerprint_texts`)."""
    return f"{hashed % 2**64:016x}"
