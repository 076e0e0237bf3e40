"""Form: values, shapes, lengths and groups of letters that are rare where the rest of the column is alike.

For each of several *marks* of a text (its shape, its length, its rarest pair of letters, ...) the rows of the column
that share the mark are counted. What counts as rare follows from the column itself: the largest break in the sorted
counts that leaves at most `MOST_RARE` of the rows below it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.texts import LETTER_CLASSES, Floats, KeyCounts, Keys, TextColumn, hash_rows, letter_classes

MARKS = ("value", "shape", "outline", "letters", "skeleton", "length", "gram1", "gram2", "gram3", "class_gram")
"""value: the text; shape: classes of all letters; outline: the same, runs of a class as one; letters: letters and
digits only, in runs; skeleton: which places hold a letter or digit, and what stands at the others, as in codes of fixed
form; length; gram1 to gram3: rarest letter, pair, triple, all digits as one; class_gram: rarest triple of classes."""
MOST_RARE = 0.3
MOST_KEYS = 50_000  # per mark and column that are kept
NO_LETTER = np.int64(np.iinfo(np.int64).max)
_BITS = 21  # of a code point


@dataclass(frozen=True, eq=False)
class FormProfile:
    """How often each mark occurs in a column."""

    counts: tuple[KeyCounts, ...]
    """Per mark."""
    breaks: Floats
    """(marks,): rows that share a mark from which on it is ordinary; 1 where nothing is rare."""
    n_rows: int
    floors: Keys = field(default_factory=lambda: np.zeros(len(MARKS), dtype=np.int64))
    """(marks,): rows that a key which is not kept may have; 0 where all keys are kept."""
    ratios: Floats = field(default_factory=lambda: np.zeros(len(MARKS)))
    """(marks,): how many times rarer the next rarer mark is than the break; 0 where nothing is rare."""
    lowest: Keys = field(default_factory=lambda: np.zeros(len(MARKS), dtype=np.int64))
    """(marks,): rows that share the rarest mark of all."""

    def ordinary(self, mark: int, rows: Floats, is_own: bool) -> Floats:
        """(texts,): from how many rows on a mark is ordinary; `rows` share that of each text, its own row included.

        The break that the column has, or, for a new text, the one that it makes itself: below all marks of training."""
        if is_own:
            return np.broadcast_to(self.breaks[mark], rows.shape)
        is_below = self.lowest[mark] / rows > self.ratios[mark]
        return np.where(is_below, float(self.lowest[mark]), float(self.breaks[mark]))


def marks_of(points: NDArray[np.uint32]) -> list[Keys]:
    """Per mark, (values, groups): the keys of each text; `NO_LETTER` fills rows that have fewer."""
    classes = letter_classes(points)
    alnum = np.where(classes == LETTER_CLASSES["upper"], LETTER_CLASSES["lower"], classes).astype(np.uint32)
    alnum[(alnum != LETTER_CLASSES["lower"]) & (alnum != LETTER_CLASSES["digit"])] = 0
    length = np.count_nonzero(points, axis=1).astype(np.int64)
    skeleton = np.where(alnum > 0, ord("a"), points).astype(np.uint32)
    single = [hash_rows(points), hash_rows(classes), hash_rows(_runs(classes)), hash_rows(_runs(alnum))]
    single += [hash_rows(skeleton), length]
    plain = np.where(classes == LETTER_CLASSES["digit"], ord("0"), points).astype(np.uint32)  # digits are data
    framed = np.pad(classes, ((0, 0), (1, 1)))  # so that the first and the last letter have a place
    ended = np.pad(plain, ((0, 0), (0, 1)))  # so that the end of a text is part of its last triple
    grams = [_grams(plain, 1), _grams(plain, 2), _grams(ended, 3), _grams(framed, 3)]
    return [key[:, None] for key in single] + grams


def _runs(classes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Each run of equal classes as one."""
    starts = np.ones(classes.shape, dtype=np.bool_)
    starts[:, 1:] = classes[:, 1:] != classes[:, :-1]
    starts &= classes != 0
    place = np.cumsum(starts, axis=1) - 1
    runs = np.zeros_like(classes)
    rows, columns = np.nonzero(starts)
    runs[rows, place[rows, columns]] = classes[rows, columns]
    return runs


