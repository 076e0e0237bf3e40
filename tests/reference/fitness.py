"""How good a tree is on rows it has not seen, and which trees stay."""

import math
from fractions import Fraction

import numpy as np


def r_squared(observed, predicted, most_residual=math.inf):
    """1 - (squared error) / (squared deviation from the mean), larger ones counted as the most; 1 or 0 where nothing
    deviates."""
    if len(observed) < 2:
        return math.nan
    mean = math.fsum(observed) / len(observed)
    deviation = math.fsum(min(abs(value - mean), most_residual) ** 2 for value in observed)
    if len(set(observed)) == 1 or most_residual == 0:
        return 1.0 if list(observed) == list(predicted) or most_residual == 0 else 0.0
    errors = [min(abs(a - b), most_residual) ** 2 for a, b in zip(observed, predicted, strict=True)]
    return 1 - math.fsum(errors) / deviation


def area_under_roc(hits, scores):
    """Share of the pairs (hit, other) in which the hit scores higher; a tie is half a pair."""
    pairs = [(a > b) + (a == b) / 2 for a in scores[hits] for b in scores[~hits]]
    return sum(pairs) / len(pairs)


def weighted_auc(observed, shares):
    """Each class that occurs against the rest, weighted by how often it occurs; NaN if only one does."""
    classes, counts = np.unique(observed, return_counts=True)
    if len(classes) < 2:
        return math.nan
    areas = [area_under_roc(observed == klass, shares[:, klass]) for klass in classes]
    return float(np.average(areas, weights=counts))


def keep_best(fitness, share):
    """Numbers of the best floor(share * trees) trees, at least one: best first, then by number; NaN is worst."""
    n_kept = max(1, math.floor(Fraction(repr(share)) * len(fitness)))
    known = [-math.inf if math.isnan(value) else value for value in fitness]
    return sorted(range(len(fitness)), key=lambda tree: (-known[tree], tree))[:n_kept]
