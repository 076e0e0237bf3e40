"""RFOD to the letter of the paper, on scikit-learn's forests: the yardstick for rfod's accuracy and speed.

Categories become ordinal codes, every column gets a RandomForestRegressor or RandomForestClassifier over all other
columns, each tree is scored on its own out-of-bag rows (R2, or AUC one-vs-rest weighted by class share), the best
floor(beta * t) trees stay, cells are scored by Adjusted Gower's Distance and rows by Uncertainty-Weighted Averaging.
Missing numbers take the column's median, missing categories a code of their own. Written as someone who knows
scikit-learn well would write it: vectorised, columns in parallel, only the kept trees kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

ROWS_PER_BLOCK = 16_384  # bounds the (trees, rows, classes) array at detection

Ask = Callable[[list[Callable[..., Any]], NDArray[np.float32]], list[NDArray[np.float64]]]
"""What every tree says of every row."""

# The settings of the public copies of the method: small, shallow forests on label codes.
PUBLIC_FORM: dict[str, Any] = {"n_estimators": 30, "max_depth": 6, "max_features": 1.0, "min_samples_leaf": 1}


@dataclass(frozen=True)
class LiteralDetection:
    row_scores: NDArray[np.float64]
    cell_scores: NDArray[np.float64]
    uncertainty: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class _Forest:
    """The kept trees of one column; `classes` are the codes of a categorical target, `spread` the AGD range else."""

    trees: list[Any]
    classes: NDArray[np.int64] | None
    spread: float


class LiteralRFOD:
    """`max_features=None` leaves each forest scikit-learn's default: all columns for numbers, sqrt for categories.

    `backend` says who works at the same time: "forests" leaves it to scikit-learn (`n_jobs` of the forest, its threads
    share the trees of one column after the other; at detection the same is done here, with one pool of threads),
    "threads" and "processes" take columns, at detection always threads.
    """

    def __init__(
        self,
        n_estimators: int = 100,
        alpha: float = 0.02,
        beta: float = 0.5,
        max_features: float | str | None = None,
        min_samples_leaf: int = 1,
        max_depth: int | None = None,
        max_samples: int | float | None = None,
        uncertainty: str = "raw",
        n_jobs: int = 1,
        backend: str = "processes",
        random_state: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.alpha = alpha
        self.beta = beta
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.max_samples = max_samples
        self.uncertainty = uncertainty
        self.n_jobs = n_jobs
        self.backend = backend
        self.random_state = random_state

    def fit(self, frame: pd.DataFrame) -> LiteralRFOD:
        self._codes = Codes(frame)
        table = self._codes.encode(frame)
        predictors = table.astype(np.float32)
        run = Parallel(n_jobs=1) if self.backend == "forests" else Parallel(n_jobs=self.n_jobs, prefer=self.backend)
        self._forests: list[_Forest] = run(
            delayed(self._fit_column)(predictors, table[:, column], column) for column in range(table.shape[1])
        )
        return self

    def detect(self, frame: pd.DataFrame) -> LiteralDetection:
        table = self._codes.encode(frame)
        predictors = table.astype(np.float32)
        scores, spreads = np.empty(table.shape), np.empty(table.shape)

        def score_column(column: int, ask: Ask) -> None:
            others = np.delete(predictors, column, axis=1)
            for start in range(0, len(table), ROWS_PER_BLOCK):
                rows = slice(start, start + ROWS_PER_BLOCK)
                scores[rows, column], spreads[rows, column] = self._score(
                    self._forests[column], others[rows], table[rows, column], ask
                )

        with Parallel(n_jobs=self.n_jobs, require="sharedmem") as run:
            if self.backend == "forests":
                for j in range(table.shape[1]):
                    score_column(j, lambda trees, rows: run(delayed(tree)(rows, check_input=False) for tree in trees))
            else:
                run(delayed(score_column)(j, _ask_in_turn) for j in range(table.shape[1]))
        total = spreads.sum(axis=1, keepdims=True)
        weights = 1.0 - np.divide(spreads, total, out=np.zeros_like(spreads), where=total > 0)
        return LiteralDetection((weights * scores).mean(axis=1), scores, spreads, weights)

    def _fit_column(self, predictors: NDArray[np.float32], target: NDArray[np.float64], column: int) -> _Forest:
        others = np.delete(predictors, column, axis=1)
        is_categorical = self._codes.is_categorical[column]
        kind = RandomForestClassifier if is_categorical else RandomForestRegressor
        settings: dict[str, Any] = {} if self.max_features is None else {"max_features": self.max_features}
        forest = kind(
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            max_depth=self.max_depth,
            max_samples=self._samples(len(target)),
            random_state=self.random_state + column,
            n_jobs=self.n_jobs if self.backend == "forests" else None,
            **settings,
        ).fit(others, target.astype(np.int64) if is_categorical else target)
        fitness = [
            _fitness(tree, drawn, others, target, forest.classes_ if is_categorical else None)
            for tree, drawn in zip(forest.estimators_, forest.estimators_samples_, strict=True)
        ]
        n_kept = max(1, int(self.beta * self.n_estimators))
        best = np.argsort(-np.asarray(fitness), kind="stable")[:n_kept]
        return _Forest(
            [forest.estimators_[tree] for tree in best],
            forest.classes_ if is_categorical else None,
            1.0 if is_categorical else _spread(target, self.alpha),
        )

    def _samples(self, n_rows: int) -> int | None:
        """Rows drawn per tree, in the form scikit-learn takes."""
        if self.max_samples is None:
            return None
        wanted = self.max_samples if isinstance(self.max_samples, int) else round(self.max_samples * n_rows)
        return max(1, min(int(wanted), n_rows))

    def _score(
        self, forest: _Forest, others: NDArray[np.float32], observed: NDArray[np.float64], ask: Ask
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """AGD and uncertainty of one column's cells."""
        if forest.classes is None:
            by_tree = np.stack(ask([tree.predict for tree in forest.trees], others))
            residual = np.abs(observed - by_tree.mean(axis=0))
            spread = by_tree.std(axis=0)
            if forest.spread == 0:  # a constant column: any other value is as wrong as can be
                return (~np.isclose(residual, 0.0)).astype(np.float64), spread
            return residual / forest.spread, spread / forest.spread if self.uncertainty == "scaled" else spread
        by_tree = np.stack(ask([tree.predict_proba for tree in forest.trees], others))
        probability = by_tree.mean(axis=0)
        rows = np.arange(len(observed))
        place = np.minimum(np.searchsorted(forest.classes, observed), len(forest.classes) - 1)
        known = forest.classes[place] == observed
        best = probability.argmax(axis=1)
        return 1.0 - np.where(known, probability[rows, place], 0.0), by_tree[:, rows, best].std(axis=0)


