"""Rare marks of texts against counts in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.columns import text_column
from reference import evidence as reference
from rfod._evidence import texts as texts_module
from rfod._evidence.form import MARKS, MOST_RARE, fit_form, form_inputs

letters = st.text("abAB19 -é", min_size=1, max_size=6).filter(lambda text: text == text.strip() and text != "-")


def of_rows(column, per_value):
    return per_value[column.codes[column.codes >= 0]]


@settings(max_examples=60)
@given(st.lists(letters, min_size=1, max_size=30), st.integers(1, 40))
def test_as_counted_in_plain_python(texts, part):
    texts = texts + [texts[0]] * 20
    before, texts_module.PART_VALUES = texts_module.PART_VALUES, part
    try:
        column = text_column(texts)
        profile = fit_form(column)
        found = of_rows(column, form_inputs(profile, column, is_own=True))
    finally:
        texts_module.PART_VALUES = before
    expected = reference.rarest_rows(texts)
    for place, mark in enumerate(MARKS):
        usual = reference.largest_break(expected[mark], MOST_RARE)
        assert profile.breaks[place] == usual
        logs = [max(0.0, math.log(usual / rows)) if rows < math.inf else 0.0 for rows in expected[mark]]
        np.testing.assert_allclose(found[:, place], logs, atol=1e-12)


def test_by_hand():
    """Twenty codes of two letters and two digits, one with a wrong letter, one too long."""
    column = text_column(["AB12"] * 10 + ["AB34"] * 8 + ["A?12", "AB123"])
    found = dict(zip(column.values, form_inputs(fit_form(column), column, is_own=True).tolist(), strict=True))
    assert found["AB12"] == found["AB34"] == [0.0] * len(MARKS)
    by_mark = dict(zip(MARKS, found["A?12"], strict=True))
    assert by_mark["shape"] == pytest.approx(math.log(18))
    assert by_mark["length"] == 0.0
    assert by_mark["gram1"] == pytest.approx(math.log(19))  # 'B' stands in nineteen cells, '?' in one
    assert by_mark["skeleton"] == pytest.approx(math.log(18))
    assert dict(zip(MARKS, found["AB123"], strict=True))["length"] == pytest.approx(math.log(19))


def test_new_texts_count_themselves():
    column = text_column(["red"] * 30 + ["blue"] * 20)
    profile = fit_form(column)
    new = text_column(["red", "r3d"])
    found = dict(zip(new.values, form_inputs(profile, new, is_own=False).tolist(), strict=True))
    assert found["red"] == [0.0] * len(MARKS)
    assert found["r3d"][0] == pytest.approx(math.log(20))  # no count of the column is rare: it makes the break itself
    column = text_column(["red"] * 30 + ["blue"] * 20 + ["r?d"])
    found = form_inputs(fit_form(column), text_column(["r3d"]), is_own=False)[0]
    assert found[0] == pytest.approx(math.log(20))
    assert found[MARKS.index("gram1")] > 0


@pytest.mark.parametrize("texts", [[None] * 5, ["a"], ["a"] * 9, ["x" * 5000, "y" * 5000, "z"], ["日本", "日本", "本"]])
def test_odd_columns(texts):
    column = text_column(texts)
    profile = fit_form(column)
    assert form_inputs(profile, column, is_own=True).shape == (len(column.values), len(MARKS))
    assert (profile.breaks >= 1).all()
    assert np.isfinite(form_inputs(profile, text_column(["new", None]), is_own=False)).all()
