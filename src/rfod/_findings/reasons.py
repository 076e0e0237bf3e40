"""The few conditions on other columns that most narrow what a cell was expected to be.

Candidates are the splits that the row meets in the kept trees of the column's forest. They are tried on the model's
sample of training rows: one at a time, whichever brings the rows that meet them closest to the expected value, as long
as enough rows are left and each one helps clearly.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._findings.conditions import Condition, gap_condition, holds, range_condition, set_condition
from rfod._forest import layout
from rfod._forest.forest import NO_BAG, Forest
from rfod._model.judge import code_rows
from rfod._model.model import Model

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Steps = NDArray[np.void]
"""Splits on paths of rows, an entry of type `STEP` each."""
STEP = np.dtype(
    [
        ("row", np.int64),
        ("feature", np.int64),
        ("depth", np.int64),
        ("low", np.int64),  # ordered features: the row's side of the split are codes from here ...
        ("high", np.int64),  # ... to here, missing values aside; sets: 0 and 0
        ("node", np.int64),  # sets: where the bits of the split start in the words of the forest; -1 if ordered
        ("side", np.int64),  # sets: which bit stands for the row's side
    ]
)
DEEPEST = 8  # splits further down divide a handful of rows
ROWS_TOGETHER = 512
MOST_CONDITIONS = 3
MOST_FEATURES = 10  # that are tried for a cell, those the trees split on first
MOST_BOUNDS = 4  # of a feature and direction, the most frequent ones
MOST_SETS = 3
MOST_NAMED = 3  # categories in one condition
FADING = 0.75  # weight of a split against that of the one before it
FEWEST_ROWS = 15
LEAST_SHARE = 0.005  # of the sample
CLEARLY = 0.15  # by which the logarithm of the objective must fall with each further condition ...
CHANCE = 1.5  # ... and more by this * conditions / sqrt(rows): the best of many candidates looks better than it is
TREES_CHOICE = 0.3
ONE_CATEGORY = 0.1
RAREST = 0.01  # shares below this are all rare
LEAST_SPREAD = 0.03


def walk(forest: Forest, block: NDArray[np.uint8], in_bag: NDArray[np.uint8] = NO_BAG) -> list[Steps]:
    """The steps of each row, down the trees that have not seen it; down all where every tree has."""
    found: list[Steps] = []
    for start in range(0, len(block), ROWS_TOGETHER):
        part = slice(start, start + ROWS_TOGETHER)
        steps = _walk_together(forest, block[part], in_bag[:, part])
        steps = steps[np.argsort(steps["row"], kind="stable")]
        found += np.split(steps, np.searchsorted(steps["row"], np.arange(1, len(block[part]))))
    return found


def _walk_together(forest: Forest, block: NDArray[np.uint8], in_bag: NDArray[np.uint8]) -> Steps:
    trees = forest.trees
    tree, row = (grid.ravel() for grid in np.indices((trees.n_trees, len(block))))
    if in_bag.size:
        is_usable = (in_bag == 0) | in_bag.all(axis=0)
        tree, row = tree[is_usable.ravel()], row[is_usable.ravel()]
    start = trees.word_starts[tree]
    at = start.copy()
    met: list[Steps] = []
    for depth in range(DEEPEST):
        word = trees.words[at]
        inner = word & layout.LEAF == 0
        row, start, word = row[inner], start[inner], word[inner]
        feature, threshold, shift = layout.feature_of(word), layout.threshold_of(word), layout.shift_of(word)
        n_set_words, child = layout.n_set_words_of(word), start + layout.child_of(word)
        code = block[row, feature].astype(np.int64)
        is_set = n_set_words > 0
        bit = layout.set_bit(trees.words, child, np.where(is_set, code, 0))
        right = np.where(is_set, bit, layout.is_above(code, threshold, shift))
        edge = threshold + shift
        steps = np.empty(len(row), dtype=STEP)
        steps["row"], steps["feature"], steps["depth"], steps["side"] = row, feature, depth, right
        steps["low"] = np.where(is_set, 0, np.where(right == 1, edge + 1, 1))
        steps["high"] = np.where(is_set, 0, np.where(right == 1, 255, edge))
        steps["node"] = np.where(is_set, child, -1)
        met.append(steps)
        at = child + n_set_words + right
    return np.concatenate(met)


def codes_on_side(forest: Forest, step: np.void, n_codes: int) -> Mask:
    """Per code of a set feature, whether a split sends it to the row's side."""
    return np.asarray(layout.set_bit(forest.trees.words, step["node"], np.arange(n_codes)) == step["side"])


