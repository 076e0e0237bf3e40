"""Fingerprints: what a row holds, as numbers by which it is found again without a key, also after rows moved.

A fingerprint has four parts. The name of a column says which part its values go to, so that a changed value changes
one part, and so does a column that is added. Files of findings hold fingerprints (docs/formats.md), so they must not
change. Decisions files have a shorter one of their own, from which changed cells can be taken out
(`rfod._decisions.texts.row_hashes`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._table.table import Table
from rfod._table.values import family, plain, plain_text, read_numbers

Hashes = NDArray[np.uint64]
N_PARTS = 4
_DIGITS = 10  # hexadecimal ones of a part
_BITS = np.uint64(4 * _DIGITS)
_ODD = np.uint64(0x9E3779B97F4A7C15)


def mixed(values: Hashes) -> Hashes:
    """The finaliser of splitmix64: each bit of a number changes about half of the bits of the result; 0 stays 0."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def text_hash(text: str) -> int:
    """64 bits of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def cell_hashes(table: Table, name: str) -> Hashes:
    """(rows,) uint64: what the cells of a column hold; 0 for missing.

    Numbers, truth values, moments and durations count by their value, whatever their type; text without blanks at its
    ends, empty text as missing.
    """
    column = plain(table.column(name, mixed_as_text=True))
    is_text = family(column.type) in ("text", "null", "other")
    hashes = _text_hashes(column) if is_text else _number_hashes(read_numbers(column))
    return np.asarray(np.where(hashes == 0, hashes, mixed(hashes ^ np.uint64(text_hash(name)))))


def _number_hashes(numbers: NDArray[np.float64]) -> Hashes:
    bits = np.ascontiguousarray(numbers + 0.0).view(np.uint64)  # + 0.0: -0.0 is 0.0
    return np.asarray(np.where(np.isnan(numbers), np.uint64(0), mixed(bits + _ODD)))


def _text_hashes(column: pa.ChunkedArray) -> Hashes:
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.uint64)
    encoded = pc.utf8_trim_whitespace(plain_text(column)).combine_chunks().dictionary_encode()
    known = [text_hash(value) if value else 0 for value in encoded.dictionary.to_pylist()]
    codes = encoded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
    return np.asarray(np.array([*known, 0], dtype=np.uint64)[codes])


def fingerprints(table: Table) -> Hashes:
    """(rows, `N_PARTS`) uint64: the fingerprint of each row; a part that no column goes to is 0."""
    sums = np.zeros((N_PARTS, table.n_rows), np.uint64)
    is_filled = np.zeros(N_PARTS, np.bool_)
    for name in table.names:
        part = text_hash(name) % N_PARTS
        sums[part] += cell_hashes(table, name)
        is_filled[part] = True
    parts = mixed(sums + _ODD) >> (np.uint64(64) - _BITS)
    return np.asarray(np.where(is_filled[:, None], np.maximum(parts, np.uint64(1)), np.uint64(0)).T)


def fingerprint_texts(prints: Hashes) -> list[str]:
    """Fingerprints as files of findings hold them, by which runs are compared: 40 hexadecimal digits, ten a part.
    Not those of decisions files, which have 16 (`rfod._decisions.texts.fingerprint`)."""
    return ["".join(f"{part:0{_DIGITS}x}" for part in parts) for parts in prints.tolist()]


def parse_fingerprints(texts: Sequence[str]) -> Hashes:
    """The inverse; `ValueError` for a text that is none."""
    if any(len(text) != N_PARTS * _DIGITS for text in texts):
        raise ValueError("a fingerprint has 40 hexadecimal digits")
    starts = range(0, N_PARTS * _DIGITS, _DIGITS)
    parts = [[int(text[start : start + _DIGITS], 16) for start in starts] for text in texts]
    return np.array(parts, dtype=np.uint64).reshape(-1, N_PARTS)
