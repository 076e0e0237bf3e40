"""How a source should be read, where the caller knows better than the reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

BATCH_ROWS = 65_536


@dataclass(frozen=True)
class ReadOptions:
    """None stands for "find out"."""

    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    quote: str | None = None
    """One character, or "none" where quotes mean nothing."""
    header: bool | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What text columns hold: a kind of column, or "dmy" or "mdy" for dates by the order of day and month."""
    told: frozenset[str] = frozenset()
    """Columns whose kind is not a guess to be checked but what a model was fitted on."""
    columns: frozenset[str] | None = None
    """The columns that are needed; None for all."""
    batch_rows: int = BATCH_ROWS
    strict: bool = False
    """Refuse damaged input (undecodable bytes, unclosed quotes, lines that are no JSON) instead of noting it."""
    sheet: str | None = None
    """Of a spreadsheet: a name, or a number counted from 1; None for the first sheet."""

    def picked(self, names: Sequence[str]) -> list[str]:
        """The columns to read; all where a needed one is absent, so that an error can tell what there is."""
        if self.columns is None or not self.columns <= set(names):
            return list(names)
        return [name for name in names if name in self.columns]
