"""Adversarial random forests: density of a cell given the rest of its row, from the parameters that arfpy estimates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import log_ndtr, logsumexp
from worker import serve

TREES = 30
MIN_LEAF = 5
SMALLEST_SPREAD = 0.01  # of a leaf's normal, in standard deviations of the column: many leaves hold one value only
PSEUDO_COUNT = 0.1  # of every category in every leaf
IMPOSSIBLE = -1e6  # no leaf holds the whole row
ROWS_AT_ONCE = 50


class Arf:
    """The mixture over the leaves of all trees; leaves are one axis, columns another."""

    def fit(self, values: Any, is_category: Any, n_codes: Any, seed: int) -> None:
        from arfpy import arf

        np.random.seed(seed)  # noqa: NPY002 (arfpy draws from the global generator)
        self._is_category = is_category
        filled = np.where(np.isnan(values), _commonest(values, is_category), values)
        names = [f"c{j}" for j in range(values.shape[1])]
        frame = pd.DataFrame(filled, columns=names)
        for j in np.flatnonzero(is_category):
            frame[names[j]] = pd.Categorical(filled[:, j].astype(int), categories=range(n_codes[j]))
        model = arf.arf(frame, num_trees=TREES, min_node_size=MIN_LEAF, verbose=False, random_state=seed, n_jobs=1)
        model.forde()
        self._read(model, names, filled, n_codes)

    def _read(self, model: Any, names: list[str], filled: Any, n_codes: Any) -> None:
        """Bounds, coverage and parameters of every leaf, as arrays."""
        bounds = model.bnds
        keys = ["tree", "nodeid"]
        wide = {part: bounds.pivot(index=keys, columns="variable", values=part)[names] for part in ("min", "max")}
        leaves = wide["min"].index
        coverage = bounds.drop_duplicates(keys).set_index(keys)["cvg"].loc[leaves].to_numpy()
        self._log_weight = np.log(coverage / TREES)
        self._low, self._high = (wide[part].to_numpy(dtype=np.float64) for part in ("min", "max"))
        shape = self._low.shape
        self._mean, self._spread = np.zeros(shape), np.ones(shape)
        if not self._is_category.all():
            numbers = [names[j] for j in np.flatnonzero(~self._is_category)]
            for target, part in ((self._mean, "mean"), (self._spread, "sd")):
                told = model.params.pivot(index=keys, columns="variable", values=part).reindex(leaves)[numbers]
                target[:, ~self._is_category] = told.to_numpy(dtype=np.float64)
        self._spread = np.maximum(np.nan_to_num(self._spread), SMALLEST_SPREAD)
        self._log_mass = _log_mass((self._low - self._mean) / self._spread, (self._high - self._mean) / self._spread)
        self._log_shares = {}
        place = pd.Series(np.arange(len(leaves)), index=leaves)
        for j in np.flatnonzero(self._is_category):
            own = model.class_probs[model.class_probs["variable"] == names[j]]
            shares = np.zeros((len(leaves), n_codes[j]))
            rows = place.reindex(pd.MultiIndex.from_frame(own[keys])).to_numpy()
            shares[rows.astype(int), own["value"].to_numpy(dtype=int)] = own["prob"].to_numpy(dtype=np.float64)
            n_rows = coverage[:, None] * len(filled)
            smoothed = (shares * n_rows + PSEUDO_COUNT) / (n_rows + PSEUDO_COUNT * n_codes[j])
            self._log_shares[j] = np.log(smoothed)

    def log_conditional(self, values: Any) -> Any:
        found = [self._block(values[start : start + ROWS_AT_ONCE]) for start in range(0, len(values), ROWS_AT_ONCE)]
        return np.vstack(found)

    def _block(self, values: Any) -> Any:
        """Leaves whose bounds do not hold the other cells of a row have no part in the density of its cell."""
        n_rows, n_columns = values.shape
        logs = np.zeros((n_columns, n_rows, len(self._log_weight)))
        inside = np.ones(logs.shape, dtype=bool)
        for j in range(n_columns):
            known = ~np.isnan(values[:, j])
            own = values[known, j]
            if self._is_category[j]:
                logs[j, known] = self._log_shares[j][:, own.astype(int)].T
                continue
            inside[j, known] = (own[:, None] > self._low[:, j]) & (own[:, None] <= self._high[:, j])
            scaled = (own[:, None] - self._mean[:, j]) / self._spread[:, j]
            logs[j, known] = -0.5 * scaled**2 - 0.5 * np.log(2 * np.pi * self._spread[:, j] ** 2) - self._log_mass[:, j]
        total = self._log_weight + logs.sum(axis=0)
        n_outside = (~inside).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = logsumexp(np.where(n_outside == 0, total, -np.inf), axis=1)
            result = np.full((n_rows, n_columns), np.nan)
            for j in range(n_columns):
                rest = np.where(n_outside == ~inside[j], total - logs[j], -np.inf)
                result[:, j] = whole - logsumexp(rest, axis=1)
        result = np.where(np.isneginf(result), IMPOSSIBLE, result)
        return np.where(np.isnan(values), np.nan, result)


def _log_mass(low: Any, high: Any) -> Any:
    """Logarithm of the mass of a standard normal between two bounds, exact in either tail."""
    swap = low > 0
    low, high = np.where(swap, -high, low), np.where(swap, -low, high)
    upper, lower = log_ndtr(high), log_ndtr(low)
    with np.errstate(divide="ignore"):
        return upper + np.log(-np.expm1(np.minimum(lower - upper, -1e-12)))


def _commonest(values: Any, is_category: Any) -> Any:
    """Per column the median, or the commonest code."""
    found = np.zeros(values.shape[1])
    for j, is_code in enumerate(is_category):
        known = values[~np.isnan(values[:, j]), j]
        if len(known):
            found[j] = np.bincount(known.astype(int)).argmax() if is_code else np.median(known)
    return found


if __name__ == "__main__":
    serve(Arf())
