"""How much a feature says of a target: coarse bins and mutual information, by their definitions."""

from math import log

MISSING = 0


def coarse_bins(codes, n_bins, is_categorical):
    """Bins from 1 on of a list of codes; missing ones stay 0. Categories by falling rows, the last bin for the rest;
    ordered codes by the middle of their rows among all rows, or one by one if they are few."""
    known = sorted(code for code in codes if code != MISSING)
    distinct = sorted(set(known))
    bins = {MISSING: 0}
    if is_categorical:
        for place, code in enumerate(sorted(distinct, key=lambda code: (-known.count(code), code))):
            bins[code] = 1 + min(place, n_bins - 1)
    elif len(distinct) <= n_bins:
        bins |= {code: 1 + place for place, code in enumerate(distinct)}
    else:
        for code in distinct:
            below = sum(other < code for other in known)
            bins[code] = 1 + min((2 * below + known.count(code)) * n_bins // (2 * len(known)), n_bins - 1)
    return [bins[code] for code in codes]


def information(target, feature):
    """Sum of p(a, b) log p(a, b) / (p(a) p(b)) over the pairs of bins that occur, of the rows where the target is
    known; less (bins of the target - 1) (bins of the feature - 1) / 2n, what independent columns have on average."""
    pairs = [(a, b) for a, b in zip(target, feature, strict=True) if a != MISSING]
    if not pairs:
        return 0.0
    n_rows, first, second = len(pairs), [a for a, _ in pairs], [b for _, b in pairs]
    total = 0.0
    for a, b in set(pairs):
        share, share_a, share_b = pairs.count((a, b)) / n_rows, first.count(a) / n_rows, second.count(b) / n_rows
        total += share * log(share / (share_a * share_b))
    return total - (len(set(first)) - 1) * (len(set(second)) - 1) / (2 * n_rows)
