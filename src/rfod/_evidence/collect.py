"""Collects all evidence on the cells of one judged table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.context import order_inputs
from rfod._evidence.inputs import CellInputs, cell_inputs
from rfod._evidence.profile import Profile, WrittenTable, fit_profile, read_written
from rfod._model.judged import JudgedTable
from rfod._table.table import Table


@dataclass(frozen=True, eq=False)
class Collected:
    """Evidence on the cells of a table."""

    profile: Profile
    written: WrittenTable
    inputs: CellInputs
    order: NDArray[np.float32]
    """(columns, rows, ORDER_INPUTS)."""


def judged_names(judged: JudgedTable, table: Table) -> tuple[str, ...]:
    """The columns whose cells are judged: all but those that the caller leaves out."""
    ignored = {name for name, why in judged.model.schema.left_out.items() if why == "ignored"}
    return tuple(name for name in table.names if name not in ignored)


def collect(judged: JudgedTable, table: Table) -> Collected:
    """Evidence on the cells of a training table, each row compared with the others."""
    written = read_written(table, judged_names(judged, table), judged)
    profile = fit_profile(written, judged)
    return Collected(profile, written, cell_inputs(profile, written, judged), order_inputs(written))
