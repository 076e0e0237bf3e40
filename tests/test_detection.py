"""The answer for one table: shapes, missing cells, expected values, the worst rows."""

from __future__ import annotations

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rfod
from rfod import ColumnMismatchError, ColumnWarning, ParameterError, SchemaError
from tables import IN_LIBRARY, as_arrow, as_pandas, as_polars, mixed_columns, small

COLUMNS = mixed_columns(100)
NAMES = tuple(COLUMNS)


@pytest.fixture(scope="module")
def detector():
    return small().fit(as_arrow(COLUMNS))


@pytest.mark.parametrize("library", IN_LIBRARY)
def test_shapes_and_missing_cells(detector, library):
    columns = mixed_columns(30, seed=1)
    found = detector.detect(IN_LIBRARY[library](columns))
    assert len(found) == 30
    assert found.columns == NAMES
    assert found.row_scores.shape == (30,)
    missing = np.array([[value is None for value in values] for values in columns.values()]).T
    np.testing.assert_array_equal(np.isnan(found.cell_scores), missing)
    for array in (found.cell_scores, found.uncertainty, found.weights, found.p_values, found.surprise):
        assert array.shape == (30, len(NAMES))
        assert array.dtype == np.float64
    for array in (found.row_scores, found.uncertainty, found.weights, found.p_values, found.surprise):
        assert np.isfinite(array).all()
    assert (found.uncertainty >= 0).all()
    assert repr(found) == f"<Detection: 30 rows, {len(NAMES)} columns>"


def test_a_row_without_any_value_has_no_cell_scores():
    detector = small(aggregation="uncertainty").fit(as_arrow(COLUMNS))
    empty = as_arrow(COLUMNS).schema.empty_table()
    nothing = pa.table({name: pa.nulls(2, empty.schema.field(name).type) for name in NAMES})
    found = detector.detect(nothing)
    assert np.isnan(found.cell_scores).all()
    assert found.row_scores.tolist() == [0, 0]
    assert set(found.cells(fdr=0.5).column("kind").to_pylist()) <= {"missing"}
    assert found.expected.num_rows == 2
    assert found.expected.column("level").null_count == 0  # what it should have been is known all the same


@pytest.mark.parametrize("library", IN_LIBRARY)
def test_expected_is_a_frame_of_the_callers_library(detector, library):
    make = IN_LIBRARY[library]
    expected = detector.detect(make(mixed_columns(20, seed=2))).expected
    assert type(expected) is type(make(mixed_columns(20, seed=2)))
    as_table = expected if library == "pyarrow" else pa.table(expected)
    assert as_table.column_names == list(NAMES)
    assert as_table.num_rows == 20
    kinds = {name: as_table.schema.field(name).type for name in NAMES}
    assert pa.types.is_float64(kinds["level"])
    assert pa.types.is_float64(kinds["count"])  # the mean of a count is seldom whole
    assert pa.types.is_boolean(kinds["is_high"])
    assert pa.types.is_timestamp(kinds["moment"])
    assert pa.types.is_duration(kinds["wait"])
    assert all(isinstance(day, dt.date) for day in as_table.column("day").to_pylist())
    assert set(as_table.column("city").to_pylist()) <= {"Oslo", "Bergen", "Bodø"}


def test_pandas_keeps_its_index(detector):
    frame = as_pandas(mixed_columns(20, seed=2))
    frame.index = pd.Index([f"row {k}" for k in range(20)], name="which")
    found = detector.detect(frame)
    pd.testing.assert_index_equal(found.expected.index, frame.index)
    assert found.top(3)["row"].isin(range(20)).all()  # findings count rows


def test_expected_values_are_near_the_truth():
    columns = mixed_columns(300)
    found = small(n_estimators=30).fit(as_arrow(columns)).detect(as_pandas(columns))
    level = np.array(columns["level"])
    assert np.corrcoef(found.expected["double"], level)[0, 1] > 0.95
    start = np.datetime64("2024-01-01")
    hours = (found.expected["moment"].to_numpy() - start) / np.timedelta64(1, "h")
    assert np.corrcoef(hours, level)[0, 1] > 0.95
    known = np.array([value is not None for value in columns["city"]])
    assert np.mean(found.expected["city"].to_numpy()[known] == np.array(columns["city"], dtype=object)[known]) > 0.9


