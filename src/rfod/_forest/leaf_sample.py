"""Training rows that share leaves with other rows: the conditional distribution of a target, given a row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rfod._forest.forest import NO_BAG, Forest
from rfod._forest.jit import ONE, ZERO, kernel

Floats = NDArray[np.float64]
MAX_LEAF_SAMPLE = 64  # rows kept per leaf: averaging over trees makes more unnecessary


@dataclass(frozen=True, eq=False)
class LeafSample:
    """The sampled rows in each leaf of a forest."""

    forest: Forest
    n_rows: int
    ends: NDArray[np.int64]  # (leaves + 1,): those of leaf l are rows[ends[l]:ends[l + 1]]
    rows: NDArray[np.int64]  # row numbers within the sample

    def weights(self, block: NDArray[np.uint8], own: NDArray[np.int64], in_bag: NDArray[np.uint8] = NO_BAG) -> Floats:
        """(row, sampled row): weight of the second in the conditional distribution of the first. Each row sums to 1, or
        to 0 when no leaf has a sampled row for it. `own` are the rows' own numbers in the sample, -1 for others; they
        get no weight."""
        out = np.empty((len(block), self.n_rows))
        leaves = self.forest.find_leaves(block)
        _weigh_sample(leaves, np.ascontiguousarray(in_bag), own, self.ends, self.rows, out)
        return out

    def weights_up_to(
        self,
        block: NDArray[np.uint8],
        own: NDArray[np.int64],
        in_bag: NDArray[np.uint8],
        values: Floats,
        observed: Floats,
    ) -> Floats:
        """(2, row): the weight of the sampled rows whose `values` are below the observed one, and of those not above
        it; NaN when no leaf has a sampled row."""
        out = np.empty((2, len(block)))
        leaves = self.forest.find_leaves(block)
        _weigh_up_to(leaves, np.ascontiguousarray(in_bag), own, self.ends, self.rows, values, observed, out)
        return out


def gather(forest: Forest, block: NDArray[np.uint8], rows: NDArray[np.int64]) -> LeafSample:
    """The sample `block` by leaves; only `rows` (those that have a value of the target) are listed.

    In random order, since the table may be sorted and a large leaf keeps only some.
    """
    rows = np.random.default_rng(0).permutation(rows)
    leaves, n_leaves = forest.find_leaves(block), forest.trees.n_leaves
    counts, ends = np.zeros(n_leaves, dtype=np.int64), np.empty(n_leaves + 1, dtype=np.int64)
    listed = np.empty(len(leaves) * len(rows), dtype=np.int64)
    _list_by_leaf(leaves, rows, MAX_LEAF_SAMPLE, counts, ends, listed)
    return LeafSample(forest, len(block), ends, listed[: ends[-1]].copy())


# Kernels take leaves: int32 (trees, rows), as `Forest.find_leaves` returns them; ends and sample: LeafSample.ends and
# .rows; in_bag: uint8 (trees, rows) or (0, 0), 1 where a tree does not count for a row; own: int64 (rows,), a row's own
# number in the sample or -1.


@kernel
def _list_by_leaf(leaves, rows, max_rows, counts, ends, listed):
    """List the rows of each leaf in `listed` (trees * rows,), int64, in the order of `rows`, at most `max_rows` each.
    counts: int64 (leaves,), zeros."""
    for tree in range(leaves.shape[0]):
        for row in rows:
            counts[leaves[tree, row]] += 1
    n_listed = ZERO
    for leaf in range(counts.shape[0]):
        ends[leaf] = n_listed
        n_listed += counts[leaf] if counts[leaf] < max_rows else max_rows
        counts[leaf] = 0
    ends[counts.shape[0]] = n_listed
    for tree in range(leaves.shape[0]):
        for row in rows:
            leaf = leaves[tree, row]
            if counts[leaf] < max_rows:
                listed[ends[leaf] + counts[leaf]] = row
                counts[leaf] += 1


@kernel
def _weigh_sample(leaves, in_bag, own, ends, sample, out):
    """out[i, r] = weight of sampled row r for row i. In a tree, the sampled rows in the leaf of i share a weight of 1;
    out, float64 (rows, sampled rows), is the mean over trees that have any."""
    for i in range(leaves.shape[1]):
        n_trees = ZERO
        for r in range(out.shape[1]):
            out[i, r] = 0.0
        for tree in range(leaves.shape[0]):
            if in_bag.shape[0] > 0 and in_bag[tree, i]:
                continue
            low, high = ends[leaves[tree, i]], ends[leaves[tree, i] + 1]
            n_others = high - low
            for place in range(low, high):
                if sample[place] == own[i]:
                    n_others -= 1
            if n_others == 0:
                continue
            n_trees += 1
            for place in range(low, high):
                if sample[place] != own[i]:
                    out[i, sample[place]] += 1.0 / n_others
        for r in range(out.shape[1]):
            out[i, r] /= n_trees if n_trees > 0 else ONE


@kernel
def _weigh_up_to(leaves, in_bag, own, ends, sample, values, observed, out):
    """Sums of the weights of `_weigh_sample`: out[0, i] over sampled rows with values below observed[i], out[1, i] over
    those not above it. values: float64 (sampled rows,); observed: float64 (rows,); out: float64 (2, rows)."""
    for i in range(leaves.shape[1]):
        n_trees, below, up_to = ZERO, 0.0, 0.0
        for tree in range(leaves.shape[0]):
            if in_bag.shape[0] > 0 and in_bag[tree, i]:
                continue
            n_others, n_below, n_up_to = ZERO, ZERO, ZERO
            for place in range(ends[leaves[tree, i]], ends[leaves[tree, i] + 1]):
                is_other = sample[place] != own[i]
                n_others += is_other
                n_below += is_other & (values[sample[place]] < observed[i])
                n_up_to += is_other & (values[sample[place]] <= observed[i])
            if n_others > 0:
                n_trees += 1
                below += n_below / n_others
                up_to += n_up_to / n_others
        out[0, i] = below / n_trees if n_trees > 0 else np.nan
        out[1, i] = up_to / n_trees if n_trees > 0 else np.nan
