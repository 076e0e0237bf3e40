"""Which cells of a table decisions are about: by key or fingerprint of the row, while the observed value is the same.

The fingerprint of a row is the sum of a hash per cell, so that cells can be taken out of it. Decisions with one
fingerprint are about one row; what any of them changes is taken out before rows are compared, so that the row is found
before, while and after its repairs are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rfod._decisions.decision import Decision
from rfod._decisions.texts import cell_hash, cell_texts, comparable, is_typed, key_texts, row_hashes
from rfod._table.table import Table

Rows = NDArray[np.intp]
_SHOWN = 40


@dataclass(frozen=True)
class Unmatched:
    """A decision that does not apply to a table."""

    decision: Decision
    reason: str
    """Why: "no row has this key"."""

    def __str__(self) -> str:
        return f"{self.decision} ({self.reason})"


@dataclass(frozen=True)
class Applied:
    """A decision about a cell of a table."""

    decision: Decision
    row: int
    """Number of the row in the table."""
    is_done: bool
    """Whether the table has the decided value already."""


@dataclass
class _Group:
    """Decisions about one row, and the rows that may be it."""

    decisions: list[Decision]
    rows: dict[int, dict[str, str | None]] = field(default_factory=dict)
    """Number of the row and, per decided column, what stands there."""

    @property
    def columns(self) -> list[str]:
        """Of the decisions."""
        return list(dict.fromkeys(decision.column for decision in self.decisions))

    @property
    def changed(self) -> dict[str, str | None]:
        """What first stood in the columns that a decision changes."""
        first: dict[str, str | None] = {}
        for decision in self.decisions:
            if decision.kind != "fine":
                first.setdefault(decision.column, decision.observed)
        return first

    def allowed(self, column: str) -> set[str | None]:
        """What may stand in a column of the row, before or after its repair."""
        return {
            comparable(text)
            for decision in self.decisions
            if decision.column == column
            for text in ((decision.observed, decision.value) if decision.kind == "replace" else (decision.observed,))
        } | ({None} if any(d.kind == "blank" and d.column == column for d in self.decisions) else set())


class Matcher:
    """Finds the cells of decisions in a table that comes in parts."""

    def __init__(self, decisions: Sequence[Decision]) -> None:
        self._groups: dict[tuple[str, ...], _Group] = {}
        for decision in decisions:
            if decision.wherever is None:
                self._groups.setdefault(decision.place, _Group([])).decisions.append(decision)
        self._names: set[str] = set()
        self._typed: set[str] = set()

    def add(self, table: Table, numbers: NDArray[np.int64] | None = None) -> None:
        """Look at some rows; `numbers` are theirs in the whole table, by default their positions."""
        if not self._groups:
            return
        self._names.update(table.names)
        numbers = np.arange(table.n_rows) if numbers is None else numbers
        found = self._by_key(table) + self._by_fingerprint(table)
        wanted = {column for group, _ in found for column in group.columns if column in table.names}
        rows = np.unique(np.array([row for _, row in found], dtype=np.intp))
        place = {row: number for number, row in enumerate(rows.tolist())}
        texts = {name: cell_texts(table, name, rows) for name in sorted(wanted)}
        self._typed.update(name for name in wanted if is_typed(table, name))
        for group, row in found:
            cells = {name: texts[name][place[row]] for name in group.columns if name in texts}
            group.rows[int(numbers[row])] = cells

    def _by_key(self, table: Table) -> list[tuple[_Group, int]]:
        wanted: dict[str, dict[str | None, _Group]] = {}
        for place, group in self._groups.items():
            if place[0] == "key":
                wanted.setdefault(place[1], {})[comparable(place[2])] = group
        return [
            (groups[text], row)
            for name, groups in wanted.items()
            if name in table.names
            for row, text in enumerate(key_texts(table, name))
            if text is not None and text in groups
        ]

    def _by_fingerprint(self, table: Table) -> list[tuple[_Group, int]]:
        groups = [group for place, group in self._groups.items() if place[0] == "row"]
        groups = [group for group in groups if set(group.columns) <= set(table.names)]
        candidates = np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *_candidates(table, groups)]))
        if not len(candidates):
            return []
        hashes = row_hashes(table, candidates)
        names = sorted({column for group in groups for column in group.columns})
        texts = {name: cell_texts(table, name, candidates) for name in names}
        rest_of: dict[tuple[str, ...], dict[int, list[_Group]]] = {}
        for group in groups:
            changed = group.changed
            rest = int(group.decisions[0].row or "0", 16) - sum(cell_hash(*cell) for cell in changed.items())
            rest_of.setdefault(tuple(sorted(changed)), {}).setdefault(rest % 2**64, []).append(group)
        found = []
        for columns, by_rest in rest_of.items():
            rests = hashes.tolist()
            for name in columns:
                rests = [(rest - cell_hash(name, text)) % 2**64 for rest, text in zip(rests, texts[name], strict=True)]
            for place, rest in enumerate(rests):
                for group in by_rest.get(rest, ()):
                    if all(comparable(texts[name][place]) in group.allowed(name) for name in columns):
                        found.append((group, int(candidates[place])))
        return found

    def finish(self) -> tuple[list[Applied], list[Unmatched]]:
        """The cells that decisions are about, and the decisions that are about none or several."""
        applied: dict[tuple[int, str], Applied] = {}
        unmatched = []
        for group in self._groups.values():
            for decision in group.decisions:  # a later one about the same cell counts
                found = self._place(decision, group)
                if isinstance(found, Unmatched):
                    unmatched.append(found)
                    continue
                earlier = applied.get((found.row, decision.column))
                if earlier is None or earlier.is_done or not found.is_done:
                    applied[found.row, decision.column] = found
        return list(applied.values()), unmatched

    def _place(self, decision: Decision, group: _Group) -> Applied | Unmatched:
        if decision.column not in self._names:
            return Unmatched(decision, f"the table has no column {decision.column!r}")
        if not group.rows:
            if decision.key is not None and decision.key[0] not in self._names:
                return Unmatched(decision, f"the table has no column {decision.key[0]!r}")
            return Unmatched(decision, f"no row has this {'key' if decision.key else 'fingerprint'}")
        for is_done, wanted in ((False, decision.observed), (True, decision.value)):
            if is_done and decision.kind == "fine":
                break
            rows = [row for row, cells in group.rows.items() if self._is_same(decision, cells[decision.column], wanted)]
            if len(rows) > 1:
                shown = ", ".join(f"{row:,}" for row in rows[:3]) + (", ..." if len(rows) > 3 else "")
                return Unmatched(decision, f"{len(rows):,} rows match, numbers {shown} from 0")
            if rows:
                return Applied(decision, rows[0], is_done)
        cells = next(iter(group.rows.values()))
        text = cells[decision.column]
        now = "nothing" if text is None else repr(text[:_SHOWN])
        return Unmatched(decision, f"the cell holds {now} now")

    def _is_same(self, decision: Decision, text: str | None, wanted: str | None) -> bool:
        if text is None or wanted is None:
            return text is wanted
        if decision.column in self._typed:
            return comparable(text) == comparable(wanted)
        return text == wanted.strip()


def _candidates(table: Table, groups: Sequence[_Group]) -> list[Rows]:
    """Rows in which a decided column of some group has a value that a row of the group may have."""
    allowed: dict[str, set[str | None]] = {}
    for group in groups:
        name = group.columns[0]
        allowed.setdefault(name, set()).update(group.allowed(name))
    return [
        np.array([row for row, text in enumerate(cell_texts(table, name)) if comparable(text) in texts], dtype=np.intp)
        for name, texts in allowed.items()
    ]


def current(entries: Mapping[str, Decision], withdrawn: set[str]) -> list[Decision]:
    """The decisions that are in force: not taken back, and the last one on what stands in a cell."""
    last: dict[tuple[object, ...], Decision] = {}
    for decision in entries.values():
        if decision.id not in withdrawn:
            place = (decision.place, decision.column, decision.observed if decision.wherever is None else None)
            last.pop(place, None)
            last[place] = decision
    return list(last.values())
