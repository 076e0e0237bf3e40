"""Sums of small regression trees: how the learned decision is evaluated, without the library that learned it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rfod._forest.jit import kernel

LEAF = 255  # in place of an input: the node is a leaf, and its limit is its value


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Trees as arrays over all nodes; the children of a node are counted from the root of its tree."""

    input: NDArray[np.uint8]
    """(nodes,): which input a node compares, or LEAF."""
    limit: NDArray[np.float32]
    """(nodes,): up to this value rows go left; the value of a leaf."""
    left: NDArray[np.uint8]
    right: NDArray[np.uint8]
    starts: NDArray[np.int32]
    """(trees + 1,): first node of each tree."""
    base: float
    """What every sum starts from."""

    def log_odds(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """(rows,): sum of the leaves that each row, (rows, inputs), reaches."""
        out = np.full(len(rows), self.base)
        _sum_leaves(self.input, self.limit, self.left, self.right, self.starts, np.ascontiguousarray(rows), out)
        return out

    def probability(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """(rows,): the sums as probabilities."""
        return np.asarray(1.0 / (1.0 + np.exp(-self.log_odds(rows))))


@kernel
def _sum_leaves(inputs, limits, left, right, starts, rows, out):
    for row in range(len(rows)):
        total = out[row]
        for tree in range(len(starts) - 1):
            root = starts[tree]
            node = root
            while inputs[node] != 255:
                node = root + (left[node] if rows[row, inputs[node]] <= limits[node] else right[node])
            total += limits[node]
        out[row] = total
