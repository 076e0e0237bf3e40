"""Votes: rows that share the value of a determining column and agree on another value.

A column *determines* another one as far as rows with the same value of the first have the same value of the second; two
columns together may determine a third, as street and town do a postcode.
Each row is compared with the others of its group, itself left out; gaps have no vote but are judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.texts import BLANK, Codes, Floats, KeyCounts, Keys, TextColumn

MOST_DETERMINANTS = 4  # per column
MOST_PAIRED = 4  # of the best single columns that are tried in pairs
SCREENED_ROWS = 5_000  # that determinants are chosen on
SCREENED_COLUMNS = 40  # candidates per column; wider tables take those that the forests find important
LEAST_AGREEMENT = 0.4
LEAST_GAIN = 0.1  # of agreement over always taking the commonest value, times the share of rows in groups
MOST_PAIRS = 100_000  # of values that are kept per determinant
MOST_CERTAIN = 0.999


@dataclass(frozen=True, eq=False)
class Determinant:
    """How one column, or two together, determine another."""

    columns: tuple[int, ...]
    agreement: float
    """Share of rows, in groups of at least two, whose value is the most frequent one among the others of the group."""
    coverage: float
    """Share of rows in groups of at least two."""
    groups: Keys
    """Hashes of the determining values, ascending; of two columns by `pair_keys`."""
    first: Keys
    """(groups,): the most frequent value in each group, by its hash, ..."""
    first_rows: Keys
    second: Keys
    """... and the next one; 0 rows where there is none."""
    second_rows: Keys
    pairs: KeyCounts
    """Rows with each pair of values, by `pair_keys`; a kept profile leaves out the first two values of each group."""


def pair_keys(determining: Keys, determined: Keys) -> Keys:
    """One number per pair of hashes."""
    with np.errstate(over="ignore"):
        mixed = determining.view(np.uint64) * np.uint64(0xD6E8FEB86659FD93) + determined.view(np.uint64)
        return np.asarray((mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)).view(np.int64)


def joint_codes(columns: Sequence[Codes]) -> Codes:
    """(rows,): one code per combination of the codes of one or two columns; BLANK where one of them is."""
    if len(columns) == 1:
        return columns[0]
    one, other = columns
    known = (one != BLANK) & (other != BLANK)
    codes = np.full(len(known), BLANK, dtype=one.dtype)
    width = int(other.max(initial=0)) + 1
    codes[known] = np.unique(one[known].astype(np.int64) * width + other[known], return_inverse=True)[1]
    return codes


def _determining_keys(columns: Sequence[TextColumn], by: tuple[int, ...]) -> Keys:
    """(rows,): hashes of the determining values."""
    keys = [np.append(columns[j].hashes, 0)[columns[j].codes] for j in by]
    return keys[0] if len(keys) == 1 else pair_keys(keys[0], keys[1])


def _group_counts(by: Codes, values: Codes) -> tuple[Keys, Keys, Keys]:
    """Distinct pairs of codes with their rows, ordered by the first code, then by falling rows."""
    both = (by >= 0) & (values >= 0)
    width = int(values.max(initial=0)) + 1
    pairs, rows = np.unique(by[both].astype(np.int64) * width + values[both], return_counts=True)
    group, value = np.divmod(pairs, width)
    order = np.lexsort((-rows, group))
    return group[order], value[order], rows[order]


def agreement(by: Codes, values: Codes) -> tuple[float, float]:
    """Share of rows that agree with the others of their group, and share of rows in groups of at least two."""
    group, _, rows = _group_counts(by, values)
    n_rows = int(rows.sum())
    if not n_rows:
        return 0.0, 0.0
    start = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    size = np.add.reduceat(rows, start)
    place = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(group))))
    second = np.where(start + 1 < np.append(start[1:], len(group)), rows[np.minimum(start + 1, len(rows) - 1)], 0)
    is_first = np.zeros(len(group), dtype=np.bool_)
    is_first[start] = True
    rival = np.where(is_first, second[place], rows[start][place])
    shared = size[place] > 1
    n_shared = int(rows[shared].sum())
    agrees = (rows - 1 >= np.maximum(rival, 1)) & shared
    return (int(rows[agrees].sum()) / n_shared if n_shared else 0.0), n_shared / n_rows


@dataclass(frozen=True)
class Choice:
    """A determinant that was chosen, before its groups are counted."""

    columns: tuple[int, ...]
    agreement: float
    coverage: float
    gain: float
    """Of agreement over always taking the commonest value, times coverage."""


def choose(codes: Sequence[Codes], target: int, candidates: Sequence[int]) -> list[Choice]:
    """The columns, and pairs of columns, that determine a column best: largest gain first. A pair has to gain clearly
    more than each of its columns alone."""
    values = codes[target]
    present = values[values >= 0]
    if len(present) < 10:
        return []
    top_share = np.bincount(present).max() / len(present)
    least = LEAST_GAIN * (1 - top_share)

    def tried(by: tuple[int, ...]) -> Choice:
        share, coverage = agreement(joint_codes([codes[j] for j in by]), values)
        return Choice(by, share, coverage, float((share - top_share) * coverage))

    single = sorted((tried((j,)) for j in candidates if j != target), key=lambda found: (-found.gain, found.columns))
    paired = []
    for one, other in combinations(single[:MOST_PAIRED], 2):  # `one` gains more
        if one.gain + least <= 1 - top_share:
            both = tried((min(one.columns + other.columns), max(one.columns + other.columns)))
            paired += [both] if both.gain >= one.gain + least else []
    found = sorted([*single, *paired], key=lambda found: (-found.gain, found.columns))
    return [each for each in found if each.agreement >= LEAST_AGREEMENT and each.gain >= least][:MOST_DETERMINANTS]


def fit_votes(columns: Sequence[TextColumn], candidates: Sequence[Sequence[int]]) -> list[list[Determinant]]:
    """Per column, what determines it, chosen among its candidates."""
    n_rows = len(columns[0].codes)
    picked = np.arange(n_rows) if n_rows <= SCREENED_ROWS else np.linspace(0, n_rows - 1, SCREENED_ROWS).astype(int)
    some = [column.codes[picked] for column in columns]
    can_determine = [
        j for j, column in enumerate(columns) if 2 <= len(column.values) <= 0.95 * max(1, int(column.counts.sum()))
    ]
    return [
        [
            _determinant(columns, j, choice)
            for choice in choose(some, j, [k for k in candidates[j] if k in can_determine])
        ]
        for j in range(len(columns))
    ]


def _determinant(columns: Sequence[TextColumn], target: int, choice: Choice) -> Determinant:
    values = columns[target]
    codes = joint_codes([columns[j].codes for j in choice.columns])
    row_of = np.zeros(int(codes.max()) + 1, dtype=np.int64)  # one row with each determining value
    row_of[codes[codes != BLANK]] = np.flatnonzero(codes != BLANK)
    by_hashes = _determining_keys(columns, choice.columns)[row_of]
    group, value, rows = _group_counts(codes, values.codes)
    start = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    next_place = np.minimum(start + 1, len(rows) - 1)
    has_second = start + 1 < np.append(start[1:], len(group))
    hashes = by_hashes[group[start]]
    order = np.argsort(hashes, kind="stable")
    keys = pair_keys(by_hashes[group], values.hashes[value])
    return Determinant(
        columns=choice.columns,
        agreement=choice.agreement,
        coverage=choice.coverage,
        groups=hashes[order],
        first=values.hashes[value[start]][order],
        first_rows=rows[start][order],
        second=np.where(has_second, values.hashes[value[next_place]], 0)[order],
        second_rows=np.where(has_second, rows[next_place], 0)[order],
        pairs=KeyCounts.of(keys, rows).most_frequent(MOST_PAIRS),
    )


VOTE_INPUTS = ("vote_best", "vote_mean", "vote_rival", "vote_dissent", "vote_gain")
CROSS_INPUTS = ("votes_against", "votes_for", "determines_wrong", "determines_right")


@dataclass(frozen=True, eq=False)
class Votes:
    """The votes of the determinants of a column on its cells."""

    inputs: Floats
    """(rows, VOTE_INPUTS)."""
    rival: Keys
    """(rows,): hash of the value that most rows vote for in the strongest vote; 0 where there is none."""
    determinant: NDArray[np.int64]
    """(rows,): place of that vote in the list of determinants; -1 where there is none."""
    margins: Floats
    """(determinants, rows): the weight of each vote, above 0 against the cell; 0 where no row votes."""
    same_rival: NDArray[np.bool_]
    """(determinants, rows): whether the vote is for the value of the strongest one."""

    def take(self, rows: NDArray[np.intp]) -> Votes:
        """Some of the rows."""
        return Votes(
            self.inputs[rows],
            self.rival[rows],
            self.determinant[rows],
            self.margins[:, rows],
            self.same_rival[:, rows],
        )


def vote_inputs(
    determinants: Sequence[Determinant], columns: Sequence[TextColumn], target: int, top_share: float, is_own: bool
) -> Votes:
    """The votes on each cell of a column; `top_share` is the share of its most frequent value.

    * vote_best     rows for the strongest other value less rows for the own one, times the log-odds of agreement: the
                    largest of all determinants; vote_mean: their mean
    * vote_rival    log of 1 + the rows for the other value in the strongest vote; vote_dissent: for the own one
    * vote_gain     agreement of that vote's determinant over chance
    """
    column = columns[target]
    n_rows = len(column.codes)
    inputs, rival_hash = np.zeros((n_rows, len(VOTE_INPUTS))), np.zeros(n_rows, dtype=np.int64)
    chosen = np.full(n_rows, -1, dtype=np.int64)
    margins = np.zeros((len(determinants), n_rows))
    rivals = np.zeros((len(determinants), n_rows), dtype=np.int64)
    if not determinants:
        return Votes(inputs, rival_hash, chosen, margins, rivals == 0)
    own = np.append(column.hashes, 0)[column.codes]
    best, total, n_votes = np.full(n_rows, -np.inf), np.zeros(n_rows), np.zeros(n_rows)
    for number, vote in enumerate(determinants):
        key = _determining_keys(columns, vote.columns)
        place = np.minimum(np.searchsorted(vote.groups, key), len(vote.groups) - 1)
        known = (vote.groups[place] == key) & ~np.any([columns[j].is_blank for j in vote.columns], axis=0)
        is_first = (vote.first[place] == own) & ~column.is_blank
        rival = np.where(is_first, vote.second_rows[place], vote.first_rows[place]).astype(np.float64)
        is_second = (vote.second[place] == own) & (vote.second_rows[place] > 0)
        rows = np.where(is_second, vote.second_rows[place], vote.pairs.find(pair_keys(key, own)))
        rows = np.where(is_first, vote.first_rows[place], rows).astype(np.float64) - (1.0 if is_own else 0.0)
        rows = np.where(column.is_blank, 0.0, np.maximum(rows, 0.0))
        certain = min(vote.agreement, MOST_CERTAIN)
        odds = np.log(max(certain, 0.05) / (1 - certain))
        value = np.where(known, np.clip(rival - rows, -20, 20) * odds, 0.0)
        has_votes = known & (rival + rows > 0)
        total += np.where(has_votes, value, 0.0)
        n_votes += has_votes
        better = has_votes & (value > best)
        best[better] = value[better]
        gain = (certain - top_share) / max(1e-9, 1 - top_share)
        for place_of, part in ((2, np.log1p(rival)), (3, np.log1p(rows)), (4, np.full(n_rows, gain))):
            inputs[better, place_of] = part[better]
        rivals[number] = np.where(is_first, vote.second[place], vote.first[place])
        margins[number] = np.where(has_votes, value, 0.0)
        rival_hash[better] = rivals[number][better]
        chosen[better] = number
    inputs[:, 0] = np.where(n_votes > 0, best, 0.0)
    inputs[:, 1] = total / np.maximum(n_votes, 1)
    return Votes(inputs, rival_hash, chosen, margins, rivals == rival_hash)


def cross_counts(
    determinants: Sequence[Sequence[Determinant]], votes: Iterable[Votes], n_rows: int
) -> NDArray[np.unsignedinteger[Any]]:
    """(columns, rows, CROSS_INPUTS): how many determinants vote against a cell, for the same value, and for it; and of
    the columns that the cell itself determines, how many does it contradict, and agree with? A wrong determining value
    contradicts several columns, a right one at most the wrong cell. `votes` are those on each column."""
    counts = np.uint8 if len(determinants) <= np.iinfo(np.uint8).max else np.uint16
    found = np.zeros((len(determinants), n_rows, len(CROSS_INPUTS)), dtype=counts)
    for target, (chosen, vote) in enumerate(zip(determinants, votes, strict=True)):
        against, agrees = vote.margins > 0, vote.margins < 0
        found[target, :, 0] = (against & vote.same_rival).sum(axis=0)
        found[target, :, 1] = agrees.sum(axis=0)
        for number, determinant in enumerate(chosen):
            for j in determinant.columns:
                found[j, :, 2] += against[number]
                found[j, :, 3] += agrees[number]
    return found
