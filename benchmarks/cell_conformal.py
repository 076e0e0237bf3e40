"""Conformal data cleaning: a model per column, a conformal set per cell, cells outside their set are errors.

After the idea of Jäger and Biessmann, "From Data Imputation to Data Cleaning" (AISTATS 2024), with scikit-learn's
histogram gradient boosting in place of their AutoML. Per column, four fifths of the training rows fit a model that
predicts it from all other columns, the rest calibrates it. Nonconformity of a cell:

* number: conformal quantile regression, how far the value lies outside the 5 % and 95 % quantiles that the model
  expects (negative inside);
* category: one minus its probability. A column has at most `MAX_CLASSES` classes; rarer values share one, whose
  probability is divided among them by their counts;
* gap, in either: infinite.

The conformal p-value of a cell is (1 + the calibration cells that are at least as nonconforming) over (1 + all of
them); the set at level 1 - a holds what has a p-value above a. **Score of a cell: one minus its p-value.** All cells
beyond the last calibration cell tie. "ties by distance" ranks those by the distance from the last finite calibration
cell, in interquartile ranges of the column's calibration cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from benchmarks.cell_matrix import Encoder, Matrix
from benchmarks.cell_methods import Scores, by_highest

Floats = NDArray[np.float64]
CALIBRATION_SHARE = 0.2
QUANTILES = (0.05, 0.95)
MAX_CLASSES = 30
MAX_BINNED_CATEGORIES = 254  # limit of scikit-learn's histograms
MAX_ITERATIONS = 50
PLAIN, RANKED = "conformal cleaning", "conformal cleaning, ties by distance"


@dataclass(frozen=True)
class _Quantiles:
    """Nonconformity of numbers, from the models of two quantiles."""

    models: tuple[Any, Any]

    def nonconformity(self, others: Floats, values: Floats) -> Floats:
        """One value per row; infinite where there is a gap."""
        low, high = (model.predict(others) for model in self.models)
        return np.where(np.isnan(values), np.inf, np.maximum(low - values, values - high))


@dataclass(frozen=True)
class _Classes:
    """Nonconformity of categories; `shares` (codes) is the part of its class that a code has, `classes` its class."""

    model: Any
    classes: NDArray[np.int64]
    shares: Floats

    def nonconformity(self, others: Floats, values: Floats) -> Floats:
        """One value per row; infinite where there is a gap, 1 where the fitted rows do not have the category."""
        probability = np.zeros(len(values))
        known = values >= 0
        codes = values[known].astype(np.int64)
        if self.model is None:
            probability[known] = self.shares[codes]
        elif known.any():
            by_class = self.model.predict_proba(others[known])
            place = np.searchsorted(self.model.classes_, self.classes[codes])
            place = np.minimum(place, by_class.shape[1] - 1)
            probability[known] = by_class[np.arange(len(codes)), place] * self.shares[codes]
        return np.where(np.isnan(values), np.inf, 1.0 - probability)


class ConformalCleaning:
    """One minus the conformal p-value; `by_distance` orders what lies beyond all calibration cells."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def fit(self, frame: pd.DataFrame) -> None:
        self._encoder = Encoder(frame, MAX_BINNED_CATEGORIES)
        matrix = self._encoder.encode(frame)
        order = np.random.default_rng(self._seed).permutation(len(frame))
        held_out = round(CALIBRATION_SHARE * len(frame))
        rows, calibration = order[held_out:], order[:held_out]
        self._columns: list[tuple[_Quantiles | _Classes, Floats]] = []
        for column in range(matrix.values.shape[1]):
            model = self._fit_column(matrix, rows, column)
            others = np.delete(matrix.values[calibration], column, axis=1)
            found = model.nonconformity(_without_unseen(others), matrix.values[calibration, column])
            self._columns.append((model, np.sort(found)))

    def _fit_column(self, matrix: Matrix, rows: NDArray[np.intp], column: int) -> _Quantiles | _Classes:
        values = matrix.values[rows, column]
        rows, values = rows[~np.isnan(values)], values[~np.isnan(values)]
        others = _without_unseen(np.delete(matrix.values[rows], column, axis=1))
        settings: dict[str, Any] = {
            "max_iter": MAX_ITERATIONS,
            "early_stopping": False,
            "categorical_features": np.delete(matrix.is_category, column),
            "random_state": self._seed,
        }
        if not matrix.is_category[column]:
            low, high = (
                HistGradientBoostingRegressor(loss="quantile", quantile=quantile, **settings).fit(others, values)
                for quantile in QUANTILES
            )
            return _Quantiles((low, high))
        codes = values.astype(np.int64)
        counts = np.bincount(codes, minlength=matrix.n_codes[column]).astype(np.float64)
        by_count = np.argsort(-counts, kind="stable")
        classes = np.full(len(counts), MAX_CLASSES, dtype=np.int64)
        classes[by_count[:MAX_CLASSES]] = np.arange(len(by_count[:MAX_CLASSES]))
        totals = np.bincount(classes, weights=counts, minlength=MAX_CLASSES + 1)[classes]
        shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
        targets = classes[codes]
        if len(np.unique(targets)) == 1:
            return _Classes(None, classes, shares)
        return _Classes(HistGradientBoostingClassifier(**settings).fit(others, targets), classes, shares)

    def score(self, frame: pd.DataFrame) -> Scores:
        return self.scores(frame)[PLAIN]

    def scores(self, frame: pd.DataFrame) -> dict[str, Scores]:
        """One minus the p-value, and the same with ties at the end ranked by distance."""
        matrix = self._encoder.encode(frame)
        plain, ranked = np.empty(matrix.values.shape), np.empty(matrix.values.shape)
        for column, (model, calibration) in enumerate(self._columns):
            others = np.delete(matrix.values, column, axis=1)
            found = model.nonconformity(_without_unseen(others), matrix.values[:, column])
            plain[:, column] = 1.0 - p_values(calibration, found)
            ranked[:, column] = plain[:, column] + beyond(calibration, found) / (len(calibration) + 1)
        return {PLAIN: by_highest(plain), RANKED: by_highest(ranked)}


def p_values(calibration: Floats, nonconformity: Floats) -> Floats:
    """Share of sorted calibration values that are at least as large, both counted with the value itself."""
    at_least = len(calibration) - np.searchsorted(calibration, nonconformity, side="left")
    return (1.0 + at_least) / (len(calibration) + 1)


def beyond(calibration: Floats, nonconformity: Floats) -> Floats:
    """0 up to the last finite calibration value, then rising towards 1 with the distance from it."""
    finite = calibration[np.isfinite(calibration)]
    if len(finite) == 0:
        return np.zeros(len(nonconformity))
    low, high = np.quantile(finite, [0.25, 0.75])
    distance = np.maximum(nonconformity - finite[-1], 0.0) / (high - low or 1.0)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(distance), 1.0, distance / (1.0 + distance))


def _without_unseen(values: Floats) -> Floats:
    """Categories that training does not have become gaps."""
    return np.where(values == -1, np.nan, values)
