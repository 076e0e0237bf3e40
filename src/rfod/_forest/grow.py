"""Compiled: grow the trees of one target column.

A tree is grown on a bag: rows drawn with replacement. The distinct rows of the bag are copied into a `Sample`, which
numbers them from 0. `GrowthBuffers.rows` lists them node by node; a split partitions the rows of its node.

Every tree has a random stream of its own, keyed by (seed, column, tree): results do not depend on which thread grows
what, or in which order.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from rfod._forest.jit import MINUS_ONE, ONE, ZERO, inner, kernel, merged, reassociable, sort_by_key
from rfod._forest.layout import MAX_SET_WORDS, is_above, leaf_word, max_leaves, node_word, set_bit, set_words_for

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 2.0**-53
# Indices are unsigned, which saves the check for negative ones.
_U0, _U1, _U4, _U6, _U11, _U27, _U30, _U31 = (np.uint64(number) for number in (0, 1, 4, 6, 11, 27, 30, 31))
_U63, _U64, _U256, _U512, _U768 = (np.uint64(number) for number in (63, 64, 256, 512, 768))

LANES = 4  # features whose histograms are filled together
CODES = 256  # of one histogram
MARKS = CODES // 64  # words of marks per histogram
MAX_JOINT_CLASSES = 32  # up to here large nodes count (code, class) pairs instead of sorting rows by code
_PAIRS_PER_ROW = 8  # most pairs of (code, class) that are counted per row of a node
_MARK_ROWS = np.uint64(128)  # below, codes are marked row by row, from here on by a scan of the histogram
_FEW_ROWS = 64  # below, the classes of a leaf are gathered from its rows, from here on by a scan of all classes
_ONE_ROW = 1 << 32  # packed: number of rows in the high half, their weight (draws) in the low half
_WEIGHT = (1 << 32) - 1
_MISSING_LEFT = 1 << 16  # in a cut: missing values go left
_ROUNDING = 1e-13  # smaller relative differences are rounding errors
_MIN_LEAD = 1.0 + 1e-10  # a better split is better by this factor: rounding does not decide between equal ones
_MIN_LEAD_BITS = 1 << 19  # about the same as a difference of bits: 0.6e-10 to 1.2e-10
_MIN_GINI = 1e-12  # a split lowers the Gini impurity by more than this share of the node's weight


class Features(NamedTuple):
    """The binned table."""

    codes: NDArray[np.uint8]  # (features, table rows)
    is_categorical: NDArray[np.bool_]  # (features,)
    n_codes: NDArray[np.int64]  # (features,)
    allowed: NDArray[np.int64]  # (allowed,): features that trees may split on


class TargetArrays(NamedTuple):
    """The target column."""

    rows: NDArray[np.int64]  # (rows,): table rows that have a value
    values: NDArray[np.float64]  # (table rows,), numeric targets
    classes: NDArray[np.int32]  # (table rows,), categorical targets


class Settings(NamedTuple):
    """What to grow."""

    n_classes: int  # 0 for numeric targets
    seed: np.uint64
    column: int
    first_tree: int
    n_draws: int  # rows drawn per tree
    n_tried: int  # features tried per node
    min_leaf: int  # fewest distinct rows of a leaf
    max_depth: int


class Bag(NamedTuple):
    """The random stream of a tree, and the rows drawn from it."""

    state: NDArray[np.uint64]  # (1,)
    times: NDArray[np.int32]  # (rows,), zeros between trees: how often each row was drawn
    drawn: NDArray[np.int32]  # (n_drawn + 1,): distinct drawn rows in the order of their first draw; the last is spare


class Sample(NamedTuple):
    """The distinct rows of a bag."""

    source: NDArray[np.uint32]  # (n_drawn,): table row
    codes: NDArray[np.uint8]  # (allowed * n_drawn,): code of row s in the p-th allowed feature at p * n_drawn + s
    packed: NDArray[np.int64]  # (n_drawn,): _ONE_ROW + weight
    total: NDArray[np.float64]  # (n_drawn,): weight times target, which is centred, or is the class
    classes: NDArray[np.uint32]  # (n_drawn,), categorical targets; (0,) for numeric ones


class Histograms(NamedTuple):
    """One histogram per lane, zeros when not in use. Code c of lane l is at place 256 * l + c::

    packed, total   | lane 0: code 0 .. 255 | lane 1 | lane 2 | lane 3 |
    marks           one bit per place: whether any row has the code
    """

    marks: NDArray[np.uint64]  # (LANES * MARKS,)
    packed: NDArray[np.int64]  # (LANES * CODES,): sum of Sample.packed
    total: NDArray[np.float64]  # (LANES * CODES,): sum of Sample.total


class SplitBuffers(NamedTuple):
    """To find the best split of a node."""

    position: NDArray[np.int64]  # (features,): of a feature among the allowed ones
    candidates: NDArray[np.int32]  # (allowed,): features; those that a node has tried come first
    histograms: Histograms
    mean: NDArray[np.float64]  # (LANES * CODES,): total / weight per place
    present: NDArray[np.int64]  # (CODES,): places in use, in the order in which they are scanned
    lane_feature: NDArray[np.int64]  # (LANES,)
    lane_base: NDArray[np.uint64]  # (LANES,): where the feature begins in Sample.codes
    best_set: NDArray[np.int64]  # (MAX_SET_WORDS,): codes that go right in the best split, if it is categorical


class ClassBuffers(NamedTuple):
    """To find splits by Gini impurity; weights per class."""

    node: NDArray[np.int64]  # (classes + 1,), zeros between nodes
    left: NDArray[np.int64]  # (classes,), zeros between scans
    node_float: NDArray[np.float64]  # (classes,)
    left_float: NDArray[np.float64]  # (classes,), zeros between scans
    joint: NDArray[np.float64]  # (CODES * classes,), zeros between features; (0,) above MAX_JOINT_CLASSES
    grouped: NDArray[np.int64]  # (n_drawn,): rows of a node by code; (0,) up to two classes
    group_end: NDArray[np.int64]  # (CODES,): where the rows of a code end in `grouped`


class GrowthBuffers(NamedTuple):
    """Everything that growing one tree at a time needs."""

    bag: Bag
    sample: Sample
    split: SplitBuffers
    classes: ClassBuffers
    rows: NDArray[np.uint32]  # (n_drawn,): rows of the sample; those of a node are next to each other
    spare: NDArray[np.uint32]  # (n_drawn,): rows that go right while a node is partitioned
    stack: NDArray[np.int64]  # (4 * max_leaves,): start, end, depth and word of right children to be grown


class _Node(NamedTuple):
    """A node that may be split."""

    start: np.uint64  # its rows are GrowthBuffers.rows[start:end]
    end: np.uint64
    packed: np.int64
    mean: np.float64  # of the centred target
    least_gain: np.float64  # a split must gain more


def growth_buffers(
    n_rows: int, n_drawn: int, n_features: int, n_allowed: int, n_classes: int, min_leaf: int
) -> GrowthBuffers:
    """To grow trees on at most `n_drawn` of `n_rows` rows, one at a time."""
    by_class, n_places = n_classes > 2, LANES * CODES
    return GrowthBuffers(
        bag=Bag(
            state=np.zeros(1, dtype=np.uint64),
            times=np.zeros(n_rows, dtype=np.int32),
            drawn=np.empty(n_drawn + 1, dtype=np.int32),
        ),
        sample=Sample(
            source=np.empty(n_drawn, dtype=np.uint32),
            codes=np.empty(n_allowed * n_drawn, dtype=np.uint8),
            packed=np.empty(n_drawn, dtype=np.int64),
            total=np.empty(n_drawn),
            classes=np.empty(n_drawn if n_classes else 0, dtype=np.uint32),
        ),
        split=SplitBuffers(
            position=np.empty(n_features, dtype=np.int64),
            candidates=np.empty(n_allowed, dtype=np.int32),
            histograms=Histograms(
                marks=np.zeros(LANES * MARKS, dtype=np.uint64),
                packed=np.zeros(n_places, dtype=np.int64),
                total=np.zeros(n_places),
            ),
            mean=np.zeros(n_places),
            present=np.empty(CODES, dtype=np.int64),
            lane_feature=np.empty(LANES, dtype=np.int64),
            lane_base=np.empty(LANES, dtype=np.uint64),
            best_set=np.zeros(MAX_SET_WORDS, dtype=np.int64),
        ),
        classes=ClassBuffers(
            node=np.zeros(n_classes + 1, dtype=np.int64),
            left=np.zeros(n_classes, dtype=np.int64),
            node_float=np.zeros(n_classes),
            left_float=np.zeros(n_classes),
            joint=np.zeros(CODES * n_classes if by_class and n_classes <= MAX_JOINT_CLASSES else 0),
            grouped=np.empty(n_drawn if by_class else 0, dtype=np.int64),
            group_end=np.zeros(CODES, dtype=np.int64),
        ),
        rows=np.empty(n_drawn, dtype=np.uint32),
        spare=np.empty(n_drawn, dtype=np.uint32),
        stack=np.empty(4 * max_leaves(n_drawn, min_leaf), dtype=np.int64),
    )


# ------------------------------------------------------------------------------------------------------ random streams


@inner
def _mix(z):
    z = (z ^ (z >> _U30)) * _MIX_1
    z = (z ^ (z >> _U27)) * _MIX_2
    return z ^ (z >> _U31)


@inner
def open_stream(state, seed, column, tree):
    """Set `state` to the start of the stream of (seed, column, tree)."""
    key = _mix(np.uint64(seed) + _GOLDEN)
    key = _mix((key ^ np.uint64(column)) + _GOLDEN)
    state[0] = _mix((key ^ np.uint64(tree)) + _GOLDEN)


@inner
def draw_below(state, n):
    """One whole number from 0 to n - 1."""
    state[0] += _GOLDEN
    return np.int64(np.float64(_mix(state[0]) >> _U11) * _TO_UNIT * n)


@inner
def draw_bag(bag, n_rows, n_draws):
    """Draw with replacement; returns the number of distinct rows. Without a branch: whether a row was drawn before
    cannot be predicted."""
    n_distinct = _U0
    for _ in range(n_draws):
        row = np.uint64(draw_below(bag.state, n_rows))
        bag.drawn[n_distinct] = row
        n_distinct += np.uint64(bag.times[row] == 0)
        bag.times[row] += 1
    return np.int64(n_distinct)


@inner
def pick_out_of_bag(bag, rows, n_distinct, max_picked, picked):
    """Write the rows outside the bag to `picked` (max_picked + 1,); a random sample with replacement when there are
    more than `max_picked`. Returns their number."""
    n_rows, n_picked = rows.shape[0], _U0
    if n_rows - n_distinct <= max_picked:
        for position in range(n_rows):
            picked[n_picked] = rows[position]
            n_picked += np.uint64(bag.times[position] == 0)
    else:
        while n_picked < np.uint64(max_picked):
            position = draw_below(bag.state, n_rows)
            picked[n_picked] = rows[position]
            n_picked += np.uint64(bag.times[position] == 0)
    return np.int64(n_picked)


@kernel
def mark_bags(state, seed, column, trees, rows, n_draws, in_bag):
    """Set in_bag[i, r] = 1 where row r was drawn for tree trees[i], by drawing the same bags again.

    state: uint64 (1,); trees: int64 (kept trees,); rows: int64 (rows,); in_bag: uint8 (kept trees, table rows), zeros.
    """
    for i in range(trees.shape[0]):
        open_stream(state, seed, column, trees[i])
        for _ in range(n_draws):
            in_bag[i, rows[draw_below(state, rows.shape[0])]] = 1


# ---------------------------------------------------------------------------------------------------------- histograms


@intrinsic
def _lowest_bit(typing_context, bits):
    """Position of the lowest bit that is 1, of an integer that is not 0."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), generate