@dataclass(frozen=True)
class Clause:
    """A condition in codes: those of one feature that meet it."""

    feature: int
    low: int = 0
    high: int = 0
    """Ordered features: the codes from low to high; 0 to 0 for missing."""
    codes: frozenset[int] | None = None
    """Sets: the codes."""

    def meets(self, codes: NDArray[np.int64]) -> Mask:
        """Which codes of the feature meet it."""
        if self.codes is None:
            return np.asarray((codes >= self.low) & (codes <= self.high))
        allowed = np.zeros(256, dtype=np.bool_)
        allowed[list(self.codes)] = True
        return allowed[codes]

    def count(self, counts: NDArray[np.int64]) -> int:
        """How many rows meet it, of so many with each code of the feature."""
        inside = counts[self.low : self.high + 1] if self.codes is None else counts[list(self.codes)]
        return int(inside.sum())

    def and_also(self, other: Clause) -> Clause:
        """Both, for ranges of one feature."""
        return Clause(self.feature, max(self.low, other.low), min(self.high, other.high))


@dataclass(frozen=True, eq=False)
class Contrast:
    """A cell to find the reason for: how each row of the sample compares with it."""

    usable: Mask
    """Rows of the sample that have a value, without the row itself."""
    distance: Floats
    """How far their value is from the expected one, 0 to 1."""
    as_extreme: Mask
    """Whether their value is at least as far out as the observed one, on its side; the observed category."""


