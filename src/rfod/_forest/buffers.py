"""The memory that growing trees needs: kernels allocate nothing themselves."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._forest import kernels

Arrays = tuple[NDArray[Any], ...]


def workspace(n_rows: int) -> Arrays:
    """To send so many rows down a tree: slots, nodes and ends of slots, the rows twice, a stack."""
    return (
        np.empty(n_rows, dtype=np.uint8),
        np.empty(kernels.SLOTS, dtype=np.uint64),
        np.empty(kernels.SLOTS + 1, dtype=np.int64),
        np.empty(2 * n_rows, dtype=np.uint32),
        np.empty(4 * n_rows, dtype=np.uint64),
    )


def bench(n_rows: int, n_drawn: int, n_features: int, n_allowed: int, n_classes: int, min_leaf: int) -> Any:
    """To grow trees on at most `n_drawn` of `n_rows` rows, one at a time."""
    by_class = n_classes > 2  # two classes: Gini impurity is twice the variance of the 0/1 target
    table = (
        np.empty(n_allowed * n_drawn, dtype=np.uint8),  # codes of the drawn rows, feature after feature
        np.empty(n_drawn, dtype=np.int64),
        np.empty(n_drawn),
        np.empty(n_drawn if n_classes else 0, dtype=np.uint32),
    )
    histograms = (
        np.zeros(kernels.HAND * 4, dtype=np.uint64),
        np.zeros(kernels.HAND * kernels.CODES, dtype=np.int64),
        np.zeros(kernels.HAND * kernels.CODES),
    )
    scratch = (
        histograms,
        np.zeros(kernels.HAND * kernels.CODES),
        np.empty(kernels.CODES, dtype=np.int64),
        np.empty(kernels.HAND, dtype=np.int64),
        np.empty(kernels.HAND, dtype=np.uint64),
        np.zeros(4, dtype=np.int64),
    )
    counting = (
        np.zeros(n_classes + 1, dtype=np.int64),
        np.zeros(n_classes, dtype=np.int64),
        np.zeros(n_classes),
        np.zeros(n_classes),
        np.zeros(kernels.CODES * n_classes if by_class and n_classes <= kernels.FEW_CLASSES else 0),
        np.empty(n_drawn if by_class else 0, dtype=np.int64),
        np.zeros(kernels.CODES, dtype=np.int64),
    )
    return (
        np.zeros(1, dtype=np.uint64),  # state of the random stream
        np.zeros(n_rows, dtype=np.int32),  # how often rows were drawn
        np.empty(n_drawn + 1, dtype=np.int32),
        np.empty(n_drawn, dtype=np.uint32),
        table,
        np.empty(n_features, dtype=np.int64),
        np.empty(n_allowed, dtype=np.int32),
        scratch,
        counting,
        (np.empty(n_drawn, dtype=np.uint32), np.empty(n_drawn, dtype=np.uint32)),
        np.empty(4 * _most_leaves(n_drawn, min_leaf), dtype=np.int64),
    )


def fitness_buffers(n_drawn: int, n_judges: int, n_features: int, n_classes: int, min_leaf: int) -> Any:
    """To measure the fitness of the same trees on at most `n_judges` rows outside their bags."""
    n_entries = n_drawn if n_classes else 0
    tallies = (
        np.empty(_most_leaves(n_drawn, min_leaf), dtype=np.int64),
        np.empty(n_entries, dtype=np.int64),
        np.empty(n_entries, dtype=np.int64),
        np.empty(n_classes, dtype=np.int64),
        np.empty(n_entries),
        np.empty(n_entries, dtype=np.int64),
    )
    return (
        np.empty(n_features * n_judges, dtype=np.uint8),
        np.empty(n_judges, dtype=np.int32),
        workspace(n_judges),
        tallies,
    )


def space_for(
    n_trees: int, n_drawn: int, n_judges: int, n_features: int, n_classes: int, min_leaf: int
) -> tuple[Arrays, ...]:
    """For trees, as large as they can get; what is not written to takes no memory. Words and where those and the leaves
    of each tree end; leaf values and variances; of the leaves' classes where they end, which they are and their shares;
    rows outside the bag of each tree, one place more than can be picked, how many there are, and importances."""
    n_leaves = n_trees * _most_leaves(n_drawn, min_leaf)
    n_values, n_ends, n_entries = (0, n_leaves, n_trees * n_drawn) if n_classes else (n_leaves, 0, 0)
    return (
        (
            np.empty(n_trees + 6 * n_leaves, dtype=np.int64),
            np.empty(n_trees + 1, dtype=np.int64),
            np.empty(n_trees + 1, dtype=np.int64),
        ),
        (np.empty(n_values), np.empty(n_values)),
        # all as wide as the others, so that less is compiled
        (np.empty(n_ends, dtype=np.int64), np.empty(n_entries, dtype=np.int64), np.empty(n_entries)),
        (
            np.empty((n_trees, n_judges + 1), dtype=np.uint32),
            np.empty(n_trees, dtype=np.int64),
            np.zeros((n_trees, n_features)),
        ),
    )


def _most_leaves(n_drawn: int, min_leaf: int) -> int:
    return max(1, n_drawn // min_leaf)
