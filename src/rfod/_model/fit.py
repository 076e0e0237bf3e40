"""Fit a model: infer the schema, bin the columns, grow one forest per column, judge training rows out of bag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._forest.forest import Forest, Grown, Predictors, Target, check_size, grow, prune
from rfod._model import judge, scores
from rfod._model.calibrate import fit_tail, resolution, spread_floor, strangeness
from rfod._model.conditional import middle_offsets, sort_into_leaves
from rfod._model.executor import Executor, Progress, silent
from rfod._model.judge import Bags, Comparison, EncodedRows, JudgedColumn
from rfod._model.model import ColumnForest, ColumnModel, JudgedCells, MeasuredRows, Model, TrainingSample
from rfod._model.predictors import choose_predictors
from rfod._table.bins import Feature, bin_table, fit_features
from rfod._table.columns import Column, Schema
from rfod._table.encode import encode_column
from rfod._table.schema import infer_schema
from rfod._table.table import Table
from rfod.exceptions import SchemaError
from rfod.params import Params

Floats = NDArray[np.float64]
Run = tuple[int, int, int]
"""Column, first tree, number of trees: one task."""
MOST_FEATURES = 2**16  # what the word of a node has room for
CALIBRATION_ROWS = 16_384
CALIBRATION_CELLS = 4_096  # per column, about
KEPT_ROWS = 4_096  # of the training table, in the model
INTERVAL_ROWS = 256  # that intervals are calibrated on
MOST_RESIDUAL = 1.0  # quantile ranges of a column: a larger residual counts as this in its robust fitness. With half of
# it, columns of noise that lie near the ends of their range have a fitness of 0.15.
SHARES_LIMIT = 4_000_000  # numbers in the table of class probabilities that a forest's AUC is computed from
TASK_DRAWS = 2_000_000  # rows drawn for all trees of a task, about: their buffers are allocated together


@dataclass(frozen=True, eq=False)
class Trained:
    """A model and the rows of its training table, with the trees that must not judge them."""

    model: Model
    rows: EncodedRows


@dataclass(frozen=True, eq=False)
class Prepared:
    """A training table as forests read it; several fits to the table share it."""

    schema: Schema
    encoded: Sequence[NDArray[Any]]
    """Per modelled column, (rows,)."""
    features: tuple[Feature, ...]
    predictors: Predictors

    @classmethod
    def of(
        cls,
        schema: Schema,
        encoded: Sequence[NDArray[Any]],
        features: tuple[Feature, ...],
        params: Params,
        seed: int,
        executor: Executor,
    ) -> Prepared:
        """From encoded columns and the features that they are split by; chooses what predicts each column."""
        codes, n_columns = bin_table(features, encoded), len(schema.columns)
        predictors = Predictors(
            codes=codes,
            is_categorical=np.array([feature.is_categorical for feature in features], dtype=np.bool_),
            n_codes=np.array([feature.n_codes for feature in features], dtype=np.int64),
            column=np.array([feature.column for feature in features], dtype=np.int64),
            chosen=choose_predictors(features, codes, n_columns, params.max_predictors, seed, executor),
        )
        return cls(schema, encoded, features, predictors)


def prepare(
    table: Table,
    column_types: Mapping[str, str] | None,
    params: Params,
    seed: int,
    executor: Executor,
    judges_cells: bool = False,
) -> Prepared:
    """Infer the schema of a table, encode and bin its columns, and choose what predicts each of them. `judges_cells`
    is for `infer_schema`."""
    check_size(table.n_rows, params)
    schema = infer_schema(table, column_types, judges_cells=judges_cells)
    # kernels are compiled for writable arrays only; a view of the caller's table is copied
    encoded = [np.require(encode_column(table, column), requirements=["C", "W"]) for column in schema.columns]
    features = fit_features(schema, encoded, params.max_bins, seed)
    if len(features) > MOST_FEATURES:
        raise SchemaError(
            f"The table has {len(features):,} columns to learn from; a tree has room for {MOST_FEATURES:,}.\n"
            "Hint: fit the model to fewer columns."
        )
    return Prepared.of(schema, encoded, features, params, seed, executor)


def train(
    prepared: Prepared,
    params: Params,
    seed: int,
    executor: Executor,
    progress: Progress = silent,
    left_out: NDArray[np.bool_] | None = None,
) -> Trained:
    """Fit a model to a table. `seed`, drawn from `params.random_state`, starts all random streams. Rows that are
    `left_out`, bool (rows,), are not learned from."""
    schema, encoded = prepared.schema, prepared.encoded
    is_robust = left_out is not None
    fit = _Fit(schema.columns, encoded, prepared.predictors, params, seed, executor, progress, is_robust)
    usable = np.ones(schema.n_rows, dtype=np.bool_) if left_out is None else ~left_out
    columns, rows = fit.grow(usable)
    kept = _sample_rows(np.flatnonzero(usable), KEPT_ROWS, seed)
    sample = TrainingSample(kept, tuple(column[kept] for column in encoded))
    calibrated, cells = fit.calibrate(columns, rows, sample)
    settings = params.to_json()
    parts = scores.row_parts(calibrated, settings, cells)
    scale = scores.fit_scale(parts, cells)
    calibration = np.sort(scores.consensus(parts, scale, cells))
    model = Model(schema, prepared.features, calibrated, sample, seed, settings, scale, calibration)
    return Trained(model, rows)


@dataclass(frozen=True, eq=False)
class _Fit:
    """The table and the settings of one fit."""

    columns: Sequence[Column]
    encoded: Sequence[NDArray[Any]]
    predictors: Predictors
    params: Params
    seed: int
    executor: Executor
    progress: Progress
    is_robust: bool

    def grow(self, usable: NDArray[np.bool_]) -> tuple[tuple[ColumnForest, ...], EncodedRows]:
        """One forest per column, grown on the usable rows; and all rows of the table."""
        all_usable = np.flatnonzero(usable)
        targets = [
            _target(j, self.encoded[j], len(column.categories), usable, all_usable)
            for j, column in enumerate(self.columns)
        ]
        scale = partial(scores.numeric_range, distance=self.params.distance, alpha=self.params.alpha)
        ranges = [1.0 if target.n_classes else scale(target.values[target.rows]) for target in targets]
        if self.params.fitness == "robust":
            targets = [self._with_most_residual(target) for target in targets]
        forests = self._grow_forests(targets)
        bags = Bags(forests, targets, self.seed, len(usable))
        rows = EncodedRows(self.encoded, judge.as_block(self.predictors.codes), bags)
        return tuple(map(ColumnForest, self.columns, forests, ranges)), rows

    def _with_most_residual(self, target: Target) -> Target:
        """Robust fitness of a target of numbers, whatever distance and alpha its cells are scored with."""
        if target.n_classes:
            return target
        value_range = scores.numeric_range(target.values[target.rows], "agd", Params.alpha)
        return replace(target, most_residual=MOST_RESIDUAL * value_range)

    def _grow_forests(self, targets: Sequence[Target]) -> list[Forest]:
        """One pruned forest per target. The trees of a forest are split into tasks if there are few columns."""
        params, executor = self.params, self.executor
        n_trees = params.n_estimators
        fewest = max(1, -(-4 * executor.n_workers // len(targets)), n_trees // 25)
        runs: list[Run] = []
        for target in sorted(targets, key=lambda target: target.n_classes <= 2):  # what takes longest comes first
            n_draws = n_trees * params.n_draws(len(target.rows))
            n_parts = min(n_trees, max(fewest, n_draws // TASK_DRAWS))
            firsts = [0, 1] if target.constant else [n_trees * part // n_parts for part in range(n_parts + 1)]
            runs += [(target.column, first, last - first) for first, last in pairwise(firsts)]
        handles = [executor.share(value) for value in (self.predictors, targets, params, self.seed)]
        forests: dict[int, Forest] = {}
        grown = executor.map(_grow_run, runs, handles, progress=partial(self.progress, "growing"))
        for j, column_runs in groupby(zip(runs, grown, strict=True), key=lambda run_and_part: run_and_part[0][0]):
            # while the trees of the next column grow
            forests[j] = prune(targets[j], [part for _, part in column_runs], self.predictors, params, len(targets))
        return [forests[target.column] for target in targets]

    def calibrate(
        self, columns: Sequence[ColumnForest], rows: EncodedRows, sample: TrainingSample
    ) -> tuple[tuple[ColumnModel, ...], JudgedCells]:
        """Judge (a sample of) the training rows out of bag: the columns of the model, and the judged cells."""
        n_rows, seed = len(rows), self.seed
        interval_rows = rows.take(_sample_rows(sample.rows, INTERVAL_ROWS, seed))
        sample_block = rows.take(sample.rows).block
        if n_rows > CALIBRATION_ROWS:
            rows = rows.take(_sample_rows(np.arange(n_rows), CALIBRATION_ROWS, seed))
        reference = None
        if self.params.aggregation == "consensus":
            reference = sample.reference(columns), sample.find(rows.training_rows)
        comparison = Comparison(columns, self.params.distance, rows, reference)
        executor = comparison.executor(self.executor)
        parts = comparison.parts(executor.n_workers)
        handles = [executor.share(value) for value in (comparison, interval_rows, sample, sample_block, self.is_robust)]
        progress = partial(self.progress, "judging")
        results = list(executor.map(_calibrate_part, parts, handles, progress=progress))
        measures = {j: measured for (j, _), (_, measured) in zip(parts, results, strict=True)}
        calibrated = tuple(
            ColumnModel(column.column, column.forest, column.value_range, n_rows=n_rows, **measures[j])
            for j, column in enumerate(columns)
        )
        return calibrated, comparison.collect(parts, (result for result, _ in results))


def _grow_run(run: Run, predictors: Predictors, targets: Sequence[Target], params: Params, seed: int) -> Grown:
    j, first_tree, n_trees = run
    return grow(predictors, targets[j], params, seed, first_tree, n_trees)


def _calibrate_part(
    part: judge.Part,
    comparison: Comparison,
    interval_rows: EncodedRows,
    sample: TrainingSample,
    sample_block: NDArray[np.uint8],
    is_robust: bool,
) -> tuple[JudgedColumn | MeasuredRows, dict[str, Any]]:
    """Some whole rows against the sample; or the judged training cells of one column, and what a `ColumnModel` keeps of
    them."""
    j, picked = part
    if j == judge.WHOLE_ROWS:
        return comparison.measure(picked), {}
    column, rows, values = comparison.columns[j], comparison.rows, sample.values[j]
    assert rows.bags is not None
    in_bag, target, n_classes = rows.bags.of(j), rows.bags.targets[j], column.forest.n_classes
    shares = np.empty((len(rows), n_classes)) if 0 < len(rows) * n_classes <= SHARES_LIMIT else None
    cells = comparison.cells(j, picked, rows.select(in_bag), shares)
    floor, n_single, offsets = 0.0, 0, np.zeros(0)
    if n_classes:
        n_single = int(np.count_nonzero(np.bincount(target.classes[target.rows]) == 1))
    else:
        known = cells.cell_scores[cells.cell_scores < scores.SCORE_LIMIT]  # an infinite value has no residual
        floor = spread_floor(known * column.value_range, column.value_range, resolution(rows.encoded[j]))
        leaf_sample = sort_into_leaves(column.forest, values, sample_block)
        own = sample.find(interval_rows.training_rows)
        offsets = middle_offsets(leaf_sample, values, interval_rows, j, own, interval_rows.select(in_bag))
    step = max(1, len(rows) // CALIBRATION_CELLS)
    strange = strangeness(column, floor, cells.cell_scores, cells.spread_or_share)[::step]
    return cells, {
        "fitness": float("nan") if target.constant else _fitness(column, target, rows, cells, shares, in_bag),
        "floor": floor,
        "n_single": n_single,
        "tail": fit_tail(_sorted(strange), column.column.is_categorical, is_robust),
        "offsets": _sorted(offsets),
    }


def _sorted(values: Floats) -> Floats:
    """In ascending order, without NaN."""
    return np.sort(values[~np.isnan(values)])


def _fitness(
    column: ColumnForest,
    target: Target,
    rows: EncodedRows,
    cells: JudgedColumn,
    shares: Floats | None,
    in_bag: NDArray[np.uint8],
) -> float:
    """Out-of-bag fitness of one forest over the calibration rows that have a value and a prediction."""
    observed, expected = rows.encoded[target.column], cells.expected
    if not column.forest.n_classes:
        known = np.isfinite(observed) & ~np.isnan(expected)
        return coefficient_of_determination(observed[known], expected[known], target.most_residual)
    classes, known = judge.as_classes(observed), (observed >= 0) & (expected >= 0)
    if shares is not None:
        return weighted_auc(classes[known], shares[known])
    picked = np.flatnonzero(known)[: max(1, SHARES_LIMIT // column.forest.n_classes)]
    some = rows.take(picked)
    return weighted_auc(classes[picked], column.forest.predict_shares(some.block, some.select(in_bag)))


def coefficient_of_determination(observed: Floats, predicted: Floats, most_residual: float = np.inf) -> float:
    """R² of residuals and deviations that are at most `most_residual`; NaN below two rows, 0 or 1 for a constant
    column."""
    if len(observed) < 2:
        return float("nan")
    around_mean = float(np.sum(np.minimum(np.abs(observed - observed.mean()), most_residual) ** 2))
    around_prediction = float(np.sum(np.minimum(np.abs(observed - predicted), most_residual) ** 2))
    if around_mean == 0:
        return 1.0 if around_prediction == 0 else 0.0
    return 1.0 - around_prediction / around_mean


def weighted_auc(observed: NDArray[np.int32], shares: Floats) -> float:
    """Area under the ROC curve, each class against the rest, weighted by class share; NaN for a single class."""
    area, weight = 0.0, 0
    for klass in np.unique(observed):
        is_hit = observed == klass
        hits, others = np.sort(shares[is_hit, klass]), np.sort(shares[~is_hit, klass])
        if len(others):
            below = np.searchsorted(others, hits, "left") + np.searchsorted(others, hits, "right")  # each counted twice
            area += len(hits) * (0.5 * float(below.mean()) / len(others))
            weight += len(hits)
    return area / weight if weight else float("nan")


def _target(
    j: int, encoded: NDArray[Any], n_categories: int, usable: NDArray[np.bool_], all_usable: NDArray[np.int64]
) -> Target:
    """A column as a target; columns without gaps share one list of rows. A column that has values in trimmed rows only
    keeps them, for it has no others."""
    present = encoded >= 0 if n_categories else np.isfinite(encoded)
    rows = all_usable if present.all() else np.flatnonzero(present & usable)
    rows = rows if len(rows) else np.flatnonzero(present)
    values = np.zeros(0) if n_categories else encoded
    classes = judge.as_classes(encoded) if n_categories else np.zeros(0, dtype=np.int32)
    return Target(j, rows, values, classes, min(n_categories, judge.LAST_CLASS + 1))


def _sample_rows(rows: NDArray[np.int64], n_wanted: int, seed: int) -> NDArray[np.int64]:
    """A random sample of the rows, in their order; all when there are not more."""
    if len(rows) <= n_wanted:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, n_wanted, replace=False, shuffle=False))