def _ask_in_turn(trees: list[Callable[..., Any]], rows: NDArray[np.float32]) -> list[NDArray[np.float64]]:
    return [tree(rows, check_input=False) for tree in trees]


class Codes:
    """Ordinal codes for categories, medians for missing numbers, both learned from the training table."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.columns = list(frame.columns)
        self.is_categorical = [not pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]
        self._levels: list[Any] = []
        for name, is_categorical in zip(self.columns, self.is_categorical, strict=True):
            values = frame[name]
            self._levels.append(
                pd.Index(sorted(values.dropna().unique(), key=str)) if is_categorical else float(values.median())
            )

    def encode(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        table = np.empty((len(frame), len(self.columns)))
        for column, (name, is_categorical) in enumerate(zip(self.columns, self.is_categorical, strict=True)):
            values, levels = frame[name], self._levels[column]
            if is_categorical:
                codes = levels.get_indexer(values.astype(object))  # -1: never seen in training
                table[:, column] = np.where(values.isna(), len(levels), codes)
            else:
                table[:, column] = values.fillna(levels).to_numpy(np.float64)
        return table


def _fitness(
    tree: Any,
    drawn: NDArray[np.intp],
    others: NDArray[np.float32],
    target: NDArray[np.float64],
    classes: NDArray[np.int64] | None,
) -> float:
    """R2 or AUC of one tree on the rows its bootstrap sample left out."""
    is_out = np.ones(len(target), dtype=bool)
    is_out[drawn] = False
    truth = target[is_out]
    if len(truth) < 2:
        return 0.0
    if classes is None:
        residual = float(((truth - tree.predict(others[is_out], check_input=False)) ** 2).sum())
        total = float(((truth - truth.mean()) ** 2).sum())
        return 1.0 - residual / total if total > 0 else float(residual == 0)
    return _weighted_auc(truth, tree.predict_proba(others[is_out], check_input=False), classes)


def _weighted_auc(truth: NDArray[np.float64], probability: NDArray[np.float64], classes: NDArray[np.int64]) -> float:
    """AUC-ROC one against the rest, weighted by class share; 0.5 where the rows are of one class only."""
    place = np.searchsorted(classes, truth)
    counts = np.bincount(place, minlength=len(classes))
    usable = np.flatnonzero((counts > 0) & (counts < len(truth)))
    if len(usable) == 0:
        return 0.5
    ranks = rankdata(probability[:, usable], axis=0)
    is_member = place[:, None] == usable
    positives = counts[usable]
    above = (ranks * is_member).sum(axis=0) - positives * (positives + 1) / 2
    return float(np.average(above / (positives * (len(truth) - positives)), weights=positives))


def _spread(values: NDArray[np.float64], alpha: float) -> float:
    """The quantile range of AGD; the full range where the quantiles coincide."""
    low, high = np.quantile(values, [alpha, 1.0 - alpha])
    return float(high - low) if high > low else float(values.max() - values.min())
