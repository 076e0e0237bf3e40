"""One decision by options of `rfod decide`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import typer

from rfod._cli.options import Reading
from rfod._decisions.condition import parse_condition
from rfod._decisions.decision import Decision, Kind, decision_words
from rfod._decisions.decisions import Decisions
from rfod._decisions.file import beside
from rfod._decisions.texts import cell_texts, rows_with_key
from rfod._evidence.decision import load_decision
from rfod._io.interface import InputError
from rfod._io.source import Batch
from rfod._io.storage import is_address
from rfod._table.table import check_columns


@dataclass(frozen=True)
class CellChoice:
    """Which cell, and what of it."""

    row: str | None
    line: int | None
    column: str | None
    new: str | None
    blank: bool
    fine: bool
    wherever: str | None
    note: str

    def check(self, is_review: bool) -> None:
        """Raise `typer.BadParameter` for options that do not go together."""
        chosen = [
            option
            for option, is_given in (
                ("--replace", self.new is not None),
                ("--blank", self.blank),
                ("--fine", self.fine),
            )
            if is_given
        ]
        if is_review:
            others = (self.row, self.line, self.column, self.wherever, *chosen)
            if any(other is not None for other in others):
                raise typer.BadParameter("the review asks for rows, columns and answers itself.", param_hint="--review")
            return
        if len(chosen) != 1:
            raise typer.BadParameter("give one of --replace, --blank and --fine, or --review.", param_hint="--replace")
        if self.column is None:
            raise typer.BadParameter("name the column of the cell.", param_hint="--column")
        if self.wherever is not None and not self.fine:
            raise typer.BadParameter("it belongs to --fine.", param_hint="--wherever")
        if (self.row is None) == (self.line is None) and (self.wherever is None or self.row is not None):
            raise typer.BadParameter("give --row KEY or --line N.", param_hint="--row")


def decided_path(table: str, given: str | None, reading: Reading) -> str:
    """Where the decisions about a table are kept."""
    if given is not None:
        return given
    if table == "-" or reading.sql is not None or is_address(table) or any(sign in table for sign in "*?["):
        raise typer.BadParameter("name the file to keep decisions in.", param_hint="--decisions")
    return beside(table.rstrip("/"))


def decide_cell(batch: Batch, decisions: Decisions, key: str | None, choice: CellChoice) -> str:
    """Append a decision, and say it."""
    column, version = str(choice.column), load_decision().version
    table = batch.table
    check_columns(table.names, [column], "decide on")
    row = None if choice.row is None and choice.line is None else _row(batch, key, choice)
    if choice.wherever is not None:
        settled = decisions.match(table).settle(table).table
        holds = parse_condition(choice.wherever, table.names).holds(settled)
        if row is not None and not holds[row]:
            raise InputError(f"the condition {choice.wherever!r} does not hold for this row. Hint: correct it.")
        if not holds.any():
            raise InputError(f"the condition {choice.wherever!r} holds for no row. Hint: correct it.")
        decisions.add(Decision("fine", column, wherever=choice.wherever, note=choice.note, version=version))
        return f"{decisions.entries[-1]}: {int(np.count_nonzero(holds)):,} rows."
    assert row is not None
    kind: Kind = "replace" if choice.new is not None else "blank" if choice.blank else "fine"
    decision = decisions.on_cell(table, row, column, kind, choice.new, key=key, note=choice.note, version=version)
    decisions.add(decision)
    return f"{decision_words(decision, _place(batch, row, decision.key))}."


def _place(batch: Batch, row: int, key: tuple[str, str] | None) -> str:
    """The row in words: by its key and its line, or by its line and its number."""
    line = "" if batch.lines is None else f"line {int(batch.lines[row]):,}"
    if key is not None:
        return f"{key[0]} {key[1]}{f' ({line})' if line else ''}"
    return f"{line} (row {row:,})" if line else f"row {row:,}"


def _row(batch: Batch, key: str | None, choice: CellChoice) -> int:
    """The position of the row that the options name."""
    table = batch.table
    if choice.line is not None:
        at = [] if batch.lines is None else np.flatnonzero(batch.lines == choice.line).tolist()
        if not at:
            raise InputError(f"no row begins on line {choice.line}. Hint: --row N names a row by its number, from 0.")
        return int(at[0])
    if key is None:
        if not str(choice.row).isdecimal() or int(str(choice.row)) >= table.n_rows:
            raise InputError(
                f"there is no row {choice.row!r}; rows are numbered from 0 to {table.n_rows - 1}. "
                "Hint: --key COLUMN names the column that identifies rows."
            )
        return int(str(choice.row))
    found = rows_with_key(table, key, str(choice.row))
    if len(found) > 1:
        texts = cell_texts(table, str(choice.column), found)
        shown = ", ".join("nothing" if text is None else repr(text[:20]) for text in texts[:3])
        raise InputError(
            f"{len(found):,} rows have {key} = {choice.row}, with {choice.column} {shown}. "
            "Hint: name the row by --line, or by its number without --key."
        )
    if not len(found):
        raise InputError(f"no row has {key} = {choice.row}. Hint: without --key, --row is the number of a row.")
    return int(found[0])
