"""Findings as a small piece of HTML, for notebooks: text is escaped, and colours are those of the page around it."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from rfod._evidence.wrong_cells import WORTH_A_CHECK, WRONG, CellProbabilities, probability_text
from rfod._findings.findings import Findings, RowLabels
from rfod._model.judged import JudgedTable
from rfod._table.encode import one_line

N_SHOWN = 10  # findings
LONGEST = 200  # letters of a cell
_CELL = "text-align:left;vertical-align:top;padding:.2em .6em;border-bottom:1px solid rgba(128,128,128,.35)"
_TABLE = "color:inherit;border-collapse:collapse;margin:.3em 0;font-size:.92em"


def findings_html(judged: JudgedTable, labels: RowLabels, probabilities: CellProbabilities | None) -> str:
    """How many cells are wrong, and the most probable ones; without probabilities the rows with the highest scores."""
    size = f"{len(judged):,} rows, {len(judged.names)} columns"
    lines: list[tuple[str, ...]]
    if probabilities is None:
        worst = judged.order[:N_SHOWN]
        cells = Findings.of_rows(judged, worst, 1)
        lines = [
            (labels.place(row), f"{judged.row_scores[row]:.3g}", judged.names[j], observed, expected)
            for row, j, observed, expected in zip(
                cells.rows.tolist(), cells.columns.tolist(), cells.observed, cells.expected, strict=True
            )
        ]
        names: tuple[str, ...] = ("where", "row score", "column", "observed", "expected")
        return table_html(f"{size}. The rows with the highest scores, and the worst cell of each:", names, lines)
    n_wrong = int(np.count_nonzero(probabilities.probability >= WRONG))
    n_check = int(np.count_nonzero(probabilities.probability >= WORTH_A_CHECK)) - n_wrong
    title = f"{size}. Wrong cells (probability {WRONG} and more): {n_wrong:,}; worth a check: {n_check:,}."
    lines = [
        (
            labels.place(cell.row),
            cell.column,
            "missing" if cell.observed is None else cell.observed,
            cell.suggested or "",
            probability_text(cell.probability),
            cell.because,
        )
        for cell in probabilities.describe(probabilities.above(WORTH_A_CHECK)[:N_SHOWN])
    ]
    return table_html(title, ("where", "column", "observed", "suggested", "probability", "why"), lines)


def table_html(title: str, names: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A sentence, and below it a table where there are lines."""
    start = f"<p>{_text(title)}</p>"
    if not lines:
        return f"<div>{start}</div>"
    head = _line("th", names)
    body = "".join(_line("td", line) for line in lines)
    return f'<div>{start}<table style="{_TABLE}"><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def _line(tag: str, texts: Sequence[str]) -> str:
    cells = "".join(f'<{tag} style="{_CELL}">{_text(text)}</{tag}>' for text in texts)
    return f"<tr>{cells}</tr>"


def _text(text: str) -> str:
    cut = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return html.escape("".join(c if c.isprintable() else one_line(c) for c in cut))
