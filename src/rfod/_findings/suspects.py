"""Suspects: cells that are wrong or worth a check, as a table and by pattern; and the regularities of the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from rfod._evidence.wrong_cells import WORTH_A_CHECK, CellProbabilities, WrongCell
from rfod._findings.explanations import RowExplanation
from rfod._findings.findings import Positions
from rfod._findings.patterns import Pattern

# One line per cell; docs/formats.md says what each field means.
SUSPECT_FIELDS = pa.schema(
    [(name, pa.string()) for name in ("column", "observed", "suggested")]
    + [("probability", pa.float64()), ("repair_probability", pa.float64())]
    + [(name, pa.string()) for name in ("kind", "evidence", "reason", "version")]
)


@dataclass(frozen=True)
class TableRegularity:
    """A rule that nearly all rows of a table follow."""

    kind: str
    """"sum", "order", "equal", "unique" or "contains"."""
    columns: tuple[str, ...]
    sentence: str
    n_rows: int
    """Rows that the rule can be checked on."""
    exceptions: tuple[int, ...]
    """Positions of the rows that break it."""

    def __str__(self) -> str:
        return self.sentence

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return vars(self) | {"columns": list(self.columns), "exceptions": list(self.exceptions)}


def regularities_of(probabilities: CellProbabilities) -> list[TableRegularity]:
    """The regularities of a table, strongest first, each with the rows that break it."""
    names = probabilities.names
    return [
        TableRegularity(
            rule.kind,
            tuple(names[c] for c in rule.columns),
            rule.text(names),
            rule.n_rows,
            tuple(np.flatnonzero(probabilities.broken(rule)).tolist()),
        )
        for rule in probabilities.collected.profile.regularities
    ]


def with_wrong_cells(
    explained: Sequence[RowExplanation], rows: Positions, probabilities: CellProbabilities, first_row: int
) -> list[RowExplanation]:
    """Explanations of rows with their wrong cells, the most probable first."""
    chance, distinct = probabilities.probability, np.unique(rows)
    order = np.argsort(-chance[distinct], axis=1, kind="stable")
    cells = [
        (row, c)
        for row, columns in zip(distinct.tolist(), order.tolist(), strict=True)
        for c in columns
        if chance[row, c] >= WORTH_A_CHECK
    ]
    wrong: dict[int, list[WrongCell]] = {}
    for cell in probabilities.describe(cells):
        wrong.setdefault(cell.row, []).append(replace(cell, row=cell.row + first_row))
    return [
        replace(row, wrong=tuple(wrong.get(position, ())))
        for row, position in zip(explained, rows.tolist(), strict=True)
    ]


def suspect_arrays(cells: Sequence[WrongCell], version: str) -> dict[str, pa.Array]:
    """The fields of `SUSPECT_FIELDS`, in their order."""
    values = {
        "column": [cell.column for cell in cells],
        "observed": [cell.observed for cell in cells],
        "suggested": [cell.suggested for cell in cells],
        "probability": [cell.probability for cell in cells],
        "repair_probability": [cell.repair_probability for cell in cells],
        "kind": [cell.kind for cell in cells],
        "evidence": [", ".join(cell.evidence) for cell in cells],
        "reason": [cell.reason for cell in cells],
        "version": [version] * len(cells),
    }
    return {field.name: pa.array(values[field.name], field.type) for field in SUSPECT_FIELDS}


def by_pattern(cells: Iterable[WrongCell]) -> list[list[WrongCell]]:
    """Cells of one column that are wrong in one way, by the same kind of evidence: the largest group first, in each the
    order that the cells came in."""
    groups: dict[tuple[str, str, str], list[WrongCell]] = {}
    for cell in cells:
        groups.setdefault((cell.column, cell.kind, cell.sort), []).append(cell)
    return sorted(groups.values(), key=lambda group: -len(group))


def suspect_patterns(cells: Iterable[WrongCell]) -> list[Pattern]:
    """`by_pattern` as patterns; the example is the first cell of each."""
    return [
        Pattern(
            column=group[0].column,
            what=group[0].sort,
            conditions=(),
            n_findings=len(group),
            rows=tuple(cell.row for cell in group),
            example=group[0],
        )
        for group in by_pattern(cells)
    ]
