"""Compiled: grow trees, score them out of bag, send rows down and hear numbers.

What calls each other stays in this one file, because a cached kernel does not notice a change in another file it calls.

A tree is a run of 64-bit words. An inner node is one word::

    bits  0..15  feature          bit 28      leaf flag (0 here)
    bits 16..23  threshold        bits 32..62 child: where the node's children start, counted from the tree's root
    bit  24      shift
    bits 25..27  set words

``child`` points at ``set words`` words of a bit set, then the left child, then the right child. A row goes right when

* ordered feature (no set words): ``(code - shift) mod 256 > threshold``. Code 0 is missing; with ``shift = 1`` it wraps
  around to 255, so one comparison serves both "missing goes left" and "missing goes right";
* set feature: the bit of its code is 1.

A leaf is one word with the leaf flag and, in place of the child, the number of the leaf within its tree.

Every tree has a random stream of its own, keyed by (seed, column, tree): results do not depend on which thread grows
what, or in which order.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic

from rfod._forest.jit import MINUS_ONE, ONE, ZERO, exact, inner, kernel, merged

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_U11, _U27, _U30, _U31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
_TO_UNIT = 2.0**-53
_U0, _U1, _U4, _U6, _U7 = (np.uint64(number) for number in (0, 1, 4, 6, 7))
_U16, _U24, _U25 = (np.uint64(number) for number in (16, 24, 25))
_U28, _U32, _U63, _U64, _U254, _U255, _U0xFFFF = (np.uint64(number) for number in (28, 32, 63, 64, 254, 255, 0xFFFF))
_U128, _U256, _U512, _U768 = (np.uint64(number) for number in (128, 256, 512, 768))

LEAF = 1 << 28
_ULEAF = np.uint64(LEAF)
_ONE_ROW = 1 << 32  # rows are counted in the high half of a packed integer, their weight in the low half
_WEIGHT = (1 << 32) - 1
_MISSING_LEFT = 1 << 16  # in a cut: missing values go left
FEW_CLASSES = 32  # up to here large nodes count (code, class) pairs instead of sorting rows by code
_PAIRS_PER_ROW = 8  # pairs of (code, class) that are counted per row of a node at most
HAND = 4  # features whose histograms are filled together
CODES = 256  # of one histogram
SLOTS = 256  # nodes that all rows are compared with, at most: as many as a byte can tell apart
_ASKED = 128  # rows that are asked, about, which nodes are crowded
_CROWD = 4  # so many of them are a crowd
_WORDS_PER_ROW = 2  # of a tree that is small for so many rows
_ROUNDING = 1e-13  # relative differences below this are taken for rounding
_AHEAD = 1.0 + 1e-10  # a better split must be better by this much: rounding does not decide between equal ones
_AHEAD_BITS = 1 << 19  # about the same as a difference of bits: 0.6e-10 to 1.2e-10
_TINY = 1e-12  # a split must lower the Gini impurity by more than this share of the node's weight


# ------------------------------------------------------------------------------------------------------ random streams


@inner
def _mix(z):
    z = (z ^ (z >> _U30)) * _MIX_1
    z = (z ^ (z >> _U27)) * _MIX_2
    return z ^ (z >> _U31)


@inner
def open_stream(state, seed, column, tree):
    """Set the one-element `state` to the start of the stream of (seed, column, tree)."""
    key = _mix(np.uint64(seed) + _GOLDEN)
    key = _mix((key ^ np.uint64(column)) + _GOLDEN)
    state[0] = _mix((key ^ np.uint64(tree)) + _GOLDEN)


@inner
def draw_below(state, n):
    """One whole number from 0 to n - 1."""
    state[0] += _GOLDEN
    return np.int64(np.float64(_mix(state[0]) >> _U11) * _TO_UNIT * n)


@inner
def draw_bag(state, n_rows, n_draws, times, drawn):
    """Draw with replacement; `times` (zeros) counts positions, `drawn`, which has a place more than rows can be drawn,
    lists the distinct ones; returns how many. No branch: whether a row was drawn before cannot be predicted."""
    n_distinct = _U0
    for _ in range(n_draws):
        position = np.uint64(draw_below(state, n_rows))
        drawn[n_distinct] = position
        n_distinct += np.uint64(times[position] == 0)
        times[position] += 1
    return np.int64(n_distinct)


@kernel
def mark_bags(state, seed, column, trees, rows, n_draws, in_bag):
    """Set in_bag[i, r] = 1 where row r was drawn for tree trees[i], by drawing the same bags again."""
    for i in range(trees.shape[0]):
        open_stream(state, seed, column, trees[i])
        for _ in range(n_draws):
            in_bag[i, rows[draw_below(state, rows.shape[0])]] = 1


# ----------------------------------------------------------------------------------------------------------- one split


@intrinsic
def _lowest_bit(typing_context, bits):
    """Position of the lowest bit that is 1, of an integer that is not 0."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), generate


@intrinsic
def _bits_of(typing_context, number):
    """The bits of a float64 as an int64; positive numbers keep their order."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic
def _number_of(typing_context, bits):
    """The other way round."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@inner
def _list_codes(mask, hand, present):
    """The places of histogram number `hand` that are in use, ascending; returns how many. Clears their marks.

    A place is 256 * hand + code.
    """
    n_present = ZERO
    for word in range(hand * 4, hand * 4 + 4):
        bits = mask[word]
        mask[word] = 0
        while bits != _U0:
            present[n_present] = word * 64 + _lowest_bit(bits)
            n_present += 1
            bits &= bits - _U1
    return n_present


@inner
def _fill_one(table, base, row_of, start, end, hand, histograms):
    """Histogram number `hand` of one feature, with marks of the codes that occur."""
    matrix, row_packed, row_total, _ = table
    mask, packed, total = histograms
    first = np.uint64(hand * CODES)
    for i in range(start, end):
        row = row_of[i]
        place = first + np.uint64(matrix[base + row])
        mask[place >> _U6] |= _U1 << (place & _U63)
        packed[place] += row_packed[row]
        total[place] += row_total[row]


