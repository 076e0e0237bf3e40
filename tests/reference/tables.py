"""Random small tables of ordered and set features, with a target of any kind."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from rfod._forest.forest import Predictors, Target, grow, prune
from rfod.params import Params

NUMERIC, BINARY = 0, 2


@dataclass(frozen=True)
class Case:
    """A binned table, one of its columns as target, and how to grow its forest."""

    predictors: Predictors
    target: Target
    params: Params
    seed: int

    @property
    def features(self):
        """Features that may predict the target."""
        return [int(feature) for feature in np.flatnonzero(self.predictors.column != self.target.column)]

    @property
    def known(self):
        """The target over all table rows, as numbers or as classes."""
        return self.target.classes if self.target.n_classes else self.target.values

    @property
    def n_tried(self):
        return self.params.n_tried(len(self.features))

    @property
    def n_draws(self):
        return self.params.n_draws(len(self.target.rows))

    def block(self):
        """Codes row by row, as trees read them."""
        return np.ascontiguousarray(self.predictors.codes.T)

    def with_params(self, **changes):
        return replace(self, params=replace(self.params, **changes))

    def grow(self, first_tree=0, n_trees=None):
        return grow(
            self.predictors, self.target, self.params, self.seed, first_tree, n_trees or self.params.n_estimators
        )

    def forest(self):
        n_columns = int(self.predictors.column.max()) + 1
        return prune(self.target, [self.grow()], self.predictors, self.params, n_columns)


def make_case(
    *,
    n_rows,
    features,
    n_classes,
    seed,
    n_missing_targets=0,
    coarse=False,
    n_trees=3,
    share_kept=1.0,
    max_features=None,
    min_leaf=1,
    max_depth=None,
    max_samples=None,
):
    """A case; `features` are (is_categorical, number of codes). Column 0 is the target, with a feature in no tree.

    The target depends on the features, with noise; `coarse` numeric targets are small whole numbers with many ties.
    """
    random = np.random.default_rng(seed)
    is_categorical = np.array([False] + [is_categorical for is_categorical, _ in features])
    n_codes = np.array([2] + [codes for _, codes in features], dtype=np.int64)
    codes = np.array([random.integers(0, codes, n_rows) for codes in n_codes], dtype=np.uint8).reshape(-1, n_rows)
    signal = codes[1:].astype(float).T @ random.normal(size=len(features)) + random.normal(size=n_rows)
    signal += 3 * (codes[-1] % 3 == 1)
    rows = np.sort(random.permutation(n_rows)[: n_rows - n_missing_targets])
    values, classes = np.zeros(0), np.zeros(0, dtype=np.int32)
    if n_classes:
        cuts = np.quantile(signal, np.arange(1, n_classes) / n_classes)
        classes = np.full(n_rows, -1, dtype=np.int32)
        classes[rows] = np.searchsorted(cuts, signal)[rows]
    else:
        values = np.full(n_rows, np.nan)
        values[rows] = np.round(signal)[rows] if coarse else signal[rows]
    return Case(
        Predictors(codes, is_categorical, n_codes, np.arange(len(is_categorical))),
        Target(0, rows, values, classes, n_classes),
        Params(
            n_trees,
            beta=share_kept,
            max_features=max_features,
            min_samples_leaf=min_leaf,
            max_depth=max_depth,
            max_samples=max_samples,
        ),
        seed,
    )


@st.composite
def cases(draw, n_classes, max_features=(None,)):
    """Cases of 2 to 60 rows, with missing codes and targets, and every limit on growth."""
    n_rows = draw(st.integers(2, 60))
    few = st.integers(2, 6)
    feature = st.tuples(st.booleans(), few | few | few | st.sampled_from([80, 256]))
    return make_case(
        n_rows=n_rows,
        features=draw(st.lists(feature, min_size=1, max_size=4)),
        n_classes=draw(n_classes),
        seed=draw(st.integers(0, 2**31 - 2)),
        n_missing_targets=draw(st.integers(0, min(3, n_rows - 1))),
        coarse=draw(st.booleans()),
        max_features=draw(st.sampled_from(max_features)),
        min_leaf=draw(st.integers(1, 5)),
        max_depth=draw(st.sampled_from([None, None, None, 1, 3])),
        max_samples=draw(st.sampled_from([None, None, 0.5, 10])),
    )


any_target = st.sampled_from([NUMERIC, BINARY, 3, 5, 9])
