"""Random streams and bags against Python's own whole numbers; a tree depends on nothing but its key."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inner_kernels import draw_bag, draw_below, open_stream
from reference.streams import Stream, bag_of
from reference.tables import any_target, cases, make_case
from rfod._forest.grow import Bag

whole = st.integers(0, 2**31 - 1)


def test_split_mix_as_published():
    stream = Stream(0, 0, 0)
    stream.state = 1234567  # the first number of Java's SplittableRandom for this seed
    stream.below(1)
    assert stream.state == (1234567 + 0x9E3779B97F4A7C15) % 2**64
    stream.state = 1234567
    assert stream.below(2**53) == 6457827717110365317 >> 11


@given(whole, st.integers(0, 10_000), st.integers(0, 10_000), st.integers(1, 2**31))
def test_draws_are_those_of_the_stream(seed, column, tree, n):
    state = np.zeros(1, dtype=np.uint64)
    open_stream(state, np.uint64(seed), column, tree)
    stream = Stream(seed, column, tree)
    assert int(state[0]) == stream.state
    for _ in range(5):
        drawn = draw_below(state, n)
        assert drawn == stream.below(n)
        assert 0 <= drawn < n


@given(whole, st.integers(1, 80), st.integers(1, 80))
def test_bags_are_those_of_the_stream(seed, n_rows, n_draws):
    state = np.zeros(1, dtype=np.uint64)
    open_stream(state, np.uint64(seed), 3, 5)
    times, drawn = np.zeros(n_rows, dtype=np.int32), np.zeros(n_rows + 1, dtype=np.int32)
    n_distinct = draw_bag(Bag(state, times, drawn), n_rows, n_draws)
    bag = bag_of(seed, 3, 5, n_rows, n_draws)
    assert sum(bag.values()) == n_draws
    assert {position: count for position, count in enumerate(times.tolist()) if count} == bag
    assert drawn[:n_distinct].tolist() == list(bag)  # in the order in which they came


def test_draws_are_even():
    stream = Stream(1, 2, 3)
    counts = Counter(stream.below(7) for _ in range(7000))
    assert set(counts) == set(range(7))
    assert max(abs(count - 1000) for count in counts.values()) < 150


@settings(max_examples=15)
@given(cases(any_target))
def test_marked_bags_are_those_the_trees_were_grown_on(case):
    forest = case.with_params(n_estimators=4, beta=0.5).forest()
    n_table_rows = case.predictors.codes.shape[1]
    in_bag = forest.bags(case.seed, case.target.rows, n_table_rows)
    for tree, number in enumerate(forest.kept):
        bag = bag_of(case.seed, 0, int(number), len(case.target.rows), case.n_draws)
        assert set(np.flatnonzero(in_bag[tree]).tolist()) == set(case.target.rows[list(bag)].tolist())


def test_no_rows_no_bags():
    forest = make_case(n_rows=9, features=[(False, 3)], n_classes=0, seed=1).forest()
    assert not forest.bags(1, np.zeros(0, dtype=np.int64), 9).any()


@pytest.mark.parametrize("n_classes", [0, 2, 5])
@pytest.mark.parametrize("max_features", [None, 0.4])
def test_trees_do_not_depend_on_the_task_that_grows_them(n_classes, max_features):
    features = [(False, 9), (True, 6), (False, 200), (True, 70), (False, 4)]
    case = make_case(
        n_rows=80, features=features, n_classes=n_classes, seed=4, n_trees=6, max_features=max_features, min_leaf=2
    )
    whole = case.grow()
    parts = [case.grow(0, 1), case.grow(1, 3), case.grow(4, 2)]
    for name in ("words", "leaf_value", "leaf_variance", "entry_class", "entry_share"):
        joined = np.concatenate([getattr(part.trees, name) for part in parts])
        np.testing.assert_array_equal(getattr(whole.trees, name), joined)
    np.testing.assert_array_equal(whole.fitness, np.concatenate([part.fitness for part in parts]))
    np.testing.assert_array_equal(whole.importances, np.concatenate([part.importances for part in parts]))
    np.testing.assert_array_equal(np.diff(whole.word_ends), np.concatenate([np.diff(p.word_ends) for p in parts]))


def test_another_seed_column_or_tree_gives_another_stream():
    keys = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1)]
    assert len({Stream(*key).state for key in keys}) == len(keys)
