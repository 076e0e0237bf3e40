"""Statistics of the columns of a source: exact, over all rows, and mergeable."""

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
from rfod._table.values import family, plain, value_type
from rfod.exceptions import ModelFormatError

MEMBER = "source.json"
"""Where a model file keeps the statistics of its source; the model itself does not need them."""
MOST_CATEGORIES = 65_536  # of a column whose categories are counted over all rows
_STORED_CATEGORIES = 20
_COUNTED = ("text", "boolean")
_QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
_LARGEST_MEMBER = 1 << 24  # bytes; statistics of 10,000 columns take half of it


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
        if family(column.type) == "number":
            values = _floats(column)
            if len(values):
                self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        elif self.counts is not None:
            self._count(_counts(column))

    def _count(self, counts: Mapping[str, int]) -> None:
        assert self.counts is not None
        self.counts.update(counts)
        if len(self.counts) > MOST_CATEGORIES:
            self.counts = None

    def merge(self, other: ColumnStats) -> None:
        """Take in the column in other rows."""
        self.n_missing += other.n_missing
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        if self.counts is not None and other.counts is not None:
            self._count(other.counts)
        else:
            self.counts = None

    def to_json(self, sample: pa.ChunkedArray) -> dict[str, Any]:
        """Plain values for a model file; quantiles between the extremes are those of a sample of the column."""
        stats: dict[str, Any] = {"type": self.arrow_type, "n_missing": self.n_missing}
        if self.counts is not None:
            stats["n_distinct"] = len(self.counts)
            stats["counts"] = _most_common(self.counts)
        elif family(value_type(sample.type)) in _COUNTED:
            stats["counts_in_sample"] = _most_common(_counts(sample))
        if self.low <= self.high:
            inner = _floats(sample) if family(sample.type) == "number" else np.zeros(0)
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
                held = value_type(column.type)
                counts: Counter[str] | None = Counter() if family(held) in _COUNTED else None
                self.columns[name] = ColumnStats(str(held), counts=counts)
            self.columns[name].add(column)

    def merge(self, other: SourceStats) -> None:
        """Take in other rows of the source."""
        self.n_rows += other.n_rows
        for name, column in other.columns.items():
            if name in self.columns:
                self.columns[name].merge(column)
            else:
                self.columns[name] = column

    def to_json(self, sample: pa.Table) -> dict[str, Any]:
        """Plain values for a model file."""
        return {
            "source": self.name,
            "n_rows": self.n_rows,
            "n_sampled": self.n_sampled,
            "columns": {name: stats.to_json(sample.column(name)) for name, stats in self.columns.items()},
        }


def _counts(column: pa.ChunkedArray) -> dict[str, int]:
    counted = pc.value_counts(plain(column).drop_null())
    values, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
    return {str(value): count for value, count in zip(values, counts, strict=True)}


def _most_common(counts: Mapping[str, int]) -> dict[str, int]:
    """Ties by text, so that the order in which rows were read does not matter."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_STORED_CATEGORIES])


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Numbers that are neither missing nor NaN."""
    values = column.cast(pa.float64(), safe=False).drop_null().to_numpy()
    return np.asarray(values[~np.isnan(values)])


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
