"""Many findings, few causes: findings of one column that are alike and share a condition."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._findings.conditions import Condition, category_text, name_text
from rfod._findings.explanations import CellExplanation
from rfod._findings.found import Found, Positions
from rfod._findings.reasons import Clause
from rfod._findings.row_explainer import explain_rows
from rfod._model.judge import Rows
from rfod._table.bins import Feature

MOST_REPAIRED = 1_000  # rows whose cells to blame are looked for
BASE_ROWS = 4_096  # of the table, evenly spaced, that findings are compared with
COMMON = 0.5  # share of the table that a condition may hold for and still tell something
LIFT = 2.0  # times as often it must hold for the findings
CLEARLY = 3.0  # log likelihood ratio by which it must set them apart
MOST_EXPLAINED, ALL_EXPLAINED = 5, 300  # findings of one sort, and in all, whose reasons are looked for
FEWEST = 2
MOST_VALUES = 5  # categories of a column that are tried
QUANTILES = ((0.0, 0.1, 0.25), (1.0, 0.9, 0.75))  # of the findings' values, tried as bounds


@dataclass(frozen=True)
class Pattern:
    """Findings in one column that are off in the same way, under the same condition."""

    column: str
    what: str
    """In which way: "is too high", "is DHL instead of UPS", "is missing"."""
    conditions: tuple[Condition, ...]
    """What all these rows have in common; empty when it is nothing but the column."""
    n_findings: int
    rows: tuple[int, ...]
    """Positions in the table, most surprising first."""
    example: CellExplanation
    sentence: str

    def __str__(self) -> str:
        return self.sentence

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return {
            "column": self.column,
            "what": self.what,
            "conditions": [condition.to_json() for condition in self.conditions],
            "n_findings": self.n_findings,
            "rows": list(self.rows),
            "example": self.example.to_json(),
            "sentence": self.sentence,
        }


@dataclass(frozen=True, eq=False)
class _Group:
    """Findings of column j that belong together, most surprising first."""

    j: int
    rows: list[int]
    condition: Condition | None


def find_patterns(
    found: Found, rows: Positions, wanted: NDArray[np.bool_], hidden: Collection[str] = ()
) -> list[Pattern]:
    """Group those cells of rows that are wanted and to blame, most frequent first."""
    cells = sorted(set(_to_blame(found, rows, wanted)), key=lambda cell: (-found.surprise[cell], cell))
    members: dict[tuple[int, str], list[int]] = {}
    for (row, j), what in zip(cells, _whats(found, cells, hidden), strict=True):
        members.setdefault((j, what), []).append(row)
    n_rows = len(found.row_scores)
    base = found._read(np.arange(0, n_rows, max(1, n_rows // BASE_ROWS)))
    n_each = min(MOST_EXPLAINED, max(1, ALL_EXPLAINED // max(1, len(members))))
    firsts = [(row, j) for (j, _), own in members.items() for row in own[:n_each] if len(own) >= FEWEST]
    reasons: dict[tuple[int, int], tuple[Condition, ...]] = {
        cell: told.conditions for cell, told in zip(firsts, _explain(found, firsts, hidden), strict=True)
    }
    groups: list[tuple[str, _Group]] = []
    for (j, what), own in members.items():
        known = [condition for row in own[:n_each] for condition in reasons.get((row, j), ())]
        groups += ((what, group) for group in _split(found, j, own, base, known, hidden))
    return sorted(_patterns(found, groups, hidden), key=lambda pattern: -pattern.n_findings)


def _explain(found: Found, cells: Sequence[tuple[int, int]], hidden: Collection[str]) -> list[CellExplanation]:
    rows = np.array([row for row, _ in cells], dtype=np.intp)
    return [row.cells[0] for row in explain_rows(found, rows, 1, hidden, [{j} for _, j in cells])]


def _to_blame(found: Found, rows: Positions, wanted: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Row and column number of cells to blame; of rows beyond the worst ones, just the most surprising cell."""
    worst = np.where(wanted[rows], found.surprise[rows], 0.0).max(axis=1, initial=0)
    rows = rows[np.argsort(-worst, kind="stable")]
    for row, repair in zip(rows.tolist(), found._repairs(rows[:MOST_REPAIRED]), strict=False):
        yield from ((row, j) for j in repair.columns if wanted[row, j])
    for row in rows[MOST_REPAIRED:].tolist():
        surprise = np.where(wanted[row], found.surprise[row], 0.0)
        if surprise.any():
            yield row, int(np.argmax(surprise))


def _whats(found: Found, cells: Sequence[tuple[int, int]], hidden: Collection[str]) -> list[str]:
    kinds, _ = found._kinds(list(cells))
    encoded = found._read(np.array([row for row, _ in cells], dtype=np.intp)).encoded
    observed = found._texts(list(cells), observed=True)
    expected = found._texts(list(cells), observed=False)
    told = []
    for place, ((row, j), kind) in enumerate(zip(cells, kinds, strict=True)):
        text, wanted = observed[place], expected[place]
        column = found._model.schema.columns[j]
        if column.name in hidden:
            told.append("is not what was expected")
        elif kind == "missing":
            told.append("is missing")
        elif kind == "present":
            told.append("has a value, which it practically never has")
        elif kind in ("unseen", "near miss"):
            told.append(f"is '{text}' (never seen in training)")
        elif column.is_categorical:
            told.append(f"is {category_text(text)} instead of {category_text(wanted)}")
        else:
            is_high = float(encoded[j][place]) > float(found._judged.expected[j][row])
            told.append("is too high" if is_high else "is too low")
    return told


