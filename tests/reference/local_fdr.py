"""Probabilities of rows from p-values, by the formulas as they are written in books."""

import math


def ordinary_share(p_values):
    """Storey's estimate at 1/2, with one more count so that it is never 0."""
    return min(1.0, (1 + sum(p > 0.5 for p in p_values)) / (0.5 * len(p_values)))


def falling_density(p_values, p, least=0.0):
    """Grenander's estimate at one of the p-values: the smallest over all starts below it of the steepest slope to any
    end from it on, along the distribution function, which stays below the line that ends with the slope `least`."""
    n = len(p_values)
    points = sorted({0.0, 1.0, *p_values})

    def height(x):
        return min(sum(q <= x for q in p_values) / n, 1 - least * (1 - x)) if x > 0 else 0.0

    return min(
        max((height(end) - height(start)) / (end - start) for end in points if end >= p)
        for start in points
        if start < p
    )


def usual_density(p):
    """The mean over k from 0 to 1 of k p^(k - 1), as a sum."""
    steps = 20_000
    return math.fsum(k * p ** (k - 1) for k in ((step + 0.5) / steps for step in range(steps))) / steps


def anomaly_probability(p_values, n_calibration, share=None):
    """Of every row of a table."""
    if len(p_values) < 100:
        prior = 0.01 if share is None else share
        return [
            prior * usual_density(p) / (prior * usual_density(p) + 1 - prior) if p < 1 else prior / (2 - prior)
            for p in p_values
        ]
    ordinary = ordinary_share(p_values) if share is None else 1 - share
    least = 0.0 if share is None else ordinary
    lowest = min(1 - ordinary, math.sqrt(1 / len(p_values) + 1 / n_calibration))
    return [max(lowest, 1 - ordinary / falling_density(p_values, p, least)) for p in p_values]
