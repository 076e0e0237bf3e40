"""Votes: rows that share the value of a determining column and agree on another value.

A column *determines* another one as far as rows with the same value of the first have the same value of the second.
Each row is compared with the others of its group, itself left out; gaps have no vote but are judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.texts import BLANK, Codes, Floats, KeyCounts, Keys, TextColumn

MOST_DETERMINANTS = 4  # per column
SCREENED_ROWS = 5_000  # that determinants are chosen on
SCREENED_COLUMNS = 40  # candidates per column; wider tables take those that the forests find important
LEAST_AGREEMENT = 0.4
LEAST_GAIN = 0.1  # of agreement over always taking the commonest value, times the share of rows in groups
MOST_PAIRS = 100_000  # of values that are kept per determinant
MOST_CERTAIN = 0.999


@dataclass(frozen=True, eq=False)
class Determinant:
    """How one column determines another."""

    column: int
    agreement: float
    """Share of rows, in groups of at least two, whose value is the most frequent one among the others of the group."""
    coverage: float
    """Share of rows in groups of at least two."""
    groups: Keys
    """Hashes of the determining values, ascending."""
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


def choose(
    columns: Sequence[TextColumn], target: int, candidates: Sequence[int], picked: NDArray[np.intp]
) -> list[tuple[int, float, float]]:
    """The columns that determine a column best: number, agreement, coverage."""
    values = columns[target].codes[picked]
    present = values[values >= 0]
    if len(present) < 10:
        return []
    top_share = np.bincount(present).max() / len(present)
    found = []
    for j in candidates:
        if j == target:
            continue
        share, coverage = agreement(columns[j].codes[picked], values)
        gain = (share - top_share) * coverage
        if share >= LEAST_AGREEMENT and gain >= LEAST_GAIN * (1 - top_share):
            found.append((gain, -j, share, coverage))
    return [(-j, share, coverage) for _, j, share, coverage in sorted(found, reverse=True)[:MOST_DETERMINANTS]]


def fit_votes(columns: Sequence[TextColumn], candidates: Sequence[Sequence[int]]) -> list[list[Determinant]]:
    """Per column, what determines it, chosen among its candidates."""
    n_rows = len(columns[0].codes)
    picked = np.arange(n_rows) if n_rows <= SCREENED_ROWS else np.linspace(0, n_rows - 1, SCREENED_ROWS).astype(int)
    can_determine = [
        j for j, column in enumerate(columns) if 2 <= len(column.values) <= 0.95 * max(1, int(column.counts.sum()))
    ]
    return [
        [
            _determinant(columns, j, k, share, coverage)
            for k, share, coverage in choose(columns, j, [k for k in candidates[j] if k in can_determine], picked)
        ]
        for j in range(len(columns))
    ]


def _determinant(columns: Sequence[TextColumn], target: int, j: int, share: float, coverage: float) -> Determinant:
    by, values = columns[j], columns[target]
    group, value, rows = _group_counts(by.codes, values.codes)
    start = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    next_place = np.minimum(start + 1, len(rows) - 1)
    has_second = start + 1 < np.append(start[1:], len(group))
    hashes = by.hashes[group[start]]
    order = np.argsort(hashes, kind="stable")
    keys = pair_keys(by.hashes[group], values.hashes[value])
    return Determinant(
        column=j,
        agreement=share,
        coverage=coverage,
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
    """What the determinants of a column say of its cells."""

    inputs: Floats
    """(rows, VOTE_INPUTS)."""
    rival: Keys
    """(rows,): hash of the value that most rows vote for in the strongest vote; 0 where there is none."""
    determinant: NDArray[np.int64]
    """(rows,): place of that vote in the list of determinants; -1 where there is none."""
    margins: Floats
    """(determinants, rows): what each vote says, above 0 against the cell; 0 where it says nothing."""
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
        by = columns[vote.column]
        key = np.append(by.hashes, 0)[by.codes]
        place = np.minimum(np.searchsorted(vote.groups, key), len(vote.groups) - 1)
        known = (vote.groups[place] == key) & (by.codes != BLANK)
        is_first = (vote.first[place] == own) & ~column.is_blank
        rival = np.where(is_first, vote.second_rows[place], vote.first_rows[place]).astype(np.float64)
        is_second = (vote.second[place] == own) & (vote.second_rows[place] > 0)
        rows = np.where(is_second, vote.second_rows[place], vote.pairs.find(pair_keys(key, own)))
        rows = np.where(is_first, vote.first_rows[place], rows).astype(np.float64) - (1.0 if is_own else 0.0)
        rows = np.where(column.is_blank, 0.0, np.maximum(rows, 0.0))
        certain = min(vote.agreement, MOST_CERTAIN)
        odds = np.log(max(certain, 0.05) / (1 - certain))
        value = np.where(known, np.clip(rival - rows, -20, 20) * odds, 0.0)
        heard = known & (rival + rows > 0)
        total += np.where(heard, value, 0.0)
        n_votes += heard
        better = heard & (value > best)
        best[better] = value[better]
        gain = (certain - top_share) / max(1e-9, 1 - top_share)
        for place_of, part in ((2, np.log1p(rival)), (3, np.log1p(rows)), (4, np.full(n_rows, gain))):
            inputs[better, place_of] = part[better]
        rivals[number] = np.where(is_first, vote.second[place], vote.first[place])
        margins[number] = np.where(heard, value, 0.0)
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
            found[determinant.column, :, 2] += against[number]
            found[determinant.column, :, 3] += agrees[number]
    return found
