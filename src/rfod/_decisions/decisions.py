"""Decisions about the cells of a table, and the table as it was decided."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._decisions.condition import Node, parse_condition
from rfod._decisions.decision import Decision, Entry, Kind, Withdrawal
from rfod._decisions.edit import edited
from rfod._decisions.file import append_entries, read_entries
from rfod._decisions.match import Applied, Matcher, Unmatched, current
from rfod._decisions.settled import SettledCells, shift_of
from rfod._decisions.texts import cell_texts, fingerprint, key_texts, row_hashes
from rfod._table.table import Table, check_columns, open_table
from rfod.exceptions import DecisionsError, DecisionsWarning, ParameterError


class Decisions:
    """What was decided about cells, in the order in which it was decided.

    `Decisions.read(path)` reads a file, `Decisions()` has none. They are matched to a table by the key of a row, or
    by its fingerprint where no key is named, and apply while the cell holds what it held when it was decided.
    """

    def __init__(self, entries: Iterable[Entry] = (), path: str | None = None, notes: Sequence[str] = ()) -> None:
        self.entries: list[Entry] = list(entries)
        """All lines of the file, withdrawn ones too."""
        self.path = path
        """The file that decisions are appended to, or None."""
        self.notes = tuple(notes)
        """What was noticed when the file was read."""

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, missing_ok: bool = False) -> Decisions:
        """The decisions of a file; none, with `missing_ok`, where there is no file yet."""
        if missing_ok and not Path(path).exists():
            return cls(path=os.fspath(path))
        entries, notes = read_entries(path)
        return cls(entries, os.fspath(path), notes)

    @property
    def in_force(self) -> list[Decision]:
        """Decisions that were not withdrawn and not followed by another one on the same value of the same cell."""
        decisions = {entry.id: entry for entry in self.entries if isinstance(entry, Decision)}
        return current(decisions, {entry.withdraws for entry in self.entries if isinstance(entry, Withdrawal)})

    def add(self, *entries: Entry) -> None:
        """Add decisions, and append them to the file, if there is one: they are on the disk when this returns."""
        if self.path is not None:
            append_entries(self.path, entries)
        self.entries += entries

    def withdraw(self, decision: Decision) -> None:
        """Take a decision back, by another line of the file."""
        self.add(Withdrawal(decision.id))

    def __len__(self) -> int:
        return len(self.in_force)

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.in_force)

    def __repr__(self) -> str:
        return f"<Decisions: {len(self)} in force{'' if self.path is None else f', {self.path}'}>"

    # ------------------------------------------------------------------------------------------------------- of a table

    def match(self, table: Any) -> Matched:
        """Find the cells that decisions are about, in a table of any library that rfod takes."""
        opened, matcher = open_table(table), self.matcher()
        matcher.add(opened)
        return self.matched(matcher, opened)

    def matcher(self) -> Matcher:
        """For tables that come in parts: `add` all of them, then `matched`."""
        return Matcher(self.in_force)

    def matched(self, matcher: Matcher, table: Table) -> Matched:
        """What a matcher found, of a table with the columns of `table`."""
        applied, unmatched = matcher.finish()
        wherever = []
        for decision in self.in_force:
            if decision.wherever is None:
                continue
            try:
                check_columns(table.names, [decision.column], "decide on")
                wherever.append((decision, parse_condition(decision.wherever, table.names)))
            except ValueError as error:
                unmatched.append(_unmatched(decision, error))
        return Matched(tuple(applied), tuple(unmatched), tuple(wherever))

    def apply(self, table: Any) -> tuple[Table, list[Applied], list[Unmatched]]:
        """The table as decided (replaced cells with their new values, blanked ones empty), the cells that decisions
        are about, and the decisions that do not apply."""
        opened = open_table(table)
        matched = self.match(opened)
        settled = matched.settle(opened)
        return settled.table, list(matched.applied), [*matched.unmatched, *settled.unread]

    def replacements(self, table: Any) -> list[tuple[int, str, str | None]]:
        """Row, column and new text, None to blank it, of each cell that is to be changed; not of those that have the
        decided value already. In the order of the rows."""
        changed = [
            (one.row, one.decision.column, one.decision.value)
            for one in self.match(table).applied
            if one.decision.kind != "fine" and not one.is_done
        ]
        return sorted(changed, key=lambda change: change[:2])

    def on_cell(
        self,
        table: Any,
        row: int,
        column: str,
        kind: Kind,
        value: str | None = None,
        *,
        key: str | None = None,
        note: str = "",
        version: str = "",
        probability: float | None = None,
    ) -> Decision:
        """A new decision about a cell of a table, given by the position of its row; `add` keeps it. `key` names the
        column that identifies rows; its value has to be there and unique. `probability` is how likely the cell was said
        to be wrong, for other cells of the column to be judged by."""
        opened = open_table(table)
        check_columns(opened.names, [column], "decide on")
        if not 0 <= row < opened.n_rows:
            raise ParameterError(f"There is no row {row}: the table has {opened.n_rows:,} rows, counted from 0.")
        if value is not None and not value.strip():
            raise ParameterError("The new value is empty.\nHint: decide to blank the cell instead.")
        observed = cell_texts(opened, column, np.array([row]))[0]
        if kind == "replace":
            if value == observed:
                raise ParameterError(f"The cell holds {value!r} already.\nHint: decide that it is fine.")
            refused = edited(opened, column, {row: value})[1]
            if refused:
                raise DecisionsError(f"{column!r}: {refused[row]}.\nHint: give a value that it can hold.")
        if kind == "blank" and observed is None:
            raise ParameterError("The cell holds nothing already.\nHint: decide that it is fine.")
        place = self._place(opened, row, key)
        return Decision(kind, column, observed, value, note=note, version=version, probability=probability, **place)

    def _place(self, table: Table, row: int, key: str | None) -> dict[str, Any]:
        """How the row is found again: by its key, by the fingerprint that earlier decisions about it have, or its
        own."""
        if key is not None:
            check_columns(table.names, [key], "use as key")
            texts = key_texts(table, key)
            text = texts[row]
            n_such = texts.count(text)
            if text is None or n_such > 1:
                what = "is empty" if text is None else f"is {text!r} in {n_such:,} rows"
                raise DecisionsError(
                    f"The key {key!r} of row {row} {what}, so that the row could not be found again.\n"
                    "Hint: name another key, or none: the row is then known by its other cells."
                )
            return {"key": (key, text)}
        for one in self.match(table).applied:
            if one.row == row and one.decision.row is not None:
                return {"row": one.decision.row}
        return {"row": fingerprint(int(row_hashes(table, np.array([row]))[0]))}


@dataclass(frozen=True)
class Matched:
    """Decisions with their cells in a table."""

    applied: tuple[Applied, ...]
    """One per cell."""
    unmatched: tuple[Unmatched, ...]
    wherever: tuple[tuple[Decision, Node], ...] = ()
    """Decisions on all rows where a condition holds."""

    def settle(self, table: Table, numbers: NDArray[np.int64] | None = None) -> Settled:
        """The table, or some of its rows (`numbers` are theirs in the whole table), as decided."""
        places = None if numbers is None else {number: place for place, number in enumerate(numbers.tolist())}
        cells: dict[str, dict[int, bool]] = {}
        changes: dict[str, dict[int, Decision]] = {}
        for one in self.applied:
            place = one.row if places is None else places.get(one.row)
            if place is None:
                continue
            cells.setdefault(one.decision.column, {})[place] = one.decision.kind != "fine"
            if one.decision.kind != "fine" and not one.is_done:
                changes.setdefault(one.decision.column, {})[place] = one.decision
        decided, unread = table, []
        for column, by_row in changes.items():
            values = {row: decision.value for row, decision in by_row.items()}
            decided, refused = edited(decided, column, values)
            for row, reason in refused.items():
                del cells[column][row]
                unread.append(Unmatched(by_row[row], reason))
        fine, unevaluated = self.find_fine(decided)
        for decision, rows in fine:
            cells[decision.column] = dict.fromkeys(rows.tolist(), False) | cells.get(decision.column, {})
        unread += unevaluated
        return Settled(decided, {column: rows for column, rows in cells.items() if rows}, self.shifts, tuple(unread))

    def find_fine(self, table: Table) -> tuple[list[tuple[Decision, NDArray[np.intp]]], list[Unmatched]]:
        """Where the conditions of decisions hold, and the decisions whose condition cannot be evaluated: a date is
        compared with a column that is read as text."""
        fine, unevaluated = [], []
        for decision, condition in self.wherever:
            try:
                fine.append((decision, np.flatnonzero(condition.holds(table))))
            except ValueError as error:
                unevaluated.append(_unmatched(decision, error))
        return fine, unevaluated

    @cached_property
    def shifts(self) -> dict[str, float]:
        """Per column, how far decisions about findings shift the log-odds of its other cells."""
        outcomes: dict[str, list[tuple[float, bool]]] = {}
        for one in self.applied:
            if one.decision.probability is not None:
                was_wrong = one.decision.kind != "fine"
                outcomes.setdefault(one.decision.column, []).append((one.decision.probability, was_wrong))
        return {column: shift_of(pairs) for column, pairs in outcomes.items()}


def _unmatched(decision: Decision, error: ValueError) -> Unmatched:
    """A decision that an error keeps from applying."""
    return Unmatched(decision, str(error).splitlines()[0].rstrip("."))


@dataclass(frozen=True)
class Settled:
    """A table as decided, and its cells that nobody needs to look at again."""

    table: Table
    cells: Mapping[str, Mapping[int, bool]]
    """Per column, the positions of the rows whose cell was decided, and whether it was wrong."""
    shifts: Mapping[str, float] = field(default_factory=dict)
    """Per column, what the decisions add to the log-odds that its other cells are wrong."""
    unread: tuple[Unmatched, ...] = ()
    """Decisions whose new value is none of their column, or whose condition cannot be evaluated."""

    @property
    def n_cells(self) -> int:
        """Number of settled cells."""
        return sum(map(len, self.cells.values()))

    @cached_property
    def settled(self) -> SettledCells:
        """The same as arrays."""
        outcomes = {name: np.full(self.table.n_rows, np.nan) for name in self.cells}
        for name, rows in self.cells.items():
            outcomes[name][list(rows)] = list(rows.values())
        return SettledCells(outcomes, self.shifts)

    @property
    def masks(self) -> dict[str, NDArray[np.bool_]]:
        """(rows,) per column that has settled cells: which are."""
        return self.settled.masks


Decided = Settled | Decisions | str | os.PathLike[str] | None
"""What was decided about the cells of a table, in any way that a caller may say it."""
_MAX_NAMED = 5  # decisions of a warning


def decide(table: Table, decisions: Decided) -> Settled:
    """A table as decided; `DecisionsWarning` for decisions that do not apply to it."""
    if isinstance(decisions, Settled):
        return decisions
    opened = open_decisions(decisions)
    if opened is None:
        return Settled(table, {})
    matched = opened.match(table)
    settled = matched.settle(table)
    warn_of(opened.notes, [*matched.unmatched, *settled.unread])
    return settled


def warn_of(notes: Sequence[str], unmatched: Sequence[Unmatched]) -> None:
    """`DecisionsWarning` for what does not count."""
    messages = list(notes)
    if unmatched:
        n = len(unmatched)
        more = f"; and {n - _MAX_NAMED:,} more" if n > _MAX_NAMED else ""
        messages.append(
            f"{n:,} decision{' does' if n == 1 else 's do'} not apply to this table: "
            f"{'; '.join(map(str, unmatched[:_MAX_NAMED]))}{more}."
        )
    for text in messages:
        warnings.warn(text, DecisionsWarning, stacklevel=2)


def open_decisions(decisions: Any) -> Decisions | None:
    """Decisions from what a caller gives: themselves, or the path of their file."""
    if decisions is None or isinstance(decisions, Decisions):
        return decisions
    if isinstance(decisions, str | os.PathLike):
        return Decisions.read(decisions)
    raise ParameterError(
        f"decisions is {type(decisions).__name__}; it must be the path of a decisions file, or rfod.Decisions."
    )
