"""Which trees of a forest stay (section 4.2 of the paper)."""

import numpy as np
from numpy.typing import NDArray


def keep_best(fitness: NDArray[np.float64], share: float) -> NDArray[np.int64]:
    """Trees to keep, best first; ties go to the earlier tree, trees without a fitness (NaN) come last."""
    n_kept = max(1, int(share * len(fitness) + 1e-9))  # 0.29 * 100 is 28.999... in binary
    ranked = np.where(np.isnan(fitness), -np.inf, fitness)
    return np.argsort(-ranked, kind="stable")[:n_kept]
