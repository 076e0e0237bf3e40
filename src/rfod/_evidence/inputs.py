"""The inputs of the decision: one row of numbers per cell, on scales that mean the same in every table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.form import MARKS, form_inputs
from rfod._evidence.numbers import MARGIN_INPUTS, RESIDUAL_INPUTS, fitness_with, margin_inputs, residual_inputs
from rfod._evidence.profile import FACTS, ColumnProfile, Profile, WrittenTable
from rfod._evidence.regularities import Regularity, violations
from rfod._evidence.spelling import NOT_NEAR, spelling_inputs
from rfod._evidence.texts import Floats, TextColumn
from rfod._evidence.votes import CROSS_INPUTS, VOTE_INPUTS, Votes, cross_counts, vote_inputs
from rfod._model.calibrate import UNSEEN_SHARE
from rfod._model.judged import JudgedTable

TEXT_INPUTS = ("padded", "gap", "disguised_gap", "type_break", "encoding", "rarity")
SPELLING_INPUTS = ("near", "near_digits", "near_word")
FOREST_INPUTS = ("surprise", "score", "weight", "strangeness", "rival_odds", "p_value", "unseen", "fitness", "modelled")
RULE_INPUTS = ("rule", "order_rule", "unique_rule", "contains_rule", "rules_broken")
GROUPS: dict[str, tuple[str, ...]] = {
    "form": (*(f"form_{mark}" for mark in MARKS), *TEXT_INPUTS),
    "spelling": SPELLING_INPUTS,
    "votes": (*VOTE_INPUTS, *CROSS_INPUTS),
    "forest": (*FOREST_INPUTS, *RESIDUAL_INPUTS),
    "margin": MARGIN_INPUTS,
    "regularities": RULE_INPUTS,
    "facts": (*FACTS, "robust_fitness", "plain_fitness", "is_number"),
}
"""Inputs of a cell that follow from its row and the profile alone."""
CELL_INPUTS = tuple(name for group in GROUPS.values() for name in group if name not in CROSS_INPUTS) + CROSS_INPUTS
NEVER_FALLING = frozenset(
    [
        *(f"form_{mark}" for mark in MARKS),
        *("padded", "disguised_gap", "type_break", "encoding"),
        *SPELLING_INPUTS,
        *("vote_best", "vote_mean", "votes_against", "determines_wrong"),
        *("surprise", "strangeness", "rival_odds", "residual", "unit", "residual_tail", "dominance"),
        *("isolation", "rare_sign"),
        *RULE_INPUTS,
    ]
)
"""Inputs of which more must not lower the probability."""

_GAPS = """n/a na nan null none nil empty missing unknown unk undefined unspecified tbd tba ? ?? ??? - -- --- . .. x xx
xxx * # #n/a #value! #ref! -1 -9 -99 -999 -9999 99 999 9999 99999 999999 1900-01-01 1970-01-01 01/01/1900 1/1/1900
01/01/1970 1/1/1970 9999-12-31 0000-00-00 00/00/0000"""
_GAP_WORDS = frozenset(_GAPS.split())
_BROKEN = re.compile("\ufffd|Ã.|Â.|â€|ï¿½|\x00|Ð.|Å.")
_SMALL = 1e-3  # of a probability
LEAST_FITNESS = 1_000.0
_RULE_PLACE = {"sum": 0, "equal": 0, "order": 1, "unique": 2, "contains": 3}
KEPT_CELLS = 250_000  # whose inputs are held ready: about 350 bytes each
SMALL_TABLE = 1_000_000  # cells of a table of which votes and the order of rows are kept between two looks at a column


@dataclass(frozen=True, eq=False)
class ColumnInputs:
    """Inputs of cells of one column, and what sentences and suggestions are made from."""

    rows: NDArray[np.intp]
    """(cells,): their rows, ascending."""
    values: NDArray[np.float32]
    """(cells, CELL_INPUTS)."""
    near: NDArray[np.int64]
    """(cells,): place of the near text in the column's vocabulary, or NOT_NEAR."""
    words: dict[int, tuple[str, str]]
    """By the code of a text: its misspelt word and the one it is near to."""
    votes: Votes

    def take(self, rows: NDArray[np.intp]) -> ColumnInputs:
        """The cells of some of the rows."""
        picked = np.searchsorted(self.rows, rows)
        return ColumnInputs(rows, self.values[picked], self.near[picked], self.words, self.votes.take(picked))

    def place(self, row: int) -> int | None:
        """Where the cell of a row is; None if it is not among these."""
        place = int(np.searchsorted(self.rows, row))
        return place if place < len(self.rows) and self.rows[place] == row else None


