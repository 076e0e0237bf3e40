"""What a report shows of its findings, as columns of JSON: rows worst first, each with the cells that are reported."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rfod._findings.explanations import CellExplanation, RowExplanation
from rfod._findings.findings import Findings, Positions
from rfod.detection import Detection

LONGEST = 120
LONGEST_SENTENCE = 1000
HIDDEN = "hidden"


SHARE_OF_WORST = 0.5  # cells less surprising than this share of the worst one are not reported
DIGITS = 12


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


@dataclass(frozen=True, eq=False)
class PageCells:
    """Cells of the picked rows; the cells of a row together, most surprising first."""

    findings: Findings
    starts: Positions
    """Where the cells of each picked row begin, and where the last one's end."""
    explained: tuple[RowExplanation, ...]
    """Of the first picked rows."""
    explanations: Mapping[int, CellExplanation]
    """By number of the cell."""


def page_cells(
    found: Detection, picked: Positions, most: int, n_explained: int, hidden: Collection[str] = ()
) -> PageCells:
    """The cells to report of each picked row, at most so many.

    In the first `n_explained` rows those of the explanation; in the others, and where there is nothing to explain, the
    most surprising ones.
    """
    explained = found.explainer.explain_rows(picked[:n_explained], most, hidden)
    cells: list[tuple[int, int]] = []
    starts = [0]
    explanations: dict[int, CellExplanation] = {}
    for place, row in enumerate(picked.tolist()):
        own = explained[place].cells if place < len(explained) else ()
        explanations |= {len(cells) + k: cell for k, cell in enumerate(own)}
        columns = [found.columns.index(cell.column) for cell in own]
        if not columns:
            order = found.judged.cell_order(row)[:most]
            surprise = found.surprise[row, order]
            columns = order[surprise >= SHARE_OF_WORST * surprise.max(initial=0.0)].tolist()
        cells += [(row, j) for j in columns]
        starts.append(len(cells))
    return PageCells(Findings.of_cells(found.judged, cells), np.array(starts), tuple(explained), explanations)


def cells_json(found: Detection, cells: PageCells, texts: TextTable, hidden: Collection[str]) -> dict[str, list[Any]]:
    """One list per property; texts by their number in the table of texts, places on the axis of a figure as numbers.

    Reasons, ranges and likeliest categories are those of the explanations.
    """
    judged, findings = found.judged, cells.findings
    at = (findings.rows, findings.columns)
    is_hidden = [judged.names[j] in hidden for j in findings.columns.tolist()]

    def numbers(values: Any, digits: int) -> list[float | None]:
        return [rounded(value, digits) for value in values.tolist()]

    def text(value: str | None) -> int | None:
        return None if value is None else texts.number(printable(value))

    content: dict[str, list[Any]] = {
        "column": findings.columns.tolist(),
        "score": numbers(judged.cells.cell_scores[at], 4),
        "surprise": numbers(judged.surprise[at], 3),
        "rarity": numbers(-np.log10(judged.tail_p_values[at]), 3),
        "p": numbers(judged.p_values[at], 3),
        "observed": [text(HIDDEN if veil else v) for v, veil in zip(findings.observed, is_hidden, strict=True)],
        "expected": [text(HIDDEN if veil else v) for v, veil in zip(findings.expected, is_hidden, strict=True)],
        "suggestion": [text(None if veil else v) for v, veil in zip(findings.suggestions, is_hidden, strict=True)],
        "kind": ["value" if veil else v for v, veil in zip(findings.kinds, is_hidden, strict=True)],
    }
    n_cells = len(findings)
    content["blamed"] = [0] * n_cells
    for name in ("sentence", "low", "high", "at", "centre", "from", "to", "likely"):
        content[name] = [None] * n_cells
    for cell, explanation in cells.explanations.items():
        content["blamed"][cell] = int(explanation.blamed)
        content["sentence"][cell] = printable(explanation.sentence, LONGEST_SENTENCE)
        content["expected"][cell] = text(explanation.expected)
        content["low"][cell], content["high"][cell] = text(explanation.low), text(explanation.high)
        for name, number in zip(("at", "centre", "from", "to"), explanation.numbers or (), strict=False):
            content[name][cell] = rounded(number, DIGITS)
        if explanation.likely:
            content["likely"][cell] = [[text(name), rounded(share, 3)] for name, share in explanation.likely]
    return content


def rows_json(found: Detection, picked: Positions, cells: PageCells, hide_keys: bool) -> dict[str, list[Any]]:
    """One list per property of the findings."""
    keys = found.keys.take(picked).to_pylist() if found.key is not None and not hide_keys else None
    lines = found.labels.lines
    return {
        "row": (picked + found.labels.first_row).tolist(),
        "line": [] if lines is None else lines[picked].tolist(),
        "key": [] if keys is None else ["missing" if key is None else printable(key) for key in keys],
        "score": [rounded(score) for score in found.row_scores[picked].tolist()],
        "p": [rounded(value, 3) for value in found.row_p_values[picked].tolist()],
        "start": cells.starts.tolist(),
        "mended": [int(row.ordinary and bool(row.remedy)) for row in cells.explained],
        "remedy": [printable(row.remedy, LONGEST_SENTENCE) for row in cells.explained],
    }
