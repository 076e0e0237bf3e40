"""Numbers of more digits than a float64 holds: distinct as categories and keys, and reported where they are not."""

from __future__ import annotations

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rfod
from rfod._table.encode import cell_text, decode_column, encode_column
from rfod._table.schema import infer_schema
from rfod._table.table import open_table
from tables import small

N_ROWS = 40
LARGE = 2**53
X = [float(i % 7) for i in range(N_ROWS)]


def near(first: int) -> list[int]:
    """Four integers in a row, of which a float64 holds some."""
    return [first + i % 4 for i in range(N_ROWS)]


COLUMNS = {
    "int64": pd.Series(near(LARGE)),
    "negative": pd.Series(near(-LARGE - 9)),
    "uint64": pd.Series(np.array(near(2**63), np.uint64)),
    "objects": pd.Series(near(LARGE), dtype=object),
    "objects past 63 bits": pd.Series(near(2**63), dtype=object),
    "objects past 63 bits with gaps": pd.Series([*near(2**63)[:-1], None], dtype=object),
    "objects past 64 bits": pd.Series(near(2**70), dtype=object),
    "objects of numpy": pd.Series(
        [np.int64(v) if i % 2 else np.uint64(v) for i, v in enumerate(near(LARGE))], dtype=object
    ),
    "integers among floats": pd.Series([*near(LARGE)[:-1], 1.5], dtype=object),
    "decimals": pd.Series([Decimal(value) for value in near(LARGE)]),
    "decimals with fractions": pd.Series([Decimal(value) + Decimal("0.25") for value in near(LARGE)]),
    "decimals among floats": pd.Series([*map(Decimal, near(LARGE)[:-1]), 1.5], dtype=object),
    "text": pd.Series([str(value) for value in near(LARGE)]),
    "category": pd.Series(pd.Categorical(near(LARGE))),
}


def table_of(name: str) -> pd.DataFrame:
    return pd.DataFrame({"account": COLUMNS[name], "x": X})


@pytest.mark.parametrize("name", COLUMNS)
def test_as_categories_they_are_kept_apart(name, tmp_path):
    frame = table_of(name)
    n_distinct = frame["account"].nunique()
    table = open_table(frame)
    column = infer_schema(table, {"account": "categorical"}).columns[0]
    assert len(column.categories) == column.n_distinct == n_distinct
    codes = encode_column(table, column)
    assert len(np.unique(codes[codes >= 0])) == n_distinct
    exact = [None if value is None else Decimal(str(value)) for value in frame["account"].tolist()]
    decoded = decode_column(column, codes).to_pylist()
    assert [None if value is None else Decimal(str(value)) for value in decoded] == exact

    detector = small(n_estimators=2, column_types={"account": "categorical"}).fit(frame)
    detector.save(tmp_path / "m.rfod")
    loaded = rfod.load(tmp_path / "m.rfod").detect(frame)
    assert loaded.expected.equals(detector.detect(frame).expected)


@pytest.mark.parametrize("name", COLUMNS)
def test_as_numbers_they_are_said_to_merge(name):
    with pytest.warns(rfod.ColumnWarning, match=r"share their float with another value: \d+ of 'account'") as caught:
        schema = infer_schema(open_table(table_of(name)), {"account": "numeric"})
    assert len(caught) == 1
    assert "Hint: column_types={'account': 'categorical'} keeps them apart" in str(caught[0].message)
    assert schema.columns[0].n_distinct < table_of(name)["account"].nunique()


@pytest.mark.parametrize("name", COLUMNS)
def test_observed_values_are_exact(name):
    frame = table_of(name)
    with warnings.catch_warnings(action="ignore"):
        column = infer_schema(open_table(frame), {"account": "numeric"}).columns[0]
    texts = cell_text(column, open_table(frame), np.arange(3))
    assert list(map(Decimal, texts)) == [Decimal(str(value)) for value in frame["account"].tolist()[:3]]


def test_one_warning_names_all_columns():
    merging = {f"n{j}": near(LARGE) for j in range(7)}
    with pytest.warns(rfod.ColumnWarning, match=r"20 of 'n0', 20 of 'n1', .*, \.\.\.") as caught:
        infer_schema(open_table(pd.DataFrame(merging | {"code": [f"z{i}" for i in range(N_ROWS)]})))
    assert len(caught) == 1
    assert "left out of the model" in str(caught[0].message)


@pytest.mark.parametrize(
    "values",
    [
        near(LARGE - 3),
        [2**60 + 1024 * (i % 9) for i in range(N_ROWS)],  # far apart
        [LARGE + 1] * N_ROWS,  # there is nothing to merge with
        [10**200 + i % 4 for i in range(N_ROWS)],  # infinite
        [Decimal("0.1") * (i % 4) for i in range(N_ROWS)],
        pa.array([None] * (N_ROWS - 1) + [3], pa.int64()),
    ],
)
def test_numbers_that_stay_apart_are_not_mentioned(values):
    given = values if isinstance(values, pa.Array) else pd.Series(values, dtype=object)
    frame = (
        pa.table({"a": given, "x": X, "y": X})
        if isinstance(values, pa.Array)
        else pd.DataFrame({"a": given, "x": X, "y": X})
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        infer_schema(open_table(frame))
    assert not [warning for warning in caught if "share their float" in str(warning.message)]


def test_large_identifiers_are_still_identifiers():
    frame = pd.DataFrame({"id": [2**63 + 3 * i * i for i in range(N_ROWS)], "x": X, "y": X})
    frame["count"] = [LARGE + i for i in range(N_ROWS)]
    with pytest.warns(rfod.ColumnWarning) as caught:
        schema = infer_schema(open_table(frame))
    assert dict(schema.left_out) == {"id": "identifier", "count": "identifier"}
    assert "share their float" not in str(caught[0].message)


# --------------------------------------------------------------------------------------------------------------- keys


@pytest.mark.parametrize("first", [LARGE + 1, 2**63 + 1])
@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_keys_come_back_exact(library, gap, first):
    arrow_type = pa.uint64() if first >= 2**63 else pa.int64()
    keys = [first + i for i in range(N_ROWS)]
    if gap:
        keys[7] = None
    table = pa.table({"key": pa.array(keys, arrow_type), "x": X, "y": X[::-1]})
    frame = {
        "pandas": lambda: table.to_pandas(
            types_mapper={pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}.get
        ),
        "polars": lambda: pl.from_arrow(table),
        "pyarrow": lambda: table,
    }[library]()
    found = small(n_estimators=2, column_types={"key": "ignore"}).fit(frame).detect(frame, key="key")
    given_back = found.rows()["key"]
    exact = given_back.to_pylist() if library == "pyarrow" else given_back.to_list()
    assert [None if pd.isna(key) else int(key) for key in exact] == keys


def test_small_keys_with_gaps_are_what_pandas_makes_of_them():
    table = pd.DataFrame({"key": pd.array([*range(N_ROWS - 1), None], "Int64"), "x": X, "y": X[::-1]})
    found = small(n_estimators=2, column_types={"key": "ignore"}).fit(table).detect(table, key="key")
    assert found.rows()["key"].dtype == np.float64
