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

Integers = NDArray[np.int64]
DEEPEST = 8  # splits further down speak of a handful of rows
ROWS_TOGETHER = 512


Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
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


@dataclass(frozen=True, eq=False)
class Steps:
    """Splits on paths, one entry each; those of a row together."""

    feature: Integers
    depth: Integers
    low: Integers
    """Ordered features: the row's side of the split are codes from here ..."""
    high: Integers
    """... to here, missing values aside. Sets: 0 and 0."""
    node: Integers
    """Sets: where the bits of the split start in the words of the forest; -1 for ordered features."""
    side: Integers
    """Sets: which bit stands for the row's side."""
    ends: Integers
    """Where the steps of each row end, with a 0 before the first."""

    def of(self, row: int) -> slice:
        """Where the steps of a row are."""
        return slice(int(self.ends[row]), int(self.ends[row + 1]))


def walk(forest: Forest, block: NDArray[np.uint8], in_bag: NDArray[np.uint8] = NO_BAG) -> Steps:
    """The steps of rows, down the trees that have not seen them; down all where every tree has."""
    found: list[list[Integers]] = []
    for start in range(0, max(1, len(block)), ROWS_TOGETHER):
        part = slice(start, start + ROWS_TOGETHER)
        row, *steps = _walk_together(forest, block[part], in_bag[:, part])
        found.append([row + start, *steps])
    row, *steps = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(row, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(block)))])
    feature, depth, low, high, node, side = (step[order] for step in steps)
    return Steps(feature, depth, low, high, node, side, ends)


def _walk_together(forest: Forest, block: NDArray[np.uint8], in_bag: NDArray[np.uint8]) -> list[Integers]:
    trees = forest.trees
    tree, row = (grid.ravel() for grid in np.indices((trees.n_trees, len(block))))
    if in_bag.size:
        is_usable = (in_bag == 0) | in_bag.all(axis=0)
        tree, row = tree[is_usable.ravel()], row[is_usable.ravel()]
    start = trees.word_starts[tree]
    at = start.copy()
    met: list[list[Integers]] = [[np.empty(0, dtype=np.int64)] * 7]
    for depth in range(DEEPEST):
        word = trees.words[at]
        inner = word & layout.LEAF == 0
        row, start, word = row[inner], start[inner], word[inner]
        feature, threshold, shift = layout.feature_of(word), layout.threshold_of(word), layout.shift_of(word)
        n_set_words, child = layout.n_set_words_of(word), start + layout.child_of(word)
        code = block[row, feature].astype(np.int64)
        is_categorical = n_set_words > 0
        bit = layout.set_bit(trees.words, child, np.where(is_categorical, code, 0))
        right = np.where(is_categorical, bit, layout.is_above(code, threshold, shift))
        edge = threshold + shift
        met.append(
            [
                row,
                feature,
                np.full(len(row), depth),
                np.where(is_categorical, 0, np.where(right == 1, edge + 1, 1)),
                np.where(is_categorical, 0, np.where(right == 1, 255, edge)),
                np.where(is_categorical, child, -1),
                right,
            ]
        )
        at = child + n_set_words + right
    return [np.concatenate(parts) for parts in zip(*met, strict=True)]


