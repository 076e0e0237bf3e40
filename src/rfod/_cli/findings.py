"""Findings as a person reads them on a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from rfod._cli.console import shown
from rfod._cli.rule import Rule
from rfod._io.batches import Batch
from rfod.detection import Detection
from rfod.explain import CellExplanation, RowExplanation

NEAREST = 5  # rows shown where none is a finding
N_SENTENCES = 3  # per row on the terminal


@dataclass(frozen=True)
class Finding:
    """One row, with what is wrong in it."""

    line: int | None
    """Of its text file, counted from 1."""
    explanation: RowExplanation

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        told = self.explanation.to_json()
        cells = [{name: value for name, value in cell.items() if name != "row"} for cell in told["cells"]]
        return {"row": told["row"], "line": self.line} | told | {"cells": cells}

    @property
    def place(self) -> str:
        """How the row is found again: by its key, its line, or its number."""
        row = self.explanation
        if row.key_column is not None:
            line = "" if self.line is None else f" (line {self.line:,})"
            return f"{row.key_column} {row.key}{line}"
        return f"line {self.line:,}" if self.line is not None else f"row {row.row:,}"

    @property
    def told(self) -> Sequence[CellExplanation]:
        """The cells to show: those to blame, or else the most surprising one."""
        blamed = [cell for cell in self.explanation.cells if cell.blamed]
        return blamed[:N_SENTENCES] or self.explanation.cells[:1]


def collect(found: Detection, batch: Batch, picked: NDArray[np.intp]) -> list[Finding]:
    """The picked rows of a batch as findings."""
    lines = [None] * len(picked) if batch.lines is None else batch.lines[picked].tolist()
    explained = found.explain_rows(picked)
    return [Finding(line, row) for line, row in zip(lines, explained, strict=True)]


def print_findings(
    console: Console, findings: Sequence[Finding], n_flagged: int, rule: Rule, output: str | None
) -> None:
    """The findings, or that there are none and what comes nearest."""
    if not n_flagged:
        nearest = " The most unusual rows (--top N lists more):" if findings else ""
        console.print(f"No row is a finding ({rule.words()}).{nearest}", soft_wrap=True)
    for number, finding in enumerate(findings, start=1):
        start = f"{number}. "
        console.print(Text(f"{start}{shown(finding.place)}", style="bold"))
        for cell in finding.told:
            sentence = _sentence(cell)
            # on a terminal lines are wrapped under each other; elsewhere a sentence stays one line, for grep and diff
            lines = sentence.wrap(console, console.width - len(start)) if console.is_terminal else [sentence]
            for line in lines:
                console.print(Text(" " * len(start)) + line, soft_wrap=True)
    if n_flagged > len(findings):
        rest = f"... and {n_flagged - len(findings):,} more"
        console.print(rest + (f" in {output}" if output else "; -o FILE writes all, --show N shows more"))


def _sentence(cell: CellExplanation) -> Text:
    """The sentence of a cell with its column and value in colour."""
    text = Text(shown(cell.sentence))
    name, start = shown(cell.column), f"{shown(cell.column)} is "
    if text.plain.startswith(start):
        text.stylize("cyan", 0, len(name))
        end = text.plain.find(";", len(start))
        text.stylize("red", len(start), end if end > 0 else len(text.plain))
    return text