@inner
def _fill_four(table, bases, row_of, start, end, histograms, is_marking):
    """Histograms of four features side by side. Rows of one code wait for each other's sums; with four features under
    way the processor has something else to do meanwhile, and what belongs to the row is read once."""
    matrix, row_packed, row_total, _ = table
    mask, packed, total = histograms
    base_0, base_1, base_2, base_3 = bases[0], bases[1], bases[2], bases[3]
    for i in range(start, end):
        row = row_of[i]
        weight, value = row_packed[row], row_total[row]
        place_0 = np.uint64(matrix[base_0 + row])
        place_1 = np.uint64(matrix[base_1 + row]) + _U256
        place_2 = np.uint64(matrix[base_2 + row]) + _U512
        place_3 = np.uint64(matrix[base_3 + row]) + _U768
        packed[place_0] += weight
        packed[place_1] += weight
        packed[place_2] += weight
        packed[place_3] += weight
        total[place_0] += value
        total[place_1] += value
        total[place_2] += value
        total[place_3] += value
        if is_marking:
            mask[place_0 >> _U6] |= _U1 << (place_0 & _U63)
            mask[place_1 >> _U6] |= _U1 << (place_1 & _U63)
            mask[place_2 >> _U6] |= _U1 << (place_2 & _U63)
            mask[place_3 >> _U6] |= _U1 << (place_3 & _U63)


@inner
def _clear_last(histograms):
    mask, packed, total = histograms
    for place in range((HAND - 1) * CODES, HAND * CODES):
        packed[place], total[place] = 0, 0.0
    for word in range((HAND - 1) * 4, HAND * 4):
        mask[word] = _U0


@inner
def _mark_codes(n_codes, hand, histograms):
    """Note which codes occur in a histogram."""
    mask, packed, _ = histograms
    for word in range(np.uint64(hand * 4), np.uint64(hand * 4 + ((n_codes + 63) >> 6))):
        bits = _U0
        for bit in range(_U64):
            bits |= np.uint64(packed[(word << _U6) + bit] != 0) << bit
        mask[word] = bits


@inner
def _sort_by_key(items, n_items, key):
    """Shell sort of items[:n_items] by key[item]; compiles in a tenth of the time of numpy's sort."""
    gap = ONE
    while gap < n_items // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n_items):
            item = items[i]
            j = i
            while j >= gap and key[items[j - gap]] > key[item]:
                items[j] = items[j - gap]
                j -= gap
            items[j] = item
        gap //= 3


@inner
def _order_by_share(present, n_present, packed, total, share):
    """Sort codes by total / weight: the mean of the target, or the share of the node's most common class."""
    for i in range(n_present):
        share[present[i]] = total[present[i]] / (packed[present[i]] & _WEIGHT)
    _sort_by_key(present, n_present, share)


@inner
def _scan_ordered(hand, histograms, node_packed, node_mean, min_leaf):
    """Best cut of an ordered feature by variance reduction, over the codes of histogram number `hand`, which is
    cleared on the way.

    Returns (gain, low code, high code, side of missing values: 0 left, 1 right, -1 none in this node, weight on the
    left). No branch depends on a gain: the processor could not predict it. Gains are compared by their bits, which are
    in the order of the numbers.
    """
    mask, packed, total = histograms
    first, marks = np.uint64(hand * CODES), np.uint64(hand * 4)
    n_node, node_weight = node_packed >> 32, np.float64(node_packed & _WEIGHT)
    missing_packed, missing_total = packed[first], total[first]
    packed[first], total[first] = 0, 0.0
    mask[marks] &= ~_U1
    n_missing = missing_packed >> 32
    left_packed, left_total, low = ZERO, 0.0, ZERO
    best, best_cut = ZERO, ZERO
    for word in range(_U4):
        bits = mask[marks + word]
        mask[marks + word] = 0
        while bits != _U0:
            code = np.int64(word << _U6) + _lowest_bit(bits)
            place = first + np.uint64(code)
            bits &= bits - _U1
            n_left, left_weight = left_packed >> 32, left_packed & _WEIGHT
            # a cut between `low` and `code`, missing values on the right
            weight = np.float64(left_weight)
            deviation = left_total - node_mean * weight
            gain = _bits_of(deviation * deviation / (weight * (node_weight - weight)))
            is_best = (n_left >= min_leaf) & (n_node - n_left >= min_leaf) & (gain > best + _AHEAD_BITS)
            cut = (left_weight << 17) | (low << 8) | code
            best, best_cut = (gain if is_best else best), (cut if is_best else best_cut)
            if n_missing > 0:  # the same cut, missing values on the left; at low = 0 they are there alone
                weight = np.float64((left_packed + missing_packed) & _WEIGHT)
                deviation = left_total + missing_total - node_mean * weight
                gain = _bits_of(deviation * deviation / (weight * (node_weight - weight)))
                n_both = n_left + n_missing
                is_best = (n_both >= min_leaf) & (n_node - n_both >= min_leaf) & (gain > best + _AHEAD_BITS)
                cut |= _MISSING_LEFT
                best, best_cut = (gain if is_best else best), (cut if is_best else best_cut)
            left_packed += packed[place]
            left_total += total[place]
            packed[place], total[place] = 0, 0.0
            low = code
    side = -1 if n_missing == 0 else 0 if best_cut & _MISSING_LEFT else 1
    return _number_of(best) * node_weight, (best_cut >> 8) & 255, best_cut & 255, side, best_cut >> 17


@inner
def _scan_sequence(sequence, n_codes, packed, total, node_packed, node_mean, min_leaf):
    """Best cut of a sequence of codes by variance reduction: (gain, number of codes on the left; 0 for none)."""
    n_node, node_weight = node_packed >> 32, np.float64(node_packed & _WEIGHT)
    left_packed, left_total = ZERO, 0.0
    best_gain, best_cut = 0.0, ZERO
    for i in range(n_codes - 1):
        left_packed += packed[sequence[i]]
        left_total += total[sequence[i]]
        n_left = left_packed >> 32
        if n_left >= min_leaf and n_node - n_left >= min_leaf:
            weight = np.float64(left_packed & _WEIGHT)
            deviation = left_total - node_mean * weight
            gain = deviation * deviation * node_weight / (weight * (node_weight - weight))
            if gain > _AHEAD * best_gain:
                best_gain, best_cut = gain, i + 1
    return best_gain, best_cut