def _split(
    found: Found, j: int, rows: Sequence[int], base: Rows, reasons: Sequence[Condition], hidden: Collection[str]
) -> Iterator[_Group]:
    """Rows with findings of one sort, by the conditions that set them apart from the table; the rest without one."""
    left = np.array(rows, dtype=np.intp)
    while len(left) >= FEWEST:
        read = found._read(left)
        condition = _shared(found, j, read, base, reasons, hidden)
        if condition is None:
            break
        meets = found._reasons.meets(condition, read.encoded)
        if meets.sum() < FEWEST:
            break
        yield _Group(j, left[meets].tolist(), condition)
        left = left[~meets]
    if len(left):
        yield _Group(j, left.tolist(), None)


def _shared(
    found: Found, j: int, read: Rows, base: Rows, reasons: Sequence[Condition], hidden: Collection[str]
) -> Condition | None:
    """The condition that sets rows apart most clearly, if any does.

    Reasons of single findings are tried, and any value or range of another column that the rows have in common; these
    must set them apart more clearly, since there are many and they are made to fit.
    """
    model, meets = found._model, found._reasons.meets
    best: Condition | Clause | None = None
    best_gain, n_tried = CLEARLY, len(model.features) * MOST_VALUES
    for condition in dict.fromkeys(reasons):
        gain = _gain(meets(condition, read.encoded), meets(condition, base.encoded))
        if gain > best_gain:
            best, best_gain = condition, gain
    for f, feature in enumerate(model.features):
        if feature.column == j or model.schema.columns[feature.column].name in hidden:
            continue
        own, others = read.block[:, f].astype(np.int64), base.block[:, f].astype(np.int64)
        for clause, n_fitted in _clauses(f, feature, own):
            cost = math.log(n_tried) + n_fitted * math.log(len(read))
            gain = _gain(clause.meets(own), clause.meets(others)) - cost
            if gain > best_gain:
                best, best_gain = clause, gain
    if not isinstance(best, Clause):
        return best
    members = best.meets(read.block[:, best.feature].astype(np.int64))
    return found._reasons.condition(best, [column[members] for column in read.encoded])


def _gain(own: NDArray[np.bool_], others: NDArray[np.bool_]) -> float:
    """How clearly rows are set apart by what they meet: log likelihood ratio; 0 for what is too common."""
    n_meet, n_rows = int(own.sum()), len(own)
    share = max(float(others.mean()), 0.5 / len(others))
    if n_meet < FEWEST or share > COMMON or n_meet / n_rows < LIFT * share:
        return 0.0
    gain = n_meet * math.log(n_meet / n_rows / share)
    if n_meet < n_rows:
        gain += (n_rows - n_meet) * math.log((1 - n_meet / n_rows) / (1 - share))
    return gain


def _clauses(f: int, feature: Feature, own: NDArray[np.int64]) -> Iterator[tuple[Clause, int]]:
    """What rows with these codes of a feature may have in common, and how many bounds were made to fit them."""
    codes, counts = np.unique(own, return_counts=True)
    if feature.is_categorical:
        is_named = ~((codes == 0) | ((codes == feature.n_codes - 1) & feature.shared))
        for code in codes[is_named][np.argsort(-counts[is_named], kind="stable")][:MOST_VALUES].tolist():
            yield Clause(f, codes=frozenset({code})), 0
        return
    if codes[0] == 0:
        yield Clause(f, 0, 0), 0
    present = np.sort(own[own > 0])
    if len(present):
        low, high = ([int(np.quantile(present, q, method="nearest")) for q in side] for side in QUANTILES)
        yield from ((Clause(f, first, 255), 1) for first in dict.fromkeys(low))
        yield from ((Clause(f, 1, last), 1) for last in dict.fromkeys(high))
        yield from ((Clause(f, first, last), 2) for first, last in dict.fromkeys(zip(low, high, strict=True)))


def _patterns(found: Found, groups: Sequence[tuple[str, _Group]], hidden: Collection[str]) -> Iterator[Pattern]:
    """Groups in words, with their most surprising finding as example."""
    told = _explain(found, [(group.rows[0], group.j) for _, group in groups], hidden)
    for (what, group), example in zip(groups, told, strict=True):
        name, n_findings = found.columns[group.j], len(group.rows)
        where = f" where {group.condition.text}" if group.condition else ""
        counted = "1 row" if n_findings == 1 else f"{n_findings:,} rows"
        yield Pattern(
            column=name,
            what=what,
            conditions=(group.condition,) if group.condition else (),
            n_findings=n_findings,
            rows=tuple(group.rows),
            example=example,
            sentence=f"{counted}: {name_text(name)} {what}{where}",
        )
