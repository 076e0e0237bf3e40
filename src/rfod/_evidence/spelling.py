"""Spelling: a rare text, or a rare word in it, one letter away from a frequent one.

Two texts are near when deleting at most one letter from each makes them equal: one letter is replaced, added, left out,
or two neighbours are swapped. Hashes of all deletions make this a join instead of a comparison of pairs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.texts import (
    LETTER_CLASSES,
    PART_VALUES,
    Floats,
    Keys,
    code_points,
    hash_rows,
    letter_classes,
)
from rfod._table.fingerprint import mixed

SHORTEST = 4  # letters; shorter texts are near each other by chance
MOST_VALUES = 20_000  # the most frequent values of a column are compared with
NOT_NEAR = -1
_WORD = re.compile(r"[^\W\d_]{4,}")


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Texts of a column, or words in them, with the number of rows that have them."""

    texts: tuple[str, ...]
    counts: Keys

    @classmethod
    def of(cls, texts: Sequence[str], counts: Keys) -> Vocabulary:
        """The most frequent texts that occur at least twice and are long enough."""
        order = np.argsort(-counts, kind="stable")[:MOST_VALUES]
        kept = [int(k) for k in order if counts[k] > 1 and len(texts[k]) >= SHORTEST]
        return cls(tuple(texts[k] for k in kept), np.asarray(counts[kept], dtype=np.int64))

    def rows_with(self, texts: list[str]) -> Keys:
        """(texts,): rows that have each text; 0 for those that the vocabulary lacks."""
        known = dict(zip(self.texts, self.counts.tolist(), strict=True))
        return np.array([known.get(text, 0) for text in texts], dtype=np.int64)

    @cached_property
    def index(self) -> tuple[Keys, Keys, Keys]:
        """Hashes of the texts and their deletions, ascending; the most frequent text with each, and the next."""
        hashes, owner = _deletions(code_points(self.texts))
        order = np.lexsort((owner, hashes))  # texts are in the order of their counts
        hashes, owner = hashes[order], owner[order]
        keep = np.ones(len(hashes), dtype=np.bool_)
        keep[1:] = (hashes[1:] != hashes[:-1]) | (owner[1:] != owner[:-1])
        hashes, owner = hashes[keep], owner[keep]
        distinct, first = np.unique(hashes, return_index=True)
        second = np.minimum(first + 1, max(0, len(owner) - 1))
        has_second = (first + 1 < len(hashes)) & (hashes[second] == distinct) if len(hashes) else first > 0
        return distinct, owner[first], np.where(has_second, owner[second] if len(owner) else 0, NOT_NEAR)

    @cached_property
    def hashes(self) -> Keys:
        """(texts,): one number per text."""
        return hash_rows(code_points(self.texts))

    @cached_property
    def without_digits(self) -> Keys:
        """(texts,): one number for the letters of each text that are no digits."""
        return without_digits(code_points(self.texts))

    def nearest(self, points: NDArray[np.uint32]) -> Keys:
        """(texts,): the most frequent text of the vocabulary that is near each text and not equal; NOT_NEAR if none."""
        if not len(self.texts) or not len(points):
            return np.full(len(points), NOT_NEAR, dtype=np.int64)
        hashes, owner = _deletions(points)
        keys, first, second = self.index
        place = np.minimum(np.searchsorted(keys, hashes), len(keys) - 1)
        hit = keys[place] == hashes
        owner, place = owner[hit], place[hit]
        best = np.where(self.hashes[first[place]] == hash_rows(points)[owner], second[place], first[place])
        is_near = best != NOT_NEAR
        found = np.full(len(points), len(self.texts), dtype=np.int64)
        np.minimum.at(found, owner[is_near], best[is_near])  # the smallest number is the most frequent
        return np.where(found < len(self.texts), found, NOT_NEAR)


def _deletions(points: NDArray[np.uint32]) -> tuple[Keys, Keys]:
    """Hashes of texts and of each text without one of its letters, and which text each belongs to."""
    n_texts, width = points.shape
    base = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        powers = np.cumprod(np.concatenate([[np.uint64(1)], np.full(width, base)]))
        letters = mixed(points.astype(np.uint64))
        terms = letters * powers[:width]
        before = np.concatenate([np.zeros((n_texts, 1), np.uint64), np.cumsum(terms, axis=1, dtype=np.uint64)], axis=1)
        moved = np.concatenate([letters[:, 1:] * powers[: width - 1], np.zeros((n_texts, 1), np.uint64)], axis=1)
        after = np.cumsum(moved[:, ::-1], axis=1, dtype=np.uint64)[:, ::-1]
        without = before[:, :width] + after
    is_letter = points != 0
    texts = np.arange(n_texts)
    owner = np.concatenate([texts, np.repeat(texts, is_letter.sum(axis=1))])
    return np.concatenate([before[:, width], without[is_letter]]).view(np.int64), owner