@inner
def _scan_classes(sequence, n_codes, packed, grouped, group_end, row_class, row_packed, left, node_counts, node):
    """The same by Gini impurity. Moves rows of one code after the other to the left; cost does not grow with the number
    of classes. `grouped` lists the node's rows by code; left: zeros; square: sum of the squared class weights."""
    node_packed, square, min_leaf = node
    best, best_cut = ZERO, ZERO
    n_node, node_weight = node_packed >> 32, node_packed & _WEIGHT
    # shared: sum over classes of weight on the left times weight in all
    left_packed, left_square, shared = ZERO, ZERO, ZERO
    for i in range(n_codes - 1):
        code = sequence[i]
        moved = group_end[code]
        for g in range(moved - (packed[code] >> 32), moved):
            row = grouped[g]
            weight = row_packed[row] & _WEIGHT
            klass = row_class[row]
            left_square += weight * (2 * left[klass] + weight)
            shared += weight * node_counts[klass]
            left[klass] += weight
        left_packed += packed[code]
        n_left, left_weight = left_packed >> 32, left_packed & _WEIGHT
        gain = left_square / left_weight + (square - 2 * shared + left_square) / (node_weight - left_weight)
        bits = _bits_of(gain - square / node_weight)  # a number below 0 has bits below 0
        is_best = (n_left >= min_leaf) & (n_node - n_left >= min_leaf) & (bits > best + _AHEAD_BITS)
        best, best_cut = (bits if is_best else best), (i + 1 if is_best else best_cut)
    if left.shape[0] <= n_node:  # whatever is shorter, in one plain loop
        for klass in range(left.shape[0]):
            left[klass] = 0
    else:
        for g in range(n_node):
            left[row_class[grouped[g]]] = 0
    return _number_of(best), best_cut


@exact
def _move_code(joint, at, left, node_counts):
    """Add the weights of one code's classes to the left; returns by how much the squares on the left and the products
    of left and node grow."""
    square, shared = 0.0, 0.0
    for klass in range(np.uint64(left.shape[0])):
        weight = joint[at + klass]
        before = left[klass]
        square += weight * (2.0 * before + weight)
        shared += weight * node_counts[klass]
        left[klass] = before + weight
    return square, shared


@inner
def _scan_joint(sequence, n_codes, packed, joint, n_classes, left, node_counts, node):
    """The same from the weights of all (code, class) pairs, for large nodes and few classes; all weights as floats."""
    node_packed, node_square, min_leaf = node
    best, best_cut = ZERO, ZERO
    n_node, node_weight = node_packed >> 32, np.float64(node_packed & _WEIGHT)
    left_packed, left_square, shared, square = ZERO, 0.0, 0.0, np.float64(node_square)
    for i in range(n_codes - 1):
        left_packed += packed[sequence[i]]
        more_square, more_shared = _move_code(joint, np.uint64(sequence[i] * n_classes), left, node_counts)
        left_square += more_square
        shared += more_shared
        n_left, left_weight = left_packed >> 32, np.float64(left_packed & _WEIGHT)
        gain = left_square / left_weight + (square - 2.0 * shared + left_square) / (node_weight - left_weight)
        bits = _bits_of(gain - square / node_weight)  # a number below 0 has bits below 0
        is_best = (n_left >= min_leaf) & (n_node - n_left >= min_leaf) & (bits > best + _AHEAD_BITS)
        best, best_cut = (bits if is_best else best), (i + 1 if is_best else best_cut)
    for klass in range(n_classes):
        left[klass] = 0.0
    return _number_of(best), best_cut


@inner
def _write_set(sequence, n_codes, cut, packed, node_packed, right_set):
    """The bit set of the codes that go right; codes the node has never met follow the heavier side."""
    left_weight = ZERO
    for i in range(cut):
        left_weight += packed[sequence[i]] & _WEIGHT
    default = -1 if 2 * left_weight < (node_packed & _WEIGHT) else 0
    for word in range(4):
        right_set[word] = default
    for i in range(n_codes):
        code = sequence[i] & 255
        bit = 1 << (code & 63)
        if i < cut:
            right_set[code >> 6] &= ~bit
        else:
            right_set[code >> 6] |= bit


@inner
def _order_rule(low, high, side, left_weight, node_packed):
    """(threshold, shift) of the cut of an ordered feature between two codes. `side` tells where missing values go; if
    the node has met none they follow the heavier side. low = 0: only missing values go left."""
    if side < 0:
        side = 1 if 2 * left_weight < (node_packed & _WEIGHT) else 0
    threshold = (low + high) >> 1 if low > 0 else 0
    return threshold - side, side


@inner
def _goes_right(code, threshold, shift, n_set_words, words, child):
    if n_set_words == 0:
        return np.int64(((code - shift) & 255) > threshold)
    return (words[child + (code >> 6)] >> (code & 63)) & 1


@inner
def _draw_feature(state, candidates, n_looked):
    """One of the features that have not been looked at; it changes places with the first of them."""
    pick = n_looked + draw_below(state, candidates.shape[0] - n_looked)
    feature = candidates[pick]
    candidates[pick] = candidates[n_looked]
    candidates[n_looked] = feature
    return np.int64(feature)


@inner
def _is_constant(matrix, base, row_of, start, end):
    first = matrix[base + row_of[start]]
    i = start + _U1
    while i < end and matrix[base + row_of[i]] == first:
        i += _U1
    return i == end


@inner
def _split_values(
    table, stride, features, n_tried, state, row_of, start, end, node_packed, node_mean, least_gain, min_leaf, scratch
):
    """Best split of rows start..end by variance reduction: (gain, feature or -1, threshold, shift); `best_set` where
    the feature is a set. Looks at `n_tried` features, and at further ones until there is a split at all."""
    candidates, slot_of, is_categorical, n_codes = features
    histograms, share, present, hand_feature, hand_base, best_set = scratch
    mask, packed, total = histograms
    best_gain, best_feature, best_threshold, best_shift = least_gain, MINUS_ONE, ZERO, ZERO
    n_features, n_looked = candidates.shape[0], ZERO
    is_few = end - start < _U128
    while n_looked < n_features and (n_looked < n_tried or best_feature < 0):
        n_hand, n_drawn = ZERO, n_tried if n_looked < n_tried else n_looked + 1
        while n_hand < HAND and n_looked < n_drawn:
            feature = _draw_feature(state, candidates, n_looked)
            n_looked += 1
            base = np.uint64(slot_of[feature]) * stride
            if not _is_constant(table[0], base, row_of, start, end):
                hand_feature[n_hand], hand_base[n_hand] = feature, base
                n_hand += 1
        if n_hand >= HAND - 1:
            if n_hand == HAND - 1:  # one of them twice is faster than three one by one
                hand_base[n_hand] = hand_base[0]
            _fill_four(table, hand_base, row_of, start, end, histograms, is_few)
            if n_hand == HAND - 1:
                _clear_last(histograms)
        else:
            for hand in range(n_hand):
                _fill_one(table, hand_base[hand], row_of, start, end, hand, histograms)
        for hand in range(n_hand):
            feature = hand_feature[hand]
            if n_hand >= HAND - 1 and not is_few:
                _mark_codes(n_codes[feature], hand, histograms)
            if not is_categorical[feature]:
                gain, low, high, side, left_weight = _scan_ordered(hand, histograms, node_packed, node_mean, min_leaf)
                if gain > _AHEAD * best_gain:
                    best_gain, best_feature = gain, feature
                    best_threshold, best_shift = _order_rule(low, high, side, left_weight, node_packed)
                continue
            n_present = _list_codes(mask, hand, present)
            _order_by_share(present, n_present, packed, total, share)
            gain, cut = _scan_sequence(present, n_present, packed, total, node_packed, node_mean, min_leaf)
            if gain > _AHEAD * best_gain:
                best_gain, best_feature, best_threshold, best_shift = gain, feature, ZERO, ZERO
                _write_set(present, n_present, cut, packed, node_packed, best_set)
            for i in range(n_present):
                packed[present[i]], total[present[i]] = 0, 0.0
    return best_gain, best_feature, best_threshold, best_shift


