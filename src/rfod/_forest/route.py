"""Compiled: send rows down trees; average numbers over the trees; out-of-bag fitness; check trees from a file."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rfod._forest.jit import ONE, ZERO, inner, kernel, sort_by_key
from rfod._forest.layout import (
    LEAF,
    UNUSED_BITS,
    child_of,
    feature_of,
    is_above,
    max_leaves,
    n_set_words_of,
    set_bit,
    set_words_for,
    shift_of,
    threshold_of,
)

# Indices are unsigned, which saves the check for negative ones.
_U0, _U1 = np.uint64(0), np.uint64(1)

MAX_ACTIVE = 256  # nodes that all rows are compared with, at most: as many as a byte can number
_OCCUPANCY_ROWS = 128  # rows sampled, about, to estimate node occupancy
_MIN_OCCUPANCY = 4  # of them: below, splitting lists of rows is faster than comparing all rows
_SMALL_TREE = 2  # words per row: all nodes of a tree that is so small for its rows are active


class Columns(NamedTuple):
    """The codes of rows, feature after feature."""

    codes: NDArray[np.uint8]  # ((features - 1) * stride + rows,): code of row i in feature f at f * stride + i
    stride: np.uint64


class RoutingBuffers(NamedTuple):
    """To send rows down a tree."""

    active_of: NDArray[np.uint8]  # (rows,): number of the active node that a row has reached
    nodes: NDArray[np.uint64]  # (MAX_ACTIVE,): position of the active nodes' words
    ends: NDArray[np.int64]  # (MAX_ACTIVE + 1,): per active node, occupancy, then where its rows begin in `order`
    order: NDArray[np.uint32]  # (2 * rows,): rows listed node by node; the halves take turns
    stack: NDArray[np.uint64]  # (4 * rows,): node, start, end and half of lists to be split


class Nodes(NamedTuple):
    """The trees of a forest, as rows find their leaves."""

    words: NDArray[np.int64]  # (words,): see layout.py
    word_starts: NDArray[np.int64]  # (trees,)
    leaf_starts: NDArray[np.int64]  # (trees,)


class LeafNumbers(NamedTuple):
    """Numeric targets: mean and variance of the training rows in each leaf."""

    value: NDArray[np.float64]  # (leaves,)
    variance: NDArray[np.float64]  # as value


class Averages(NamedTuple):
    """Results over the trees of a forest."""

    n_trees: NDArray[np.int64]  # (rows,), zeros: trees that count for a row, where some do not
    first: NDArray[np.float64]  # (rows,): value of the first of them
    out: NDArray[np.float64]  # (3, rows), zeros: mean and standard deviation over trees, mean variance within leaves


class Tallies(NamedTuple):
    """To count out-of-bag rows by leaf, class, and entry (class of a leaf) of one tree."""

    leaf_rows: NDArray[np.int64]  # (max_leaves,)
    class_rows: NDArray[np.int64]  # (classes,)
    entry_rows: NDArray[np.int64]  # (n_drawn,): rows of the entry's class in its leaf
    entry_leaf: NDArray[np.int64]  # (n_drawn,)
    keys: NDArray[np.float64]  # (n_drawn,): class + share / 2, which sorts by class, then by share
    order: NDArray[np.int64]  # (n_drawn,): entries sorted by key


class FitnessBuffers(NamedTuple):
    """To measure the fitness of trees."""

    codes: NDArray[np.uint8]  # (features * max_out_of_bag,)
    leaves: NDArray[np.int32]  # (max_out_of_bag,)
    routing: RoutingBuffers
    tallies: Tallies


class _Tree(NamedTuple):
    """One tree."""

    words: NDArray[np.int64]  # of all trees
    root: np.uint64  # position of its first word
    n_words: int
    first_leaf: int  # its leaves are counted from here


def routing_buffers(n_rows: int) -> RoutingBuffers:
    """To send so many rows down a tree."""
    return RoutingBuffers(
        active_of=np.empty(n_rows, dtype=np.uint8),
        nodes=np.empty(MAX_ACTIVE, dtype=np.uint64),
        ends=np.empty(MAX_ACTIVE + 1, dtype=np.int64),
        order=np.empty(2 * n_rows, dtype=np.uint32),
        stack=np.empty(4 * n_rows, dtype=np.uint64),
    )


def fitness_buffers(n_drawn: int, n_out_of_bag: int, n_features: int, n_classes: int, min_leaf: int) -> FitnessBuffers:
    """To measure the fitness of the same trees on at most `n_out_of_bag` rows outside their bags."""
    n_entries = n_drawn if n_classes else 0
    return FitnessBuffers(
        codes=np.empty(n_features * n_out_of_bag, dtype=np.uint8),
        leaves=np.empty(n_out_of_bag, dtype=np.int32),
        routing=routing_buffers(n_out_of_bag),
        tallies=Tallies(
            leaf_rows=np.empty(max_leaves(n_drawn, min_leaf), dtype=np.int64),
            class_rows=np.empty(n_classes, dtype=np.int64),
            entry_rows=np.empty(n_entries, dtype=np.int64),
            entry_leaf=np.empty(n_entries, dtype=np.int64),
            keys=np.empty(n_entries),
            order=np.empty(n_entries, dtype=np.int64),
        ),
    )


# ------------------------------------------------------------------------------------------------------------ one tree


@inner
def _find_leaves(columns, n_rows, tree, buffers, leaves):
    """leaves[i] = leaf of row i; leaves: int32 (rows,).

    Nodes that many rows reach are passed by all rows at once, node by node, comparing bytes with vector instructions.
    Further down, where a node has few rows, lists of rows are split.
    """
    active_of, nodes, ends, order = buffers.active_of, buffers.nodes, buffers.ends, buffers.order
    n_active = _pass_active(columns, n_rows, tree, buffers)
    n_leaves = ZERO
    while n_leaves < n_active and tree.words[nodes[n_leaves]] & LEAF:
        n_leaves += 1
    if n_leaves == n_active:
        for active in range(n_active):
            ends[active] = tree.first_leaf + child_of(tree.words[nodes[active]])
        for i in range(n_rows):
            leaves[i] = ends[active_of[i]]
        return
    for active in range(n_active + 1):
        ends[active] = 0
    for i in range(n_rows):
        ends[np.int64(active_of[i]) + 1] += 1
    for active in range(n_active):
        ends[active + 1] += ends[active]
    for i in range(n_rows - 1, -1, -1):  # from behind, so `ends` become starts
        active = np.int64(active_of[i]) + 1
        ends[active] -= 1
        order[ends[active]] = i
    for active in range(n_active):
        start, end = ends[active + 1], ends[active + 2] if active + 2 <= n_active else n_rows
        if start < end:
            _split_lists(columns, n_rows, tree, nodes[active], start, end, buffers, leaves)


@inner
def _pass_active(columns, n_rows, tree, buffers):
    """Send all rows through the nodes that many of them reach, or through all of a small tree. An active node that is
    passed is replaced by its left child; its right child is a new one. Returns the number of active nodes."""
    active_of, nodes, occupancy, u_rows = buffers.active_of, buffers.nodes, buffers.ends, np.uint64(n_rows)
    for i in range(n_rows):
        active_of[i] = 0
    nodes[0] = tree.root
    is_small = tree.n_words < 2 * MAX_ACTIVE and tree.n_words <= _SMALL_TREE * n_rows
    step = 1 + n_rows // _OCCUPANCY_ROWS
    n_active, n_before = ONE, ZERO
    while n_active > n_before:
        n_before = n_active
        for active in range(n_before):
            occupancy[active] = _OCCUPANCY_ROWS if is_small else 0
        for i in range(0, 0 if is_small else n_rows, step):
            occupancy[active_of[i]] += 1
        for active in range(n_before):
            word = tree.words[nodes[active]]
            if word & LEAF or occupancy[active] < _MIN_OCCUPANCY or n_active == MAX_ACTIVE:
                continue
            child, column = tree.root + np.uint64(child_of(word)), np.uint64(feature_of(word)) * columns.stride
            if n_set_words_of(word) == 0:
                threshold, shift = threshold_of(word), shift_of(word)
                if threshold < 255:
                    low, span = np.uint8((threshold + shift + 1) & 255), np.uint8(254 - threshold)
                    _reassign(columns.codes, column, u_rows, active_of, low, span, active, n_active)
            else:
                right_set = np.uint64(tree.words[child])
                if n_set_words_of(word) > 1 or _count_runs(right_set) * _MIN_OCCUPANCY > occupancy[active]:
                    continue
                _reassign_set(columns.codes, column, u_rows, active_of, right_set, active, n_active)
                child += _U1
            nodes[active], nodes[n_active] = child, child + _U1
            n_active += 1
    return n_active


@inner
def _count_runs(bits):
    """Number of runs of ones in a set of up to 64 codes."""
    starts, n_runs = bits & ~(bits << _U1), ZERO
    while starts != _U0:
        starts &= starts - _U1
        n_runs += 1
    return n_runs


@inner
def _reassign_set(codes, column, n_rows, active_of, right_set, left, right):
    """Rows of active node `left` with codes in a set of up to 64 codes go to `right`, one run of codes at a time."""
    low = ZERO
    for code in range(65):
        if code == 64 or not (right_set >> np.uint64(code)) & _U1:
            if code > low:
                _reassign(codes, column, n_rows, active_of, np.uint8(low), np.uint8(code - 1 - low), left, right)
            low = code + 1


@inner
def _reassign(codes, column, n_rows, active_of, low, span, left, right):
    """Rows of active node `left` with codes from low to low + span go to `right`; becomes vector instructions."""
    old, new = np.uint8(left), np.uint8(right)
    for i in range(n_rows):
        active = active_of[i]
        active_of[i] = new if (np.uint8(codes[column + i] - low) <= span) & (active == old) else active


@inner
def _split_lists(columns, n_rows, tree, node, first, last, buffers, leaves):
    """Send the rows order[first:last] from a node to their leaves. Each node splits its list in two, from one half of
    `order` into the other::

        here    | start ........ end |
        there   | left ..>    <.. right |     every row is written to both ends and kept at one: without a branch
    """
    codes, words, half, order, stack = columns.codes, tree.words, np.uint64(n_rows), buffers.order, buffers.stack
    at, start, end, here, top = node, np.uint64(first), np.uint64(last), _U0, ZERO
    while True:
        word = words[at]
        while not word & LEAF:
            child, n_set_words = tree.root + np.uint64(child_of(word)), n_set_words_of(word)
            column, there = np.uint64(feature_of(word)) * columns.stride, half - here
            left, right = there + start, there + end - _U1
            if n_set_words == 0:
                threshold, shift = threshold_of(word), shift_of(word)
                for i in range(here + start, here + end):
                    row = order[i]
                    goes_right = np.uint64(is_above(np.int64(codes[column + row]), threshold, shift))
                    order[left] = order[right] = row
                    left += _U1 - goes_right
                    right -= goes_right
            else:
                for i in range(here + start, here + end):
                    row = order[i]
                    goes_right = np.uint64(set_bit(words, child, np.uint64(codes[column + row])))
                    order[left] = order[right] = row
                    left += _U1 - goes_right
                    right -= goes_right
            here, middle = there, left - there
            at = child + np.uint64(n_set_words)
            if middle == start:
                at += _U1
            elif middle < end:
                stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = at + _U1, middle, end, here
                top += 4
                end = middle
            word = words[at]
        leaf = tree.first_leaf + child_of(word)
        for i in range(here + start, here + end):
            leaves[order[i]] = leaf
        if top == 0:
            return
        top -= 4
        at, start, end, here = stack[top], stack[top + 1], stack[top + 2], stack[top + 3]


# ----------------------------------------------------------------------------------------------------------- all trees


@kernel
def route_and_average(columns, trees, leaf_numbers, in_bag, buffers, leaves, averages):
    """Send rows down all trees, and average the leaves of numeric targets, unless `averages` has room for no rows.

    columns: Columns; trees: Nodes; leaf_numbers: LeafNumbers; buffers: RoutingBuffers; averages: Averages.
    in_bag: uint8 (trees, rows), 1 where a tree does not count for a row, or (0, 0) where all count. A row without any
    tree gets NaN.
    leaves: int32 (trees, rows), the leaf of a row, counted over all trees; or (1, rows), overwritten by each tree.

    Sums are taken of differences from the first tree that counts, which are exactly 0 where all agree.
    """
    n_trees, n_rows, out = trees.word_starts.shape[0], leaves.shape[1], averages.out
    for t in range(n_trees):
        root, end = trees.word_starts[t], trees.word_starts[t + 1] if t + 1 < n_trees else trees.words.shape[0]
        tree = _Tree(trees.words, np.uint64(root), end - root, trees.leaf_starts[t])
        reached = leaves[t if leaves.shape[0] > 1 else ZERO]
        _find_leaves(columns, n_rows, tree, buffers, reached)
        if out.shape[1] == 0:
            continue
        if in_bag.shape[0] > 0:
            _add_out_of_bag(reached, in_bag[t], leaf_numbers, averages)
        else:
            _add_all(reached, t == 0, leaf_numbers, averages.first, out[0], out[1], out[2])
    for i in range(out.shape[1]):
        n_counted = averages.n_trees[i] if in_bag.shape[0] > 0 else n_trees
        if n_counted > 0:
            mean = out[0, i] / n_counted
            out[0, i] = averages.first[i] + mean
            variance = out[1, i] / n_counted - mean * mean
            out[1, i] = np.sqrt(variance) if variance > 0.0 else 0.0
            out[2, i] /= n_counted
        else:
            out[0, i] = out[1, i] = out[2, i] = np.nan


@inner
def _add_all(leaves, is_first, leaf_numbers, first, total, squares, within):
    """Add the leaf of every row in one tree. Apart from `_add_out_of_bag` since it has no branch: detect is 1.1 times
    as fast."""
    for i in range(leaves.shape[0]):
        leaf = np.uint64(leaves[i])
        if is_first:
            first[i] = leaf_numbers.value[leaf]
        difference = leaf_numbers.value[leaf] - first[i]
        total[i] += difference
        squares[i] += difference * difference
        within[i] += leaf_numbers.variance[leaf]


@inner
def _add_out_of_bag(leaves, in_bag, leaf_numbers, averages):
    """Add the leaves of the rows outside the bag of one tree."""
    out = averages.out
    for i in range(leaves.shape[0]):
        if in_bag[i]:
            continue
        leaf = np.uint64(leaves[i])
        if averages.n_trees[i] == 0:
            averages.first[i] = leaf_numbers.value[leaf]
        averages.n_trees[i] += 1
        difference = leaf_numbers.value[leaf] - averages.first[i]
        out[0, i] += difference
        out[1, i] += difference * difference
        out[2, i] += leaf_numbers.variance[leaf]


# -------------------------------------------------------------------------------------------------- out-of-bag fitness


@kernel
def measure_fitness(codes, values, classes, n_classes, center, most_residual, grown, buffers, fitness):
    """R² or AUC of each tree on rows outside its bag.

    codes: uint8 (features, table rows); values: float64 (table rows,), center, their mean, and most_residual, what a
    larger residual counts as (infinite for plain R²), for numeric targets;
    classes: int32 (table rows,); n_classes: 0 for numeric targets; grown: layout.GrownTrees; buffers: FitnessBuffers;
    fitness: float64 (trees,).
    """
    for t in range(fitness.shape[0]):
        n_rows, first_word, first_leaf = grown.n_out_of_bag[t], grown.word_ends[t], grown.leaf_ends[t]
        rows, leaves = grown.out_of_bag[t, :n_rows], buffers.leaves[:n_rows]
        for feature in range(codes.shape[0]):
            if grown.importances[t, feature] > 0.0:  # the tree splits on it
                column, copied = codes[feature], buffers.codes[feature * n_rows :]
                for i in range(np.uint64(n_rows)):
                    copied[i] = column[rows[i]]
        tree = _Tree(grown.words, np.uint64(first_word), grown.word_ends[t + 1] - first_word, ZERO)
        _find_leaves(Columns(buffers.codes, np.uint64(n_rows)), n_rows, tree, buffers.routing, leaves)
        if n_classes > 0:
            fitness[t] = _auc(rows, leaves, classes, n_classes, t, grown, buffers.tallies)
        else:
            fitness[t] = _r_squared(rows, leaves, values, center, most_residual, grown.leaf_value[first_leaf:])


@inner
def _r_squared(rows, leaves, values, center, most_residual, leaf_value):
    """Coefficient of determination of residuals and deviations that are at most `most_residual`; NaN below two rows, 0
    or 1 for a constant target."""
    n_rows, mean = rows.shape[0], 0.0
    if n_rows < 2:
        return np.nan
    for i in range(n_rows):
        mean += (values[rows[i]] - center - mean) / (i + 1)
    around_mean, around_leaf, most = 0.0, 0.0, most_residual * most_residual
    for i in range(n_rows):
        deviation = values[rows[i]] - center - mean
        residual = values[rows[i]] - leaf_value[leaves[i]]
        around_mean += min(deviation * deviation, most)
        around_leaf += min(residual * residual, most)
    if around_mean == 0.0:
        return 1.0 if around_leaf == 0.0 else 0.0
    return 1.0 - around_leaf / around_mean


@inner
def _auc(rows, leaves, classes, n_classes, tree, grown, tallies):
    """Area under the ROC curve, one class against the rest, weighted by class share; NaN when only one class occurs.

    All rows of a leaf have the same score, and it is 0 for all classes that do not occur in the leaf: it is enough to
    count rows per leaf and per entry, and to sort the entries.
    """
    leaf_rows, entry_rows, entry_leaf, order = tallies.leaf_rows, tallies.entry_rows, tallies.entry_leaf, tallies.order
    n_rows, first_leaf = rows.shape[0], grown.leaf_ends[tree]
    first_entry = grown.entry_ends[first_leaf - 1] if first_leaf > 0 else ZERO
    entry_class, entry_share = grown.entry_class[first_entry:], grown.entry_share[first_entry:]
    entry_ends = grown.entry_ends[first_leaf : grown.leaf_ends[tree + 1]]
    n_entries = ZERO
    for klass in range(n_classes):
        tallies.class_rows[klass] = 0
    for leaf in range(entry_ends.shape[0]):
        leaf_rows[leaf] = 0
        while n_entries < entry_ends[leaf] - first_entry:
            entry_leaf[n_entries], entry_rows[n_entries] = leaf, 0
            order[n_entries] = n_entries
            tallies.keys[n_entries] = entry_class[n_entries] + 0.5 * entry_share[n_entries]
            n_entries += 1
    for i in range(n_rows):
        klass = classes[rows[i]]
        leaf = leaves[i]
        leaf_rows[leaf] += 1
        tallies.class_rows[klass] += 1
        low = entry_ends[leaf - 1] - first_entry if leaf > 0 else ZERO
        entry = _find_class(entry_class, low, entry_ends[leaf] - first_entry, klass)
        if entry >= 0:
            entry_rows[entry] += 1
    sort_by_key(order, n_entries, tallies.keys)

    area, weight = 0.0, 0.0
    at = ZERO
    for klass in range(n_classes):
        begin = at
        listed_rows, listed_hits = ZERO, ZERO
        while at < n_entries and entry_class[order[at]] == klass:
            listed_rows += leaf_rows[entry_leaf[order[at]]]
            listed_hits += entry_rows[order[at]]
            at += 1
        n_hits = tallies.class_rows[klass]
        n_others = n_rows - n_hits
        if n_hits == 0 or n_others == 0:
            continue
        hits = n_hits - listed_hits  # rows in leaves without this class: score 0, below all listed ones
        others = n_rows - listed_rows - hits
        below = np.float64(others)
        ordered = hits * (0.5 * others)
        i = begin
        while i < at:
            j, hits, others = i, ZERO, ZERO
            while j < at and tallies.keys[order[j]] == tallies.keys[order[i]]:
                hits += entry_rows[order[j]]
                others += leaf_rows[entry_leaf[order[j]]] - entry_rows[order[j]]
                j += 1
            ordered += hits * (below + 0.5 * others)
            below += others
            i = j
        area += n_hits * (ordered / (np.float64(n_hits) * n_others))
        weight += n_hits
    return area / weight if weight > 0.0 else np.nan


@inner
def _find_class(entry_class, low, high, klass):
    """Position of a class among the ascending entries low..high, or -1."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if entry_class[middle] < klass:
            low = middle + 1
        else:
            high = middle
    return low if low < end and entry_class[low] == klass else -1


