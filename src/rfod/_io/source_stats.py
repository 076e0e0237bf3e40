"""What is true of all rows of a source, not only of the sample that a model was fitted to."""

from __future__ import annotations

import json
import os
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rfod._io.archives import add_member, open_archive
from rfod._io.batches import Batch
from rfod._io.sketch import QuantileSketch
from rfod.exceptions import ModelFormatError

MEMBER = "source.json"
"""Where a model file keeps the facts of its source; the model itself does not need them."""
MOST_CATEGORIES = 100_000
_STORED_CATEGORIES = 20
_QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
_LARGEST_MEMBER = 1 << 24  # bytes; facts of 10,000 columns take half of it


@dataclass
class ColumnStats:
    """One column over all rows."""

    arrow_type: str
    n_missing: int = 0
    counts: Counter[str] | None = None
    """Of texts and truth values, exact; None for other columns, and where there are more than MOST_CATEGORIES."""
    sketch: QuantileSketch | None = None
    """Of numbers."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for a model file."""
        facts: dict[str, Any] = {"type": self.arrow_type, "n_missing": self.n_missing}
        if self.counts is not None:
            facts["n_distinct"] = len(self.counts)
            facts["counts"] = dict(self.counts.most_common(_STORED_CATEGORIES))
        if self.sketch is not None and self.sketch.n:
            values = self.sketch.quantiles(np.array(_QUANTILES))
            finite = [float(value) if np.isfinite(value) else str(value) for value in values]
            facts["quantiles"] = dict(zip(map(str, _QUANTILES), finite, strict=True))
        return facts


@dataclass
class SourceStats:
    """Exact counts of categories and quantile sketches of numbers, gathered batch by batch; mergeable."""

    name: str
    n_rows: int = 0
    columns: dict[str, ColumnStats] = field(default_factory=dict)
    n_sampled: int | None = None
    """Rows that the model was fitted to, if not all."""

    def add(self, batch: Batch) -> None:
        """Take in the rows of a batch."""
        self.n_rows += batch.rows.num_rows
        for name in batch.rows.column_names:
            column = batch.rows.column(name)
            if name not in self.columns:
                self.columns[name] = _start(column.type)
            facts = self.columns[name]
            facts.n_missing += column.null_count
            if facts.sketch is not None and _is_number(column.type):
                facts.sketch.add(column.cast(pa.float64(), safe=False).drop_null().to_numpy())
            elif facts.counts is not None:
                _count(facts, column)

    def merge(self, other: SourceStats) -> None:
        """Take in what was gathered from other rows of the same table."""
        self.n_rows += other.n_rows
        for name, facts in other.columns.items():
            own = self.columns.setdefault(name, _start_like(facts))
            own.n_missing += facts.n_missing
            if own.sketch is not None and facts.sketch is not None:
                own.sketch.merge(facts.sketch)
            if own.counts is not None and facts.counts is not None:
                own.counts.update(facts.counts)
            if facts.counts is None or (own.counts is not None and len(own.counts) > MOST_CATEGORIES):
                own.counts = None

    def to_json(self) -> dict[str, Any]:
        """Plain values for a model file."""
        return {
            "source": self.name,
            "n_rows": self.n_rows,
            "n_sampled": self.n_sampled,
            "columns": {name: facts.to_json() for name, facts in self.columns.items()},
        }


def _is_number(arrow_type: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_decimal(arrow_type))


def _start(arrow_type: pa.DataType) -> ColumnStats:
    plain = arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
    if _is_number(arrow_type):
        return ColumnStats(str(arrow_type), sketch=QuantileSketch())
    counted = pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_boolean(plain)
    return ColumnStats(str(plain), counts=Counter() if counted else None)


def _start_like(facts: ColumnStats) -> ColumnStats:
    return ColumnStats(
        facts.arrow_type,
        counts=Counter() if facts.counts is not None else None,
        sketch=QuantileSketch() if facts.sketch is not None else None,
    )


def _count(facts: ColumnStats, column: pa.ChunkedArray) -> None:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    counted = pc.value_counts(column.drop_null())
    for value, count in zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True):
        if facts.counts is not None:
            facts.counts[str(value)] += count
    if facts.counts is not None and len(facts.counts) > MOST_CATEGORIES:
        facts.counts = None


def attach_stats(path: str | os.PathLike[str], facts: SourceStats) -> None:
    """Add the facts to a model file that is being written."""
    data = json.dumps(facts.to_json(), ensure_ascii=False, allow_nan=False).encode()
    with zipfile.ZipFile(path, "a") as archive:
        add_member(archive, MEMBER, data)


def read_stats(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The facts that a model file holds of its source, if it does and they can be read."""
    try:
        with open_archive(path) as archive:
            facts = archive.read_json(MEMBER, _LARGEST_MEMBER) if MEMBER in archive.members else None
    except (ModelFormatError, OSError):
        return None
    return facts if _is_facts(facts) else None


def _is_facts(facts: Any) -> bool:
    """Whether `SourceStats.to_json` can have made this, as far as its readers rely on it."""
    return (
        isinstance(facts, dict)
        and type(facts.get("n_rows")) is int
        and facts["n_rows"] > 0
        and isinstance(columns := facts.get("columns"), dict)
        and all(isinstance(column, dict) and type(column.get("n_missing")) is int for column in columns.values())
        and all(isinstance(column.get("quantiles", {}), dict) for column in columns.values())
    )
