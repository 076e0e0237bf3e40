"""Changes to a table: what was decided about its cells, and repairs that are likely enough to be made unasked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rfod._decisions.decisions import Decided, decide
from rfod._decisions.edit import edited
from rfod._decisions.texts import texts_as_given
from rfod._evidence.repair import REPAIRED_FROM
from rfod._evidence.wrong_cells import CellProbabilities
from rfod._findings.findings import RowLabels
from rfod._table.edits import Edit, Refusal
from rfod._table.table import Table
from rfod.exceptions import ParameterError

DECIDED = "decided"
# One line per changed cell; docs/formats.md says what each field means.
CHANGE_FIELDS = pa.schema(
    [(name, pa.string()) for name in ("column", "before", "after", "why")] + [("probability", pa.float64())]
)


@dataclass(frozen=True)
class Change:
    """A new value for one cell."""

    row: int
    """Position in the table."""
    column: str
    before: str | None
    """As it was written; None for a gap."""
    after: str | None
    why: str
    """One sentence, or "decided"."""
    probability: float | None
    """That the new value is the right one; None for what was decided."""

    @property
    def edit(self) -> Edit:
        """The cell and its new value. Nothing is added to what a person decided."""
        return Edit(self.row, self.column, self.after, is_padded=self.probability is not None)


def decided_changes(table: Table) -> list[Change]:
    """The cells of a table that have the values that were decided, and no longer their own."""
    changes = []
    for name, cells in table.before.items():
        rows = sorted(cells)
        after = texts_as_given(table, name, np.array(rows, dtype=np.intp))
        changes += [Change(row, name, cells[row], text, DECIDED, None) for row, text in zip(rows, after, strict=True)]
    return changes


def likely_changes(probabilities: CellProbabilities, above: float) -> list[Change]:
    """The cells whose suggestion is right with at least this probability."""
    if not 0 < above <= 1:
        raise ParameterError(f"above is {above!r}; it must be a number between 0 and 1, 0 excluded.")
    names = probabilities.names
    cells = [(int(row), int(c)) for row, c in probabilities.above(REPAIRED_FROM)]
    wanted = [
        cell
        for cell, made in zip(cells, probabilities.suggestions(cells), strict=True)
        if made is not None and made.probability >= above
    ]
    return [
        Change(cell.row, names[c], cell.observed, cell.suggested, cell.reason, cell.repair_probability)
        for cell, (_, c) in zip(probabilities.describe(wanted), wanted, strict=True)
    ]


def find_changes(
    table: Table, probabilities: CellProbabilities, above: float, decisions: Decided
) -> tuple[Table, list[Change]]:
    """The table as decided, and all changes that are made to it: those that were decided, and likely ones."""
    decided = decide(table, decisions)
    likely = [
        change
        for change in likely_changes(probabilities, above)
        if change.column not in decided.masks or not decided.masks[change.column][change.row]
    ]
    refused = {refusal.edit for refusal in with_changes(decided.table, likely)[1]}
    made = [change for change in likely if change.edit not in refused]
    return decided.table, in_order([*decided_changes(decided.table), *made], decided.table.names)


def in_order(changes: Iterable[Change], names: Sequence[str]) -> list[Change]:
    """By row, then by column."""
    place = {name: number for number, name in enumerate(names)}
    return sorted(changes, key=lambda change: (change.row, place.get(change.column, len(place))))


def with_changes(table: Table, changes: Iterable[Change]) -> tuple[Table, list[Refusal]]:
    """The table with its changes; and those that are no value of their column."""
    by_column: dict[str, dict[int, str | None]] = {}
    for change in changes:
        by_column.setdefault(change.column, {})[change.row] = change.after
    refused = []
    for name, cells in by_column.items():
        table, reasons = edited(table, name, cells)
        refused += [Refusal(Edit(row, name, cells[row]), reason) for row, reason in reasons.items()]
    return table, refused


def change_arrays(changes: Sequence[Change], labels: RowLabels, key_name: str = "key") -> dict[str, pa.Array]:
    """Row, line and key of each change, and CHANGE_FIELDS."""
    columns = dict(labels.columns(np.array([change.row for change in changes], dtype=np.intp), key_name))
    values = {name: [getattr(change, name) for change in changes] for name in CHANGE_FIELDS.names}
    return columns | {field.name: pa.array(values[field.name], field.type) for field in CHANGE_FIELDS}
