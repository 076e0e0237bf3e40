"""Order of rows and suspicion of neighbours, by hand and in plain Python."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.columns import numbers, text_columns
from rfod._evidence.context import (
    NO_OTHER,
    ORDER_INPUTS,
    SUSPECT_INPUTS,
    Suspicion,
    _median_of_nearest,
    column_order,
    is_out_of_order,
    order_inputs,
    suspect_inputs,
)
from rfod._evidence.profile import WrittenTable


def written(texts, values=None):
    columns = text_columns(column=texts)
    return WrittenTable(columns, [None if values is None else numbers(values)], np.array([-1]))


def test_runs_by_hand():
    """Two runs, one of them broken once: of 15 rows between equal neighbours one differs from them."""
    texts = ["a"] * 5 + ["z"] + ["a"] * 5 + ["b"] * 10
    found = column_order(written(texts), 0)
    n_between = sum(texts[k - 1] == texts[k + 1] for k in range(1, 20))
    n_same = sum(texts[k - 1] == texts[k] == texts[k + 1] for k in range(1, 20))
    assert (n_between, n_same) == (15, 14)
    odds = math.log((n_same + 0.5) / (n_between - n_same + 0.5))
    assert found[5, 0] == pytest.approx(odds)
    assert found[2, 0] == pytest.approx(-odds)
    assert found[0, 0] == found[-1, 0] == found[4, 0] == 0
    assert found[:, 1].tolist() == pytest.approx([n_between / 21] * 21)


def test_steps_by_hand():
    values = [float(k) for k in range(30)]
    values[12] = 112.0
    found = column_order(written([f"{value:g}" for value in values], values), 0)
    unit = 0.01 * np.median(np.abs(np.array(values) - np.median(values)))  # a typical step is 0
    assert found[12, 2] == pytest.approx(math.log1p(100 / unit), rel=1e-6)
    assert found[11, 2] == pytest.approx(math.log1p(0.5 / unit), rel=1e-6)  # between 9, 10, 13 and 112
    assert found[20, 2] == 0
    assert found[0, 2] == pytest.approx(math.log1p(1.5 / unit), rel=1e-6)  # the first row has 1 and 2 beside it
    assert found[0, 3] == pytest.approx(1.0)


def test_texts_step_by_their_place_in_the_alphabet():
    texts = [f"name {k:02d}" for k in range(30)]
    texts[12] = "name 99"
    found = column_order(written(texts), 0)
    assert found[:, 2].argmax() == 12
    assert found[0, 3] > 0.9
    assert column_order(written(texts[::-1]), 0)[::-1, 2].tolist() == found[:, 2].tolist()


def test_out_of_order_are_values_that_interrupt_a_sequence():
    days = [float(k) for k in range(60)]
    days[40] = 3.0
    assert np.flatnonzero(is_out_of_order(column_order(written([f"{day:g}" for day in days], days), 0))).tolist() == [
        40
    ]
    towns = ["Reno"] * 30 + ["Ely"] * 30
    towns[10] = "Ely"
    assert np.flatnonzero(is_out_of_order(column_order(written(towns), 0))).tolist() == [10]
    noise = np.random.default_rng(0).normal(size=60).round(3).tolist()
    assert not is_out_of_order(column_order(written([f"{value:g}" for value in noise], noise), 0)).any()


@given(st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=1, max_size=12))
def test_median_of_the_nearest_rows(values):
    numbers = np.array([np.nan if value is None else float(value) for value in values])
    for row, median in enumerate(_median_of_nearest(numbers).tolist()):
        near = [values[k] for k in (row - 2, row - 1, row + 1, row + 2) if 0 <= k < len(values)]
        known = [value for value in near if value is not None]
        assert median == statistics.median(known) if known else math.isnan(median)


@pytest.mark.parametrize("n_rows", [1, 2, 9])
def test_few_rows_have_no_order(n_rows):
    assert not order_inputs(written(["a"] * n_rows, [1.0] * n_rows)).any()


def test_gaps_and_constants():
    assert np.isfinite(column_order(written([None] * 30, [None] * 30), 0)).all()
    assert not column_order(written(["1"] * 30, [1.0] * 30), 0)[:, 2:].any()
    assert order_inputs(written(["1"] * 30)).shape == (1, 30, len(ORDER_INPUTS))


def log_odds(chance):
    return math.log(max(chance, 1e-6) / max(1 - chance, 1e-6))


def test_suspicion_as_in_plain_python():
    rng = np.random.default_rng(0)
    first, codes = rng.random((3, 12)) ** 3, rng.integers(-1, 3, (3, 12)).astype(np.int32)
    first[1, 4] = first[0, 4] = first[:, 4].max()  # two cells of a row are equally suspicious
    found = suspect_inputs(first, codes)
    for c in range(3):
        for row in range(12):
            others = [log_odds(first[k, row]) for k in range(3) if k != c]
            expected = {
                "first": log_odds(first[c, row]),
                "column_mean": math.log(first[c].mean()),
                "column_above": math.log(np.mean(first[c] >= first[c, row])),
                "row_rest": max(others),
                "row_mean": math.log(first[:, row].mean()),
                "table_mean": math.log(first.mean()),
                "same_value": math.log(np.sum(codes[c] == codes[c, row])),
                "rank_in_row": float(log_odds(first[c, row]) >= max(others)),
            }
            assert found[c, row].tolist() == pytest.approx([expected[name] for name in SUSPECT_INPUTS], abs=1e-5)


def test_one_column_has_no_other_cells():
    found = Suspicion(np.array([[0.1, 0.9]])).inputs(0, np.array([0, 1], dtype=np.int32))
    assert found[:, SUSPECT_INPUTS.index("row_rest")].tolist() == [NO_OTHER, NO_OTHER]
