"""lace: density of a cell given the rest of its row, from the states of its cross-categorisation.

A state deals the columns out to views, and the rows of a view to categories with a normal or shares per column. Its
density of a row is the product over views of the mixture over categories, weighted by their numbers of rows; that of
the model is the mean over states. A cell's conditional density is that of the row over that of the row without it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from worker import serve

STATES = 4
ITERATIONS = 200
SPREAD_OF_CONSTANT = 0.01


class Lace:
    """Mixtures of all views of all states, read from a fitted engine."""

    def fit(self, values: Any, is_category: Any, n_codes: Any, seed: int) -> None:
        from lace import Engine

        self._is_category = is_category
        self._names = [f"c{j}" for j in range(values.shape[1])]
        frame = self.frame(values)
        is_constant = np.array([frame[name].nunique() < 2 for name in self._names])
        self._fitted = np.flatnonzero(~is_constant)
        self._engine = Engine.from_df(frame.loc[:, ~is_constant], n_states=STATES, rng_seed=seed)
        self._engine.update(ITERATIONS, quiet=True)
        constants = [self._constant(values[:, j], j) for j in np.flatnonzero(is_constant)]
        alone = (np.flatnonzero(is_constant), np.zeros(1), constants)
        self._states = [[*self._views(state), *([alone] if constants else [])] for state in range(STATES)]

    def frame(self, values: Any) -> pd.DataFrame:
        """Numbers as they are, codes as texts that sort like codes, gaps as gaps."""
        frame = pd.DataFrame(values, columns=self._names)
        for j in np.flatnonzero(self._is_category):
            texts = [None if np.isnan(code) else f"k{int(code):03d}" for code in values[:, j]]
            frame[self._names[j]] = pd.Series(texts, dtype=object)
        frame.index = pd.Index([f"r{i}" for i in range(len(frame))], name="ID")
        return frame

    def _constant(self, values: Any, column: int) -> Any:
        """Parameters of a column with one value, which lace does not take."""
        known = values[~np.isnan(values)]
        return np.zeros((1, 1)) if self._is_category[column] else (known[:1], np.array([SPREAD_OF_CONSTANT]))

    def _views(self, state: int) -> list[tuple[Any, Any, list[Any]]]:
        """Per view its columns, the logarithms of its categories' weights, and each column's parameters."""
        owners = np.asarray(self._engine.column_assignment(state))
        views = []
        for view, rows in enumerate(self._engine.row_assignments(state)):
            columns = self._fitted[owners == view]
            counts = np.bincount(np.asarray(rows))
            views.append((columns, np.log(counts / counts.sum()), [self._parameters(j, state) for j in columns]))
        return views

    def _parameters(self, column: int, state: int) -> Any:
        """(means, standard deviations) of the categories, or the logarithms of shares (categories, codes)."""
        told = self._engine.feature_params(self._names[column], [state])[state]
        if not self._is_category[column]:
            return np.array([one.mu for one in told]), np.array([one.sigma for one in told])
        return np.log(np.array([one.weights for one in told]))

    def log_conditional(self, values: Any) -> Any:
        whole = np.zeros((STATES, len(values)))
        change = np.zeros((STATES, *values.shape))  # of the row's log density when a cell is left out
        for s, views in enumerate(self._states):
            for columns, log_weights, parameters in views:
                logs = np.stack([self._logs(values[:, j], j, own) for j, own in zip(columns, parameters, strict=True)])
                total = log_weights + logs.sum(axis=0)
                of_view = logsumexp(total, axis=1)
                whole[s] += of_view
                for part, j in zip(logs, columns, strict=True):
                    change[s, :, j] = logsumexp(total - part, axis=1) - of_view
        rest = logsumexp(whole[:, :, None] + change, axis=0)
        result = logsumexp(whole, axis=0)[:, None] - rest
        return np.where(np.isnan(values), np.nan, result)

    def _logs(self, values: Any, column: int, parameters: Any) -> Any:
        """Log density of a column's cells (rows, categories); 0 where there is a gap."""
        known = ~np.isnan(values)
        if self._is_category[column]:
            logs = np.zeros((len(values), len(parameters)))
            logs[known] = parameters[:, values[known].astype(int)].T
            return logs
        means, spreads = parameters
        scaled = (np.where(known, values, 0.0)[:, None] - means) / spreads
        return np.where(known[:, None], -0.5 * scaled**2 - np.log(spreads * np.sqrt(2 * np.pi)), 0.0)


if __name__ == "__main__":
    serve(Lace())
