"""The rarity of the parts of a row score: by hand and against the reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import rows as reference
from rfod._model.row_scale import RowScale, fit_row_scale

none = np.zeros(4, dtype=np.bool_)


def test_rarity_by_hand():
    scale = RowScale(np.arange(1.0, 1000.0)[None], 1.0)  # 1 to 999; the tail has 99, from 900 on, with mean excess 50
    found = scale.rarity(0, np.array([0.0, 1.0, 501.0, 900.0, 950.0, 1400.0]))
    steps = np.log10(10) + np.array([50, 500]) / 50 / np.log(10)
    np.testing.assert_allclose(found, [0.0, 0.0, np.log10(2), np.log10(1000 / 101), *steps], atol=1e-12)


def test_means_by_hand():
    scale = fit_row_scale(np.array([[1.0, 2, 3, 4], [4.0, 3, 2, 1]]), 1, none)
    # tails of three values, from the first on, with mean excess 2, begin at log10(5 / 4)
    parts = np.array([[1.0, 3.0], [1.0, 1.0]])
    first = np.array([0.0, np.log10(5 / 4) + 1 / np.log(10)])
    np.testing.assert_allclose(scale.mean_rarity(parts, 1, np.array([False, False])), first / 2)
    np.testing.assert_allclose(scale.mean_rarity(parts, 1, np.array([False, True])), [0.0, first[1]])
    of_training = [scale.mean_rarity(np.array([[a], [5 - a]]), 1, none[:1])[0] for a in (1.0, 2.0, 3.0, 4.0)]
    assert scale.typical == pytest.approx(np.median(of_training))


def test_parts_without_any_spread_and_far_away():
    scale = fit_row_scale(np.full((2, 4), 7.0), 1, none)
    assert scale.typical == 1
    np.testing.assert_allclose(scale.mean_rarity(np.array([[7.0, 8.0], [7.0, 8.0]]), 1, none[:2]), [0, np.log10(5)])
    far = RowScale(np.array([[0.0, 1e-300, 2e-300]]), 1.0)
    assert np.isfinite(far.rarity(0, np.array([1e300]))).all()
    assert len(RowScale(np.empty((1, 0)), 1.0).rarity(0, np.array([1.0]))) == 1


values = st.lists(st.integers(0, 60).map(float), min_size=1, max_size=80)


@given(values, st.floats(0, 100))
def test_rarity_is_that_of_the_reference(known, value):
    found = RowScale(np.sort(known)[None], 1.0).rarity(0, np.array([value]))
    np.testing.assert_allclose(found, [reference.tail_rarity(known, value)], rtol=1e-9, atol=1e-12)


@given(values, st.lists(st.floats(0, 1000), min_size=2, max_size=20))
def test_rarity_rises(known, found):
    rarity = RowScale(np.sort(known)[None], 1.0).rarity(0, np.sort(found))
    assert (np.diff(rarity) >= -1e-12).all()
