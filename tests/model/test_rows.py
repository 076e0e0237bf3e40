"""Row scores: confidence weights and means, worked out by hand and against the reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import scores as reference
from rfod._model.scores import confidence_weights, row_means

nan = np.nan


def test_three_columns_by_hand():
    uncertainty = np.array([[0.1, 0.3, 0.6]])
    cells = np.array([[0.5, 1.0, 2.0]])
    weights = confidence_weights(uncertainty)
    np.testing.assert_allclose(weights, [[0.9, 0.7, 0.4]])
    # (0.9 * 0.5 + 0.7 * 1.0 + 0.4 * 2.0) / 3 = (0.45 + 0.7 + 0.8) / 3
    np.testing.assert_allclose(row_means(cells, weights), [0.65])
    np.testing.assert_allclose(row_means(cells), [3.5 / 3])


def test_the_unit_of_a_row_does_not_matter():
    np.testing.assert_allclose(confidence_weights(np.array([[1.0, 3.0, 6.0]])), [[0.9, 0.7, 0.4]])


def test_equally_uncertain_cells_weigh_the_same():
    np.testing.assert_allclose(confidence_weights(np.full((2, 4), 0.2)), np.full((2, 4), 0.75))


def test_one_uncertain_cell_weighs_nothing():
    np.testing.assert_array_equal(confidence_weights(np.array([[0.0, 0.5, 0.0]])), [[1, 0, 1]])


def test_a_row_without_doubt_weighs_one():
    np.testing.assert_array_equal(confidence_weights(np.array([[0.0, 0.0], [0.0, 1.0]])), [[1, 1], [1, 0]])


def test_cells_without_a_score_are_left_out_of_the_mean():
    weights = np.array([[0.9, 0.7, 0.4]])
    np.testing.assert_allclose(row_means(np.array([[0.5, nan, 2.0]]), weights), [(0.45 + 0.8) / 2])
    np.testing.assert_allclose(row_means(np.array([[nan, nan, 2.0]])), [2])


def test_a_row_without_any_score_is_no_anomaly():
    np.testing.assert_array_equal(row_means(np.full((1, 3), nan), np.ones((1, 3))), [0])
    np.testing.assert_array_equal(row_means(np.full((1, 3), nan)), [0])


@pytest.mark.parametrize("n_rows", [0, 1])
def test_tables_of_any_length(n_rows):
    weights = confidence_weights(np.ones((n_rows, 2)))
    assert weights.shape == (n_rows, 2)
    assert row_means(np.ones((n_rows, 2)), weights).shape == (n_rows,)


rows = st.lists(
    st.lists(st.tuples(st.floats(0, 1e9) | st.just(nan), st.floats(0, 1e3)), min_size=3, max_size=3),
    min_size=1,
    max_size=8,
)


@given(rows)
def test_as_the_reference_weighs_them(table):
    cells, uncertainty = np.moveaxis(np.array(table), -1, 0)
    weights = confidence_weights(uncertainty)
    means = row_means(cells, weights)
    for row in range(len(table)):
        expected = reference.weights(uncertainty[row].tolist())
        np.testing.assert_allclose(weights[row], expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(means[row], reference.row_score(cells[row], expected), rtol=1e-9, atol=1e-3)


@given(rows)
def test_weights_are_shares_of_doubt(table):
    _, uncertainty = np.moveaxis(np.array(table), -1, 0)
    weights = confidence_weights(uncertainty)
    assert ((weights >= -1e-12) & (weights <= 1)).all()
    doubtful = uncertainty.sum(axis=1) > 1e-300
    np.testing.assert_allclose(weights[doubtful].sum(axis=1), 2.0)  # columns less one


@given(rows, st.randoms(use_true_random=False))
def test_a_row_scores_the_same_in_any_company(table, random):
    cells, uncertainty = np.moveaxis(np.array(table), -1, 0)
    everything = row_means(cells, confidence_weights(uncertainty))
    order = random.sample(range(len(table)), len(table))
    np.testing.assert_array_equal(row_means(cells[order], confidence_weights(uncertainty[order])), everything[order])
    np.testing.assert_array_equal(row_means(cells[:1], confidence_weights(uncertainty[:1])), everything[:1])
