"""The splits that rows meet on their way down a forest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rfod._forest import layout
from rfod._forest.forest import NO_BAG, Forest

Integers = NDArray[np.int64]
DEEPEST = 8  # splits further down speak of a handful of rows
ROWS_TOGETHER = 512


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
        may_speak = (in_bag == 0) | in_bag.all(axis=0)
        tree, row = tree[may_speak.ravel()], row[may_speak.ravel()]
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
