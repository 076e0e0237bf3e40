"""Findings as a person reads them on a terminal, and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rfod._cli.answers import N_CELLS, cells_table
from rfod._cli.console import shown
from rfod._io.pieces import Piece
from rfod.detection import Detection

_WIDE = 140
_LONGEST_VALUE = 40
_SHARE_OF_WORST = 0.2  # cells that add less than this share of the worst one are not worth a line


@dataclass(frozen=True)
class Finding:
    """One row, with what is wrong in it."""

    row: int
    line: int | None
    key: Any
    score: float
    p_value: float
    cells: tuple[dict[str, Any], ...]
    """The cells that add most to the score, worst first."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "row": self.row,
            "line": self.line,
            "key": self.key,
            "score": self.score,
            "p_value": self.p_value,
            "cells": list(self.cells),
        }


def collect(found: Detection, piece: Piece, picked: NDArray[np.intp]) -> list[Finding]:
    """The picked rows as findings."""
    if not len(picked):
        return []
    lines = cells_table(found, piece, picked).to_pylist()
    of_row: dict[int, list[dict[str, Any]]] = {}
    for line in lines:
        of_row.setdefault(line["row"], []).append(line)
    findings = []
    for row in picked:
        position = int(row) + piece.first_row
        cells = sorted(of_row.get(position, []), key=lambda cell: -cell["score"] * cell["weight"])
        least = _SHARE_OF_WORST * cells[0]["score"] * cells[0]["weight"] if cells else 0.0
        # the likeliest of many categories may itself be unlikely; where it is what stands there, nothing is to be seen
        cells = [cell for cell in cells if cell["observed"] != cell["expected"]] or cells[:1]
        names = ("column", "observed", "expected", "score", "weight", "p_value")
        findings.append(
            Finding(
                position,
                None if piece.lines is None else int(piece.lines[row]),
                None if found.key is None else _plain(found.keys[int(row)]),
                float(found.row_scores[row]),
                float(found.row_p_values[row]),
                tuple(
                    {name: cell[name] for name in names}
                    for cell in cells[:N_CELLS]
                    if cell["score"] * cell["weight"] >= least
                ),
            )
        )
    return findings


def _plain(value: pa.Scalar) -> Any:
    """A key as JSON can hold it."""
    held = value.as_py()
    return held if held is None or isinstance(held, str | int | float | bool) else str(held)


def show(console: Console, findings: list[Finding], key: str | None) -> None:
    """A table that fits the width: cells below each other on a narrow terminal, side by side on a wide one."""
    wide = console.width >= _WIDE
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, expand=False)
    by_line = key is None and all(finding.line is not None for finding in findings)
    table.add_column(
        shown(key) if key else "line" if by_line else "row", justify="right", no_wrap=not key, overflow="fold"
    )
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("p-value", justify="right", no_wrap=True)
    for number in range(N_CELLS if wide else 1):
        table.add_column(("worst cells", "", "")[number], overflow="fold")
    for finding in findings:
        place: Any = finding.key if key else finding.line if by_line else finding.row
        cells = [_cell_text(cell) for cell in finding.cells]
        told = [*cells, *([Text("")] * (N_CELLS - len(cells)))] if wide else [Text("\n").join(cells)]
        table.add_row(Text(shown(place)), f"{finding.score:.3f}", _p_text(finding.p_value), *told)
    console.print(table)


def _p_text(value: float) -> str:
    return f"{value:.4f}" if value >= 0.001 else f"{value:.0e}"


def _cell_text(cell: dict[str, Any]) -> Text:
    text = Text(shown(cell["column"]), style="bold")
    text.append(": ", style="not bold")
    text.append(_short(cell["observed"]), style="not bold red")
    text.append(f" (expected {_short(cell['expected'])})", style="not bold dim")
    return text


def _short(value: Any) -> str:
    text = "missing" if value is None else shown(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
