"""Inputs of whole tables: any table, rows in any order, new rows alone and together."""

import datetime as dt
import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfod._evidence.collect import collect
from rfod._evidence.inputs import CELL_INPUTS, GROUPS, NEVER_FALLING, group_of
from rfod._table.table import open_table
from rfod.exceptions import ColumnWarning, SchemaError
from rfod.params import Params
from rfod.pipeline import detect, fit_detect

PLACE = {name: place for place, name in enumerate(CELL_INPUTS)}


def fitted(columns, **params):
    """A model and its table, judged, with all evidence on its cells."""
    table = open_table(pa.table(columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        model, found = fit_detect(table, Params(**({"n_estimators": 4, "random_state": 0, "n_jobs": 1} | params)))
    return model, found, collect(found.judged, table)


def orders(n_rows=150, seed=0):
    """Orders with a category that decides a rate, sums, dates, blanks and a few wrong cells."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["food", "book", "tool"], n_rows).tolist()
    net = rng.integers(100, 9_000, n_rows) / 100
    tax = np.round(net * [0.19 if name == "tool" else 0.07 for name in kind], 2)
    start = dt.date(2024, 1, 1)
    columns = {
        "kind": kind,
        "rate": ["19 %" if name == "tool" else "7 %" for name in kind],
        "net": net.tolist(),
        "tax": tax.tolist(),
        "total": np.round(net + tax, 2).tolist(),
        "day": [start + dt.timedelta(days=int(k)) for k in rng.integers(0, 300, n_rows)],
        "empty": pa.nulls(n_rows, pa.string()),
        "same": ["x"] * n_rows,
    }
    columns["kind"][3], columns["kind"][4], columns["kind"][5] = "fodo", None, " book"
    columns["rate"][6] = "19 %" if columns["rate"][6] == "7 %" else "7 %"
    columns["total"][7] *= 10
    return columns


def test_groups_name_every_input_once():
    places = sorted(place for members in group_of().values() for place in members)
    assert places == list(range(len(CELL_INPUTS)))
    assert set(CELL_INPUTS) >= NEVER_FALLING
    assert "facts" in GROUPS


def test_wrong_cells_have_evidence_against_them():
    _, _, collected = fitted(orders(), n_estimators=20)
    names, values = collected.profile.names, collected.inputs.values

    def at(column, row, name):
        return values[names.index(column), row, PLACE[name]]

    assert at("kind", 3, "near") == pytest.approx(np.log((np.array(orders()["kind"]) == "food").sum()), rel=1e-6)
    assert at("kind", 4, "gap") == pytest.approx(np.log(151 / 2) + 0.1, rel=1e-6)
    assert at("kind", 5, "padded") == pytest.approx(np.log(151 / 2), rel=1e-6)
    assert at("kind", 6, "padded") == at("kind", 6, "gap") == 0
    assert at("rate", 6, "vote_best") > 20
    assert at("total", 7, "rule") == at("net", 7, "rule") == at("tax", 7, "rule") > 3
    assert at("total", 8, "rule") == 0
    assert at("total", 7, "isolation") > 0
    assert np.isfinite(values).all()


def test_parts_of_a_table_are_the_table():
    _, _, collected = fitted(orders())
    rows = np.array([3, 5, 90])
    for c in range(len(collected.profile.names)):
        whole = collected.inputs.column(c)
        np.testing.assert_array_equal(collected.inputs.cells(c, rows).values, whole.values[rows])
        collected.inputs.keep(c, whole.take(rows))
        np.testing.assert_array_equal(collected.inputs.cells(c, rows).values, whole.values[rows])
        for row in (3, 4):
            np.testing.assert_array_equal(collected.inputs.cell(c, row).values[0], whole.values[row])


@pytest.mark.parametrize("group", ["form", "spelling", "votes", "margin", "regularities", "facts"])
def test_inputs_follow_their_rows(group):
    """All but those of the forests, which draw rows by their position."""
    columns, order = orders(), np.random.default_rng(1).permutation(150)
    shuffled = {
        name: pa.array(values).take(pa.array(order)) if isinstance(values, list) else values
        for name, values in columns.items()
    }
    places = [place for place in group_of()[group] if not CELL_INPUTS[place].endswith("_fitness")]
    before, after = (fitted(table)[2].inputs.values[:, :, places] for table in (columns, shuffled))
    np.testing.assert_allclose(after, before[:, order], atol=1e-6)


def test_new_rows_have_the_same_bits_alone_and_together():
    columns = orders()
    model, _, _ = fitted(columns)
    new = orders(40, seed=9)
    new["kind"][0], new["rate"][1], new["total"][2], new["kind"][3] = "foood", "7%", -5.0, "unheard of"
    table = pa.table(new)

    def inputs(part):
        opened = open_table(part)
        found = detect(model, opened, n_jobs=1)
        return collect(found.judged, opened).inputs.values

    whole = inputs(table)
    assert np.isfinite(whole).all()
    for start in (0, 1, 2, 3, 20):
        np.testing.assert_array_equal(inputs(table.slice(start, 1))[:, 0], whole[:, start])
    np.testing.assert_array_equal(inputs(table.take(np.arange(40)[::-1]))[:, ::-1], whole)


any_text = st.text(max_size=8) | st.none() | st.just("y" * 3000)
any_number = st.floats(allow_nan=True, allow_infinity=True) | st.none()


@settings(max_examples=8)
@given(st.integers(2, 40), st.data())
def test_any_table_has_finite_inputs(n_rows, data):
    def column(values):
        return data.draw(st.lists(values, min_size=n_rows, max_size=n_rows))

    columns = {
        "text": pa.array(column(any_text), pa.string()),
        "number": pa.array(column(any_number), pa.float64()),
        "choice": pa.array(column(st.sampled_from(["a", "b", " b", "", None])), pa.string()),
        "day": pa.array(column(st.dates() | st.none()), pa.date32()),
        "size": pa.array(column(st.sampled_from([1, 2, 3])), pa.int64()),
    }
    try:
        _, found, collected = fitted(columns)
    except SchemaError:  # too few columns to learn from
        return
    values = collected.inputs.values
    assert values.shape == (5, n_rows, len(CELL_INPUTS))
    assert np.isfinite(values).all()
    assert np.isfinite(collected.order).all()
    probability = found.probabilities.probability
    assert ((probability >= 0) & (probability <= 1)).all()
