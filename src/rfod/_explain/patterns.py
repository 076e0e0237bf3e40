"""Many findings, few causes: findings of one column that are alike and share a condition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._explain.cell import CellExplanation
from rfod._explain.condition import Condition, category_text
from rfod._explain.found import Found
from rfod._explain.rows import explain_rows
from rfod._table.encode import one_line

Positions = NDArray[np.intp]

MOST_EXPLAINED = 300  # findings whose reasons are looked for, the most surprising of each sort; others follow them
FEWEST_EXPLAINED = 3  # of each sort
MOST_REPAIRED = 1_000  # rows whose cells to blame are looked for
COMMON = 0.5  # share of the training rows that a condition may hold for and still tell something
FEWEST = 2


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


def find_patterns(
    found: Found, rows: Positions, wanted: NDArray[np.bool_], hidden: Collection[str] = ()
) -> list[Pattern]:
    """Group those cells of rows that are wanted and to blame, most frequent first."""
    cells = sorted(_to_blame(found, rows, wanted), key=lambda cell: (-found.surprise[cell], cell))
    whats = _whats(found, cells, hidden)
    groups: dict[tuple[int, str], list[int]] = {}
    for (row, j), what in zip(cells, whats, strict=True):
        groups.setdefault((j, what), []).append(row)
    share = max(FEWEST_EXPLAINED, MOST_EXPLAINED // max(1, len(groups)))
    asked = [(row, j) for (j, _), members in groups.items() for row in members[:share]]
    explained = _explained(found, asked, hidden)
    patterns: list[Pattern] = []
    for (j, what), members in groups.items():
        patterns += _split(found, j, what, members, explained, hidden)
    return sorted(patterns, key=lambda pattern: -pattern.n_findings)


def _to_blame(found: Found, rows: Positions, wanted: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Row and column number of cells to blame; of rows beyond the worst ones, just the most surprising cell."""
    surprise = np.where(wanted[rows], found.surprise[rows], 0.0)
    rows = rows[np.argsort(-surprise.max(axis=1, initial=0), kind="stable")]
    for row, repair in zip(rows.tolist(), found._repairs(rows[:MOST_REPAIRED]), strict=False):
        yield from ((row, j) for j in repair.columns if wanted[row, j])
    for row in rows[MOST_REPAIRED:].tolist():
        yield row, int(np.argmax(np.where(wanted[row], found.surprise[row], 0.0)))


def _whats(found: Found, cells: Sequence[tuple[int, int]], hidden: Collection[str]) -> list[str]:
    kinds, _ = found._kinds(list(cells))
    encoded = found._read(np.array([row for row, _ in cells], dtype=np.intp)).encoded
    observed = found._texts(list(cells), observed=True)
    expected = found._texts(list(cells), observed=False)
    told = []
    for place, ((row, j), kind) in enumerate(zip(cells, kinds, strict=True)):
        text, wanted = observed[place], expected[place]
        column = found._model.columns[j]
        if column.name in hidden:
            told.append("is not what was expected")
        elif kind == "missing":
            told.append("is missing")
        elif kind == "present":
            told.append("has a value, which it practically never has")
        elif kind in ("unseen", "near miss"):
            told.append(f"is '{text}', which was never seen in training")
        elif column.is_categorical:
            told.append(f"is {category_text(text)} instead of {category_text(wanted)}")
        else:
            is_high = float(encoded[j][place]) > float(found._judged.expected[j][row])
            told.append("is too high" if is_high else "is too low")
    return told


def _explained(
    found: Found, cells: Sequence[tuple[int, int]], hidden: Collection[str]
) -> dict[tuple[int, int], CellExplanation]:
    only: dict[int, set[int]] = {}
    for row, j in cells:
        only.setdefault(row, set()).add(j)
    rows = np.array(list(only), dtype=np.intp)
    told = explain_rows(found, rows, len(found.columns), hidden, list(only.values()))
    number = {name: j for j, name in enumerate(found.columns)}
    return {(row, number[cell.column]): cell for row, whole in zip(only, told, strict=True) for cell in whole.cells}


def _split(
    found: Found,
    j: int,
    what: str,
    rows: Sequence[int],
    explained: dict[tuple[int, int], CellExplanation],
    hidden: Collection[str],
) -> Iterator[Pattern]:
    """Findings of one sort, by the conditions that most of them share; the rest, if any, without one."""
    reasons = found._reasons
    encoded = found._read(np.array(rows, dtype=np.intp)).encoded
    left = np.arange(len(rows))
    while len(left) >= FEWEST:
        counted: Counter[Condition] = Counter()
        for place in left.tolist():
            cell = explained.get((rows[place], j))
            counted.update(cell.conditions if cell else ())
        meets = {condition: reasons.meets(condition, encoded)[left] for condition in counted}
        telling = [c for c in counted if meets[c].sum() >= FEWEST and reasons.met(c).mean() <= COMMON]
        if not telling:
            break
        best = max(telling, key=lambda c: (int(meets[c].sum()), counted[c], -len(c.text)))
        yield _pattern(
            found, j, what, (best,), [rows[place] for place in left[meets[best]].tolist()], explained, hidden
        )
        left = left[~meets[best]]
    if len(left):
        yield _pattern(found, j, what, (), [rows[place] for place in left.tolist()], explained, hidden)


def _pattern(
    found: Found,
    j: int,
    what: str,
    conditions: tuple[Condition, ...],
    rows: Sequence[int],
    explained: dict[tuple[int, int], CellExplanation],
    hidden: Collection[str],
) -> Pattern:
    name, n_findings = found.columns[j], len(rows)
    known = next((row for row in rows if (row, j) in explained), rows[0])
    example = (explained if (known, j) in explained else _explained(found, [(known, j)], hidden))[known, j]
    where = f" where {conditions[0].text}" if conditions else ""
    counted = "1 row" if n_findings == 1 else f"{n_findings:,} rows"
    sentence = f"{counted}: {one_line(name)} {what}{where}"
    return Pattern(name, what, conditions, n_findings, tuple(int(row) for row in rows), example, sentence)
