"""Planted errors: exact masks, repeatable, in the format of their column."""

import importlib.util

import numpy as np
import pandas as pd
import pytest
from benchmarks.decision import cell_errors, errors, tab_err_errors, table_errors
from benchmarks.decision.profiles import Column, Profile, same_value
from benchmarks.decision.text_table import sample_rows, text_of

NEEDS_TAB_ERR = pytest.mark.skipif(importlib.util.find_spec("tab_err") is None, reason="tab-err is not installed")


def _table(n_rows: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    cities = {"Bonn": "DE", "Lyon": "FR", "Turin": "IT", "Cologne": "DE"}
    city = rng.choice(list(cities), size=n_rows)
    repair, other = rng.integers(10, 900, n_rows), rng.integers(10, 900, n_rows)
    start = rng.uniform(0, 50, n_rows)
    return pd.DataFrame(
        {
            "key": [f"A{row:04d}" for row in range(n_rows)],
            "city": city,
            "country": [cities[name] for name in city],
            "repair": [str(value) for value in repair],
            "other": [str(value) for value in other],
            "total": [str(value) for value in repair + other],
            "start": [f"{value:.2f}" for value in start],
            "end": [f"{value:.2f}" for value in start + rng.uniform(1, 20, n_rows)],
            "day": [f"2024-{month:02d}-{day:02d}" for month, day in rng.integers(1, 12, (n_rows, 2))],
            "note": [rng.choice(["left at the door", "paid in cash", "to be called", ""]) for _ in range(n_rows)],
        },
        dtype=object,
    )


def _column(*cells: str) -> Column:
    return Column("c", np.array(cells, dtype=object))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("share", [0.005, 0.02, 0.2])
def test_the_mask_is_exactly_the_changed_cells(seed: int, share: float) -> None:
    table = _table()
    planted = errors.plant(table, share, seed)
    changed = table.to_numpy() != planted.table.to_numpy()
    np.testing.assert_array_equal(planted.wrong, changed)
    assert list(planted.table.columns) == list(table.columns)
    # An error in several cells may overshoot by its last cells.
    assert round(share * table.size) <= changed.sum() <= round(share * table.size) + 8


def test_the_same_seed_plants_the_same_errors() -> None:
    first, again, other = (errors.plant(_table(), 0.05, seed) for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(first.table, again.table)
    np.testing.assert_array_equal(first.codes, again.codes)
    assert not first.table.equals(other.table)


def test_no_share_plants_nothing() -> None:
    planted = errors.plant(_table(), 0.0, 1)
    pd.testing.assert_frame_equal(planted.table, _table())
    assert not planted.wrong.any()


@pytest.mark.parametrize("kind", errors.OWN_KINDS)
def test_each_kind_alone(kind: str) -> None:
    table = _table()
    planted = errors.plant(table, 0.02, 7, kinds=(kind,))
    assert planted.wrong.any()
    assert set(np.unique(planted.codes)) == {0, errors.CODES[kind]}
    if kind != "white_space":
        for row, column in np.argwhere(planted.wrong):
            assert not same_value(table.iat[row, column], planted.table.iat[row, column])


@pytest.mark.parametrize("kind", ["unit", "decimal_point", "noise", "outlier", "sign", "digit_transposition"])
def test_numbers_keep_the_decimals_of_their_column(kind: str) -> None:
    table = _table()[["repair", "start", "end", "total"]]
    planted = errors.plant(table, 0.1, 2, kinds=(kind,))
    for row, column in np.argwhere(planted.wrong):
        text = planted.table.iat[row, column]
        assert len(text.partition(".")[2]) == len(table.iat[row, column].partition(".")[2])
        float(text)


def test_a_column_with_trimmed_zeros_keeps_trimming() -> None:
    column = _column("1.5", "2", "2.25", "3.75")
    assert column.write(4.0, "2") == "4"
    assert column.write(4.256, "2.25") == "4.26"
    assert _column("1.50", "2.00").write(4.0, "2.00") == "4.00"
    assert column.write(-0.001, "2.25") == "0"
    assert _column("1.0", "12.0").write(3.7, "1.0") == "4.0"


def test_codes_are_unique_and_fit_a_byte() -> None:
    assert len(set(errors.CODES.values())) == len(errors.CODES)
    assert all(0 < code < 128 for code in errors.CODES.values())


def test_bad_columns_get_most_errors() -> None:
    planted = errors.plant(_table(), 0.06, 11, bad_columns=1)
    per_column = planted.wrong.sum(axis=0)
    assert per_column.max() > 0.5 * per_column.sum()


def test_regularities_of_the_table_are_found() -> None:
    profile = Profile(_table())
    names = [column.name for column in profile.columns]
    assert {(names[a], names[b]) for a, b in profile.dependencies} == {("city", "country")}
    assert {tuple(names[at] for at in triple) for triple in profile.sums} == {("total", "repair", "other")}
    assert ("start", "end") in {(names[a], names[b]) for a, b in profile.orders}


def test_broken_sums_and_orders_are_broken() -> None:
    table = _table()
    sums = errors.plant(table, 0.02, 3, kinds=("broken_sum",))
    numbers = sums.table[["repair", "other", "total"]].astype(float)
    broken = (numbers["repair"] + numbers["other"] != numbers["total"]).to_numpy()
    np.testing.assert_array_equal(broken, sums.wrong.any(axis=1))
    orders = errors.plant(table[["start", "end"]], 0.02, 3, kinds=("broken_order",))
    backward = (orders.table["start"].astype(float) > orders.table["end"].astype(float)).to_numpy()
    np.testing.assert_array_equal(backward, orders.wrong.any(axis=1))


def test_a_dependency_is_violated() -> None:
    table = _table()
    planted = errors.plant(table, 0.01, 3, kinds=("dependency",))
    rows, columns = np.nonzero(planted.wrong)
    assert set(columns) == {list(table.columns).index("country")}
    assert set(planted.table["country"]) == {"DE", "FR", "IT"}
    assert all(planted.table["country"][row] != table["country"][row] for row in rows)


def test_a_date_keeps_a_month() -> None:
    rng, column = np.random.default_rng(1), _column("2024-03-05", "2024-11-25")
    assert cell_errors.date_order(rng, column, "2024-03-05") == "2024-05-03"
    assert cell_errors.date_order(rng, column, "2024-11-25") is None


def test_a_shift_moves_a_run_to_the_right() -> None:
    profile = Profile(pd.DataFrame({name: [name] * 30 for name in "abcdefgh"}, dtype=object))
    changes = table_errors.shift(np.random.default_rng(0), profile, 4, 2)
    assert all(row == 4 for row, _, _ in changes)
    assert [text for _, _, text in changes[1:]] == list("abcdefgh")[2 : 2 + len(changes) - 1]


def test_codes_with_leading_zeros_are_no_numbers() -> None:
    assert not _column(*[f"{number:05d}" for number in range(900, 1400, 7)]).is_number
    assert _column("0.5", "1.5", "10").is_number


def test_text_of_a_frame() -> None:
    frame = pd.DataFrame(
        {
            "rownames": [1, 2, 3],
            "whole": [1.0, np.nan, 3.0],
            "single": np.array([3.1, 2.25, np.nan], dtype=np.float32),
            "day": pd.to_datetime(["2024-01-02", None, "2024-03-04"]),
            "yes": [True, False, True],
            "empty": [None, None, None],
            "text": [" a  b", "NA", None],
        }
    )
    text = text_of(frame)
    assert text.to_dict("list") == {
        "whole": ["1", "", "3"],
        "single": ["3.1", "2.25", ""],
        "day": ["2024-01-02", "", "2024-03-04"],
        "yes": ["TRUE", "FALSE", "TRUE"],
        "text": ["a b", "", ""],
    }


def test_a_sample_keeps_the_order_and_grows_by_adding_rows() -> None:
    table = _table()
    small, large = sample_rows(table, 30), sample_rows(table, 60)
    assert list(small["key"]) == sorted(small["key"])
    assert set(small["key"]) < set(large["key"])


@NEEDS_TAB_ERR
@pytest.mark.parametrize("seed", range(4))
def test_tab_err_errors_have_an_exact_mask_and_repeat(seed: int) -> None:
    table = _table()
    planted = tab_err_errors.plant(table, 0.05, seed)
    changed = table.to_numpy() != planted.table.to_numpy()
    np.testing.assert_array_equal(planted.wrong, changed)
    assert changed.any()
    pd.testing.assert_frame_equal(planted.table, tab_err_errors.plant(table, 0.05, seed).table)