class CellInputs:
    """The inputs of the cells of a table, made column by column: those of all cells at once may not fit into memory.

    Rows of the training table itself are compared with the others."""

    def __init__(self, profile: Profile, written: WrittenTable, judged: JudgedTable) -> None:
        self._profile, self._written, self._judged = profile, written, judged
        self._kept: dict[int, ColumnInputs] = {}
        self._n_kept = 0
        self._kept_votes: dict[int, Votes] = {}
        self._last: tuple[int, ColumnInputs] | None = None

    def column(self, c: int) -> ColumnInputs:
        """All cells of a column."""
        if self._last is None or self._last[0] != c:
            self._last = c, self.make(c)
        return self._last[1]

    def prepare(self) -> None:
        """Make what several columns need, before threads ask for it."""
        judged = self._judged
        self._cross_counts, self._broken, judged.surprise, judged.p_values, judged.weights  # noqa: B018

    def make(self, c: int) -> ColumnInputs:
        """All cells of a column, made anew; several threads may do so."""
        with np.errstate(all="ignore"):  # numbers near the ends of the scale
            return self._make(c)

    def keep(self, c: int, cells: ColumnInputs) -> None:
        """Hold cells of a column ready, as far as there is room."""
        n_before = len(self._kept[c].rows) if c in self._kept else 0
        if self._n_kept + len(cells.rows) <= KEPT_CELLS:
            self._kept[c], self._n_kept = cells, self._n_kept - n_before + len(cells.rows)

    def cells(self, c: int, rows: NDArray[np.intp]) -> ColumnInputs:
        """The cells of some rows of a column."""
        kept = self._kept.get(c)
        return kept.take(rows) if kept is not None and np.isin(rows, kept.rows).all() else self.make(c).take(rows)

    def cell(self, c: int, row: int) -> ColumnInputs:
        """One cell."""
        kept = self._kept.get(c)
        source = kept if kept is not None and kept.place(row) is not None else self.column(c)
        return source.take(np.array([row], dtype=np.intp))

    @property
    def values(self) -> NDArray[np.float32]:
        """(columns, rows, CELL_INPUTS): all at once, for small tables."""
        return np.stack([self.column(c).values for c in range(len(self._written.columns))])

    def _make(self, c: int) -> ColumnInputs:
        judged, written, is_own = self._judged, self._written, self._judged.is_own
        column, numbers, known = written.columns[c], written.numbers[c], self._profile.columns[c]
        spelling = spelling_inputs(known.spelling, column.values, _rows_with(known, column, is_own), is_own)
        votes = self._votes(c)
        near = np.stack([spelling.near, spelling.near_digits, spelling.near_word], axis=1)
        groups: tuple[Callable[[], Floats], ...] = (  # made one after the other, and not kept
            lambda: _of_rows(form_inputs(known.form, column, is_own), column),
            lambda: _text_inputs(known, column, numbers, is_own),
            lambda: _of_rows(near, column),
            lambda: votes.inputs,
            lambda: _forest_inputs(known, judged, int(written.place[c]), numbers),
            lambda: _margins(known, numbers, len(judged), is_own),
            lambda: self._rule_inputs(c),
            lambda: _column_facts(known, judged, int(written.place[c]), numbers),
            lambda: np.log1p(self._cross_counts[c].astype(np.float64)),
        )
        values = np.empty((len(judged), len(CELL_INPUTS)), dtype=np.float32)
        start = 0
        for make_group in groups:
            group = np.nan_to_num(make_group())
            values[:, start : start + group.shape[1]] = group
            start += group.shape[1]
        assert start == len(CELL_INPUTS)
        places = np.append(spelling.suggested, NOT_NEAR)[column.codes]
        return ColumnInputs(np.arange(len(judged)), values, places, spelling.words, votes)

    def _votes(self, c: int) -> Votes:
        """Votes on a column: those that the cross counts were made from, once, where they were kept."""
        kept = self._kept_votes.pop(c, None)
        return self._count_votes(c) if kept is None else kept

    def _count_votes(self, c: int) -> Votes:
        top_share = float(self._profile.columns[c].facts[FACTS.index("top_share")])
        determinants = self._profile.determinants[c]
        return vote_inputs(determinants, self._written.columns, c, top_share, self._judged.is_own)

    @cached_property
    def _cross_counts(self) -> NDArray[np.unsignedinteger[Any]]:
        return cross_counts(self._profile.determinants, self._all_votes(), len(self._judged))

    def _all_votes(self) -> Iterator[Votes]:
        """Votes on the columns, one after the other; those of a small table are kept for their inputs."""
        n_columns = len(self._written.columns)
        for c in range(n_columns):
            votes = self._count_votes(c)
            if n_columns * len(self._judged) <= SMALL_TABLE:
                self._kept_votes[c] = votes
            yield votes

    @cached_property
    def _broken(self) -> dict[Regularity, NDArray[np.bool_]]:
        return {rule: self._violations(rule) for rule in self._profile.regularities}

    def broken(self, rule: Regularity) -> NDArray[np.bool_]:
        """(rows,): which rows break a rule of the profile."""
        return self._broken[rule]

    def _violations(self, rule: Regularity) -> NDArray[np.bool_]:
        columns, before = self._written.columns, None
        if rule.kind == "unique" and not self._judged.is_own:
            column, known = columns[rule.columns[0]], self._profile.columns[rule.columns[0]]
            before = np.append(known.form.counts[0].find(column.hashes), 0)[column.codes]
        return violations(rule, columns, self._written.numbers, before)

    def _rule_inputs(self, c: int) -> Floats:
        """(rows, RULE_INPUTS): strength of the strongest rule on a column that the row of a cell breaks, by kind; and
        the share of its rules with other columns that it breaks: all of them for a wrong cell, one for its partner."""
        found = np.zeros((len(self._judged), len(RULE_INPUTS)))
        n_shared = max(1, sum(c in rule.columns and len(rule.columns) > 1 for rule in self._broken))
        for rule, broken in self._broken.items():
            if c in rule.columns:
                place = found[:, _RULE_PLACE[rule.kind]]
                np.maximum(place, np.where(broken, rule.strength, 0.0), out=place)
                if len(rule.columns) > 1:
                    found[:, -1] += broken / n_shared
        return found


