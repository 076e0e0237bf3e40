"""How forests are grown."""

from dataclasses import dataclass

import numpy as np

ROWS_PER_TREE = 4096  # drawn for a tree by default
MIN_OUT_OF_BAG = 1024  # rows that the fitness of a tree is measured on, where there are so many


@dataclass(frozen=True)
class GrowthParams:
    """Settings of all forests of a model; sizes are resolved per target column, which may have fewer rows."""

    n_trees: int
    share_kept: float
    max_features: float | int | str | None
    min_samples_leaf: int
    max_depth: int | None
    max_samples: float | int | str | None
    seed: int

    def n_tried(self, n_predictors: int) -> int:
        """Features tried per node."""
        wanted = self.max_features
        if wanted is None:
            n_tried = n_predictors
        elif wanted == "sqrt":
            n_tried = int(n_predictors**0.5)
        elif wanted == "log2":
            n_tried = n_predictors.bit_length() - 1
        elif isinstance(wanted, int | np.integer):
            n_tried = int(wanted)
        else:
            n_tried = int(float(wanted) * n_predictors)
        return min(max(1, n_tried), n_predictors)

    def n_draws(self, n_rows: int) -> int:
        """Rows drawn, with replacement, for one tree."""
        wanted = self.max_samples
        if wanted is None:
            n_draws = n_rows
        elif wanted == "auto":
            n_draws = min(n_rows, ROWS_PER_TREE)
        elif isinstance(wanted, int | np.integer):
            n_draws = min(n_rows, int(wanted))
        else:
            n_draws = round(float(wanted) * n_rows)
        return max(1, n_draws)

    def n_out_of_bag(self, n_rows: int) -> int:
        """Most out-of-bag rows that the fitness of a tree is measured on."""
        return max(self.n_draws(n_rows), MIN_OUT_OF_BAG)

    @property
    def depth_limit(self) -> int:
        """Depth limit as a number."""
        return int(self.max_depth) if self.max_depth is not None else 2**31