@inner
def _bits_of(number):
    """The bits of a float64 as an int64; positive numbers keep their order."""
    return np.float64(number).view(np.int64)


@inner
def _number_of(bits):
    """The inverse of `_bits_of`."""
    return np.int64(bits).view(np.float64)


@inner
def _fill_one(sample, base, rows, start, end, lane, histograms):
    """The histogram of one feature, with marks."""
    first = np.uint64(lane * CODES)
    for i in range(start, end):
        row = rows[i]
        place = first + np.uint64(sample.codes[base + row])
        histograms.marks[place >> _U6] |= _U1 << (place & _U63)
        histograms.packed[place] += sample.packed[row]
        histograms.total[place] += sample.total[row]


@inner
def _fill_four(sample, bases, rows, start, end, histograms, is_marking):
    """The histograms of four features, one per lane. Updates to the same place form a dependency chain; interleaving
    four features hides its latency, and the weight and target of a row are loaded once."""
    codes, marks, packed, total = sample.codes, histograms.marks, histograms.packed, histograms.total
    base_0, base_1, base_2, base_3 = bases[0], bases[1], bases[2], bases[3]
    for i in range(start, end):
        row = rows[i]
        weight, value = sample.packed[row], sample.total[row]
        place_0 = np.uint64(codes[base_0 + row])
        place_1 = np.uint64(codes[base_1 + row]) + _U256
        place_2 = np.uint64(codes[base_2 + row]) + _U512
        place_3 = np.uint64(codes[base_3 + row]) + _U768
        packed[place_0] += weight
        packed[place_1] += weight
        packed[place_2] += weight
        packed[place_3] += weight
        total[place_0] += value
        total[place_1] += value
        total[place_2] += value
        total[place_3] += value
        if is_marking:
            marks[place_0 >> _U6] |= _U1 << (place_0 & _U63)
            marks[place_1 >> _U6] |= _U1 << (place_1 & _U63)
            marks[place_2 >> _U6] |= _U1 << (place_2 & _U63)
            marks[place_3 >> _U6] |= _U1 << (place_3 & _U63)


