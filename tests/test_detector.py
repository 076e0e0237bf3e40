"""Parameters of the detector, what they change, and what is known of the forests after fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import rfod
from rfod import RFOD, ColumnWarning, ParameterError, SchemaError
from rfod._model.executor import Threads
from rfod._model.fit import CALIBRATION_ROWS
from rfod._model.judge import judge
from rfod.params import Params
from rfod.pipeline import detect, fit_model
from tables import as_arrow, as_pandas, mixed_columns, small


@pytest.fixture(scope="module")
def table():
    return as_arrow(mixed_columns(100))


WRONG = {
    "columns": ["a", 3, [1, 2]],
    "exclude": ["a", 3, [1, 2]],
    "n_estimators": [0, -1, 2.0, "10", None, True, float("nan")],
    "alpha": [0, 0.5, -0.1, 1, "0.1", None, float("nan"), True],
    "beta": [0, 1.1, -1, "all", None, float("nan"), True],
    "max_features": [0, -1, 0.0, 1.5, "all", True, float("nan"), [1]],
    "max_predictors": [0, -1, 1.5, "all", True, float("nan")],
    "min_samples_leaf": [0, 0.1, "5", None, True],
    "max_depth": [0, -1, 2.5, "deep", True],
    "max_samples": [0, -1, 0.0, 1.5, "all", True, float("inf")],
    "max_bins": [1, 0, 256, 10.0, None, True],
    "fitness": ["r2", None, 1],
    "uncertainty": ["Scaled", None, 1, True, ["raw"]],
    "aggregation": ["median", None, 0],
    "distance": ["euclid", None, "AGD"],
    "trim": [-0.1, 0.5, 1, "auto", None, True, float("nan")],
    "contamination": [0, 0.6, -1, "some", None, True, float("nan")],
    "keep_evidence": [0, 1, "yes", None],
    "column_types": ["numeric", ["a"], {"level": 1}, {1: "numeric"}],
    "random_state": [-1, 2**32, 1.5, "seed", True],
    "n_jobs": [0, 1.5, "all", True],
    "verbose": [-1, "yes", None, 0.5],
}


def test_every_parameter_has_wrong_values_under_test():
    assert set(WRONG) == set(RFOD().get_params())


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_wrong_values_are_named_with_what_is_allowed(table, name, value):
    with pytest.raises(ParameterError) as caught:
        RFOD(**{name: value}).fit(table)
    text = str(caught.value)
    assert text.startswith(f"{name} is {value!r}; it must be ")
    assert len(text.split("it must be ")[1]) > 4
    assert isinstance(caught.value, ValueError)


def test_parameters_are_checked_before_the_table_is_read():
    with pytest.raises(ParameterError, match="n_estimators"):
        RFOD(n_estimators=0).fit("no table")


@pytest.mark.parametrize(
    "params",
    [
        {"alpha": np.float32(0.1), "beta": np.float64(1), "contamination": 0.5},
        {"max_features": np.int64(2), "max_samples": np.int32(30), "max_depth": np.int16(3)},
        {"max_features": "sqrt", "max_samples": None},
        {"max_features": "log2", "max_samples": 0.5},
        {"max_features": None, "max_samples": 1.0, "max_bins": 2},
        {"max_features": 1, "max_samples": 1},
        {"max_features": 10**6, "max_samples": 10**6, "min_samples_leaf": 10**6},
        {"n_jobs": None, "random_state": np.random.RandomState(3), "verbose": True},
        {"n_jobs": -100, "random_state": None, "verbose": 2},
        {"trim": 0.1, "column_types": {"count": "categorical", "day": "ignore"}},
        {"n_estimators": 1, "beta": 0.01, "min_samples_leaf": 1},
    ],
)
def test_right_values_fit_save_and_score(table, params, tmp_path):
    detector = small(**params).fit(table)
    scores = detector.detect(table).row_scores
    assert np.isfinite(scores).all()
    detector.save(tmp_path / "m.rfod")
    np.testing.assert_array_equal(rfod.load(tmp_path / "m.rfod").detect(table).row_scores, scores)


def test_whole_numbers_of_numpy_mean_what_whole_numbers_mean(table):
    for name in ("max_features", "max_samples", "max_depth", "n_estimators", "min_samples_leaf"):
        plain, numpy_ones = (small(**{name: kind(3)}).fit(table).score_samples(table) for kind in (int, np.int64))
        np.testing.assert_array_equal(plain, numpy_ones)


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("alpha", 0.01, 0.25),
        ("beta", 0.2, 1.0),
        ("max_features", 1, None),
        ("max_features", "sqrt", 1.0),
        ("min_samples_leaf", 1, 30),
        ("max_depth", 1, None),
        ("max_samples", 10, "auto"),
        ("max_samples", 0.3, None),
        ("max_bins", 3, 255),
        ("uncertainty", "scaled", "raw"),
        ("aggregation", "uncertainty", "mean"),
        ("distance", "agd", "gower"),
        ("distance", "gower", "gower-iqr"),
        ("trim", 0.0, 0.2),
        ("random_state", 0, 1),
        ("column_types", None, {"count": "categorical"}),
    ],
)
def test_options_change_the_scores(table, name, one, other):
    scores = [small(**{name: value}).fit(table).score_samples(table) for value in (one, other)]
    assert not np.array_equal(*scores)


def test_same_meaning_gives_the_same_scores(table):
    def scores(**params):
        return small(**params).fit(table).score_samples(table)

    np.testing.assert_array_equal(scores(max_samples="auto"), scores(max_samples=None))  # fewer rows than the cap
    np.testing.assert_array_equal(scores(max_samples=None), scores(max_samples=1.0))
    np.testing.assert_array_equal(scores(max_features=None), scores(max_features=1.0))
    np.testing.assert_array_equal(scores(max_depth=None), scores(max_depth=1000))


def test_beta_keeps_that_share_of_the_trees_best_first(table):
    for beta, n_kept in ((1.0, 8), (0.5, 4), (0.3, 2), (0.01, 1)):
        for summary in small(n_estimators=8, beta=beta).fit(table).forests_.values():
            assert len(summary.tree_fitness) == 8
            assert len(summary.kept) == len(set(summary.kept)) == n_kept
            by_fitness = np.argsort(-summary.tree_fitness, kind="stable")
            np.testing.assert_array_equal(summary.kept, by_fitness[:n_kept])


def test_plain_mean_gives_all_cells_weight_one(table):
    found = small(aggregation="mean").fit(table).detect(table)
    assert (found.weights == 1).all()
    np.testing.assert_allclose(found.row_scores, np.nanmean(found.cell_scores, axis=1), rtol=1e-12)


def test_row_score_is_the_mean_of_weight_times_cell_score(table):
    found = small(aggregation="uncertainty").fit(table).detect(table)
    np.testing.assert_allclose(found.row_scores, np.nanmean(found.weights * found.cell_scores, axis=1), rtol=1e-12)
    assert ((found.weights >= 0) & (found.weights <= 1)).all()
    np.testing.assert_allclose(found.weights.sum(axis=1), len(found.columns) - 1)


def test_distances_divide_by_their_own_range(table):
    ranges = {kind: small(distance=kind).fit(table).model_.ranges for kind in ("agd", "gower", "gower-iqr")}
    level = np.array(table.column("level"))
    assert ranges["gower"][0] == np.ptp(level)
    assert ranges["agd"][0] == pytest.approx(np.subtract(*np.quantile(level, [0.98, 0.02])))
    assert ranges["gower-iqr"][0] == pytest.approx(np.subtract(*np.quantile(level, [0.75, 0.25])))
    place = list(table.column_names).index("city")
    scores = small(distance="gower").fit(table).detect(table).cell_scores[:, place]
    assert set(scores[~np.isnan(scores)]) <= {0.0, 1.0}


def test_column_types_decide(table):
    detector = small(column_types={"count": "categorical", "day": "ignore"}).fit(table)
    assert detector.forests_["count"].measure == "AUC"
    assert "day" not in detector.forests_
    assert list(detector.feature_names_in_) == table.column_names
    with pytest.raises(SchemaError, match="did you mean 'city'"):
        small(column_types={"City": "categorical"}).fit(table)
    with pytest.raises(SchemaError, match="did you mean 'numeric'"):
        small(column_types={"count": "numerical"}).fit(table)


def test_forests_tell_what_predicts_what():
    rng = np.random.default_rng(1)
    n_rows = 400
    cause, noise = rng.normal(size=n_rows), rng.normal(size=n_rows)
    kind = rng.choice(["u", "v", "w"], n_rows)
    frame = pd.DataFrame(
        {
            "cause": cause,
            "effect": 3 * cause + 0.05 * rng.normal(size=n_rows),
            "noise": noise,
            "kind": kind,
            "twin": np.char.upper(kind),
            "same": 7.0,
        }
    )
    forests = small(n_estimators=10, max_features=None).fit(frame).forests_
    assert list(forests) == list(frame.columns)
    assert [summary.measure for summary in forests.values()] == ["R2", "R2", "R2", "AUC", "AUC", "R2"]
    assert forests["effect"].fitness > 0.95
    assert forests["kind"].fitness > 0.99
    assert forests["noise"].fitness < 0.2
    assert 0.35 < small(column_types={"noise": "ignore", "twin": "ignore"}).fit(frame).forests_["kind"].fitness < 0.65
    assert next(iter(forests["effect"].importances)) == "cause"
    assert forests["effect"].importances["cause"] > 0.9
    assert next(iter(forests["kind"].importances)) == "twin"
    for name, summary in forests.items():
        shares = list(summary.importances.values())
        assert name not in summary.importances
        assert shares == sorted(shares, reverse=True)
        assert shares == [] or sum(shares) == pytest.approx(1)
        assert summary.n_leaves >= len(summary.kept)
    assert np.isnan(forests["same"].fitness)
    assert forests["same"].importances == {}
    assert len(forests["same"].kept) == 1


def test_a_constant_column_finds_any_other_value():
    frame = pd.DataFrame({"a": np.arange(40.0) % 9, "same": 7.0, "word": "yes", "b": np.arange(40.0) % 5})
    found = (
        small()
        .fit(frame)
        .detect(pd.DataFrame({"a": [1.0, 1.0], "same": [7.0, 7.5], "word": ["yes", "no"], "b": [1.0, 1.0]}))
    )
    np.testing.assert_array_equal(found.cell_scores[:, [1, 2]], [[0, 0], [1, 1]])
    assert found.expected["same"].tolist() == [7.0, 7.0]
    assert found.expected["word"].tolist() == ["yes", "yes"]


def test_each_training_row_is_judged_only_by_trees_that_have_not_seen_it(table):
    trained = fit_model(table, Params(**small(n_estimators=7).get_params()))
    model = trained.model
    targets, judged = trained.rows.bags.targets, judge(model, trained.rows, Threads(1))
    block = np.ascontiguousarray(trained.rows.block)
    some_cell_without_judge = False
    for j, forest in enumerate(model.forests):
        bags = forest.bags(model.seed, targets[j].rows, table.num_rows)
        assert bags.shape == (len(forest.kept), table.num_rows)
        absent = np.setdiff1d(np.arange(table.num_rows), targets[j].rows)
        assert not bags[:, absent].any()  # a row without a value is in no bag
        draws = np.array([bags[:, row].sum() for row in range(table.num_rows)])
        assert 0.4 < (bags.sum() / (len(forest.kept) * len(targets[j].rows))) < 0.85
        some_cell_without_judge |= bool((draws == len(forest.kept)).any())
        for row in range(0, table.num_rows, 7):
            alone = block[row : row + 1]
            fresh = np.ascontiguousarray(bags[:, row : row + 1])
            if fresh.all():
                assert np.isnan(judged.cell_scores[row, j])
            elif not forest.n_classes:
                own = [trees_mean(forest, tree, alone) for tree in range(len(forest.kept)) if not bags[tree, row]]
                assert judged.expected[j][row] == pytest.approx(np.mean(own), rel=1e-12)
                assert judged.uncertainty[row, j] == pytest.approx(np.std(own), rel=1e-6, abs=1e-6)
    assert some_cell_without_judge


def trees_mean(forest, tree, block):
    """What one tree alone says."""
    others = np.ones((len(forest.kept), len(block)), dtype=np.uint8)
    others[tree] = 0
    return forest.predict_values(block, others)[0, 0]


def test_a_row_cannot_vouch_for_itself():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    frame = pd.DataFrame({"x": x, "y": x.copy(), "z": x + 0.01 * rng.normal(size=200)})
    frame.loc[17, "y"] = 40.0
    detector = small(n_estimators=40, min_samples_leaf=1, contamination=0.01)
    labels = detector.fit_predict(frame)
    own = detector.fit_detect(frame)
    new = detector.detect(frame)
    assert labels[17] == -1
    assert own.row_scores.argmax() == 17
    assert own.cell_scores[17, 1] > new.cell_scores[17, 1]  # here trees that learned the row predict it


def test_duplicates_of_a_wrong_row_do_vouch_for_it():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    frame = pd.DataFrame({"x": x, "y": x.copy(), "z": -x})
    frame.loc[0, "y"] = 40.0
    frame.loc[1:20, ["x", "y", "z"]] = frame.loc[0, ["x", "y", "z"]].to_numpy()
    alone = small(n_estimators=30, min_samples_leaf=1).fit_detect(frame[20:].reset_index(drop=True))
    many = small(n_estimators=30, min_samples_leaf=1).fit_detect(frame)
    assert many.cell_scores[0, 1] < 0.1 * alone.cell_scores[0, 1] * np.ptp(frame["y"])


def test_offset_is_the_quantile_of_training_scores_out_of_bag(table):
    detector = small(contamination=0.1)
    own = detector.fit_detect(table)
    assert detector.offset_ == -np.quantile(own.row_scores, 0.9)
    assert (detector.fit_predict(table) == -1).sum() == 10
    auto = small().fit(table)
    assert auto.offset_ == -np.quantile(own.row_scores, 0.99)


def test_methods_agree_in_scikit_learns_sign(table):
    detector = small().fit(table)
    scores = detector.detect(table).row_scores
    np.testing.assert_array_equal(detector.score_samples(table), -scores)
    np.testing.assert_array_equal(detector.decision_function(table), -scores - detector.offset_)
    np.testing.assert_array_equal(detector.predict(table), np.where(-scores < detector.offset_, -1, 1))


def test_trim_takes_the_worst_rows_out_of_training():
    frame = as_pandas(mixed_columns(100))
    frame.loc[3, "double"] = 1e6
    trained = fit_model(frame, Params(**small(n_estimators=20, trim=0.05).get_params()))
    for forest, target in zip(trained.model.forests, trained.rows.bags.targets, strict=True):
        assert 3 not in target.rows
        assert not forest.bags(trained.model.seed, target.rows, 100)[:, 3].any()
    untrimmed = small(n_estimators=20).fit(frame).detect(frame)
    assert detect(trained.model, frame).cell_scores[3, 1] > untrimmed.cell_scores[3, 1]


def test_a_column_whose_values_are_all_trimmed_keeps_them():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    frame["once"] = pd.Series([5.0])
    frame["word"] = pd.Series(["z"])
    frame.loc[0, ["a", "b"]] = 1e6
    found = small(trim=0.2).fit(frame).detect(frame)
    assert (found.expected["once"] == 5).all()
    assert (found.expected["word"] == "z").all()


def test_left_out_columns_are_told_in_one_warning():
    columns = mixed_columns(60)
    columns["code"] = [f"A-{row * 7919}" for row in range(60)]
    columns["nothing"] = [None] * 60
    columns["endless"] = [float("inf")] * 60
    with pytest.warns(ColumnWarning) as caught:
        detector = small().fit(as_arrow(columns))
    assert len(caught) == 1
    text = str(caught[0].message)
    assert all(name in text for name in ("'code'", "'nothing'", "'endless'", "Hint"))
    assert {"code", "nothing", "endless"}.isdisjoint(detector.forests_)


def test_large_tables_are_calibrated_on_a_sample():
    rng = np.random.default_rng(0)
    array = rng.normal(size=(CALIBRATION_ROWS + 500, 2))
    detector = small(n_estimators=2, max_samples=50).fit(array)
    assert len(detector.model_.calibration) == CALIBRATION_ROWS
    assert (np.diff(detector.model_.calibration) >= 0).all()


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (np.zeros((5, 1)), "Two are needed"),
        (np.zeros((1, 5)), "1 sample"),
        (np.zeros((0, 5)), "0 sample"),
        (np.zeros(5), "2D array"),
        (None, "None came"),
        ({"a": [1]}, "dict"),
        (pd.DataFrame({"a": [1, 2], "b": [None, None]}), "Two are needed"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "'a'"),
    ],
)
def test_tables_that_cannot_be_learned(data, part):
    with pytest.raises(SchemaError, match=part):
        small().fit(data)


def test_scan_is_fit_and_detect_out_of_bag(table):
    found = rfod.scan(table, n_estimators=6, random_state=0, n_jobs=1)
    np.testing.assert_array_equal(found.row_scores, small(trim=0.1).fit_detect(table).row_scores)


def test_more_columns_than_a_node_can_name(monkeypatch):
    monkeypatch.setattr("rfod._model.fit.MOST_FEATURES", 2)
    with pytest.raises(rfod.SchemaError, match="3 columns to learn from; a tree has room for 2"):
        rfod.RFOD(n_estimators=2).fit(np.random.default_rng(0).normal(size=(20, 3)))


def test_columns_and_exclude_choose_what_is_modelled(table):
    assert rfod.scan(table, columns=["city", "double", "count"], n_estimators=5).columns == ("double", "count", "city")
    rest = [name for name in table.column_names if name not in ("city", "day")]
    fitted = small(exclude=["city", "day"]).fit(table)
    assert [column.name for column in fitted.model_.schema.columns] == rest
    assert fitted.model_.schema.left_out == {"city": "ignored", "day": "ignored"}
    assert len(fitted.detect(table.drop_columns(["city", "day"])).columns) == len(rest)


def test_columns_that_are_not_there(table):
    with pytest.raises(SchemaError, match=r"There is no column 'citi' to exclude.\nHint: did you mean 'city'\?"):
        small(exclude=["citi"]).fit(table)
    with pytest.raises(SchemaError, match=r"There is no column 'price' to model.\nHint: the columns are 'level', "):
        small(columns=["double", "price"]).fit(table)


def test_a_model_file_keeps_its_columns(table, tmp_path):
    small(columns=["city", "double"], n_estimators=5).fit(table).save(tmp_path / "m.rfod")
    assert rfod.load(tmp_path / "m.rfod").columns == ["city", "double"]


def test_scan_gives_the_same_answer_twice(table):
    first, second = (rfod.scan(table, n_estimators=5).row_scores for _ in range(2))
    assert np.array_equal(first, second)
