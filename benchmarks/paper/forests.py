"""RFOD itself: the library, and the paper's letter on scikit-learn's forests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.literal import PUBLIC_FORM, LiteralRFOD


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
    import rfod

    return EncodedRows(rfod.RFOD.as_published(random_state=seed, n_jobs=threads, **parameters))


def library_uwa(seed: int, threads: int, **parameters: Any) -> EncodedRows:
    return library(seed, threads, aggregation="uncertainty", **parameters)


def library_surprise(seed: int, threads: int, **parameters: Any) -> EncodedRows:
    return library(seed, threads, aggregation="surprise", **parameters)


def public_form(seed: int, threads: int, **parameters: Any) -> EncodedRows:
    settings = PUBLIC_FORM | parameters
    return EncodedRows(LiteralRFOD(random_state=seed, n_jobs=threads, backend="threads", **settings))
