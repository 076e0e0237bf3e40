"""A random sample of the rows of a table that is read batch by batch: the rows with the smallest keys."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
_ROOM = 100_000  # rows beyond the sample that are kept before it is cut


def row_keys(seed: int, rows: NDArray[np.int64]) -> Keys:
    """A hash of seed and row number, uint64 (rows,): splitmix64 of the number, started at a point that the seed
    chooses."""
    start = hashlib.blake2b(f"{seed}:".encode(), digest_size=8).digest()
    keys = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    keys += np.frombuffer(start, "<u8")[0]
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))


class RowSample:
    """The rows with the smallest keys, at most `n_wanted` of them; a table with fewer rows is kept whole."""

    def __init__(self, n_wanted: int, seed: int) -> None:
        self._n_wanted, self._seed = n_wanted, seed
        self._largest_key = np.uint64(2**64 - 1)
        """Rows with larger keys are not in the sample."""
        self._parts: list[tuple[pa.Table, Keys]] = []
        self.n_seen = 0

    def add(self, rows: pa.Table) -> None:
        """Offer the next rows of the table."""
        keys = row_keys(self._seed, np.arange(self.n_seen, self.n_seen + rows.num_rows))
        self.n_seen += rows.num_rows
        chosen = np.flatnonzero(keys <= self._largest_key)
        if len(chosen) < len(keys):
            rows, keys = rows.take(pa.array(chosen)), keys[chosen]
        self._parts.append((rows, keys))
        if sum(len(keys) for _, keys in self._parts) > max(2 * self._n_wanted, self._n_wanted + _ROOM):
            self.rows()

    def rows(self) -> pa.Table:
        """The sample, in the order of the table. Only these rows are kept."""
        table = pa.concat_tables([rows for rows, _ in self._parts], promote_options="permissive")
        keys = np.concatenate([keys for _, keys in self._parts])
        if len(keys) > self._n_wanted:
            chosen = np.argsort(keys, kind="stable")[: self._n_wanted]  # of equal keys those that come first
            self._largest_key = keys[chosen[-1]]
            chosen.sort()
            table, keys = table.take(pa.array(chosen)), keys[chosen]
        table = table.combine_chunks()
        self._parts = [(table, keys)]
        return table
