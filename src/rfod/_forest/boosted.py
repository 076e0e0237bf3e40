"""Sums of small regression trees: how the learned decision is evaluated, without the library that learned it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rfod._forest.jit import kernel

LEAF = 255  # in place of an input: the node is a leaf, and its limit is its value
TOGETHER = 16  # rows that go down a tree side by side, so that they do not wait for each other's nodes


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
        nodes = np.empty(TOGETHER, dtype=np.int32)
        compared, children, depths = self._walk
        _sum_leaves(compared, self.limit, children, self.starts, depths, np.ascontiguousarray(rows), nodes, out)
        return out

    def probability(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """(rows,): the sums as probabilities."""
        return np.asarray(1.0 / (1.0 + np.exp(-self.log_odds(rows))))

    @cached_property
    def _walk(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """The trees as the kernel wants them: (nodes,) inputs; (nodes, 2) children among all nodes, where a leaf is its
        own child; (trees,) depths."""
        n_nodes, is_leaf = len(self.input), self.input == LEAF
        root = np.repeat(self.starts[:-1], np.diff(self.starts))
        children = root[:, None] + np.stack([self.left, self.right], axis=1).astype(np.int32)
        children[is_leaf] = np.arange(n_nodes)[is_leaf, None]
        depths = np.zeros(len(self.starts) - 1, dtype=np.int32)
        tree = np.repeat(np.arange(len(depths)), np.diff(self.starts))
        level = self.starts[:-1].astype(np.int64)
        while len(level := level[~is_leaf[level]]):
            np.add.at(depths, np.unique(tree[level]), 1)
            level = children[level].ravel().astype(np.int64)
        return np.where(is_leaf, 0, self.input).astype(np.int32), children.astype(np.int32), depths


@kernel
def _sum_leaves(inputs, limits, children, starts, depths, rows, nodes, out):
    """inputs int32 (nodes,), limits float32 (nodes,), children int32 (nodes, 2), starts int32 (trees + 1,), depths
    int32 (trees,), rows float32 (rows, inputs), nodes int32 (TOGETHER,) as a buffer, out float64 (rows,) added to."""
    for first in range(0, len(rows), len(nodes)):
        n_rows = min(len(nodes), len(rows) - first)
        for tree in range(len(depths)):
            for k in range(n_rows):
                nodes[k] = starts[tree]
            for _ in range(depths[tree]):
                for k in range(n_rows):
                    node = nodes[k]
                    is_left = rows[first + k, inputs[node]] <= limits[node]
                    nodes[k] = children[node, 0 if is_left else 1]
            for k in range(n_rows):
                out[first + k] += limits[nodes[k]]