@inner
def _mark_codes(n_codes, lane, histograms):
    """Mark the codes that occur in the histogram of a lane."""
    for word in range(np.uint64(lane * MARKS), np.uint64(lane * MARKS + set_words_for(n_codes))):
        bits = _U0
        for bit in range(_U64):
            bits |= np.uint64(histograms.packed[(word << _U6) + bit] != 0) << bit
        histograms.marks[word] = bits


@inner
def _list_places(marks, lane, present):
    """List the marked places of a lane, ascending, and clear the marks; returns their number."""
    n_present = ZERO
    for word in range(lane * MARKS, lane * MARKS + MARKS):
        bits = marks[word]
        marks[word] = 0
        while bits != _U0:
            present[n_present] = word * 64 + _lowest_bit(bits)
            n_present += 1
            bits &= bits - _U1
    return n_present


@inner
def _order_by_mean(present, n_present, histograms, mean):
    """Sort the listed places by total / weight: the mean of the target, or the share of the majority class."""
    for i in range(n_present):
        mean[present[i]] = histograms.total[present[i]] / (histograms.packed[present[i]] & _WEIGHT)
    sort_by_key(present, n_present, mean)


# ----------------------------------------------------------------------------------------------------------- one split


@inner
def _scan_ordered(lane, histograms, node, min_leaf):
    """Best cut of an ordered feature by variance reduction, over the histogram of a lane, which is cleared on the way.

    Returns (gain, low code, high code, side of missing values: 0 left, 1 right, -1 none in this node, weight on the
    left). No branch depends on a gain: it could not be predicted. Gains are compared by their bits, which are in the
    order of the numbers.
    """
    marks, packed, total = histograms.marks, histograms.packed, histograms.total
    first, first_mark = np.uint64(lane * CODES), np.uint64(lane * MARKS)
    n_node, node_weight = node.packed >> 32, np.float64(node.packed & _WEIGHT)
    missing_packed, missing_total = packed[first], total[first]
    packed[first], total[first] = 0, 0.0
    marks[first_mark] &= ~_U1
    n_missing = missing_packed >> 32
    left_packed, left_total, low = ZERO, 0.0, ZERO
    best, best_cut = ZERO, ZERO  # a cut: weight on the left << 17 | missing left << 16 | low << 8 | code
    for word in range(_U4):
        bits = marks[first_mark + word]
        marks[first_mark + word] = 0
        while bits != _U0:
            code = np.int64(word << _U6) + _lowest_bit(bits)
            place = first + np.uint64(code)
            bits &= bits - _U1
            n_left, left_weight = left_packed >> 32, left_packed & _WEIGHT
            # a cut between `low` and `code`, missing values on the right
            weight = np.float64(left_weight)
            deviation = left_total - node.mean * weight
            gain = _bits_of(deviation * deviation / (weight * (node_weight - weight)))
            is_best = (n_left >= min_leaf) & (n_node - n_left >= min_leaf) & (gain > best + _MIN_LEAD_BITS)
            cut = (left_weight << 17) | (low << 8) | code
            best, best_cut = (gain if is_best else best), (cut if is_best else best_cut)
            if n_missing > 0:  # the same cut, missing values on the left; at low = 0 they are there alone
                weight = np.float64((left_packed + missing_packed) & _WEIGHT)
                deviation = left_total + missing_total - node.mean * weight
                gain = _bits_of(deviation * deviation / (weight * (node_weight - weight)))
                n_both = n_left + n_missing
                is_best = (n_both >= min_leaf) & (n_node - n_both >= min_leaf) & (gain > best + _MIN_LEAD_BITS)
                cut |= _MISSING_LEFT
                best, best_cut = (gain if is_best else best), (cut if is_best else best_cut)
            left_packed += packed[place]
            left_total += total[place]
            packed[place], total[place] = 0, 0.0
            low = code
    side = -1 if n_missing == 0 else 0 if best_cut & _MISSING_LEFT else 1
    return _number_of(best) * node_weight, (best_cut >> 8) & 255, best_cut & 255, side, best_cut >> 17