@inner
def _split_classes(
    table,
    stride,
    features,
    n_tried,
    state,
    row_of,
    start,
    end,
    node_packed,
    least_gain,
    min_leaf,
    scratch,
    counting,
):
    """The same by Gini impurity, for more than two classes."""
    candidates, slot_of, is_categorical, n_codes = features
    matrix, row_packed, _, row_class = table
    (mask, packed, total), share, present, _, _, best_set = scratch
    node_counts, left, node_weights, left_weights, joint, grouped, group_end = counting
    n_classes, n_node = node_weights.shape[0], np.int64(end - start)
    node_square, majority, hand = ZERO, ZERO, ZERO
    for klass in range(n_classes):
        node_weights[klass] = np.float64(node_counts[klass])
        node_square += node_counts[klass] * node_counts[klass]
        majority = klass if node_counts[klass] > node_counts[majority] else majority
    best_gain, best_feature, best_threshold, best_shift = least_gain, MINUS_ONE, ZERO, ZERO
    n_looked = ZERO
    while n_looked < candidates.shape[0] and (n_looked < n_tried or best_feature < 0):
        feature = _draw_feature(state, candidates, n_looked)
        n_looked += 1
        base = np.uint64(slot_of[feature]) * stride
        if _is_constant(matrix, base, row_of, start, end):
            continue
        use_joint = joint.shape[0] > 0 and n_codes[feature] * n_classes <= _PAIRS_PER_ROW * n_node
        if use_joint:
            width = np.uint64(n_classes)
            for i in range(start, end):
                row = row_of[i]
                code = np.uint64(matrix[base + row])
                packed[code] += row_packed[row]
                joint[code * width + row_class[row]] += np.float64(row_packed[row] & _WEIGHT)
            _mark_codes(n_codes[feature], hand, scratch[0])
        else:
            for i in range(start, end):
                code = np.uint64(matrix[base + row_of[i]])
                mask[code >> _U6] |= _U1 << (code & _U63)
                packed[code] += row_packed[row_of[i]]
        n_present = _list_codes(mask, hand, present)
        if not use_joint:
            place = ZERO
            for i in range(n_present):
                group_end[present[i]] = place
                place += packed[present[i]] >> 32
            for i in range(start, end):
                code = np.uint64(matrix[base + row_of[i]])
                grouped[group_end[code]] = row_of[i]
                group_end[code] += 1
        if is_categorical[feature]:
            for i in range(n_present):
                code = present[i]
                if use_joint:
                    total[code] = joint[code * n_classes + majority]
                else:
                    for g in range(group_end[code] - (packed[code] >> 32), group_end[code]):
                        if row_class[grouped[g]] == majority:
                            total[code] += row_packed[grouped[g]] & _WEIGHT
            _order_by_share(present, n_present, packed, total, share)

        # Ordered features with missing values: a pass with missing first (left), one without it (right).
        has_missing = present[0] == 0 and not is_categorical[feature]
        for scan_pass in range(2 if has_missing else 1):
            if scan_pass == 1:
                for i in range(1, n_present):
                    present[i - 1] = present[i]
                present[n_present - 1] = 0
            n_moved = n_present - scan_pass
            node = (node_packed, node_square, min_leaf)
            if use_joint:
                gain, cut = _scan_joint(present, n_moved, packed, joint, n_classes, left_weights, node_weights, node)
            else:
                gain, cut = _scan_classes(
                    present, n_moved, packed, grouped, group_end, row_class, row_packed, left, node_counts, node
                )
            if gain > _AHEAD * best_gain:
                best_gain, best_feature = gain, feature
                if is_categorical[feature]:
                    best_threshold, best_shift = ZERO, ZERO
                    _write_set(present, n_present, cut, packed, node_packed, best_set)
                else:
                    left_weight = ZERO
                    for i in range(cut):
                        left_weight += packed[present[i]] & _WEIGHT
                    side = scan_pass if has_missing else -1
                    best_threshold, best_shift = _order_rule(
                        present[cut - 1], present[cut], side, left_weight, node_packed
                    )
        for i in range(n_present):
            packed[present[i]], total[present[i]] = 0, 0.0
            if use_joint:
                for klass in range(n_classes):
                    joint[present[i] * n_classes + klass] = 0.0
    return best_gain, best_feature, best_threshold, best_shift


# ------------------------------------------------------------------------------------------------------- down the trees


@inner
def _descend(columns, n_rows, words, word_base, n_words, leaf_base, workspace, leaves):
    """Leaf of each row in one tree of n_words; columns are codes, feature after feature, and how far apart these are;
    leaves are counted from leaf_base.

    Nodes that many rows reach are passed by all rows at once, node by node, comparing bytes with vector instructions.
    Where that would take longer than going on with the few rows of a node, lists of rows are split at every node
    further down.
    """
    slots, nodes, ends, order, stack = workspace
    root = np.uint64(word_base)
    n_slots = _pass_top(columns, n_rows, words, root, n_words, slots, nodes, ends)
    slot = ZERO
    while slot < n_slots and words[nodes[slot]] & _ULEAF:
        slot += 1
    if slot == n_slots:
        for slot in range(n_slots):
            ends[slot] = leaf_base + np.int64(words[nodes[slot]] >> _U32)
        for i in range(n_rows):
            leaves[i] = ends[slots[i]]
        return
    for slot in range(n_slots + 1):
        ends[slot] = 0
    for i in range(n_rows):
        ends[np.int64(slots[i]) + 1] += 1
    for slot in range(n_slots):
        ends[slot + 1] += ends[slot]
    for i in range(n_rows - 1, -1, -1):  # from behind: `ends` become starts
        slot = np.int64(slots[i]) + 1
        ends[slot] -= 1
        order[ends[slot]] = i
    for slot in range(n_slots):
        end = ends[slot + 2] if slot + 2 <= n_slots else n_rows
        if ends[slot + 1] < end:
            _split_lists(
                columns, n_rows, words, root, nodes[slot], leaf_base, ends[slot + 1], end, order, stack, leaves
            )


