"""Texts and numbers on their way into the page: short, printable, each text once."""

from __future__ import annotations

import math

LONGEST = 120
LONGEST_SENTENCE = 1000
HIDDEN = "hidden"


def printable(text: object, longest: int = LONGEST) -> str:
    """Text on one line: control characters and marks that turn the writing direction escaped, cut with an ellipsis."""
    whole = str(text)
    cut = whole if len(whole) <= longest else whole[: longest - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in cut)


def rounded(value: float | None, digits: int = 4) -> float | None:
    """A number in few digits; None where JSON has no word for it."""
    return float(f"{value:.{digits}g}") if value is not None and math.isfinite(value) else None


class TextTable:
    """Every text once; others point at it by its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Where the text is in `texts`."""
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def texts(self) -> list[str]:
        """In the order of their numbers."""
        return list(self._numbers)
