"""The row score by its definition: one row, one part, one value at a time."""

import math


def tail_rarity(known, value, share=0.1, fewest=10):
    """-log10 of the share of known values at least as high; above the highest tenth, an exponential tail."""
    known = sorted(known)
    n = len(known)
    by_rank = math.log10((n + 1) / (sum(other >= value for other in known) + 1))
    if n < 2:
        return by_rank
    n_tail = min(max(fewest, int(share * n)), n - 1)
    start = known[n - n_tail - 1]
    mean = math.fsum(other - start for other in known[n - n_tail :]) / n_tail
    if mean <= 0:
        return by_rank
    at_start = math.log10((n + 1) / (n_tail + 1))
    if value <= start:
        return min(by_rank, at_start)
    return at_start + (value - start) / mean / math.log(10)


def number_rarity(known, value, own=False):
    """How far out a number is among others, on either side; `own`: the value is one of them and does not count."""
    if math.isnan(value) or len(known) < 2:
        return 0.0
    others = sorted(known)
    if own:
        others.remove(value)
    n = len(others)
    side = min(sum(other >= value for other in others), sum(other <= value for other in others))
    found = max(0.0, math.log10((n + 1) / (2 * (side + 1))))
    for sign in (1, -1):
        ordered = sorted(sign * other for other in known)
        n_tail = min(max(10, int(0.02 * len(known))), len(known) - 1)
        start = ordered[-n_tail - 1]
        excesses = [other - start for other in ordered[-n_tail:]]
        excess = sign * value - start
        if excess > 0:
            if own:
                excesses.remove(excess)
            mean = math.fsum(excesses) / max(1, n_tail - own)
            if mean > 0:
                at_start = math.log10((len(known) + 1) / (2 * (n_tail + 1)))
                found = max(found, at_start + excess / mean / math.log(10))
    return min(found, 2 * math.log10(len(known) + 1))


def category_rarity(known, value, own=False):
    """How few of the known categories are no commoner; None is a gap."""
    if value is None:
        return 0.0
    count = known.count(value)
    n_no_commoner = sum(1 for other in known if known.count(other) <= count) if count else 0
    return math.log10((len(known) - own + 1) / (max(n_no_commoner - own, 0) + 1))
