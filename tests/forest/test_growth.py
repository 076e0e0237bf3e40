"""Every node of a grown tree against all splits it could have had."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.streams import Stream
from reference.tables import BINARY, NUMERIC, cases, make_case
from reference.trees import (
    Leaf,
    best_gain,
    certain_gain,
    follows_order,
    gain,
    impurity,
    leaf_of,
    replay,
    subset_divisions,
    trees_of,
)
from rfod._forest.forest import is_tree

SLACK = 1e-9
NO_LIMIT = 2**31


def visits_of(case, grown, tree):
    """The nodes of one tree as they were grown; also the stream where growth left it."""
    root, _ = trees_of(grown.trees)[tree]
    stream = Stream(case.seed, case.target.column, tree)
    times = stream.bag(len(case.target.rows), case.n_draws)
    depth = case.params.max_depth or NO_LIMIT
    visits = replay(
        root,
        stream,
        case.predictors.codes,
        case.known,
        case.target.rows,
        times,
        case.features,
        case.n_tried,
        case.params.min_samples_leaf,
        depth,
    )
    return visits, stream


def check_growth(case):
    grown = case.grow(n_trees=2)
    for tree in range(2):
        visits, _ = visits_of(case, grown, tree)
        leaves = [visit for visit in visits if isinstance(visit.node, Leaf)]
        gains = np.zeros(len(case.predictors.is_categorical))
        for visit in visits:
            assert len(visit.rows) >= min(case.params.min_samples_leaf, len(visits[0].rows))
            assert case.params.max_depth is None or visit.depth <= case.params.max_depth
            if isinstance(visit.node, Leaf):
                check_no_split_left(case, visit)
            else:
                gains[visit.node.feature] += check_split(case, visit)
        assert [visit.node.number for visit in leaves] == list(range(len(leaves)))
        check_leaves(case, grown, tree, leaves)
        np.testing.assert_allclose(grown.importances[tree], gains, rtol=SLACK, atol=SLACK)


def of_visit(case, visit, feature):
    """The arguments of the functions that measure splits of a node by a feature."""
    n_classes, min_leaf = case.target.n_classes, case.params.min_samples_leaf
    codes = case.predictors.codes[feature, visit.rows]
    return (
        codes,
        bool(case.predictors.is_categorical[feature]),
        case.known[visit.rows],
        visit.weights,
        n_classes,
        min_leaf,
    )


def check_split(case, visit):
    """An inner node has a split that was possible, and none of the features it looked at offers a better one."""
    node = visit.node
    assert node.feature in visit.tried
    codes, is_categorical, target, weights, n_classes, min_leaf = of_visit(case, visit, node.feature)
    assert is_categorical == (node.right_codes is not None)
    right = np.array([node.goes_right(int(code)) for code in codes])
    assert min_leaf <= right.sum() <= len(right) - min_leaf
    assert follows_order(codes, is_categorical, target, weights, n_classes, right)
    whole = impurity(target, weights, n_classes)
    found = gain(target, weights, n_classes, right)
    assert found > 0
    for feature in visit.tried:
        certain = certain_gain(*of_visit(case, visit, feature))
        assert certain <= found * (1 + SLACK) + 1e-12 * whole
        if feature != node.feature and visit.tried.index(node.feature) >= case.n_tried:
            assert certain <= 1e-10 * whole  # looked at another one only because these gave nothing
        if case.predictors.is_categorical[feature] and n_classes <= 2 and min_leaf == 1:
            codes_there = case.predictors.codes[feature, visit.rows]
            if len(np.unique(codes_there)) <= 6:  # sorting by the mean misses no division in two sets
                best = best_gain(subset_divisions(codes_there), target, weights, n_classes, 1)
                assert best <= found * (1 + SLACK) + 1e-12 * whole
    check_unmet_codes(case, visit, codes, right)
    return found / 2 if n_classes == BINARY else found  # two classes: the variance of 0 and 1 is half of Gini's


def check_unmet_codes(case, visit, codes, right):
    """A code that no row of the node has follows the heavier side, or the threshold halfway between its neighbours."""
    node = visit.node
    heavier_right = bool(visit.weights[right].sum() > visit.weights[~right].sum())
    met = set(codes.tolist())
    if node.right_codes is not None:
        unmet = set(range(int(case.predictors.n_codes[node.feature]))) - met
        assert all((code in node.right_codes) == heavier_right for code in unmet)
        return
    if 0 not in met:
        assert node.missing_right == heavier_right
    left_codes = [code for code in codes[~right].tolist() if code]
    right_codes = [code for code in codes[right].tolist() if code]
    assert node.cut == ((max(left_codes) + min(right_codes)) // 2 if left_codes else 0)


def check_no_split_left(case, visit):
    """A leaf is pure, too small or too deep, or no feature has a split for it."""
    whole = impurity(case.known[visit.rows], visit.weights, case.target.n_classes)
    if visit.tried:
        assert sorted(visit.tried) == case.features
    else:
        too_small = len(visit.rows) < 2 * case.params.min_samples_leaf
        assert too_small or visit.depth == case.params.max_depth or whole < 1e-12 or not case.features
    for feature in visit.tried:
        assert certain_gain(*of_visit(case, visit, feature)) <= 1e-10 * whole


def check_leaves(case, grown, tree, leaves):
    """A leaf holds the statistics of its rows, weighted by how often each was drawn."""
    first = int(grown.leaf_ends[tree])
    assert len(leaves) == grown.leaf_ends[tree + 1] - first
    for visit in leaves:
        leaf, target = first + visit.node.number, case.known[visit.rows]
        if case.target.n_classes:
            entries = slice(grown.trees.entry_ends[leaf], grown.trees.entry_ends[leaf + 1])
            shares = {klass: visit.weights[target == klass].sum() / visit.weights.sum() for klass in np.unique(target)}
            assert grown.trees.entry_class[entries].tolist() == sorted(shares)
            expected = np.array([shares[klass] for klass in sorted(shares)], dtype=np.float32)
            np.testing.assert_array_equal(grown.trees.entry_share[entries], expected)
        else:
            mean = np.average(target, weights=visit.weights)
            variance = np.average((target - mean) ** 2, weights=visit.weights)
            np.testing.assert_allclose(grown.trees.leaf_value[leaf], mean, rtol=SLACK, atol=1e-12)
            np.testing.assert_allclose(grown.trees.leaf_variance[leaf], variance, rtol=SLACK, atol=1e-12)


@settings(max_examples=150)
@given(cases(st.just(NUMERIC)))
def test_numeric_targets(case):
    check_growth(case)


@settings(max_examples=150)
@given(cases(st.just(BINARY)))
def test_two_classes(case):
    check_growth(case)


@settings(max_examples=150)
@given(cases(st.sampled_from([1, 3, 4, 7])))
def test_any_number_of_classes(case):
    check_growth(case)


@settings(max_examples=100)
@given(cases(st.sampled_from([NUMERIC, BINARY, 4]), max_features=(1, 2, 0.5, "sqrt")))
def test_some_features_per_node(case):
    check_growth(case)


@pytest.mark.parametrize("n_classes", [NUMERIC, BINARY, 4, 40])
def test_large_nodes(n_classes):
    features = [(False, 256), (True, 200), (False, 3)]
    case = make_case(n_rows=1500, features=features, n_classes=n_classes, seed=3, min_leaf=60, max_depth=3)
    check_growth(case)


@pytest.mark.parametrize("n_classes", [NUMERIC, BINARY, 300])
def test_rows_reach_the_leaf_that_they_grew(n_classes):
    case = make_case(n_rows=700, features=[(False, 256), (True, 256)], n_classes=n_classes, seed=8, n_trees=2)
    grown = case.grow()
    for tree, (root, _) in enumerate(trees_of(grown.trees)):
        words = grown.trees.words[grown.word_ends[tree] : grown.word_ends[tree + 1]]
        n_leaves = int(np.diff(grown.leaf_ends)[tree])
        n_codes = case.predictors.n_codes.copy()
        n_codes[0] = 0  # made from the target itself
        assert is_tree(words, n_leaves, n_codes, case.predictors.is_categorical)
        reached = {leaf_of(root, codes) for codes in case.block()}
        assert reached == set(range(n_leaves))


def test_a_far_away_origin_changes_nothing():
    case = make_case(n_rows=60, features=[(False, 6), (True, 6)], n_classes=NUMERIC, seed=5, coarse=True)
    near, trees = case.target.values, case.grow().trees
    near[:] += 2.0**40
    far = case.grow().trees
    np.testing.assert_array_equal(far.words, trees.words)
    np.testing.assert_allclose(far.leaf_value - 2.0**40, trees.leaf_value, atol=1e-3)
    np.testing.assert_allclose(far.leaf_variance, trees.leaf_variance, rtol=1e-4, atol=1e-6)


def test_a_unit_changes_nothing():
    case = make_case(n_rows=60, features=[(False, 6), (True, 6)], n_classes=NUMERIC, seed=5)
    trees = case.grow().trees
    case.target.values[:] *= 2.0**-100
    np.testing.assert_array_equal(case.grow().trees.words, trees.words)


def test_without_predictors_a_tree_is_a_leaf():
    case = make_case(n_rows=10, features=[], n_classes=NUMERIC, seed=0)
    grown = case.grow()
    assert len(grown.trees.words) == 3
    assert grown.trees.n_leaves == 3
