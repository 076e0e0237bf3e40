"""Fit a model: learn the columns, bin them, grow and prune one forest per column, judge training rows out of bag."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._forest.fitness import coefficient_of_determination, weighted_auc
from rfod._forest.forest import Forest, Grown, Predictors, Target, check_size, grow, prune
from rfod._forest.params import GrowthParams
from rfod._model.cell_scores import SCORE_LIMIT, Distance, numeric_range
from rfod._model.conditional import Conditional
from rfod._model.executor import Progress, count_threads, run_tasks, silent
from rfod._model.judge import LAST_CLASS, SHARES_LIMIT, Rows, as_block, as_classes, judge
from rfod._model.model import Judged, Model, Sample
from rfod._model.row_scores import centre_and_scale, row_means
from rfod._model.surprise import spread_floor
from rfod._model.threshold import highest
from rfod._table.bins import bin_table, fit_features
from rfod._table.encode import encode_column
from rfod._table.schema import infer_schema
from rfod._table.table import Table
from rfod.exceptions import SchemaError

Floats = NDArray[np.float64]
MOST_FEATURES = 2**16  # what the word of a node has room for
CALIBRATION_ROWS = 16_384
CALIBRATION_CELLS = 4_096  # per column, about
SAMPLE_ROWS = 4_096  # that the model keeps
INTERVAL_ROWS = 256  # that intervals are tried on
TASK_DRAWS = 2_000_000  # rows drawn for all trees of a task, about: room for them is set aside together


@dataclass(frozen=True, eq=False)
class Trained:
    """A model, and what is needed to judge its own training rows out of bag."""

    model: Model
    encoded: Sequence[NDArray[Any]]
    codes: NDArray[np.uint8]
    targets: Sequence[Target]

    def bag(self, j: int) -> NDArray[np.uint8]:
        """(kept tree, training row) 1 where a tree of column j was grown on the row; a constant teaches nothing."""
        if self.targets[j].constant:
            return np.zeros((1, self.codes.shape[1]), dtype=np.uint8)
        return self.model.forests[j].bags(self.model.seed, self.targets[j].rows, self.codes.shape[1])

    def judge_rows(
        self, rows: NDArray[np.int64] | None, n_jobs: int | None, progress: Progress = silent, look_around: bool = True
    ) -> Judged:
        """Judge training rows (all for None), each by the trees that have not seen it.

        A cell that all kept trees have seen gets no score: nobody is left to judge it.
        """
        return judge(self.model, self.rows(rows), n_jobs, progress, look_around=look_around)

    def rows(
        self, picked: NDArray[np.int64] | None = None, bag: Callable[[int], NDArray[np.uint8]] | None = None
    ) -> Rows:
        """Training rows (all for None), with the trees that have seen them; `bag` is for a caller that knows these."""
        every: Any = slice(None) if picked is None else picked
        return Rows(
            [column[every] for column in self.encoded],
            as_block(self.codes[:, every]),
            bag or (lambda j: self.bag(j)[:, every]),
            np.arange(self.codes.shape[1]) if picked is None else picked,
        )


def train(
    table: Table,
    column_types: Mapping[str, str] | None,
    params: GrowthParams,
    max_bins: int,
    distance: Distance,
    alpha: float,
    trim: float,
    settings: Mapping[str, Any],
    n_jobs: int | None,
    progress: Progress = silent,
) -> Trained:
    """Fit a model to a table; `settings` is what the model remembers as its parameters.

    With `trim` the model is fitted twice: the second time without that share of the rows, the worst of the first fit.
    """
    check_size(table.n_rows, params)
    schema = infer_schema(table, column_types)
    encoded = [_writable(encode_column(table, column)) for column in schema.columns]
    features = fit_features(schema, encoded.__getitem__, max_bins, params.seed)
    if len(features) > MOST_FEATURES:
        raise SchemaError(
            f"The table has {len(features):,} columns to learn from; a tree can tell {MOST_FEATURES:,} apart.\n"
            "Hint: fit the model to fewer columns."
        )
    predictors = Predictors(
        codes=bin_table(schema, features, encoded.__getitem__, table.n_rows),
        is_categorical=np.array([feature.is_categorical for feature in features], dtype=np.bool_),
        n_codes=np.array([feature.n_codes for feature in features], dtype=np.int64),
        column=np.array([feature.column for feature in features], dtype=np.int64),
    )
    sample = (
        None
        if table.n_rows <= CALIBRATION_ROWS
        else _spread_rows(np.arange(table.n_rows), CALIBRATION_ROWS, params.seed)
    )

    def train_on(usable: NDArray[np.bool_]) -> Trained:
        all_rows = np.flatnonzero(usable)
        targets = [
            _target(j, encoded[j], len(column.categories), usable, all_rows) for j, column in enumerate(schema.columns)
        ]
        forests = _grow_all(predictors, targets, params, n_jobs, progress)
        ranges = [
            1.0 if target.n_classes else numeric_range(target.values[target.rows], distance, alpha)
            for target in targets
        ]
        kept = _spread_rows(all_rows, SAMPLE_ROWS, params.seed)
        model = Model(
            schema,
            features,
            forests,
            ranges=np.array(ranges),
            sample=Sample(kept, tuple(column[kept] for column in encoded)),
            seed=params.seed,
            params=settings,
            fitness=np.full(len(targets), np.nan),
            floors=np.zeros(len(targets)),
            n_single=np.array([_n_single(target) for target in targets]),
            cell_calibration=(),
            interval_calibration=(),
            centres=np.zeros(3),
            scales=np.ones(3),
            calibration=np.zeros(0),
        )
        return Trained(model, encoded, predictors.codes, targets)

    trained = train_on(np.ones(table.n_rows, dtype=np.bool_))
    n_trimmed = int(trim * table.n_rows)
    if n_trimmed:
        judged = trained.judge_rows(None, n_jobs, progress, look_around=False)
        scores = row_means(judged.cell_scores, trained.model.weights(judged))
        trained = train_on(~highest(scores, n_trimmed))
    return _calibrate(trained, sample, n_jobs, progress)


def _calibrate(trained: Trained, sample: NDArray[np.int64] | None, n_jobs: int | None, progress: Progress) -> Trained:
    """Judge training rows out of bag: how good the forests are, and what scores rows and cells of training have."""
    model, columns = trained.model, range(len(trained.targets))
    tried = _spread_rows(model.sample.rows, INTERVAL_ROWS, model.seed)
    asked = np.arange(trained.codes.shape[1]) if sample is None else np.union1d(sample, tried)

    @lru_cache(2 * count_threads(n_jobs))
    def bag(j: int) -> NDArray[np.uint8]:
        """Remembered, for a column is asked for twice in a row."""
        return trained.bag(j)[:, asked]

    def rows_of(picked: NDArray[np.int64]) -> Rows:
        places = np.searchsorted(asked, picked)
        return trained.rows(picked, lambda j: bag(j)[:, places])

    rows, conditional = rows_of(tried), Conditional(model)
    fitness, floors, offsets = np.full(len(columns), np.nan), np.zeros(len(columns)), [np.zeros(0) for _ in columns]

    def check(j: int, judged: Judged, shares: Floats | None) -> None:
        """Of one column: fitness, floor of the spread, how far values are from the middle of their distribution."""
        fitness[j] = _fitness(trained, judged, shares, calibrating, j)
        if not model.is_categorical[j]:
            scores = judged.cell_scores[:, j]
            known = scores[scores < SCORE_LIMIT]  # an infinite value has no residual to learn from
            floors[j] = spread_floor(known * model.ranges[j], float(model.ranges[j]))
            offsets[j] = _known(conditional.offset(rows, j))

    calibrating = asked if sample is None else sample
    judged = judge(model, rows_of(calibrating), n_jobs, progress, check=check)
    model = replace(model, fitness=fitness, floors=floors, interval_calibration=tuple(offsets))
    step = max(1, len(judged.cell_scores) // CALIBRATION_CELLS)
    known = tuple(_known(model.strangeness(judged, j)[::step]) for j in columns)
    model = replace(model, cell_calibration=known)
    if model.params["aggregation"] == "consensus":
        middles = [centre_and_scale(part) for part in model.row_parts(judged)]
        model = replace(
            model, centres=np.array([centre for centre, _ in middles]), scales=np.array([s for _, s in middles])
        )
    return replace(trained, model=replace(model, calibration=np.sort(model.row_scores(judged))))


def _known(strangeness: Floats) -> Floats:
    return np.sort(strangeness[~np.isnan(strangeness)])


def _n_single(target: Target) -> int:
    """How many categories a single row has."""
    return int(np.count_nonzero(np.bincount(target.classes[target.rows]) == 1)) if target.n_classes else 0


def _writable(values: NDArray[Any]) -> NDArray[Any]:
    """Kernels are compiled for writable arrays only; a view of the caller's table is copied."""
    return np.require(values, requirements=["C", "W"])


