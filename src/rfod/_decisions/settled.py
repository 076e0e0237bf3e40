"""Cells that were decided about, as those who judge a table need to know them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LEAST = 0.01  # probabilities nearer to 0 or 1 count as this, so that no single decision moves a column far
MOST_SHIFT = 20.0  # log-odds; beyond what any number of decisions can reach


@dataclass(frozen=True, eq=False)
class SettledCells:
    """Decided cells of a table, by the names of its columns."""

    outcomes: Mapping[str, Floats] = field(default_factory=dict)
    """(rows,) per column with decided cells: 1 where the cell was wrong, 0 where it is fine, NaN elsewhere."""
    shifts: Mapping[str, float] = field(default_factory=dict)
    """Per column, what the decisions about its cells add to the log-odds that its other cells are wrong."""

    def take(self, rows: NDArray[np.intp]) -> SettledCells:
        """Some of the rows."""
        return SettledCells({name: found[rows] for name, found in self.outcomes.items()}, self.shifts)

    def renamed(self, names: Mapping[str, str]) -> SettledCells:
        """The same for other names of the columns."""
        return SettledCells(
            {names[name]: found for name, found in self.outcomes.items()},
            {names[name]: shift for name, shift in self.shifts.items() if name in names},
        )

    @property
    def masks(self) -> dict[str, NDArray[np.bool_]]:
        """(rows,) per column with decided cells: which are."""
        return {name: ~np.isnan(found) for name, found in self.outcomes.items()}


def shift_of(outcomes: Iterable[tuple[float, bool]]) -> float:
    """How much too low the log-odds of cells were, from their probabilities and whether they turned out wrong.

    The most likely shift where shifts are normally distributed around 0 with a standard deviation of 1: few decisions
    move it little. It solves: sum of (outcome - probability with the shift) = shift.
    """
    pairs = list(outcomes)
    if not pairs:
        return 0.0
    chance = np.clip([probability for probability, _ in pairs], LEAST, 1 - LEAST)
    odds, wrong = np.log(chance / (1 - chance)), sum(outcome for _, outcome in pairs)
    low, high = -MOST_SHIFT, MOST_SHIFT
    for _ in range(60):
        middle = (low + high) / 2
        if wrong - float(np.sum(1 / (1 + np.exp(-odds - middle)))) > middle:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def shifted(chance: Floats, shift: float) -> Floats:
    """Probabilities with a shift of their log-odds."""
    if not shift:
        return chance
    odds = np.log(np.maximum(chance, 1e-12) / np.maximum(1 - chance, 1e-12))
    return np.asarray(1 / (1 + np.exp(-odds - shift)))