def _grams(points: NDArray[np.uint32], size: int) -> Keys:
    """(values, groups): each group of so many neighbouring letters."""
    width = points.shape[1] - size + 1
    if width < 1:
        return np.full((len(points), 1), NO_LETTER)
    grams = np.zeros((len(points), width), dtype=np.int64)
    for shift in range(size):
        grams = (grams << _BITS) | points[:, shift : shift + width].astype(np.int64)
    inside = points[:, size - 1 : size - 1 + width] != 0
    return np.where(inside if size < 3 else inside | (points[:, size - 2 : size - 2 + width] != 0), grams, NO_LETTER)


def fit_form(column: TextColumn) -> FormProfile:
    """Count the marks of a column."""
    weights = column.counts
    found: list[list[KeyCounts]] = [[] for _ in MARKS]
    for part, points in column.parts():
        for mark, keys in enumerate(marks_of(points)):
            found[mark].append(KeyCounts.of(*_distinct_pairs(keys, weights[part])))
    counts = tuple(KeyCounts.joined(parts).most_frequent(MOST_KEYS) for parts in found)
    rarest = np.empty((len(MARKS), len(weights)), dtype=np.int64)
    for part, points in column.parts():
        for mark, keys in enumerate(marks_of(points)):
            rarest[mark, part] = _rarest(counts[mark], keys)
    breaks, ratios, lowest = zip(*(_break(rows, weights) for rows in rarest), strict=True)
    return FormProfile(
        counts, np.array(breaks), int(weights.sum()), ratios=np.array(ratios), lowest=np.array(lowest, dtype=np.int64)
    )


def _distinct_pairs(keys: Keys, weights: Keys) -> tuple[Keys, Keys]:
    """Each key of each value once, with the value's weight."""
    ordered = np.sort(keys, axis=1)
    is_new = np.ones(keys.shape, dtype=np.bool_)
    is_new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    is_new &= ordered != NO_LETTER
    return ordered[is_new], np.repeat(weights, is_new.sum(axis=1))


def _rarest(counts: KeyCounts, keys: Keys) -> Keys:
    """(values,): rows that share the rarest key of each value."""
    found = np.where(keys == NO_LETTER, NO_LETTER, counts.find(keys))
    return np.asarray(found.min(axis=1))


def _break(rarest: Keys, weights: Keys) -> tuple[float, float, int]:
    """The count above the largest ratio of neighbouring counts, with at most `MOST_RARE` of the rows below it; that
    ratio, and the smallest count."""
    levels, place = np.unique(rarest[rarest != NO_LETTER], return_inverse=True)
    if len(levels) < 2:
        return 1.0, 0.0, int(levels.max(initial=0))
    rows_at = np.bincount(place, weights[rarest != NO_LETTER])
    below = np.cumsum(rows_at)[:-1] / rows_at.sum()
    ratios = np.where(below <= MOST_RARE, levels[1:] / np.maximum(levels[:-1], 1), 0.0)
    best = int(np.argmax(ratios))
    found = float(levels[best + 1]) if ratios[best] > 0 else 1.0
    return found, float(ratios[best]), int(levels[0])


def form_inputs(profile: FormProfile, column: TextColumn, is_own: bool) -> Floats:
    """(values, marks): log of how many times rarer the rarest key of a text is than what is ordinary; 0 for ordinary
    ones. `is_own` says that the texts were counted in the profile."""
    inputs = np.zeros((len(column.values), len(MARKS)))
    for part, points in column.parts():
        for mark, keys in enumerate(marks_of(points)):
            rows = np.maximum(_rarest(profile.counts[mark], keys), profile.floors[mark]).astype(np.float64)
            rows = np.maximum(rows + (0.0 if is_own else 1.0), 1.0)
            inputs[part, mark] = np.maximum(np.log(profile.ordinary(mark, rows, is_own) / rows), 0.0)
    return inputs
