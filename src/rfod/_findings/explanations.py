"""The explanation of one cell and of one row, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import Any

from rfod._findings.conditions import Condition, name_text
from rfod._findings.wording import title_words


@dataclass(frozen=True)
class CellExplanation:
    """Why one cell stands out: values as texts in the unit of the column."""

    row: int
    column: str
    kind: str
    """"value", "missing", "present", "unseen" or "near miss", as in `Detection.cells`."""
    observed: str
    expected: str
    """The value to put in its place; of a cell to blame, once the others to blame are repaired."""
    low: str | None
    """Numeric columns: the value was expected between `low` and `high`, in nine of ten rows like this one."""
    high: str | None
    numbers: tuple[float | None, ...] | None
    """Numeric columns: observed, expected, low and high in the unit of the column, seconds for dates and times; None
    for what is missing or infinite."""
    likely: tuple[tuple[str, float], ...]
    """Categorical columns: the likeliest categories with their probabilities."""
    score: float | None
    surprise: float
    p_value: float
    blamed: bool
    """Whether replacing this cell is part of what makes the row ordinary."""
    conditions: tuple[Condition, ...]
    """What holds for the row and makes the expected value what it is; empty when nothing narrows it."""
    n_such: int
    """Training rows of the model's sample that meet the conditions and have a value, without the row itself."""
    n_contradicting: int
    """How many of them speak against the cell, in the way `claim` says."""
    claim: str
    """What those rows are like, such as "at most 42" or "carrier = DHL"."""
    suggestion: str | None
    """The known category that a misspelt one is near to."""
    sentence: str

    def __str__(self) -> str:
        return self.sentence

    def hide(self, instead: str) -> CellExplanation:
        """The same without anything that tells values."""
        return replace(
            self,
            kind="value",
            observed=instead,
            expected=instead,
            low=None,
            high=None,
            numbers=None,
            likely=(),
            suggestion=None,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return vars(self) | {
            "numbers": None if self.numbers is None else list(self.numbers),
            "likely": [list(entry) for entry in self.likely],
            "conditions": [condition.to_json() for condition in self.conditions],
        }


@dataclass(frozen=True)
class RowExplanation:
    """Why one row stands out: its cells, most surprising first, those to blame marked."""

    row: int
    line: int | None
    """Line of the text file on which the row begins, where that is known."""
    key: Any
    """Value of the key column, None without one."""
    key_column: str | None
    score: float
    p_value: float
    cells: tuple[CellExplanation, ...]
    ordinary: bool
    """Whether the row is ordinary once the cells to blame are replaced by what was expected."""

    @property
    def title(self) -> str:
        """The row and how unusual it is, in words."""
        named = None if self.key_column is None else (self.key_column, str(self.key))
        return title_words(self.row, named, self.score, self.p_value)

    def renumbered(self, row: int) -> RowExplanation:
        """The same for a row that has another number where it came from."""
        return replace(self, row=row, cells=tuple(replace(cell, row=row) for cell in self.cells))

    @property
    def remedy(self) -> str:
        """What becomes of the row when the cells to blame are replaced, in words; empty when none is to blame."""
        names = [name_text(cell.column) for cell in self.cells if cell.blamed]
        if not names:
            return ""
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        end = "would be ordinary" if self.ordinary else "would still be unusual"
        return f"With the expected {listed} the row {end}."

    def _parts(self) -> list[tuple[str, list[str]]]:
        """Paragraphs, each with its list."""
        blamed = [cell.sentence for cell in self.cells if cell.blamed]
        others = [cell.sentence for cell in self.cells if not cell.blamed]
        if not blamed:
            return [(self.title, others)]
        rest = "Next to that, this looks unusual too:" if self.ordinary else "Also unusual:"
        return [(self.title, blamed), (self.remedy, []), *([(rest, others)] if others else [])]

    def __str__(self) -> str:
        return "\n".join(line for text, items in self._parts() for line in (text, *(f"- {item}" for item in items)))

    def _repr_html_(self) -> str:
        parts = []
        for text, items in self._parts():
            listed = "".join(f"<li>{escape(item)}</li>" for item in items)
            parts.append(f"<p>{escape(text)}</p>" + (f"<ul>{listed}</ul>" if listed else ""))
        return f"<div>{''.join(parts)}</div>"

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return {
            "row": self.row,
            "line": self.line,
            "key": self.key if isinstance(self.key, int | bool | None) else str(self.key),
            "score": self.score,
            "p_value": self.p_value,
            "cells": [cell.to_json() for cell in self.cells],
            "ordinary": self.ordinary,
            "text": str(self),
        }
