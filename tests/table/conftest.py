"""Each table of a test, in every library that users bring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rfod._table.table import Table, open_table

LIBRARIES = ("numpy", "pandas", "polars", "pyarrow")


def make_frame(library: str, columns: Mapping[str, list[Any]]) -> Any:
    """Plain Python lists (None is missing) as the table of a library."""
    if library == "numpy":
        array = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
        for position, values in enumerate(columns.values()):
            array[:, position] = np.fromiter(values, dtype=object, count=len(values))
        return array
    if library == "pandas":
        return pd.DataFrame({name: _pandas_series(values) for name, values in columns.items()})
    if library == "polars":
        return pl.DataFrame({name: pl.Series(values, strict=False) for name, values in columns.items()})
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def _pandas_series(values: list[Any]) -> pd.Series:
    """What pandas makes of the values by itself, with object for what has no dtype of its own."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or kinds == {str}:
        return pd.Series(values, dtype="Int64" if kinds == {int} and None in values else None)
    return pd.Series(values, dtype=object)


@pytest.fixture(scope="session")
def in_every_library() -> Callable[[Mapping[str, list[Any]]], list[Any]]:
    """The same columns as the tables of all libraries."""
    return lambda columns: [make_frame(library, columns) for library in LIBRARIES]


@pytest.fixture(params=LIBRARIES)
def open_columns(request: pytest.FixtureRequest) -> Callable[[Mapping[str, list[Any]]], Table]:
    """Opens columns by way of one library after the other; arrays get the names as if they had them."""

    def open_as(columns: Mapping[str, list[Any]]) -> Table:
        table = open_table(make_frame(request.param, columns))
        assert table.has_names == (request.param != "numpy")
        return Table(tuple(columns), table.n_rows, True, table._read, table._build)

    return open_as
