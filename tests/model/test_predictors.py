"""Wide tables: which columns predict a column, and that all that is made from a model works with some of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import rfod
from rfod._evidence.stored import save_model
from rfod._model.executor import Threads
from rfod._model.fit import prepare
from rfod._model.predictors import DRAWN_SHARE, choose_predictors
from rfod._table.table import open_table
from rfod.params import Params
from tables import small

PARTS = ("row_scores", "cell_scores", "uncertainty", "surprise", "p_values", "row_p_values")
N_NOISE, N_ROWS = 300, 400
DATES = (1990, 2020), (1, 13), (1, 28)  # years, months and days, the ends left out


def wide(n_rows: int = N_ROWS, n_noise: int = N_NOISE, seed: int = 0) -> pd.DataFrame:
    """Noise, with dependent columns among it: numbers, a category that follows one, a date whose month tells one."""
    rng = np.random.default_rng(seed)
    columns = {f"noise_{k}": rng.normal(size=n_rows) for k in range(n_noise)}
    cause, year, month, day = rng.normal(size=n_rows), *(rng.integers(*ends, n_rows) for ends in DATES)
    columns |= {
        "cause": cause,
        "effect": np.abs(cause) + 0.05 * rng.normal(size=n_rows),  # no correlation
        "grade": np.array(["low", "middle", "high"])[np.digitize(cause, [-0.5, 0.5])],
        "day": pd.to_datetime({"year": year, "month": month, "day": day}),
        "heat": np.cos(month / 6 * np.pi) + 0.05 * rng.normal(size=n_rows),
    }
    return pd.DataFrame(columns)[sorted(columns, key=lambda name: name[::-1])]  # not side by side


@pytest.fixture(scope="module")
def table():
    return wide()


@pytest.fixture(scope="module")
def detector(table):
    return small(n_estimators=10, keep_evidence=False).fit(table)


def predictors_of(detector, name):
    columns = [column.name for column in detector.model_.schema.columns]
    return {columns[j] for j in detector.model_.forests[columns.index(name)].predictors}


def chosen_for(table, seed=5, **params):
    return prepare(open_table(table), None, Params(**params), seed, Threads(1)).predictors.chosen


def assert_equal_lists(one, other):
    for own, wanted in zip(one, other, strict=True):
        np.testing.assert_array_equal(own, wanted, strict=True)


def assert_same(one, other):
    for part in PARTS:
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part), strict=True)


def test_a_planted_dependency_is_found_among_noise(detector):
    assert "cause" in predictors_of(detector, "effect")
    assert {"effect", "grade"} <= predictors_of(detector, "cause")
    assert "cause" in predictors_of(detector, "grade")
    assert detector.forests_["effect"].fitness > 0.7
    assert next(iter(detector.forests_["effect"].importances)) == "cause"


def test_a_date_counts_by_its_most_informative_part(detector):
    assert "day" in predictors_of(detector, "heat")
    assert detector.forests_["heat"].fitness > 0.6


def test_each_column_has_as_many_predictors_as_allowed(detector, table):
    n_columns = table.shape[1]
    for j, forest in enumerate(detector.model_.forests):
        assert len(forest.predictors) == 48
        assert (np.diff(forest.predictors) > 0).all()
        assert j not in forest.predictors
        assert 0 <= forest.predictors[0] <= forest.predictors[-1] < n_columns
        assert not forest.importances[np.setdiff1d(np.arange(n_columns), forest.predictors)].any()
    assert {summary.n_predictors for summary in detector.forests_.values()} == {48}


def test_some_are_drawn_by_lot(table):
    """Another seed draws others; the most informative ones stay."""
    kept = zip(chosen_for(table, seed=1), chosen_for(table, seed=2), strict=True)
    n_common = [len(np.intersect1d(one, other)) for one, other in kept]
    assert min(n_common) >= 48 - int(DRAWN_SHARE * 48)
    assert np.mean(n_common) < 45


def test_which_they_are_does_not_depend_on_values_but_their_order(table):
    """Bins by rank: a column in another unit, or on another scale, changes nothing."""
    changed = table.assign(cause=np.exp(table["cause"]), noise_3=1000 * table["noise_3"] + 7)
    assert_equal_lists(chosen_for(table), chosen_for(changed))


def test_rows_in_another_order_change_nothing(table):
    """All rows are looked at, up to 4,096."""
    shuffled = table.sample(frac=1, random_state=3)
    params = Params(random_state=0)
    one, other = (
        prepare(open_table(data), None, params, 5, Threads(1)).predictors.chosen for data in (table, shuffled)
    )
    assert all(np.array_equal(*pair) for pair in zip(one, other, strict=True))


@pytest.mark.parametrize("limit", [9, 48, None])
def test_tables_with_no_more_columns_than_the_limit_are_as_without(limit):
    table = wide(n_noise=5, n_rows=150)  # 10 columns, so 9 others
    found, wanted = (small(max_predictors=most).fit(table).detect(table) for most in (limit, 1000))
    assert_same(found, wanted)
    assert chosen_for(table, max_predictors=limit) is None


def test_the_papers_letter_looks_at_all_columns(table):
    fitted = rfod.RFOD.as_published(n_estimators=1, random_state=0, n_jobs=1).fit(table.iloc[:60, :60])
    assert {summary.n_predictors for summary in fitted.forests_.values()} == {59}
    assert rfod.RFOD.as_published(max_predictors=7).max_predictors == 7


def test_the_same_bits_on_any_number_of_threads(table, detector):
    other = clone(detector).set_params(n_jobs=3).fit(table)
    assert_same(other.detect(table), detector.detect(table))


def test_saved_and_loaded(table, detector, tmp_path):
    detector.save(tmp_path / "wide.rfod")
    loaded = rfod.load(tmp_path / "wide.rfod")
    for one, other in zip(loaded.model_.forests, detector.model_.forests, strict=True):
        np.testing.assert_array_equal(one.predictors, other.predictors, strict=True)
    assert loaded.max_predictors == 48
    assert_same(loaded.detect(table), detector.detect(table))


@pytest.mark.parametrize("wrong", ["itself", "beyond the table", "not the one it splits on"])
def test_files_with_other_predictors_are_refused(detector, tmp_path, wrong):
    model = detector.model_
    place = [column.column.name for column in model.columns].index("effect")
    forest = model.columns[place].forest
    changed = {
        "itself": np.sort(np.append(forest.predictors[1:], place)),
        "beyond the table": np.append(forest.predictors[:-1], len(model.columns)),
        "not the one it splits on": forest.predictors[forest.importances[forest.predictors] == 0],
    }[wrong]
    columns = list(model.columns)
    columns[place] = replace(columns[place], forest=replace(forest, predictors=changed))
    save_model(replace(model, columns=tuple(columns)), tmp_path / "bad.rfod")
    with pytest.raises(rfod.ModelFormatError, match=r"predicted from itself|malformed"):
        rfod.load(tmp_path / "bad.rfod")


def test_columns_with_nothing_to_split_on_take_no_place():
    table = wide(n_noise=40)
    for k in range(30):
        table[f"constant_{k}"] = 7
    fitted = small(max_predictors=20).fit(table)
    assert not any(name.startswith("constant") for name in predictors_of(fitted, "effect"))
    assert fitted.forests_["constant_3"].n_predictors == 20


def test_more_places_than_columns_to_choose_from():
    """A limit below the columns of the table, but few of them vary."""
    table = wide(n_noise=2, n_rows=60).assign(**{f"constant_{k}": 1 for k in range(12)})
    fitted = small(max_predictors=10).fit(table)
    assert fitted.forests_["effect"].n_predictors == 6


def test_a_wrong_value_is_found_blamed_and_explained(table, detector):
    spoilt = wide(60, seed=9)
    spoilt.loc[5, "effect"] = 9.0
    found = detector.detect(spoilt)
    place = found.columns.index("effect")
    assert np.unravel_index(np.nanargmax(found.surprise), found.surprise.shape) == (5, place)
    low, high = found.intervals([5], level=0.9)
    assert low[0, place] <= abs(spoilt.loc[5, "cause"]) + 0.5
    assert high[0, place] < 5
    assert found.blame(5).columns[0] == "effect"
    cell = next(cell for cell in found.explain(5).cells if cell.column == "effect")
    assert {condition.column for condition in cell.conditions} <= {"cause", "grade"}
    assert cell.blamed


def test_scan_and_self_check():
    table = wide(150, n_noise=30)
    found = rfod.scan(table, n_estimators=4, n_jobs=1, max_predictors=12)
    assert found.cell_probability.shape == (150, 35)
    check = rfod.self_check(small(n_estimators=4, max_predictors=12).fit(table), table.iloc[:60])
    assert 0 <= check.recall() <= 1


def test_information_is_measured_on_a_sample_of_the_rows(monkeypatch):
    """Fewer rows than the table has, the same ones for a seed."""
    monkeypatch.setattr("rfod._model.predictors.SCREENED_ROWS", 300)
    table = wide(n_noise=60)
    prepared = prepare(open_table(table), None, Params(max_predictors=16), 3, Threads(1))
    arguments = prepared.features, prepared.predictors.codes, len(prepared.schema.columns), 16
    again = choose_predictors(*arguments, 3, Threads(2))
    assert_equal_lists(prepared.predictors.chosen, again)
    names = [column.name for column in prepared.schema.columns]
    assert names.index("cause") in again[names.index("effect")]
