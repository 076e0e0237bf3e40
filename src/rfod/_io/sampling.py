"""A uniform sample of the rows of a source, drawn in one pass; the same seed gives the same rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._io.batches import Batch


class RowSampler:
    """Keeps the rows with the smallest of one random number each, at most `n_rows` of them.

    Which rows these are depends on the seed and the order of the rows, not on how they are cut into batches. A source
    with fewer rows is kept whole.
    """

    def __init__(self, n_rows: int, seed: int) -> None:
        self._n_wanted = n_rows
        self._random = np.random.default_rng(seed)
        self._below = 1.0
        self._tables: list[pa.Table] = []
        self._draws: list[NDArray[np.float64]] = []
        self._positions: list[NDArray[np.int64]] = []
        self._n_kept = 0
        self.n_seen = 0

    def add(self, batch: Batch) -> None:
        """Offer the rows of a batch, in the order of the source."""
        n_rows = batch.rows.num_rows
        draws = self._random.random(n_rows)
        positions = np.arange(self.n_seen, self.n_seen + n_rows)
        self.n_seen += n_rows
        rows = batch.rows
        if self._below < 1.0:
            chosen = np.flatnonzero(draws < self._below)
            rows, draws, positions = rows.take(pa.array(chosen)), draws[chosen], positions[chosen]
        self._tables.append(rows)
        self._draws.append(draws)
        self._positions.append(positions)
        self._n_kept += len(draws)
        if self._n_kept > max(2 * self._n_wanted, self._n_wanted + 100_000):
            self._shrink()

    def _shrink(self) -> None:
        """Only the wanted number of rows, in the order of the source."""
        draws, positions = np.concatenate(self._draws), np.concatenate(self._positions)
        table = pa.concat_tables(self._tables, promote_options="permissive")
        if len(draws) > self._n_wanted:
            chosen = np.sort(np.argpartition(draws, self._n_wanted - 1)[: self._n_wanted])
            table, draws, positions = table.take(pa.array(chosen)), draws[chosen], positions[chosen]
            self._below = float(draws.max())
        self._tables, self._draws, self._positions = [table.combine_chunks()], [draws], [positions]
        self._n_kept = len(draws)

    def rows(self) -> Batch:
        """The sample; `lines` is left out, since its rows are not consecutive."""
        self._shrink()
        return Batch(self._tables[0], 0)

    def positions(self) -> NDArray[np.int64]:
        """Where the rows of the sample stand in the source."""
        self._shrink()
        return self._positions[0]