@merged
def _scan_listed(split, n_listed, node, min_leaf):
    """Best cut of the listed places by variance reduction: (gain, number of places on the left; 0 for none)."""
    packed, total = split.histograms.packed, split.histograms.total
    n_node, node_weight = node.packed >> 32, np.float64(node.packed & _WEIGHT)
    left_packed, left_total = ZERO, 0.0
    best_gain, best_cut = 0.0, ZERO
    for i in range(n_listed - 1):
        left_packed += packed[split.present[i]]
        left_total += total[split.present[i]]
        n_left = left_packed >> 32
        if n_left >= min_leaf and n_node - n_left >= min_leaf:
            weight = np.float64(left_packed & _WEIGHT)
            deviation = left_total - node.mean * weight
            gain = deviation * deviation * node_weight / (weight * (node_weight - weight))
            if gain > _MIN_LEAD * best_gain:
                best_gain, best_cut = gain, i + 1
    return best_gain, best_cut


@merged
def _scan_grouped(split, n_listed, sample, classes, node, square, min_leaf):
    """The same by Gini impurity; `square` is the sum of the node's squared class weights. Moves the rows of one code
    after another to the left, so the cost does not grow with the number of classes."""
    packed, grouped, left = split.histograms.packed, classes.grouped, classes.left
    best, best_cut = ZERO, ZERO
    n_node, node_weight = node.packed >> 32, node.packed & _WEIGHT
    # shared: sum over classes of weight on the left times weight in the node
    left_packed, left_square, shared = ZERO, ZERO, ZERO
    for i in range(n_listed - 1):
        code = split.present[i]
        end = classes.group_end[code]
        for g in range(end - (packed[code] >> 32), end):
            row = grouped[g]
            weight = sample.packed[row] & _WEIGHT
            klass = sample.classes[row]
            left_square += weight * (2 * left[klass] + weight)
            shared += weight * classes.node[klass]
            left[klass] += weight
        left_packed += packed[code]
        n_left, left_weight = left_packed >> 32, left_packed & _WEIGHT
        gain = left_square / left_weight + (square - 2 * shared + left_square) / (node_weight - left_weight)
        bits = _bits_of(gain - square / node_weight)  # a number below 0 has bits below 0
        is_best = (n_left >= min_leaf) & (n_node - n_left >= min_leaf) & (bits > best + _MIN_LEAD_BITS)
        best, best_cut = (bits if is_best else best), (i + 1 if is_best else best_cut)
    for g in range(n_node):
        left[sample.classes[grouped[g]]] = 0
    return _number_of(best), best_cut


