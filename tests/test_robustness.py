"""Any table: fit and detect work, or say in a helpful error why not. No crash, no NaN in a scored cell."""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfod import RFOD, ColumnWarning, Detection, RFODError, SchemaError
from tables import small

DAYS = st.dates(dt.date(1700, 1, 1), dt.date(2250, 1, 1))
MOMENTS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1))
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBERS = st.floats(width=64) | st.sampled_from([0.0, -0.0, 1e150, 2e150, -1e308, 1e308, 5e-324, 1e16, 1e16 + 2])

VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "small float": (pa.float64(), st.sampled_from([1.0, 2.5, -3.0])),
    "float": (pa.float64(), NUMBERS),
    "float32": (pa.float32(), st.floats(width=32)),
    "int": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "small int": (pa.int8(), st.integers(-2, 3)),
    "unsigned": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "text": (pa.string(), WORDS),
    "few words": (pa.string(), st.sampled_from(["a", "b", "", "c c", "<script>"])),
    "category": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["u", "v", "w"])),
    "boolean": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), DAYS),
    "moment": (pa.timestamp("us"), MOMENTS),
    "zoned": (pa.timestamp("ms", "UTC"), MOMENTS.map(lambda moment: moment.replace(microsecond=0, tzinfo=dt.UTC))),
    "time": (pa.time64("us"), st.times()),
    "duration": (pa.duration("us"), st.timedeltas(dt.timedelta(days=-(10**5)), dt.timedelta(days=10**5))),
    "decimal": (pa.decimal128(20, 3), st.decimals(-(10**12), 10**12, places=3, allow_nan=False)),
    "constant": (pa.float64(), st.just(7.0)),
    "constant word": (pa.string(), st.just("same")),
    "infinite": (pa.float64(), st.sampled_from([float("inf"), float("-inf")])),
    "missing": (pa.float64(), st.none()),
    "missing word": (pa.string(), st.none()),
}


@st.composite
def columns_of(draw: st.DrawFn, kind: str, n_rows: int) -> pa.Array:
    """A column of a kind, with or without missing values."""
    arrow_type, values = VALUES[kind]
    if draw(st.booleans()):
        values = values | st.none()
    return pa.array(draw(st.lists(values, min_size=n_rows, max_size=n_rows)), arrow_type)


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, pa.Table]:
    """A table to learn from, and another with columns of the same kinds."""
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=2, max_size=6))
    pair = []
    for n_rows in (draw(st.integers(2, 40)), draw(st.integers(1, 12))):
        columns = [draw(columns_of(kind, n_rows)) for kind in kinds]
        pair.append(pa.table(columns, names=[f"{kind} {place}" for place, kind in enumerate(kinds)]))
    return pair[0], pair[1]


def check_detection(found: Detection, table: pa.Table, out_of_bag: bool = False) -> None:
    """All that must be true of any detection."""
    assert np.isfinite(found.row_scores).all()
    assert (found.row_scores >= 0).all()
    assert np.isfinite(found.uncertainty).all()
    assert ((found.weights >= 0) & (found.weights <= 1)).all()
    for place, name in enumerate(found.columns):
        column = table.column(name)
        missing = pa.compute.is_null(column, nan_is_null=True).to_numpy()
        scored = ~np.isnan(found.cell_scores[:, place])
        assert not (scored & missing).any()
        if not out_of_bag:  # where all trees may have seen a row, and nobody is left to judge it
            np.testing.assert_array_equal(scored, ~missing)
        assert np.nanmin(found.cell_scores[:, place], initial=0) >= 0
    assert found.expected.num_rows == table.num_rows
    assert found.top(3).num_rows <= 9
    assert found.cells().num_rows == np.count_nonzero(~np.isnan(found.cell_scores))
    assert ((found.row_p_values >= 0) & (found.row_p_values <= 1)).all()


def check_message(error: RFODError, *parts: str) -> None:
    """The error names one of the parts, and the way out."""
    assert any(part in str(error) for part in parts)
    assert "Hint" in str(error)


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "n_estimators": st.sampled_from([1, 2, 5]),
        "min_samples_leaf": st.sampled_from([1, 2, 50]),
        "distance": st.sampled_from(["gower", "gower-iqr"]),
        "uncertainty": st.just("raw"),
        "aggregation": st.just("mean"),
        "max_samples": st.sampled_from([1, 0.01, None]),
        "max_features": st.sampled_from([1, None, "sqrt"]),
        "max_bins": st.sampled_from([2, 3]),
        "max_depth": st.just(1),
        "beta": st.sampled_from([0.01, 1.0]),
        "trim": st.sampled_from([0.1, 0.45]),
    },
)


@settings(max_examples=150)
@given(pair=tables(), params=OPTIONS)
def test_any_table(pair, params):
    table, other = pair
    detector = small(**({"n_estimators": 3} | params))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        try:
            detector.fit(table)
        except SchemaError as error:
            check_message(error, "Two are needed")
            return
    check_detection(detector.detect(table), table)
    check_detection(detector.detect(other), other)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        check_detection(detector.fit_detect(table), table, out_of_bag=True)


