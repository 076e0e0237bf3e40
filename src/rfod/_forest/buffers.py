"""Allocates the arrays that kernels work in; grow.py, route.py and layout.py declare them."""

import numpy as np

from rfod._forest import grow, route
from rfod._forest.layout import MAX_SET_WORDS, WORDS_PER_LEAF, GrownTrees


def routing_buffers(n_rows: int) -> route.RoutingBuffers:
    """To send so many rows down a tree."""
    return route.RoutingBuffers(
        active_of=np.empty(n_rows, dtype=np.uint8),
        nodes=np.empty(route.MAX_ACTIVE, dtype=np.uint64),
        ends=np.empty(route.MAX_ACTIVE + 1, dtype=np.int64),
        order=np.empty(2 * n_rows, dtype=np.uint32),
        stack=np.empty(4 * n_rows, dtype=np.uint64),
    )


def growth_buffers(
    n_rows: int, n_drawn: int, n_features: int, n_allowed: int, n_classes: int, min_leaf: int
) -> grow.GrowthBuffers:
    """To grow trees on at most `n_drawn` of `n_rows` rows, one at a time."""
    by_class, n_places = n_classes > 2, grow.LANES * grow.CODES
    return grow.GrowthBuffers(
        bag=grow.Bag(
            state=np.zeros(1, dtype=np.uint64),
            times=np.zeros(n_rows, dtype=np.int32),
            drawn=np.empty(n_drawn + 1, dtype=np.int32),
        ),
        sample=grow.Sample(
            source=np.empty(n_drawn, dtype=np.uint32),
            codes=np.empty(n_allowed * n_drawn, dtype=np.uint8),
            packed=np.empty(n_drawn, dtype=np.int64),
            total=np.empty(n_drawn),
            classes=np.empty(n_drawn if n_classes else 0, dtype=np.uint32),
        ),
        split=grow.SplitBuffers(
            position=np.empty(n_features, dtype=np.int64),
            candidates=np.empty(n_allowed, dtype=np.int32),
            histograms=grow.Histograms(
                marks=np.zeros(grow.LANES * grow.MARKS, dtype=np.uint64),
                packed=np.zeros(n_places, dtype=np.int64),
                total=np.zeros(n_places),
            ),
            mean=np.zeros(n_places),
            present=np.empty(grow.CODES, dtype=np.int64),
            lane_feature=np.empty(grow.LANES, dtype=np.int64),
            lane_base=np.empty(grow.LANES, dtype=np.uint64),
            best_set=np.zeros(MAX_SET_WORDS, dtype=np.int64),
        ),
        classes=grow.ClassBuffers(
            node=np.zeros(n_classes + 1, dtype=np.int64),
            left=np.zeros(n_classes, dtype=np.int64),
            node_float=np.zeros(n_classes),
            left_float=np.zeros(n_classes),
            joint=np.zeros(grow.CODES * n_classes if by_class and n_classes <= grow.MAX_JOINT_CLASSES else 0),
            grouped=np.empty(n_drawn if by_class else 0, dtype=np.int64),
            group_end=np.zeros(grow.CODES, dtype=np.int64),
        ),
        rows=np.empty(n_drawn, dtype=np.uint32),
        spare=np.empty(n_drawn, dtype=np.uint32),
        stack=np.empty(4 * _max_leaves(n_drawn, min_leaf), dtype=np.int64),
    )


def fitness_buffers(
    n_drawn: int, n_out_of_bag: int, n_features: int, n_classes: int, min_leaf: int
) -> route.FitnessBuffers:
    """To measure the fitness of the same trees on at most `n_out_of_bag` rows outside their bags."""
    n_entries = n_drawn if n_classes else 0
    return route.FitnessBuffers(
        codes=np.empty(n_features * n_out_of_bag, dtype=np.uint8),
        leaves=np.empty(n_out_of_bag, dtype=np.int32),
        routing=routing_buffers(n_out_of_bag),
        tallies=route.Tallies(
            leaf_rows=np.empty(_max_leaves(n_drawn, min_leaf), dtype=np.int64),
            class_rows=np.empty(n_classes, dtype=np.int64),
            entry_rows=np.empty(n_entries, dtype=np.int64),
            entry_leaf=np.empty(n_entries, dtype=np.int64),
            keys=np.empty(n_entries),
            order=np.empty(n_entries, dtype=np.int64),
        ),
    )


def grown_trees(
    n_trees: int, n_drawn: int, n_out_of_bag: int, n_features: int, n_classes: int, min_leaf: int
) -> GrownTrees:
    """For trees, as large as they can get; pages that are not written to take no memory."""
    n_leaves = n_trees * _max_leaves(n_drawn, min_leaf)
    n_values, n_ends, n_entries = (0, n_leaves, n_trees * n_drawn) if n_classes else (n_leaves, 0, 0)
    return GrownTrees(
        words=np.empty(n_trees + WORDS_PER_LEAF * n_leaves, dtype=np.int64),
        word_ends=np.empty(n_trees + 1, dtype=np.int64),
        leaf_ends=np.empty(n_trees + 1, dtype=np.int64),
        leaf_value=np.empty(n_values),
        leaf_variance=np.empty(n_values),
        entry_ends=np.empty(n_ends, dtype=np.int64),
        entry_class=np.empty(n_entries, dtype=np.int64),
        entry_share=np.empty(n_entries),
        out_of_bag=np.empty((n_trees, n_out_of_bag + 1), dtype=np.uint32),
        n_out_of_bag=np.empty(n_trees, dtype=np.int64),
        importances=np.zeros((n_trees, n_features)),
    )


def _max_leaves(n_drawn: int, min_leaf: int) -> int:
    return max(1, n_drawn // min_leaf)
