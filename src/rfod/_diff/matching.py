"""Which row of one table, or finding of one run, is which of the other: by key, else by fingerprint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rfod._table.fingerprint import N_PARTS, Hashes, mixed, text_hash

Positions = NDArray[np.intp]
FEWEST_PARTS = 3  # filled ones, of which all but one must agree


@dataclass(frozen=True, eq=False)
class Identities:
    """What rows or findings are recognised by."""

    prints: Hashes
    """(n, 4): fingerprints of the rows."""
    keys: Hashes | None = None
    """(n,): hashes of the keys, 0 for a missing one; None without a key."""

    @classmethod
    def of(
        cls, prints: Hashes, keys: Sequence[object] | None = None, columns: Sequence[str] | None = None
    ) -> Identities:
        """Rows; or, with the names of columns, findings: cells of these columns."""
        hashed = None
        if keys is not None:
            hashed = np.array([0 if key is None else text_hash(str(key)) for key in keys], dtype=np.uint64)
        if columns is None:
            return cls(prints, hashed)
        known = {name: text_hash(name) for name in set(columns)}
        own = mixed(np.array([known[name] for name in columns], dtype=np.uint64))
        own_keys = None if hashed is None else np.where(hashed == 0, hashed, mixed(hashed + own))
        return cls(np.where(prints == 0, prints, mixed(prints + own[:, None])), own_keys)

    def __len__(self) -> int:
        return len(self.prints)

    def take(self, picked: Positions) -> Identities:
        """Some of them."""
        return Identities(self.prints[picked], None if self.keys is None else self.keys[picked])

    def without(self, part: int | None) -> Hashes:
        """(n,): the fingerprints as one number each, without one of their parts."""
        found = np.zeros(len(self), np.uint64)
        for number in range(N_PARTS):
            if number != part:
                found = mixed(found + self.prints[:, number] + np.uint64(number + 1))
        return found


def match(before: Identities, after: Identities) -> Positions:
    """(after,): position of each among those before, -1 for none; nothing is matched twice.

    By key where both have keys: of equal keys those with the same content first, then in their order. Else by
    fingerprint: the same content, equal rows in their order; then, of what is left, rows of which all but one part
    agree, where only one row on either side comes into question.
    """
    found = np.full(len(after), -1, dtype=np.intp)
    if before.keys is not None and after.keys is not None:
        has_before, has_after = np.flatnonzero(before.keys), np.flatnonzero(after.keys)
        whole = [mixed(own.without(None) + own.keys) for own in (before, after) if own.keys is not None]
        _in_order(whole[0], whole[1], has_before, has_after, found)
        _in_order(before.keys, after.keys, _left(has_before, found), has_after[found[has_after] < 0], found)
        has_no_key = np.flatnonzero(before.keys == 0), np.flatnonzero(after.keys == 0)
        _by_content(before, after, *has_no_key, found)
    else:
        _by_content(before, after, np.arange(len(before)), np.arange(len(after)), found)
    return found


def _by_content(
    before: Identities, after: Identities, picked_before: Positions, picked_after: Positions, found: Positions
) -> None:
    """Match some by their fingerprints; what has none is not matched."""
    picked_before = picked_before[before.prints[picked_before].any(axis=1)]
    picked_after = picked_after[after.prints[picked_after].any(axis=1)]
    _in_order(before.without(None), after.without(None), picked_before, picked_after, found)
    if not len(picked_before) or not len(picked_after):
        return
    is_filled = (before.prints[picked_before[0]] != 0) & (after.prints[picked_after[0]] != 0)
    if np.count_nonzero(is_filled) < FEWEST_PARTS:
        return
    for part in np.flatnonzero(is_filled).tolist():
        left_before, left_after = _left(picked_before, found), picked_after[found[picked_after] < 0]
        rest_before, rest_after = before.without(part)[left_before], after.without(part)[left_after]
        _, at_before, at_after = np.intersect1d(rest_before, rest_after, return_indices=True)
        is_alone = _alone(rest_before)[at_before] & _alone(rest_after)[at_after]
        found[left_after[at_after[is_alone]]] = left_before[at_before[is_alone]]


def _left(picked: Positions, found: Positions) -> Positions:
    """Those before that nothing is matched with yet."""
    return np.setdiff1d(picked, found, assume_unique=False)


def _alone(values: Hashes) -> NDArray[np.bool_]:
    """Which values occur once."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse] == 1)


def _in_order(
    before: Hashes, after: Hashes, picked_before: Positions, picked_after: Positions, found: Positions
) -> None:
    """Match the n-th occurrence of a value after with the n-th before."""
    own_before, own_after = _numbered(before[picked_before]), _numbered(after[picked_after])
    _, at_before, at_after = np.intersect1d(own_before, own_after, assume_unique=True, return_indices=True)
    found[picked_after[at_after]] = picked_before[at_before]


def _numbered(values: Hashes) -> Hashes:
    """Values with the number of their occurrence mixed in, so that each is there once."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(values)]
    place = np.arange(len(values))
    number = np.empty(len(values), np.uint64)
    number[order] = place - np.maximum.accumulate(np.where(is_first, place, 0))
    return mixed(values + number)
