"""Codes of one byte: in order, exact where they can be, and never past their number."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rfod._table import bins as binning
from rfod._table.bins import Feature, bin_table, features_from_json, features_to_json, fit_features
from rfod._table.encode import MISSING, UNSEEN
from rfod._table.kinds.moments import calendar_part
from rfod._table.schema import Column, Schema
from rfod.exceptions import ModelFormatError

numbers = st.floats(-1e150, 1e150) | st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324])
small = st.integers(-4, 4).map(float)


def schema_of(*columns):
    """A schema for encoded columns: (kind, values) or (kind, values, categories)."""
    described = []
    for position, (kind, values, *categories) in enumerate(columns):
        values = np.asarray(values)
        missing = values == MISSING if kind in ("categorical", "boolean") else np.isnan(values)
        distinct = len(np.unique(values[~missing]))
        types = {"numeric": "double", "datetime": "timestamp[us]", "time": "time64[us]", "duration": "duration[us]"}
        labels = tuple(f"c{label:05d}" for label in range(categories[0])) if categories else ()
        described.append(
            Column(f"x{position}", kind, types.get(kind, "string"), labels, int(missing.sum()), len(labels) or distinct)
        )
    names = tuple(column.name for column in described)
    return Schema(tuple(described), {}, names, True, len(columns[0][1]))


def fit(*columns, max_bins=255, seed=0):
    return fit_features(schema_of(*columns), [np.asarray(column[1]) for column in columns], max_bins, seed)


def number_feature(values, max_bins):
    """The feature of one number; None when it has nothing to split on."""
    return next(iter(fit(("numeric", np.array(values)), max_bins=max_bins)), None)


@given(st.lists(numbers | small, min_size=2, max_size=60), st.lists(numbers | small, max_size=20), st.integers(2, 255))
def test_codes_keep_the_order(values, others, max_bins):
    feature = number_feature(values, max_bins)
    if feature is None:
        return
    assert np.all(np.diff(feature.edges) > 0)
    assert np.isfinite(feature.edges).all()
    assert len(feature.edges) == feature.n_codes - 2 <= max_bins - 1
    everything = np.array(values + others)
    codes = feature.codes(everything)
    assert codes.dtype == np.uint8
    assert codes.max() < feature.n_codes
    np.testing.assert_array_equal(codes == 0, np.isnan(everything))
    present = everything[~np.isnan(everything)]
    ordered = feature.codes(np.sort(present)).astype(int)
    assert np.all(np.diff(ordered) >= 0)
    for value, code in zip(present, feature.codes(present), strict=True):
        assert code == 1 + sum(edge < value for edge in feature.edges)


@given(st.lists(numbers | small, min_size=2, max_size=60))
def test_exact_bins_tell_all_distinct_values_apart(values):
    finite = np.unique([value for value in values if np.isfinite(value)])
    feature = number_feature(values, 255)
    if feature is not None and len(finite):
        assert len(np.unique(feature.codes(finite))) == len(finite)
        assert feature.n_codes == len(finite) + 1


def test_neighbouring_floats_are_told_apart():
    first, second, third = 1.0, np.nextafter(1.0, 2), np.nextafter(np.nextafter(1.0, 2), 2)
    for low, high in ((first, second), (second, third)):  # their middle rounds down, and up
        feature = number_feature([low, high], 2)
        assert feature.codes(np.array([low, high])).tolist() == [1, 2]
    feature = number_feature([-1e150, 1e150], 2)
    assert feature.codes(np.array([-1e150, 1e150])).tolist() == [1, 2]


def test_bins_hold_about_as_many_rows_each():
    feature = number_feature(np.random.default_rng(0).normal(size=5000), 50)
    counts = np.bincount(feature.codes(np.random.default_rng(0).normal(size=5000)), minlength=feature.n_codes)
    assert feature.n_codes == 51
    assert counts[1:].min() >= 90
    assert counts[1:].max() <= 110


def test_a_frequent_value_does_not_eat_the_bins():
    values = np.concatenate([np.zeros(9000), np.random.default_rng(0).normal(size=1000)])
    feature = number_feature(values, 50)
    assert feature.n_codes >= 45
    assert np.count_nonzero(feature.codes(values) == feature.codes(np.zeros(1))[0]) < 9100


def test_infinite_values_fall_in_the_outer_bins():
    feature = number_feature([1.0, 2.0, 3.0, np.inf, -np.inf], 255)
    assert feature.codes(np.array([-np.inf, 1.0, 2.0, 3.0, np.inf])).tolist() == [1, 1, 2, 3, 3]


def test_single_codes_are_skipped_unless_values_are_missing():
    assert fit(("numeric", [5.0, 5.0]), ("categorical", [0, 0], 1), ("numeric", [np.inf, np.inf])) == ()
    assert [feature.n_codes for feature in fit(("numeric", [5.0, np.nan]), ("categorical", [0, MISSING], 1))] == [2, 2]


def test_few_categories():
    (feature,) = fit(("categorical", [0, 1, 2], 3), max_bins=3)
    assert (feature.n_codes, feature.is_categorical, feature.shared, len(feature.edges)) == (4, True, False, 0)
    assert feature.codes(np.array([0, 1, 2, MISSING, UNSEEN], np.int32)).tolist() == [1, 2, 3, 0, 0]


def test_many_categories_share_the_last_code():
    (feature,) = fit(("categorical", [0, 1, 2, 3], 4), max_bins=3)
    assert (feature.n_codes, feature.shared) == (4, True)
    assert feature.codes(np.array([0, 1, 2, 3, MISSING, UNSEEN], np.int32)).tolist() == [1, 2, 3, 3, 0, 3]
    (feature,) = fit(("categorical", np.arange(5000, dtype=np.int32), 5000))
    assert feature.n_codes == 256
    assert feature.codes(np.array([0, 253, 254, 4999, UNSEEN], np.int32)).tolist() == [1, 254, 255, 255, 255]


def seconds(*moments):
    return np.array([np.datetime64(moment, "s").astype(np.int64) if moment else np.nan for moment in moments], float)


def test_calendar_parts():
    values = seconds("2024-02-29T23:59:30", "1969-07-20T20:17:40", "2000-01-01T00:00:00", None)
    features = fit(("datetime", values))
    assert [feature.part for feature in features] == ["value", "month", "day", "weekday", "hour", "minute"]
    assert all(feature.column == 0 and not feature.is_categorical for feature in features)
    expected = {
        "month": [2, 7, 1],
        "day": [29, 20, 1],
        "weekday": [3, 6, 5],
        "hour": [23, 20, 0],
        "minute": [59, 17, 0],
    }
    for part, numbers_of_part in expected.items():
        np.testing.assert_array_equal(calendar_part(values, part), [*numbers_of_part, np.nan])
    assert features[0].codes(values).tolist() == [3, 1, 2, 0]


def test_calendar_parts_need_two_values():
    days = seconds("2024-01-01", "2024-01-02", "2024-01-03", None)
    assert [feature.part for feature in fit(("datetime", days))] == ["value", "day", "weekday"]
    times = np.array([3600.0, 7200.0, 7260.0])
    assert [feature.part for feature in fit(("time", times))] == ["value", "hour"]
    assert [feature.part for feature in fit(("duration", times))] == ["value"]


def test_table_of_codes():
    columns = [
        ("datetime", seconds("2024-01-01", "2024-02-02")),
        ("categorical", [0, MISSING], 1),
        ("numeric", [1.0, 1.0]),
    ]
    features, encoded = fit(*columns), [np.asarray(column[1]) for column in columns]
    codes = bin_table(features, encoded)
    assert codes.shape == (len(features), 2)
    assert codes.dtype == np.uint8
    assert codes.flags.c_contiguous
    assert bin_table((), encoded).shape == (0, 2)


def test_large_tables_are_sampled_with_the_seed(monkeypatch):
    monkeypatch.setattr(binning, "SAMPLE_ROWS", 500)
    values = np.random.default_rng(1).normal(size=2000)
    rare = np.zeros(2000)
    rare[7] = 1.0
    first, again, other = (fit(("numeric", values), ("numeric", rare), seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first[0].edges, again[0].edges)
    assert not np.array_equal(first[0].edges, other[0].edges)
    assert [features[1].edges.tolist() for features in (first, other)] == [[0.5], [0.5]]  # a rare value is never missed


COLUMNS = (
    ("numeric", np.array([1.0, 2.0, np.nan])),
    ("categorical", np.array([0, 1, 2]), 3),
    ("datetime", seconds("2024-01-01", "2024-02-02", None)),
    ("categorical", np.array([0, 1, 2]), 300),
)


def test_json_round_trip():
    features = fit(*COLUMNS)
    plain, edges = features_to_json(features)
    back = features_from_json(json.loads(json.dumps(plain)), edges, schema_of(*COLUMNS))
    for feature, same in zip(features, back, strict=True):
        np.testing.assert_array_equal(feature.edges, same.edges)
        for name in ("column", "part", "is_categorical", "n_codes", "shared"):
            assert getattr(feature, name) == getattr(same, name)


@pytest.mark.parametrize(
    "damage",
    [
        lambda plain, edges: (None, edges),
        lambda plain, edges: ([None], edges),
        lambda plain, edges: ([plain[0] | {"more": 1}], edges),
        lambda plain, edges: (plain, edges[:-1]),
        lambda plain, edges: (plain, np.append(edges, 1.0)),
        lambda plain, edges: (plain, edges.astype(np.float32)),
        lambda plain, edges: (plain, edges.reshape(1, -1)),
        lambda plain, edges: (plain, edges.tolist()),
        lambda plain, edges: (plain, edges * np.nan),
        lambda plain, edges: (plain, edges * np.inf),
        lambda plain, edges: (plain[::-1], edges),
        lambda plain, edges: ([plain[0], plain[0]], np.repeat(edges[:1], 2)),
        lambda plain, edges: ([plain[0] | {"n_codes": 4}], np.array([2.0, 1.0])),
        lambda plain, edges: ([plain[0] | {"n_codes": 4}], np.array([1.0, 1.0])),
        lambda plain, edges: ([plain[0] | {"n_codes": 300}], np.arange(298.0)),
        lambda plain, edges: ([plain[0] | {"n_codes": 1}], edges[:0]),
        lambda plain, edges: ([plain[0] | {"n_codes": -5}], edges[:0]),
        lambda plain, edges: ([plain[0] | {"n_codes": 3.0}], edges[:1]),
        lambda plain, edges: ([plain[0] | {"column": 4}], edges[:1]),
        lambda plain, edges: ([plain[0] | {"column": -1}], edges[:1]),
        lambda plain, edges: ([plain[0] | {"column": 1}], edges[:1]),
        lambda plain, edges: ([plain[0] | {"part": "month"}], edges[:1]),
        lambda plain, edges: ([plain[1] | {"n_codes": 5}], edges[:0]),
        lambda plain, edges: ([plain[1]], edges[:1]),
    ],
)
def test_damaged_json(damage):
    plain, edges = features_to_json(fit(*COLUMNS))
    with pytest.raises(ModelFormatError):
        features_from_json(*damage(plain, edges), schema_of(*COLUMNS))


def test_features_compare_by_identity():
    feature = Feature(0, "value", False, 3, np.array([0.5]))
    assert feature == feature
    assert feature != Feature(0, "value", False, 3, np.array([0.5]))
