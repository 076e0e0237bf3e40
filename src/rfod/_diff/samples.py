"""Both sides of a comparison, column by column: values as one model reads them, and how far they are from expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._model.calibrate import strangeness
from rfod._model.executor import Threads
from rfod._model.judge import EncodedRows, code_rows, judge, read_rows
from rfod._model.judged import JudgedTable
from rfod._model.model import Model
from rfod._table.schema import match_columns
from rfod._table.table import Table
from rfod._table.values import MISSING
from rfod.exceptions import ParameterError
from rfod.pipeline import fit_half

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Side:
    """The rows of one side; lists have one entry per modelled column."""

    encoded: Sequence[NDArray[Any]]
    """All values, or a sample of them."""
    n_rows: int
    n_missing: Sequence[int]
    """Of all rows."""
    strangeness: Sequence[Floats]
    """How far cells are from what a model expects that was not fitted to them, in the column's own measure."""


def sides_of_model(model: Model, table: Table, n_jobs: int | None) -> tuple[Side, Side]:
    """The training rows of a model, of which it keeps a sample, and the rows of a table."""
    if model.params["trim"]:
        raise ParameterError(
            "The model was fitted without the rows that score highest (trim), so any table differs from what it "
            "keeps.\n"
            "Hint: fit it with trim=0, which is the default, or compare with the table it was fitted to."
        )
    others = read_rows(model, match_columns(model.schema, table))
    encoded = model.sample.values
    half, rows, _ = fit_half(model, encoded, n_jobs)
    before, after = (_strangeness(half, part, n_jobs) for part in (rows, code_rows(half, others.encoded)))
    n_missing = [column.n_missing for column in model.schema.columns]
    return Side(encoded, model.schema.n_rows, n_missing, before), _side(others.encoded, after)


def sides_of_tables(judged: JudgedTable, table: Table, found: Positions, n_jobs: int | None) -> tuple[Side, Side]:
    """The rows of a judged table and those of a later one; `found` is the place of each later row in the earlier table,
    -1 for a new one.

    Cells are judged by a model of one half of the earlier rows: those of the other half and those of the later table
    are both new to it, and differ by chance only where nothing changed. Later rows of the half that was learned from
    are left out.
    """
    model, is_new = judged.model, np.ones(len(found), np.bool_)
    rows, others = judged.rows(slice(None)), read_rows(model, match_columns(model.schema, table))
    if judged.is_own:
        model, rows, is_learned = fit_half(model, judged.encoded, n_jobs)
        is_new[found >= 0] = ~is_learned[found[found >= 0]]
    new = code_rows(model, [values[is_new] for values in others.encoded])
    before, after = (_strangeness(model, part, n_jobs) for part in (rows, new))
    return _side(judged.encoded, before), _side(others.encoded, after)


def _side(encoded: Sequence[NDArray[Any]], strange: Sequence[Floats]) -> Side:
    n_missing = [int(np.count_nonzero(is_missing(values))) for values in encoded]
    return Side(encoded, len(encoded[0]), n_missing, strange)


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which encoded values are missing."""
    return np.asarray(np.isnan(values) if values.dtype.kind == "f" else values == MISSING)


def _strangeness(model: Model, rows: EncodedRows, n_jobs: int | None) -> list[Floats]:
    """Per column, of the cells that have a value."""
    if not len(rows):
        return [np.zeros(0)] * len(model.columns)
    cells = judge(model, rows, Threads(n_jobs), with_rows=False)
    found = [
        strangeness(column, column.floor, cells.cell_scores[:, j], cells.spread_or_share[:, j])
        for j, column in enumerate(model.columns)
    ]
    return [values[~np.isnan(values)] for values in found]
