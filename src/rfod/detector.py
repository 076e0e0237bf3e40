"""The scikit-learn face: parameters, fit and detect. No mathematics, and the only module that imports scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from rfod import pipeline
from rfod._evidence.stored import load_model, save_model
from rfod._model.model import ForestSummary, Model, summarise_forests
from rfod._table.table import open_table
from rfod.detection import Detection
from rfod.params import AS_PUBLISHED, ParamFields, Params

Floats = NDArray[np.float64]
AUTO_CONTAMINATION = 0.01


@dataclass(eq=False, repr=False)
class RFOD(OutlierMixin, BaseEstimator, ParamFields):
    """Random forest-based outlier detection for tables of numbers, categories and dates.

    Every column is predicted from the others by a random forest of its own. A cell scores by how far it lies from its
    prediction, a row by its cells, by how far it is from the nearest training row, and by its furthest value.

    Parameters
    ----------
    n_estimators : int, default 100
        Trees grown per column.
    alpha : float in (0, 0.5), default 0.02
        Residuals of a numeric column are divided by the distance between its `alpha` and `1 - alpha` quantiles.
    beta : float in (0, 1], default 0.5
        Share of the trees that is kept, the best ones on rows they have not seen. 1.0 switches pruning off.
    max_features : float, int, "sqrt", "log2" or None, default 1/3
        Features looked at per node, of those of the predictors of a column: a share, a number, or all (None).
    max_predictors : int or None, default 48
        Columns that a column is predicted from, at most: in tables with more, those that say most about it (mutual
        information on up to 4,096 rows) and, as an eighth of them, some drawn at random; None for all others.
    min_samples_leaf : int, default 5
        Fewest distinct rows in a leaf.
    max_depth : int or None, default None
        Deepest level of a tree; None for no limit.
    max_samples : "auto", int, float or None, default "auto"
        Rows drawn (with replacement) per tree: "auto" for all, but at most 4,096; an int for at most that many; a
        float for a share; None for as many as there are.
    max_bins : int in 2..255, default 255
        Bins per numeric column; also the most categories of a column that are distinguished as predictors.
    fitness : "robust" or "plain", default "robust"
        How a tree of a numeric column is scored on rows it has not seen: by R² in which a residual counts as the range
        between the column's 2 and 98 % quantiles at most, so that one absurd value does not choose the trees (where
        these are equal, that between its extremes); or by plain R².
    uncertainty : "scaled" or "raw", default "scaled"
        Whether the spread of the trees is put in the unit of the cell score before it becomes a weight, or taken in
        the unit of the column, as the paper has it.
    aggregation : "consensus", "surprise", "uncertainty" or "mean", default "consensus"
        Row score: the paper's mean of cell scores, weighted by confidence ("uncertainty"), or not ("mean"); the root
        mean square of the surprise of its cells; or the consensus of the paper's score, surprise, the distance from
        the nearest training row and the furthest value, in which a typical row scores 1.
    distance : "agd", "gower" or "gower-iqr", default "agd"
        Cell score: the paper's Adjusted Gower's Distance, Gower's distance, or that with the interquartile range.
    trim : float in [0, 0.5), default 0
        Share of the training rows that is left out of a second fit: those that score highest in the first, each judged
        by trees that have not seen it. For training tables that hold outliers themselves.
    contamination : "auto" or float in (0, 0.5], default "auto"
        Share of rows like the training rows that `predict` calls outliers; "auto" is 0.01. A share that is given is
        also that of the anomalous rows for `predict_proba`, which estimates it otherwise.
    keep_evidence : bool, default True
        Whether the model keeps what the probabilities of cells of new rows are computed from: counts, frequent values
        and rules of the training table (docs/formats.md).
    column_types : mapping of column name to kind, optional
        Overrides what is guessed: "numeric", "categorical", "boolean", "datetime", "time", "duration", or one of
        "identifier", "text", "ignore" to leave the column out.
    columns : sequence of column names, optional
        Model only these; all by default.
    exclude : sequence of column names, optional
        Leave these out of the model.
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

    __metadata_request__fit = {"decisions": UNUSED}  # noqa: RUF012  # scikit-learn's routing need not know it

    @classmethod
    def as_published(cls, **changes: Any) -> RFOD:
        """A detector by the paper's letter: its row score, raw uncertainty, all columns as predictors and per node,
        leaves of one row, all rows per tree, plain R²; `changes` are other parameters."""
        return cls(**AS_PUBLISHED | changes)

    @classmethod
    def from_model(cls, model: Model) -> RFOD:
        """A fitted detector around a model."""
        detector = cls(**model.params)
        detector._set_model(model)
        return detector

    # -------------------------------------------------------------------------------------------------- fit and detect

    def fit(self, X: Any, y: Any = None, *, decisions: Any = None) -> RFOD:
        """Learn from a table: a pandas, polars or pyarrow frame, or a 2-d array. `y` is ignored.

        `decisions` (the path of a file, or `rfod.Decisions`) are what a person has decided about its cells: replaced
        cells are learned with their new value, blanked ones as missing.
        """
        self._set_model(pipeline.fit_model(X, self._params(), decisions=decisions).model)
        return self

    def detect(self, X: Any, *, key: str | None = None, decisions: Any = None) -> Detection:
        """Judge every row and cell of a table; columns are matched by name, in any order.

        `key` names a column whose values come back with every finding, in place of row numbers. Cells that `decisions`
        are about (the path of a file, or `rfod.Decisions`) are not reported.
        """
        return self._detect(X, key, first_row=0, decisions=decisions)

    def detect_batches(self, batches: Iterable[Any], *, key: str | None = None) -> Iterator[Detection]:
        """Judge one table after another, as if they were one: row numbers run on. Only one batch is held at a time."""
        first_row = 0
        for batch in batches:
            table = open_table(batch)
            yield self._detect(table, key, first_row)
            first_row += table.n_rows

    def fit_detect(self, X: Any, *, key: str | None = None, decisions: Any = None) -> Detection:
        """Fit to a table and judge its own rows, each only by trees that have not seen it. `decisions` as in `fit`."""
        model, found = pipeline.fit_detect(X, self._params(), key=key, decisions=decisions)
        self._set_model(model)
        return found

    def _detect(self, X: Any, key: str | None, first_row: int, decisions: Any = None) -> Detection:
        check_is_fitted(self, "model_")
        return pipeline.detect(
            self.model_,
            X,
            key=key,
            first_row=first_row,
            n_jobs=self.n_jobs,
            verbose=int(self.verbose),
            decisions=decisions,
        )

    def _params(self) -> Params:
        """The parameters, checked."""
        return Params(**self.get_params(deep=False))

    def _set_model(self, model: Model) -> None:
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
        return summarise_forests(self.model_)

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

    def predict_proba(self, X: Any) -> Floats:
        """(rows, 2): how likely each row is ordinary (column 0) and anomalous (column 1), among the rows of `X`.

        Column 1 is `Detection.row_probability`, which depends on the rows that are judged together.
        """
        anomalous = self.detect(X).row_probability
        return np.column_stack([1.0 - anomalous, anomalous])

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
    return RFOD.from_model(load_model(path))