def _of_rows(per_value: Floats, column: TextColumn) -> Floats:
    """(rows, inputs): numbers per distinct value, (values, inputs), as numbers per row; 0 for gaps."""
    return np.vstack([per_value, np.zeros(per_value.shape[1])])[column.codes]


def _rows_with(known: ColumnProfile, column: TextColumn, is_own: bool) -> NDArray[np.int64]:
    """(values,): rows that have each value, its own included."""
    return column.counts if is_own else known.form.counts[0].find(column.hashes) + 1


def _text_inputs(known: ColumnProfile, column: TextColumn, numbers: Floats | None, is_own: bool) -> Floats:
    """(rows, TEXT_INPUTS)."""
    more = 0 if is_own else 1  # the row itself, which the profile has not counted
    n_rows = known.n_rows + more
    padded = np.where(column.is_padded, np.log((n_rows + 1) / (known.n_padded + more + 1)), 0.0)
    gap = np.where(column.is_blank, np.log((n_rows + 1) / (known.n_blank + more + 1)) + 0.1, 0.0)
    n_present = max(1, known.n_rows - known.n_blank)
    rows = np.maximum(_rows_with(known, column, is_own), 1)
    rarity = column.spread(np.log(n_present / rows))
    is_gap = np.array([value.lower() in _GAP_WORDS for value in column.values], dtype=np.float64)
    disguised = column.spread(is_gap * np.maximum(np.log(n_present / rows), 0.1))
    broken = column.spread(np.array([float(bool(_BROKEN.search(value))) for value in column.values]))
    share = float(known.facts[FACTS.index("numeric_share")])
    breaks = np.zeros(len(column.codes))
    if numbers is not None and share > 0:
        n_odd = max(1.0, (1 - share) * n_present + more)
        breaks = np.where(np.isnan(numbers) & ~column.is_blank, np.log(n_present / n_odd), 0.0)
    return np.stack([padded, gap, disguised, breaks, broken, rarity], axis=1)


