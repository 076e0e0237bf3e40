"""RFOD itself: the library, and the paper's letter on scikit-learn's forests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.literal import PUBLIC_FORM, LiteralRFOD

# The paper's letter within the library: deviations in the columns' own units, all rows and all columns for every tree.
PAPER_SETTINGS: dict[str, Any] = {
    "n_estimators": 100,
    "alpha": 0.02,
    "beta": 0.5,
    "max_features": 1.0,
    "min_samples_leaf": 1,
    "max_depth": None,
    "max_samples": 1.0,
    "uncertainty": "raw",
    "aggregation": "uncertainty",
    "distance": "agd",
}


class EncodedRows:
    """A detector whose `detect` gives row scores."""

    def __init__(self, detector: Any) -> None:
        self.detector = detector

    def fit(self, frame: pd.DataFrame) -> None:
        self.detector.fit(frame)

    def score(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        return np.asarray(self.detector.detect(frame).row_scores, dtype=np.float64)


def library(seed: int, threads: int, judged_rows: int | None = None, **parameters: Any) -> EncodedRows:
    """`judged_rows`: most out-of-bag rows that a tree is judged on, to see what judging costs."""
    import rfod

    if judged_rows is not None:
        from rfod.params import Params

        Params.n_out_of_bag = lambda self, n_rows: judged_rows  # type: ignore[method-assign]
    return EncodedRows(rfod.RFOD(random_state=seed, n_jobs=threads, **parameters))


def library_paper(seed: int, threads: int, **parameters: Any) -> EncodedRows:
    return library(seed, threads, **PAPER_SETTINGS | parameters)


def library_uwa(seed: int, threads: int, **parameters: Any) -> EncodedRows:
    return library(seed, threads, aggregation="uncertainty", **parameters)


def library_surprise(seed: int, threads: int, **parameters: Any) -> EncodedRows:
    return library(seed, threads, aggregation="surprise", **parameters)


def public_form(seed: int, threads: int, **parameters: Any) -> EncodedRows:
    settings = PUBLIC_FORM | parameters
    return EncodedRows(LiteralRFOD(random_state=seed, n_jobs=threads, backend="threads", **settings))
