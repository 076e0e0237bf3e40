"""Compiled: what the leaves of many trees say of the classes of a row, put together."""

import numpy as np

from rfod._forest.compiled import ZERO, kernel

_U1, _U2, _U3, _U4 = (np.uint64(number) for number in (1, 2, 3, 4))


@kernel
def sum_shares(leaves, first, entry_ends, entry_class, entry_share, in_bag, n_votes, summed):
    """Categorical target: add to summed[i, k] what every tree gives class k for row i, and count the trees. The leaves
    of row i are leaves[:, first + i]; `in_bag` as in `ask_trees`, but for these rows only."""
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
    many there are. table and summed have one dimension."""
    has_bags = in_bag.shape[0] > 0
    for tree in range(leaves.shape[0]):
        for i in range(np.uint64(n_votes.shape[0])):
            if has_bags and in_bag[tree, i]:
                continue
            n_votes[i] += 1
            at, to = np.uint64(leaves[tree, first + i]) * width, i * width
            for _ in range(width >> _U2):
                share_0, share_1, share_2, share_3 = table[at], table[at + _U1], table[at + _U2], table[at + _U3]
                sum_0, sum_1, sum_2, sum_3 = summed[to], summed[to + _U1], summed[to + _U2], summed[to + _U3]
                summed[to], summed[to + _U1] = sum_0 + share_0, sum_1 + share_1
                summed[to + _U2], summed[to + _U3] = sum_2 + share_2, sum_3 + share_3
                at += _U4
                to += _U4


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
    has_bags = in_bag.shape[0] > 0
    for tree in range(leaves.shape[0]):
        for i in range(n_votes.shape[0]):
            if not (has_bags and in_bag[tree, i]):
                share = np.float64(table[np.uint64(leaves[tree, first + i]) * width + np.uint64(best[i])])
                out[1, i] += (share - out[0, i]) * (share - out[0, i])
    for i in range(n_votes.shape[0]):
        out[1, i] = np.sqrt(out[1, i] / n_votes[i]) if n_votes[i] > 0 else np.nan