@inner
def _pass_top(columns, n_rows, words, root, n_words, slots, nodes, crowd):
    """Send all rows through the nodes of a tree that many of them reach, through all of a small tree: slots[i] is then
    the number of row i's node in `nodes`. Returns how many there are. Some rows are asked on the way where they are."""
    (codes, stride), u_rows = columns, np.uint64(n_rows)
    for i in range(n_rows):
        slots[i] = 0
    nodes[0] = root
    is_small = n_words < 2 * SLOTS and n_words <= _WORDS_PER_ROW * n_rows
    step = 1 + n_rows // _ASKED
    n_slots, n_before = ONE, ZERO
    while n_slots > n_before:
        n_before = n_slots
        for slot in range(n_before):
            crowd[slot] = _ASKED if is_small else 0
        for i in range(0, 0 if is_small else n_rows, step):
            crowd[slots[i]] += 1
        for slot in range(n_before):
            word = words[nodes[slot]]
            if word & _ULEAF or crowd[slot] < _CROWD or n_slots == SLOTS:
                continue
            child, n_set_words = root + (word >> _U32), (word >> _U25) & _U7
            column = (word & _U0xFFFF) * stride
            old, new = np.uint8(slot), np.uint8(n_slots)
            if n_set_words == _U0:
                threshold, shift = (word >> _U16) & _U255, (word >> _U24) & _U1
                low, span = np.uint8((threshold + shift + _U1) & _U255), np.uint8(_U254 - threshold)
                if threshold < _U255:
                    _change_slots(codes, column, u_rows, slots, low, span, old, new)
                nodes[slot], nodes[n_slots] = child, child + _U1
            else:
                n_right, n_left = _count_runs(words[child]), _count_runs(~words[child])
                n_runs = n_right if n_right < n_left else n_left
                if n_set_words > _U1 or n_runs * _CROWD > crowd[slot]:  # lists are faster
                    continue
                is_right = n_right < n_left
                _pass_set(codes, column, u_rows, words[child] if is_right else ~words[child], slots, old, new)
                nodes[slot] = child + _U1 + np.uint64(not is_right)
                nodes[n_slots] = child + _U1 + np.uint64(is_right)
            n_slots += 1
    return n_slots


@inner
def _change_slots(codes, column, n_rows, slots, low, span, old, new):
    """Rows of slot `old` with codes from low to low + span go to slot `new`; becomes vector instructions."""
    for i in range(n_rows):
        slot = slots[i]
        slots[i] = new if (np.uint8(codes[column + i] - low) <= span) & (slot == old) else slot


@inner
def _pass_set(codes, column, n_rows, listed, slots, old, new):
    """The same for codes below 64 whose bits are 1 in `listed`, which are not all, run after run."""
    low = _U0
    while listed != _U0:
        start = np.uint64(_lowest_bit(listed))
        listed >>= start
        n_codes = np.uint64(_lowest_bit(~listed))
        _change_slots(codes, column, n_rows, slots, np.uint8(low + start), np.uint8(n_codes - _U1), old, new)
        low += start + n_codes
        listed >>= n_codes


@inner
def _count_runs(bits):
    """How many runs of 1 there are."""
    starts, n_runs = bits & ~(bits << _U1), ZERO
    while starts != _U0:
        starts &= starts - _U1
        n_runs += 1
    return n_runs


@inner
def _split_lists(columns, n_rows, words, root, node, leaf_base, first, last, order, stack, leaves):
    """Send the rows order[first:last] from a node to their leaves. Each node splits its list in two, from one half of
    `order` into the other: left ones from the front, right ones from behind; every row is written to both."""
    (codes, stride), half = columns, np.uint64(n_rows)
    at, start, end, here, top = node, np.uint64(first), np.uint64(last), _U0, ZERO
    while True:
        word = words[at]
        while not word & _ULEAF:
            child, n_set_words = root + (word >> _U32), (word >> _U25) & _U7
            column, there = (word & _U0xFFFF) * stride, half - here
            left, right = there + start, there + end - _U1
            left_word, right_word = words[child + n_set_words], words[child + n_set_words + _U1]
            if left_word & right_word & _ULEAF and n_set_words <= _U1:  # rows are at their ends
                leaf = leaf_base + np.int64(left_word >> _U32)
                step = leaf_base + np.int64(right_word >> _U32) - leaf
                if n_set_words == _U0:
                    threshold, shift = (word >> _U16) & _U255, (word >> _U24) & _U1
                    for i in range(here + start, here + end):
                        row = order[i]
                        goes_right = ((np.uint64(codes[column + row]) - shift) & _U255) > threshold
                        leaves[row] = leaf + np.int64(goes_right) * step
                else:
                    right_set = words[child]
                    for i in range(here + start, here + end):
                        row = order[i]
                        goes_right = (right_set >> (np.uint64(codes[column + row]) & _U63)) & _U1
                        leaves[row] = leaf + np.int64(goes_right) * step
                start = end
                break
            if n_set_words == _U0:
                threshold, shift = (word >> _U16) & _U255, (word >> _U24) & _U1
                for i in range(here + start, here + end):
                    row = order[i]
                    goes_right = np.uint64(((np.uint64(codes[column + row]) - shift) & _U255) > threshold)
                    order[left] = order[right] = row
                    left += _U1 - goes_right
                    right -= goes_right
            elif n_set_words == _U1:
                right_set = words[child]
                for i in range(here + start, here + end):
                    row = order[i]
                    goes_right = (right_set >> (np.uint64(codes[column + row]) & _U63)) & _U1
                    order[left] = order[right] = row
                    left += _U1 - goes_right
                    right -= goes_right
            else:
                for i in range(here + start, here + end):
                    row = order[i]
                    code = np.uint64(codes[column + row])
                    goes_right = (words[child + (code >> _U6)] >> (code & _U63)) & _U1
                    order[left] = order[right] = row
                    left += _U1 - goes_right
                    right -= goes_right
            here, middle = there, left - there
            at = child + n_set_words
            if middle == start:
                at += _U1
            elif middle < end:
                stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = at + _U1, middle, end, here
                top += 4
                end = middle
            word = words[at]
        leaf = leaf_base + np.int64(word >> _U32)
        for i in range(here + start, here + end):
            leaves[order[i]] = leaf
        if top == 0:
            return
        top -= 4
        at, start, end, here = stack[top], stack[top + 1], stack[top + 2], stack[top + 3]


