"""The data-mining baselines, with the settings of their papers, which are the defaults of their libraries."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

from benchmarks.paper.encoding import Encoder

Matrix = NDArray[np.float64]
Scores = NDArray[np.float64]


class Encoded:
    """A method on matrices, made to take tables; `make` gets the encoded training rows.

    `facts` are kept with the result: the number of encoded columns, and the epochs of a deep method.
    """

    def __init__(
        self, make: Callable[[NDArray[np.float64]], Any], score: Callable[[Any, NDArray[np.float64]], Scores]
    ) -> None:
        self._make = make
        self._score = score

    def fit(self, frame: pd.DataFrame) -> None:
        self._encoder = Encoder().fit(frame)
        matrix = self._encoder.transform(frame)
        self._model = self._make(matrix)
        self.facts: dict[str, Any] = {"n_encoded": matrix.shape[1]}
        if hasattr(self._model, "epochs"):
            self.facts["epochs"] = self._model.epochs
        self._model.fit(matrix)

    def score(self, frame: pd.DataFrame) -> Scores:
        return np.asarray(self._score(self._model, self._encoder.transform(frame)), dtype=np.float64)


def isolation_forest(seed: int, threads: int) -> Encoded:
    return Encoded(lambda _: IsolationForest(random_state=seed, n_jobs=threads), _sklearn_score)


def local_outlier_factor(_: int, threads: int) -> Encoded:
    return Encoded(lambda _: LocalOutlierFactor(n_neighbors=20, novelty=True, n_jobs=threads), _sklearn_score)


def one_class_svm(_: int, __: int) -> Encoded:
    return Encoded(lambda _: OneClassSVM(), _sklearn_score)


def nearest_neighbours(_: int, threads: int) -> Encoded:
    """The distance to the fifth neighbour in the training rows."""
    return Encoded(
        lambda _: NearestNeighbors(n_neighbors=5, n_jobs=threads),
        lambda model, matrix: model.kneighbors(matrix)[0][:, -1],
    )


def ecod(_: int, threads: int) -> Encoded:
    from pyod.models.ecod import ECOD

    return Encoded(lambda _: ECOD(n_jobs=threads), lambda model, matrix: model.decision_function(matrix))


def _sklearn_score(model: Any, matrix: NDArray[np.float64]) -> Scores:
    """scikit-learn's scores are higher for ordinary rows."""
    return -np.asarray(model.score_samples(matrix))


class OutlierTreeRows:
    """OutlierTree on the table as it is, with the row score that it lacks.

    It names at most one suspicious cell per row, with an `outlier_score` that bounds the share of such values in their
    group: small is bad. The row score is -log(outlier_score), and 0 for a row it does not name.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def fit(self, frame: pd.DataFrame) -> None:
        from outliertree import OutlierTree

        self._model = OutlierTree(nthreads=self._threads)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Some numeric columns have less than 3 different values")
            self._model.fit(frame, outliers_print=0)

    def score(self, frame: pd.DataFrame) -> Scores:
        bound = self._model.predict(frame, outliers_print=0)["outlier_score"].to_numpy(np.float64)
        return np.where(np.isnan(bound), 0.0, -np.log(np.clip(bound, 1e-300, 1.0)))


def outlier_tree(_: int, threads: int) -> OutlierTreeRows:
    return OutlierTreeRows(threads)
