"""Compiled: class probabilities of rows, summed over the leaves they reach in many trees.

All kernels take::

    leaves   int32 (trees, rows of a block)   leaf of a row, counted over all trees
    first    uint64                           the rows are leaves[:, first:first + rows]
    in_bag   uint8 (trees, rows) or (0, 0)    1 where a tree does not count for a row
    n_trees  int64 (rows,)                    trees that count for a row
    best     int32 (rows,)                    the likeliest class
    out      float64 (4, rows)                see `pick_classes`
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rfod._forest.jit import ZERO, kernel

_U1 = np.uint64(1)


class LeafShares(NamedTuple):
    """Class shares of all leaves; the entries of leaf l are ends[l]:ends[l + 1]."""

    ends: NDArray[np.int64]  # (leaves + 1,)
    classes: NDArray[np.uint16]  # (entries,), ascending within a leaf
    shares: NDArray[np.float32]  # (entries,)


class ShareTable(NamedTuple):
    """The same for few classes: one entry per class, so the loop over them has a fixed length."""

    shares: NDArray[np.float32]  # (leaves * width,)
    width: np.uint64  # number of classes, rounded up to a multiple of four


@kernel
def sum_shares(leaves, first, leaf_shares, in_bag, n_trees, sums):
    """Add to sums (rows, classes), float64 zeros, the class shares of every tree, and count the trees."""
    for tree in range(leaves.shape[0]):  # tree by tree, so that its leaves stay in cache
        for i in range(n_trees.shape[0]):
            if in_bag.shape[0] > 0 and in_bag[tree, i]:
                continue
            n_trees[i] += 1
            leaf = np.uint64(leaves[tree, first + i])
            for entry in range(leaf_shares.ends[leaf], leaf_shares.ends[leaf + _U1]):
                sums[i, leaf_shares.classes[entry]] += leaf_shares.shares[entry]


@kernel
def sum_table(leaves, first, table, in_bag, n_trees, sums):
    """The same from a ShareTable; sums: float64 (rows * width,)."""
    shares, width = table.shares, table.width
    n_rows = np.uint64(n_trees.shape[0])
    for tree in range(leaves.shape[0]):
        for i in range(n_rows):
            if in_bag.shape[0] > 0 and in_bag[tree, i]:
                continue
            n_trees[i] += 1
            at, to = np.uint64(leaves[tree, first + i]) * width, i * width
            for k in range(width):
                sums[to + k] += shares[at + k]


@kernel
def pick_classes(sums, n_trees, n_classes, observed, best, out):
    """best: the likeliest class; out[0] its probability, out[1] 0, out[2] the probability of the observed class, out[3]
    that of all classes which are no likelier than the observed one. A row without any tree gets best = -1 and NaN.

    sums: float64 (rows, classes or more); observed: int32 (rows,), negative for a class never seen: probability 0.
    """
    for i in range(sums.shape[0]):
        if n_trees[i] == 0:
            best[i] = -1
            out[0, i] = out[1, i] = out[2, i] = out[3, i] = np.nan
            continue
        top = ZERO
        for klass in range(1, n_classes):
            if sums[i, klass] > sums[i, top]:
                top = klass
        best[i] = top
        out[0, i] = sums[i, top] / n_trees[i]
        out[1, i] = 0.0
        own = sums[i, observed[i]] if observed[i] >= 0 else 0.0
        no_likelier = 0.0
        for klass in range(n_classes):
            if sums[i, klass] <= own:
                no_likelier += sums[i, klass]
        out[2, i] = own / n_trees[i]
        out[3, i] = no_likelier / n_trees[i]


@kernel
def spread_shares(leaves, first, leaf_shares, in_bag, best, n_trees, out):
    """out[1] = standard deviation over the trees of the probability of the likeliest class."""
    for tree in range(leaves.shape[0]):
        for i in range(n_trees.shape[0]):
            if not (in_bag.shape[0] > 0 and in_bag[tree, i]):
                leaf, share = leaves[tree, first + i], 0.0
                for entry in range(leaf_shares.ends[leaf], leaf_shares.ends[leaf + 1]):
                    if leaf_shares.classes[entry] == best[i]:
                        share = np.float64(leaf_shares.shares[entry])
                out[1, i] += (share - out[0, i]) * (share - out[0, i])
    for i in range(n_trees.shape[0]):
        out[1, i] = np.sqrt(out[1, i] / n_trees[i]) if n_trees[i] > 0 else np.nan


@kernel
def spread_table(leaves, first, table, in_bag, best, n_trees, out):
    """The same from a ShareTable."""
    shares, width = table.shares, table.width
    n_rows = np.uint64(n_trees.shape[0])
    for tree in range(leaves.shape[0]):
        for i in range(n_rows):
            if not (in_bag.shape[0] > 0 and in_bag[tree, i]):
                residual = shares[np.uint64(leaves[tree, first + i]) * width + np.uint64(best[i])] - out[0, i]
                out[1, i] += residual * residual
    for i in range(n_rows):
        out[1, i] = np.sqrt(out[1, i] / n_trees[i]) if n_trees[i] > 0 else np.nan
