"""Tables with their repairs made, in the library they came from, and the list of what was changed."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rfod
from rfod.exceptions import ParameterError

N_ROWS, WRONG = 300, 7
STATES = {"Austin": "TX", "Reno": "NV", "Boston": "MA"}


def places():
    """Shops in cities; the city of one row is misspelt, another state is wrong."""
    rng = np.random.default_rng(0)
    city = rng.choice(list(STATES), N_ROWS).astype(object)
    state = np.array([STATES[name] for name in city], dtype=object)
    zone = np.array([f"zone of {name}" for name in city], dtype=object)
    frame = pd.DataFrame(
        {
            "shop": [f"s{number:04d}" for number in range(N_ROWS)],
            "city": city,
            "state": pd.Categorical(state),
            "zone": zone,
            "sales": rng.integers(100, 200, N_ROWS),
            "opened": pd.date_range("2020-01-01", periods=N_ROWS),
        },
        index=pd.Index(np.arange(N_ROWS) * 10, name="number"),
    )
    frame.iloc[WRONG, 1] = (
        "Bostxn" if frame.iloc[WRONG, 2] == "MA" else f"{frame.iloc[WRONG, 1][:-2]}x{city[WRONG][-1]}"
    )
    return frame, city[WRONG]


def scanned(table, **options):
    return rfod.scan(table, n_estimators=20, n_jobs=1, trim=0, **options)


@pytest.fixture(scope="module")
def found():
    frame, right = places()
    return frame, right, scanned(frame, key="shop")


def test_only_certain_cells_change(found):
    frame, right, detection = found
    before = frame.copy()
    repaired = detection.repair(above=0.5)
    expected = frame.copy()
    expected.iloc[WRONG, 1] = right
    pd.testing.assert_frame_equal(repaired, expected)
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(detection.repair(above=1.0), frame)


def test_the_changes_are_listed(found):
    frame, right, detection = found
    changes = detection.changes(above=0.5)
    assert list(changes.columns) == ["row", "shop", "column", "before", "after", "why", "probability"]
    line = changes.iloc[0].to_dict()
    assert line["row"] == WRONG
    assert line["shop"] == "s0007"
    assert (line["column"], line["before"], line["after"]) == ("city", frame.iloc[WRONG, 1], right)
    assert line["why"].startswith("city is '")
    assert 0.5 <= line["probability"] <= 1
    assert len(changes) == 1
    cells = detection.wrong_cells(above=0.5)
    assert cells["repair_probability"].iloc[0] == line["probability"]
    with pytest.raises(ParameterError, match="above is 0"):
        detection.repair(above=0)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_libraries(library):
    frame, right = places()
    frame["state"] = frame["state"].astype(str)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = table.replace_schema_metadata(None)
    given = pl.from_arrow(table).with_columns(pl.col("state").cast(pl.Categorical)) if library == "polars" else table
    repaired = scanned(given, key="shop").repair(above=0.5)
    assert type(repaired) is type(given)
    assert repaired.schema == given.schema
    after = repaired.to_arrow() if library == "polars" else repaired
    assert after.column("city")[WRONG].as_py() == right
    rest = [name for name in after.column_names if name != "city"]
    before = given.to_arrow() if library == "polars" else given
    assert after.select(rest).equals(before.select(rest))


def test_arrays():
    frame, right = places()
    given = frame[["city", "zone", "sales"]].assign(state=frame["state"].astype(str)).to_numpy(dtype=object)
    repaired = scanned(given).repair(above=0.5)
    assert isinstance(repaired, np.ndarray)
    assert repaired[WRONG, 0] == right
    assert (repaired != given).sum() == 1


def test_decided_cells_change_and_others_do_not_change_them():
    frame, _ = places()
    decisions = rfod.Decisions()
    decisions.add(
        decisions.on_cell(frame, 3, "sales", "replace", "150", key="shop"),
        decisions.on_cell(frame, WRONG, "city", "fine", key="shop"),
        decisions.on_cell(frame, 4, "opened", "blank", key="shop"),
    )
    expected = frame.copy()
    expected.iloc[3, 4], expected.iloc[4, 5] = 150, pd.NaT
    found = scanned(frame, key="shop", decisions=decisions)
    pd.testing.assert_frame_equal(found.repair(above=0.5), expected)
    changes = found.changes(above=0.5)
    assert changes["column"].tolist() == ["sales", "opened"]
    assert changes["after"].iloc[0] == "150"
    assert changes["after"].isna().iloc[1]
    assert changes["why"].tolist() == ["decided", "decided"]
    later = scanned(frame, key="shop")
    pd.testing.assert_frame_equal(later.repair(above=0.5, decisions=decisions), expected)


def test_a_whole_number_can_be_blanked():
    frame, _ = places()
    decisions = rfod.Decisions()
    decisions.add(decisions.on_cell(frame, 3, "sales", "blank", key="shop"))
    repaired = scanned(frame, key="shop", decisions=decisions).repair(above=1.0)
    assert repaired["sales"].isna().sum() == 1
    assert repaired["sales"].drop(index=30).tolist() == frame["sales"].drop(index=30).tolist()
