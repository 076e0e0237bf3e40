"""scikit-learn's conventions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rfod
from rfod import RFOD
from tables import as_arrow, as_pandas, mixed_columns, small

OUT_OF_BAG = "training rows are judged out of bag, by other trees than predict uses on the same rows: "
EXPECTED_FAILURES = {
    "check_outliers_fit_predict": OUT_OF_BAG + "fit_predict is not fit and then predict",
    "check_outliers_train": OUT_OF_BAG + "contamination is the share of new rows, not of rows the trees have learned",
}


@parametrize_with_checks([small(n_estimators=5)], expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def labelled():
    """Numbers that hang together, and rows in which they do not."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 1))
    array = np.hstack([x, 2 * x, -x]) + 0.05 * rng.normal(size=(300, 3))
    wrong = np.arange(300) % 30 == 0
    array[wrong, 1] *= -1
    return array, wrong


def test_get_params_set_params_and_clone():
    detector = RFOD(n_estimators=7, alpha=0.1, column_types={"a": "categorical"}, max_features="sqrt")
    copy = clone(detector)
    assert copy.get_params() == detector.get_params()
    assert clone(detector.set_params(beta=0.25)).beta == 0.25
    with pytest.raises(ValueError, match="Invalid parameter 'trees'"):
        detector.set_params(trees=3)
    assert "n_estimators=7" in repr(detector)


def test_clone_of_a_fitted_detector_is_not_fitted(labelled):
    detector = small().fit(labelled[0])
    with pytest.raises(NotFittedError):
        clone(detector).predict(labelled[0])


def test_parameters_may_change_after_fit_without_changing_the_model(labelled, tmp_path):
    detector = small().fit(labelled[0])
    before = detector.score_samples(labelled[0])
    detector.set_params(distance="gower", aggregation="mean", n_estimators=50)
    np.testing.assert_array_equal(detector.score_samples(labelled[0]), before)
    detector.save(tmp_path / "m.rfod")
    loaded = rfod.load(tmp_path / "m.rfod")
    np.testing.assert_array_equal(loaded.score_samples(labelled[0]), before)
    assert loaded.get_params()["n_estimators"] == 6  # of the model in the file


@pytest.mark.parametrize(
    "use",
    [
        lambda detector, X: detector.detect(X),
        lambda detector, X: detector.predict(X),
        lambda detector, X: detector.score_samples(X),
        lambda detector, X: detector.decision_function(X),
        lambda detector, X: detector.save("never.rfod"),
        lambda detector, X: detector.forests_,
        lambda detector, X: list(detector.detect_batches([X])),
    ],
)
def test_nothing_works_before_fit(use, labelled):
    with pytest.raises(NotFittedError):
        use(RFOD(), labelled[0])


def test_feature_names_and_number():
    frame = as_pandas(mixed_columns(40))
    detector = small().fit(frame)
    assert detector.n_features_in_ == 8
    assert detector.feature_names_in_.tolist() == list(frame.columns)
    detector.fit(frame[["level", "double"]].fillna(0).to_numpy())
    assert detector.n_features_in_ == 2
    assert not hasattr(detector, "feature_names_in_")


def test_fit_returns_itself_and_ignores_y(labelled):
    array, wrong = labelled
    detector = small()
    assert detector.fit(array, wrong) is detector
    np.testing.assert_array_equal(detector.score_samples(array), small().fit(array).score_samples(array))


def test_refit_forgets(labelled):
    detector = small().fit(as_arrow(mixed_columns(50)))
    detector.fit(labelled[0])
    np.testing.assert_array_equal(
        detector.score_samples(labelled[0]), small().fit(labelled[0]).score_samples(labelled[0])
    )


def test_pipeline(labelled):
    array, wrong = labelled
    pipeline = make_pipeline(StandardScaler(), small(n_estimators=20)).fit(array)
    assert roc_auc_score(wrong, -pipeline.score_samples(array)) > 0.9
    assert set(pipeline.predict(array)) <= {-1, 1}
    named = make_pipeline(StandardScaler().set_output(transform="pandas"), small())
    named.fit(pd.DataFrame(array, columns=["a", "b", "c"]))
    assert list(named[-1].feature_names_in_) == ["a", "b", "c"]


def test_grid_search_with_a_scorer(labelled):
    array, wrong = labelled

    def ranks_wrong_rows_first(detector, X, y):
        return roc_auc_score(y, -detector.score_samples(X))

    grid = {"beta": [0.5, 1.0], "max_samples": np.array([3, 100])}
    search = GridSearchCV(small(), grid, scoring=ranks_wrong_rows_first, cv=2, error_score="raise").fit(array, wrong)
    assert search.best_params_["max_samples"] == 100  # three rows are not enough to learn from
    assert search.best_score_ > 0.8


def test_a_seed_may_be_a_random_state(labelled):
    array, _ = labelled
    one, other = (small(random_state=np.random.RandomState(5)).fit(array).score_samples(array) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    without = [small(random_state=None).fit(array).score_samples(array) for _ in range(2)]
    assert not np.array_equal(*without)
