"""Which rows to call findings."""

import numpy as np
from numpy.typing import NDArray


def benjamini_hochberg(p_values: NDArray[np.float64], rate: float) -> NDArray[np.bool_]:
    """Findings whose expected share of false ones is at most `rate`; NaN is never a finding."""
    n_tested = int(np.count_nonzero(~np.isnan(p_values)))
    order = np.argsort(p_values, kind="stable")[:n_tested]
    passed = np.flatnonzero(p_values[order] <= rate * np.arange(1, n_tested + 1) / max(n_tested, 1))
    found = np.zeros(len(p_values), dtype=np.bool_)
    if len(passed):
        found[order[: passed[-1] + 1]] = True
    return found


def highest(scores: NDArray[np.float64], n: int) -> NDArray[np.bool_]:
    """The `n` highest scores; ties go to the earlier row."""
    found = np.zeros(len(scores), dtype=np.bool_)
    found[np.argsort(-scores, kind="stable")[: max(n, 0)]] = True
    return found
