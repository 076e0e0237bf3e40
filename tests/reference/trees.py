"""The words of a tree as nodes, and every split that a node could have."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

MISSING = 0  # the code of a missing value


@dataclass(frozen=True)
class Leaf:
    number: int


@dataclass(frozen=True)
class Split:
    feature: int
    cut: int  # ordered features: codes above it go right
    missing_right: bool
    right_codes: frozenset | None  # set features: these codes go right
    left: "Leaf | Split"
    right: "Leaf | Split"

    def goes_right(self, code):
        if self.right_codes is not None:
            return code in self.right_codes
        return self.missing_right if code == MISSING else code > self.cut


def decode(words, at=0):
    """The nodes of a tree from its words."""
    word = int(words[at])
    child = word >> 32
    if (word >> 28) & 1:
        return Leaf(child)
    n_set_words = (word >> 25) & 7
    threshold, shift = (word >> 16) & 255, (word >> 24) & 1
    right_codes = None
    if n_set_words:
        right_codes = frozenset(
            64 * i + bit for i in range(n_set_words) for bit in range(64) if (int(words[child + i]) >> bit) & 1
        )
    left, right = child + n_set_words, child + n_set_words + 1
    # With shift 1 every code is lowered by one, and a missing value wraps around to the top.
    cut = threshold + shift
    return Split(word & 0xFFFF, cut, shift == 1, right_codes, decode(words, left), decode(words, right))


def trees_of(trees):
    """All trees of a `Trees`, as (root, number of the first leaf)."""
    ends = [*trees.word_starts[1:], len(trees.words)]
    return [
        (decode(trees.words[start:end]), int(first_leaf))
        for start, end, first_leaf in zip(trees.word_starts, ends, trees.leaf_starts, strict=True)
    ]


def leaf_of(node, codes):
    """The leaf that a row ends in; `codes` are its codes, one per feature."""
    while isinstance(node, Split):
        node = node.right if node.goes_right(int(codes[node.feature])) else node.left
    return node.number


# ------------------------------------------------------------------------------------------------------------- splits


def impurity(target, weights, n_classes):
    """Total squared deviation of a numeric target, or weight times Gini impurity of a categorical one."""
    weight = weights.sum()
    if n_classes:
        shares = np.bincount(target, weights=weights) / weight
        return float(weight * (1 - np.sum(shares**2)))
    mean = np.sum(weights * target) / weight
    return float(np.sum(weights * (target - mean) ** 2))


def gain(target, weights, n_classes, right):
    """How much of a node's impurity a division into left and right takes away."""
    parts = [impurity(target[side], weights[side], n_classes) for side in (~right, right)]
    return impurity(target, weights, n_classes) - sum(parts)


def ordered_divisions(codes):
    """Every division of rows by an ordered feature: each threshold, with missing values on either side."""
    missing = codes == MISSING
    for low in np.unique(codes[~missing])[:-1]:
        yield (codes > low) | missing
        if missing.any():
            yield codes > low
    if missing.any() and not missing.all():
        yield ~missing  # missing values alone


def code_shares(codes, target, weights, n_classes):
    """Per code, the mean of the target, or the share of the most common class (each of them, if several are)."""
    if n_classes > 2:
        counts = np.array([weights[target == klass].sum() for klass in range(n_classes)])
        marks = [(target == klass).astype(float) for klass in np.flatnonzero(counts == counts.max())]
    else:
        marks = [target.astype(float)]
    return [
        {int(code): np.average(mark[codes == code], weights=weights[codes == code]) for code in np.unique(codes)}
        for mark in marks
    ]


def near(a, b):
    return bool(np.isclose(a, b, rtol=1e-9, atol=1e-12))


def set_divisions(codes, shares):
    """Every division by a cut through the codes in the order of their shares; equal shares stay together."""
    order = sorted(shares, key=shares.get)
    for i in range(1, len(order)):
        if not near(shares[order[i - 1]], shares[order[i]]):
            yield np.isin(codes, order[i:])


def subset_divisions(codes):
    """Every division of a set feature's codes in two, whatever their order."""
    others = np.unique(codes)[1:]
    for n_right in range(1, len(others) + 1):
        for right in combinations(others, n_right):
            yield np.isin(codes, right)


def allowed(right, min_leaf):
    """Whether both sides have enough distinct rows."""
    return min_leaf <= right.sum() <= len(right) - min_leaf


def best_gain(divisions, target, weights, n_classes, min_leaf):
    """The best gain of some divisions; 0 if none is allowed."""
    gains = [gain(target, weights, n_classes, right) for right in divisions if allowed(right, min_leaf)]
    return max(gains, default=0.0)


def certain_gain(codes, is_categorical, target, weights, n_classes, min_leaf):
    """The gain that a feature is sure to offer, however ties in the order of its codes are broken."""
    if not is_categorical:
        return best_gain(ordered_divisions(codes), target, weights, n_classes, min_leaf)
    return min(
        best_gain(set_divisions(codes, shares), target, weights, n_classes, min_leaf)
        for shares in code_shares(codes, target, weights, n_classes)
    )


def follows_order(codes, is_categorical, target, weights, n_classes, right):
    """Whether a division is a cut through the codes in an order they may be taken in."""
    if not is_categorical:
        return any(np.array_equal(right, division) for division in ordered_divisions(codes))
    left_codes, right_codes = set(codes[~right].tolist()), set(codes[right].tolist())
    if left_codes & right_codes:
        return False
    for shares in code_shares(codes, target, weights, n_classes):
        highest_left = max(shares[code] for code in left_codes)
        lowest_right = min(shares[code] for code in right_codes)
        if highest_left <= lowest_right or near(highest_left, lowest_right):
            return True
    return False


# ------------------------------------------------------------------------------------------------------------- replay


@dataclass(frozen=True)
class Visit:
    """One node as it was when the tree was grown."""

    node: Leaf | Split
    depth: int
    rows: np.ndarray  # of the table: the distinct ones that reached the node
    weights: np.ndarray  # how often each was drawn
    tried: tuple  # features looked at; empty where the node could not be split


def replay(root, stream, codes, target, rows, times, features, n_tried, min_leaf, max_depth):
    """All nodes of a tree in the order in which they were grown, with the features each must have looked at.

    `stream` has drawn the bag `times`. A node looks at n_tried features, and then at more until one gives a split.
    """
    visits = []
    order = list(features)
    open_nodes = [(root, 0, np.array(sorted(times)))]
    while open_nodes:
        node, depth, positions = open_nodes.pop()
        tried = []
        node_rows = rows[positions]
        if len(positions) >= 2 * min_leaf and depth < max_depth and len(np.unique(target[node_rows])) > 1:
            while len(tried) < len(order) and (
                len(tried) < n_tried or isinstance(node, Leaf) or node.feature not in tried
            ):
                looked = len(tried)
                pick = looked + stream.below(len(order) - looked)
                order[looked], order[pick] = order[pick], order[looked]
                tried.append(order[looked])
        weights = np.array([times[position] for position in positions], dtype=float)
        visits.append(Visit(node, depth, node_rows, weights, tuple(tried)))
        if isinstance(node, Split):
            right = np.array([node.goes_right(int(code)) for code in codes[node.feature, node_rows]])
            open_nodes.append((node.right, depth + 1, positions[right]))
            open_nodes.append((node.left, depth + 1, positions[~right]))
    return visits
