"""The check of a tree from a file: every grown tree passes, and every damage that a walk would notice does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.tables import any_target, cases, make_case
from reference.trees import Leaf, decode, leaf_of
from rfod._forest.forest import is_tree

LEAF = 1 << 28


@settings(max_examples=60)
@given(cases(any_target))
def test_grown_trees_pass(case):
    grown = case.grow()
    n_codes = case.predictors.n_codes.copy()
    n_codes[0] = 0  # the target's own feature
    for tree in range(len(grown.fitness)):
        words = grown.trees.words[grown.word_ends[tree] : grown.word_ends[tree + 1]]
        n_leaves = int(grown.leaf_ends[tree + 1] - grown.leaf_ends[tree])
        assert is_tree(words, n_leaves, n_codes, case.predictors.is_categorical)
        assert not is_tree(words, n_leaves + 1, n_codes, case.predictors.is_categorical)
        assert not is_tree(words, n_leaves - 1, n_codes, case.predictors.is_categorical)
        if not isinstance(decode(words), Leaf):
            assert not is_tree(words[:-1], n_leaves, n_codes, case.predictors.is_categorical)
        assert not is_tree(np.append(words, LEAF), n_leaves, n_codes, case.predictors.is_categorical)


N_CODES, IS_SET = np.array([5, 70, 0]), np.array([False, True, False])


def node(feature, child, n_set_words=0, threshold=2):
    return feature | threshold << 16 | n_set_words << 25 | child << 32


def leaf(number):
    return LEAF | number << 32


#      0             1        2             3  4  5        6
GOOD = [node(0, 1), leaf(0), node(1, 3, 2), 1, 2, leaf(1), leaf(2)]


def is_good(words, n_leaves=3, n_codes=N_CODES, is_categorical=IS_SET):
    return is_tree(np.array(words, dtype=np.int64), n_leaves, n_codes, is_categorical)


def test_the_good_tree():
    assert is_good(GOOD)
    assert is_good([leaf(0)], 1)


@pytest.mark.parametrize(
    ("at", "word"),
    [
        pytest.param(0, node(2, 1), id="a feature that this tree must not use"),
        pytest.param(0, node(3, 1), id="no such feature"),
        pytest.param(0, node(0xFFFF, 1), id="no feature anywhere near"),
        pytest.param(0, node(1, 1), id="a set feature without a set"),
        pytest.param(0, node(0, 1, 1), id="an ordered feature with a set"),
        pytest.param(2, node(1, 3, 1), id="a set that is too short"),
        pytest.param(2, node(1, 3, 3), id="a set that is too long"),
        pytest.param(2, node(1, 3, 7), id="a set past the end"),
        pytest.param(0, node(0, 0), id="its own child"),
        pytest.param(2, node(1, 0, 2), id="a child before its parent"),
        pytest.param(2, node(1, 1, 2), id="the children of another"),
        pytest.param(0, node(0, 2), id="a word that nothing reaches"),
        pytest.param(2, node(1, 4, 2), id="children past the end"),
        pytest.param(0, node(0, 2**31 - 1), id="children far past the end"),
        pytest.param(1, leaf(1), id="a leaf twice"),
        pytest.param(1, leaf(3), id="no such leaf"),
        pytest.param(1, leaf(2**31 - 1), id="no leaf anywhere near"),
        pytest.param(1, leaf(0) | 1, id="a leaf with a feature"),
        pytest.param(1, leaf(0) | 1 << 16, id="a leaf with a threshold"),
        pytest.param(1, leaf(0) | 1 << 25, id="a leaf with a set"),
        pytest.param(1, leaf(0) | 1 << 29, id="a bit that means nothing"),
        pytest.param(0, node(0, 1) | 1 << 31, id="such a bit in an inner node"),
        pytest.param(0, -1, id="all ones"),
        pytest.param(0, node(0, 1) - 2**63, id="the sign bit"),
        pytest.param(1, leaf(0) - 2**63, id="the sign bit of a leaf"),
        pytest.param(0, leaf(0), id="a leaf for a root"),
        pytest.param(1, node(0, 3), id="an inner node for a leaf"),
    ],
)
def test_damage(at, word):
    words = list(GOOD)
    words[at] = word
    assert not is_good(words)


def test_wrong_lengths():
    assert not is_good([], 0)
    assert not is_good([], 1)
    assert not is_good(GOOD[:-1])
    assert not is_good([*GOOD, leaf(2)])
    assert not is_good([*GOOD, 0])
    assert not is_good(GOOD, 2)
    assert not is_good(GOOD, 4)
    assert not is_good(GOOD, 0)


@settings(max_examples=300)
@given(st.integers(0, 6), st.integers(0, 62))
def test_a_flipped_bit_is_found_or_harmless(at, bit):
    words = list(GOOD)
    words[at] ^= 1 << bit
    if is_good(words):  # another threshold or set: still a tree that every row finds its way through
        root = decode(words)
        for code in range(5):
            for other in range(70):
                assert 0 <= leaf_of(root, (code, other)) < 3
    else:
        assert at not in (3, 4)


def test_random_words_never_crash():
    random = np.random.default_rng(0)
    case = make_case(n_rows=40, features=[(False, 5), (True, 70)], n_classes=0, seed=0, n_trees=1)
    words = case.grow().trees.words
    for _ in range(300):
        damaged = words.copy()
        damaged[random.integers(len(words))] = random.integers(-(2**63), 2**63 - 1)
        is_tree(damaged, 10, case.predictors.n_codes, case.predictors.is_categorical)