@reassociable
def _move_code(joint, at, left, node_weights):
    """Add the class weights of one code, joint[at:], to the left; returns the growth of the sum of squares on the left
    and of the sum of products of left and node."""
    square, shared = 0.0, 0.0
    for klass in range(np.uint64(left.shape[0])):
        weight = joint[at + klass]
        before = left[klass]
        square += weight * (2.0 * before + weight)
        shared += weight * node_weights[klass]
        left[klass] = before + weight
    return square, shared


@merged
def _scan_joint(split, n_listed, classes, node, node_square, min_leaf):
    """The same from the weights of all (code, class) pairs, for large nodes and few classes; all weights as floats."""
    left, n_classes = classes.left_float, classes.left_float.shape[0]
    best, best_cut = ZERO, ZERO
    n_node, node_weight = node.packed >> 32, np.float64(node.packed & _WEIGHT)
    left_packed, left_square, shared, square = ZERO, 0.0, 0.0, np.float64(node_square)
    for i in range(n_listed - 1):
        code = split.present[i]
        left_packed += split.histograms.packed[code]
        more_square, more_shared = _move_code(classes.joint, np.uint64(code * n_classes), left, classes.node_float)
        left_square += more_square
        shared += more_shared
        n_left, left_weight = left_packed >> 32, np.float64(left_packed & _WEIGHT)
        gain = left_square / left_weight + (square - 2.0 * shared + left_square) / (node_weight - left_weight)
        bits = _bits_of(gain - square / node_weight)  # a number below 0 has bits below 0
        is_best = (n_left >= min_leaf) & (n_node - n_left >= min_leaf) & (bits > best + _MIN_LEAD_BITS)
        best, best_cut = (bits if is_best else best), (i + 1 if is_best else best_cut)
    for klass in range(n_classes):
        left[klass] = 0.0
    return _number_of(best), best_cut


@inner
def _write_set(present, n_present, cut, packed, node_packed, best_set):
    """The set of codes that go right; codes that the node does not have follow the heavier side."""
    left_weight = ZERO
    for i in range(cut):
        left_weight += packed[present[i]] & _WEIGHT
    default = -1 if 2 * left_weight < (node_packed & _WEIGHT) else 0
    for word in range(best_set.shape[0]):
        best_set[word] = default
    for i in range(n_present):
        code = present[i] & 255
        bit = 1 << (code & 63)
        if i < cut:
            best_set[code >> 6] &= ~bit
        else:
            best_set[code >> 6] |= bit


@inner
def _ordered_rule(low, high, side, left_weight, node_packed):
    """(threshold, shift) of the cut of an ordered feature between two codes. `side` is where missing values go; if
    the node has none they follow the heavier side. low = 0: only missing values go left."""
    if side < 0:
        side = 1 if 2 * left_weight < (node_packed & _WEIGHT) else 0
    threshold = (low + high) >> 1 if low > 0 else 0
    return threshold - side, side


@inner
def _draw_feature(state, candidates, n_tried):
    """One of the features that have not been tried; it changes places with the first of them."""
    pick = n_tried + draw_below(state, candidates.shape[0] - n_tried)
    feature = candidates[pick]
    candidates[pick] = candidates[n_tried]
    candidates[n_tried] = feature
    return np.int64(feature)


@inner
def _is_constant(codes, base, rows, start, end):
    """Whether all rows of a node have the same code."""
    first = codes[base + rows[start]]
    i = start + _U1
    while i < end and codes[base + rows[i]] == first:
        i += _U1
    return i == end


