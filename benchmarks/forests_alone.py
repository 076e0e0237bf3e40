"""One forest per column and its predictions, nothing else: the part of the method that other libraries could do.

"oneDAL" is scikit-learn-intelex, "scikit-learn" its own forests; both with `n_jobs` workers that share the trees of a
column. No tree is judged or pruned, no cell or row is scored. Categories are ordinal codes, gaps filled, as in
`literal.py`. `pip install -r benchmarks/environments/onedal.txt`, beside rfod.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.literal import Codes

LIBRARIES = {"oneDAL": "sklearnex.ensemble", "scikit-learn": "sklearn.ensemble"}


class ForestsAlone:
    """Fits a forest per column; `detect` predicts every cell and keeps nothing."""

    def __init__(
        self,
        library: str,
        n_estimators: int,
        max_features: float,
        min_samples_leaf: int,
        n_jobs: int,
        random_state: int = 0,
    ) -> None:
        ensemble = import_module(LIBRARIES[library])
        self._kinds = ensemble.RandomForestRegressor, ensemble.RandomForestClassifier
        self._settings = {
            "n_estimators": n_estimators,
            "max_features": max_features,
            "min_samples_leaf": min_samples_leaf,
            "n_jobs": n_jobs,
            "random_state": random_state,
        }

    def fit(self, frame: pd.DataFrame) -> ForestsAlone:
        self._codes = Codes(frame)
        table = self._codes.encode(frame)
        predictors = table.astype(np.float32)
        self._forests = [self._fit_column(predictors, table[:, column], column) for column in range(table.shape[1])]
        return self

    def _fit_column(self, predictors: NDArray[np.float32], target: NDArray[np.float64], column: int) -> Any:
        """None where a category is constant: there is nothing to fit."""
        is_category = self._codes.is_categorical[column]
        if is_category and len(np.unique(target)) == 1:
            return None
        target = target.astype(np.int64) if is_category else target
        return self._kinds[is_category](**self._settings).fit(np.delete(predictors, column, axis=1), target)

    def detect(self, frame: pd.DataFrame) -> None:
        predictors = self._codes.encode(frame).astype(np.float32)
        for column, forest in enumerate(self._forests):
            if forest is not None:
                others = np.delete(predictors, column, axis=1)
                forest.predict_proba(others) if self._codes.is_categorical[column] else forest.predict(others)
