"""Which trees stay, and that the trees of a pruned forest are the grown ones, best first."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import fitness as reference
from reference.scores import ReferenceForest
from reference.tables import any_target, cases, make_case
from rfod._forest.forest import keep_best, prune

nan = np.nan


@pytest.mark.parametrize(
    ("fitness", "share", "kept"),
    [
        ([0.1, 0.9, 0.5, 0.7], 0.5, [1, 3]),
        ([0.1, 0.9, 0.5, 0.7], 1.0, [1, 3, 2, 0]),
        ([0.1, 0.9, 0.5, 0.7], 0.74, [1, 3]),  # floor(2.96)
        ([0.1, 0.9, 0.5, 0.7], 0.01, [1]),  # at least one
        ([0.5, 0.5, 0.5, 0.5], 0.5, [0, 1]),  # ties go to the earlier tree
        ([0.5, 0.7, 0.5, 0.7], 0.75, [1, 3, 0]),
        ([nan, -3.0, nan, 0.2], 0.75, [3, 1, 0]),  # no fitness is worse than any
        ([nan, nan], 0.5, [0]),
        ([-5.0], 1.0, [0]),
    ],
)
def test_best_first(fitness, share, kept):
    assert keep_best(np.array(fitness), share).tolist() == kept
    assert reference.keep_best(fitness, share) == kept


@given(
    st.lists(st.sampled_from([nan, -np.inf, -1.0, 0.0, 0.5, 1.0]), min_size=1, max_size=120),
    st.integers(1, 100).map(lambda percent: percent / 100),
)
def test_as_the_reference_keeps_them(fitness, share):
    assert keep_best(np.array(fitness), share).tolist() == reference.keep_best(fitness, share)


@pytest.mark.parametrize(("share", "n_kept"), [(0.29, 29), (0.57, 57), (0.58, 58), (0.999, 99), (1.0, 100)])
def test_a_share_is_the_decimal_that_was_written(share, n_kept):
    assert len(keep_best(np.zeros(100), share)) == n_kept


@settings(max_examples=30)
@given(cases(any_target), st.sampled_from([0.25, 0.5, 0.99]))
def test_the_kept_trees_are_the_grown_ones(case, share):
    whole = case.with_params(n_estimators=5).forest()
    pruned = case.with_params(n_estimators=5, beta=share).forest()
    assert pruned.kept.tolist() == reference.keep_best(whole.fitness, share)
    assert pruned.kept.tolist() == whole.kept[: len(pruned.kept)].tolist()
    np.testing.assert_array_equal(pruned.fitness, whole.fitness)
    left_out = [place >= len(pruned.kept) for place in range(5)]
    ours, theirs = ReferenceForest(pruned), ReferenceForest(whole)
    for codes in case.block():
        if case.target.n_classes:
            np.testing.assert_array_equal(ours.tree_shares(codes), theirs.tree_shares(codes, left_out))
        else:
            assert ours.values(codes) == theirs.values(codes, left_out)


@pytest.mark.parametrize("n_classes", [0, 4])
def test_parts_are_joined_in_order(n_classes):
    features = [(False, 9), (True, 90)]
    case = make_case(n_rows=60, features=features, n_classes=n_classes, seed=4, n_trees=6, share_kept=0.5)
    whole = case.forest()
    parts = [case.grow(0, 2), case.grow(2, 1), case.grow(3, 3)]
    joined = prune(case.target, parts, case.predictors, case.params, 3)
    for name, value in vars(whole.trees).items():
        np.testing.assert_array_equal(getattr(joined.trees, name), value)
    np.testing.assert_array_equal(joined.kept, whole.kept)
    np.testing.assert_array_equal(joined.importances, whole.importances)


def test_importances_are_mean_shares_of_the_kept_trees():
    features = [(False, 9), (True, 6), (False, 30)]
    case = make_case(n_rows=60, features=features, n_classes=0, seed=4, n_trees=6, share_kept=0.5)
    gains = case.grow().importances[case.forest().kept]
    expected = (gains / gains.sum(axis=1, keepdims=True)).mean(axis=0)
    importances = case.forest().importances
    np.testing.assert_allclose(importances, expected)
    assert importances[0] == 0
    assert importances.sum() == pytest.approx(1)


def test_a_constant_target_has_no_importances():
    case = make_case(n_rows=20, features=[(False, 9)], n_classes=0, seed=4)
    case.target.values[:] = 5.0
    assert case.target.constant
    assert not case.forest().importances.any()