def codes_on_side(forest: Forest, node: int, side: int, n_codes: int) -> NDArray[np.bool_]:
    """Per code of a set feature, whether a split sends it to this side."""
    codes = np.arange(n_codes)
    return np.asarray(layout.set_bit(forest.trees.words, node, codes) == side)


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
        self, j: int, steps: Steps, row: int, own_codes: NDArray[np.uint8], contrast: Contrast, without: Collection[int]
    ) -> list[Clause]:
        """The conditions for a cell of column j, most telling first; `without` are columns they must not speak of."""
        part = steps.of(row)
        total = np.bincount(steps.feature[part], FADING ** steps.depth[part], minlength=len(self.model.features))
        candidates = list(self._candidates(j, steps, part, total, own_codes, without))
        # of equally telling ones: what the trees split on first, one category before several
        is_one = np.array([clause.codes is not None and len(clause.codes) == 1 for clause in candidates])
        favour = TREES_CHOICE * total / max(total.max(initial=0), 1e-12)
        preference = np.array([favour[clause.feature] for clause in candidates]) + ONE_CATEGORY * is_one
        usable = contrast.usable
        stats = np.stack([usable, usable * contrast.distance, usable & contrast.as_extreme], axis=1)
        stats = stats.astype(np.float64)
        overall = stats.sum(axis=0)
        fewest = max(FEWEST_ROWS, math.ceil(LEAST_SHARE * overall[0]))
        best = float(self._objective(overall[None], overall)[0])
        left = np.flatnonzero(contrast.usable)
        chosen: list[Clause] = []
        while candidates and len(chosen) < MOST_CONDITIONS:
            sums = self._sums(candidates, left, stats[left])
            values = np.where(sums[:, 0] >= fewest, self._objective(sums, overall), np.inf)
            chance = CHANCE * (1 + len(chosen)) / np.sqrt(np.maximum(sums[:, 0], 1))
            place = int(np.argmin(values + chance - preference))
            if not values[place] <= best - CLEARLY - chance[place]:
                break
            best, clause = float(values[place]), candidates[place]
            left = left[clause.meets(self.codes[clause.feature][left])]
            same = [n for n, other in enumerate(chosen) if other.feature == clause.feature]
            if same:
                chosen[same[0]] = chosen[same[0]].and_also(clause)
            else:
                chosen.append(clause)
            used = {other.feature for other in chosen if other.codes is not None or other.high == 0}
            stay = [n for n, other in enumerate(candidates) if other.feature not in used and n != place]
            candidates, preference = [candidates[n] for n in stay], preference[stay]
        return self._needed(chosen, stats, overall, best)

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
        """Smaller is more telling: values close to the expected one, few as far out as the observed one."""
        n_rows = np.maximum(sums[:, 0], 1)
        everywhere = max(overall[1] / max(overall[0], 1), 1e-12)
        spread = np.log(sums[:, 1] / n_rows / everywhere + LEAST_SPREAD)
        alike = np.log(np.maximum((sums[:, 2] + 0.5) / (n_rows + 1), RAREST))
        return np.asarray(np.round(spread + alike / 2, 9))

    def _candidates(
        self,
        j: int,
        steps: Steps,
        part: slice,
        total: NDArray[Any],
        own_codes: NDArray[np.uint8],
        without: Collection[int],
    ) -> Iterator[Clause]:
        """Conditions that the splits of a row suggest, those on features of the largest `total` weight first."""
        feature, depth = steps.feature[part], steps.depth[part]
        low, high, node, side = steps.low[part], steps.high[part], steps.node[part], steps.side[part]
        weight = FADING**depth
        order = [int(f) for f in np.argsort(-total, kind="stable") if total[f] > 0]
        order = [f for f in order if self.model.features[f].column not in without][:MOST_FEATURES]
        for f in order:
            own, at = int(own_codes[f]), feature == f
            made_from = self.model.features[f]
            if made_from.is_categorical:
                yield from self._set_candidates(j, f, own, depth[at], node[at], side[at])
            elif own == 0:
                yield Clause(f, 0, 0)
            else:
                lows = _heaviest(low[at], weight[at], 1)
                highs = _heaviest(high[at], weight[at], 255)
                if 1 in low[at] and 0 in self.codes[f]:
                    yield Clause(f, 1, 255)
                for first in (1, *lows):
                    for last in (255, *highs):
                        if (first, last) != (1, 255):
                            yield Clause(f, first, last)

    def _set_candidates(
        self, j: int, f: int, own: int, depth: NDArray[Any], node: NDArray[Any], side: NDArray[Any]
    ) -> Iterator[Clause]:
        made_from = self.model.features[f]
        if made_from.shared and own == made_from.n_codes - 1:
            return
        yield Clause(f, codes=frozenset({own}))
        present = self.present[f]
        shared = {made_from.n_codes - 1} if made_from.shared else set()
        seen: set[frozenset[int]] = set()
        for place in np.argsort(depth, kind="stable")[:MOST_SETS]:
            on_side = codes_on_side(self.model.forests[j], int(node[place]), int(side[place]), made_from.n_codes)
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
        if clause.codes is not None:
            if 0 in clause.codes:
                return gap_condition(column, True)
            if len(clause.codes) <= MOST_NAMED:
                return set_condition(column, sorted(code - 1 for code in clause.codes))
            others = self.present[clause.feature] - clause.codes
            return set_condition(column, sorted(code - 1 for code in others), excluded=True)
        if clause.high == 0:
            return gap_condition(column, True)
        own = feature.numbers(np.atleast_1d(np.asarray(values[feature.column], dtype=np.float64)))
        return range_condition(column, feature, clause.low, clause.high, self.numbers[clause.feature], own)

    def rows_meeting(self, condition: Condition, encoded: Sequence[NDArray[Any]]) -> Mask:
        """Which rows, given by their encoded columns, meet a condition: by their values and not their codes."""
        for feature in self.model.features:
            column = self.model.schema.columns[feature.column]
            if column.name == condition.column and feature.part == condition.part:
                return holds(condition, column, feature, encoded[feature.column])
        raise KeyError(condition.column)


def _heaviest(bounds: NDArray[np.int64], weight: Floats, idle: int) -> list[int]:
    """The bounds that weigh most, without the one that bounds nothing."""
    total = np.bincount(bounds, weight, minlength=256)
    total[idle] = 0
    total[0] = 0
    return [int(bound) for bound in np.argsort(-total, kind="stable")[:MOST_BOUNDS] if total[bound] > 0]
