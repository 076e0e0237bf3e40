"""Many findings, few causes: what the findings of a report have in common, most common first."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._explain.patterns import find_patterns
from rfod._explain.rows import SURPRISING
from rfod._report.findings import Cells
from rfod._report.texts import LONGEST_SENTENCE, printable
from rfod.detection import Detection


def patterns_json(
    found: Detection, picked: NDArray[np.intp], cells: Cells, hidden: Collection[str], most: int
) -> list[dict[str, Any]]:
    """Patterns of the cells to blame; where nobody looked for these, of the most surprising cell of the row."""
    chosen = [cell for cell, explanation in cells.explanations.items() if explanation.blamed]
    blamed_rows = {int(cells.rows[cell]) for cell in chosen}
    for start in cells.starts[:-1].tolist():
        row, j = int(cells.rows[start]), int(cells.columns[start])
        if row not in blamed_rows and found.surprise[row, j] >= SURPRISING:
            chosen.append(start)
    pairs = [(int(cells.rows[cell]), int(cells.columns[cell])) for cell in chosen]
    place_of = {row: place for place, row in enumerate(picked.tolist())}
    return [
        {
            "column": found.columns.index(pattern.column),
            "n_findings": pattern.n_findings,
            "sentence": printable(pattern.sentence.partition(": ")[2], LONGEST_SENTENCE),  # the count stands beside it
            "example": printable(pattern.example.sentence, LONGEST_SENTENCE),
            "findings": [place_of[row] for row in pattern.rows],
        }
        for pattern in find_patterns(found, pairs, hidden)[:most]
    ]
