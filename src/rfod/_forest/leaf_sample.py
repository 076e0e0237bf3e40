"""A kept sample of training rows as the company of other rows: who shares their leaves, who is nearest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._forest import sample_kernels as member_kernels
from rfod._forest.forest import NO_BAG, Forest

Floats = NDArray[np.float64]
MOST_MEMBERS = 64  # rows of a leaf that are heard: many trees speak, so a few of each will do
PIECE = 256  # rows of a sample that distances are measured from together: they stay in cache
LARGEST = np.float32(1e9)  # no two numbers are further apart


@dataclass(frozen=True, eq=False)
class LeafSample:
    """The rows of a sample in each leaf of a forest: what its trees think is alike, as far as the target goes."""

    forest: Forest
    n_rows: int
    member_ends: NDArray[np.int64]
    members: NDArray[np.int64]

    def weights(self, block: NDArray[np.uint8], own: NDArray[np.int64], in_bag: NDArray[np.uint8] = NO_BAG) -> Floats:
        """(row, row of the sample): how much the second says about the target of the first; each row sums to 1, or to
        0 when no tree has company for it. `own` are the rows' own places in the sample, -1 for strangers."""
        out = np.empty((len(block), self.n_rows))
        leaves = self.forest.find_leaves(block)
        member_kernels.weigh_members(leaves, np.ascontiguousarray(in_bag), own, self.member_ends, self.members, out)
        return out

    def places(
        self,
        block: NDArray[np.uint8],
        own: NDArray[np.int64],
        in_bag: NDArray[np.uint8],
        values: Floats,
        observed: Floats,
    ) -> Floats:
        """(2, row): the weight of the rows of the sample whose `values` are below what was observed, and of those not
        above it; NaN when no tree has company for a row."""
        out = np.empty((2, len(block)))
        leaves = self.forest.find_leaves(block)
        bags = np.ascontiguousarray(in_bag)
        member_kernels.place_among_members(leaves, bags, own, self.member_ends, self.members, values, observed, out)
        return out


def gather(forest: Forest, block: NDArray[np.uint8], rows: NDArray[np.int64]) -> LeafSample:
    """The company of a sample, of which only `rows` (those that have a value of the target) are heard.

    In random order, for the table may be sorted, and of a large leaf only some are heard.
    """
    rows = np.random.default_rng(0).permutation(rows)
    leaves, n_leaves = forest.find_leaves(block), forest.trees.n_leaves
    counts, ends = np.zeros(n_leaves, dtype=np.int64), np.empty(n_leaves + 1, dtype=np.int64)
    members = np.empty(len(leaves) * len(rows), dtype=np.int64)
    member_kernels.list_members(leaves, rows, MOST_MEMBERS, counts, ends, members)
    return LeafSample(forest, len(block), ends, members[: ends[-1]].copy())


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Rows of a sample as points: numbers in units of the cell score, categories as they are."""

    pieces: NDArray[np.float32]
    """(piece, column, row of the piece); the last piece is filled up."""
    n_rows: int
    is_categorical: NDArray[np.bool_]
    centres: Floats
    ranges: Floats

    def distances(self, values: Sequence[NDArray[Any]], own: NDArray[np.int64]) -> Floats:
        """Mean distance per column from the nearest row of the sample, other than the row itself and one copy of it."""
        out = np.empty(len(own))
        points = _as_points(values, self.is_categorical, self.centres, self.ranges)
        n_copies, total = np.zeros(len(own), dtype=np.int64), np.empty(PIECE, dtype=np.float32)
        member_kernels.nearest_rows(points, self.pieces, self.n_rows, self.is_categorical, own, n_copies, total, out)
        return np.where(np.isinf(out), 0.0, out / max(1, len(values)))


def _as_points(
    values: Sequence[NDArray[Any]], is_categorical: NDArray[np.bool_], centres: Floats, ranges: Floats
) -> NDArray[np.float32]:
    """(row, column) of encoded columns; NaN where a cell is missing."""
    points = np.empty((len(values[0]), len(values)), dtype=np.float32)
    for j, column in enumerate(values):
        if is_categorical[j]:
            points[:, j] = np.where(column == -1, np.nan, column)
        else:
            with np.errstate(over="ignore"):
                points[:, j] = np.clip((column - centres[j]) / (ranges[j] or 1.0), -LARGEST, LARGEST)
    return points


def neighbours(values: Sequence[NDArray[Any]], is_categorical: NDArray[np.bool_], ranges: Floats) -> Neighbours:
    """The rows of a sample, given by columns, as points to measure distances from."""
    centres = np.zeros(len(values))
    for j in np.flatnonzero(~is_categorical).tolist():  # float32 has few digits, and dates are far from 0
        known = values[j][np.isfinite(values[j])]
        centres[j] = np.median(known) if len(known) else 0.0
    points = _as_points(values, is_categorical, centres, ranges)
    n_pieces = -(-len(points) // PIECE)
    filled = np.zeros((n_pieces * PIECE, len(values)), dtype=np.float32)
    filled[: len(points)] = points
    pieces = np.ascontiguousarray(filled.reshape(n_pieces, PIECE, -1).transpose(0, 2, 1))
    return Neighbours(pieces, len(points), is_categorical, centres, ranges)
