"""Out-of-bag fitness of trees and forests against the definitions, and against scikit-learn."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import r2_score, roc_auc_score

from inner_kernels import draw_bag, open_stream, pick_out_of_bag
from reference import fitness as reference
from reference.scores import ReferenceForest
from reference.streams import Stream, bag_of
from reference.tables import any_target, cases, make_case
from reference.trees import replay, trees_of
from rfod._forest.grow import Bag
from rfod._model.fit import coefficient_of_determination, weighted_auc
from rfod.params import Params

FEATURES = [(False, 9), (True, 6), (False, 200), (True, 70)]


def fitness_by_reference(case, tree, forest, rows):
    """Fitness of one tree of an unpruned forest on some rows."""
    others_out = [other != tree for other in range(forest.trees.n_trees)]
    reference_forest, codes = ReferenceForest(forest), case.block()
    if case.target.n_classes:
        shares = np.zeros((len(rows), case.target.n_classes))
        for i, row in enumerate(rows):
            shares[i] = reference_forest.tree_shares(codes[row], others_out)[0]
        return reference.weighted_auc(case.known[rows], shares)
    predicted = [reference_forest.values(codes[row], others_out)[0] for row in rows]
    return reference.r_squared(case.known[rows].tolist(), predicted, case.target.most_residual)


def in_order(forest):
    """An unpruned forest's trees are sorted by fitness: which place has tree number 0, 1, ..."""
    return np.argsort(forest.kept)


@settings(max_examples=60)
@given(cases(any_target, max_features=(None, 1)), st.sampled_from([math.inf, 0.0, 0.1, 1.0, 5.0]))
def test_fitness_is_measured_out_of_bag(case, most_residual):
    case = replace(case, target=replace(case.target, most_residual=most_residual))
    forest = case.forest()
    for tree, place in enumerate(in_order(forest)):
        bag = bag_of(case.seed, 0, tree, len(case.target.rows), case.n_draws)
        unseen = [row for position, row in enumerate(case.target.rows) if position not in bag]
        expected = fitness_by_reference(case, place, forest, unseen)
        np.testing.assert_allclose(forest.fitness[tree], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_classes", [0, 2, 5])
def test_more_out_of_bag_rows_than_wanted(n_classes, monkeypatch):
    """They are drawn from the tree's own stream, once it is grown; those in its bag are skipped."""
    case = make_case(n_rows=120, features=FEATURES, n_classes=n_classes, seed=6, min_leaf=2, n_missing_targets=3)
    forest, n_picked = case.forest(), 20
    monkeypatch.setattr(Params, "n_out_of_bag", lambda params, n_rows: n_picked)
    fitness = case.grow().fitness
    roots = trees_of(forest.trees)
    for tree, place in enumerate(in_order(forest)):
        stream, rows = Stream(case.seed, 0, tree), case.target.rows
        times = stream.bag(len(rows), case.n_draws)
        root = roots[place][0]
        replay(root, stream, case.predictors.codes, case.known, rows, times, case.features, case.n_tried, 2, 2**31)
        picked = []
        while len(picked) < n_picked:
            position = stream.below(len(rows))
            if position not in times:
                picked.append(rows[position])
        expected = fitness_by_reference(case, place, forest, picked)
        np.testing.assert_allclose(fitness[tree], expected, rtol=1e-9)
    assert not np.array_equal(fitness, forest.fitness)


@given(st.integers(1, 40), st.integers(0, 40), st.integers(1, 10), st.integers(0, 2**31))
def test_picked_rows_are_out_of_bag(n_rows, n_draws, max_picked, seed):
    state = np.zeros(1, dtype=np.uint64)
    open_stream(state, np.uint64(seed), 0, 0)
    times, drawn = np.zeros(n_rows, dtype=np.int32), np.zeros(n_rows + 1, dtype=np.int32)
    bag = Bag(state, times, drawn)
    n_distinct = draw_bag(bag, n_rows, n_draws)
    rows = 100 + np.arange(n_rows)
    picked = np.zeros(n_rows + 1, dtype=np.uint32)
    picked = picked[: pick_out_of_bag(bag, rows, n_distinct, max_picked, picked)]
    out_of_bag = set(rows[times == 0].tolist())
    assert set(picked.tolist()) <= out_of_bag
    assert len(picked) == min(len(out_of_bag), max_picked)
    if len(out_of_bag) <= max_picked:
        assert picked.tolist() == sorted(out_of_bag)


@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_fitness_of_trees_as_in_scikit_learn(n_classes):
    case = make_case(n_rows=200, features=FEATURES, n_classes=n_classes, seed=9, min_leaf=3)
    forest, codes = case.forest(), case.block()
    for tree, place in enumerate(in_order(forest)):
        bag = bag_of(case.seed, 0, tree, 200, case.n_draws)
        unseen = [row for row in range(200) if row not in bag]
        only = np.ones((forest.trees.n_trees, len(unseen)), dtype=np.uint8)
        only[place] = 0
        observed = case.known[unseen]
        if n_classes == 0:
            expected = r2_score(observed, forest.predict_values(codes[unseen], only)[0])
        elif n_classes == 2:
            expected = roc_auc_score(observed, forest.predict_shares(codes[unseen], only)[:, 1])
        else:
            shares = forest.predict_shares(codes[unseen], only)
            expected = roc_auc_score(observed, shares, multi_class="ovr", average="weighted")
        np.testing.assert_allclose(forest.fitness[tree], expected, rtol=1e-9)


# ----------------------------------------------------------------------------------------------------- whole forests


pairs = st.lists(st.tuples(st.integers(-5, 5).map(float), st.floats(-10, 10)), max_size=30)


@given(pairs)
@example([])
@example([(1.0, 1.0)])
@example([(1.0, 1.0), (1.0, 1.0)])
@example([(1.0, 1.0), (1.0, 2.0)])
def test_r_squared(rows):
    observed, predicted = np.array(rows).reshape(-1, 2).T
    found = coefficient_of_determination(observed, predicted)
    np.testing.assert_allclose(found, reference.r_squared(observed.tolist(), predicted.tolist()), rtol=1e-9, atol=1e-9)
    if len(rows) > 1:
        np.testing.assert_allclose(found, r2_score(observed, predicted), rtol=1e-9, atol=1e-9)


@given(pairs, st.sampled_from([0.0, 0.5, 2.0, 1e9]))
def test_robust_fitness(rows, most_residual):
    observed, predicted = np.array(rows).reshape(-1, 2).T
    found = coefficient_of_determination(observed, predicted, most_residual)
    expected = reference.r_squared(observed.tolist(), predicted.tolist(), most_residual)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_robust_fitness_by_hand():
    # around the mean 4: 4 + 4 + 4 + 36 = 48; around the predictions: 0 + 0 + 0 + 81 = 81
    observed, predicted = np.array([2.0, 2.0, 2.0, 10.0]), np.array([2.0, 2.0, 2.0, 1.0])
    assert coefficient_of_determination(observed, predicted) == 1 - 81 / 48
    # at most 3 each: 4 + 4 + 4 + 9 = 21 and 9
    assert coefficient_of_determination(observed, predicted, 3.0) == 1 - 9 / 21


def test_r_squared_by_hand():
    # around the mean 2: 1 + 0 + 1 = 2; around the predictions: 0 + 1 + 0 = 1
    assert coefficient_of_determination(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 3.0])) == 0.5


