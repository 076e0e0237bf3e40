"""The whole records of findings, as plain data that JSON can hold."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._evidence.wrong_cells import HIDDEN
from rfod._table.encode import cell_text, texts_of
from rfod._table.kinds import kind_of
from rfod._table.table import Table
from rfod._table.values import family, plain
from rfod._views.distribution import printable
from rfod.detection import Detection

LONGEST = 300  # letters of a value


def records_json(
    found: Detection, picked: NDArray[np.intp], most_cells: int, hidden: Collection[str], texts: dict[str, int]
) -> dict[str, Any]:
    """All columns of the first of the picked rows, as many as `most_cells` allow: names, and for each row the numbers
    of its texts in `texts`, which grows; null for a gap."""
    table = found.judged.table
    rows = picked[: most_cells // max(1, len(table.names))]
    by_column = [_column(found, table, name, rows, name in hidden) for name in table.names]
    values: list[list[int | None]] = [[] for _ in range(len(rows))]
    for column in by_column:
        for row, text in zip(values, column, strict=True):
            row.append(None if text is None else texts.setdefault(printable(text, LONGEST), len(texts)))
    return {"columns": [printable(name) for name in table.names], "values": values}


def _column(found: Detection, table: Table, name: str, rows: NDArray[np.intp], is_hidden: bool) -> list[str | None]:
    """One column of some rows, as it was written."""
    if is_hidden:
        return [HIDDEN] * len(rows)
    written = plain(table.written(name, mixed_as_text=True).take(pa.array(rows, pa.int64())))
    is_known: list[bool] = written.is_valid().to_pylist()
    if family(written.type) == "text":
        return list(written.to_pylist())
    modelled = {column.name: column for column in found.judged.model.schema.columns}
    if name in modelled and not kind_of(modelled[name].kind).is_categorical:
        shown = cell_text(modelled[name], table, rows)
    else:
        shown = texts_of(written)
    return [text if is_there else None for text, is_there in zip(shown, is_known, strict=True)]
