"""Sizes of growth, resolved for a number of rows and predictors."""

from dataclasses import replace

import numpy as np
import pytest

from rfod.params import MIN_OUT_OF_BAG, ROWS_PER_TREE, Params

PARAMS = Params(max_features=None, max_samples=None)


@pytest.mark.parametrize(
    ("max_features", "n_predictors", "n_tried"),
    [
        (None, 12, 12),
        (1.0, 12, 12),
        (1 / 3, 12, 4),
        (1 / 3, 10, 3),
        (1 / 3, 2, 1),  # at least one
        (0.01, 50, 1),
        (1, 12, 1),
        (5, 12, 5),
        (50, 12, 12),  # at most all
        (np.int64(2), 12, 2),
        (np.int32(2), 12, 2),
        (np.float32(0.5), 12, 6),
        ("sqrt", 17, 4),
        ("sqrt", 1, 1),
        ("log2", 17, 4),
        ("log2", 16, 4),
        ("log2", 1, 1),
        (1 / 3, 0, 0),
    ],
)
def test_features_per_node(max_features, n_predictors, n_tried):
    assert replace(PARAMS, max_features=max_features).n_tried(n_predictors) == n_tried


@pytest.mark.parametrize(
    ("max_samples", "n_rows", "n_draws"),
    [
        (None, 10_000, 10_000),
        ("auto", 100, 100),
        ("auto", 10_000, ROWS_PER_TREE),
        (1, 50, 1),
        (20, 50, 20),
        (80, 50, 50),
        (np.int64(20), 50, 20),
        (1.0, 50, 50),
        (0.5, 50, 25),
        (0.001, 50, 1),  # at least one
        (np.float32(0.5), 50, 25),
    ],
)
def test_rows_per_tree(max_samples, n_rows, n_draws):
    assert replace(PARAMS, max_samples=max_samples).n_draws(n_rows) == n_draws


@pytest.mark.parametrize(("n_rows", "n_out_of_bag"), [(10, MIN_OUT_OF_BAG), (3000, 3000), (10**6, ROWS_PER_TREE)])
def test_out_of_bag_rows(n_rows, n_out_of_bag):
    assert replace(PARAMS, max_samples="auto").n_out_of_bag(n_rows) == n_out_of_bag


def test_depth():
    assert type(replace(PARAMS, max_depth=np.int32(3)).max_depth) is int  # another type would be compiled for anew