def test_arrays_get_pandas_frames_with_positional_names():
    array = np.random.default_rng(0).normal(size=(50, 3))
    found = small().fit(array).detect(array)
    assert isinstance(found.expected, pd.DataFrame)
    assert list(found.expected.columns) == list(found.columns) == ["x0", "x1", "x2"]
    assert isinstance(found.top(1), pd.DataFrame)


def test_a_category_never_seen_scores_1_and_is_shown(detector):
    frame = as_pandas(mixed_columns(10, seed=3))
    frame["city"] = "Atlantis"
    found = detector.detect(frame)
    place = NAMES.index("city")
    assert (found.cell_scores[:, place] == 1).all()
    assert set(found.expected["city"]) <= {"Oslo", "Bergen", "Bodø"}
    assert "Atlantis" in found.top(10, n_cells=8)["observed"].tolist()


def test_infinite_values_score_highest(detector):
    frame = as_pandas(mixed_columns(3, seed=3)).assign(level=[np.inf, 0.0, -np.inf])
    found = detector.detect(frame)
    assert np.isfinite(found.row_scores).all()
    assert set(np.argsort(-found.row_scores)[:2]) == {0, 2}
    assert set(found.top(2, n_cells=1)["observed"]) == {"inf", "-inf"}


# ------------------------------------------------------------------------------------------------------- which columns


def test_columns_are_matched_by_name(detector):
    frame = as_polars(mixed_columns(20, seed=4))
    found = detector.detect(frame)
    other = detector.detect(frame.select(*reversed(NAMES)).with_columns(extra=pl.lit(["no", "matter"])))
    assert other.columns == found.columns
    np.testing.assert_array_equal(other.cell_scores, found.cell_scores)
    assert other.expected.equals(found.expected)


def test_absent_columns_are_named_with_near_ones(detector):
    frame = as_pandas(mixed_columns(20)).rename(columns={"city": "City"}).drop(columns="wait")
    with pytest.raises(ColumnMismatchError, match="lacks 2 of the 8 columns") as caught:
        detector.detect(frame)
    assert "'city', 'wait'" in str(caught.value)
    assert "did you mean 'City' for 'city'?" in str(caught.value)


def test_a_number_that_arrives_as_text_is_an_error(detector):
    frame = as_pandas(mixed_columns(20)).astype({"double": "string"})
    with pytest.raises(SchemaError, match="'double' was fitted as numeric"):
        detector.detect(frame)


def test_tables_without_rows_are_refused_and_one_row_is_enough(detector):
    frame = as_pandas(mixed_columns(20, seed=5))
    with pytest.raises(SchemaError, match="no rows"):
        detector.detect(frame[:0])
    one = detector.detect(frame[7:8])
    np.testing.assert_array_equal(one.cell_scores[0], detector.detect(frame).cell_scores[7])
    assert one.top(1)["row"].tolist() == [0] * 3
    assert one.expected.index.tolist() == [7]


def test_names_on_one_side_only_are_warned_about_once():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "c"])
    detector = small().fit(frame)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        detector.detect(frame.to_numpy())
    assert [str(warning.message) for warning in caught] == [
        "X does not have valid feature names, but RFOD was fitted with feature names"
    ]


# ------------------------------------------------------------------------------------------------------ the worst rows


