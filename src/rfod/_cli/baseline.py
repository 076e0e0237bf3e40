"""`--baseline`: which findings an earlier run does not have."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from rfod._cli.console import shown
from rfod._diff.files import FindingsFile, check_comparable, read_findings
from rfod._diff.findings import Finding, FindingChange, finding_of, identities_of
from rfod._diff.matching import Identities, match
from rfod._evidence.wrong_cells import WrongCell
from rfod._findings.findings import StreamRule
from rfod.detection import Detection

MOST_KEPT = 1_000  # new findings that are listed; all are counted
N_CELLS = 3  # in the words of a row


class Baseline:
    """The findings of an earlier run, each of which answers for one finding of this run."""

    def __init__(self, path: str, key: str | None) -> None:
        self.file: FindingsFile = read_findings(path)
        self.key = key
        """Name of the key column of this run."""
        self._is_left = np.ones(len(self.file.findings), np.bool_)
        self._held: list[tuple[NDArray[np.float64], NDArray[np.float64], list[Finding], Identities]] = []
        self.n_new = self.n_known = 0
        """Findings that it does not have, and that it has."""
        self.new: list[FindingChange] = []
        """The former, at most `MOST_KEPT` of them."""

    def add_cells(self, found: Detection, cells: Sequence[WrongCell]) -> None:
        """Take in wrong cells of the next rows; their rows, where the earlier run reported rows."""
        if self.file.level == "rows":
            rows = np.unique(np.array([cell.row for cell in cells], dtype=np.intp))
            self._add(rows_as_findings(found, rows), identities_of(found, rows))
            return
        places = np.array([cell.row for cell in cells], dtype=np.intp)
        columns = [cell.column for cell in cells]
        self._add([finding_of(found, cell) for cell in cells], identities_of(found, places, columns))

    def hold_rows(self, found: Detection, candidates: NDArray[np.bool_]) -> None:
        """Keep rows that turn out to be findings or not when all rows are known."""
        rows = np.flatnonzero(candidates)
        scores, p_values = found.row_scores[rows], found.row_p_values[rows]
        self._held.append((scores, p_values, rows_as_findings(found, rows), identities_of(found, rows)))

    def settle(self, rule: StreamRule) -> None:
        """All rows are known: take in those that are findings by the rule."""
        rule = copy.copy(rule)  # which counts ties as it goes
        for scores, p_values, findings, identities in self._held:
            picked = np.flatnonzero(rule.final(scores, p_values, np.ones(len(scores), np.bool_)))
            self._add([findings[place] for place in picked.tolist()], identities.take(picked))
        self._held.clear()

    def _add(self, findings: Sequence[Finding], identities: Identities) -> None:
        check_comparable(self.file, FindingsFile(findings, identities, level=self.file.level, path="this run"))
        left = np.flatnonzero(self._is_left)
        place = match(self.file.identities.take(left), identities)
        self._is_left[left[place[place >= 0]]] = False
        is_new = place < 0
        self.n_new += int(np.count_nonzero(is_new))
        self.n_known += int(np.count_nonzero(~is_new))
        for number in np.flatnonzero(is_new)[: max(0, MOST_KEPT - len(self.new))].tolist():
            one = findings[number]
            observed = None if one.column is None else one.observed
            self.new.append(FindingChange("new", None, one.column, one.key, None, one, observed_after=observed))

    def print(self, console: Console, most: int) -> None:
        """What is new, in lines."""
        noun = "finding is" if self.n_new == 1 else "findings are"
        start = f"\n{self.n_new:,} {noun}" if self.n_new else "\nNo finding is"
        text = Text(f"{start} new", style="bold") + Text(f" ({self.n_known:,} are in {shown(self.file.path)})")
        console.print(text, soft_wrap=True)
        for change in self.new[:most]:
            console.print(Text(f"  {shown(change.place(self.key))}: {shown(change.text)}"), soft_wrap=True)
        if self.n_new > most:
            console.print(f"  ... and {self.n_new - most:,} more", soft_wrap=True)

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return {
            "path": self.file.path,
            "n_new": self.n_new,
            "n_known": self.n_known,
            "new": [change.to_json() for change in self.new],
        }


def rows_as_findings(found: Detection, rows: NDArray[np.intp]) -> list[Finding]:
    """Rows as findings, with their worst cells in words."""
    labels = found.labels
    lines = [None] * len(rows) if labels.lines is None else labels.lines[rows].tolist()
    keys = [None] * len(rows) if labels.keys is None else labels.keys.take(rows).to_pylist()
    words = found.worst_cells(rows, N_CELLS)
    return [
        Finding(row + labels.first_row, line, key, None, text, None, None, None)
        for row, line, key, text in zip(rows.tolist(), lines, keys, words, strict=True)
    ]