def without_digits(points: NDArray[np.uint32]) -> Keys:
    """(texts,): one number for the letters that are no digits, in their order."""
    is_digit = letter_classes(points) == LETTER_CLASSES["digit"]
    order = np.argsort(is_digit | (points == 0), axis=1, kind="stable")
    moved = np.take_along_axis(np.where(is_digit, 0, points), order, axis=1)
    return hash_rows(moved.astype(np.uint32))


def words_of(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Distinct words in lower case; which word and which text, for each occurrence."""
    number: dict[str, int] = {}
    words, owners = [], []
    for place, text in enumerate(texts if _WORD.search("\n".join(texts)) else ()):
        for word in dict.fromkeys(_WORD.findall(text.lower())):
            words.append(number.setdefault(word, len(number)))
            owners.append(place)
    return list(number), np.array(words, dtype=np.int64), np.array(owners, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SpellingProfile:
    """Frequent texts and words of a column."""

    values: Vocabulary
    words: Vocabulary


def fit_spelling(texts: tuple[str, ...], counts: Keys) -> SpellingProfile:
    """The vocabulary of a column."""
    words, which, owner = words_of(texts)
    rows = np.bincount(which, counts[owner], minlength=len(words)).astype(np.int64)
    return SpellingProfile(Vocabulary.of(texts, counts), Vocabulary.of(words, rows))


@dataclass(frozen=True, eq=False)
class Spelling:
    """Near misses of the distinct texts of a column; numbers are 0 where there is none."""

    near: Floats
    """log of how many times more frequent the near text is."""
    near_digits: Floats
    """The same, where the two differ in digits only."""
    near_word: Floats
    """The same for the words of a text: the largest."""
    suggested: Keys
    """Place of the near text in the vocabulary, or NOT_NEAR."""
    words: dict[int, tuple[str, str]]
    """By text: the misspelt word and the one it is near to."""


def spelling_inputs(profile: SpellingProfile, texts: tuple[str, ...], counts: Keys, is_own: bool) -> Spelling:
    """Near misses of texts; `counts` are the rows that have each, itself included. `is_own` says that these are all
    texts of the training table."""
    nearest, in_digits = _nearest(profile.values, texts)
    is_near = nearest != NOT_NEAR
    ratio = np.zeros(len(texts))
    rows = np.maximum(counts, 1)
    ratio[is_near] = np.log(profile.values.counts[nearest[is_near]] / rows[is_near])
    ratio = np.maximum(ratio, 0.0)
    words, which, owner = words_of(texts)
    near_word, found = np.zeros(len(texts)), {}
    if words:
        near, _ = _nearest(profile.words, words)
        own = np.bincount(which, counts[owner], minlength=len(words)) if is_own else profile.words.rows_with(words) + 1
        gain = np.where(near != NOT_NEAR, np.log(np.append(profile.words.counts, 1)[near] / np.maximum(own, 1)), 0.0)
        np.maximum.at(near_word, owner, np.maximum(gain, 0.0)[which])
        is_best = (gain[which] > 0) & (gain[which] == near_word[owner])
        for word, text in zip(which[is_best].tolist(), owner[is_best].tolist(), strict=True):
            found[text] = (words[word], profile.words.texts[near[word]])
    return Spelling(np.where(in_digits, 0.0, ratio), np.where(in_digits, ratio, 0.0), near_word, nearest, found)


def _nearest(vocabulary: Vocabulary, texts: Sequence[str]) -> tuple[Keys, NDArray[np.bool_]]:
    """(texts,): place of the nearest text in a vocabulary, or NOT_NEAR, and whether the two differ in digits only."""
    nearest = np.full(len(texts), NOT_NEAR, dtype=np.int64)
    in_digits = np.zeros(len(texts), dtype=np.bool_)
    for start in range(0, len(texts), PART_VALUES):
        points = code_points(texts[start : start + PART_VALUES])
        found = vocabulary.nearest(points)
        near = np.flatnonzero(found != NOT_NEAR)
        nearest[start : start + len(points)] = found
        in_digits[start + near] = without_digits(points[near]) == vocabulary.without_digits[found[near]]
    return nearest, in_digits
