"""The explanation of one cell and of one row, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from rfod._explain.condition import Condition
from rfod._table.encode import one_line


@dataclass(frozen=True)
class CellExplanation:
    """Why one cell stands out: values as texts in the unit of the column."""

    row: int
    column: str
    kind: str
    """"value", "missing", "present", "unseen" or "near miss", as in `Detection.cells`."""
    observed: str
    expected: str
    low: str | None
    """Numeric columns: the value was expected between `low` and `high`, in nine of ten rows like this one."""
    high: str | None
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
    n_agree: int
    """How many of them speak against the cell, in the way `claim` says."""
    claim: str
    """What those rows are like, such as "at most 42" or "carrier = DHL"."""
    suggestion: str | None
    """The known category that a misspelt one is near to."""
    sentence: str

    def __str__(self) -> str:
        return self.sentence

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return vars(self) | {
            "likely": [list(entry) for entry in self.likely],
            "conditions": [condition.to_json() for condition in self.conditions],
        }


@dataclass(frozen=True)
class RowExplanation:
    """Why one row stands out: its cells in the order of blame, then others that are surprising."""

    row: int
    key: Any
    """Value of the key column, None without one."""
    score: float
    p_value: float
    cells: tuple[CellExplanation, ...]
    repaired: Mapping[str, str]
    """What to put in the place of the cells to blame, by column."""
    ordinary: bool
    """Whether the row is ordinary once that is done."""
    title: str
    """The row and how unusual it is, in words."""

    @property
    def remedy(self) -> str:
        """What would make the row ordinary, in words; empty when nothing is to blame."""
        if not self.repaired:
            return ""
        changes = [f"{one_line(name)} = {text}" for name, text in self.repaired.items()]
        listed = changes[0] if len(changes) == 1 else f"{', '.join(changes[:-1])} and {changes[-1]}"
        return f"With {listed} the row would {'be ordinary' if self.ordinary else 'be less unusual, not ordinary'}."

    def __str__(self) -> str:
        lines = [self.title, *(f"- {cell.sentence}" for cell in self.cells)]
        return "\n".join([*lines, self.remedy] if self.remedy else lines)

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(cell.sentence)}</li>" for cell in self.cells)
        remedy = f"<p>{escape(self.remedy)}</p>" if self.remedy else ""
        return f"<div><p><strong>{escape(self.title)}</strong></p><ul>{items}</ul>{remedy}</div>"

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return {
            "row": self.row,
            "key": self.key if isinstance(self.key, int | float | bool | None) else str(self.key),
            "score": self.score,
            "p_value": self.p_value,
            "cells": [cell.to_json() for cell in self.cells],
            "repaired": dict(self.repaired),
            "ordinary": self.ordinary,
            "text": str(self),
        }
