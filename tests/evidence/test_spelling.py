"""Near misses against distances by dynamic programming."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import evidence as reference
from rfod._evidence import spelling as module
from rfod._evidence.spelling import NOT_NEAR, Vocabulary, fit_spelling, spelling_inputs, words_of
from rfod._evidence.texts import code_points

words = st.text("abcd1", min_size=3, max_size=7)


@given(st.lists(words, min_size=1, max_size=25, unique=True), st.lists(words, min_size=1, max_size=10))
def test_the_nearest_is_the_most_frequent_one_near(known, texts):
    counts = np.arange(len(known), 0, -1) + 1
    vocabulary = Vocabulary.of(known, counts)
    found = vocabulary.nearest(code_points(texts))
    for text, place in zip(texts, found.tolist(), strict=True):
        near = [k for k, word in enumerate(vocabulary.texts) if reference.are_near(text, word)]
        assert place == (near[0] if near else NOT_NEAR)


@given(words, words)
def test_texts_an_edit_apart_are_near(a, b):
    if reference.edit_distance(a, b) == 1:
        assert reference.are_near(a, b)
    if reference.are_near(a, b):
        assert reference.edit_distance(a, b) <= 2  # a letter that moved


def test_a_vocabulary_has_long_and_repeated_texts_by_their_counts():
    found = Vocabulary.of(["seldom", "often", "abc", "sometimes"], np.array([1, 9, 9, 4]))
    assert found.texts == ("often", "sometimes")
    assert found.counts.tolist() == [9, 4]
    assert found.rows_with(["sometimes", "never"]).tolist() == [4, 0]
    empty = Vocabulary.of([], np.zeros(0, dtype=np.int64))
    assert empty.nearest(code_points(["abcd"])).tolist() == [NOT_NEAR]
    assert found.nearest(code_points([])).tolist() == []


def test_by_hand():
    texts = ("Berlin", "Berlni", "Hamburg", "Mainz", "code 17", "code 18")
    counts = np.array([90, 1, 40, 3, 20, 2])
    found = spelling_inputs(fit_spelling(texts, counts), texts, counts, is_own=True)
    assert found.near.tolist() == pytest.approx([0, math.log(90), 0, 0, 0, 0])
    assert found.near_digits.tolist() == pytest.approx([0, 0, 0, 0, 0, math.log(10)])
    assert found.suggested[1] == 0
    assert found.near_word[1] == pytest.approx(math.log(90))
    assert found.words == {1: ("berlni", "berlin")}


def test_words_inside_texts():
    texts = ("heart attack", "heart failure", "hearx attack")
    counts = np.array([50, 30, 1])
    found = spelling_inputs(fit_spelling(texts, counts), texts, counts, is_own=True)
    assert found.near_word.tolist() == pytest.approx([0, 0, math.log(80)])
    assert found.words == {2: ("hearx", "heart")}
    profile = fit_spelling(texts[:2], counts[:2])
    new = spelling_inputs(profile, ("a hearx", "heart one"), np.ones(2, dtype=np.int64), is_own=False)
    assert new.near_word.tolist() == pytest.approx([math.log(80), 0])
    alone = spelling_inputs(profile, ("a hearx",), np.ones(1, dtype=np.int64), is_own=False)
    assert alone.near_word[0] == new.near_word[0]


def test_words_are_those_of_four_letters_in_lower_case():
    found, which, owner = words_of(["The Big Apple, NEW apple", "pie 4711"])
    assert found == ["apple"]
    assert which.tolist() == [0]
    assert owner.tolist() == [0]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_parts_of_any_size_give_the_same(size, monkeypatch):
    texts = ("Berlin", "Berlni", "Hamburg", "a longer text", "a longer tekst")
    counts = np.array([90, 1, 40, 30, 1])
    profile = fit_spelling(texts, counts)
    whole = spelling_inputs(profile, texts, counts, is_own=True)
    monkeypatch.setattr(module, "PART_VALUES", size)
    parts = spelling_inputs(profile, texts, counts, is_own=True)
    for name in ("near", "near_digits", "near_word", "suggested"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    assert parts.words == whole.words


def test_no_texts():
    found = spelling_inputs(fit_spelling((), np.zeros(0, dtype=np.int64)), (), np.zeros(0, dtype=np.int64), is_own=True)
    assert len(found.near) == 0
    assert found.words == {}