@inner
def _split_by_variance(features, settings, state, sample, split, rows, node):
    """Best split of a node by variance reduction: (gain, feature or -1, threshold, shift); `best_set` where the feature
    is categorical. Tries `n_tried` features, and further ones until there is a split at all."""
    candidates, histograms = split.candidates, split.histograms
    start, end, min_leaf = node.start, node.end, settings.min_leaf
    stride = np.uint64(sample.source.shape[0])
    best_gain, best_feature, best_threshold, best_shift = node.least_gain, MINUS_ONE, ZERO, ZERO
    n_features, n_tried = candidates.shape[0], ZERO
    is_marking = end - start < _MARK_ROWS
    while n_tried < n_features and (n_tried < settings.n_tried or best_feature < 0):
        n_lanes, n_wanted = ZERO, settings.n_tried if n_tried < settings.n_tried else n_tried + 1
        while n_lanes < LANES and n_tried < n_wanted:
            feature = _draw_feature(state, candidates, n_tried)
            n_tried += 1
            base = np.uint64(split.position[feature]) * stride
            if not _is_constant(sample.codes, base, rows, start, end):
                split.lane_feature[n_lanes], split.lane_base[n_lanes] = feature, base
                n_lanes += 1
        if n_lanes == LANES:
            _fill_four(sample, split.lane_base, rows, start, end, histograms, is_marking)
        else:
            for lane in range(n_lanes):
                _fill_one(sample, split.lane_base[lane], rows, start, end, lane, histograms)
        for lane in range(n_lanes):
            feature = split.lane_feature[lane]
            if n_lanes == LANES and not is_marking:
                _mark_codes(features.n_codes[feature], lane, histograms)
            if not features.is_categorical[feature]:
                gain, low, high, side, left_weight = _scan_ordered(lane, histograms, node, min_leaf)
                if gain > _MIN_LEAD * best_gain:
                    best_gain, best_feature = gain, feature
                    best_threshold, best_shift = _ordered_rule(low, high, side, left_weight, node.packed)
                continue
            n_present = _list_places(histograms.marks, lane, split.present)
            _order_by_mean(split.present, n_present, split.histograms, split.mean)
            gain, cut = _scan_listed(split, n_present, node, min_leaf)
            if gain > _MIN_LEAD * best_gain:
                best_gain, best_feature, best_threshold, best_shift = gain, feature, ZERO, ZERO
                _write_set(split.present, n_present, cut, histograms.packed, node.packed, split.best_set)
            for i in range(n_present):
                histograms.packed[split.present[i]], histograms.total[split.present[i]] = 0, 0.0
    return best_gain, best_feature, best_threshold, best_shift


@inner
def _split_by_gini(features, settings, state, sample, split, classes, rows, node):
    """The same by Gini impurity, for more than two classes. Uses one lane."""
    present, joint, grouped, group_end = split.present, classes.joint, classes.grouped, classes.group_end
    marks, packed, total = split.histograms.marks, split.histograms.packed, split.histograms.total
    start, end, min_leaf = node.start, node.end, settings.min_leaf
    n_classes, n_node, stride = classes.left.shape[0], np.int64(end - start), np.uint64(sample.source.shape[0])
    node_square, majority, lane = ZERO, ZERO, ZERO
    for klass in range(n_classes):
        classes.node_float[klass] = np.float64(classes.node[klass])
        node_square += classes.node[klass] * classes.node[klass]
        majority = klass if classes.node[klass] > classes.node[majority] else majority
    best_gain, best_feature, best_threshold, best_shift = node.least_gain, MINUS_ONE, ZERO, ZERO
    n_tried = ZERO
    while n_tried < split.candidates.shape[0] and (n_tried < settings.n_tried or best_feature < 0):
        feature = _draw_feature(state, split.candidates, n_tried)
        n_tried += 1
        base = np.uint64(split.position[feature]) * stride
        if _is_constant(sample.codes, base, rows, start, end):
            continue
        is_categorical = features.is_categorical[feature]
        use_joint = joint.shape[0] > 0 and features.n_codes[feature] * n_classes <= _PAIRS_PER_ROW * n_node
        if use_joint:
            width = np.uint64(n_classes)
            for i in range(start, end):
                row = rows[i]
                code = np.uint64(sample.codes[base + row])
                packed[code] += sample.packed[row]
                joint[code * width + sample.classes[row]] += np.float64(sample.packed[row] & _WEIGHT)
            _mark_codes(features.n_codes[feature], lane, split.histograms)
        else:
            for i in range(start, end):
                code = np.uint64(sample.codes[base + rows[i]])
                marks[code >> _U6] |= _U1 << (code & _U63)
                packed[code] += sample.packed[rows[i]]
        n_present = _list_places(marks, lane, present)
        if not use_joint:
            place = ZERO
            for i in range(n_present):
                group_end[present[i]] = place
                place += packed[present[i]] >> 32
            for i in range(start, end):
                code = np.uint64(sample.codes[base + rows[i]])
                grouped[group_end[code]] = rows[i]
                group_end[code] += 1
        if is_categorical:
            for i in range(n_present):
                code = present[i]
                if use_joint:
                    total[code] = joint[code * n_classes + majority]
                else:
                    for g in range(group_end[code] - (packed[code] >> 32), group_end[code]):
                        if sample.classes[grouped[g]] == majority:
                            total[code] += sample.packed[grouped[g]] & _WEIGHT
            _order_by_mean(split.present, n_present, split.histograms, split.mean)

        # Ordered features with missing values: a pass with missing first (left), one without it (right).
        has_missing = present[0] == 0 and not is_categorical
        for scan_pass in range(2 if has_missing else 1):
            if scan_pass == 1:
                for i in range(1, n_present):
                    present[i - 1] = present[i]
                present[n_present - 1] = 0
            n_listed = n_present - scan_pass
            if use_joint:
                gain, cut = _scan_joint(split, n_listed, classes, node, node_square, min_leaf)
            else:
                gain, cut = _scan_grouped(split, n_listed, sample, classes, node, node_square, min_leaf)
            if gain > _MIN_LEAD * best_gain:
                best_gain, best_feature = gain, feature
                if is_categorical:
                    best_threshold, best_shift = ZERO, ZERO
                    _write_set(present, n_present, cut, packed, node.packed, split.best_set)
                else:
                    left_weight = ZERO
                    for i in range(cut):
                        left_weight += packed[present[i]] & _WEIGHT
                    side = scan_pass if has_missing else -1
                    best_threshold, best_shift = _ordered_rule(
                        present[cut - 1], present[cut], side, left_weight, node.packed
                    )
        for i in range(n_present):
            packed[present[i]], total[present[i]] = 0, 0.0
            if use_joint:
                for klass in range(n_classes):
                    joint[present[i] * n_classes + klass] = 0.0
    return best_gain, best_feature, best_threshold, best_shift


