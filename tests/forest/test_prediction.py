"""Predictions against walking each tree in Python; the prediction of a row depends on that row alone."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.scores import ReferenceForest
from reference.tables import NUMERIC, cases, make_case
from rfod._forest import forest as forest_module

FEATURES = [(False, 9), (True, 6), (False, 256), (True, 200)]
many_classes = st.sampled_from([1, 2, 3, 7])


def new_rows(case, seed, n_rows=12):
    """Rows with any codes, among them such as training never had together."""
    random = np.random.default_rng(seed)
    return np.array([random.integers(0, codes, n_rows) for codes in case.predictors.n_codes], dtype=np.uint8).T.copy()


def some_bags(seed, n_trees, n_rows):
    """Random bags; the first row is in none, the second in all."""
    in_bag = np.random.default_rng(seed).integers(0, 2, (n_trees, n_rows)).astype(np.uint8)
    in_bag[:, 0] = 0
    in_bag[:, 1] = 1
    return in_bag


def check_values(forest, block, in_bag):
    found = forest.predict_values(block, *([] if in_bag is None else [in_bag]))
    expect = ReferenceForest(forest)
    for row, codes in enumerate(block):
        expected = expect.values(codes, () if in_bag is None else in_bag[:, row])
        np.testing.assert_allclose(found[:, row], expected, rtol=1e-9, atol=1e-9)


def check_classes(forest, block, observed, in_bag):
    bags = [] if in_bag is None else [in_bag]
    best, out = forest.predict_classes(block, observed, *bags)
    shares = forest.predict_shares(block, *bags)
    expect = ReferenceForest(forest)
    for row, codes in enumerate(block):
        seen = () if in_bag is None else in_bag[:, row]
        likeliest, *numbers = expect.classes(codes, int(observed[row]), seen)
        assert best[row] == likeliest
        np.testing.assert_allclose(out[:, row], numbers, rtol=1e-9, atol=1e-12)
        each = expect.tree_shares(codes, seen)
        expected = each.mean(axis=0) if len(each) else np.zeros(forest.n_classes)
        np.testing.assert_allclose(shares[row], expected, rtol=1e-9)


@settings(max_examples=40)
@given(cases(st.just(NUMERIC)), st.integers(0, 99))
def test_values(case, seed):
    forest, block = case.forest(), new_rows(case, seed)
    check_values(forest, block, None)
    check_values(forest, block, some_bags(seed, 3, len(block)))


@settings(max_examples=60)
@given(cases(many_classes), st.integers(0, 99))
def test_classes(case, seed):
    forest, block = case.forest(), new_rows(case, seed)
    observed = np.random.default_rng(seed).integers(-2, case.target.n_classes, len(block)).astype(np.int32)
    check_classes(forest, block, observed, None)
    check_classes(forest, block, observed, some_bags(seed, 3, len(block)))


def test_rows_in_every_bag_get_no_prediction():
    numbers = make_case(n_rows=30, features=FEATURES, n_classes=NUMERIC, seed=1).forest()
    block, seen = np.zeros((2, 5), dtype=np.uint8), np.array([[1, 0]] * 3, dtype=np.uint8)
    found = numbers.predict_values(block, seen)
    assert np.isnan(found[:, 0]).all()
    assert np.isfinite(found[:, 1]).all()
    classes = make_case(n_rows=30, features=FEATURES, n_classes=3, seed=1).forest()
    best, out = classes.predict_classes(block, np.zeros(2, dtype=np.int32), seen)
    assert best[0] == -1
    assert best[1] >= 0
    assert np.isnan(out[:, 0]).all()
    assert np.isfinite(out[:, 1]).all()
    assert not classes.predict_shares(block, seen)[0].any()


def test_ties_go_to_the_lower_class():
    """Two trees that disagree completely: each class gets one half."""
    for seed in range(200):
        case = make_case(n_rows=4, features=[(False, 3)], n_classes=2, seed=seed, n_trees=2)
        forest, block = case.forest(), case.block()
        best, out = forest.predict_classes(block, np.full(4, 1, dtype=np.int32))
        tied = out[0] == 0.5
        if tied.any():
            assert (best[tied] == 0).all()
            assert (out[2, tied] == 0.5).all()
            return
    pytest.fail("no tie in 200 tables")


def test_a_class_never_seen_has_no_probability():
    forest = make_case(n_rows=30, features=FEATURES, n_classes=3, seed=1).forest()
    block = np.zeros((2, 5), dtype=np.uint8)
    _, out = forest.predict_classes(block, np.array([-2, 1], dtype=np.int32))
    assert out[2, 0] == 0.0


def test_trees_that_agree_have_no_spread():
    case = make_case(n_rows=50, features=FEATURES, n_classes=NUMERIC, seed=3, n_trees=5)
    case.target.values[:] = 0.1  # not exact in binary: a sum of squares would leave a rest
    found = case.forest().predict_values(case.block())
    assert (found[1] == 0).all()
    assert (found[2] < 1e-30).all()


@pytest.mark.parametrize("n_classes", [0, 5])
@pytest.mark.parametrize("with_bags", [False, True])
def test_a_row_gets_the_same_bits_in_any_batch(monkeypatch, n_classes, with_bags):
    case = make_case(n_rows=300, features=FEATURES, n_classes=n_classes, seed=7, n_trees=9, min_leaf=2)
    forest, block = case.forest(), new_rows(case, 1, 120)
    in_bag = some_bags(2, 9, 120) if with_bags else forest_module.NO_BAG
    observed = np.random.default_rng(0).integers(0, max(n_classes, 1), 120).astype(np.int32)

    def answer(rows):
        bags = np.ascontiguousarray(in_bag[:, rows]) if with_bags else in_bag
        picked = np.ascontiguousarray(block[rows])
        if not n_classes:
            return forest.predict_values(picked, bags)
        best, out = forest.predict_classes(picked, observed[rows], bags)
        return np.vstack([best, out, forest.predict_shares(picked, bags).T])

    everything = answer(np.arange(120))
    for row in (0, 1, 57, 119):
        np.testing.assert_array_equal(answer(np.array([row]))[:, 0], everything[:, row])
    shuffled = np.random.default_rng(3).permutation(120)
    np.testing.assert_array_equal(answer(shuffled), everything[:, shuffled])
    for block_size in (1, 7, 119):
        monkeypatch.setattr(forest_module, "BLOCK", block_size)
        np.testing.assert_array_equal(answer(np.arange(120)), everything)


@pytest.mark.parametrize("n_classes", [2, 3, 7, 40])
def test_a_table_of_classes_gives_the_same_sums(monkeypatch, n_classes):
    case = make_case(n_rows=300, features=FEATURES, n_classes=n_classes, seed=5, n_trees=4, min_leaf=2)
    forest, block = case.forest(), new_rows(case, 2, 60)
    observed = np.random.default_rng(0).integers(-2, n_classes, 60).astype(np.int32)
    for in_bag in (forest_module.NO_BAG, some_bags(1, 4, 60)):
        with_table = [*forest.predict_classes(block, observed, in_bag), forest.predict_shares(block, in_bag)]
        monkeypatch.setattr(forest_module, "MAX_TABLE_CLASSES", 0)
        plain = case.forest()
        without = [*plain.predict_classes(block, observed, in_bag), plain.predict_shares(block, in_bag)]
        monkeypatch.undo()
        for one, other in zip(with_table, without, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_pickled_forest_leaves_its_table_behind():
    case = make_case(n_rows=100, features=FEATURES, n_classes=3, seed=5)
    forest, block = case.forest(), case.block()
    shares = forest.predict_shares(block)
    again = pickle.loads(pickle.dumps(forest))
    assert vars(again).keys() < vars(forest).keys()
    np.testing.assert_array_equal(again.predict_shares(block), shares)


def test_no_rows():
    block, no_classes = np.zeros((0, 5), dtype=np.uint8), np.zeros(0, dtype=np.int32)
    numbers = make_case(n_rows=30, features=FEATURES, n_classes=NUMERIC, seed=1).forest()
    assert numbers.predict_values(block).shape == (3, 0)
    classes = make_case(n_rows=30, features=FEATURES, n_classes=3, seed=1).forest()
    assert classes.predict_classes(block, no_classes)[1].shape == (4, 0)
    assert classes.predict_shares(block).shape == (0, 3)
