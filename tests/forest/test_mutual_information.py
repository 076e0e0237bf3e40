"""Coarse bins and mutual information against numbers worked out by hand and against tests/reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from reference.information import coarse_bins, information
from rfod._forest.mutual_information import MAX_BINS, coarsen, mutual_information, n_coarse_bins

CODES = hnp.arrays(np.uint8, st.integers(1, 60), elements=st.integers(0, 4) | st.integers(0, 255))


def as_codes(*codes):
    return np.array(codes, dtype=np.uint8)


def test_equal_columns_share_all_they_have():
    """Two bins of two rows: log 2, less 1 / (2 * 4)."""
    column = as_codes(1, 1, 2, 2)
    assert mutual_information(column, column[None]) == pytest.approx([np.log(2) - 1 / 8])


def test_crossed_columns_share_less_than_by_chance():
    assert mutual_information(as_codes(1, 1, 2, 2), as_codes(1, 2, 1, 2)[None]) == pytest.approx([-1 / 8])


def test_three_of_four_rows_agree():
    """Counts 2, 0 / 1, 1: h = (2 log 2 - 2 log 2 - 2 log 2 - 3 log 3 + 4 log 4) / 4."""
    found = mutual_information(as_codes(1, 1, 2, 2), as_codes(5, 5, 5, 7)[None])
    assert found == pytest.approx([(6 * np.log(2) - 3 * np.log(3)) / 4 - 1 / 8])


def test_rows_without_a_target_do_not_count_and_gaps_of_a_feature_are_a_bin():
    target, feature = as_codes(1, 1, 2, 2, 0, 0, 0), as_codes(0, 0, 3, 3, 3, 0, 3)
    assert mutual_information(target, feature[None]) == pytest.approx([np.log(2) - 1 / 8])
    assert mutual_information(as_codes(0, 0), as_codes(1, 2)[None]).tolist() == [0.0]


def test_a_constant_says_nothing():
    features = np.array([[1] * 6, [1, 2, 3, 4, 5, 6]], dtype=np.uint8)
    assert mutual_information(as_codes(4, 4, 4, 4, 4, 4), features).tolist() == [0.0, 0.0]


def test_independent_columns_have_none_on_average():
    rng = np.random.default_rng(0)
    target, features = rng.integers(1, 17, 4096).astype(np.uint8), rng.integers(1, 17, (500, 4096)).astype(np.uint8)
    found = mutual_information(target, features)
    assert abs(found.mean()) < 0.0005
    assert found.std() == pytest.approx(np.sqrt(2 * 15 * 15) / (2 * 4096), rel=0.1)  # that of chi-squared / 2n


@given(target=CODES, seed=st.integers(0, 1000), n_bins=st.integers(2, MAX_BINS), are_categories=st.booleans())
def test_as_defined(target, seed, n_bins, are_categories):
    features = np.random.default_rng(seed).integers(0, 1 + seed % 255, (3, len(target))).astype(np.uint8)
    features[0] = target
    bins = np.array([coarsen(codes, n_bins, are_categories) for codes in features])
    assert bins.tolist() == [coarse_bins(codes.tolist(), n_bins, are_categories) for codes in features]
    wanted = [information(bins[0].tolist(), feature.tolist()) for feature in bins]
    assert mutual_information(bins[0], bins) == pytest.approx(wanted, abs=1e-12)


def test_ordered_codes_in_bins_of_equal_rows():
    assert coarsen(as_codes(9, 9, 9, 9, 1, 2, 3, 4, 0), 2, False).tolist() == [2, 2, 2, 2, 1, 1, 1, 1, 0]
    assert coarsen(as_codes(200, 7, 7, 0), 2, False).tolist() == [2, 1, 1, 0]


def test_the_most_frequent_categories_stay_apart():
    assert coarsen(as_codes(8, 8, 8, 5, 5, 1, 2, 0), 3, True).tolist() == [1, 1, 1, 2, 2, 3, 3, 0]


@pytest.mark.parametrize(("n_rows", "n_bins"), [(2, 2), (27, 3), (122, 5), (1_000, 10), (4_096, 16), (10**6, 16)])
def test_more_rows_more_bins(n_rows, n_bins):
    assert n_coarse_bins(n_rows) == n_bins
