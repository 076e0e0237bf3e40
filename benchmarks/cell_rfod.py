"""rfod's answers about cells, measured against the truth."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

import rfod
from benchmarks.cell_measures import discoveries, pointing
from benchmarks.cell_methods import Scores, by_highest, is_number
from rfod._model.blame import ordinary_limit

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
RATES = (0.01, 0.05, 0.1)
LEVEL = 0.9
INTERVAL_ROWS = 500  # intervals take longer than all the rest


class SurpriseCells:
    """rfod's surprise and nothing else of its answers, as a method like others."""

    def __init__(self, seed: int) -> None:
        self._detector = rfod.RFOD(random_state=seed, n_jobs=1)

    def fit(self, frame: pd.DataFrame) -> None:
        self._detector.fit(frame)

    def score(self, frame: pd.DataFrame) -> Scores:
        return by_highest(self._detector.detect(frame).surprise)


class Detector:
    """A detector with its default parameters, and what is compared of its answers."""

    def __init__(self, train: pd.DataFrame, seed: int) -> None:
        self._seed = seed
        self._train = train
        start = time.perf_counter()
        self._detector = rfod.RFOD(random_state=seed).fit(train)
        self._fit_seconds = time.perf_counter() - start
        self._ranges = np.where(self._detector.model_.ranges > 0, self._detector.model_.ranges, 1.0)

    def untouched(self, test: pd.DataFrame) -> list[dict[str, Any]]:
        """Findings and coverage where nothing is wrong."""
        found = self._detector.detect(test)
        nothing = np.zeros(found.cell_scores.shape, dtype=np.bool_)
        inside, known = self._covered(found, test, np.arange(min(len(found), INTERVAL_ROWS)))
        return [
            {
                "method": "rfod",
                "n_cells": int(nothing.size),
                "fit_seconds": self._fit_seconds,
                "coverage": float(inside[known].mean()) if known.any() else None,
                "findings": {str(rate): discoveries(found.flag_cells(fdr=rate), nothing) for rate in RATES},
            }
        ]

    def results(self, test: pd.DataFrame, spoilt: pd.DataFrame, wrong: Mask) -> list[dict[str, Any]]:
        """One line per way to score cells; the first has what is known of expected values and findings too."""
        start = time.perf_counter()
        found = self._detector.detect(spoilt)
        weighted_cells = found.cell_scores * found.weights
        papers_rows = np.nan_to_num(np.nanmean(weighted_cells, axis=1))
        agd = Scores(found.cell_scores, papers_rows)
        agd_seconds = time.perf_counter() - start
        start = time.perf_counter()
        surprise = by_highest(found.surprise)
        surprise_seconds = agd_seconds + time.perf_counter() - start
        start = time.perf_counter()
        by_blame, blamed_cells = self._by_blame(found)
        blamed = Scores(by_blame, surprise.rows)
        blame_seconds = surprise_seconds + time.perf_counter() - start
        weighted = Scores(weighted_cells, papers_rows)
        ways = {
            "surprise": (surprise, surprise_seconds),
            "surprise, blame": (blamed, blame_seconds),
            "AGD": (agd, agd_seconds),
            "AGD x weight": (weighted, agd_seconds),
        }
        lines = [
            {"method": name, "n_wrong": int(wrong.sum()), "seconds": seconds}
            | pointing(scores.cells, scores.rows, wrong, self._seed)
            for name, (scores, seconds) in ways.items()
        ]
        picked = np.flatnonzero(wrong.any(axis=1))[:INTERVAL_ROWS]
        inside, known = self._covered(found, test, picked)
        at_wrong = known & wrong[picked]
        lines[0] |= {
            "default_row_auc_roc": float(roc_auc_score(wrong.any(axis=1), found.row_scores)),
            "findings": {str(rate): discoveries(found.flag_cells(fdr=rate), wrong) for rate in RATES},
            "blamed": {str(rate): discoveries(found.flag_cells(fdr=rate) & blamed_cells, wrong) for rate in RATES},
            "coverage_of_true": float(inside[at_wrong].mean()) if at_wrong.any() else None,
            **self._expected_errors(found.expected, test, wrong),
        }
        return lines

    def _by_blame(self, found: rfod.Detection) -> tuple[Floats, Mask]:
        """The surprises of each row dealt out again in the order of blame, and the cells that are to blame.

        Only rows that are not ordinary have cells to blame. Where the row is ordinary once these are repaired, the rest
        of its cells is no more surprising than that.
        """
        surprise = found.surprise
        dealt, to_blame = surprise.copy(), np.zeros(surprise.shape, dtype=np.bool_)
        limit = ordinary_limit(len(found.columns))
        place = {name: j for j, name in enumerate(found.columns)}
        for blame in found.blames(np.flatnonzero(surprise.max(axis=1) > limit)):
            row = blame.row
            blamed = [place[name] for name in blame.columns]
            rest = [j for j in np.argsort(-surprise[row], kind="stable").tolist() if j not in blamed]
            dealt[row, blamed + rest] = np.sort(surprise[row])[::-1]
            if blame.ordinary:
                dealt[row, rest] = np.minimum(dealt[row, rest], limit)
            to_blame[row, blamed] = True
        return dealt, to_blame

    def _covered(self, found: rfod.Detection, truth: pd.DataFrame, picked: NDArray[np.intp]) -> tuple[Mask, Mask]:
        """Cells of picked rows whose true value lies in its interval; cells that have a number and an interval."""
        low, high = found.intervals(picked, level=LEVEL)
        truth = truth.iloc[picked]
        values = np.column_stack(
            [
                truth[name].to_numpy(np.float64, na_value=np.nan)
                if is_number(truth[name])
                else np.full(len(truth), np.nan)
                for name in found.columns
            ]
        )
        known = np.isfinite(values) & ~np.isnan(low) & ~np.isnan(high)
        return (low <= values) & (values <= high), known

    def _expected_errors(self, expected: pd.DataFrame, truth: pd.DataFrame, wrong: Mask) -> dict[str, Any]:
        """Expected against true values of wrong cells: distance over the range of the column; share of categories."""
        distances, plain_distances, agreed, plain_agreed = [], [], [], []
        for j, name in enumerate(truth):
            rows = wrong[:, j]
            if not rows.any():
                continue
            true, told = truth[name][rows], expected[name][rows]
            if is_number(truth[name]):
                values = true.to_numpy(np.float64)
                distances += [np.abs(told.to_numpy(np.float64) - values) / self._ranges[j]]
                plain_distances += [np.abs(self._train[name].astype(np.float64).median() - values) / self._ranges[j]]
            else:
                texts = true.astype(str).to_numpy()
                agreed += [told.astype(str).to_numpy() == texts]
                plain_agreed += [self._train[name].astype(object).mode().astype(str).iloc[0] == texts]
        return {
            "expected_distance": _mean(distances),
            "expected_distance_median": _mean(distances, np.median),
            "median_distance": _mean(plain_distances),
            "median_distance_median": _mean(plain_distances, np.median),
            "expected_agrees": _mean(agreed),
            "mode_agrees": _mean(plain_agreed),
        }


def _mean(parts: list[Any], measure: Any = np.mean) -> float | None:
    return float(measure(np.concatenate(parts))) if parts else None
