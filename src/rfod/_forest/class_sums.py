"""Compiled: what the leaves of many trees say of the classes of a row, put together."""

import numpy as np

from rfod._forest.jit import ZERO, kernel

_U1 = np.uint64(1)


@kernel
def sum_shares(leaves, first, entry_ends, entry_class, entry_share, in_bag, n_votes, summed):
    """Categorical target: add to summed[i, k] what every tree gives class k for row i, and count the trees. The leaves
    of row i are leaves[:, first + i]; `in_bag` as in `route_and_average`, but for these rows only."""
    has_bags = in_bag.shape[0] > 0
    for tree in range(leaves.shape[0]):  # tree by tree, so that its leaves stay in cache
        for i in range(n_votes.shape[0]):
            if has_bags and in_bag[tree, i]:
                continue
            n_votes[i] += 1
            leaf = np.uint64(leaves[tree, first + i])
            for entry in range(entry_ends[leaf], entry_ends[leaf + _U1]):
                summed[i, entry_class[entry]] += entry_share[entry]


@kernel
def sum_table(leaves, first, table, width, in_bag, n_votes, summed):
    """The same from a table of all classes of all leaves, `width` of them, a multiple of four: no row has to ask how
    many there are. table and summed have one dimension. Four trees at a time, unless rows are in bags."""
    n_rows, n_trees, n_together = np.uint64(n_votes.shape[0]), leaves.shape[0], ZERO
    if in_bag.shape[0] == 0:
        n_together = n_trees & ~3
    for i in range(n_rows):
        n_votes[i] += n_together
    for tree in range(0, n_together, 4):
        one, two, three, four = leaves[tree], leaves[tree + 1], leaves[tree + 2], leaves[tree + 3]
        for i in range(n_rows):
            at_1, at_2 = np.uint64(one[first + i]) * width, np.uint64(two[first + i]) * width
            at_3, at_4 = np.uint64(three[first + i]) * width, np.uint64(four[first + i]) * width
            to = i * width
            for k in range(width):
                sum_2 = summed[to + k] + table[at_1 + k] + table[at_2 + k]
                summed[to + k] = sum_2 + table[at_3 + k] + table[at_4 + k]
    for tree in range(n_together, n_trees):
        for i in range(n_rows):
            if in_bag.shape[0] > 0 and in_bag[tree, i]:
                continue
            n_votes[i] += 1
            at, to = np.uint64(leaves[tree, first + i]) * width, i * width
            for k in range(width):
                summed[to + k] += table[at + k]


@kernel
def pick_classes(summed, n_votes, n_classes, observed, best, out):
    """best[i] the likeliest class, out[0] its probability, out[2] the probability of the observed class (0 where it is
    negative: never seen), out[3] that of all classes which are no likelier than the observed one. A row without any
    tree gets best = -1 and NaN. out[1] is set to 0, or NaN."""
    for i in range(summed.shape[0]):
        if n_votes[i] == 0:
            best[i] = -1
            out[0, i] = out[1, i] = out[2, i] = out[3, i] = np.nan
            continue
        top = ZERO
        for klass in range(1, n_classes):
            if summed[i, klass] > summed[i, top]:
                top = klass
        best[i] = top
        out[0, i] = summed[i, top] / n_votes[i]
        out[1, i] = 0.0
        own = summed[i, observed[i]] if observed[i] >= 0 else 0.0
        no_likelier = 0.0
        for klass in range(n_classes):
            if summed[i, klass] <= own:
                no_likelier += summed[i, klass]
        out[2, i] = own / n_votes[i]
        out[3, i] = no_likelier / n_votes[i]


@kernel
def spread_shares(leaves, first, entry_ends, entry_class, entry_share, in_bag, best, n_votes, out):
    """out[1] = standard deviation of the probability of the likeliest class over the trees."""
    has_bags = in_bag.shape[0] > 0
    for tree in range(leaves.shape[0]):
        for i in range(n_votes.shape[0]):
            if not (has_bags and in_bag[tree, i]):
                leaf, share = leaves[tree, first + i], 0.0
                for entry in range(entry_ends[leaf], entry_ends[leaf + 1]):
                    if entry_class[entry] == best[i]:
                        share = np.float64(entry_share[entry])
                out[1, i] += (share - out[0, i]) * (share - out[0, i])
    for i in range(n_votes.shape[0]):
        out[1, i] = np.sqrt(out[1, i] / n_votes[i]) if n_votes[i] > 0 else np.nan


@kernel
def spread_table(leaves, first, table, width, in_bag, best, n_votes, out):
    """The same from a table."""
    n_rows, n_trees, n_together = np.uint64(n_votes.shape[0]), leaves.shape[0], ZERO
    if in_bag.shape[0] == 0:
        n_together = n_trees & ~3
    for tree in range(0, n_together, 4):
        one, two, three, four = leaves[tree], leaves[tree + 1], leaves[tree + 2], leaves[tree + 3]
        for i in range(n_rows):
            klass, mean = np.uint64(best[i]), out[0, i]
            away_1 = table[np.uint64(one[first + i]) * width + klass] - mean
            away_2 = table[np.uint64(two[first + i]) * width + klass] - mean
            away_3 = table[np.uint64(three[first + i]) * width + klass] - mean
            away_4 = table[np.uint64(four[first + i]) * width + klass] - mean
            sum_2 = out[1, i] + away_1 * away_1 + away_2 * away_2
            out[1, i] = sum_2 + away_3 * away_3 + away_4 * away_4
    for tree in range(n_together, n_trees):
        for i in range(n_rows):
            if not (in_bag.shape[0] > 0 and in_bag[tree, i]):
                away = table[np.uint64(leaves[tree, first + i]) * width + np.uint64(best[i])] - out[0, i]
                out[1, i] += away * away
    for i in range(n_rows):
        out[1, i] = np.sqrt(out[1, i] / n_votes[i]) if n_votes[i] > 0 else np.nan
