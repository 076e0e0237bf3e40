"""Errors are where the mask says, nowhere else, and never in the way of detection."""

from __future__ import annotations

import datetime as dt
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rfod import ColumnWarning
from rfod._check.errors import Injected, inject
from rfod._table.encode import encode_column
from rfod._table.schema import infer_schema
from rfod._table.table import open_table
from rfod.params import ERROR_KINDS, ErrorKind
from tables import IN_LIBRARY, mixed_columns, small


def put(data: Any, kind: ErrorKind, column_types: dict[str, str] | None = None, **options: Any) -> Injected:
    table = open_table(data)
    columns = infer_schema(table, column_types).columns
    return inject(table, columns, kind, **({"share": 0.5, "seed": 0} | options))


def values(injected: Injected, name: str) -> list[Any]:
    return injected.table.column(name).to_pylist()


@pytest.mark.parametrize("library", IN_LIBRARY)
@pytest.mark.parametrize("kind", ERROR_KINDS)
def test_cells_are_wrong_where_it_says(library: str, kind: ErrorKind) -> None:
    table = open_table(IN_LIBRARY[library](mixed_columns()))
    columns = infer_schema(table).columns
    injected = inject(table, columns, kind, share=0.5, seed=0)
    for j, column in enumerate(columns):
        before, after = encode_column(table, column), encode_column(injected.table, column)
        changed = (before != after) & ~((before != before) & (after != after))  # NaN is equal to itself here
        assert np.array_equal(changed, injected.wrong[:, j]), column.name
    assert injected.wrong.sum(axis=1).max() == 1
    n_able = injected.wrong.any(axis=1).sum()
    assert n_able == 60 or kind in ("category", "typo")  # a row may lack all values that can be mistyped
    assert n_able > 50


@pytest.mark.parametrize("library", IN_LIBRARY)
def test_detection_takes_every_kind(library: str) -> None:
    frame = IN_LIBRARY[library](mixed_columns())
    detector = small().fit(frame)
    for kind in ERROR_KINDS:
        injected = inject(open_table(frame), detector.model_.schema.columns, kind, share=0.5, seed=0)
        assert len(detector.detect(injected.table)) == 120


def test_libraries_get_the_same_errors() -> None:
    found = [put(make(mixed_columns()), kind) for make in IN_LIBRARY.values() for kind in ERROR_KINDS]
    for j in range(len(ERROR_KINDS)):
        first, *others = found[j :: len(ERROR_KINDS)]
        assert all(np.array_equal(first.wrong, other.wrong) for other in others)


def test_the_seed_decides() -> None:
    frame = pa.table(mixed_columns())
    again = [put(frame, "swap", seed=seed) for seed in (3, 3, 4)]
    assert np.array_equal(again[0].wrong, again[1].wrong)
    assert values(again[0], "level") == values(again[1], "level")
    assert not np.array_equal(again[0].wrong, again[2].wrong)


def test_several_cells_of_a_row() -> None:
    wrong = put(pa.table(mixed_columns()), "shift", n_cells=2).wrong
    assert set(wrong.sum(axis=1)) == {0, 2}


def test_kinds_that_a_column_cannot_have() -> None:
    frame = pl.DataFrame(mixed_columns())
    names = infer_names(frame)
    for kind, able in (
        ("factor", {"level", "double", "count", "wait"}),
        ("sign", {"level", "double", "count", "wait"}),
        ("shift", {"level", "double", "count", "day", "moment", "wait"}),
        ("category", {"city", "is_high"}),
        ("typo", {"city"}),
        ("swap", set(names)),
        ("blank", set(names)),
    ):
        hit = put(frame, kind).wrong.any(axis=0)  # type: ignore[arg-type]
        assert {name for name, is_hit in zip(names, hit, strict=True) if is_hit} == able


def infer_names(frame: Any) -> list[str]:
    return [column.name for column in infer_schema(open_table(frame)).columns]


def test_values_that_would_not_change_are_passed_over() -> None:
    frame = pd.DataFrame({"constant": ["a"] * 40, "zero": [0.0] * 40, "number": np.arange(40.0)})
    for kind in ("swap", "factor", "sign"):
        wrong = put(frame, kind, share=1 - 1e-9).wrong  # type: ignore[arg-type]
        assert not wrong[:, :2].any()
        assert wrong[:, 2].sum() == (40 if kind == "swap" else 39)  # zero has no sign and no tenfold


