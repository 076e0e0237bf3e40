"""Many findings, few causes: what findings have in common, most common first."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._report.findings import Cells
from rfod._report.texts import printable
from rfod._table.encode import encode_column
from rfod.detection import Detection

MOST = 50


def patterns_json(
    found: Detection, picked: NDArray[np.intp], cells: Cells, hidden: Collection[str]
) -> list[dict[str, Any]]:
    """Findings grouped by the column of their worst cell and the direction it lies in."""
    groups: dict[tuple[int, str], list[int]] = {}
    for place, (start, end) in enumerate(zip(cells.starts[:-1], cells.starts[1:], strict=True)):
        if start < end:
            j = int(cells.columns[start])
            groups.setdefault((j, _direction(found, int(picked[place]), j)), []).append(place)
    told = []
    for (j, direction), places in sorted(groups.items(), key=lambda item: -len(item[1]))[:MOST]:
        name = found.columns[j]
        told.append(
            {
                "column": j,
                "n_findings": len(places),
                "sentence": f"{printable(name)} is {'unusual' if name in hidden else direction}",
                "findings": places[:1000],
            }
        )
    return told


def _direction(found: Detection, row: int, j: int) -> str:
    column = found._model.columns[j]
    if column.is_categorical:
        return "another category than expected"
    observed = float(encode_column(found._table, column)[row])
    return "higher than expected" if observed > float(found._judged.expected[j][row]) else "lower than expected"