# ---------------------------------------------------------------------------------------------------------- validation


@kernel
def check_tree(words, n_leaves, n_codes, is_categorical, is_node, is_taken, leaf_met):
    """Whether words are one well-formed tree over these features: every word is reached once, every leaf number from 0
    to n_leaves - 1 occurs once. Children lie behind their parent, so there are no cycles.

    words: int64 (words,); n_codes: int64 (features,), 0 for a feature that the tree must not use; is_categorical: bool
    (features,); is_node, is_taken: uint8 (words,), leaf_met: uint8 (leaves,), zeros.
    """
    n_words = words.shape[0]
    if n_words == 0:
        return False
    is_node[0] = is_taken[0] = 1
    n_taken, n_met = 1, 0
    for at in range(n_words):
        if not is_node[at]:
            continue
        word = words[at]
        if word & UNUSED_BITS:
            return False
        child = child_of(word)
        if word & LEAF:
            if word & 0xFFFFFFFF != LEAF or child >= n_leaves or leaf_met[child]:
                return False
            leaf_met[child] = 1
            n_met += 1
            continue
        feature = feature_of(word)
        if feature >= n_codes.shape[0] or n_codes[feature] == 0:
            return False
        n_set_words = n_set_words_of(word)
        expected_words = set_words_for(n_codes[feature]) if is_categorical[feature] else 0
        first = child + n_set_words
        if n_set_words != expected_words or child <= at or first + 1 >= n_words:
            return False
        for word_at in range(child, first + 2):
            if is_taken[word_at]:
                return False
            is_taken[word_at] = 1
        is_node[first] = is_node[first + 1] = 1
        n_taken += n_set_words + 2
    return n_taken == n_words and n_met == n_leaves
