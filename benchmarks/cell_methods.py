"""Other ways to say which cell of a row is wrong, as a score for every cell.

None of them needs rfod. A cell that a method cannot judge gets NaN, which counts as its lowest score.

* marginal: numbers by their z-score among the training values, as -log10 of the tail of a normal distribution;
  categories and gaps by -log10 of their share in training. What PyOD's explanations come down to.
* isolation forest, SHAP: scikit-learn's isolation forest on medians and one-hot categories; shap's TreeExplainer, its
  values summed over the columns of one category. SHAP is slow, so that only the first `SHAP_ROWS` rows are explained.
* OutlierTree: names at most one cell per row, which scores -log10 of its `outlier_score`; all others 0. With the
  library's bars, and with lower ones, so that more than the most extreme rows get a name.
* DDC: robpy's Detecting Deviating Cells, absolute standardised residuals. Numeric columns with more than three values
  and a spread of more than 0 only. robpy 0.0.6 asks for scikit-learn < 1.7, but its DDC runs with later ones:
  pip install --no-deps robpy seaborn statsmodels patsy
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from sklearn.ensemble import IsolationForest

Floats = NDArray[np.float64]
SHAP_ROWS = 1000
LOOSE = {"z_norm": 2.0, "z_outlier": 3.0, "pct_outliers": 0.05}


@dataclass(frozen=True)
class Scores:
    """Higher is more suspicious; for the first rows of the table, or for all of them."""

    cells: Floats
    rows: Floats


class Method(Protocol):
    """Learns from one frame and scores the cells of another."""

    def fit(self, frame: pd.DataFrame) -> None: ...

    def score(self, frame: pd.DataFrame) -> Scores: ...


def by_highest(cells: Floats) -> Scores:
    """A row is as suspicious as its most suspicious cell."""
    lowest = np.nan_to_num(cells, nan=-np.inf).max(axis=1)
    return Scores(cells, np.where(np.isfinite(lowest), lowest, 0.0))


def is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


class Marginal:
    """Each column by itself."""

    def fit(self, frame: pd.DataFrame) -> None:
        self._columns = {name: self._learn(frame[name]) for name in frame}

    @staticmethod
    def _learn(column: pd.Series) -> Callable[[pd.Series], Floats]:
        n_rows = len(column)
        if is_number(column):
            centre, spread = float(column.mean()), float(column.std()) or 1.0
            if_missing = -np.log10((1 + int(column.isna().sum())) / (1 + n_rows))

            def judge(values: pd.Series) -> Floats:
                distance = np.abs((values.to_numpy(np.float64, na_value=np.nan) - centre) / spread)
                surprise = -(np.log(2) + stats.norm.logsf(distance)) / np.log(10)
                return np.where(np.isnan(distance), if_missing, surprise)

            return judge
        counts = _texts(column).value_counts()

        def judge_categories(values: pd.Series) -> Floats:
            return -np.log10((1 + _texts(values).map(counts).fillna(0).to_numpy(np.float64)) / (1 + n_rows))

        return judge_categories

    def score(self, frame: pd.DataFrame) -> Scores:
        return by_highest(np.column_stack([judge(frame[name]) for name, judge in self._columns.items()]))


def _texts(column: pd.Series) -> pd.Series:
    return column.astype(object).where(column.notna(), "(missing)").astype(str)


class ShapForest:
    """Isolation forest, with what each column adds to a row's score."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def fit(self, frame: pd.DataFrame) -> None:
        from shap import TreeExplainer

        self._medians = {name: float(frame[name].median()) for name in frame if is_number(frame[name])}
        self._categories = {
            name: list(_texts(frame[name]).value_counts().index[:50]) for name in frame if name not in self._medians
        }
        forest = IsolationForest(random_state=self._seed, n_jobs=1).fit(self._matrix(frame)[0])
        self._forest, self._explainer = forest, TreeExplainer(forest)

    def _matrix(self, frame: pd.DataFrame) -> tuple[Floats, list[int]]:
        """One-hot categories, medians for gaps; and which column each part belongs to."""
        parts: list[Floats] = []
        owners: list[int] = []
        for j, name in enumerate(frame):
            if name in self._medians:
                values = frame[name].to_numpy(np.float64, na_value=np.nan)
                parts.append(np.where(np.isnan(values), self._medians[name], values)[:, None])
            else:
                texts = _texts(frame[name]).to_numpy()
                parts.append((texts[:, None] == np.array(self._categories[name], dtype=object)).astype(np.float64))
            owners += [j] * parts[-1].shape[1]
        return np.hstack(parts), owners

    def score(self, frame: pd.DataFrame) -> Scores:
        matrix, owners = self._matrix(frame.iloc[:SHAP_ROWS])
        values = -np.asarray(self._explainer.shap_values(matrix), dtype=np.float64)
        cells = np.zeros((len(matrix), frame.shape[1]))
        np.add.at(cells.T, owners, values.T)
        return Scores(cells, -self._forest.score_samples(matrix))


class OutlierTreeCells:
    """OutlierTree's one suspicious cell per row."""

    def __init__(self, **settings: Any) -> None:
        self._settings = settings

    def fit(self, frame: pd.DataFrame) -> None:
        from outliertree import OutlierTree

        self._model = OutlierTree(nthreads=1, **self._settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._model.fit(frame, outliers_print=0)

    def score(self, frame: pd.DataFrame) -> Scores:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told = self._model.predict(frame, outliers_print=0)
        bounds = told["outlier_score"].to_numpy(np.float64)
        cells = np.zeros(frame.shape)
        for row in np.flatnonzero(np.isfinite(bounds)):
            column = told["suspicious_value"].iloc[row]["column"]
            cells[row, frame.columns.get_loc(column)] = -np.log10(np.clip(bounds[row], 1e-300, 1.0))
        return by_highest(cells)


class DeviatingCells:
    """robpy's DDC on the numeric columns."""

    def fit(self, frame: pd.DataFrame) -> None:
        from robpy.outliers import DDC

        numeric = [name for name in frame if is_number(frame[name])]
        spreads = frame[numeric].astype(np.float64)
        deviations = (spreads - spreads.median()).abs().median()
        self._numeric = [name for name in numeric if frame[name].nunique() > 3 and deviations[name] > 1e-12]

        class CellsOnly(DDC):
            def _rowwise_outliers(self, residuals: Any, fit: bool = False) -> None:
                """Not needed here, and an error where a residual is NaN."""

        self._model = CellsOnly()
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            self._model.fit(spreads[self._numeric].reset_index(drop=True))

    def score(self, frame: pd.DataFrame) -> Scores:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            numbers = frame[self._numeric].astype(np.float64).reset_index(drop=True)
            _, residuals = self._model.predict(numbers)
        cells = np.full(frame.shape, np.nan)
        cells[:, [frame.columns.get_loc(name) for name in self._numeric]] = np.abs(np.asarray(residuals, np.float64))
        return by_highest(cells)


PEERS: dict[str, Callable[[int], Method]] = {
    "marginal": lambda seed: Marginal(),
    "isolation forest, SHAP": ShapForest,
    "OutlierTree": lambda seed: OutlierTreeCells(),
    "OutlierTree, lower bars": lambda seed: OutlierTreeCells(**LOOSE),
    "DDC (numbers only)": lambda seed: DeviatingCells(),
}
