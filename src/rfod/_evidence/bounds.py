"""How much of a profile a model keeps. Lists are cut to one length for all columns, the most frequent entries first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rfod._evidence.form import FormProfile
from rfod._evidence.profile import ColumnProfile, Profile
from rfod._evidence.spelling import SHORTEST, SpellingProfile, Vocabulary
from rfod._evidence.texts import KeyCounts, Keys, largest
from rfod._evidence.votes import Determinant, pair_keys

MOST_KEYS = 500_000  # of all marks of all columns: 16 bytes each
MOST_TEXTS = 200_000  # frequent values of all columns; as many words
MOST_GROUPS = 200_000  # of all determinants: 40 bytes each
MOST_PAIRS = 200_000  # 16 bytes each
LONGEST_TEXT = 200  # letters; longer values are counted, but not kept as text


def fair_limit(lengths: Sequence[int], most: int) -> int:
    """The largest length to which lists may be cut so that all together have at most `most` entries."""
    left = most
    ordered = sorted(lengths)
    for place, length in enumerate(ordered):
        share = left // (len(ordered) - place)
        if length > share:
            return share
        left -= length
    return most


def bounded(profile: Profile) -> Profile:
    """A profile of which all lists together are bounded."""
    n_keys = fair_limit([len(counts.keys) for column in profile.columns for counts in column.form.counts], MOST_KEYS)
    n_texts = fair_limit([len(column.frequent) for column in profile.columns], MOST_TEXTS)
    n_words = fair_limit([len(column.spelling.words.texts) for column in profile.columns], MOST_TEXTS)
    votes = [vote for own in profile.determinants for vote in own]
    n_groups = fair_limit([len(vote.groups) for vote in votes], MOST_GROUPS)
    slim = {id(vote): _with_groups(vote, n_groups) for vote in votes}
    n_pairs = fair_limit([len(vote.pairs.keys) for vote in slim.values()], MOST_PAIRS)
    return Profile(
        tuple(_bounded_column(column, n_keys, n_texts, n_words) for column in profile.columns),
        tuple(tuple(_with_pairs(slim[id(vote)], n_pairs) for vote in own) for own in profile.determinants),
        profile.regularities,
    )


def _bounded_column(column: ColumnProfile, n_keys: int, n_texts: int, n_words: int) -> ColumnProfile:
    kept = [k for k, text in enumerate(column.frequent[:n_texts]) if len(text) <= LONGEST_TEXT]
    frequent, rows = tuple(column.frequent[k] for k in kept), column.frequent_rows[kept]
    words = [k for k, word in enumerate(column.spelling.words.texts[:n_words]) if len(word) <= LONGEST_TEXT]
    vocabulary = Vocabulary(tuple(column.spelling.words.texts[k] for k in words), column.spelling.words.counts[words])
    return replace(
        column,
        form=_bounded_form(column.form, n_keys),
        frequent=frequent,
        frequent_rows=rows,
        spelling=SpellingProfile(spelt(frequent, rows), vocabulary),
    )


def spelt(frequent: tuple[str, ...], rows: Keys) -> Vocabulary:
    """The frequent values that are long enough to be misspelt."""
    kept = [k for k, text in enumerate(frequent) if len(text) >= SHORTEST]
    return Vocabulary(tuple(frequent[k] for k in kept), rows[kept])


def _bounded_form(form: FormProfile, most: int) -> FormProfile:
    floors = form.floors.copy()
    for mark, counts in enumerate(form.counts):
        if len(counts.keys) > most:
            floors[mark] = np.sort(counts.counts)[len(counts.keys) - most - 1]  # the most frequent that goes
    return replace(form, counts=tuple(counts.most_frequent(most) for counts in form.counts), floors=floors)


def _with_groups(vote: Determinant, most: int) -> Determinant:
    """The groups with the most rows; pairs beyond the first two values of each group."""
    known = np.concatenate([pair_keys(vote.groups, vote.first), pair_keys(vote.groups, vote.second)])
    others = ~np.isin(vote.pairs.keys, known)
    kept = largest(vote.first_rows, max(most, 1))
    names = ("groups", "first", "first_rows", "second", "second_rows")
    return replace(
        vote,
        pairs=KeyCounts(vote.pairs.keys[others], vote.pairs.counts[others]),
        **{name: getattr(vote, name)[kept] for name in names},
    )


def _with_pairs(vote: Determinant, most: int) -> Determinant:
    return replace(vote, pairs=vote.pairs.most_frequent(most))