# ------------------------------------------------------------------------------------------------------------ one tree


@inner
def _gather(column, rows, n_rows, out):
    for i in range(np.uint64(n_rows)):
        out[i] = column[rows[i]]


@inner
def _count_classes(table, row_of, start, end, counts):
    """Add the weights of rows to the counts of their classes."""
    _, row_packed, _, row_class = table
    for i in range(start, end):
        counts[row_class[row_of[i]]] += row_packed[row_of[i]] & _WEIGHT


@merged
def _grow_tree(
    table,
    features,
    n_rows,
    capacity,
    n_classes,
    center,
    state,
    n_tried,
    min_leaf,
    max_depth,
    scratch,
    counting,
    lists,
    stack,
    words,
    leaf_numbers,
    entries,
    n_entries,
    importances,
):
    """Grow one tree on the first rows of a table: codes, count and weight, weight times target, class. Its entries
    follow the `n_entries` that there are. Returns how many words and leaves it has, and how many entries there are
    then."""
    matrix, row_packed, row_total, row_class = table
    _, slot_of, is_categorical, n_codes = features
    row_of, spare_of = lists
    leaf_value, leaf_variance = leaf_numbers
    entry_end, entry_class, entry_share = entries
    node_counts, best_set = counting[0], scratch[5]
    has_classes, by_class = n_classes > 0, n_classes > 2
    stride = np.uint64(capacity)
    for row in range(n_rows):
        row_of[row] = row

    n_words, n_leaves = ONE, ZERO
    start, end, depth, word_at = ZERO, n_rows, ZERO, ZERO
    top = ZERO
    while True:
        low_row, high_row = np.uint64(start), np.uint64(end)

        node_packed, node_total = ZERO, 0.0
        for i in range(low_row, high_row):
            node_packed += row_packed[row_of[i]]
            node_total += row_total[row_of[i]]
        node_weight = node_packed & _WEIGHT
        node_mean = node_total / node_weight
        first_row = row_of[low_row]
        differs = low_row + _U1  # the first row that is not like it; most nodes have it early
        if has_classes:
            while differs < high_row and row_class[row_of[differs]] == row_class[first_row]:
                differs += _U1
            least_gain = _TINY * node_weight
        else:
            first_weight = np.float64(row_packed[first_row] & _WEIGHT)
            while differs < high_row:
                mine = row_total[row_of[differs]] * first_weight
                its = row_total[first_row] * np.float64(row_packed[row_of[differs]] & _WEIGHT)
                if abs(mine - its) > _ROUNDING * abs(its):
                    break
                differs += _U1
            least_gain = node_weight * (_ROUNDING * node_mean) * (_ROUNDING * node_mean)

        best_gain, best_feature, best_threshold, best_shift = least_gain, MINUS_ONE, ZERO, ZERO
        if end - start >= 2 * min_leaf and depth < max_depth and differs < high_row:
            if by_class:
                _count_classes(table, row_of, low_row, high_row, node_counts)
                best_gain, best_feature, best_threshold, best_shift = _split_classes(
                    table,
                    stride,
                    features,
                    n_tried,
                    state,
                    row_of,
                    low_row,
                    high_row,
                    node_packed,
                    least_gain,
                    min_leaf,
                    scratch,
                    counting,
                )
                for i in range(low_row, high_row):
                    node_counts[row_class[row_of[i]]] = 0
            else:
                best_gain, best_feature, best_threshold, best_shift = _split_values(
                    table,
                    stride,
                    features,
                    n_tried,
                    state,
                    row_of,
                    low_row,
                    high_row,
                    node_packed,
                    node_mean,
                    least_gain,
                    min_leaf,
                    scratch,
                )

        if best_feature < 0:
            words[word_at] = LEAF | (n_leaves << 32)
            if has_classes:
                _count_classes(table, row_of, low_row, high_row, node_counts)
                n_entries = _write_entries(
                    node_counts,
                    n_classes,
                    row_class,
                    row_of,
                    start,
                    end,
                    node_weight,
                    entry_class,
                    entry_share,
                    n_entries,
                )
                entry_end[n_leaves] = n_entries
            else:
                value, variance = center + node_mean, 0.0
                if differs < high_row:
                    for i in range(low_row, high_row):
                        weight = np.float64(row_packed[row_of[i]] & _WEIGHT)
                        away = row_total[row_of[i]] / weight - node_mean
                        variance += weight * away * away
                leaf_value[n_leaves] = value if abs(value) > _ROUNDING * abs(center) else 0.0
                leaf_variance[n_leaves] = variance / node_weight
            n_leaves += 1
            if top == 0:
                return n_words, n_leaves, n_entries
            top -= 4
            start, end, depth, word_at = stack[top], stack[top + 1], stack[top + 2], stack[top + 3]
            continue
        importances[best_feature] += best_gain
        child = n_words
        n_set_words = ((n_codes[best_feature] - 1) >> 6) + 1 if is_categorical[best_feature] else 0
        for word in range(n_set_words):
            words[child + word] = best_set[word]
        words[word_at] = (
            best_feature | (best_threshold << 16) | (best_shift << 24) | (n_set_words << 25) | (child << 32)
        )
        n_words += n_set_words + 2

        base = np.uint64(slot_of[best_feature]) * stride
        middle, n_right = low_row, _U0
        for i in range(low_row, high_row):  # every row is written to both sides and kept on one: without a branch
            row = row_of[i]
            code = np.int64(matrix[base + row])
            right = np.uint64(_goes_right(code, best_threshold, best_shift, n_set_words, words, child))
            row_of[middle] = spare_of[n_right] = row
            n_right += right
            middle += _U1 - right
        for i in range(n_right):
            row_of[middle + i] = spare_of[i]

        depth += 1
        word_at = child + n_set_words
        stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = np.int64(middle), end, depth, word_at + 1
        top += 4
        end = np.int64(middle)