class Reasons:
    """A model's sample of training rows, in codes, to look for reasons in."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """(feature, row of the sample); as whole numbers, which are counted without being converted."""
        return np.ascontiguousarray(code_rows(self.model, self.model.sample.values).block.T, dtype=np.int64)

    @cached_property
    def numbers(self) -> list[Floats]:
        """Per feature: what the bounds of an ordered one are compared with, over the sample."""
        values = self.model.sample.values
        return [feature.numbers(values[feature.column]) for feature in self.model.features]

    @cached_property
    def present(self) -> list[set[int]]:
        """Per feature: its codes that the sample has, the one for missing aside."""
        return [set(np.unique(codes).tolist()) - {0} for codes in self.codes]

    # --------------------------------------------------------------------------------------------------------- search

    def find(
        self, j: int, steps: Steps, own_codes: NDArray[np.uint8], contrast: Contrast, without: Collection[int]
    ) -> list[Clause]:
        """The conditions for a cell of column j, most informative first; `without` are columns they must not name.

        `steps` are those of its row in the forest of j, `own_codes` the codes of the row's features.
        """
        total = np.bincount(steps["feature"], FADING ** steps["depth"], minlength=len(self.model.features))
        candidates = list(self._candidates(j, steps, total, own_codes, without))
        # of equally informative ones: what the trees split on first, one category before several
        is_one = np.array([clause.codes is not None and len(clause.codes) == 1 for clause in candidates])
        favour = TREES_CHOICE * total / max(total.max(initial=0), 1e-12)
        preference = np.array([favour[clause.feature] for clause in candidates]) + ONE_CATEGORY * is_one
        usable = contrast.usable
        stats = np.stack([usable, usable * contrast.distance, usable & contrast.as_extreme], axis=1, dtype=np.float64)
        overall = stats.sum(axis=0)
        fewest = max(FEWEST_ROWS, math.ceil(LEAST_SHARE * overall[0]))
        best = float(self._objective(overall[None], overall)[0])
        left = np.flatnonzero(contrast.usable)
        chosen: dict[int, Clause] = {}  # by feature
        while candidates and len(chosen) < MOST_CONDITIONS:
            sums = self._sums(candidates, left, stats[left])
            values = np.where(sums[:, 0] >= fewest, self._objective(sums, overall), np.inf)
            chance = CHANCE * (1 + len(chosen)) / np.sqrt(np.maximum(sums[:, 0], 1))
            place = int(np.argmin(values + chance - preference))
            if not values[place] <= best - CLEARLY - chance[place]:
                break
            best, clause = float(values[place]), candidates[place]
            left = left[clause.meets(self.codes[clause.feature][left])]
            chosen[clause.feature] = chosen[clause.feature].and_also(clause) if clause.feature in chosen else clause
            used = {other.feature for other in chosen.values() if other.codes is not None or other.high == 0}
            stay = [n for n, other in enumerate(candidates) if other.feature not in used and n != place]
            candidates, preference = [candidates[n] for n in stay], preference[stay]
        return self._needed([*chosen.values()], stats, overall, best)

    def _needed(self, chosen: list[Clause], stats: Floats, overall: Floats, best: float) -> list[Clause]:
        """Without conditions that later ones have made idle."""
        for clause in chosen[:-1]:
            others = [other for other in chosen if other != clause]
            met = np.logical_and.reduce([other.meets(self.codes[other.feature]) for other in others])
            value = float(self._objective(stats[met].sum(axis=0, keepdims=True), overall)[0])
            if value <= best + CLEARLY / 2:
                return self._needed(others, stats, overall, value)
        return chosen

    def _sums(self, clauses: Sequence[Clause], rows: NDArray[np.intp], stats: Floats) -> Floats:
        """(clause, what is stats): sums over those of the rows that meet each clause, by way of sums per code."""
        features = sorted({clause.feature for clause in clauses})
        place = {feature: n for n, feature in enumerate(features)}
        up_to = np.zeros((len(features), 257, stats.shape[1]))
        for n, feature in enumerate(features):
            codes = self.codes[feature][rows]
            for k in range(stats.shape[1]):
                up_to[n, 1:, k] = np.bincount(codes, stats[:, k], minlength=256)
        per_code = up_to[:, 1:].copy()
        np.cumsum(up_to, axis=1, out=up_to)
        at = np.array([place[clause.feature] for clause in clauses])
        sums = up_to[at, [clause.high + 1 for clause in clauses]] - up_to[at, [clause.low for clause in clauses]]
        for n, clause in enumerate(clauses):
            if clause.codes is not None:
                sums[n] = per_code[at[n], sorted(clause.codes)].sum(axis=0)
        return sums

    @staticmethod
    def _objective(sums: Floats, overall: Floats) -> Floats:
        """Smaller is more informative: values close to the expected one, few as far out as the observed one."""
        n_rows = np.maximum(sums[:, 0], 1)
        everywhere = max(overall[1] / max(overall[0], 1), 1e-12)
        spread = np.log(sums[:, 1] / n_rows / everywhere + LEAST_SPREAD)
        alike = np.log(np.maximum((sums[:, 2] + 0.5) / (n_rows + 1), RAREST))
        return np.asarray(np.round(spread + alike / 2, 9))

    def _candidates(
        self, j: int, steps: Steps, total: NDArray[Any], own_codes: NDArray[np.uint8], without: Collection[int]
    ) -> Iterator[Clause]:
        """Conditions that the splits of a row suggest, those on features of the largest `total` weight first."""
        order = [int(f) for f in np.argsort(-total, kind="stable") if total[f] > 0]
        order = [f for f in order if self.model.features[f].column not in without][:MOST_FEATURES]
        for f in order:
            own, met = int(own_codes[f]), steps[steps["feature"] == f]
            if self.model.features[f].is_categorical:
                yield from self._set_candidates(j, f, own, met)
            elif own == 0:
                yield Clause(f, 0, 0)
            else:
                lows, highs = _heaviest(met["low"], met["depth"], 1), _heaviest(met["high"], met["depth"], 255)
                if 1 in met["low"] and 0 in self.codes[f]:
                    yield Clause(f, 1, 255)
                for first in (1, *lows):
                    for last in (255, *highs):
                        if (first, last) != (1, 255):
                            yield Clause(f, first, last)

    def _set_candidates(self, j: int, f: int, own: int, met: Steps) -> Iterator[Clause]:
        made_from, present = self.model.features[f], self.present[f]
        shared = {made_from.n_codes - 1} if made_from.shared else set()
        if own in shared:
            return
        yield Clause(f, codes=frozenset({own}))
        seen: set[frozenset[int]] = set()
        for step in met[np.argsort(met["depth"], kind="stable")[:MOST_SETS]]:
            on_side = codes_on_side(self.model.forests[j], step, made_from.n_codes)
            allowed = frozenset(np.flatnonzero(on_side).tolist()) & present
            others = present - allowed
            if allowed in seen or own not in allowed or not others:
                continue
            seen.add(allowed)
            is_named = 1 < len(allowed) <= MOST_NAMED and not allowed & shared
            if is_named or (len(others) < MOST_NAMED and not others & shared):
                yield Clause(f, codes=allowed)

    # ---------------------------------------------------------------------------------------------------------- words

    def condition(self, clause: Clause, values: Sequence[Any]) -> Condition | None:
        """A clause in words that is true of a row, or of several, given by its encoded values. None for what everything
        in the sample meets."""
        feature = self.model.features[clause.feature]
        column = self.model.schema.columns[feature.column]
        if clause.high == 0 if clause.codes is None else 0 in clause.codes:
            return gap_condition(column, True)
        if clause.codes is not None:
            if len(clause.codes) <= MOST_NAMED:
                return set_condition(column, sorted(code - 1 for code in clause.codes))
            others = self.present[clause.feature] - clause.codes
            return set_condition(column, sorted(code - 1 for code in others), excluded=True)
        own = feature.numbers(np.atleast_1d(np.asarray(values[feature.column], dtype=np.float64)))
        return range_condition(column, feature, clause.low, clause.high, self.numbers[clause.feature], own)

    def rows_meeting(self, condition: Condition, encoded: Sequence[NDArray[Any]]) -> Mask:
        """Which rows, given by their encoded columns, meet a condition: by their values and not their codes."""
        for feature in self.model.features:
            column = self.model.schema.columns[feature.column]
            if column.name == condition.column and feature.part == condition.part:
                return holds(condition, column, feature, encoded[feature.column])
        raise KeyError(condition.column)


def _heaviest(bounds: NDArray[np.int64], depth: NDArray[np.int64], idle: int) -> list[int]:
    """The bounds that weigh most, without the one that bounds nothing."""
    total = np.bincount(bounds, FADING**depth, minlength=256)
    total[[0, idle]] = 0
    return [int(bound) for bound in np.argsort(-total, kind="stable")[:MOST_BOUNDS] if total[bound] > 0]
