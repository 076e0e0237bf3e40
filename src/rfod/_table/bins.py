"""Every predictor as one byte per row: bins of numbers, codes of categories, 0 for missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rfod._table.columns import Schema, checked_fields
from rfod._table.kinds import kind_of
from rfod._table.kinds.moments import calendar_part
from rfod._table.values import MISSING
from rfod.exceptions import require_intact

SAMPLE_ROWS = 200_000
MAX_CODES = 256
_TOGETHER = np.uint64(1024)


@dataclass(frozen=True, eq=False)
class Feature:
    """How a column, or a calendar part of it, becomes codes below `n_codes`."""

    column: int
    """Index into the columns of the schema."""
    part: str
    """"value", or a part of the calendar: "month", "day", "weekday", "hour", "minute" (in UTC)."""
    is_categorical: bool
    """Codes are categories, to be split by sets; otherwise they are ordered."""
    n_codes: int
    edges: NDArray[np.float64]
    """Strictly ascending, n_codes - 2 of them; a value's code is 1 + the number of edges below it. Empty for sets."""
    shared: bool = False
    """The last code of a set stands for all rarer categories, and for those never seen."""

    def codes(self, values: NDArray[Any]) -> NDArray[np.uint8]:
        """The codes of an encoded column."""
        if self.is_categorical:
            codes = np.minimum(values + 1, self.n_codes - 1)
            unseen = self.n_codes - 1 if self.shared else 0
            return np.where(values >= 0, codes, np.where(values == MISSING, 0, unseen)).astype(np.uint8)
        codes = np.empty(len(values), dtype=np.uint8)
        numbers = np.require(self.numbers(values), requirements=["C", "W"])  # what the kernel is compiled for
        edges = np.full(255, np.inf)
        edges[: len(self.edges)] = self.edges
        _place(edges, numbers, codes)
        return codes

    def numbers(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What edges are compared with: the values of an ordered column, or a part of the calendar."""
        return calendar_part(values, self.part)


@njit(cache=True, nogil=True)
def _place(edges, numbers, codes):  # type: ignore[no-untyped-def]
    """codes[i] = 1 + the number of edges below numbers[i], 0 for NaN; edges are filled up with infinity to 255. Many
    numbers take a step of their search before the next one is taken: none has to wait for the one before."""
    n_rows = np.uint64(numbers.shape[0])
    for start in range(np.uint64(0), n_rows, _TOGETHER):
        end = start + _TOGETHER if start + _TOGETHER < n_rows else n_rows
        for i in range(start, end):
            codes[i] = 0
        for step in range(8):
            bit = np.uint64(7 - step)
            before_half = edges[(1 << bit) - 1 :]
            for i in range(start, end):
                low = np.uint64(codes[i])
                codes[i] = low + (np.uint64(before_half[low] < numbers[i]) << bit)
        for i in range(start, end):
            codes[i] = codes[i] + 1 if numbers[i] == numbers[i] else 0


def fit_features(schema: Schema, encoded: Sequence[NDArray[Any]], max_bins: int, seed: int) -> tuple[Feature, ...]:
    """The features of a training table, from its encoded columns.

    A feature with nothing to split on (one bin, nothing missing) is left out, so a constant column may have none.
    """
    rows = None
    if schema.n_rows > SAMPLE_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(schema.n_rows, SAMPLE_ROWS, replace=False, shuffle=False))
    features = []
    for index, column in enumerate(schema.columns):
        if column.is_categorical:  # the most frequent categories; one more code for all others where they are too many
            n_categories = len(column.categories)
            n_codes = 1 + min(n_categories, max_bins)
            found = [Feature(index, "value", True, n_codes, np.empty(0), shared=n_categories > max_bins)]
        else:
            values = encoded[index]
            # few distinct values, infinities included, are counted in full, for a rare one may not be in the sample
            is_sampled = rows is not None and column.n_distinct > max_bins + 2
            edges = {"value": _edges(values[rows] if is_sampled else values, max_bins)}
            edges |= {part: _edges(calendar_part(values, part), max_bins) for part in kind_of(column.kind).parts}
            found = [
                Feature(index, part, False, len(cuts) + 2, cuts)
                for part, cuts in edges.items()
                if part == "value" or len(cuts)
            ]
        features += [feature for feature in found if feature.n_codes > 2 or column.n_missing]
    return tuple(features)


def _edges(values: NDArray[np.float64], max_bins: int) -> NDArray[np.float64]:
    """Cuts between neighbouring distinct values: all of them if they are few, else at even steps of the rows."""
    distinct, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    if len(distinct) < 2:
        return np.empty(0)
    if len(distinct) <= max_bins:
        cuts = np.arange(len(distinct) - 1)
    else:
        weights = counts.astype(np.float64)
        for _ in range(8):  # a value that fills a bin alone counts as one bin, which leaves the others their share
            weights = np.minimum(weights, weights.sum() / max_bins)
        filled = np.cumsum(weights)
        steps = filled[-1] * np.arange(1, max_bins) / max_bins
        cuts = np.unique(np.minimum(np.searchsorted(filled, steps), len(distinct) - 2))
    lower, upper = distinct[cuts], distinct[cuts + 1]
    middle = lower + (upper - lower) / 2
    return np.where((middle >= lower) & (middle < upper), middle, lower)


def bin_table(features: Sequence[Feature], encoded: Sequence[NDArray[Any]]) -> NDArray[np.uint8]:
    """The codes of all features, one row of the result per feature, from the encoded columns of a table."""
    codes = np.empty((len(features), len(encoded[0])), np.uint8)
    for position, feature in enumerate(features):
        codes[position] = feature.codes(encoded[feature.column])
    return codes


def features_to_json(features: Sequence[Feature]) -> tuple[list[dict[str, Any]], NDArray[np.float64]]:
    """Plain dicts, and the edges of all features one after the other."""
    plain = [{"column": feature.column, "part": feature.part, "n_codes": feature.n_codes} for feature in features]
    return plain, np.concatenate([np.empty(0), *(feature.edges for feature in features)])


def features_from_json(data: Any, edges: Any, schema: Schema) -> tuple[Feature, ...]:
    """The inverse of `features_to_json`; `ModelFormatError` for anything it cannot have written."""
    require_intact(isinstance(data, list), "its features are not a list")
    valid_edges = isinstance(edges, np.ndarray) and edges.dtype == np.float64 and edges.ndim == 1
    require_intact(valid_edges and bool(np.isfinite(edges).all()), "edges are not finite numbers")
    features: list[Feature] = []
    used = 0
    for entry in data:
        features.append(_feature_from_json(entry, edges, used, schema))
        used += len(features[-1].edges)
    places = [(feature.column, feature.part) for feature in features]
    require_intact(len(set(places)) == len(places), "a feature occurs twice")
    require_intact([index for index, _ in places] == sorted(index for index, _ in places), "features are in disorder")
    require_intact(used == len(edges), f"there are {len(edges)} edges instead of {used}")
    return tuple(features)


def _feature_from_json(entry: Any, edges: NDArray[np.float64], used: int, schema: Schema) -> Feature:
    types = {"column": int, "part": str, "n_codes": int}
    fields = checked_fields(entry, types, "feature")
    index, part, n_codes = (fields[name] for name in types)
    require_intact(0 <= index < len(schema.columns), f"there is no column {index}")
    column = schema.columns[index]
    name, n_categories = repr(column.name), len(column.categories)
    require_intact(part in ("value", *kind_of(column.kind).parts), f"{name} has no part {part[:40]!r}")
    require_intact(2 <= n_codes <= MAX_CODES, f"{name} has {n_codes} codes")
    if column.is_categorical:
        require_intact(n_codes - 1 <= n_categories, f"{name} has {n_categories} categories and {n_codes} codes")
        return Feature(index, part, True, n_codes, np.empty(0), n_codes - 1 < n_categories)
    own = edges[used : used + n_codes - 2].copy()
    require_intact(len(own) == n_codes - 2 and bool((np.diff(own) > 0).all()), f"{name}: edges do not ascend")
    return Feature(index, part, False, n_codes, own)
