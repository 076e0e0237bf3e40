"""Changes to single cells of a table, given as text."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Edit:
    """A new value for one cell."""

    row: int
    """Position in the table."""
    column: str
    text: str | None
    """As it is to be written; None for a gap."""
    is_padded: bool = field(default=False, compare=False)
    """Whether blanks around the old value stay, where most cells of the column have them."""


@dataclass(frozen=True)
class Refusal:
    """An edit that was not made."""

    edit: Edit
    reason: str
