"""Findings of two runs: which are new, which persist, which are resolved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rfod._diff.matching import Identities, match
from rfod._evidence.wrong_cells import WORTH_A_CHECK, WrongCell
from rfod._table.encode import one_line
from rfod._table.fingerprint import fingerprint_texts, fingerprints
from rfod._table.values import plain
from rfod.detection import Detection

Positions = NDArray[np.intp]
Status = Literal["new", "persisting", "resolved"]
Why = Literal["row", "value", "judgement"]


@dataclass(frozen=True)
class Finding:
    """A cell or row that a run reported."""

    row: int
    line: int | None
    key: Any
    column: str | None
    """None for a finding that is a row."""
    observed: str | None
    suggested: str | None
    probability: float | None
    reason: str | None


@dataclass(frozen=True, eq=False)
class FindingList:
    """The findings of one run, and how they are found again in another."""

    findings: Sequence[Finding]
    identities: Identities


@dataclass(frozen=True)
class FindingChange:
    """A finding of either run, or of both."""

    status: Status
    why: Why | None
    """Of a new or resolved one: "row", the row is in one table only; "value", the cell holds something else;
    "judgement", row and value are in both, and only one run finds them likely enough. None where it is not known, which
    is so of findings from files."""
    column: str | None
    key: Any
    before: Finding | None
    """None for a new finding."""
    after: Finding | None
    """None for a resolved one."""
    observed_before: str | None = None
    observed_after: str | None = None
    """What stands in the cell, also where it is no finding; None for a gap, and where it is not known."""

    @property
    def finding(self) -> Finding:
        """The finding, of the later run where it has one."""
        found = self.after or self.before
        assert found is not None
        return found

    def place(self, key_name: str | None) -> str:
        """How its row is found again, in words."""
        found = self.finding
        line = "" if found.line is None else f"line {found.line:,}"
        before = " before" if self.after is None else ""
        if found.key is not None:
            return f"{key_name or 'key'} {one_line(str(found.key))}{f' ({line}{before})' if line else ''}"
        return f"{line or f'row {found.row:,}'}{before}"

    @property
    def text(self) -> str:
        """The cell and what happened to it."""
        found = self.finding
        if self.column is None:
            return found.observed or ""
        shown = f"{one_line(self.column)} {_quoted(found.observed)}"
        if self.status == "resolved":
            ends = {
                "row": "; the row is gone",
                "value": f"; now {_quoted(self.observed_after)}",
                "judgement": "; not found likely enough any more",
            }
            return shown + (ends[self.why] if self.why is not None else "")
        if found.suggested is not None:
            shown += f" (suggested '{one_line(found.suggested)}')"
        if self.status == "persisting" and self.observed_before != self.observed_after:
            return f"{shown}; {_quoted(self.observed_before)} before"
        if self.status == "new" and self.why is not None:
            starts = {
                "row": "; a new row",
                "value": f"; {_quoted(self.observed_before)} before",
                "judgement": "; there before, but not found likely enough",
            }
            shown += starts[self.why]
        return shown

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return asdict(self) | {"key": _plain(self.key), "before": _side(self.before), "after": _side(self.after)}


def _side(finding: Finding | None) -> dict[str, Any] | None:
    """What one run says of a finding."""
    if finding is None:
        return None
    return {name: value for name, value in vars(finding).items() if name not in ("key", "column")}


def _plain(key: Any) -> Any:
    return key if isinstance(key, int | bool | str | None) else str(key)


def _quoted(text: str | None) -> str:
    return "missing" if text is None else f"'{one_line(text)}'"


def least_listed(above: float) -> float:
    """From which probability on a cell counts as known: what was worth a check and is wrong now is not new."""
    return min(WORTH_A_CHECK, above)


def findings_of(found: Detection, least: float) -> list[Finding]:
    """Cells of a judged table of at least this probability of being wrong."""
    return [finding_of(found, cell) for cell in found.suspects(least)]


def finding_of(found: Detection, cell: WrongCell) -> Finding:
    """A wrong cell with its place."""
    labels = found.labels
    line = None if labels.lines is None else int(labels.lines[cell.row])
    key = None if labels.keys is None else labels.keys[cell.row].as_py()
    row = cell.row + labels.first_row
    return Finding(row, line, key, cell.column, cell.observed, cell.suggested, cell.probability, cell.reason)


def row_fingerprints(found: Detection, rows: Positions) -> list[str]:
    """Fingerprints of some rows, as files hold them; a row may occur several times."""
    distinct, at = np.unique(rows, return_inverse=True)
    texts = fingerprint_texts(fingerprints(found.judged.table.take(distinct)))
    return [texts[place] for place in at.tolist()]


def identities_of(found: Detection, rows: Positions | None = None, columns: Sequence[str] | None = None) -> Identities:
    """Rows of a judged table, all by default; or findings in some of them, with the names of their columns."""
    table, keys = found.judged.table, found.labels.keys
    if rows is None:
        return Identities.of(fingerprints(table), None if keys is None else plain(keys).to_pylist(), columns)
    distinct, at = np.unique(rows, return_inverse=True)
    prints = fingerprints(table.take(distinct))[at]
    return Identities.of(prints, None if keys is None else plain(keys.take(rows)).to_pylist(), columns)


def compare_lists(before: FindingList, after: FindingList, above: float) -> list[FindingChange]:
    """Findings of two files. Of cells those count that one run finds at least `above` likely to be wrong; such a cell
    that the other run lists too, less likely, persists."""
    place = match(before.identities, after.identities)
    taken = np.zeros(len(before.findings), np.bool_)
    taken[place[place >= 0]] = True
    pairs: list[tuple[Finding | None, Finding | None]] = [
        (before.findings[at] if at >= 0 else None, now) for now, at in zip(after.findings, place.tolist(), strict=True)
    ]
    pairs += [(before.findings[at], None) for at in np.flatnonzero(~taken).tolist()]
    counted = [pair for pair in pairs if _counts(*pair, above)]
    return _ordered([_change(*pair, None, *_observed(*pair)) for pair in counted])


def compare_detections(before: Detection, after: Detection, rows: Positions, above: float) -> list[FindingChange]:
    """Findings of two judged tables; `rows` is the place of each later row in the earlier table, -1 for none."""
    least = least_listed(above)
    earlier = {(cell.row, cell.column): cell for cell in before.suspects(least)}
    later = {(cell.row, cell.column): cell for cell in after.suspects(least)}
    back = np.full(len(before), -1, dtype=np.intp)
    back[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
    texts = _Cells(before), _Cells(after)
    changes = []
    for (row, column), cell in later.items():
        at = int(rows[row])
        known = earlier.pop((at, column), None)
        pair = None if known is None else finding_of(before, known), finding_of(after, cell)
        if not _counts(*pair, above):
            continue
        observed = (texts[0].text(at, column) if at >= 0 else None), cell.observed
        why: Why | None = None if known is not None else _why(at, *observed)
        changes.append(_change(*pair, why, *observed))
    for (row, column), cell in earlier.items():
        at = int(back[row])
        pair_before = finding_of(before, cell)
        if _counts(pair_before, None, above):
            observed = cell.observed, (texts[1].text(at, column) if at >= 0 else None)
            changes.append(_change(pair_before, None, _why(at, *observed), *observed))
    return _ordered(changes)


def _why(at: int, observed_before: str | None, observed_after: str | None) -> Why:
    if at < 0:
        return "row"
    return "value" if observed_before != observed_after else "judgement"


def _observed(before: Finding | None, after: Finding | None) -> tuple[str | None, str | None]:
    return None if before is None else before.observed, None if after is None else after.observed


def _counts(before: Finding | None, after: Finding | None, above: float) -> bool:
    known = [found for found in (before, after) if found is not None]
    return any(found.probability is None or found.probability >= above for found in known)


def _change(
    before: Finding | None,
    after: Finding | None,
    why: Why | None,
    observed_before: str | None,
    observed_after: str | None,
) -> FindingChange:
    status: Status = "new" if before is None else "resolved" if after is None else "persisting"
    found = after or before
    assert found is not None
    return FindingChange(status, why, found.column, found.key, before, after, observed_before, observed_after)


def _ordered(changes: Sequence[FindingChange]) -> list[FindingChange]:
    """New ones first, then those that persist; the most probable first."""
    rank = {"new": 0, "persisting": 1, "resolved": 2}
    return sorted(changes, key=lambda change: (rank[change.status], -(change.finding.probability or 0.0)))


class _Cells:
    """Cells of a judged table as they were written."""

    def __init__(self, found: Detection) -> None:
        self._columns = {column.name: column for column in found.probabilities.collected.written.columns}

    def text(self, row: int, name: str) -> str | None:
        """What stands in a cell; None for a gap, and for a column that was not judged."""
        if name not in self._columns:
            return None
        column = self._columns[name]
        code = int(column.codes[row])
        return None if code < 0 else column.values[code]
