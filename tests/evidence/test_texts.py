"""Columns as texts: what counts as blank, as padded and as equal."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.columns import text_column
from reference.evidence import letter_class
from rfod._evidence import texts as module
from rfod._evidence.texts import (
    LETTER_CLASSES,
    LONGEST,
    KeyCounts,
    code_points,
    hash_rows,
    letter_classes,
    read_texts,
)
from rfod._table.table import open_table

any_text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


def test_blanks_around_texts_are_noted_and_left_out():
    column = text_column(["b", " a", "a", "a\t", "  ", "", None, "NA", " n/a "])
    assert column.values == ("a", "b")
    assert column.codes.tolist() == [1, 0, 0, 0, -1, -1, -1, -1, -1]
    assert column.is_padded.tolist() == [False, True, False, True] + [False] * 5
    assert column.counts.tolist() == [3, 1]
    assert column.is_blank.sum() == 5
    assert column.spread(np.array([5.0, 7.0]), -1.0).tolist() == [7, 5, 5, 5, -1, -1, -1, -1, -1]


def test_columns_without_values():
    column = text_column([None, "", " "])
    assert column.values == ()
    assert column.counts.tolist() == []
    assert column.hashes.tolist() == []
    assert column.is_blank.all()
    assert column.spread(np.zeros(0), 2.0).tolist() == [2, 2, 2]


def test_numbers_and_dates_are_read_as_they_are_written():
    table = pa.table({"n": [1, 20], "x": [0.5, 2.0], "d": [dt.date(2024, 1, 2), None], "b": [True, False]})
    found = {column.name: column.values for column in read_texts(open_table(table))}
    assert found == {"n": ("1", "20"), "x": ("0.5", "2.0"), "d": ("2024-01-02",), "b": ("False", "True")}


@given(st.lists(any_text, max_size=20, unique=True))
def test_different_texts_have_different_numbers(texts):
    hashes = hash_rows(code_points(texts))
    assert len(set(hashes.tolist())) == len(texts)
    alone = [int(hash_rows(code_points([text]))[0]) for text in texts]  # whatever stands beside it
    assert alone == hashes.tolist()


def test_texts_are_looked_at_up_to_a_length():
    long = "x" * 10_000
    points = code_points([long, "ab", ""])
    assert points.shape == (3, LONGEST)
    assert points[1].tolist() == [ord("a"), ord("b")] + [0] * (LONGEST - 2)
    assert hash_rows(code_points([long]))[0] == hash_rows(code_points([long + "y"]))[0]
    assert code_points([]).shape == (0, 1)


@given(st.lists(any_text, max_size=8))
def test_letters_have_the_class_that_python_gives_them(texts):
    names = {"A": "upper", "a": "lower", "9": "digit", " ": "space"}
    found = letter_classes(code_points(texts))
    for text, row in zip(texts, found.tolist(), strict=True):
        expected = [letter_class(x) for x in text]
        assert row[: len(text)] == [LETTER_CLASSES[names[x]] if x in names else ord(x) for x in expected]


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 9)), max_size=30), st.integers(0, 12))
def test_counts_of_keys(pairs, most):
    expected = {}
    for key, weight in pairs:
        expected[key] = expected.get(key, 0) + weight
    keys, weights = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    counts = KeyCounts.of(keys, weights)
    assert dict(zip(counts.keys.tolist(), counts.counts.tolist(), strict=True)) == expected
    assert counts.find(np.arange(-7, 8)).tolist() == [expected.get(key, 0) for key in range(-7, 8)]
    halves = [KeyCounts.of(keys[::2], weights[::2]), KeyCounts.of(keys[1::2], weights[1::2])]
    np.testing.assert_array_equal(KeyCounts.joined(halves).counts, counts.counts)
    kept = counts.most_frequent(most)
    best = sorted(expected, key=lambda key: (-expected[key], key))[:most]
    assert kept.keys.tolist() == sorted(best)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_parts_of_any_size_give_the_same_numbers(size, monkeypatch):
    column = text_column(["abc", "b", "a longer text", "d", "ääh", "c"])
    whole = column.hashes
    monkeypatch.setattr(module, "PART_VALUES", size)
    again = text_column(["abc", "b", "a longer text", "d", "ääh", "c"])
    np.testing.assert_array_equal(again.hashes, whole)
    assert [part.start for part, _ in again.parts()] == list(range(0, 6, size))
