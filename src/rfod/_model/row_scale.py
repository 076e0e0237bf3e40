"""What the parts of a row score mean: how rare each is among training rows that were judged out of bag."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TAIL_SHARE = 0.1  # of the training rows, the highest, that a tail is fitted to
FEWEST_IN_TAIL = 10
FURTHEST = 1e12  # decades: keeps scores finite
KEPT_ROWS = 4_096  # of the training rows, about


@dataclass(frozen=True, eq=False)
class RowScale:
    """Distribution of the parts over (a sample of) the training rows.

    The rarity of a part is -log10 of the share of training rows in which it is at least as high, and beyond the highest
    tenth of them a line: the tail of an exponential distribution.
    """

    known: Floats
    """(parts, rows): ascending along rows."""
    typical: float
    """Median over training rows of the mean rarity of the parts, which row scores are multiples of."""

    @cached_property
    def tails(self) -> list[tuple[float, float, float]]:
        """Per part where its tail begins, the rarity there, and the mean excess."""
        n = self.known.shape[1]
        n_tail = min(max(FEWEST_IN_TAIL, int(TAIL_SHARE * n)), n - 1)
        if n < 2:
            return [(np.inf, 0.0, 0.0) for _ in self.known]
        return [
            (
                float(part[n - n_tail - 1]),
                float(np.log10((n + 1.0) / (n_tail + 1.0))),
                float(np.mean(part[n - n_tail :] - part[n - n_tail - 1])),
            )
            for part in self.known
        ]

    def rarity(self, part: int, values: Floats) -> Floats:
        """(rows,): how rare the values of one part are, in decades."""
        known, (start, at_start, mean) = self.known[part], self.tails[part]
        n_as_high = len(known) - np.searchsorted(known, values, side="left")
        shares = np.log10((len(known) + 1.0) / (n_as_high + 1.0))
        if mean <= 0:
            return np.asarray(shares)
        with np.errstate(over="ignore"):
            line = at_start + np.minimum((values - start) / mean / np.log(10), FURTHEST)
        return np.asarray(np.where(values > start, line, np.minimum(shares, at_start)))

    def mean_rarity(self, parts: Floats, left_out: int, rows: NDArray[np.bool_]) -> Floats:
        """(rows,): mean over the parts, (parts, rows), without the part `left_out` for some `rows`."""
        total, count = np.zeros(parts.shape[1]), np.zeros(parts.shape[1])
        for part, values in enumerate(parts):
            counts = ~rows if part == left_out else np.ones(len(rows), dtype=np.bool_)
            total += np.where(counts, self.rarity(part, values), 0.0)
            count += counts
        return np.asarray(total / np.maximum(count, 1.0))


def fit_row_scale(parts: Floats, left_out: int, rows: NDArray[np.bool_]) -> RowScale:
    """The scale of parts, (parts, rows), of training rows that were judged out of bag."""
    step = max(1, parts.shape[1] // KEPT_ROWS)
    scale = RowScale(np.sort(parts[:, ::step], axis=1), 1.0)
    means = scale.mean_rarity(parts, left_out, rows)
    typical = float(np.median(means)) if len(means) else 1.0
    return RowScale(scale.known, typical if typical > 0 else 1.0)