@kernel
def grow_trees(
    predictors, target, n_classes, seed, column, first_tree, n_draws, n_tried, min_leaf, max_depth, bench, out
):
    """Grow trees for one target column, as many as there is room for in `out`, and pick the rows to measure their
    fitness on.

    predictors: codes (features, rows) uint8, is_categorical and n_codes per feature, and the features a tree may use;
    target: rows that have one; values float64 per table row (numeric, n_classes = 0) or classes int32 per table row.
    `bench` is room to work in, `out` is where the trees go, one after another; see buffers.py. Returns
    the mean of a numeric target.
    """
    (codes, is_categorical, n_codes, allowed), (rows, values, classes) = predictors, target
    state, times, drawn, source, table, slot_of, candidates, scratch, counting, lists, stack = bench
    (words, word_ends, leaf_ends), leaf_numbers, entries, (judges, n_judges, importances) = out
    (leaf_value, leaf_variance), (entry_end, entry_class, entry_share) = leaf_numbers, entries
    matrix, row_packed, row_total, row_class = table
    n_rows, n_predictors, capacity = rows.shape[0], allowed.shape[0], drawn.shape[0] - 1
    has_classes = n_classes > 0
    center = 0.0
    if not has_classes:
        for i in range(n_rows):
            center += (values[rows[i]] - center) / (i + 1)
    for p in range(n_predictors):
        slot_of[allowed[p]] = p
    features = (candidates, slot_of, is_categorical, n_codes)
    n_words_before, n_leaves_before, n_entries = ZERO, ZERO, ZERO
    word_ends[0] = leaf_ends[0] = 0

    for tree in range(n_judges.shape[0]):
        for p in range(n_predictors):  # their order must not come from the trees grown before in the same task
            candidates[p] = allowed[p]

        open_stream(state, seed, column, first_tree + tree)
        n_sampled = draw_bag(state, n_rows, n_draws, times, drawn)
        for s in range(n_sampled):
            row, weight = rows[drawn[s]], times[drawn[s]]
            source[s] = row
            row_packed[s] = _ONE_ROW + weight
            if has_classes:
                row_class[s] = classes[row]
                row_total[s] = np.float64(weight * classes[row])
            else:
                row_total[s] = weight * (values[row] - center)
        for p in range(n_predictors):
            _gather(codes[allowed[p]], source, n_sampled, matrix[p * capacity :])

        n_words, n_leaves, n_entries = _grow_tree(
            table,
            features,
            n_sampled,
            capacity,
            n_classes,
            center,
            state,
            n_tried,
            min_leaf,
            max_depth,
            scratch,
            counting,
            lists,
            stack,
            words[n_words_before:],
            (leaf_value[n_leaves_before:], leaf_variance[n_leaves_before:]),
            (entry_end[n_leaves_before:], entry_class, entry_share),
            n_entries,
            importances[tree],
        )
        n_judges[tree] = unseen_rows(state, rows, times, n_sampled, judges.shape[1] - 1, judges[tree])
        for s in range(n_sampled):
            times[drawn[s]] = 0
        n_words_before += n_words
        n_leaves_before += n_leaves
        word_ends[tree + 1] = n_words_before
        leaf_ends[tree + 1] = n_leaves_before
    return center


@inner
def _write_entries(counts, n_classes, row_class, row_of, start, end, weight, entry_class, entry_share, n_entries):
    """Append the shares of the classes of rows row_of[start:end], ascending by class, and clear their counts."""
    first = n_entries
    if end - start < 64:  # few rows: gather and sort instead of looking at every class
        for i in range(start, end):
            klass = row_class[row_of[i]]
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
        for klass in range(n_classes):
            if counts[klass] > 0:
                entry_class[n_entries] = klass
                entry_share[n_entries] = counts[klass] / weight
                counts[klass] = 0
                n_entries += 1
    return n_entries


# -------------------------------------------------------------------------------------------------- out-of-bag fitness


@kernel
def measure_fitness(predictors, target, n_classes, center, trees, bench, fitness):
    """Fitness of the trees that `grow_trees` has grown; `center` is what it has returned, `trees` is its `out`, with
    unsigned words and without variances; `bench` is room to work in."""
    (codes, allowed), (values, classes) = predictors, target
    (words, word_ends, leaf_ends), leaf_value, entries, (tree_judges, n_tree_judges, importances) = trees
    entry_end, entry_class, entry_share = entries
    columns, leaves, workspace, tallies = bench
    for tree in range(fitness.shape[0]):
        judges, n_judges = tree_judges[tree], n_tree_judges[tree]
        for p in range(allowed.shape[0]):
            if importances[tree, allowed[p]] > 0.0:  # the tree asks for it
                _gather(codes[allowed[p]], judges, n_judges, columns[allowed[p] * n_judges :])
        n_words = word_ends[tree + 1] - word_ends[tree]
        _descend((columns, np.uint64(n_judges)), n_judges, words, word_ends[tree], n_words, ZERO, workspace, leaves)
        first, last = leaf_ends[tree], leaf_ends[tree + 1]
        if n_classes > 0:
            start = entry_end[first - 1] if first > 0 else ZERO
            tree_entries = (entry_end[first:last], entry_class[start:], entry_share[start:])
            fitness[tree] = _auc(judges, n_judges, leaves, classes, n_classes, start, tree_entries, tallies)
        else:
            fitness[tree] = _r_squared(judges, n_judges, leaves, values, center, leaf_value[first:last])


@inner
def unseen_rows(state, rows, times, n_sampled, max_judged, judges):
    """The rows that were not drawn; when there are more than `max_judged`, that many of them at random. Returns how
    many there are; `judges` has room for one more."""
    n_rows = rows.shape[0]
    n_unseen = n_rows - n_sampled
    found = _U0
    if n_unseen <= max_judged:
        for position in range(n_rows):
            judges[found] = rows[position]
            found += np.uint64(times[position] == 0)
    else:
        while found < np.uint64(max_judged):
            position = draw_below(state, n_rows)
            judges[found] = rows[position]
            found += np.uint64(times[position] == 0)
    return np.int64(found)


@inner
def _r_squared(judges, n_judges, leaves, values, center, leaf_value):
    """Coefficient of determination over the rows that judge; NaN below two rows, 0 or 1 for a constant target."""
    if n_judges < 2:
        return np.nan
    mean = 0.0
    for i in range(n_judges):
        mean += (values[judges[i]] - center - mean) / (i + 1)
    around_mean, around_leaf = 0.0, 0.0
    for i in range(n_judges):
        value = values[judges[i]]
        away = value - center - mean
        missed = value - leaf_value[leaves[i]]
        around_mean += away * away
        around_leaf += missed * missed
    if around_mean == 0.0:
        return 1.0 if around_leaf == 0.0 else 0.0
    return 1.0 - around_leaf / around_mean


