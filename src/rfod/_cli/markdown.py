"""Findings as Markdown, for comments on merge requests, issues and notes. Text of a table is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rfod._cli.console import shown
from rfod._cli.findings import explanation_text, place_of
from rfod._evidence.wrong_cells import WORTH_A_CHECK, WRONG, probability_text
from rfod._findings.explanations import RowExplanation
from rfod._findings.findings import Rule
from rfod._table.encode import one_line

if TYPE_CHECKING:
    from rfod._cli.baseline import Baseline
    from rfod._cli.suspects import CellFindings
    from rfod._diff.diff import TableDiff
    from rfod._diff.findings import FindingChange

_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~$@])")
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def escaped(text: object) -> str:
    """Text that Markdown shows as it is: no markup, no HTML, one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(shown(text).split())).translate(_HTML)


def table_markdown(names: Sequence[str], lines: Iterable[Sequence[object]]) -> list[str]:
    """A table with a header, its texts escaped."""
    rows = [f"| {' | '.join(map(escaped, line))} |" for line in lines]
    return [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}", *rows]


def scan_markdown(
    name: str, findings: CellFindings, most: int, unusual: Sequence[RowExplanation], known: Baseline | None
) -> str:
    """What a scan found: listed cells, what is new, the most unusual rows."""
    listed = findings.listed[:most]
    n_wrong, n_check = findings.n_wrong, findings.n_worth_a_check
    lines = [
        f"## Wrong cells of {escaped(name)}",
        "",
        f"{findings.n_rows:,} rows, {len(findings.columns):,} columns judged; wrong cells (probability {WRONG} and "
        f"more): {n_wrong:,}; worth a check ({WORTH_A_CHECK} to {WRONG}): {n_check:,}.",
    ]
    if listed:
        names = ("where", "column", "observed", "suggested", "probability", "why")
        cells = [
            (
                findings.place_text(cell),
                one_line(cell.column),
                "missing" if cell.observed is None else one_line(cell.observed),
                "" if cell.suggested is None else one_line(cell.suggested),
                probability_text(cell.probability),
                cell.because,
            )
            for cell in listed
        ]
        lines += ["", *table_markdown(names, cells)]
    if findings.n_listed > len(listed):
        lines += ["", f"{findings.n_listed - len(listed):,} more are not shown."]
    if known is not None:
        lines += ["", *known_markdown(known, most)]
    if unusual:
        lines += ["", "### Most unusual rows by score", ""]
        lines += [f"{number}. {_row_line(row)}" for number, row in enumerate(unusual, start=1)]
    return "\n".join(lines)


def known_markdown(known: Baseline, most: int) -> list[str]:
    """What an earlier run does not have."""
    lines = [f"### New since {escaped(known.file.path)}", "", f"{known.n_new:,} new, {known.n_known:,} known."]
    return [*lines, *_changes(known.new, known.key, most)]


def rows_markdown(name: str, findings: Sequence[RowExplanation], n_flagged: int, rule: Rule) -> str:
    """Rows that are findings; the most unusual ones where none is."""
    counted = f"{n_flagged:,} {'row is a finding' if n_flagged == 1 else 'rows are findings'} ({rule.words()})."
    nearest = "" if n_flagged or not findings else " The most unusual rows:"
    lines = [f"## Findings in {escaped(name)}", "", counted + nearest, ""]
    lines += [f"{number}. {_row_line(row)}" for number, row in enumerate(findings, start=1)]
    if n_flagged > len(findings):
        lines += ["", f"{n_flagged - len(findings):,} more are not shown."]
    return "\n".join(lines).rstrip()


def explained_markdown(explained: Sequence[RowExplanation]) -> str:
    """Why rows stand out."""
    parts = []
    for row in explained:
        first, *others = explanation_text(row).splitlines()
        parts.append("\n".join([f"## {escaped(first)}", "", *map(_item, filter(str.strip, others))]))
    return "\n\n".join(parts)


def diff_markdown(found: TableDiff, most: int) -> str:
    """Two runs compared."""
    from rfod._diff.wording import sections, summary

    lines = [f"## {escaped(found.names[0])} and {escaped(found.names[1])} compared", ""]
    lines += [f"- {escaped(sentence)}" for sentence in summary(found)]
    sentences = [sentence for change in found.moved for sentence in change.sentences]
    if sentences:
        lines += ["", "### Columns that moved", "", *(f"- {escaped(sentence)}" for sentence in sentences)]
    for title, changes in sections(found):
        if changes:
            lines += ["", f"### {title} findings", *_changes(changes, found.key, most)]
    return "\n".join(lines)


def _changes(changes: Sequence[FindingChange], key: str | None, most: int) -> list[str]:
    lines = [f"- {escaped(change.place(key))}: {escaped(change.text)}" for change in changes[:most]]
    more = [f"- ... and {len(changes) - most:,} more"] if len(changes) > most else []
    return ["", *lines, *more] if lines or more else []


def _item(text: str) -> str:
    """A line of an explanation as an item of a list, below the one before where it was below it."""
    below = text.lstrip().startswith("- ")
    return f"{'  ' if below else ''}- {escaped(text.strip().removeprefix('- '))}"


def _row_line(row: RowExplanation) -> str:
    cells = [cell for cell in row.cells if cell.blamed] or row.cells[:1]
    return f"**{escaped(place_of(row))}**: {escaped('; '.join(cell.sentence for cell in cells))}"
