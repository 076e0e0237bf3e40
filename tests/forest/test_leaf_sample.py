"""Rows of a sample that share leaves, and the nearest ones, against loops that do it one by one."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.tables import NUMERIC, cases
from rfod._forest.forest import NO_BAG
from rfod._forest.leaf_sample import MAX_LEAF_SAMPLE, gather
from rfod._forest.neighbours import neighbours


@settings(max_examples=30)
@given(cases(st.sampled_from([NUMERIC, 2, 3])), st.integers(0, 99))
def test_weights_are_shares_of_leaves(case, seed):
    forest = case.forest()
    random = np.random.default_rng(seed)
    block = np.ascontiguousarray(case.predictors.codes.T)
    listed = np.flatnonzero(random.random(len(block)) < 0.7)
    picked = random.integers(0, len(block), 3)
    own = np.where(random.random(3) < 0.5, picked, -1)
    in_bag = NO_BAG
    if random.random() < 0.5:
        in_bag = (random.random((forest.trees.n_trees, 3)) < 0.5).astype(np.uint8)
    sample = gather(forest, block, listed)
    found = sample.weights(block[picked], own, in_bag)
    values, observed = random.integers(0, 5, len(block)).astype(float), random.integers(0, 5, 3).astype(float)
    below, up_to = sample.weights_up_to(block[picked], own, in_bag, values, observed)
    leaves = forest.find_leaves(block)
    for i, row in enumerate(picked):
        expected, n_trees = np.zeros(len(block)), 0
        for tree in range(forest.trees.n_trees):
            members = [r for r in listed if leaves[tree, r] == leaves[tree, row]][:MAX_LEAF_SAMPLE]
            members = [r for r in members if r != own[i]]
            if members and not (len(in_bag) and in_bag[tree, i]):
                n_trees += 1
                expected[members] += 1 / len(members)
        np.testing.assert_allclose(found[i], expected / max(n_trees, 1), atol=1e-12)
        if n_trees:
            np.testing.assert_allclose(below[i], found[i, values < observed[i]].sum(), atol=1e-12)
            np.testing.assert_allclose(up_to[i], found[i, values <= observed[i]].sum(), atol=1e-12)
        else:
            assert np.isnan([below[i], up_to[i]]).all()


numbers = st.one_of(st.just(math.nan), st.floats(-5, 5, width=16))


@settings(max_examples=60)
@given(st.lists(st.tuples(numbers, st.integers(-2, 3)), min_size=2, max_size=12), st.integers(0, 99))
def test_nearest_rows(rows, seed):
    values = [np.array([row[0] for row in rows]), np.array([row[1] for row in rows], dtype=np.int32)]
    is_categorical, ranges = np.array([False, True]), np.array([2.0, 1.0])
    n_sample = max(1, len(rows) - 2)
    near = neighbours([column[:n_sample] for column in values], is_categorical, ranges)
    own = np.where(np.random.default_rng(seed).random(len(rows)) < 0.5, np.arange(len(rows)), -1)
    own[n_sample:] = -1
    found = near.distances(values, own)

    def distance(one, other):
        total = 0.0 if one[1] == other[1] else 1.0
        if math.isnan(one[0]) != math.isnan(other[0]):
            return total + 1.0
        return total if math.isnan(one[0]) else total + abs(one[0] - other[0]) / 2.0

    for i, row in enumerate(rows):
        each = sorted(distance(row, rows[r]) for r in range(n_sample) if r != own[i])
        if each and each[0] == 0:
            each = each[1:]  # one copy does not count
        np.testing.assert_allclose(found[i], each[0] / 2 if each else 0.0, atol=1e-5)


def test_dates_keep_their_digits():
    seconds = 1.7e9 + np.arange(50.0)
    near = neighbours([seconds, np.zeros(50)], np.array([False, False]), np.array([50.0, 1.0]))
    found = near.distances([seconds + 0.25, np.zeros(50)], np.full(50, -1))
    np.testing.assert_allclose(found, 0.25 / 50 / 2, rtol=1e-4)
