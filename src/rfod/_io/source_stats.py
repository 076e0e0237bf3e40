"""One pass over all rows of a source: statistics of its columns, and a uniform sample of its rows."""

from __future__ import annotations

import json
import os
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._io.archives import add_member, open_archive
from rfod._io.source import Batch
from rfod._table.kinds.base import ColumnFormat
from rfod.exceptions import ModelFormatError

MEMBER = "source.json"
"""Where a model file keeps the statistics of its source; the model itself does not need them."""
MOST_CATEGORIES = 100_000
_STORED_CATEGORIES = 20
_QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
_LARGEST_MEMBER = 1 << 24  # bytes; statistics of 10,000 columns take half of it


class RowSampler:
    """Keeps the rows with the smallest of one random number each, at most `n_rows` of them.

    Which rows these are depends on the seed and the order of the rows, not on how they are cut into batches. A source
    with fewer rows is kept whole.
    """

    def __init__(self, n_rows: int, seed: int) -> None:
        self._n_wanted = n_rows
        self._random = np.random.default_rng(seed)
        self._below = 1.0
        self._parts: list[tuple[pa.Table, NDArray[np.float64]]] = []
        """Rows with their random numbers."""
        self._readings: Mapping[str, ColumnFormat | None] | None = None
        self._n_kept = 0
        self.n_seen = 0

    def add(self, batch: Batch) -> None:
        """Offer the rows of a batch, in the order of the source."""
        self._readings = batch.readings
        draws = self._random.random(batch.rows.num_rows)
        chosen = np.flatnonzero(draws < self._below)
        rows = batch.rows if len(chosen) == len(draws) else batch.rows.take(pa.array(chosen))
        self._parts.append((rows, draws[chosen]))
        self.n_seen += len(draws)
        self._n_kept += len(chosen)
        if self._n_kept > max(2 * self._n_wanted, self._n_wanted + 100_000):
            self._shrink()

    def _shrink(self) -> pa.Table:
        """Keep only the wanted number of rows, in the order of the source."""
        table = pa.concat_tables([rows for rows, _ in self._parts], promote_options="permissive")
        draws = np.concatenate([part for _, part in self._parts])
        if len(draws) > self._n_wanted:
            chosen = np.sort(np.argpartition(draws, self._n_wanted - 1)[: self._n_wanted])
            table, draws = table.take(pa.array(chosen)), draws[chosen]
            self._below = float(draws.max())
        table = table.combine_chunks()
        self._parts, self._n_kept = [(table, draws)], len(draws)
        return table

    def rows(self) -> Batch:
        """The sample; `lines` is left out, since its rows are not consecutive."""
        return Batch(self._shrink(), 0, readings=self._readings)


@dataclass
class ColumnStats:
    """One column over all rows."""

    arrow_type: str
    n_missing: int = 0
    counts: Counter[str] | None = None
    """Of texts and truth values, exact; None for other columns, and where there are more than MOST_CATEGORIES."""
    low: float = np.inf
    high: float = -np.inf
    """Extremes of numbers."""

    def add(self, column: pa.ChunkedArray) -> None:
        """Take in the values of a batch."""
        self.n_missing += column.null_count
        if _is_number(column.type):
            values = _floats(column)
            if len(values):
                self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        elif self.counts is not None:
            counted = pc.value_counts(_decoded(column).drop_null())
            values, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
            self.counts.update({str(value): count for value, count in zip(values, counts, strict=True)})
            if len(self.counts) > MOST_CATEGORIES:
                self.counts = None

    def to_json(self, sample: pa.ChunkedArray) -> dict[str, Any]:
        """Plain values for a model file; quantiles between the extremes are those of a sample of the column."""
        stats: dict[str, Any] = {"type": self.arrow_type, "n_missing": self.n_missing}
        if self.counts is not None:
            stats["n_distinct"] = len(self.counts)
            stats["counts"] = dict(self.counts.most_common(_STORED_CATEGORIES))
        if self.low <= self.high:
            inner = _floats(sample) if _is_number(sample.type) else np.zeros(0)
            shares = _QUANTILES if len(inner) else (0.0, 1.0)
            between = np.quantile(inner, shares[1:-1], method="inverted_cdf") if len(inner) else ()
            values = [self.low, *between, self.high]
            finite = [float(value) if np.isfinite(value) else str(value) for value in values]
            stats["quantiles"] = dict(zip(map(str, shares), finite, strict=True))
        return stats


@dataclass
class SourceStats:
    """Statistics of the columns of a source, gathered batch by batch."""

    name: str
    n_rows: int = 0
    columns: dict[str, ColumnStats] = field(default_factory=dict)
    n_sampled: int | None = None
    """Rows that the model was fitted to, if not all."""

    def add(self, batch: Batch) -> None:
        """Take in the rows of a batch."""
        self.n_rows += batch.rows.num_rows
        for name, column in zip(batch.rows.column_names, batch.rows.columns, strict=True):
            if name not in self.columns:
                self.columns[name] = _start(column.type)
            self.columns[name].add(column)

    def to_json(self, sample: pa.Table) -> dict[str, Any]:
        """Plain values for a model file."""
        return {
            "source": self.name,
            "n_rows": self.n_rows,
            "n_sampled": self.n_sampled,
            "columns": {name: stats.to_json(sample.column(name)) for name, stats in self.columns.items()},
        }


def _start(arrow_type: pa.DataType) -> ColumnStats:
    plain = arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
    is_counted = pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_boolean(plain)
    return ColumnStats(str(plain), counts=Counter() if is_counted else None)


def _is_number(arrow_type: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_decimal(arrow_type))


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Numbers that are neither missing nor NaN."""
    values = column.cast(pa.float64(), safe=False).drop_null().to_numpy()
    return np.asarray(values[~np.isnan(values)])


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def attach_stats(path: str | os.PathLike[str], stats: SourceStats, sample: pa.Table) -> None:
    """Add statistics to a model file that is being written; quantiles are those of a sample of the rows."""
    data = json.dumps(stats.to_json(sample), ensure_ascii=False, allow_nan=False).encode()
    with zipfile.ZipFile(path, "a") as archive:
        add_member(archive, MEMBER, data)


def read_stats(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The statistics that a model file holds of its source, if there are any and they can be read."""
    try:
        with open_archive(path) as archive:
            stats = archive.read_json(MEMBER, _LARGEST_MEMBER) if MEMBER in archive.members else None
    except (ModelFormatError, OSError):
        return None
    return stats if _is_valid(stats) else None


def _is_valid(stats: Any) -> bool:
    """Whether `SourceStats.to_json` can have made this, as far as its readers rely on it."""
    return (
        isinstance(stats, dict)
        and type(stats.get("n_rows")) is int
        and stats["n_rows"] > 0
        and isinstance(columns := stats.get("columns"), dict)
        and all(isinstance(column, dict) and type(column.get("n_missing")) is int for column in columns.values())
        and all(isinstance(column.get("quantiles", {}), dict) for column in columns.values())
    )
