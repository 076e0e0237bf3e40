"""Values by themselves and sizes in line: by hand, against the reference, and in tables of sizes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rfod
from reference import rows as reference
from rfod._model.margins import CategoryMargin, NumberMargin, SizeLine, is_size, margins, size_lines

nan = np.nan


def test_numbers_by_hand():
    margin = NumberMargin(np.arange(1.0, 1000.0))  # 1 to 999
    found = margin.rarity(np.array([500.0, 50.0, nan]), np.zeros(3, dtype=bool))
    # 500 of 999 are at most, and 500 at least, 500; 50 are at most 50: 2 * 51 / 1000
    np.testing.assert_allclose(found, [0.0, -np.log10(0.102), 0.0])
    # the tail has the 19 largest, from 980 on, with a mean excess of 10: 2 * 20 / 1000 and 40 mean excesses
    found = margin.rarity(np.array([1030.0]), np.zeros(1, dtype=bool))
    np.testing.assert_allclose(found, [-np.log10(0.04) + 5 / np.log(10)])
    # no more than twice the decades of 999 values
    np.testing.assert_allclose(margin.rarity(np.array([np.inf, -1e9]), np.zeros(2, dtype=bool)), [6.0, 6.0])


def test_a_row_of_the_sample_does_not_count_for_itself():
    margin = NumberMargin(np.arange(100.0))
    own, other = (margin.rarity(np.array([1.0]), np.array([flag])) for flag in (True, False))
    # of the 99 others one is at most 1; of all 100 two are. The tail begins at 10 with excesses 1 to 10, one of them 9
    by_rank, by_tail = -np.log10(2 * 2 / 100), -np.log10(2 * 11 / 101) + 9 / (46 / 9) / np.log(10)
    np.testing.assert_allclose(own, [max(by_rank, by_tail)])
    by_rank, by_tail = -np.log10(2 * 3 / 101), -np.log10(2 * 11 / 101) + 9 / 5.5 / np.log(10)
    np.testing.assert_allclose(other, [max(by_rank, by_tail)])


def test_categories_by_hand():
    margin = margins([np.array([0, 0, 0, 0, 0, 1, 1, 2, 3, -1])], np.array([True]), np.array([False])).columns[0]
    assert isinstance(margin, CategoryMargin)
    found = margin.rarity(np.array([0, 1, 2, -1, -2]), np.zeros(5, dtype=bool))
    # 9, 4 and 2 of 9 values are of categories that are no commoner; a gap says nothing, a new category is the rarest
    np.testing.assert_allclose(found, np.log10([10 / 10, 10 / 5, 10 / 3, 1, 10]))


numbers = st.lists(st.integers(-50, 50).map(float), min_size=2, max_size=60)


@given(numbers, st.data())
def test_numbers_as_the_reference_has_them(known, data):
    own = data.draw(st.booleans())
    value = data.draw(st.sampled_from(known)) if own else data.draw(st.integers(-90, 90).map(float))
    found = NumberMargin(np.sort(known)).rarity(np.array([value]), np.array([own]))
    np.testing.assert_allclose(found, [reference.number_rarity(known, value, own)], rtol=1e-9, atol=1e-9)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(0, 5), st.booleans())
def test_categories_as_the_reference_has_them(known, value, own):
    own = own and value in known
    codes = np.array(known, dtype=np.int32)
    margin = margins([codes], np.array([True]), np.array([False])).columns[0]
    found = margin.rarity(np.array([value], dtype=np.int32), np.array([own]))
    np.testing.assert_allclose(found, [reference.category_rarity(known, value, own)], rtol=1e-9)


def test_what_a_size_is():
    heavy = np.exp(np.linspace(0, 8, 200))
    assert is_size(heavy)
    assert not is_size(-heavy)
    assert not is_size(np.linspace(1, 9, 200))  # the largest is twice the median
    assert not is_size(np.repeat([1.0, 2.0, 400.0], 50))  # three values
    assert not is_size(np.full(5, nan))


def test_a_line_by_hand():
    # log y = 2 log x + log 3 exactly, for x = 1, 2, 4, ...
    x = 2.0 ** np.arange(30)
    lines = size_lines([x, 3 * x**2], [0, 1])
    assert [(line.column, line.partner) for line in lines] == [(0, 1), (1, 0)]
    assert (lines[1].slope, lines[1].offset) == (pytest.approx(2), pytest.approx(np.log(3)))
    assert lines[1].floors == (3, 1)
    assert lines[1].large == pytest.approx(np.quantile(3 * x**2, 0.97))
    assert size_lines([x], [0]) == []
    # a zero counts as 1: the logarithms differ by log 1.5 = 0.41, log 2 = 0.69 and, of zeros, by nothing
    line = SizeLine(1, 0, slope=1.0, offset=0.0, floors=(1.0, 1.0), low=-0.5, high=0.5, large=100.0)
    encoded = [np.array([10.0, 10.0, nan, -3.0, 0.0]), np.array([15.0, 20.0, 15.0, 15.0, 0.0])]
    assert line.agrees(encoded).tolist() == [True, False, False, False, True]


def test_two_large_sizes_are_in_line():
    lines = [
        SizeLine(j, 1 - j, slope=1.0, offset=0.0, floors=(1.0, 1.0), low=-0.5, high=0.5, large=50.0) for j in range(2)
    ]
    table = margins([np.arange(9.0)] * 2, np.zeros(2, dtype=bool), np.zeros(2, dtype=bool))
    table = type(table)(table.columns, lines)
    encoded = [np.array([60.0, 60.0, 10.0, 60.0]), np.array([70.0, 200.0, 11.0, 40.0])]
    # both large and alike; not alike; alike and ordinary; one of them large only
    assert table.in_line(encoded).tolist() == [[True, True], [False, False], [False, False], [False, False]]


def countries(seed, n_rows=600):
    """Sizes that go with each other, and two shares that do not."""
    generator = np.random.default_rng(seed)
    size = np.exp(generator.normal(0, 1.8, n_rows))
    counts = {
        name: np.rint(scale * size * np.exp(generator.normal(0, 0.3, n_rows)))
        for name, scale in (("people", 9000), ("area", 700), ("cars", 2500), ("schools", 30))
    }
    return counts | {"share": generator.random(n_rows), "age": generator.normal(40, 4, n_rows)}


def appearances(seed, n_rows=500):
    """Games of players, and what they did in them: counts, many of them zero."""
    generator = np.random.default_rng(seed)
    games = np.rint(np.exp(generator.normal(3, 1.4, n_rows)))
    rates = np.exp(generator.normal(0, 0.25, (3, n_rows)))
    return {"games": games} | {
        name: generator.poisson(rate * games * own).astype(float)
        for name, rate, own in zip(("hits", "runs", "walks"), (1.0, 0.5, 0.4), rates, strict=True)
    }


def are_large_and_alike(sizes):
    """(rows,): in the top 1 % of two sizes, and each of these within the usual distance of the mean of the others."""
    is_top = sizes >= np.quantile(sizes, 0.99, axis=1)[:, None]
    logs = np.log1p(sizes)
    logs -= logs.mean(axis=1)[:, None]
    distance = logs - (logs.sum(axis=0) - logs) / (len(sizes) - 1)
    low, high = np.quantile(distance, [0.05, 0.95], axis=1)[..., None]
    return (is_top.sum(axis=0) >= 2) & (~is_top | ((distance >= low) & (distance <= high))).all(axis=0)


@pytest.mark.parametrize("make", [countries, appearances])
def test_the_largest_rows_do_not_lead(make):
    table = make(0)
    names = list(table)[:4]
    is_large = are_large_and_alike(np.stack([table[name] for name in names]))
    assert is_large.sum() >= 3
    assert is_large[first_rows(table)].sum() <= 3
    wrong = int(np.argsort(table[names[0]])[len(is_large) // 2])
    table[names[0]][wrong] *= 100
    assert wrong in first_rows(table)


def first_rows(table, n=10):
    """The rows that score highest in a scan."""
    import pyarrow as pa

    found = rfod.scan(pa.table(table), n_estimators=30, n_jobs=1, keep_evidence=False)
    return np.argsort(-found.row_scores, kind="stable")[:n]
