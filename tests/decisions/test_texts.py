"""Rows are found by their keys, however these are written."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from rfod._decisions.texts import rows_with_key
from rfod._io.interface import ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import read_all
from rfod._table.table import open_table

NOON = dt.datetime(2024, 1, 1, 12, 30)
MIDNIGHT = dt.datetime(2024, 1, 2)


@pytest.mark.parametrize(
    ("written", "texts"),
    [
        ("2024-01-01 12:30", ["2024-01-01 12:30", "2024-01-01 12:30:00", "2024-01-01 12:30:00.000000"]),
        ("2024-01-02 00:00", ["2024-01-02 00:00", "2024-01-02 00:00:00", "2024-01-02"]),
        ("2024-01-03 07:15", [" 2024-01-03 07:15 "]),
    ],
)
def test_dates_of_a_file(written: str, texts: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("ts,a\n2024-01-01 12:30,1\n2024-01-02 00:00,2\n2024-01-03 07:15,3\n")
    batch = read_all(open_source(str(path), ReadOptions()))
    row = ["2024-01-01 12:30", "2024-01-02 00:00", "2024-01-03 07:15"].index(written)
    assert pa.types.is_timestamp(batch.rows.schema.field("ts").type)
    for text in texts:
        assert rows_with_key(batch.table, "ts", text).tolist() == [row], text


@pytest.mark.parametrize(
    ("values", "text", "rows"),
    [
        (pa.array(["1", "1.0", None, "None"]), "1", [0]),  # text that is there as it stands
        (pa.array(["1", "1.0", None, "None"]), "1.0", [1]),
        (pa.array(["1", "1.0", None, "None"]), "1.00", [0, 1]),
        (pa.array(["1", "1.0", None, "None"]), "None", [3]),
        (pa.array([" a", "a"]), "a", [1]),
        (pa.array([" a", "b"]), "a", [0]),
        (pa.array(["NA", "b"]), "NA", [0]),  # Namibia
        (pa.array(["x", "y", "x"]).dictionary_encode(), "x", [0, 2]),
        (pa.array([1.0, 2.5, None]), "1", [0]),
        (pa.array([1.0, 2.5, None]), "1.0", [0]),
        (pa.array([1.0, 2.5, None]), "2.50", [1]),
        (pa.array([1.0, 2.5, None]), "nan", []),
        (pa.array([1, 2**60 + 1]), str(2**60 + 1), [1]),
        (pa.array([True, False]), "True", [0]),
        (pa.array([True, False]), "true", [0]),
        (pa.array([Decimal("1.50"), Decimal("2.00")]), "1.50", [0]),
        (pa.array([Decimal("1.50"), Decimal("2.00")]), "2", [1]),
        (pa.array([NOON, MIDNIGHT]), "2024-01-01 12:30:00", [0]),
        (pa.array([NOON, MIDNIGHT]), "2024-01-02", [1]),
        (pa.array([NOON, MIDNIGHT], pa.timestamp("us", "UTC")), "2024-01-01 12:30:00+00:00", [0]),
        (pa.array([NOON, MIDNIGHT], pa.timestamp("us", "UTC")), "2024-01-01 12:30:00.000000Z", [0]),
        (pa.array([MIDNIGHT.date()]), "2024-01-02", [0]),
        (pa.array([dt.time(7, 15)]), "07:15:00", [0]),
        (pa.array([dt.timedelta(minutes=1)]), "0:01:00", [0]),
        (pa.array([None, None]), "None", []),
    ],
)
def test_values(values: Any, text: str, rows: list[int]) -> None:
    table = open_table(pa.table({"key": values, "other": list(range(len(values)))}))
    assert rows_with_key(table, "key", text).tolist() == rows


def test_of_pandas() -> None:
    frame = pd.DataFrame({"key": pd.to_datetime([NOON, MIDNIGHT]), "other": [1, 2]})
    for key in (NOON, pd.Timestamp(NOON)):
        assert rows_with_key(open_table(frame), "key", str(key)).tolist() == [0]
