"""Which columns moved: their distribution, their gaps, and their relation to the other columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._diff.samples import Side, is_missing
from rfod._diff.statistics import chi_square, fisher, holm, kolmogorov_smirnov, larger, total_variation
from rfod._findings.conditions import joined
from rfod._model.model import Model
from rfod._table.columns import Column
from rfod._table.encode import categories_of, one_line, value_text
from rfod._table.table import Table
from rfod._table.values import UNSEEN

N_BINS = 12
N_BARS = 8  # categories of a picture, the others together
N_NAMED = 3  # categories of a sentence, and predictors
FEWEST = 2  # values on either side, for a test
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Movement:
    """One test of one column."""

    effect: float
    """Distribution of numbers: the largest distance of the two distribution functions. Of categories: the share of the
    rows that would have to change (total variation). Gaps: share missing after, less that before. Relation: how often a
    cell after is further from what was expected than one before; 0.5 where nothing changed."""
    p_value: float
    """How often a difference as large comes about by chance at these sizes."""
    adjusted: float
    """The same for all tests of the comparison together (Holm)."""
    moved: bool
    """Whether `adjusted` is at most the level of the comparison."""
    n_before: int
    n_after: int
    """Values that were compared."""


@dataclass(frozen=True)
class Bars:
    """Shares of the rows with a value, per interval or category."""

    labels: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]


@dataclass(frozen=True)
class ColumnChange:
    """What changed in one column. A test that could not be made is None."""

    column: str
    kind: str
    """How the column is read; "text", "identifier"... for one that is not modelled: only its gaps are compared."""
    distribution: Movement | None
    gaps: Movement | None
    relation: Movement | None
    details: Mapping[str, str]
    """By name of the test, what is different, in words."""
    predictors: tuple[str, ...] = ()
    """Columns that tell most of this one."""
    moved_predictors: tuple[str, ...] = ()
    """Those of them whose own distribution or gaps moved: then the relation may be as it was."""
    n_changed: int | None = None
    """In how many of the rows that are in both tables the cell holds something else."""
    bars: Bars | None = None

    @property
    def tests(self) -> dict[str, Movement]:
        """The tests that were made, by name."""
        named = {"distribution": self.distribution, "gaps": self.gaps, "relation": self.relation}
        return {name: test for name, test in named.items() if test is not None}

    def with_test(self, name: str, test: Movement) -> ColumnChange:
        """The same with another result of a test."""
        tests: dict[str, Any] = {name: test}
        return replace(self, **tests)

    @property
    def moved(self) -> tuple[str, ...]:
        """Names of the tests by which it moved."""
        return tuple(name for name, test in self.tests.items() if test.moved)

    @property
    def is_relation_only(self) -> bool:
        """Whether its relation to the others moved, and nothing that can be seen in the column by itself."""
        return self.moved == ("relation",)

    @property
    def sentences(self) -> list[str]:
        """What moved, one sentence each."""
        return [self._sentence(name) for name in self.moved]

    def _sentence(self, name: str) -> str:
        test, column = self.tests[name], one_line(self.column)
        chance = f"(p = {_p_text(test.adjusted)})"
        if name == "gaps":
            return f"{column} is {self.details[name]} {chance}."
        if name == "distribution":
            return f"{column} is distributed otherwise: {self.details[name]} {chance}."
        though = ", though its own distribution did not move" if self.is_relation_only else ""
        others = f"the other columns (mostly {_listed(self.predictors)})" if self.predictors else "the other columns"
        return (
            f"{column} no longer goes with {others} as before{though}: a later cell is further from what they lead to "
            f"expect in {test.effect:.0%} of the cases, 50% where nothing changed {chance}.{self._caution}"
        )

    @property
    def _caution(self) -> str:
        """What may lie behind a relation that moved."""
        if not self.moved_predictors:
            return ""
        one = len(self.moved_predictors) == 1
        return f" It may be because {_listed(self.moved_predictors)} moved {'itself' if one else 'themselves'}."

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        plain = asdict(self)
        del plain["details"]
        plain["predictors"] = list(self.predictors)
        plain["moved_predictors"] = list(self.moved_predictors)
        if self.bars is not None:
            plain["bars"] = {name: list(values) for name, values in vars(self.bars).items()}
        return plain | {"moved": list(self.moved), "sentences": self.sentences}


def _listed(names: Sequence[str]) -> str:
    return joined([one_line(name) for name in names], "and")


def compare_columns(model: Model, before: Side, after: Side, tables: tuple[Table | None, Table]) -> list[ColumnChange]:
    """The modelled columns, in their order; `tables` are what came, where that is known."""
    changes = []
    for j, column in enumerate(model.schema.columns):
        own = [side.encoded[j] for side in (before, after)]
        compared = _categories(column, own, tables) if column.is_categorical else _numbers(column, own)
        effect_and_p, detail, bars = compared
        gaps, gap_detail = gap_movement(before.n_missing[j], before.n_rows, after.n_missing[j], after.n_rows)
        sizes = [int(np.count_nonzero(~is_missing(values))) for values in own]
        order = np.argsort(-column_importances(model, j), kind="stable")[:N_NAMED]
        changes.append(
            ColumnChange(
                column.name,
                column.kind,
                None if effect_and_p is None else Movement(*effect_and_p, 1.0, False, *sizes),
                gaps,
                _relation(before.strangeness[j], after.strangeness[j]),
                {"distribution": detail, "gaps": gap_detail},
                tuple(model.schema.columns[k].name for k in order if column_importances(model, j)[k] > 0),
                bars=bars,
            )
        )
    return changes


def column_importances(model: Model, j: int) -> Floats:
    """How much each column tells of column j."""
    return np.asarray(model.forests[j].importances)


def judged_together(changes: Sequence[ColumnChange], level: float) -> list[ColumnChange]:
    """The columns with p-values that hold for all tests together, and what moved by them."""
    places = [(number, name) for number, change in enumerate(changes) for name in change.tests]
    adjusted = holm([changes[number].tests[name].p_value for number, name in places])
    found = list(changes)
    for (number, name), value in zip(places, adjusted.tolist(), strict=True):
        test = replace(changes[number].tests[name], adjusted=value, moved=value <= level)
        found[number] = found[number].with_test(name, test)
    moved = {change.column for change in found if {"distribution", "gaps"} & set(change.moved)}
    return [
        replace(change, moved_predictors=tuple(name for name in change.predictors if name in moved)) for change in found
    ]


def gap_movement(missing_before: int, n_before: int, missing_after: int, n_after: int) -> tuple[Movement, str]:
    """The gaps of a column, and what is different in words."""
    share_before, share_after = missing_before / max(1, n_before), missing_after / max(1, n_after)
    p_value = fisher(missing_before, n_before, missing_after, n_after)
    detail = f"missing in {_percent(share_after)} of the rows, {_percent(share_before)} before"
    return Movement(share_after - share_before, p_value, 1.0, False, n_before, n_after), detail


def _relation(before: Floats, after: Floats) -> Movement | None:
    if min(len(before), len(after)) < FEWEST:
        return None
    return Movement(*larger(before, after), 1.0, False, len(before), len(after))


Compared = tuple[tuple[float, float] | None, str, Bars | None]


def _numbers(column: Column, own: Sequence[NDArray[Any]]) -> Compared:
    """Effect and p-value, what is different in words, and the picture of a column of numbers."""
    before, after = (np.sort(values[~np.isnan(values)]) for values in own)
    if min(len(before), len(after)) < FEWEST:
        return None, "", None
    distance, p_value = kolmogorov_smirnov(before, after)
    values = np.unique(np.append(before, after))
    shares = [np.searchsorted(side, values, side="right") / len(side) for side in (before, after)]
    at = int(np.argmax(np.abs(shares[0] - shares[1])))
    limit = value_text(column, values[[at]])[0]
    middle = value_text(column, np.array([np.quantile(side, 0.5, method="lower") for side in (before, after)]))
    detail = (
        f"{_percent(shares[1][at])} of the values are at most {limit}, {_percent(shares[0][at])} before; the median is "
        f"{middle[1]}, {middle[0]} before"
    )
    return (distance, p_value), detail, _number_bars(column, before, after)


def _number_bars(column: Column, before: Floats, after: Floats) -> Bars | None:
    """Shares of equally wide intervals between the outermost percents, which go to the first and the last one."""
    both = np.append(before, after)
    both = both[np.isfinite(both)]
    if not len(both):
        return None
    low, high = np.quantile(both, [0.01, 0.99])
    if low == high:
        low, high = both.min(), both.max()
    if low == high:
        return Bars((value_text(column, np.array([low]))[0],), (1.0,), (1.0,))
    edges = np.linspace(low, high, N_BINS + 1)
    texts = value_text(column, edges)
    shares = [
        tuple((np.bincount(np.searchsorted(edges[1:-1], side, side="right"), minlength=N_BINS) / len(side)).tolist())
        for side in (before, after)
    ]
    return Bars(tuple(f"{texts[k]} to {texts[k + 1]}" for k in range(N_BINS)), shares[0], shares[1])


def _categories(column: Column, own: Sequence[NDArray[Any]], tables: tuple[Table | None, Table]) -> Compared:
    """The same of a column of categories, new ones by their names."""
    names = value_text(column, np.arange(len(column.categories), dtype=np.int32))
    counted: list[Counter[str]] = []
    for codes, table in zip(own, tables, strict=True):
        counts = np.bincount(codes[codes >= 0], minlength=len(names))
        found = Counter({name: int(n) for name, n in zip(names, counts.tolist(), strict=True) if n})
        unseen = np.flatnonzero(codes == UNSEEN)
        if len(unseen) and table is not None:
            unknown = categories_of(table.take(unseen), column)
            found.update(one_line(str(value)) for value in unknown if value is not None)
        counted.append(found)
    both = counted[0] + counted[1]
    order = sorted(both, key=lambda name: -both[name])
    before, after = (np.array([found[name] for name in order], dtype=np.int64) for found in counted)
    if min(before.sum(), after.sum()) < FEWEST:
        return None, "", None
    effect, p_value = total_variation(before, after), chi_square(before, after)
    shares = before / before.sum(), after / after.sum()
    largest = np.argsort(-np.abs(shares[1] - shares[0]), kind="stable")[:N_NAMED]
    moved = [f"{order[k]} {_percent(shares[1][k])}, {_percent(shares[0][k])} before" for k in largest.tolist()]
    new = [name for name, n in counted[1].most_common() if not counted[0][name]]
    detail = "; ".join(moved)
    if new:
        detail += f"; new: {_listed([f'{name} ({counted[1][name]:,})' for name in new[:N_NAMED]])}"
        detail += f" and {len(new) - N_NAMED:,} more" if len(new) > N_NAMED else ""
    return (effect, p_value), detail, _category_bars(order, *shares)


def _category_bars(names: Sequence[str], before: Floats, after: Floats) -> Bars:
    """Shares of the most frequent categories, and of the others together."""
    if len(names) <= N_BARS + 1:
        return Bars(tuple(names), tuple(before.tolist()), tuple(after.tolist()))
    shares = [(*side[:N_BARS].tolist(), float(side[N_BARS:].sum())) for side in (before, after)]
    return Bars((*names[:N_BARS], f"{len(names) - N_BARS:,} others"), shares[0], shares[1])


def _percent(share: float) -> str:
    """A share in two digits; never 0 % or 100 % where that is rounded."""
    percent = 100 * share
    if 0 < percent < 0.1 or 99.9 < percent < 100:
        return "under 0.1%" if percent < 1 else "over 99.9%"
    return f"{percent:.1f}%" if percent < 10 or percent > 99 else f"{percent:.0f}%"


def _p_text(value: float) -> str:
    return "under 1e-300" if value < 1e-300 else f"{value:.1g}"
