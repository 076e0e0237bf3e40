"""From the leaves that a row ends in to its cell scores and its row score, one cell at a time."""

import math

import numpy as np

from reference.trees import leaf_of, trees_of

MOST = 1e9  # no cell scores higher


class ReferenceForest:
    """The kept trees of a `Forest`, asked one row at a time."""

    def __init__(self, forest):
        self.n_classes = forest.n_classes
        self.roots = trees_of(forest.trees)
        self.trees = forest.trees

    def leaves(self, codes, seen=()):
        """Leaf of a row in each tree that has not seen it (`seen`: 1 per tree that has; empty: none has)."""
        return [
            first + leaf_of(root, codes)
            for tree, (root, first) in enumerate(self.roots)
            if not (len(seen) and seen[tree])
        ]

    def values(self, codes, seen=()):
        """(mean, population standard deviation, mean variance within leaves) of the trees' votes."""
        leaves = self.leaves(codes, seen)
        if not leaves:
            return math.nan, math.nan, math.nan
        votes = [float(self.trees.leaf_value[leaf]) for leaf in leaves]
        mean = math.fsum(votes) / len(votes)
        spread = math.sqrt(math.fsum((vote - mean) ** 2 for vote in votes) / len(votes))
        return mean, spread, math.fsum(float(self.trees.leaf_variance[leaf]) for leaf in leaves) / len(leaves)

    def tree_shares(self, codes, seen=()):
        """(trees, classes): what each tree gives to each class."""
        leaves = self.leaves(codes, seen)
        shares = np.zeros((len(leaves), self.n_classes))
        for tree, leaf in enumerate(leaves):
            for entry in range(self.trees.entry_ends[leaf], self.trees.entry_ends[leaf + 1]):
                shares[tree, self.trees.entry_class[entry]] = self.trees.entry_share[entry]
        return shares

    def classes(self, codes, observed, seen=()):
        """(likeliest class, its probability, the spread of that, probability of the observed class, that of all no
        likelier ones)."""
        shares = self.tree_shares(codes, seen)
        if not len(shares):
            return -1, math.nan, math.nan, math.nan, math.nan
        total = [0.0] * self.n_classes
        for tree in shares:
            total = [a + float(b) for a, b in zip(total, tree, strict=True)]
        best = total.index(max(total))  # the lowest of several
        probability = total[best] / len(shares)
        spread = math.sqrt(math.fsum((float(share) - probability) ** 2 for share in shares[:, best]) / len(shares))
        own = total[observed] if observed >= 0 else 0.0
        no_likelier = sum(share for share in total if share <= own)
        return best, probability, spread, own / len(shares), no_likelier / len(shares)


def quantile(values, share):
    """Linear interpolation between the sorted values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def value_range(values, distance, alpha):
    """What residuals are divided by: a distance between quantiles, else between extremes."""
    finite = [value for value in values if math.isfinite(value)]
    tail = {"agd": alpha, "gower": 0.0, "gower-iqr": 0.25}[distance]
    inner = quantile(finite, 1 - tail) - quantile(finite, tail)
    return inner if inner > 0 else max(finite) - min(finite)


def numeric_score(observed, expected, divisor):
    """|observed - expected| / range; constant or not where the range is 0; NaN if missing."""
    if math.isnan(observed) or math.isnan(expected):
        return math.nan
    if math.isinf(observed):
        return MOST
    if divisor == 0:
        return float(observed != expected)
    return min(abs(observed - expected) / divisor, MOST)


def categorical_score(observed, expected, probability, distance):
    """1 - p(observed), or match or not; observed -1 is missing, expected -1 unknown."""
    if observed == -1 or expected == -1:
        return math.nan
    return 1 - probability if distance == "agd" else float(observed != expected)


def weights(uncertainty):
    """W of one row: 1 - u / sum of u; 1 where nothing is uncertain."""
    total = math.fsum(uncertainty)
    return [1 - u / total if total > 0 else 1.0 for u in uncertainty]


def row_score(scores, row_weights):
    """Mean over the scored cells of weight times score; 0 without any."""
    parts = [weight * score for weight, score in zip(row_weights, scores, strict=True) if not math.isnan(score)]
    return math.fsum(parts) / len(parts) if parts else 0.0
