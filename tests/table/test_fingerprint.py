"""Fingerprints: what a row holds, whatever library, type and order it came in."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rfod._table.fingerprint import (
    N_PARTS,
    cell_hashes,
    fingerprint_texts,
    fingerprints,
    parse_fingerprints,
    text_hash,
)
from rfod._table.table import open_table

FRAME = pa.table(
    {
        "id": [1, 2, 3],
        "city": ["Bonn", " Köln ", None],
        "price": [1.5, None, -0.0],
        "day": [dt.date(2024, 1, 1), None, dt.date(2024, 2, 29)],
        "open": [True, False, None],
    }
)

GOLDEN = [
    "5d0a83defe0707477d4d316785f4dc0000000000",
    "e220a8397bd1938b673e68f2104d890000000000",
    "790f1fd0f5e220a8397b404b61fbfb0000000000",
]


def texts(data: object) -> list[str]:
    return fingerprint_texts(fingerprints(open_table(data)))


def test_files_of_other_versions_stay_readable() -> None:
    # written into files: these must never change
    assert texts(FRAME) == GOLDEN


def test_type_and_order_of_columns_do_not_matter() -> None:
    other = pd.DataFrame(
        {
            "day": pd.to_datetime(["2024-01-01", None, "2024-02-29"]),
            "price": [1.5, np.nan, 0.0],
            "open": pd.array([True, False, None], dtype="boolean"),
            "city": ["Bonn", "Köln", ""],
            "id": [1.0, 2.0, 3.0],
        }
    )
    assert texts(other) == texts(FRAME)


def test_rows_may_move() -> None:
    assert texts(FRAME.take([2, 0, 1])) == [texts(FRAME)[row] for row in (2, 0, 1)]


@pytest.mark.parametrize("name", FRAME.column_names)
def test_a_changed_cell_changes_the_part_of_its_column(name: str) -> None:
    changed = FRAME.set_column(FRAME.column_names.index(name), name, pa.array(["x", "y", "z"]))
    parts = fingerprints(open_table(FRAME)) != fingerprints(open_table(changed))
    assert parts[0].tolist() == [part == text_hash(name) % N_PARTS for part in range(N_PARTS)]


def test_a_part_without_columns_is_zero() -> None:
    table = open_table(pa.table({"a": [1, 2]}))
    filled = fingerprints(table) != 0
    assert filled.sum(axis=1).tolist() == [1, 1]


def test_missing_cells_have_no_hash() -> None:
    assert (cell_hashes(open_table(FRAME), "city") == 0).tolist() == [False, False, True]
    assert (cell_hashes(open_table(FRAME), "price") == 0).tolist() == [False, True, False]


def test_text_and_back() -> None:
    prints = fingerprints(open_table(FRAME))
    assert (parse_fingerprints(fingerprint_texts(prints)) == prints).all()
    assert parse_fingerprints([]).shape == (0, N_PARTS)
    with pytest.raises(ValueError, match="40 hexadecimal digits"):
        parse_fingerprints(["abc"])


def test_no_two_rows_of_a_large_table_share_one() -> None:
    table = open_table(pa.table({"a": np.arange(100_000), "b": ["x"] * 100_000}))
    assert len(set(fingerprint_texts(fingerprints(table)))) == 100_000
