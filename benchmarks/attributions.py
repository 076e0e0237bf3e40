"""Which columns make a row an outlier for methods that score rows only: Shapley values over the table's columns."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import shap
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest
from sklearn.svm import OneClassSVM

from benchmarks.paper.encoding import Encoder

Floats = NDArray[np.float64]
SVM_ROWS = 4_000  # training rows of the one-class SVM, whose cost per contrast grows with them
BACKGROUND_ROWS = 20  # training rows that stand in for columns taken away
COALITIONS = 256  # sets of columns that are tried per row


class TableCodes:
    """A table as a matrix with one column per column of the table, and back: what a kernel explainer can shuffle."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._dtypes = frame.dtypes
        self._categories = {
            name: pd.Index(frame[name].cat.categories) for name, kind in frame.dtypes.items() if _is_category(kind)
        }

    def matrix(self, frame: pd.DataFrame) -> Floats:
        columns = [
            self._categories[name].get_indexer(frame[name].astype(object)) if name in self._categories else frame[name]
            for name in frame
        ]
        return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])

    def frame(self, matrix: Floats) -> pd.DataFrame:
        columns: dict[Any, Any] = {}
        for name, values in zip(self._dtypes.index, matrix.T, strict=True):
            known = self._categories.get(name)
            columns[name] = values if known is None else pd.Categorical.from_codes(values.astype(int), known)
        return pd.DataFrame(columns)


def one_class_svm(train: pd.DataFrame, test: pd.DataFrame, rows: NDArray[np.intp], seed: int) -> tuple[Floats, Floats]:
    """(scores of all test rows, attributions of some): kernel SHAP of the score, over the columns of the table."""
    rng = np.random.default_rng([seed, 3])
    known = train.iloc[np.sort(rng.choice(len(train), min(SVM_ROWS, len(train)), replace=False))]
    encoder = Encoder().fit(known)
    model = OneClassSVM().fit(encoder.transform(known))
    codes = TableCodes(train)
    background = codes.matrix(known.iloc[rng.choice(len(known), BACKGROUND_ROWS, replace=False)])

    def score(matrix: Floats) -> Floats:
        return -np.asarray(model.score_samples(encoder.transform(codes.frame(matrix))), dtype=np.float64)

    explainer = shap.KernelExplainer(score, background, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its linear solver, about rows whose columns all agree with the background
        values = explainer.shap_values(
            codes.matrix(test.iloc[rows]), nsamples=COALITIONS, l1_reg=False, silent=True, gc_collect=False
        )
    return -np.asarray(model.score_samples(encoder.transform(test))), np.asarray(values)


def isolation_forest(
    train: pd.DataFrame, test: pd.DataFrame, rows: NDArray[np.intp], seed: int
) -> tuple[Floats, Floats]:
    """(scores of all test rows, attributions of some): tree SHAP of the path length, one-hot columns added up."""
    encoder = Encoder().fit(train)
    model = IsolationForest(random_state=seed).fit(encoder.transform(train))
    values = np.asarray(shap.TreeExplainer(model).shap_values(encoder.transform(test.iloc[rows])))
    scores = -np.asarray(model.score_samples(encoder.transform(test)))
    origin = np.array([_origin(str(name), train) for name in encoder._pipeline.get_feature_names_out()])
    summed = np.column_stack([values[:, origin == name].sum(axis=1) for name in train])
    # Long paths are ordinary, so what shortens them points to an outlier.
    return scores, -summed


def _origin(encoded: str, frame: pd.DataFrame) -> str:
    """The column of the table that an encoded one was made from: "categories__job_retired" is from "job"."""
    kind, _, name = encoded.partition("__")
    if kind == "numbers":
        return name
    return max((str(column) for column in frame if name.startswith(f"{column}_")), key=len)


def _is_category(kind: Any) -> bool:
    return isinstance(kind, pd.CategoricalDtype)