@settings(max_examples=60)
@given(pair=tables(), swap=st.permutations(range(6)))
def test_columns_that_changed_their_kind(pair, swap):
    """A table whose columns carry the names of others: works, or names the column that does not fit."""
    table, other = pair
    detector = small(n_estimators=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        try:
            detector.fit(table)
        except SchemaError:
            return
    order = [place for place in swap if place < len(other.column_names)]
    mixed_up = pa.table([other.column(place) for place in order], names=other.column_names)
    try:
        found = detector.detect(mixed_up)
    except RFODError as error:
        check_message(error, *map(repr, other.column_names))
        return
    assert np.isfinite(found.row_scores).all()


@settings(max_examples=60)
@given(
    array=st.integers(2, 25).flatmap(
        lambda n_rows: st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=n_rows, max_size=n_rows)
    )
)
def test_any_array(array):
    numbers = np.array(array)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        try:
            found = small(n_estimators=2, min_samples_leaf=1).fit(numbers).detect(numbers)
        except SchemaError as error:
            check_message(error, "Two are needed")
            return
    assert np.isfinite(found.row_scores).all()
    places = [int(name[1:]) for name in found.columns]
    np.testing.assert_array_equal(np.isnan(found.cell_scores), np.isnan(numbers[:, places]))


@settings(max_examples=60)
@given(
    values=st.lists(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | WORDS
        | MOMENTS
        | DAYS
        | st.decimals()
        | st.sampled_from([pd.NA, pd.NaT, [1], {"a": 1}, b"bytes", 1j, Decimal("sNaN")]),
        min_size=2,
        max_size=25,
    )
)
def test_any_objects(values):
    """A column of any Python objects: used, or refused by name."""
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object), "b": np.arange(len(values)) % 3, "c": 1.5})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        try:
            found = small(n_estimators=2).fit(frame).detect(frame)
        except RFODError as error:
            check_message(error, "'a'")
            return
    assert np.isfinite(found.row_scores).all()


# ------------------------------------------------------------------------------------------------------------- corners


def test_5000_categories():
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.arange(5000), rng.zipf(1.5, 3000) % 5000])
    frame = pd.DataFrame({"code": [f"c{code}" for code in codes], "half": codes // 100, "noise": rng.normal(size=8000)})
    frame = frame.astype({"code": "category"})
    detector = small(n_estimators=4).fit(frame)
    found = detector.detect(frame)
    assert len(detector.model_.schema.columns[0].categories) == 5000
    assert np.isfinite(found.row_scores).all()
    assert not np.isnan(found.cell_scores).any()
    assert set(found.expected["code"]) <= set(frame["code"])
    new = detector.detect(pd.DataFrame({"code": ["never", "c0"], "half": [0, 0], "noise": [0.0, 0.0]}))
    assert new.cell_scores[0, 0] == 1


def test_more_categories_than_a_class_number_can_hold():
    names = [f"c{code}" for code in range(66_000)]
    table = pa.table(
        {"code": pa.array(names * 2).dictionary_encode(), "n": np.arange(132_000) % 5, "m": np.arange(132_000) % 7}
    )
    detector = small(n_estimators=1, max_samples=200).fit(table)
    found = detector.detect(table.slice(65_900, 200))
    assert np.isfinite(found.row_scores).all()
    assert ((found.cell_scores[:, 0] >= 0) & (found.cell_scores[:, 0] <= 1)).all()


def test_a_target_with_a_single_value():
    frame = pd.DataFrame({"a": [1.0] + [np.nan] * 29, "b": np.arange(30) % 4, "c": [None] * 29 + ["x"]})
    detector = small().fit(frame)
    found = detector.detect(frame)
    assert (found.expected["a"] == 1).all()
    assert (found.expected["c"] == "x").all()
    assert found.cell_scores[0, 0] == 0
    assert np.isnan(detector.forests_["a"].fitness)


def test_two_rows_and_one_tree():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": [True, False]})
    found = RFOD(n_estimators=1, n_jobs=1, random_state=0).fit_detect(frame)
    assert np.isfinite(found.row_scores).all()
    assert np.isfinite(RFOD(n_estimators=1, random_state=0).fit(frame).detect(frame).row_scores).all()


def test_rows_that_are_all_the_same():
    frame = pd.DataFrame({"a": [3.0] * 20, "b": ["x"] * 20, "c": [True] * 20})
    found = small().fit(frame).detect(frame)
    assert (found.cell_scores == 0).all()
    assert (found.row_scores == 0).all()  # none is rarer than another
    assert (found.weights == 1).all()


def test_a_column_of_infinities_is_left_out():
    """It has nothing that a forest could be grown on; once this ended the process."""
    frame = pd.DataFrame({"a": np.arange(30.0) % 7, "b": [np.inf] * 15 + [-np.inf] * 15, "c": list("ab") * 15})
    with pytest.warns(ColumnWarning, match="'b' has no finite values"):
        found = small().fit(frame).detect(frame)
    assert found.columns == ("a", "c")


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e145, 1e149])
def test_numbers_at_the_ends_of_the_scale(scale):
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    frame = pd.DataFrame({"x": x * scale, "y": 2 * x * scale, "z": rng.normal(size=100)})
    found = small(uncertainty="scaled").fit(frame).detect(frame)
    plain = small().fit(frame.assign(x=x, y=2 * x)).detect(frame.assign(x=x, y=2 * x))
    assert np.isfinite(found.row_scores).all()
    if scale > 1e-160:  # below, squares of differences are 0 and no split helps
        np.testing.assert_allclose(found.row_scores, plain.row_scores, rtol=0.3)


def test_wide_tables():
    array = np.random.default_rng(0).normal(size=(30, 300))
    found = small(n_estimators=2).fit(array).detect(array)
    assert found.cell_scores.shape == (30, 300)
    assert np.isfinite(found.row_scores).all()
