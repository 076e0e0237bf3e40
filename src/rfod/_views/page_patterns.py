"""Many findings, few causes: what the findings of a report have in common, most common first."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._findings.patterns import find_patterns
from rfod._views.texts import LONGEST_SENTENCE, printable
from rfod.detection import Detection


def patterns_json(
    found: Detection, picked: NDArray[np.intp], hidden: Collection[str], most: int
) -> list[dict[str, Any]]:
    """The most common patterns, each with the numbers of its findings."""
    place_of = {row: place for place, row in enumerate(picked.tolist())}
    wanted = np.ones(found.surprise.shape, dtype=np.bool_)
    return [
        {
            "column": found.columns.index(pattern.column),
            "n_findings": pattern.n_findings,
            "sentence": printable(pattern.sentence.partition(": ")[2], LONGEST_SENTENCE),  # the count stands beside it
            "example": printable(pattern.example.sentence, LONGEST_SENTENCE),
            "findings": [place_of[row] for row in pattern.rows],
        }
        for pattern in find_patterns(found, picked, wanted, hidden)[:most]
    ]
