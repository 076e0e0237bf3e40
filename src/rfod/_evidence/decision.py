"""The decision: the probability that a cell is wrong, from all its inputs, learned over many tables.

Three sums of small trees, made by benchmarks/decision/train.py and kept as plain arrays in decision.npz:

* screen   few trees, for every cell; what it calls surely right is not looked at further
* cell     from the row and the profile alone: for new rows, and the first step for others
* table    with the context of the table: for the rows of the training table itself
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.context import is_out_of_order
from rfod._forest.boosted import BoostedTrees

Floats = NDArray[np.float64]
InputsOf = Callable[[NDArray[np.intp]], NDArray[np.float32]]
"""(cells, CELL_INPUTS) of cells of one column, given by their rows."""
HEADS = ("screen", "cell", "table")
FIELDS = ("input", "limit", "left", "right", "starts")
SCREENED = 0.01  # probability from which on a cell is looked at: of what the heads call wrong, none lies below
BATCH_CELLS = 1 << 18


@dataclass(frozen=True, eq=False)
class LearnedDecision:
    """The learned heads, and the version that every output names."""

    screen: BoostedTrees
    cell: BoostedTrees
    table: BoostedTrees
    version: str

    def first(self, inputs: NDArray[np.float32]) -> Floats:
        """(...): probability by the cell's own inputs, (..., inputs)."""
        rows = inputs.reshape(-1, inputs.shape[-1])
        found = np.empty(len(rows))
        for start in range(0, len(rows), BATCH_CELLS):
            part = rows[start : start + BATCH_CELLS]
            chance = self.screen.probability(part)
            screened = np.flatnonzero(chance >= SCREENED)
            chance[screened] = self.cell.probability(part[screened])
            found[start : start + len(part)] = chance
        return found.reshape(inputs.shape[:-1])

    def in_context(
        self, first: Floats, order: NDArray[np.float32], context: NDArray[np.float32], inputs_of: InputsOf
    ) -> Floats:
        """(rows,): probability of the cells of a column by their own inputs, the order of the rows (rows, ORDER_INPUTS)
        and the rest of the table (rows, SUSPECT_INPUTS). `inputs_of` makes the inputs of the cells that are screened;
        the others keep their first probability, (rows,)."""
        rows = screened_rows(first, order)
        found = first.copy()
        found[rows] = self.table.probability(np.hstack([inputs_of(rows), order[rows], context[rows]]))
        return found


def screened_rows(first: Floats, order: NDArray[np.float32] | None) -> NDArray[np.intp]:
    """Rows of a column whose cells are judged further: with a first probability of at least SCREENED, and, where the
    order of the rows is known, those that the cells around them contradict. Few of them are reported in the end."""
    is_screened = first >= SCREENED
    return np.flatnonzero(is_screened if order is None else is_screened | is_out_of_order(order))


def trees_from(arrays: Any, head: str) -> BoostedTrees:
    """One head of a file of arrays."""
    return BoostedTrees(**{field: arrays[f"{head}_{field}"] for field in FIELDS}, base=float(arrays[f"{head}_base"]))


@cache
def load_decision() -> LearnedDecision:
    """The decision that comes with the package."""
    folder = files("rfod._evidence")
    with folder.joinpath("decision.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        screen, cell, table = (trees_from(arrays, head) for head in HEADS)
    card = json.loads(folder.joinpath("decision.json").read_text(encoding="utf-8"))
    return LearnedDecision(screen, cell, table, card["version"])
