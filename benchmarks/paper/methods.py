"""Every method by the name it has in the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.paper import classical, deep, forests, protocol


class Detector(Protocol):
    def fit(self, frame: pd.DataFrame) -> None: ...

    def score(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Higher is more anomalous."""
        ...


@dataclass(frozen=True)
class Method:
    """`build(seed, threads, **parameters)` makes a fresh detector; `ranked` methods are the paper's eleven.

    Those that are not `in_grid` come from the study "variants", where they cost no fit of their own.
    """

    title: str
    family: str
    build: Callable[..., Detector]
    ranked: bool = True
    in_grid: bool = True
    note: str = ""

    @property
    def seeds(self) -> int:
        return protocol.DEEP_SEEDS if self.family == "deep" else protocol.SEEDS


SYNTHETIC = (
    "30 anomalies made from training rows (each cell drawn anew from its column), since the protocol labels none"
)

METHODS: dict[str, Method] = {
    "rfod": Method("RFOD", "rfod", forests.library, note="defaults"),
    "rfod_paper": Method(
        "RFOD, paper's letter",
        "rfod",
        forests.library_paper,
        ranked=False,
        note="100 full trees on all rows and columns",
    ),
    "rfod_uwa": Method(
        "RFOD, paper's score", "rfod", forests.library_uwa, ranked=False, in_grid=False, note="defaults, row score UWA"
    ),
    "rfod_surprise": Method(
        "RFOD, surprise", "rfod", forests.library_surprise, ranked=False, in_grid=False, note="defaults, surprise"
    ),
    "public": Method("RFOD, public form", "rfod", forests.public_form, ranked=False, note="30 trees of depth 6"),
    "ecod": Method("ECOD", "classical", classical.ecod),
    "lof": Method("LOF", "classical", classical.local_outlier_factor, note="20 neighbours"),
    "if": Method("IF", "classical", classical.isolation_forest, note="100 trees of 256 rows"),
    "ocsvm": Method("OCSVM", "classical", classical.one_class_svm, note="RBF kernel, nu 0.5"),
    "ot": Method("OT", "classical", classical.outlier_tree, note="row score -log(outlier_score), 0 if not named"),
    "knn": Method("kNN", "classical", classical.nearest_neighbours, ranked=False, note="fifth neighbour"),
    "deep_svdd": Method("Deep SVDD", "deep", deep.deep_svdd),
    "slad": Method("SLAD", "deep", deep.slad),
    "devnet": Method("DevNet", "deep", deep.devnet, note=SYNTHETIC),
    "dif": Method("DIF", "deep", deep.dif, note="random networks, no epochs"),
    "icl": Method("ICL", "deep", deep.icl),
}


def build(name: str, seed: int, threads: int, parameters: dict[str, Any]) -> Detector:
    if name not in METHODS:
        raise ValueError(f"There is no method {name!r}.\nHint: methods are {', '.join(METHODS)}.")
    return METHODS[name].build(seed, threads, **parameters)
