"""Votes against plain loops over rows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.columns import text_columns
from reference import evidence as reference
from rfod._evidence.votes import MOST_CERTAIN, agreement, cross_counts, fit_votes, vote_inputs

cells = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", None]), st.sampled_from(["x", "y", "z", None])), min_size=1, max_size=40
)


@given(cells)
def test_agreement_as_in_plain_python(pairs):
    by, values = ([pair[place] for pair in pairs] for place in (0, 1))
    columns = text_columns(by=by, values=values)
    assert agreement(columns[0].codes, columns[1].codes) == pytest.approx(reference.agreement(by, values))


@settings(max_examples=60)
@given(cells)
def test_votes_leave_the_row_itself_out(pairs):
    by, values = ([pair[place] for pair in pairs] for place in (0, 1))
    by, values = by + ["a", "b"] * 8, values + ["x", "y"] * 8  # so that one determines the other
    columns = text_columns(by=by, values=values)
    determinants = fit_votes(columns, [range(2)] * 2)[1]
    top = float(columns[1].counts.max() / columns[1].counts.sum())
    found = vote_inputs(determinants, columns, 1, top, is_own=True)
    for vote in determinants:
        odds = math.log(min(vote.agreement, MOST_CERTAIN) / (1 - min(vote.agreement, MOST_CERTAIN)))
        for row in range(len(by)):
            rival, own = reference.votes(by, values, row)
            assert found.inputs[row, 0] == pytest.approx(max(-20, min(20, rival - own)) * odds)
            if rival + own:
                assert found.inputs[row, 2:4].tolist() == pytest.approx([math.log1p(rival), math.log1p(own)])


def test_by_hand():
    """Ten rows of each city; one has the wrong state, one none."""
    city = ["Austin"] * 10 + ["Reno"] * 10 + [None]
    state = ["TX"] * 9 + ["NV"] + ["NV"] * 9 + [None] + ["TX"]
    columns = text_columns(city=city, state=state)
    chosen = fit_votes(columns, [range(2)] * 2)
    vote = chosen[1][0]
    assert vote.columns == (0,)
    assert vote.agreement == pytest.approx(18 / 19)  # of 19 rows with both one disagrees
    found = vote_inputs(chosen[1], columns, 1, 0.5, is_own=True)
    odds = math.log(18)
    assert found.inputs[9, 0] == pytest.approx(9 * odds)  # nine for TX, none for NV
    assert found.inputs[0, 0] == pytest.approx((1 - 8) * odds)
    assert found.inputs[19, 0] == pytest.approx(9 * odds)  # a gap has no vote but is judged
    assert found.inputs[20].tolist() == [0] * 5  # no city, no vote
    assert found.determinant.tolist() == [0] * 20 + [-1]
    assert found.rival[9] == columns[1].hashes[1]
    against = cross_counts(chosen, [vote_inputs(own, columns, c, 0.5, True) for c, own in enumerate(chosen)], 21)
    assert against[1, :, 0].tolist() == [0] * 9 + [1] + [0] * 9 + [1, 0]
    assert against[0, :, 2].tolist() == against[1, :, 0].tolist()  # the city contradicts these states
    assert against[0, 0, 3] == 1


def test_two_columns_together_determine_a_third():
    """Sex and age say which of four groups a person is in; each alone leaves two. One person is in the wrong one."""
    people = [(sex, age) for sex in ("f", "m") for age in ("young", "old")] * 6
    group = [f"{sex} {age}" for sex, age in people]
    group[0] = "m old"
    columns = text_columns(sex=[sex for sex, _ in people], age=[age for _, age in people], group=group)
    chosen = fit_votes(columns, [range(3)] * 3)
    vote = chosen[2][0]
    assert vote.columns == (0, 1)
    assert vote.agreement == pytest.approx(23 / 24)
    found = vote_inputs(chosen[2], columns, 2, 7 / 24, is_own=True)
    assert found.inputs[0, 0] == pytest.approx(5 * math.log(23))  # five for "f young", none for "m old"
    assert found.rival[0] == columns[2].hashes[columns[2].values.index("f young")]
    counts = cross_counts(chosen, [vote_inputs(own, columns, c, 0.5, True) for c, own in enumerate(chosen)], 24)
    assert counts[2, 0, 0] >= 1
    assert (counts[:2, 0, 2] >= 1).all()  # both contradict the group
    new = text_columns(sex=["f", "f", None], age=["young", "young", "old"], group=["f young", "m old", "m old"])
    assert np.sign(vote_inputs([vote], new, 2, 7 / 24, is_own=False).inputs[:, 0]).tolist() == [-1, 1, 0]


def test_new_rows_are_compared_with_all_training_rows():
    columns = text_columns(city=["Austin"] * 9 + ["Reno"] * 9, state=["TX"] * 9 + ["NV"] * 9)
    determinants = fit_votes(columns, [range(2)] * 2)[1]
    new = text_columns(city=["Austin", "Reno", "Oslo"], state=["TX", "TX", "TX"])
    found = vote_inputs(determinants, new, 1, 0.5, is_own=False)
    odds = math.log(MOST_CERTAIN / (1 - MOST_CERTAIN))
    assert found.inputs[:, 0].tolist() == pytest.approx([-9 * odds, 9 * odds, 0])
    for row, city in enumerate(["Austin", "Reno", "Oslo"]):
        alone = vote_inputs(determinants, text_columns(city=[city], state=["TX"]), 1, 0.5, is_own=False)
        np.testing.assert_array_equal(alone.inputs[0], found.inputs[row])


def test_columns_that_say_nothing_determine_nothing():
    rng = np.random.default_rng(0)
    noise = {name: rng.choice(list("pqrs"), 200).tolist() for name in ("a", "b", "c")}
    assert fit_votes(text_columns(**noise), [range(3)] * 3) == [[], [], []]
    constant = text_columns(a=["x"] * 50, b=[None] * 50, c=[str(k) for k in range(50)])
    assert fit_votes(constant, [range(3)] * 3) == [[], [], []]
