"""Regularities: nearly exact rules between the columns of a table, with their support and their exceptions.

Sums and differences (total = net + tax), equal columns, order (start before end), keys, and texts contained in others.
A rule is kept only if it would not hold by chance and has few exceptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.texts import BLANK, Floats, TextColumn
from rfod._table.encode import one_line

RuleKind = Literal["sum", "order", "equal", "unique", "contains"]
LEAST_ROWS = 30  # that a rule rests on
MOST_EXCEPTIONS = 0.15  # of the rows: each column of a rule may have some wrong cells
BY_CHANCE = 0.1  # violations that shuffled columns must have, at least, for a rule to say something, ...
LESS_THAN_BY_CHANCE = 0.2  # ... and the most that the rule may have, as a share of those
SCREENED_ROWS = 200
MOST_COLUMNS = 30  # of numbers that sums are looked for among
MOST_RULES = 40


@dataclass(frozen=True)
class Regularity:
    """A rule that nearly all rows of a table follow."""

    kind: RuleKind
    columns: tuple[int, ...]
    """sum: the first is the sum of the others; order: the first is at most the second; contains: the first is contained
    in the second."""
    n_rows: int
    """Rows that the rule can be checked on."""
    n_exceptions: int
    resolution: float = 0.0
    """sum: the last decimal in use, in the first column."""

    @property
    def strength(self) -> float:
        """log of rows that follow the rule per row that does not."""
        return float(np.log((self.n_rows - self.n_exceptions + 1) / (self.n_exceptions + 1)))

    def text(self, names: Sequence[str]) -> str:
        """The rule in words."""
        named = [one_line(names[j]) for j in self.columns]
        follow = f"{self.n_rows - self.n_exceptions:,} of {self.n_rows:,} rows"
        if self.kind == "sum":
            return f"{named[0]} = {' + '.join(named[1:])} in {follow}"
        if self.kind == "order":
            return f"{named[0]} is at most {named[1]} in {follow}"
        if self.kind == "equal":
            return f"{named[0]} = {named[1]} in {follow}"
        if self.kind == "unique":
            return f"{named[0]} is different in {follow}"
        return f"{named[0]} is part of {named[1]} in {follow}"


def tolerance(values: Floats, resolution: float) -> Floats:
    """How exactly a sum can be expected to hold: a unit of the last decimal in use, for each value."""
    return np.maximum(np.abs(values) * 1e-6, resolution * 1.01)


def _resolution(values: Floats) -> float:
    """The last decimal in use: 1 for whole numbers, 0.01 for cents."""
    known = values[np.isfinite(values)][:2_000]
    for decimals in range(7):
        scaled = known * 10.0**decimals
        if len(scaled) and np.mean(np.abs(scaled - np.rint(scaled)) < 1e-6 * np.maximum(np.abs(scaled), 1)) > 0.98:
            return float(10.0**-decimals) if decimals else 1e-9
    return 1e-9


def find_regularities(columns: Sequence[TextColumn], numbers: Sequence[Floats | None]) -> list[Regularity]:
    """The rules of a table, strongest first; `numbers` has the values of numeric columns and dates, None for others."""
    numeric = [j for j, values in enumerate(numbers) if values is not None and _is_varied(values)]
    found = [*_sums(numbers, numeric[:MOST_COLUMNS]), *_orders(numbers, numeric), *_contained(columns)]
    found += [rule for j in range(len(columns)) if (rule := _unique(columns[j], j)) is not None]
    return sorted(found, key=lambda rule: -rule.strength)[:MOST_RULES]


def _is_varied(values: Floats) -> bool:
    known = values[np.isfinite(values)]
    return len(known) >= LEAST_ROWS and len(np.unique(known[:SCREENED_ROWS])) > 5


def _checked(
    kind: RuleKind, columns: tuple[int, ...], holds: NDArray[np.bool_], known: NDArray[np.bool_]
) -> Regularity | None:
    n_rows = int(np.count_nonzero(known))
    n_exceptions = int(np.count_nonzero(known & ~holds))
    if n_rows < LEAST_ROWS or n_exceptions > MOST_EXCEPTIONS * n_rows:
        return None
    return Regularity(kind, columns, n_rows, n_exceptions)


def _sums(numbers: Sequence[Floats | None], numeric: Sequence[int]) -> list[Regularity]:
    """total = part + other part."""
    if len(numeric) < 3:
        return []
    matrix = np.stack([numbers[j] for j in numeric])  # type: ignore[misc]
    n_rows = matrix.shape[1]
    some = matrix[:, np.linspace(0, n_rows - 1, min(n_rows, SCREENED_ROWS)).astype(int)]
    limit = np.stack([tolerance(row, _resolution(row)) for row in some])
    resolution = [_resolution(row) for row in matrix]
    found = []
    with np.errstate(invalid="ignore"):
        for b in range(len(numeric)):
            for c in range(b + 1, len(numeric)):
                total = some[b] + some[c]
                is_informative = np.isfinite(total) & (some[b] != 0) & (some[c] != 0)
                if np.count_nonzero(is_informative) < LEAST_ROWS // 2:
                    continue
                near = np.abs(some[:, is_informative] - total[is_informative]) <= limit[:, is_informative] * 1.5
                for a in np.flatnonzero(near.mean(axis=1) > 1 - 1.5 * MOST_EXCEPTIONS).tolist():
                    if a in (b, c):
                        continue
                    full = matrix[b] + matrix[c]
                    known = np.isfinite(full) & np.isfinite(matrix[a])
                    holds = np.abs(matrix[a] - full) <= tolerance(matrix[a], resolution[a]) * 1.5
                    rule = _checked("sum", (numeric[a], numeric[b], numeric[c]), holds, known)
                    found += [replace(rule, resolution=resolution[a])] if rule is not None else []
    return found


def _orders(numbers: Sequence[Floats | None], numeric: Sequence[int]) -> list[Regularity]:
    """low at most high, where shuffled columns would often break it."""
    found: list[Regularity] = []
    samples = {}
    for j in numeric[: 2 * MOST_COLUMNS]:
        values = numbers[j]
        assert values is not None
        samples[j] = values[np.linspace(0, len(values) - 1, min(len(values), SCREENED_ROWS)).astype(int)]
    with np.errstate(invalid="ignore"):
        for a, low in samples.items():
            for b, high in samples.items():
                if a == b:
                    continue
                both = np.isfinite(low) & np.isfinite(high)
                if np.count_nonzero(both) < LEAST_ROWS or np.mean(low[both] > high[both]) > MOST_EXCEPTIONS:
                    continue
                shuffled = np.mean(low[both] > np.roll(high[both], np.count_nonzero(both) // 2))
                same = np.mean(low[both] == high[both])
                if shuffled < BY_CHANCE or same > 0.9:
                    continue
                first, second = numbers[a], numbers[b]
                assert first is not None
                assert second is not None
                rule = _checked("order", (a, b), first <= second, np.isfinite(first) & np.isfinite(second))
                if rule is not None and rule.n_exceptions <= LESS_THAN_BY_CHANCE * shuffled * rule.n_rows:
                    found.append(rule)
    return found


def _unique(column: TextColumn, j: int) -> Regularity | None:
    """No value twice."""
    n_rows = int(column.counts.sum())
    repeated = np.append(column.counts > 1, False)[column.codes]
    rule = _checked("unique", (j,), ~repeated, ~column.is_blank)
    return rule if rule is not None and n_rows >= 3 * LEAST_ROWS else None


def _contained(columns: Sequence[TextColumn]) -> list[Regularity]:
    """The text of one column is part of that of another."""
    found = []
    usable = [j for j, column in enumerate(columns) if len(column.values) > 5]
    n_rows = len(columns[0].codes)
    picked = np.linspace(0, n_rows - 1, min(n_rows, SCREENED_ROWS // 2)).astype(int)
    texts = {j: [_comparable(columns[j].values[k]) if k >= 0 else "" for k in columns[j].codes[picked]] for j in usable}
    for a in usable[: 2 * MOST_COLUMNS]:
        mean_length = np.mean([len(text) for text in texts[a]])
        for b in usable[: 2 * MOST_COLUMNS]:
            if a == b or mean_length < 2:
                continue
            both = [(x, y) for x, y in zip(texts[a], texts[b], strict=True) if x and y]
            if len(both) < LEAST_ROWS // 2 or np.mean([x in y for x, y in both]) < 1 - 1.5 * MOST_EXCEPTIONS:
                continue
            moved = both[len(both) // 2 :] + both[: len(both) // 2]
            if np.mean([x not in y for (x, _), (_, y) in zip(both, moved, strict=True)]) < 0.5:
                continue
            holds = contained(columns[a], columns[b])
            kind: RuleKind = "equal" if np.mean([x == y for x, y in both]) > 0.9 else "contains"
            rule = _checked(kind, (a, b), holds, ~columns[a].is_blank & ~columns[b].is_blank)
            found += [rule] if rule is not None else []
    return found


def _comparable(text: str) -> str:
    """The text in lower case; a whole number without the decimal that some programs write."""
    return text.lower().removesuffix(".0")


def contained(part: TextColumn, whole: TextColumn) -> NDArray[np.bool_]:
    """(rows,): whether the text of one column is part of the other's, whatever the case."""
    low_part, low_whole = (["", *map(_comparable, column.values)] for column in (part, whole))
    keys = (part.codes.astype(np.int64) - BLANK) * len(low_whole) + (whole.codes - BLANK)  # the empty text for gaps
    pairs, place = np.unique(keys, return_inverse=True)
    places = zip(*(places.tolist() for places in np.divmod(pairs, len(low_whole))), strict=True)
    return np.array([low_part[a] in low_whole[b] for a, b in places], dtype=np.bool_)[place]


def violations(
    rule: Regularity,
    columns: Sequence[TextColumn],
    numbers: Sequence[Floats | None],
    n_before: NDArray[np.int64] | None,
) -> NDArray[np.bool_]:
    """(rows,): which rows break a rule. `n_before`, for "unique": how many training rows have the value of each row;
    None for the training table itself."""
    first = rule.columns[0]
    if rule.kind == "unique":
        column = columns[first]
        repeated = np.append(column.counts > 1, False)[column.codes] if n_before is None else n_before > 0
        return np.asarray(repeated & ~column.is_blank)
    if rule.kind in ("contains", "equal"):
        part, whole = columns[rule.columns[0]], columns[rule.columns[1]]
        return np.asarray(~contained(part, whole) & ~part.is_blank & ~whole.is_blank)
    values = [found for j in rule.columns if (found := numbers[j]) is not None]
    if len(values) < len(rule.columns):
        return np.zeros(len(columns[first].codes), dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        if rule.kind == "order":
            return np.asarray(values[0] > values[1])
        total = values[1] + values[2]
        known = np.isfinite(total) & np.isfinite(values[0])
        return np.asarray(known & ~(np.abs(values[0] - total) <= tolerance(values[0], rule.resolution) * 1.5))