@pytest.mark.parametrize("library", IN_LIBRARY)
def test_top_lists_the_worst_cells_of_the_worst_rows(detector, library):
    columns = mixed_columns(40, seed=6)
    found = detector.detect(IN_LIBRARY[library](columns))
    top = found.top(5, n_cells=2)
    assert type(top) is type(IN_LIBRARY[library](columns))
    lines = (
        top.to_pylist() if library == "pyarrow" else (top.to_dicts() if library == "polars" else top.to_dict("records"))
    )
    assert list(lines[0])[:4] == ["row", "row_score", "column", "observed"]
    assert list(lines[0])[4:] == ["expected", "score", "weight", "p_value", "surprise", "kind", "suggestion"]
    assert len(lines) == 10
    rows = [line["row"] for line in lines[::2]]
    assert rows == np.argsort(-found.row_scores, kind="stable")[:5].tolist()
    for line in lines:
        row, place = line["row"], found.columns.index(line["column"])
        assert line["row_score"] == found.row_scores[row]
        np.testing.assert_equal(line["score"], found.cell_scores[row, place])
        assert line["surprise"] == found.surprise[row, place]
        assert line["weight"] == found.weights[row, place]
        assert line["p_value"] == found.p_values[row, place]
    for first, second in zip(lines[::2], lines[1::2], strict=True):
        two = [found.surprise[line["row"], found.columns.index(line["column"])] for line in (first, second)]
        scored = found.surprise[first["row"]][~np.isnan(found.cell_scores[first["row"]])]
        assert two == sorted(scored, reverse=True)[:2]  # no gap here is a rare one


def test_top_takes_what_there_is(detector):
    found = detector.detect(as_pandas(mixed_columns(4, seed=7)))
    assert found.top(100)["row"].nunique() == 4
    assert len(found.top(100, n_cells=100)) == np.count_nonzero(~np.isnan(found.cell_scores))
    for nothing in (found.top(0), found.top(-3), found.top(2, n_cells=0)):
        assert len(nothing) == 0
        assert list(nothing.columns) == list(found.top(1).columns)


def test_equal_scores_keep_the_order_of_the_table(detector):
    frame = as_pandas(mixed_columns(1, seed=8))
    found = detector.detect(pd.concat([frame] * 5))
    assert found.top(3, n_cells=1)["row"].tolist() == [0, 1, 2]


def test_observed_and_expected_are_texts_that_people_read(detector):
    wrong = {
        "level": [0.25],
        "double": [1234.5],
        "count": [4],
        "city": ["a" * 200 + "\n"],
        "is_high": [True],
        "day": [dt.date(2031, 5, 1)],
        "moment": [dt.datetime(2024, 1, 1, 13, 30)],
        "wait": [dt.timedelta(days=2, seconds=5)],
    }
    cells = detector.detect(as_arrow(wrong)).cells().to_pylist()
    observed = {line["column"]: line["observed"] for line in cells}
    assert observed["double"] == "1234.5"
    assert observed["count"] == "4"
    assert observed["is_high"] == "true"
    assert observed["day"] == "2031-05-01"
    assert observed["moment"] == "2024-01-01 13:30"
    assert observed["wait"] == "2 d 00:00:05"
    assert len(observed["city"]) <= 70
    assert "\n" not in observed["city"]
    assert all(line["expected"] for line in cells)


def test_names_and_values_from_the_web_stay_as_they_are():
    columns = mixed_columns(60)
    columns["<script>"] = ["<b>&amp;</b>" if row % 2 else "'; DROP TABLE rows; --" for row in range(60)]
    found = small().fit(as_pandas(columns)).detect(as_pandas(columns))
    assert "<script>" in found.columns
    assert set(found.expected["<script>"]) <= {"<b>&amp;</b>", "'; DROP TABLE rows; --"}
    cells = found.cells([0])
    assert cells.loc[cells["column"] == "<script>", "observed"].tolist() == ["'; DROP TABLE rows; --"]


# ---------------------------------------------------------------------------------------- keys, p-values, tidy tables


def test_keys_name_the_rows():
    frame = as_pandas(mixed_columns(60)).assign(order=[f"N{row * 7919}" for row in range(60)])
    with pytest.warns(ColumnWarning, match="'order'"):
        detector = small().fit(frame)
    found = detector.detect(frame, key="order")
    worst = int(np.argmax(found.row_scores))
    assert found.top(1, n_cells=1)["order"].tolist() == [f"N{worst * 7919}"]
    assert found.rows([worst])["order"].tolist() == [f"N{worst * 7919}"]
    with pytest.raises(SchemaError, match="no column 'nr'"):
        detector.detect(frame, key="nr")
    own = small().fit_detect(frame, key="order")  # no warning: it was said what the column is
    assert "order" not in own.columns


