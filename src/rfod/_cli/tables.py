"""The tables that commands write: one line per row, or one line per cell of the findings. See docs/formats.md."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._io.batches import Batch
from rfod.detection import Detection

Mask = NDArray[np.bool_]
N_CELLS = 3


def place_fields(key_type: pa.DataType | None) -> list[pa.Field]:
    """How a row is found again."""
    fields = [pa.field("row", pa.int64()), pa.field("line", pa.int64())]
    return fields if key_type is None else [*fields, pa.field("key", key_type)]


def rows_schema(key_type: pa.DataType | None) -> pa.Schema:
    """One line per row of the table."""
    return pa.schema(
        [
            *place_fields(key_type),
            pa.field("score", pa.float64()),
            pa.field("p_value", pa.float64()),
            pa.field("flagged", pa.bool_()),
            pa.field("cells", pa.string()),
        ]
    )


def cells_schema(key_type: pa.DataType | None) -> pa.Schema:
    """One line per scored cell of a finding."""
    return pa.schema(
        [
            *place_fields(key_type),
            pa.field("column", pa.string()),
            pa.field("observed", pa.string()),
            pa.field("expected", pa.string()),
            pa.field("score", pa.float64()),
            pa.field("weight", pa.float64()),
            pa.field("p_value", pa.float64()),
            pa.field("surprise", pa.float64()),
            pa.field("kind", pa.string()),
            pa.field("suggestion", pa.string()),
        ]
    )


def key_type_of(found: Detection) -> pa.DataType | None:
    """The type that keys are written in."""
    if found.key is None:
        return None
    return found.keys.type.value_type if pa.types.is_dictionary(found.keys.type) else found.keys.type


def _places(found: Detection, batch: Batch, rows: NDArray[np.intp]) -> dict[str, pa.Array | pa.ChunkedArray]:
    lines = pa.nulls(len(rows), pa.int64()) if batch.lines is None else pa.array(batch.lines[rows])
    places = {"row": pa.array(rows + batch.first_row), "line": lines}
    if found.key is not None:
        places["key"] = found.keys.take(pa.array(rows)).cast(key_type_of(found))
    return places


def rows_table(found: Detection, batch: Batch, flagged: Mask) -> pa.Table:
    """All rows of a batch; the worst cells are told in words for the flagged ones."""
    told = np.full(len(found), None, dtype=object)
    picked = np.flatnonzero(flagged)
    if len(picked):
        told[picked] = found.rows(picked, n_cells=N_CELLS).column("cells").to_pylist()
    rows = np.arange(len(found))
    columns = _places(found, batch, rows) | {
        "score": pa.array(found.row_scores),
        "p_value": pa.array(found.row_p_values),
        "flagged": pa.array(flagged),
        "cells": pa.array(told, pa.string()),
    }
    return pa.table(columns, schema=rows_schema(key_type_of(found)))


def cells_table(found: Detection, batch: Batch, picked: NDArray[np.intp]) -> pa.Table:
    """The scored cells of some rows."""
    cells = found.cells(picked)
    rows = np.repeat(picked, np.count_nonzero(~np.isnan(found.cell_scores[picked]), axis=1))
    columns = _places(found, batch, rows)
    for name in ("column", "observed", "expected", "score", "weight", "p_value", "surprise", "kind", "suggestion"):
        columns[name] = cells.column(cells.column_names.index(name, 1))
    return pa.table(columns, schema=cells_schema(key_type_of(found)))
