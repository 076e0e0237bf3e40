"""Which rows are findings where the scores lie in many files: a cut-off, found in passes of bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rfod._findings.findings import Rule
from rfod._io.storage import open_storage
from rfod._model.executor import Executor
from rfod._model.model import Model

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CutOff:
    """A row is a finding if its p-value is at most, or its score at least, a limit; None: no row is."""

    column: str
    """"p_value" or "score"."""
    limit: float | None
    n_flagged: int

    def to_json(self) -> dict[str, Any] | None:
        """Under a name that says how it is applied."""
        return None if self.limit is None else {f"{self.column}_{_SIDE[self.column]}": self.limit}


_SIDE = {"p_value": "at_most", "score": "at_least"}


def find_cut_off(rule: Rule, model: Model, output: str, parts: Sequence[tuple[str, int]], executor: Executor) -> CutOff:
    """The cut-off of a rule over all parts, given as paths in the output and their numbers of rows."""
    items, total = [f"{output}/{path}" for path, _ in parts], sum(n_rows for _, n_rows in parts)

    def count(column: str, limit: float) -> tuple[int, float]:
        """Rows within the limit, and the outermost of their values."""
        counts = list(executor.map(_count_within, items, [executor.share(column), executor.share(limit)]))
        values = [value for number, value in counts if number]
        outermost = (max if column == "p_value" else min)(values) if values else limit
        return sum(number for number, _ in counts), outermost

    if rule.contamination is not None:
        above = np.nextafter(np.quantile(model.calibration, 1 - rule.contamination), np.inf)
        n_flagged, limit = count("score", float(above))
        return CutOff("score", float(above), n_flagged)
    if rule.top is not None:
        best: Floats = np.zeros(0)
        for highest in executor.map(_highest, items, [executor.share(rule.top)]):
            best = np.sort(np.concatenate([best, highest]))[-rule.top :]
        n_flagged, limit = count("score", float(best[0]))  # with all that score the same
        return CutOff("score", limit, n_flagged)
    # Benjamini and Hochberg's step-up procedure as a fixed point: the largest t = rate * #{p <= t} / n. Coming from
    # above, each pass shrinks what is left above it by about the rate.
    n_before, (n_flagged, limit) = total, count("p_value", rule.rate)
    while n_flagged and n_flagged < n_before:
        n_before, (n_flagged, limit) = n_flagged, count("p_value", rule.rate * n_flagged / total)
    return CutOff("p_value", limit if n_flagged else None, n_flagged)


def _count_within(place: str, column: str, limit: float) -> tuple[int, float]:
    """Rows of one part within a limit, and the outermost of their values."""
    values = read_part(place, column)
    if column == "p_value":
        inside = values[values <= limit]
        return len(inside), float(inside.max(initial=-np.inf))
    inside = values[values >= limit]
    return len(inside), float(inside.min(initial=np.inf))


def _highest(place: str, n: int) -> Floats:
    return np.sort(read_part(place, "score"))[-n:]


def read_part(place: str, column: str) -> Floats:
    """A column of numbers of one part."""
    filesystem, path = open_storage(place)
    return np.asarray(pq.read_table(path, filesystem=filesystem, columns=[column])[column].to_numpy())
