"""The sums of trees of the learned decision against a plain walk."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.evidence import sum_of_leaves
from rfod._forest.boosted import LEAF, TOGETHER, BoostedTrees

N_INPUTS = 5


def grow(rng, n_splits):
    """A random tree as a list of nodes (input or None, limit or value, left, right)."""
    nodes, leaves = [(None, float(np.float32(rng.normal())), 0, 0)], [0]
    for _ in range(n_splits):
        leaf = leaves.pop(int(rng.integers(len(leaves))))
        left, right = len(nodes), len(nodes) + 1
        nodes[leaf] = (int(rng.integers(N_INPUTS)), float(np.float32(rng.normal())), left, right)
        nodes += [(None, float(np.float32(rng.normal())), 0, 0) for _ in range(2)]
        leaves += [left, right]
    return nodes


def as_arrays(trees, base):
    nodes = [node for tree in trees for node in tree]
    return BoostedTrees(
        np.array([LEAF if node[0] is None else node[0] for node in nodes], dtype=np.uint8),
        np.array([node[1] for node in nodes], dtype=np.float32),
        np.array([node[2] for node in nodes], dtype=np.uint8),
        np.array([node[3] for node in nodes], dtype=np.uint8),
        np.cumsum([0, *map(len, trees)]).astype(np.int32),
        base,
    )


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 12), st.integers(0, 2 * TOGETHER + 1))
def test_as_a_plain_walk_adds_up(seed, n_trees, n_rows):
    rng = np.random.default_rng(seed)
    trees = [grow(rng, int(rng.integers(0, 16))) for _ in range(n_trees)]
    rows = rng.normal(size=(n_rows, N_INPUTS)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan  # goes right
    rows[rng.random(rows.shape) < 0.1] = np.inf
    found = as_arrays(trees, 0.25).log_odds(rows)
    np.testing.assert_allclose(found, [0.25 + sum_of_leaves(trees, row) for row in rows.tolist()], atol=1e-12)


def test_a_value_at_the_limit_goes_left():
    trees = as_arrays([[(1, 0.5, 1, 2), (None, -1.0, 0, 0), (None, 2.0, 0, 0)]], 0.0)
    assert trees.log_odds(np.array([[9, 0.5], [9, 0.5000001]], dtype=np.float32)).tolist() == [-1.0, 2.0]


@pytest.mark.parametrize("size", [1, TOGETHER - 1, TOGETHER, TOGETHER + 1])
def test_a_row_has_the_same_bits_alone_and_in_any_batch(size):
    rng = np.random.default_rng(3)
    trees = as_arrays([grow(rng, 15) for _ in range(30)], -3.0)
    rows = rng.normal(size=(60, N_INPUTS)).astype(np.float32)
    parts = [trees.log_odds(rows[start : start + size]) for start in range(0, 60, size)]
    np.testing.assert_array_equal(np.concatenate(parts), trees.log_odds(rows))
    np.testing.assert_array_equal(trees.log_odds(rows[::-1])[::-1], trees.log_odds(rows))


def test_probabilities_are_the_logistic_function_of_the_sums():
    trees = as_arrays([[(None, 1.0, 0, 0)]], np.log(3.0) - 1.0)
    np.testing.assert_allclose(trees.probability(np.zeros((2, 1), dtype=np.float32)), 0.75)
    assert as_arrays([], -600.0).probability(np.zeros((1, 1), dtype=np.float32))[0] == pytest.approx(0.0)