@st.composite
def class_predictions(draw):
    """Classes of rows, and shares of all classes with many ties."""
    n_classes, n_rows = draw(st.integers(1, 5)), draw(st.integers(1, 25))
    random = np.random.default_rng(draw(st.integers(0, 2**31)))
    counts = random.integers(0, 4, (n_rows, n_classes)) + 1.0
    return random.integers(0, n_classes, n_rows).astype(np.int32), counts / counts.sum(axis=1, keepdims=True)


@given(class_predictions())
def test_auc(rows):
    observed, shares = rows
    found = weighted_auc(observed, shares)
    np.testing.assert_allclose(found, reference.weighted_auc(observed, shares), rtol=1e-9)
    assert math.isnan(found) == (len(set(observed.tolist())) == 1)


@given(class_predictions())
def test_auc_as_in_scikit_learn(rows):
    observed, shares = rows
    assume(2 < len(set(observed.tolist())) == shares.shape[1])
    expected = roc_auc_score(observed, shares, multi_class="ovr", average="weighted")
    np.testing.assert_allclose(weighted_auc(observed, shares), expected, rtol=1e-9)


def test_auc_by_hand():
    observed = np.array([0, 0, 1, 2], dtype=np.int32)
    shares = np.array([[0.8, 0.2, 0.0], [0.4, 0.2, 0.4], [0.5, 0.5, 0.0], [0.0, 0.2, 0.8]])
    # 0: pairs 0.8 and 0.4 against 0.5 and 0.0, three of four in order; 1: three of three; 2: three of three
    assert weighted_auc(observed, shares) == pytest.approx((2 * 0.75 + 1 * 1 + 1 * 1) / 4)