def test_batches_count_on(detector):
    frame = as_polars(mixed_columns(25, seed=9))
    whole = detector.detect(frame)
    parts = list(detector.detect_batches([frame[:10], frame[10:11], frame[11:]]))
    np.testing.assert_array_equal(np.concatenate([part.row_scores for part in parts]), whole.row_scores)
    np.testing.assert_array_equal(np.concatenate([part.p_values for part in parts]), whole.p_values)
    assert pl.concat([part.cells() for part in parts]).equals(whole.cells())


def test_rows_and_cells_are_tidy(detector):
    found = detector.detect(as_pandas(mixed_columns(12, seed=10)))
    rows = found.rows()
    assert list(rows.columns) == ["row", "score", "p_value", "cells"]
    np.testing.assert_array_equal(rows["score"], found.row_scores)
    assert rows["cells"].str.contains("expected").all()
    assert len(found.cells()) == np.count_nonzero(~np.isnan(found.cell_scores))
    mask = np.arange(12) % 3 == 0
    assert found.rows(mask)["row"].tolist() == [0, 3, 6, 9]
    assert found.rows([5, 2])["row"].tolist() == [5, 2]
    assert found.cells(np.zeros(12, dtype=bool)).shape == (0, 10)


def test_p_values_are_ranks_among_training_scores(detector):
    found = detector.detect(as_arrow(mixed_columns(50, seed=11)))
    n_calibrated = len(detector.model_.calibration)
    for row in range(50):
        n_as_high = np.count_nonzero(detector.model_.calibration >= found.row_scores[row])
        by_score, by_cell = (1 + n_as_high) / (1 + n_calibrated), len(NAMES) * found.judged.tail_p_values[row].min()
        assert found.row_p_values[row] == pytest.approx(min(1, 2 * min(by_score, by_cell)))
    known = found.p_values[~np.isnan(found.p_values)]
    assert ((known > 0) & (known <= 1)).all()
    own = small().fit_detect(as_arrow(COLUMNS))
    assert ((own.row_p_values >= 0) & (own.row_p_values <= 1)).all()


def test_flags(detector):
    frame = as_pandas(mixed_columns(50, seed=12))
    found = detector.detect(frame)
    assert found.flag(top=4).sum() == 4
    assert set(np.flatnonzero(found.flag(top=4))) == set(np.argsort(-found.row_scores)[:4])
    assert (
        found.flag(contamination=0.1).tolist()
        == (found.row_scores > np.quantile(detector.model_.calibration, 0.9)).tolist()
    )
    assert found.flag().tolist() == found.flag(fdr=0.05).tolist()
    with pytest.raises(ParameterError, match="fdr and top"):
        found.flag(fdr=0.1, top=3)
    for rule in ("fdr", "contamination"):
        for share in (0, 1, -1, float("nan")):
            with pytest.raises(ParameterError, match=f"{rule} is {share}"):
                found.flag(**{rule: share})


# ------------------------------------------------------------------------------------------------------- wrong cells


def misspelt(n_rows=300):
    """Orders with three misspelt cities and one sum that does not hold."""
    rng = np.random.default_rng(3)
    code = rng.integers(0, 4, n_rows)
    city = np.array(["Hamburg", "Bremen", "Rostock", "Stralsund"], dtype=object)[code]
    net, tax = rng.integers(100, 900, n_rows), rng.integers(1, 99, n_rows)
    city[[20, 110, 250]] = "Hambxrg", "Brexen", "Rosxock"
    total = net + tax
    total[77] *= 10
    return {"nr": [f"n{row}" for row in range(n_rows)], "zone": (code * 2.5).tolist(), "city": city.tolist()} | {
        "net": net.tolist(),
        "tax": tax.tolist(),
        "total": total.tolist(),
    }


