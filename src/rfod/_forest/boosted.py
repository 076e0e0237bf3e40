"""Sums of small regression trees: how the learned decision is evaluated, without the library that learned it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rfod._forest.jit import kernel

LEAF = 255  # in place of an input: the node is a leaf, and its limit is its value
LEAST_ODDS = -500.0  # log-odds of practically 0; the exponential of 710 would overflow
TOGETHER = 32  # rows that go down a tree side by side, so that they do not wait for each other's nodes


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
        _sum_leaves(*self._walk, np.ascontiguousarray(rows), np.empty(TOGETHER, dtype=np.uint32), out)
        return out

    def probability(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """(rows,): the sums as probabilities."""
        return np.asarray(1.0 / (1.0 + np.exp(-np.maximum(self.log_odds(rows), LEAST_ODDS))))

    @cached_property
    def _walk(self) -> Walk:
        """The trees as the kernel wants them. The two children of a node are neighbours, so that one number says where
        both are; a leaf is its own child, and NaN is a limit that no row is up to."""
        n_nodes, is_leaf = len(self.input), self.input == LEAF
        tree = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        root = self.starts[tree].astype(np.int64)
        inner = np.flatnonzero(~is_leaf)
        n_before = np.append(0, np.cumsum(~is_leaf))  # nodes before each one that are no leaves
        children = root[inner] + 1 + 2 * (n_before[inner] - n_before[root[inner]])
        place = np.arange(n_nodes)  # roots stay where they are
        place[root[inner] + self.right[inner]] = children
        place[root[inner] + self.left[inner]] = children + 1
        inputs, below = np.zeros(n_nodes, dtype=np.uint32), np.arange(n_nodes, dtype=np.uint32)
        limits, values = np.full(n_nodes, np.nan, dtype=np.float32), np.zeros(n_nodes, dtype=np.float32)
        inputs[place[inner]], limits[place[inner]], below[place[inner]] = self.input[inner], self.limit[inner], children
        values[place[is_leaf]] = self.limit[is_leaf]
        return Walk(inputs, limits, below, values, self.starts[:-1].astype(np.uint32), self._depths)

    @property
    def _depths(self) -> NDArray[np.uint32]:
        """(trees,): nodes on the longest way from the root to a leaf, the leaf left out."""
        depths = np.zeros(len(self.starts) - 1, dtype=np.uint32)
        tree = np.repeat(np.arange(len(depths)), np.diff(self.starts))
        level = self.starts[:-1].astype(np.int64)
        while len(level := level[self.input[level] != LEAF]):
            np.add.at(depths, np.unique(tree[level]), 1)
            root = self.starts[tree[level]]
            level = np.concatenate([root + self.left[level], root + self.right[level]]).astype(np.int64)
        return depths


class Walk(NamedTuple):
    """The nodes of all trees, siblings beside each other."""

    inputs: NDArray[np.uint32]
    """(nodes,): unsigned, as all numbers of nodes: signed ones would be checked for counting from the end."""
    limits: NDArray[np.float32]
    below: NDArray[np.uint32]
    """(nodes,): the right child; the left one follows."""
    values: NDArray[np.float32]
    """(nodes,): of leaves."""
    roots: NDArray[np.uint32]
    depths: NDArray[np.uint32]
    """(trees,)."""


@kernel
def _sum_leaves(inputs, limits, below, values, roots, depths, rows, nodes, out):
    """The fields of `Walk`; rows float32 (rows, inputs), of which NaN goes right; nodes uint32 (TOGETHER,) as a
    buffer; out float64 (rows,) added to."""
    for first in range(0, len(rows), len(nodes)):
        n_rows = min(len(nodes), len(rows) - first)
        for tree in range(len(depths)):
            for k in range(n_rows):
                nodes[k] = roots[tree]
            for _ in range(depths[tree]):
                for k in range(n_rows):
                    node = nodes[k]
                    nodes[k] = below[node] + np.uint32(rows[first + k, inputs[node]] <= limits[node])
            for k in range(n_rows):
                out[first + k] += values[nodes[k]]
