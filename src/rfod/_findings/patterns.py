"""Many findings, few causes: findings of one column that are alike and share a condition."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.wrong_cells import WrongCell
from rfod._findings.conditions import Condition, category_text, name_text
from rfod._findings.explanations import CellExplanation, Explainer
from rfod._findings.findings import Findings, Positions
from rfod._findings.reasons import Clause
from rfod._model.judge import EncodedRows
from rfod._model.judged import JudgedTable
from rfod._table.bins import Feature
from rfod._table.encode import value_text

MOST_REPAIRED = 1_000  # rows whose cells to blame are looked for
BASE_ROWS = 4_096  # of the table, evenly spaced, that findings are compared with
COMMON = 0.5  # share of the table that a condition may hold for and still tell something
LIFT = 2.0  # times as often it must hold for the findings
CLEARLY = 3.0  # log likelihood ratio by which it must set them apart
MOST_EXPLAINED, ALL_EXPLAINED = 5, 300  # findings of one sort, and in all, whose reasons are looked for
FEWEST = 2
N_CODES = 256  # of a feature
MOST_VALUES = 5  # categories of a column that are tried
QUANTILES = ((0.0, 0.1, 0.25), (1.0, 0.9, 0.75))  # of the findings' values, tried as bounds


@dataclass(frozen=True)
class Pattern:
    """Findings in one column that are off in the same way, under the same condition."""

    column: str
    what: str
    """In which way: "is too high", "is DHL instead of UPS", "is missing", "is one letter from a frequent value"."""
    conditions: tuple[Condition, ...]
    """What all these rows have in common; empty when it is nothing but the column."""
    n_findings: int
    rows: tuple[int, ...]
    """Positions in the table, most surprising first."""
    example: CellExplanation | WrongCell
    """The most surprising one, or after a scan the most probable."""

    @property
    def sentence(self) -> str:
        """The pattern in words, with the number of its rows."""
        counted = "1 row" if self.n_findings == 1 else f"{self.n_findings:,} rows"
        return f"{counted}: {self.clause}"

    @property
    def clause(self) -> str:
        """The pattern in words, without the number of its rows."""
        where = f" where {self.conditions[0].text}" if self.conditions else ""
        return f"{name_text(self.column)} {self.what}{where}"

    def __str__(self) -> str:
        return self.sentence

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return vars(self) | {
            "conditions": [condition.to_json() for condition in self.conditions],
            "rows": list(self.rows),
            "example": self.example.to_json(),
            "sentence": self.sentence,
        }


def find_patterns(
    explainer: Explainer, rows: Positions, wanted: NDArray[np.bool_], hidden: Collection[str] = ()
) -> list[Pattern]:
    """Group those cells of rows that are wanted and to blame, most frequent first."""
    judged = explainer.judged
    expected = dict(_to_blame(judged, rows, wanted))
    cells = sorted(expected, key=lambda cell: (-judged.surprise[cell], cell))
    members: dict[tuple[int, str], list[int]] = {}
    for (row, j), what in zip(cells, _deviations(judged, cells, expected, hidden), strict=True):
        members.setdefault((j, what), []).append(row)
    base = judged.rows(np.arange(0, len(judged), max(1, len(judged) // BASE_ROWS)))
    n_each = min(MOST_EXPLAINED, max(1, ALL_EXPLAINED // max(1, len(members))))
    firsts = [(row, j) for (j, _), own in members.items() for row in own[:n_each] if len(own) >= FEWEST]
    explained = dict(zip(firsts, explainer.explain_cells(firsts, hidden), strict=True))
    groups = []
    for (j, what), own in members.items():
        known = [condition for row in own if (row, j) in explained for condition in explained[row, j].conditions]
        groups += [(j, what, *group) for group in _split(explainer, j, own, base, known, hidden)]
    examples = explainer.explain_cells([(group[0], j) for j, _, group, _ in groups], hidden)
    found = [
        Pattern(judged.names[j], what, conditions, len(group), tuple(group), example)
        for (j, what, group, conditions), example in zip(groups, examples, strict=True)
    ]
    return sorted(found, key=lambda pattern: -pattern.n_findings)


def _to_blame(judged: JudgedTable, rows: Positions, wanted: NDArray[np.bool_]) -> Iterator[tuple[tuple[int, int], Any]]:
    """Row and column number of cells to blame, and what the forest expects in the place of each, encoded; of rows
    beyond the worst ones, just the most surprising cell."""
    surprise = np.where(wanted[rows], judged.surprise[rows], 0.0)
    order = np.argsort(-surprise.max(axis=1, initial=0), kind="stable")
    worst = rows[order[:MOST_REPAIRED]]
    for row, repair in zip(worst.tolist(), judged.repairs(worst), strict=True):
        yield from (((row, j), value) for j, value in repair.values.items() if wanted[row, j])
    for place in order[MOST_REPAIRED:].tolist():
        if surprise[place].any():
            row, j = int(rows[place]), int(np.argmax(surprise[place]))
            yield (row, j), judged.cells.expected[j][row]


def _deviations(
    judged: JudgedTable,
    cells: Sequence[tuple[int, int]],
    expected: Mapping[tuple[int, int], Any],
    hidden: Collection[str],
) -> list[str]:
    """In which way each cell is off from what is expected, which is given encoded."""
    findings = Findings.of_cells(judged, cells)
    encoded = judged.rows(findings.rows).encoded
    deviations = []
    for place, ((row, j), kind, text) in enumerate(zip(cells, findings.kinds, findings.observed, strict=True)):
        column, value = judged.model.schema.columns[j], expected[row, j]
        if column.name in hidden:
            deviations.append("is not what was expected")
        elif kind == "missing":
            deviations.append("is missing")
        elif kind == "present":
            deviations.append("has a value, which it practically never has")
        elif kind in ("unseen", "near miss"):
            deviations.append(f"is '{text}' (never seen in training)")
        elif column.is_categorical:
            instead = value_text(column, np.array([value], dtype=np.int32))[0]
            deviations.append(f"is {category_text(text)} instead of {category_text(instead)}")
        else:
            deviations.append("is too high" if encoded[j][place] > value else "is too low")
    return deviations


def _split(
    explainer: Explainer,
    j: int,
    rows: Sequence[int],
    base: EncodedRows,
    reasons: Sequence[Condition],
    hidden: Collection[str],
) -> Iterator[tuple[list[int], tuple[Condition, ...]]]:
    """Rows with findings of one sort, by the condition that sets them apart from the table; the rest without one."""
    left = np.array(rows, dtype=np.intp)
    while len(left) >= FEWEST:
        read = explainer.judged.rows(left)
        condition = _shared(explainer, j, read, base, reasons, hidden)
        if condition is None:
            break
        meets = explainer.reasons.rows_meeting(condition, read.encoded)
        if meets.sum() < FEWEST:
            break
        yield left[meets].tolist(), (condition,)
        left = left[~meets]
    if len(left):
        yield left.tolist(), ()


def _shared(
    explainer: Explainer,
    j: int,
    read: EncodedRows,
    base: EncodedRows,
    reasons: Sequence[Condition],
    hidden: Collection[str],
) -> Condition | None:
    """The condition that sets rows apart most clearly, if any does.

    Reasons of single findings are tried, and any value or range of another column that the rows have in common; these
    must set them apart more clearly, since there are many and they are made to fit.
    """
    model, meets = explainer.judged.model, explainer.reasons.rows_meeting
    best: Condition | Clause | None = None
    best_gain, n_tried = CLEARLY, len(model.features) * MOST_VALUES
    for condition in dict.fromkeys(reasons):
        own, others = meets(condition, read.encoded), meets(condition, base.encoded)
        gain = _gain(int(own.sum()), len(own), float(others.mean()), len(others))
        if gain > best_gain:
            best, best_gain = condition, gain
    for f, feature in enumerate(model.features):
        if feature.column == j or model.schema.columns[feature.column].name in hidden:
            continue
        counts, base_counts = (np.bincount(rows.block[:, f], minlength=N_CODES) for rows in (read, base))
        for clause, n_fitted in _clauses(f, feature, counts):
            cost = math.log(n_tried) + n_fitted * math.log(len(read))
            gain = _gain(clause.count(counts), len(read), clause.count(base_counts) / len(base), len(base)) - cost
            if gain > best_gain:
                best, best_gain = clause, gain
    if not isinstance(best, Clause):
        return best
    members = best.meets(read.block[:, best.feature].astype(np.int64))
    return explainer.reasons.condition(best, [column[members] for column in read.encoded])


def _gain(n_meet: int, n_rows: int, share: float, n_others: int) -> float:
    """How clearly rows are set apart from others by what `n_meet` of them and a `share` of the others meet: the log
    likelihood ratio; 0 for what is too common."""
    share = max(share, 0.5 / n_others)
    if n_meet < FEWEST or share > COMMON or n_meet / n_rows < LIFT * share:
        return 0.0
    gain = n_meet * math.log(n_meet / n_rows / share)
    if n_meet < n_rows:
        gain += (n_rows - n_meet) * math.log((1 - n_meet / n_rows) / (1 - share))
    return gain


def _clauses(f: int, feature: Feature, counts: NDArray[np.int64]) -> Iterator[tuple[Clause, int]]:
    """What rows with so many of each code of a feature may have in common, and how many bounds were fitted to them."""
    if feature.is_categorical:
        codes = np.flatnonzero(counts)
        codes = codes[(codes > 0) & ~((codes == feature.n_codes - 1) & feature.shared)]
        for code in codes[np.argsort(-counts[codes], kind="stable")][:MOST_VALUES].tolist():
            yield Clause(f, codes=frozenset({code})), 0
        return
    if counts[0]:
        yield Clause(f, 0, 0), 0
    up_to = np.cumsum(counts[1:])
    if up_to[-1]:
        ranks = np.rint((up_to[-1] - 1) * np.array(QUANTILES))
        low, high = (1 + np.searchsorted(up_to, ranks, side="right")).tolist()
        yield from ((Clause(f, first, N_CODES - 1), 1) for first in dict.fromkeys(low))
        yield from ((Clause(f, 1, last), 1) for last in dict.fromkeys(high))
        yield from ((Clause(f, first, last), 2) for first, last in dict.fromkeys(zip(low, high, strict=True)))