FIELDS_OF_CELLS = [
    "column",
    "observed",
    "suggested",
    "probability",
    "repair_probability",
    "kind",
    "evidence",
    "reason",
    "version",
]


@pytest.fixture(scope="module")
def scanned():
    return rfod.scan(pa.table(misspelt()), key="nr", n_estimators=10, n_jobs=1)


def test_wrong_cells_are_a_tidy_table(scanned):
    cells = scanned.wrong_cells(above=0.2)
    assert cells.column_names == ["row", "nr", *FIELDS_OF_CELLS]
    probability = cells["probability"].to_pylist()
    assert probability == sorted(probability, reverse=True)
    assert min(probability) >= 0.2
    assert len(cells) == np.count_nonzero(scanned.cell_probability >= 0.2)
    assert cells["nr"].to_pylist() == [f"n{row}" for row in cells["row"].to_pylist()]
    of_city = {line["row"]: line for line in cells.to_pylist() if line["column"] == "city"}
    assert {20, 110, 250} <= set(of_city)
    assert of_city[110]["suggested"] == "Bremen"
    assert of_city[110]["reason"].startswith("city is 'Brexen': ")
    assert of_city[110]["evidence"].split(", ")[0] == of_city[110]["kind"]
    for row, column, value in zip(cells["row"], cells["column"], probability, strict=True):
        assert scanned.cell_probability[row.as_py(), scanned.judged_columns.index(column.as_py())] == value
    assert len(scanned.wrong_cells(above=1.0)) <= len(scanned.wrong_cells()) <= len(cells)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_wrong_cells_are_of_the_callers_library(make, scanned):
    found = rfod.scan(make(misspelt()), key="nr", n_estimators=10, n_jobs=1).wrong_cells(0.2)
    assert type(found) is (pa.Table if make is pa.table else make)
    rows = found["row"].to_pylist() if make is pa.table else list(found["row"])
    assert rows == scanned.wrong_cells(0.2)["row"].to_pylist()


def test_a_key_with_the_name_of_a_field_keeps_apart():
    columns = misspelt()
    columns["reason"] = columns.pop("nr")
    cells = rfod.scan(pa.table(columns), key="reason", n_estimators=5, n_jobs=1).wrong_cells(0.2)
    assert cells.column_names == ["row", "reason (key)", *FIELDS_OF_CELLS]


def test_regularities_are_plain(scanned):
    rules = {rule.sentence: rule for rule in scanned.regularities()}
    assert "total = net + tax in 299 of 300 rows" in rules
    rule = rules["total = net + tax in 299 of 300 rows"]
    assert (rule.kind, rule.columns, rule.n_rows, rule.exceptions) == ("sum", ("total", "net", "tax"), 300, (77,))
    assert rule.to_json()["exceptions"] == [77]
    assert str(rule) == rule.sentence


def test_no_rate_for_the_rows_of_the_fit(scanned):
    for call in (
        lambda: scanned.flag(fdr=0.05),
        lambda: scanned.flag_cells(),
        lambda: scanned.flag_cells(0.1),
        lambda: scanned.cells(fdr=0.05),
        lambda: scanned.patterns(fdr=0.05),
    ):
        with pytest.raises(ParameterError, match=r"new rows that a fitted model judges(.|\n)*wrong_cells"):
            call()
    assert scanned.flag(top=3).sum() == 3
    assert scanned.flag().tolist() == (scanned.cell_probability >= 0.9).any(axis=1).tolist()
    with pytest.raises(ParameterError, match="above is 0"):
        scanned.wrong_cells(above=0)


def test_explanations_tell_wrong_cells(scanned):
    told = scanned.explain(20)
    wrong = {cell.column: cell for cell in told.wrong}
    assert [cell.probability for cell in told.wrong] == sorted((c.probability for c in told.wrong), reverse=True)
    assert all(cell.row == 20 and cell.probability >= 0.5 for cell in told.wrong)
    assert set(wrong) == {c.column for c in scanned.suspects() if c.row == 20}
    assert "highest of 300 rows" in told.title