def test_large_integers() -> None:
    huge = 9_000_000_000_000_000_000
    frame = pl.DataFrame(
        {"a": [huge, huge - 5, -huge] * 20, "b": pl.Series([250, 3, 7] * 20, dtype=pl.UInt8), "c": [1, 2, 3] * 20}
    )
    with pytest.warns(ColumnWarning, match="40 of 'a'"):  # two of them are one float64
        detector = small().fit(frame)
    for kind in ("factor", "sign", "shift"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ColumnWarning)
            injected = put(frame, kind)  # type: ignore[arg-type]
        assert injected.wrong[:, :2].any(axis=0).all()
        detector.detect(injected.table)
    small_ones = frame.drop("a")
    assert max(values(put(small_ones, "factor"), "b")) == 2500
    assert min(values(put(small_ones, "sign"), "b")) == -250


def test_whole_numbers_and_days_stay_whole() -> None:
    frame = pa.table(mixed_columns())
    for kind in ("swap", "factor", "sign", "shift"):
        injected = put(frame, kind)  # type: ignore[arg-type]
        assert all(value == int(value) for value in values(injected, "count") if value is not None)
        assert all(type(value) is dt.date for value in values(injected, "day") if value is not None)


def test_times_stay_in_their_day() -> None:
    clock = [dt.time(hour, 30) for hour in range(24)] * 3
    injected = put(pl.DataFrame({"at": clock, "hour": [time.hour for time in clock]}), "shift")
    assert injected.wrong[:, 0].any()
    assert all(isinstance(value, dt.time) for value in values(injected, "at"))


@pytest.mark.parametrize(
    "make",
    [
        lambda texts: pl.DataFrame({"kind": pl.Series(texts, dtype=pl.Enum(["ab", "cd"])), "n": [1, 2, 3] * 20}),
        lambda texts: pl.DataFrame({"kind": pl.Series(texts, dtype=pl.Categorical), "n": [1, 2, 3] * 20}),
        lambda texts: pd.DataFrame({"kind": pd.Categorical(texts), "n": [1, 2, 3] * 20}),
        lambda texts: pa.table({"kind": pa.array(texts).dictionary_encode(), "n": [1, 2, 3] * 20}),
    ],
)
def test_typos_in_enumerations(make: Any) -> None:
    frame = make(["ab", "cd"] * 30)
    detector = small().fit(frame)
    injected = inject(open_table(frame), detector.model_.schema.columns, "typo", share=0.5, seed=0)
    assert injected.wrong[:, 0].sum() == 30
    assert len(set(values(injected, "kind"))) > 4
    detector.detect(injected.table)


def test_text_that_is_read_as_something_else() -> None:
    frame = pl.DataFrame(
        {
            "price": [f"{number}.50" for number in range(60)],
            "day": [f"2024-01-{1 + number % 28:02d}" for number in range(60)],
            "paid": ["yes", "no", "no"] * 20,
            "n": [1, 2, 3] * 20,
        }
    )
    kinds = {"price": "numeric", "day": "datetime", "paid": "boolean"}
    detector = small(column_types=kinds).fit(frame)
    for kind in ERROR_KINDS:
        injected = inject(open_table(frame), detector.model_.schema.columns, kind, share=0.5, seed=0)
        assert injected.wrong.any() == (kind != "typo")
        detector.detect(injected.table)


def test_a_number_among_booleans() -> None:
    fitted = pd.DataFrame({"yes": [True, False] * 30, "n": [1, 2, 3] * 20})
    detector = small().fit(fitted)
    new = open_table(pd.DataFrame({"yes": [0, 1, 2] * 20, "n": [1, 2, 3] * 20}))
    for kind in ("swap", "category", "blank"):
        detector.detect(inject(new, detector.model_.schema.columns, kind, share=0.5, seed=0).table)


def test_arrays() -> None:
    matrix = np.random.default_rng(0).normal(size=(50, 3))
    detector = small().fit(matrix)
    injected = inject(open_table(matrix), detector.model_.schema.columns, "factor", share=0.2, seed=0)
    assert injected.wrong.sum() == 10
    detector.detect(injected.table)


def test_infinite_and_missing_values_are_left_alone() -> None:
    frame = pd.DataFrame({"a": [np.inf, np.nan, -np.inf] * 20, "b": np.arange(60.0), "c": [None] * 59 + ["x"]})
    frame.loc[0, "a"] = 1.0
    for kind in ("swap", "factor", "sign", "shift", "blank"):
        assert put(frame, kind).wrong[1:, 0].sum() == 0  # type: ignore[arg-type]
