"""How much each feature says of a target column: the mutual information of coarse bins, over a sample of rows."""

import numpy as np
from numpy.typing import NDArray

from rfod._forest.jit import ZERO, kernel

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8]
MISSING = 0
MAX_BINS = 16  # of a feature, missing values aside
_WIDTH = MAX_BINS + 1


def n_coarse_bins(n_rows: int) -> int:
    """The cube root of the rows: pairs of bins then hold as many rows as there are bins, on average."""
    return min(MAX_BINS, max(2, round(float(np.cbrt(n_rows)))))


def coarsen(codes: Codes, n_bins: int, is_categorical: bool) -> Codes:
    """Codes as at most `n_bins` bins from 1 on; missing values stay 0. Ordered codes are cut into bins of about as many
    rows each; the most frequent categories have bins of their own, and the others share the last one."""
    rows = np.bincount(codes, minlength=256)
    rows[MISSING] = 0
    present = np.flatnonzero(rows)
    bins = np.zeros(256, dtype=np.uint8)
    if is_categorical:
        by_rows = present[np.argsort(-rows[present], kind="stable")]
        bins[by_rows] = 1 + np.minimum(np.arange(len(by_rows)), n_bins - 1)
    elif len(present) <= n_bins:
        bins[present] = 1 + np.arange(len(present))
    else:
        twice_middle = 2 * np.cumsum(rows)[present] - rows[present]  # whole numbers: no rounding at the cuts
        bins[present] = 1 + np.minimum(twice_middle * n_bins // (2 * rows.sum()), n_bins - 1)
    return bins[codes]


def mutual_information(target: Codes, features: Codes) -> Floats:
    """(features,): mutual information, in nats, of a target (rows,) and each of the features (features, rows), all as
    bins of `coarsen`, over the rows where the target is known; less what is expected of independent columns."""
    known = target != MISSING
    if not known.all():
        target, features = target[known], features[:, known]
    found = np.zeros(len(features))
    if len(target):
        counts = np.arange(len(target) + 1)
        log_counts = counts * np.log(np.maximum(counts, 1))
        joint = np.zeros(_WIDTH * _WIDTH, dtype=np.int64)
        place = target.astype(np.uint16) * np.uint16(_WIDTH)
        _mutual_information(place, np.ascontiguousarray(features), _WIDTH, log_counts, joint, found)
    return found


@kernel
def _mutual_information(place, features, width, log_counts, joint, found):
    """found[f] = (h(pairs) - h(bins of the target) - h(bins of f) + h(rows)) / rows, where h sums c log c over counts
    c; less (bins of the target - 1) * (bins of f - 1) / (2 * rows), of the bins in use (Miller and Madow).

    place: uint16 (rows,), width times the bin of the target; features: uint8 (features, rows); log_counts: float64
    (rows + 1,), c log c; joint: int64 (width * width,), zeros; found: float64 (features,)."""
    n_rows = np.uint64(place.shape[0])
    for f in range(features.shape[0]):
        bins = features[f]
        for i in range(n_rows):
            joint[np.uint64(place[i]) + np.uint64(bins[i])] += 1
        total, n_target, n_feature = log_counts[n_rows], ZERO, ZERO
        for a in range(width):
            count = ZERO
            for b in range(width):
                count += joint[a * width + b]
                total += log_counts[joint[a * width + b]]
            total -= log_counts[count]
            n_target += count > 0
        for b in range(width):
            count = ZERO
            for a in range(width):
                count += joint[a * width + b]
                joint[a * width + b] = 0
            total -= log_counts[count]
            n_feature += count > 0
        found[f] = (total - 0.5 * (n_target - 1) * (n_feature - 1)) / n_rows