# ------------------------------------------------------------------------------------------------------------ one tree


@inner
def _count_classes(sample, rows, start, end, counts):
    """Add the weights of rows to the counts of their classes."""
    for i in range(start, end):
        counts[sample.classes[rows[i]]] += sample.packed[rows[i]] & _WEIGHT


@merged
def _first_different(sample, has_classes, rows, start, end):
    """Where the first row is whose target differs from that of the first one, early in most nodes; `end` if none."""
    first, i = rows[start], start + _U1
    if has_classes:
        while i < end and sample.classes[rows[i]] == sample.classes[first]:
            i += _U1
        return i
    first_weight = np.float64(sample.packed[first] & _WEIGHT)
    while i < end:
        this = sample.total[rows[i]] * first_weight
        other = sample.total[first] * np.float64(sample.packed[rows[i]] & _WEIGHT)
        if abs(this - other) > _ROUNDING * abs(other):
            break
        i += _U1
    return i


@merged
def _write_entries(buffers, node, weight, out, n_entries):
    """Append the class shares of a leaf, ascending by class, and clear the counts; returns the number of entries."""
    counts, entry_class, entry_share = buffers.classes.node, out.entry_class, out.entry_share
    first = n_entries
    if node.end - node.start < _FEW_ROWS:
        for i in range(node.start, node.end):
            klass = buffers.sample.classes[buffers.rows[i]]
            if counts[klass] > 0:
                at = n_entries
                while at > first and entry_class[at - 1] > klass:
                    entry_class[at] = entry_class[at - 1]
                    entry_share[at] = entry_share[at - 1]
                    at -= 1
                entry_class[at] = klass
                entry_share[at] = counts[klass] / weight
                counts[klass] = 0
                n_entries += 1
    else:
        for klass in range(buffers.classes.left.shape[0]):
            if counts[klass] > 0:
                entry_class[n_entries] = klass
                entry_share[n_entries] = counts[klass] / weight
                counts[klass] = 0
                n_entries += 1
    return n_entries


