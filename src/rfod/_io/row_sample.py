"""A random sample of the rows of a table that is read in any number of pieces: the rows with the smallest keys."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._table.fingerprint import mixed
from rfod._table.kinds.base import ColumnFormat

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]
MOST_FILE_ROWS = 2**40  # places of a file's rows begin at its number times this
_ROOM = 100_000  # rows beyond the sample that are kept before it is cut


def row_keys(seed: int, name: str, rows: Places) -> Keys:
    """A hash of seed, name (the relative path of a file) and row number, uint64 (rows,): splitmix64 of the number,
    started at a point that seed and name choose."""
    start = hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).digest()
    keys = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    keys += np.frombuffer(start, "<u8")[0]
    return mixed(keys)


def likely_bound(n_wanted: int, n_rows: int) -> int:
    """A key that, almost surely, at least `n_wanted` of so many rows do not exceed: so many standard deviations above
    what is expected. What lies above it need not be collected."""
    if n_wanted >= n_rows:
        return 2**64 - 1
    return min(2**64 - 1, int((n_wanted + 8 * n_wanted**0.5 + 64) / n_rows * 2**64))


class RowSample:
    """The rows with the smallest keys, at most `n_rows` of them; a table with fewer rows is kept whole.

    Samples of parts of a table merge to the sample of the table, however it was cut and in whichever order. Rows with
    keys above `bound` are never taken.
    """

    def __init__(self, n_rows: int, bound: int = 2**64 - 1) -> None:
        self.n_wanted, self._bound = n_rows, np.uint64(bound)
        self.parts: list[tuple[pa.Table, Keys, Places]] = []
        """Rows with their keys and places."""
        self.readings: Mapping[str, ColumnFormat | None] | None = None
        """How the columns of text were parsed, where a source did."""

    def __len__(self) -> int:
        """Rows held, which may be more than wanted until `rows` is called."""
        return sum(len(keys) for _, keys, _ in self.parts)

    def add(self, rows: pa.Table, keys: Keys, places: Places) -> None:
        """Offer rows; `places`, int64 (rows,), say in which order the sample is given back, after them the keys."""
        chosen = np.flatnonzero(keys <= self._bound)
        if len(chosen) < len(keys):
            rows, keys, places = rows.take(pa.array(chosen)), keys[chosen], places[chosen]
        self.parts.append((rows, keys, places))
        if len(self) > max(2 * self.n_wanted, self.n_wanted + _ROOM):
            self._cut()

    def merge(self, other: RowSample) -> None:
        """Take in the sample of another part of the table."""
        self.readings = other.readings if self.readings is None else self.readings
        for part in other.parts:
            self.add(*part)

    def _cut(self) -> pa.Table:
        """Keep only the wanted number of rows, in order."""
        table = pa.concat_tables([rows for rows, _, _ in self.parts], promote_options="permissive")
        keys = np.concatenate([keys for _, keys, _ in self.parts])
        places = np.concatenate([places for _, _, places in self.parts])
        chosen = np.lexsort((places, keys))[: self.n_wanted]  # of equal keys those that come first
        if len(chosen) == self.n_wanted < len(keys):
            self._bound = keys[chosen[-1]]
        chosen = chosen[np.lexsort((keys[chosen], places[chosen]))]
        if len(chosen) < len(keys) or (np.diff(chosen) < 0).any():
            table, keys, places = table.take(pa.array(chosen)), keys[chosen], places[chosen]
        table = table.combine_chunks()
        self.parts = [(table, keys, places)]
        return table

    def rows(self) -> pa.Table:
        """The sample, in the order of its places."""
        return self._cut()

    @property
    def places(self) -> Places:
        """Of the rows that `rows` gives back."""
        self._cut()
        return self.parts[0][2]
