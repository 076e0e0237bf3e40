"""Findings on a terminal, as JSON, and as the tables that commands write (docs/formats.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from rfod._cli.console import shown
from rfod._diff.findings import row_fingerprints
from rfod._evidence.wrong_cells import judge_cells
from rfod._findings.explanations import CellExplanation, RowExplanation
from rfod._findings.findings import FIELDS, Findings, Positions, Rule, place_words
from rfod.detection import Detection

UNUSUAL_ROWS_SHOWN = 5  # where no row is a finding
N_SENTENCES = 3  # per row on the terminal
N_CELLS = 3  # per row in the table of rows
FINGERPRINT = pa.field("fingerprint", pa.string())
"""By which a row is found again without a key."""
ROW_PROBABILITY = pa.field("row_probability", pa.float64())
"""The last column of `score --row-probability`."""


def finding_json(finding: RowExplanation, fingerprint: str | None = None) -> dict[str, Any]:
    """A finding as plain values; its cells do not repeat its row."""
    plain = finding.to_json()
    cells = [{name: value for name, value in cell.items() if name != "row"} for cell in plain["cells"]]
    return plain | {"cells": cells} | ({} if fingerprint is None else {"fingerprint": fingerprint})


def print_findings(
    console: Console, findings: Sequence[RowExplanation], n_flagged: int, rule: Rule, output: str | None
) -> None:
    """The findings, or that there are none and what comes nearest."""
    if not n_flagged:
        nearest = " The most unusual rows (--top N lists more):" if findings else ""
        console.print(f"No row is a finding ({rule.words()}).{nearest}", soft_wrap=True)
    for number, finding in enumerate(findings, start=1):
        start = f"{number}. "
        console.print(Text(f"{start}{shown(place_of(finding))}", style="bold"))
        blamed = [cell for cell in finding.cells if cell.blamed]
        for cell in blamed[:N_SENTENCES] or finding.cells[:1]:
            print_wrapped(console, " " * len(start), cell_sentence(cell))
    if n_flagged > len(findings):
        rest = f"... and {n_flagged - len(findings):,} more"
        where = f" in {shown(output)}" if output else "; -o FILE writes all, --show N shows more"
        console.print(Text(rest + where), soft_wrap=True)


def print_wrapped(console: Console, start: str, text: Text) -> None:
    """On a terminal lines are wrapped under each other; elsewhere a sentence stays one line, for grep and diff."""
    lines = text.wrap(console, console.width - len(start)) if console.is_terminal else [text]
    for number, line in enumerate(lines):
        console.print(Text(" " * len(start) if number else start) + line, soft_wrap=True)


def place_of(finding: RowExplanation) -> str:
    """How the row is found again, in words."""
    named = None if finding.key_column is None else (finding.key_column, finding.key)
    return place_words(finding.row, finding.line, named)


def explanation_text(row: RowExplanation) -> str:
    """Why a row stands out, with its line of a text file in the title."""
    text, start = str(row), f"Row {row.row}"
    if row.line is None or not text.startswith(start):
        return text
    return f"Line {row.line:,}, row {row.row:,}{text.removeprefix(start)}"


def cell_sentence(cell: CellExplanation) -> Text:
    """The sentence of a cell with its column and value in colour."""
    text = Text(shown(cell.sentence))
    name, start = shown(cell.column), f"{shown(cell.column)} is "
    if text.plain.startswith(start):
        text.stylize("cyan", 0, len(name))
        end = text.plain.find(";", len(start))
        text.stylize("red", len(start), end if end > 0 else len(text.plain))
    return text


def place_fields(key_type: pa.DataType | None) -> list[pa.Field]:
    """How a row is found again."""
    fields = [pa.field("row", pa.int64()), pa.field("line", pa.int64())]
    return fields if key_type is None else [*fields, pa.field("key", key_type)]


def rows_schema(key_type: pa.DataType | None) -> pa.Schema:
    """One line per row of the table."""
    answers = {"score": pa.float64(), "p_value": pa.float64(), "flagged": pa.bool_(), "cells": pa.string()}
    return pa.schema([*place_fields(key_type), *(pa.field(*answer) for answer in answers.items()), FINGERPRINT])


def cells_schema(key_type: pa.DataType | None, with_evidence: bool = True) -> pa.Schema:
    """One line per scored cell of a finding; how likely it is wrong where the model keeps evidence."""
    evidence = [pa.field("probability", pa.float64()), pa.field("suggested", pa.string())] if with_evidence else []
    return pa.schema([*place_fields(key_type), *FIELDS, *evidence, FINGERPRINT])


def rows_table(found: Detection, flagged: NDArray[np.bool_]) -> pa.Table:
    """All rows; the worst cells in words for the flagged ones."""
    words = np.full(len(found), None, dtype=object)
    picked = np.flatnonzero(flagged)
    words[picked] = found.worst_cells(picked, N_CELLS)
    columns = found.labels.columns(np.arange(len(found))) | {
        "score": pa.array(found.row_scores),
        "p_value": pa.array(found.row_p_values),
        "flagged": pa.array(flagged),
        "cells": pa.array(words, pa.string()),
        "fingerprint": pa.array(row_fingerprints(found, np.arange(len(found)))),
    }
    return pa.table(columns, schema=rows_schema(found.labels.key_type))


def cells_table(found: Detection, picked: Positions) -> pa.Table:
    """The scored cells of some new rows."""
    findings = Findings.of_mask(found.judged, picked, ~np.isnan(found.cell_scores))
    columns = found.labels.columns(findings.rows) | findings.arrays()
    if found.has_probabilities:
        chance, suggested = judge_cells(found.judged, findings.rows, findings.columns)
        columns |= {"probability": pa.array(chance), "suggested": pa.array(suggested, pa.string())}
    columns["fingerprint"] = pa.array(row_fingerprints(found, findings.rows), pa.string())
    return pa.table(columns, schema=cells_schema(found.labels.key_type, found.has_probabilities))