@merged
def _grow_tree(features, settings, buffers, n_rows, center, tree, out):
    """Grow one tree on the first rows of the sample, behind those that `out` has. Returns its number of words and
    leaves."""
    sample, split, classes, state = buffers.sample, buffers.split, buffers.classes, buffers.bag.state
    rows, spare, stack = buffers.rows, buffers.spare, buffers.stack
    has_classes, by_class = settings.n_classes > 0, settings.n_classes > 2  # two: Gini is twice the variance of 0 and 1
    stride, words, first_leaf = np.uint64(sample.source.shape[0]), out.words[out.word_ends[tree] :], out.leaf_ends[tree]
    n_entries = out.entry_ends[first_leaf - 1] if has_classes and first_leaf > 0 else ZERO
    for row in range(n_rows):
        rows[row] = row

    n_words, n_leaves = ONE, ZERO
    start, end, depth, word_at = ZERO, n_rows, ZERO, ZERO
    top = ZERO
    while True:
        low_row, high_row = np.uint64(start), np.uint64(end)
        node_packed, node_total = ZERO, 0.0
        for i in range(low_row, high_row):
            node_packed += sample.packed[rows[i]]
            node_total += sample.total[rows[i]]
        node_weight = node_packed & _WEIGHT
        node_mean = node_total / node_weight
        is_pure = _first_different(sample, has_classes, rows, low_row, high_row) == high_row
        if has_classes:
            least_gain = _MIN_GINI * node_weight
        else:
            least_gain = node_weight * (_ROUNDING * node_mean) * (_ROUNDING * node_mean)
        node = _Node(low_row, high_row, node_packed, node_mean, least_gain)

        gain, feature, threshold, shift = least_gain, MINUS_ONE, ZERO, ZERO
        if end - start >= 2 * settings.min_leaf and depth < settings.max_depth and not is_pure:
            if by_class:
                _count_classes(sample, rows, low_row, high_row, classes.node)
                gain, feature, threshold, shift = _split_by_gini(
                    features, settings, state, sample, split, classes, rows, node
                )
                for i in range(low_row, high_row):
                    classes.node[sample.classes[rows[i]]] = 0
            else:
                gain, feature, threshold, shift = _split_by_variance(
                    features, settings, state, sample, split, rows, node
                )

        if feature < 0:
            words[word_at] = leaf_word(n_leaves)
            leaf = first_leaf + n_leaves
            if has_classes:
                _count_classes(sample, rows, low_row, high_row, classes.node)
                n_entries = _write_entries(buffers, node, node_weight, out, n_entries)
                out.entry_ends[leaf] = n_entries
            else:
                value, variance = center + node_mean, 0.0
                if not is_pure:
                    for i in range(low_row, high_row):
                        weight = np.float64(sample.packed[rows[i]] & _WEIGHT)
                        deviation = sample.total[rows[i]] / weight - node_mean
                        variance += weight * deviation * deviation
                out.leaf_value[leaf] = value if abs(value) > _ROUNDING * abs(center) else 0.0
                out.leaf_variance[leaf] = variance / node_weight
            n_leaves += 1
            if top == 0:
                return n_words, n_leaves
            top -= 4
            start, end, depth, word_at = stack[top], stack[top + 1], stack[top + 2], stack[top + 3]
            continue
        out.importances[tree, feature] += gain
        child = n_words
        n_set_words = set_words_for(features.n_codes[feature]) if features.is_categorical[feature] else 0
        for word in range(n_set_words):
            words[child + word] = split.best_set[word]
        words[word_at] = node_word(feature, threshold, shift, n_set_words, child)
        n_words += n_set_words + 2

        base = np.uint64(split.position[feature]) * stride
        middle, n_right = low_row, _U0
        for i in range(low_row, high_row):  # every row is written to both sides and kept on one: without a branch
            row = rows[i]
            code = np.int64(sample.codes[base + row])
            if n_set_words == 0:
                goes_right = np.uint64(is_above(code, threshold, shift))
            else:
                goes_right = np.uint64(set_bit(words, child, code))
            rows[middle] = spare[n_right] = row
            n_right += goes_right
            middle += _U1 - goes_right
        for i in range(n_right):
            rows[middle + i] = spare[i]

        depth += 1
        word_at = child + n_set_words
        stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = np.int64(middle), end, depth, word_at + 1
        top += 4
        end = np.int64(middle)


@kernel
def grow_trees(features, target, settings, buffers, out):
    """Grow trees for one target column, as many as `out` (layout.GrownTrees) has room for, and pick the rows outside
    their bags to measure fitness on. Returns the mean of a numeric target, 0 for classes."""
    bag, sample, rows, allowed = buffers.bag, buffers.sample, target.rows, features.allowed
    n_rows, stride = rows.shape[0], sample.source.shape[0]
    center = 0.0
    if settings.n_classes == 0:
        for i in range(n_rows):
            center += (target.values[rows[i]] - center) / (i + 1)
    for p in range(allowed.shape[0]):
        buffers.split.position[allowed[p]] = p
    out.word_ends[0] = out.leaf_ends[0] = 0

    for tree in range(out.n_out_of_bag.shape[0]):
        for p in range(allowed.shape[0]):  # their order must not come from the trees grown before in the same task
            buffers.split.candidates[p] = allowed[p]

        open_stream(bag.state, settings.seed, settings.column, settings.first_tree + tree)
        n_sampled = draw_bag(bag, n_rows, settings.n_draws)
        for s in range(n_sampled):
            row, weight = rows[bag.drawn[s]], bag.times[bag.drawn[s]]
            sample.source[s] = row
            sample.packed[s] = _ONE_ROW + weight
            if settings.n_classes > 0:
                sample.classes[s] = target.classes[row]
                sample.total[s] = np.float64(weight * target.classes[row])
            else:
                sample.total[s] = weight * (target.values[row] - center)
        for p in range(allowed.shape[0]):
            column, copied = features.codes[allowed[p]], sample.codes[p * stride :]
            for s in range(np.uint64(n_sampled)):
                copied[s] = column[sample.source[s]]

        n_words, n_leaves = _grow_tree(features, settings, buffers, n_sampled, center, tree, out)
        max_picked = out.out_of_bag.shape[1] - 1
        out.n_out_of_bag[tree] = pick_out_of_bag(bag, rows, n_sampled, max_picked, out.out_of_bag[tree])
        for s in range(n_sampled):
            bag.times[bag.drawn[s]] = 0
        out.word_ends[tree + 1] = out.word_ends[tree] + n_words
        out.leaf_ends[tree + 1] = out.leaf_ends[tree] + n_leaves
    return center
