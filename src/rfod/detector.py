"""The scikit-learn face: parameters, their checks, fit and detect. No mathematics."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rfod._forest.params import GrowthParams
from rfod._run.judging import judge, read_rows
from rfod._run.progress import terminal_progress
from rfod._run.training import Trained, train
from rfod._table.frames import Table, open_table
from rfod._table.schema import match_columns
from rfod.detection import Detection
from rfod.exceptions import ModelFormatError, ParameterError
from rfod.model import Model
from rfod.persist import load_model, save_model

Floats = NDArray[np.float64]
AUTO_CONTAMINATION = 0.01
SCAN_TRIM = 0.1


@dataclass(frozen=True)
class ForestSummary:
    """What is known of the forest of one column after `fit`."""

    measure: str
    """"R2" for numeric columns, "AUC" for categorical ones."""
    fitness: float
    """Of the kept trees together, each training row judged by trees that had not seen it; NaN for a constant column."""
    tree_fitness: Floats
    """Of every grown tree, on rows it had not seen."""
    kept: NDArray[np.int64]
    """Numbers of the kept trees, best first."""
    importances: Mapping[str, float]
    """Share of each other column in the impurity decrease of the kept trees; largest first, zeros left out."""
    n_leaves: int


class RFOD(OutlierMixin, BaseEstimator):
    """Random forest-based outlier detection for tables of numbers, categories and dates.

    Every column is predicted from the others by a random forest of its own. A cell scores by how far it lies from its
    prediction, a row by its cells and by how far it is from the nearest training row.

    Parameters
    ----------
    n_estimators : int, default 100
        Trees grown per column.
    alpha : float in (0, 0.5), default 0.02
        Residuals of a numeric column are divided by the distance between its `alpha` and `1 - alpha` quantiles.
    beta : float in (0, 1], default 0.5
        Share of the trees that is kept, the best ones on rows they have not seen. 1.0 switches pruning off.
    max_features : float, int, "sqrt", "log2" or None, default 1/3
        Features looked at per node: a share, a number, or all (None).
    min_samples_leaf : int, default 5
        Fewest distinct rows in a leaf.
    max_depth : int or None, default None
        Deepest level of a tree; None for no limit.
    max_samples : "auto", int, float or None, default "auto"
        Rows drawn (with replacement) per tree: "auto" for all, but at most 4,096; an int for at most that many; a
        float for a share; None for as many as there are.
    max_bins : int in 2..255, default 255
        Bins per numeric column; also the most categories of a column that can be told apart as predictors.
    uncertainty : "scaled" or "raw", default "scaled"
        Whether the spread of the trees is put in the unit of the cell score before it becomes a weight, or taken in
        the unit of the column, as the paper has it.
    aggregation : "consensus", "surprise", "uncertainty" or "mean", default "consensus"
        Row score: the paper's mean of cell scores, weighted by confidence ("uncertainty"), or not ("mean"); the root
        mean square of the surprise of its cells; or the consensus of the paper's score, surprise and the distance from
        the nearest training row, in which a typical row scores 1.
    distance : "agd", "gower" or "gower-iqr", default "agd"
        Cell score: the paper's Adjusted Gower's Distance, Gower's distance, or that with the interquartile range.
    trim : float in [0, 0.5), default 0
        Share of the training rows that is left out of a second fit: those that score highest in the first, each judged
        by trees that have not seen it. For training tables that hold outliers themselves.
    contamination : "auto" or float in (0, 0.5], default "auto"
        Share of rows like the training rows that `predict` calls outliers; "auto" is 0.01.
    column_types : mapping of column name to kind, optional
        Overrides what is guessed: "numeric", "categorical", "boolean", "datetime", "time", "duration", or one of
        "identifier", "text", "ignore" to leave the column out.
    random_state : int, RandomState or None, default None
        Seed. The same seed gives the same bits, whatever `n_jobs`.
    n_jobs : int or None, default -1
        Threads; -1 for all cores.
    verbose : int, default 0
        1 shows progress when stderr is a terminal.

    Attributes
    ----------
    model_ : Model
        The fitted model.
    forests_ : dict of column name to ForestSummary
        How predictable each column is, from what, and which trees were kept.
    n_features_in_ : int
        Columns of the training table.
    feature_names_in_ : ndarray of str
        Their names, if it had names.
    offset_ : float
        `decision_function` is `score_samples` minus this.
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        alpha: float = 0.02,
        beta: float = 0.5,
        max_features: float | int | str | None = 1 / 3,
        min_samples_leaf: int = 5,
        max_depth: int | None = None,
        max_samples: float | int | str | None = "auto",
        max_bins: int = 255,
        uncertainty: str = "scaled",
        aggregation: str = "consensus",
        distance: str = "agd",
        trim: float = 0.0,
        contamination: float | str = "auto",
        column_types: Mapping[str, str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.alpha = alpha
        self.beta = beta
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.max_samples = max_samples
        self.max_bins = max_bins
        self.uncertainty = uncertainty
        self.aggregation = aggregation
        self.distance = distance
        self.trim = trim
        self.contamination = contamination
        self.column_types = column_types
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -------------------------------------------------------------------------------------------------- fit and detect

    def fit(self, X: Any, y: Any = None) -> RFOD:
        """Learn from a table: a pandas, polars or pyarrow frame, or a 2-d array. `y` is ignored."""
        self._fit(X)
        return self

    def detect(self, X: Any, *, key: str | None = None) -> Detection:
        """Judge every row and cell of a table; columns are matched by name, in any order.

        `key` names a column whose values come back with every finding, in place of row numbers.
        """
        check_is_fitted(self, "model_")
        return self._detect(open_table(X), key, first_row=0)

    def detect_batches(self, batches: Iterable[Any], *, key: str | None = None) -> Iterator[Detection]:
        """Judge one table after another, as if they were one: row numbers run on. Only one batch is held at a time."""
        check_is_fitted(self, "model_")
        first_row = 0
        for batch in batches:
            table = open_table(batch)
            yield self._detect(table, key, first_row)
            first_row += table.n_rows

    def fit_detect(self, X: Any, *, key: str | None = None) -> Detection:
        """Fit to a table and judge its own rows, each only by trees that have not seen it."""
        table = open_table(X)
        trained = self._fit(table, key)
        with terminal_progress(bool(self.verbose)) as progress:
            judged = trained.judge_rows(None, self.n_jobs, progress)
        return Detection(trained.model, table, judged, key=key, own_rows=trained.rows, n_jobs=self.n_jobs)

    def _detect(self, table: Table, key: str | None, first_row: int) -> Detection:
        matched = match_columns(self.model_.schema, table)
        with terminal_progress(bool(self.verbose)) as progress:
            judged = judge(self.model_, read_rows(self.model_, matched), self.n_jobs, progress)
        return Detection(self.model_, matched, judged, given=table, key=key, first_row=first_row, n_jobs=self.n_jobs)

    def _fit(self, X: Any, key: str | None = None) -> Trained:
        check_params(self.get_params(deep=False))
        table = open_table(X)
        column_types = dict(self.column_types or {})
        if key is not None:
            column_types.setdefault(key, "identifier")
        growth = GrowthParams(
            n_trees=int(self.n_estimators),
            share_kept=float(self.beta),
            max_features=self.max_features,
            min_samples_leaf=int(self.min_samples_leaf),
            max_depth=self.max_depth,
            max_samples=self.max_samples,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        with terminal_progress(bool(self.verbose)) as progress:
            trained = train(
                table,
                column_types=column_types,
                params=growth,
                max_bins=int(self.max_bins),
                distance=self.distance,  # type: ignore[arg-type]  # checked above
                alpha=float(self.alpha),
                trim=float(self.trim),
                settings=self._settings(),
                n_jobs=self.n_jobs,
                progress=progress,
            )
        self._take(trained.model)
        return trained

    def _settings(self) -> dict[str, Any]:
        """Parameters as a model file holds them: plain JSON values."""
        settings = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        settings["column_types"] = dict(self.column_types) if self.column_types else None
        settings["random_state"] = settings["random_state"] if isinstance(settings["random_state"], int) else None
        return settings

    def _take(self, model: Model) -> None:
        """Set the fitted attributes."""
        self.model_ = model
        self.n_features_in_ = len(model.schema.names)
        if model.schema.has_names:
            self.feature_names_in_ = np.array(model.schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        share = AUTO_CONTAMINATION if self.contamination == "auto" else float(self.contamination)
        self.offset_ = -float(np.quantile(model.calibration, 1 - share))

    @property
    def forests_(self) -> dict[str, ForestSummary]:
        """Per modelled column, what is known of its forest."""
        check_is_fitted(self, "model_")
        names = [column.name for column in self.model_.columns]
        return {
            name: ForestSummary(
                measure="AUC" if forest.n_classes else "R2",
                fitness=float(fitness),
                tree_fitness=forest.fitness,
                kept=forest.kept,
                importances={
                    names[j]: float(forest.importances[j])
                    for j in np.argsort(-forest.importances, kind="stable")
                    if forest.importances[j] > 0
                },
                n_leaves=forest.trees.n_leaves,
            )
            for name, forest, fitness in zip(names, self.model_.forests, self.model_.fitness, strict=True)
        }

    # -------------------------------------------------------------------------------------------- scikit-learn's words

    def score_samples(self, X: Any) -> Floats:
        """Row scores with scikit-learn's sign: lower is more anomalous."""
        return -self.detect(X).row_scores

    def decision_function(self, X: Any) -> Floats:
        """Score minus `offset_`: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """-1 for outliers, 1 for the others."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        """Fit to a table and judge its own rows, each only by trees that have not seen it. -1 for outliers."""
        return np.where(-self.fit_detect(X).row_scores - self.offset_ < 0, -1, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    # ----------------------------------------------------------------------------------------------------- model files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file (by custom `.rfod`) that `rfod.load` reads on any machine."""
        check_is_fitted(self, "model_")
        save_model(self.model_, path)


def load(path: str | os.PathLike[str]) -> RFOD:
    """A fitted detector from a file that `RFOD.save` wrote. Reading it runs no code from the file."""
    model = load_model(path)
    try:
        detector = RFOD(**model.params)
        check_params(detector.get_params(deep=False))
    except (TypeError, ParameterError) as error:
        raise ModelFormatError(f"The model file is damaged: its parameters are not those of RFOD ({error}).") from error
    detector._take(model)
    return detector


def scan(table: Any, *, key: str | None = None, **params: Any) -> Detection:
    """Fit and judge one table: which of its own rows and cells do not fit the rest?

    Every row is judged only by trees that have not seen it, so it cannot vouch for itself. And because wrong rows of
    one sort vouch for each other, the tenth of the rows that scores highest at first is left out of a second fit
    (`trim=0.1`). `key` names a column that identifies rows; it is left out of the model. `params` are those of `RFOD`.
    """
    return RFOD(**{"trim": SCAN_TRIM} | params).fit_detect(table, key=key)


# ---------------------------------------------------------------------------------------------------------- parameters


def _plain(value: Any) -> Any:
    """A numpy scalar as the Python number it stands for."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _whole(value: Any, low: float, high: float = float("inf")) -> bool:
    return _number(value) and isinstance(value, Integral) and low <= value <= high  # type: ignore[operator]


def _between(value: Any, low: float, high: float) -> bool:
    """low < value <= high."""
    return _number(value) and bool(low < value <= high)


def _is_kinds(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(part, str) for item in value.items() for part in item)


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "n_estimators": (lambda v: _whole(v, 1, 2**31), "a whole number of at least 1"),
    "alpha": (lambda v: _between(v, 0, 0.5) and v < 0.5, "a number between 0 and 0.5, both excluded"),
    "beta": (lambda v: _between(v, 0, 1), "a number above 0 and at most 1"),
    "max_features": (
        lambda v: v is None or v in ("sqrt", "log2") if not isinstance(v, Real) else _whole(v, 1) or _between(v, 0, 1),
        "a share above 0 and at most 1, a whole number of at least 1, 'sqrt', 'log2' or None",
    ),
    "min_samples_leaf": (lambda v: _whole(v, 1, 2**31), "a whole number of at least 1"),
    "max_depth": (lambda v: v is None or _whole(v, 1, 2**31), "a whole number of at least 1, or None"),
    "max_samples": (
        lambda v: v is None or v == "auto" if not isinstance(v, Real) else _whole(v, 1, 2**31) or _between(v, 0, 1),
        "'auto', a whole number of at least 1, a share above 0 and at most 1, or None",
    ),
    "max_bins": (lambda v: _whole(v, 2, 255), "a whole number from 2 to 255"),
    "uncertainty": (lambda v: v in ("scaled", "raw"), "'scaled' or 'raw'"),
    "aggregation": (
        lambda v: v in ("uncertainty", "mean", "surprise", "consensus"),
        "'uncertainty', 'mean', 'surprise' or 'consensus'",
    ),
    "distance": (lambda v: v in ("agd", "gower", "gower-iqr"), "'agd', 'gower' or 'gower-iqr'"),
    "trim": (lambda v: _number(v) and 0 <= v < 0.5, "a share of at least 0 and below 0.5"),
    "contamination": (lambda v: v == "auto" or _between(v, 0, 0.5), "'auto', or a share above 0 and at most 0.5"),
    "column_types": (lambda v: v is None or _is_kinds(v), "a mapping from column names to kinds, or None"),
    "random_state": (
        lambda v: v is None or isinstance(v, np.random.RandomState) or _whole(v, 0, 2**32 - 1),
        "a whole number from 0 to 2**32 - 1, a RandomState or None",
    ),
    "n_jobs": (lambda v: v is None or (_whole(v, -(2**31)) and v != 0), "a whole number other than 0, or None"),
    "verbose": (lambda v: _whole(v, 0) or isinstance(v, bool), "0 or 1"),
}


def check_params(params: Mapping[str, Any]) -> None:
    """Raise `ParameterError` for the first parameter that is out of range."""
    for name, (is_valid, wanted) in _CHECKS.items():
        if not is_valid(params[name]):
            raise ParameterError(f"{name} is {params[name]!r}; it must be {wanted}.")
