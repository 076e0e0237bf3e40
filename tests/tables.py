"""Small tables that several tests share."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from rfod import RFOD


def small(**params: Any) -> RFOD:
    """A detector that is quick to fit."""
    return RFOD(**({"n_estimators": 6, "random_state": 0, "n_jobs": 1} | params))


def mixed_columns(n_rows: int = 120, seed: int = 0) -> dict[str, list[Any]]:
    """A column of every kind as Python lists, None where a value is missing; columns hang together."""
    rng = np.random.default_rng(seed)
    level = rng.normal(size=n_rows)
    start = dt.datetime(2024, 1, 1)
    columns: dict[str, list[Any]] = {
        "level": level.tolist(),
        "double": (2 * level + 0.1 * rng.normal(size=n_rows)).tolist(),
        "count": rng.poisson(3 + 2 * (level > 0)).tolist(),
        "city": [("Oslo", "Bergen", "Bodø")[k] for k in np.digitize(level, [-0.5, 0.5])],
        "is_high": (level > 0).tolist(),
        "day": [(start + dt.timedelta(days=round(10 * x))).date() for x in level.tolist()],
        "moment": [start + dt.timedelta(hours=round(40 * x)) for x in level.tolist()],
        "wait": [dt.timedelta(seconds=round(abs(60 * x))) for x in level.tolist()],
    }
    for name in ("double", "count", "city", "is_high", "day", "moment", "wait"):
        for row in rng.choice(n_rows, n_rows // 12, replace=False):
            columns[name][row] = None
    return columns


def as_arrow(columns: dict[str, list[Any]]) -> pa.Table:
    """The columns as a pyarrow table."""
    return pa.table(columns)


def as_polars(columns: dict[str, list[Any]]) -> pl.DataFrame:
    """The columns as a polars frame."""
    return pl.DataFrame(columns)


def as_pandas(columns: dict[str, list[Any]]) -> pd.DataFrame:
    """The columns as pandas users have them: nullable numbers, numpy dates, objects for dates without time."""
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    types = {"level": "float64", "double": "float64", "count": "Int64", "is_high": "boolean"}
    types |= {"moment": "datetime64[us]", "wait": "timedelta64[us]"}
    return frame.astype({name: kind for name, kind in types.items() if name in frame})


IN_LIBRARY = {"pandas": as_pandas, "polars": as_polars, "pyarrow": as_arrow}
