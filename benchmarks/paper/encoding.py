"""A mixed table as a matrix, for methods that need one: medians, unit variance, one-hot categories."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

MOST_CATEGORIES = 50  # per column; rarer ones share a column, as do those never seen in training


class Encoder:
    """Learned from the training rows only; columns that are constant there are left out."""

    def fit(self, frame: pd.DataFrame) -> Encoder:
        numeric = [name for name in frame if pd.api.types.is_numeric_dtype(frame[name].dtype)]
        categorical = [name for name in frame if name not in numeric]
        one_hot = OneHotEncoder(
            drop="if_binary",
            handle_unknown="infrequent_if_exist",
            max_categories=MOST_CATEGORIES,
            sparse_output=False,
        )
        columns = ColumnTransformer(
            [
                ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
                ("categories", one_hot, categorical),
            ]
        )
        self._pipeline = Pipeline([("columns", columns), ("varying", VarianceThreshold())])
        self._categorical = categorical
        self._pipeline.fit(self._as_text(frame))
        return self

    def transform(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Found unknown categories")
            matrix: NDArray[np.float64] = self._pipeline.transform(self._as_text(frame))
        return matrix

    def _as_text(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Categories as plain strings, a missing one as a category of its own."""
        texts = {
            name: frame[name].astype(object).where(frame[name].notna(), "(missing)").astype(str)
            for name in self._categorical
        }
        return frame.assign(**texts)