def _target(
    j: int, encoded: NDArray[Any], n_categories: int, usable: NDArray[np.bool_], all_rows: NDArray[np.int64]
) -> Target:
    if n_categories:
        classes = as_classes(encoded)
        rows = _usable_rows(classes >= 0, usable, all_rows)
        return Target(j, rows, np.zeros(0), classes, min(n_categories, LAST_CLASS + 1))
    rows = _usable_rows(np.isfinite(encoded), usable, all_rows)
    return Target(j, rows, encoded, np.zeros(0, dtype=np.int32), 0)


def _usable_rows(
    present: NDArray[np.bool_], usable: NDArray[np.bool_], all_rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Rows to learn a column from; columns without gaps share one list. A column that has values in trimmed rows only
    keeps them, for it has no others."""
    if present.all():
        return all_rows
    rows = np.flatnonzero(present & usable)
    return rows if len(rows) else np.flatnonzero(present)


def _grow_all(
    predictors: Predictors, targets: Sequence[Target], params: GrowthParams, n_jobs: int | None, progress: Progress
) -> tuple[Forest, ...]:
    """One pruned forest per target. The trees of a forest are split into tasks if there are few columns."""
    fewest = max(1, -(-4 * count_threads(n_jobs) // len(targets)), params.n_trees // 25)
    tasks: list[Callable[[], Grown]] = []
    owners = []
    for target in sorted(targets, key=lambda target: target.n_classes <= 2):  # what takes longest comes first
        n_parts = min(params.n_trees, max(fewest, params.n_trees * params.n_draws(len(target.rows)) // TASK_DRAWS))
        firsts = [params.n_trees * part // n_parts for part in range(n_parts + 1)]
        runs = [(0, 1)] if target.constant else list(pairwise(firsts))
        tasks += [partial(grow, predictors, target, params, first, last - first) for first, last in runs]
        owners += [target.column] * len(runs)
    grown = run_tasks(tasks, n_jobs, "growing", progress)
    parts: list[list[Grown]] = [[] for _ in targets]
    for owner, part in zip(owners, grown, strict=True):
        parts[owner].append(part)
    return tuple(prune(target, parts[target.column], predictors, params, len(targets)) for target in targets)


def _spread_rows(rows: NDArray[np.int64], n_wanted: int, seed: int) -> NDArray[np.int64]:
    """So many of the rows, in their order; all when there are not more."""
    if len(rows) <= n_wanted:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, n_wanted, replace=False, shuffle=False))


def _fitness(trained: Trained, judged: Judged, shares: Floats | None, rows: NDArray[np.int64], j: int) -> float:
    """Out-of-bag fitness of one forest over the calibration rows that have a value and a judge."""
    target, expected = trained.targets[j], judged.expected[j]
    if target.constant:
        return float("nan")
    if not target.n_classes:
        observed = target.values[rows]
        known = np.isfinite(observed) & ~np.isnan(expected)
        return coefficient_of_determination(observed[known], expected[known])
    known = (target.classes[rows] >= 0) & (expected >= 0)
    if shares is not None:
        return weighted_auc(target.classes[rows[known]], shares[known])
    picked = rows[known][: max(1, SHARES_LIMIT // target.n_classes)]
    forest, block = trained.model.forests[j], as_block(trained.codes[:, picked])
    return weighted_auc(target.classes[picked], forest.predict_shares(block, trained.bag(j)[:, picked]))
