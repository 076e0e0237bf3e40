"""Many findings, few causes: what findings have in common, most common first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

MOST = 50
WORDS = {
    "missing": "is missing",
    "present": "has a value where it mostly has none",
    "unseen": "is a category that training does not have",
    "near miss": "is written unlike any category of training",
}


def patterns_json(findings: Mapping[str, Any], cells: Mapping[str, Any], names: Sequence[str]) -> list[dict[str, Any]]:
    """Findings grouped by the column of their worst cell and by what is wrong there."""
    groups: dict[tuple[int, str], list[int]] = {}
    starts = findings["start"]
    for place, (start, end) in enumerate(pairwise(starts)):
        if start < end:
            groups.setdefault((cells["column"][start], _what(cells, start)), []).append(place)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))[:MOST]
    return [
        {"column": j, "n_findings": len(places), "sentence": f"{names[j]} {what}", "findings": places}
        for (j, what), places in ordered
    ]


def _what(cells: Mapping[str, Any], cell: int) -> str:
    if cells["kind"][cell] in WORDS:
        return WORDS[cells["kind"][cell]]
    observed, expected = cells["at"][cell], cells["centre"][cell]
    if observed is None or expected is None:
        return "is not what was expected"
    return "is higher than expected" if observed > expected else "is lower than expected"