def _forest_inputs(known: ColumnProfile, judged: JudgedTable, j: int, numbers: Floats | None) -> Floats:
    """(rows, FOREST_INPUTS + RESIDUAL_INPUTS); 0 for columns without a forest."""
    n_rows = len(judged)
    if j < 0:
        return np.zeros((n_rows, len(FOREST_INPUTS) + len(RESIDUAL_INPUTS)))
    model, cells = judged.model, judged.cells
    measured, score = cells.spread_or_share[:, j], np.nan_to_num(cells.cell_scores[:, j])
    strange, odds = np.zeros(n_rows), np.zeros(n_rows)
    residual = np.zeros((n_rows, len(RESIDUAL_INPUTS)))
    unseen = np.zeros(n_rows)
    if model.is_categorical[j]:
        share = np.nan_to_num(np.maximum(measured, 0.0), nan=1.0)
        observed = ~np.isnan(cells.cell_scores[:, j]) & ~np.isnan(measured)
        strange = np.where(observed, -np.log10(share + 1e-4), 0.0)
        own = np.clip(1 - score, 0.0, 1.0)
        rival = np.nan_to_num(cells.expected_share[:, j])
        odds = np.where(
            observed, np.log((rival + _SMALL) / (own + _SMALL)), np.log((rival + _SMALL) / (1 - rival + _SMALL))
        )
        unseen = (measured == UNSEEN_SHARE).astype(np.float64)
    elif known.residuals is not None and numbers is not None:
        residual = residual_inputs(known.residuals, numbers, cells.expected[j], measured, judged.is_own)
    fitness = float(np.clip(np.nan_to_num(model.fitness[j]), -LEAST_FITNESS, 1.0))  # R² has no lower end
    parts = [
        np.minimum(judged.surprise[:, j], 30.0),
        np.minimum(score, 10.0),
        judged.weights[:, j],
        strange,
        odds,
        -np.log10(np.maximum(judged.p_values[:, j], 1e-6)),
        unseen,
        np.full(n_rows, fitness),
        np.ones(n_rows),
    ]
    return np.hstack([np.nan_to_num(np.stack(parts, axis=1)), residual])


def _margins(known: ColumnProfile, numbers: Floats | None, n_rows: int, is_own: bool) -> Floats:
    if known.numbers is None or numbers is None:
        return np.zeros((n_rows, len(MARGIN_INPUTS)))
    return margin_inputs(known.numbers, numbers, is_own)


def _column_facts(known: ColumnProfile, judged: JudgedTable, j: int, numbers: Floats | None) -> Floats:
    """(rows or 1, FACTS and three more)."""
    scale = known.residuals
    robust, plain = (0.0, np.zeros(1)) if scale is None else (scale.fitness, np.array([scale.plain_fitness]))
    if scale is not None and numbers is not None and not judged.is_own:
        plain = fitness_with(scale, numbers, judged.cells.expected[j])
    found = np.empty((len(plain), len(known.facts) + 3))
    found[:, :-3], found[:, -3], found[:, -2], found[:, -1] = known.facts, robust, plain, numbers is not None
    return found


def group_of(names: Sequence[str] = CELL_INPUTS) -> dict[str, list[int]]:
    """Per group, the places of its inputs."""
    return {group: [names.index(name) for name in members] for group, members in GROUPS.items()}
