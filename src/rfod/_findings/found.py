"""What an explanation needs to know of a judged table."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._findings.reasons import Reasons
from rfod._model.blame import Repair
from rfod._model.conditional import Conditional
from rfod._model.judge import Rows
from rfod._model.model import Judged, Model

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]


class Found(Protocol):
    """`Detection` is one."""

    _model: Model
    _judged: Judged
    _first_row: int
    row_scores: Floats
    key: str | None

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def cell_scores(self) -> Floats: ...
    @property
    def surprise(self) -> Floats: ...
    @property
    def p_values(self) -> Floats: ...
    @property
    def row_p_values(self) -> Floats: ...
    @property
    def keys(self) -> pa.ChunkedArray: ...
    @property
    def _conditional(self) -> Conditional: ...
    @property
    def _reasons(self) -> Reasons: ...
    def _read(self, rows: Positions) -> Rows: ...
    def _repairs(self, rows: Positions) -> list[Repair]: ...
    def _kinds(self, cells: list[tuple[Any, Any]]) -> tuple[list[str], list[str | None]]: ...
    def _texts(self, cells: list[tuple[Any, Any]], observed: bool) -> list[str]: ...
