"""Errors put into a pandas frame, for benchmarks that know the truth."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rfod import ColumnWarning
from rfod._check.errors import inject as inject_table
from rfod._table.columns import Column
from rfod._table.schema import infer_schema
from rfod._table.table import open_table
from rfod.params import ERROR_KINDS, ErrorKind

__all__ = ["ERROR_KINDS", "ErrorKind", "inject", "modelled_columns"]


def modelled_columns(frame: pd.DataFrame) -> tuple[Column, ...]:
    """The columns that a model of this frame has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        return infer_schema(open_table(frame)).columns


def inject(
    frame: pd.DataFrame,
    kind: ErrorKind,
    share: float,
    seed: int,
    n_cells: int = 1,
    columns: tuple[Column, ...] | None = None,
) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """A copy with `n_cells` wrong cells in a share of the rows, and which cells (rows by columns) are wrong.

    `columns` are those that may become wrong; all that can be modelled by default.
    """
    table = open_table(frame)
    columns = modelled_columns(frame) if columns is None else columns
    injected = inject_table(table, columns, kind, share=share, seed=seed, n_cells=n_cells)
    wrong = pd.DataFrame(False, index=frame.index, columns=frame.columns)
    wrong[[column.name for column in columns]] = injected.wrong
    spoilt = [column.name for column, any_wrong in zip(columns, injected.wrong.any(axis=0), strict=True) if any_wrong]
    copy = frame.copy()
    if spoilt:
        new = table.frame({name: injected.table.column(name) for name in spoilt}, np.arange(table.n_rows))
        copy[spoilt] = new[spoilt]
    return copy, wrong.to_numpy(dtype=np.bool_)
