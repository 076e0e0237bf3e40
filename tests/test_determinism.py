"""Same seed, same bits: whatever the threads, the library, the order of rows or the batches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rfod
from tables import IN_LIBRARY, as_arrow, as_pandas, mixed_columns, small

COLUMNS = mixed_columns(150)
OTHERS = mixed_columns(60, seed=1)


def assert_same_bits(one, other, rows=slice(None)):
    """Two detections agree in every bit; `rows` picks those of the second that the first is about."""
    for name in ("row_scores", "cell_scores", "uncertainty", "weights", "surprise", "row_p_values", "p_values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name)[rows], strict=True, err_msg=name)
    for mine, theirs in zip(one.judged.cells.expected, other.judged.cells.expected, strict=True):
        np.testing.assert_array_equal(mine, theirs[rows], strict=True)


@pytest.fixture(scope="module")
def fitted():
    return small().fit(as_arrow(COLUMNS))


@pytest.fixture(scope="module")
def found(fitted):
    return fitted.detect(as_arrow(OTHERS))


@pytest.mark.parametrize("n_jobs", [2, 4, -1, None])
def test_threads(found, n_jobs, tmp_path):
    detector = small(n_jobs=n_jobs).fit(as_arrow(COLUMNS))
    assert_same_bits(found, detector.detect(as_arrow(OTHERS)))
    assert_same_bits(small().fit_detect(as_arrow(COLUMNS)), detector.fit_detect(as_arrow(COLUMNS)))


def test_threads_with_many_trees_and_few_columns():
    frame = as_pandas(COLUMNS)[["level", "city"]]
    first, *others = [small(n_estimators=60, n_jobs=n_jobs).fit(frame) for n_jobs in (1, 2, 4)]
    for other in others:
        assert_same_bits(first.detect(frame), other.detect(frame))
        for mine, theirs in zip(first.model_.forests, other.model_.forests, strict=True):
            np.testing.assert_array_equal(mine.trees.words, theirs.trees.words)
            np.testing.assert_array_equal(mine.importances, theirs.importances)


@pytest.mark.parametrize("library", IN_LIBRARY)
def test_libraries(found, fitted, library):
    make = IN_LIBRARY[library]
    assert_same_bits(found, small().fit(make(COLUMNS)).detect(make(OTHERS)))
    assert_same_bits(found, fitted.detect(make(OTHERS)))  # fitted with one library, asked with another


def test_arrays_are_tables_without_names():
    array = np.random.default_rng(0).normal(size=(80, 4))
    array[::9, 1] = np.nan
    tables = [
        array,
        np.asfortranarray(array),
        array.tolist(),
        np.ma.masked_invalid(array),
        pd.DataFrame(array),
        pl.DataFrame(array, schema=list("abcd")),
        pa.table({name: array[:, j] for j, name in enumerate("abcd")}),
    ]
    first, *others = [small().fit(table).detect(table) for table in tables]
    for other in others:
        assert_same_bits(first, other)


def test_text_in_other_clothes(found, fitted):
    frame = as_pandas(OTHERS)
    for kind in ("category", "string", "string[pyarrow]", object):
        assert_same_bits(found, fitted.detect(frame.astype({"city": kind})))


def test_order_of_rows(found, fitted):
    order = np.random.default_rng(0).permutation(len(found))
    assert_same_bits(fitted.detect(as_arrow(OTHERS).take(order)), found, order)


@pytest.mark.parametrize("size", [1, 7, 60])
def test_batches(found, fitted, size):
    table = as_arrow(OTHERS)
    for start in range(0, len(found), size):
        rows = slice(start, start + size)
        assert_same_bits(fitted.detect(table.slice(start, size)), found, rows)


def test_more_rows_than_a_task_takes(fitted):
    rows = np.arange(20_000) % 60
    assert_same_bits(fitted.detect(as_arrow(OTHERS).take(rows)), fitted.detect(as_arrow(OTHERS)), rows)


def test_saved_and_loaded(found, fitted, tmp_path):
    fitted.save(tmp_path / "m.rfod")
    assert_same_bits(found, rfod.load(tmp_path / "m.rfod").detect(as_arrow(OTHERS)))


def test_files_are_equal_byte_for_byte(tmp_path):
    for name in ("one", "other"):
        small().fit(as_arrow(COLUMNS)).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    rfod.load(tmp_path / "one").save(tmp_path / "again")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "again").read_bytes()


def test_another_seed_gives_another_model(found):
    other = small(random_state=1).fit(as_arrow(COLUMNS)).detect(as_arrow(OTHERS))
    assert not np.array_equal(found.row_scores, other.row_scores)


def test_detection_leaves_the_table_and_the_model_alone(fitted):
    frame = as_pandas(OTHERS)
    copy = frame.copy(deep=True)
    first = fitted.detect(frame)
    pd.testing.assert_frame_equal(frame, copy)
    assert_same_bits(first, fitted.detect(frame))


# -------------------------------------------------------------------------------------- what must make no difference


def untied(n_rows, seed):
    """Columns of which no two order the rows alike: between equally good cuts rounding would choose."""
    rng = np.random.default_rng(seed)
    array = rng.normal(size=(n_rows, 3))
    array[:, 1] += array[:, 0]
    array[::11, 2] = np.nan
    frame = pd.DataFrame(array, columns=["one", "two", "three"])
    return frame.assign(word=np.where(array[:, 0] + rng.normal(size=n_rows) > 0, "u", "v"))


@pytest.mark.parametrize("column", ["one", "two", "three"])
@pytest.mark.parametrize(("factor", "shift"), [(1000.0, 0.0), (0.001, 0.0), (1.0, 500.0), (7.3, -11.0)])
def test_units_of_a_number_do_not_matter(column, factor, shift):
    frame, others = untied(200, 0), untied(50, 1)
    before = small(n_estimators=12).fit(frame).detect(others)
    frame[column], others[column] = (table[column] * factor + shift for table in (frame, others))
    after = small(n_estimators=12).fit(frame).detect(others)
    np.testing.assert_allclose(after.row_scores, before.row_scores, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(after.cell_scores, before.cell_scores, atol=1e-6)
    np.testing.assert_allclose(after.weights, before.weights, atol=1e-6)


def test_units_matter_to_the_papers_weights():
    frame = untied(200, 0)
    thousands = frame.assign(one=frame["one"] * 1000)
    weights = [small(uncertainty="raw").fit(table).detect(table).weights for table in (frame, thousands)]
    assert not np.allclose(*weights, atol=0.1)


@pytest.mark.parametrize("factor", [1000.0, 0.001])
def test_units_do_not_decide_between_equal_cuts(factor):
    frame = untied(200, 0).assign(twin=lambda table: table["one"] * 3)  # orders the rows like "one"
    scaled = frame.assign(one=frame["one"] * factor)
    scores = [small(n_estimators=12).fit(table).detect(table).row_scores for table in (frame, scaled)]
    np.testing.assert_allclose(*scores, atol=1e-6)


def test_an_unused_category_changes_nothing():
    frame, others = as_pandas(COLUMNS), as_pandas(OTHERS)
    used = pd.CategoricalDtype(["Oslo", "Bergen", "Bodø"])
    more = pd.CategoricalDtype(["Tromsø", "Bodø", "Oslo", "Bergen", "Alta"])
    one, other = (small().fit(frame.astype({"city": kind})).detect(others) for kind in (used, more))
    assert_same_bits(one, other)


def test_an_ignored_column_changes_nothing(found):
    frame = as_pandas(COLUMNS).assign(extra=range(150))
    detector = small(column_types={"extra": "ignore"}).fit(frame)
    assert_same_bits(found, detector.detect(as_arrow(OTHERS)))
