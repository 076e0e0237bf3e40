"""The word of a node, written and read, by numbers and by arrays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rfod._forest import layout

PARTS = (layout.feature_of, layout.threshold_of, layout.shift_of, layout.n_set_words_of, layout.child_of)
FIELDS = st.tuples(*(st.integers(0, most) for most in (0xFFFF, 255, 1, layout.MAX_SET_WORDS, 2**31 - 1)))


@given(st.lists(FIELDS, min_size=1, max_size=5))
def test_a_word_gives_back_its_fields(nodes):
    words = np.array([layout.node_word(*node) for node in nodes])
    assert not (words & (layout.LEAF | layout.UNUSED_BITS)).any()
    np.testing.assert_array_equal(np.transpose([part(words) for part in PARTS]), nodes)


@given(st.integers(0, 2**31 - 1))
def test_a_leaf_gives_back_its_number(leaf):
    word = layout.leaf_word(leaf)
    assert word & layout.LEAF
    assert not word & layout.UNUSED_BITS
    assert layout.child_of(word) == leaf


@given(st.integers(0, 255), st.integers(0, 254), st.integers(0, 1))
def test_missing_values_go_where_the_shift_says(code, threshold, shift):
    goes_right = code > threshold + shift if code else bool(shift)
    assert layout.is_above(code, threshold, shift) == goes_right


@given(st.sets(st.integers(0, 255)))
def test_sets(codes):
    bits = sum(1 << code for code in codes)
    words = np.array([bits >> 64 * word & 2**64 - 1 for word in range(4)], dtype=np.uint64).view(np.int64)
    assert set(np.flatnonzero(layout.set_bit(words, 0, np.arange(256))).tolist()) == codes