@inner
def _auc(judges, n_judges, leaves, classes, n_classes, start, entries, tallies):
    """Area under the ROC curve, one class against the rest, weighted by class share; NaN when only one class occurs.
    Where entries end is counted from `start` entries before the first one.

    All rows of a leaf have the same score, and it is 0 for all classes that the leaf does not hold: it is enough to
    count rows per leaf and per (leaf, class) entry, and to sort the entries.
    """
    entry_end, entry_class, entry_share = entries
    rows_in_leaf, rows_of_entry, leaf_of_entry, rows_of_class, keys, order = tallies
    n_entries = ZERO
    for klass in range(n_classes):
        rows_of_class[klass] = 0
    for leaf in range(entry_end.shape[0]):
        rows_in_leaf[leaf] = 0
        while n_entries < entry_end[leaf] - start:
            leaf_of_entry[n_entries], rows_of_entry[n_entries] = leaf, 0
            order[n_entries] = n_entries
            keys[n_entries] = entry_class[n_entries] + 0.5 * entry_share[n_entries]
            n_entries += 1
    for i in range(n_judges):
        klass = classes[judges[i]]
        leaf = leaves[i]
        rows_in_leaf[leaf] += 1
        rows_of_class[klass] += 1
        low = entry_end[leaf - 1] - start if leaf > 0 else ZERO
        entry = _find_class(entry_class, low, entry_end[leaf] - start, klass)
        if entry >= 0:
            rows_of_entry[entry] += 1
    _sort_by_key(order, n_entries, keys)

    area, weight = 0.0, 0.0
    at = ZERO
    for klass in range(n_classes):
        begin = at
        listed_rows, listed_hits = ZERO, ZERO
        while at < n_entries and entry_class[order[at]] == klass:
            listed_rows += rows_in_leaf[leaf_of_entry[order[at]]]
            listed_hits += rows_of_entry[order[at]]
            at += 1
        n_hits = rows_of_class[klass]
        n_others = n_judges - n_hits
        if n_hits == 0 or n_others == 0:
            continue
        hits = n_hits - listed_hits  # rows in leaves without this class: score 0, below all listed ones
        others = n_judges - listed_rows - hits
        below = np.float64(others)
        ordered = hits * (0.5 * others)
        i = begin
        while i < at:
            j, hits, others = i, ZERO, ZERO
            while j < at and keys[order[j]] == keys[order[i]]:
                hits += rows_of_entry[order[j]]
                others += rows_in_leaf[leaf_of_entry[order[j]]] - rows_of_entry[order[j]]
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


# ----------------------------------------------------------------------------------------------------------- all trees


@kernel
def route_and_average(columns, words, word_starts, leaf_starts, workspace, leaves, says, in_bag, heard):
    """Send rows down all trees; columns as in `_descend`. leaves[tree, i] is then the leaf of row i in the tree,
    counted over all trees; it may be that of the last tree only, when there is room for no more.

    Numeric target, unless there is nothing to hear (`says`, the values and variances of all leaves, are empty): out[0]
    is the mean of the trees, out[1] their standard deviation, out[2] the mean variance within the leaves. Trees with
    in_bag[tree, i] are left out for row i (in_bag may be empty); a row without any tree gets NaN. `heard` are n_votes,
    first and out; n_votes and out come as zeros. first[i] is set to what the first tree says: of differences from it
    sums are taken, which are exactly 0 where all agree.
    """
    (leaf_value, leaf_variance), (n_votes, first, out) = says, heard
    n_trees, n_rows = word_starts.shape[0], leaves.shape[1]
    for tree in range(n_trees):
        end = word_starts[tree + 1] if tree + 1 < n_trees else words.shape[0]
        reached = leaves[tree if leaves.shape[0] > 1 else ZERO]
        n_words = end - word_starts[tree]
        _descend(columns, n_rows, words, word_starts[tree], n_words, leaf_starts[tree], workspace, reached)
        if leaf_value.shape[0] == 0:
            continue
        if in_bag.shape[0] > 0:
            _hear_some(reached, in_bag[tree], leaf_value, leaf_variance, n_votes, first, out[0], out[1], out[2])
        else:
            _hear_all(reached, tree == 0, leaf_value, leaf_variance, first, out[0], out[1], out[2])
    for i in range(out.shape[1]):
        votes = n_votes[i] if in_bag.shape[0] > 0 else n_trees
        if votes > 0:
            mean = out[0, i] / votes
            out[0, i] = first[i] + mean
            variance = out[1, i] / votes - mean * mean
            out[1, i] = np.sqrt(variance) if variance > 0.0 else 0.0
            out[2, i] /= votes
        else:
            out[0, i] = out[1, i] = out[2, i] = np.nan


@inner
def _hear_all(leaves, is_first, leaf_value, leaf_variance, first, total, squares, within):
    """Add what one tree says of every row."""
    for i in range(leaves.shape[0]):
        leaf = np.uint64(leaves[i])
        if is_first:
            first[i] = leaf_value[leaf]
        difference = leaf_value[leaf] - first[i]
        total[i] += difference
        squares[i] += difference * difference
        within[i] += leaf_variance[leaf]


@inner
def _hear_some(leaves, is_out, leaf_value, leaf_variance, n_votes, first, total, squares, within):
    """The same, but of rows that the tree has not seen."""
    for i in range(leaves.shape[0]):
        if is_out[i]:
            continue
        leaf = np.uint64(leaves[i])
        if n_votes[i] == 0:
            first[i] = leaf_value[leaf]
        n_votes[i] += 1
        difference = leaf_value[leaf] - first[i]
        total[i] += difference
        squares[i] += difference * difference
        within[i] += leaf_variance[leaf]


# ---------------------------------------------------------------------------------------------------------- validation


@kernel
def check_tree(words, n_leaves, n_codes, is_categorical, is_node, is_taken, leaf_met):
    """Whether words are one well-formed tree over these features: every word is reached once, every leaf number from 0
    to n_leaves - 1 occurs once. Children lie behind their parent, so there are no cycles. is_node and is_taken are
    zeros, as many as words, leaf_met as many as leaves."""
    n_words = words.shape[0]
    if n_words == 0:
        return False
    is_node[0] = is_taken[0] = 1
    n_taken, n_met = 1, 0
    for at in range(n_words):
        if not is_node[at]:
            continue
        word = words[at]
        if word < 0 or (word >> 29) & 7:
            return False
        child = word >> 32
        if word & LEAF:
            if word & 0xFFFFFFFF != LEAF or child >= n_leaves or leaf_met[child]:
                return False
            leaf_met[child] = 1
            n_met += 1
            continue
        feature = word & 0xFFFF
        if feature >= n_codes.shape[0] or n_codes[feature] == 0:  # 0: a feature this tree must not use
            return False
        n_set_words = (word >> 25) & 7
        expected_words = ((n_codes[feature] - 1) >> 6) + 1 if is_categorical[feature] else 0
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
