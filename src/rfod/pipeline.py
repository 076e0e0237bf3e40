"""Fit, detect and scan as functions of a table, parameters and a model: the estimator and the commands call these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._decisions.decisions import Decided, decide
from rfod._decisions.settled import SettledCells
from rfod._evidence.bounds import bounded
from rfod._evidence.collect import learn_profile, profiled_rows
from rfod._evidence.profile import Profile
from rfod._evidence.wrong_cells import CellProbabilities
from rfod._findings.suspects import TableRegularity
from rfod._model.executor import Executor, Threads, terminal_progress
from rfod._model.fit import Prepared, Trained, prepare, train
from rfod._model.judge import EncodedRows, judge, read_rows, settle
from rfod._model.model import JudgedCells, Model
from rfod._model.scores import highest, row_means, weights
from rfod._table.schema import match_columns
from rfod._table.table import Table, check_columns, open_table
from rfod.detection import Detection
from rfod.params import SCAN_SEED, SCAN_TRIM, Params


def scan(table: Any, *, key: str | None = None, decisions: Any = None, **params: Any) -> Detection:
    """Fit and judge one table: which of its own rows and cells do not fit the rest?

    Every row is judged only by trees that have not seen it, so a wrong row does not make itself look ordinary. Many
    wrong rows of one sort would; so rows are ranked by a second fit without the tenth of the rows that scores highest
    (`trim=0.1`); cells are judged by the first one. `key` names a column that identifies rows; it is left out of the
    model. `decisions` (the path of a file, or `rfod.Decisions`) are what a person has decided about cells: replaced
    cells have their new value, blanked ones none, and no decided cell is reported. `params` are those of `RFOD`;
    `random_state` is 0 by default, so that two scans of a table agree.
    """
    checked = Params(**{"trim": SCAN_TRIM, "random_state": SCAN_SEED} | params)
    return scan_table(table, checked, key=key, decisions=decisions)[1]


def fit_model(
    data: Any,
    params: Params,
    *,
    key: str | None = None,
    executor: Executor | None = None,
    decisions: Decided = None,
) -> Trained:
    """Fit a model to a table; `key` names a column that is left out because it identifies rows. `decisions` are what
    was decided about its cells.

    With `trim` the forests are grown twice: the second time without that share of the rows, the worst of the first fit.
    Tasks run on `executor`; by default on as many threads as `params.n_jobs` says.
    """
    fit = _Fit.to(data, params, key, executor, decisions=decisions)
    return fit.with_profile(_train(fit), None)


def _train(fit: _Fit) -> Trained:
    trained = fit.train()
    if not fit.params.trim:
        return trained
    cells = judge(trained.model, trained.rows, fit.executor, with_rows=False)
    settle(trained.model, trained.rows, cells, fit.settled)
    left_out = _worst_rows(trained.model, cells, fit.params.trim)
    del trained, cells  # several times as large as the table
    return fit.train(left_out)


def fit_detect(
    data: Any,
    params: Params,
    *,
    key: str | None = None,
    lines: NDArray[np.int64] | None = None,
    executor: Executor | None = None,
    decisions: Decided = None,
) -> tuple[Model, Detection]:
    """Fit a model to a table and judge its own rows, each only by trees that have not seen it."""
    fit = _Fit.to(data, params, key, executor, lines, decisions, judges_cells=True)
    trained = _train(fit)
    found = fit.judge(trained)
    return fit.with_profile(trained, fit.own_profile(found)).model, found


def scan_table(
    data: Any,
    params: Params,
    *,
    key: str | None = None,
    lines: NDArray[np.int64] | None = None,
    executor: Executor | None = None,
    decisions: Decided = None,
) -> tuple[Model, Detection]:
    """`fit_detect` whose cells are judged by a fit to all rows, and whose row scores come from a second fit without the
    worst rows (`trim`)."""
    fit = _Fit.to(data, params, key, executor, lines, decisions, judges_cells=True)
    trained = fit.train()
    first = fit.judge(trained)
    left_out, profile = _worst_rows(trained.model, first.judged.cells, params.trim), fit.own_profile(first)
    if not left_out.any():
        return fit.with_profile(trained, profile).model, first
    trained = fit.train(left_out)
    return fit.with_profile(trained, profile).model, fit.judge(trained, first.probabilities)


@dataclass(frozen=True, eq=False)
class ScannedSample:
    """What a scan of a sample keeps, to judge all rows of its table."""

    model: Model
    cells: JudgedCells
    """Of the sample, each judged only by trees that have not seen it."""
    judged_columns: tuple[str, ...]
    regularities: list[TableRegularity]

    @classmethod
    def of(cls, model: Model, found: Detection) -> ScannedSample:
        """From the answer of `scan_table`."""
        return cls(model, found.judged.cells, found.judged_columns, found.regularities())


def scan_sample(data: Any, params: Params, *, key: str | None = None, decisions: Decided = None) -> ScannedSample:
    """`scan_table` of rows that are judged again with the rest of their table: the cells of the first fit, several
    times as large as the sample, are not kept during the second."""
    fit = _Fit.to(data, params, key, decisions=decisions, judges_cells=True)
    trained = fit.train()
    found = fit.judge(trained)
    columns, regularities, profile = found.judged_columns, found.regularities(), fit.own_profile(found)
    left_out = _worst_rows(trained.model, found.judged.cells, params.trim)
    if left_out.any():
        del trained, found
        trained = fit.train(left_out)
        found = fit.judge(trained)
    cells = found.judged.cells
    return ScannedSample(fit.with_profile(trained, profile).model, cells, columns, regularities)


def _worst_rows(model: Model, cells: JudgedCells, share: float) -> NDArray[np.bool_]:
    """(rows,): the share of the rows with the highest weighted mean of cell scores."""
    row_scores = row_means(cells.cell_scores, weights(model.ranges, model.params, cells))
    return highest(row_scores, int(share * len(row_scores)))


@dataclass(frozen=True, eq=False)
class _Fit:
    """A table to learn from, and how."""

    table: Table
    params: Params
    key: str | None
    executor: Executor
    lines: NDArray[np.int64] | None = None
    settled: SettledCells = field(default_factory=SettledCells)
    """Cells that a person has decided about."""
    judges_cells: bool = False
    """Whether other evidence than the model judges cells too."""

    @classmethod
    def to(
        cls,
        data: Any,
        params: Params,
        key: str | None,
        executor: Executor | None = None,
        lines: NDArray[np.int64] | None = None,
        decisions: Decided = None,
        judges_cells: bool = False,
    ) -> _Fit:
        """A fit to a table as decided."""
        decided = decide(open_table(data), decisions)
        workers = executor or Threads(params.n_jobs)
        return cls(decided.table, params, key, workers, lines, decided.settled, judges_cells)

    @cached_property
    def seed(self) -> int:
        """One for all fits."""
        return draw_seed(self.params.random_state)

    def train(self, left_out: NDArray[np.bool_] | None = None) -> Trained:
        """Fit a model, without the rows that are left out."""
        with terminal_progress(bool(self.params.verbose)) as progress:  # preparing calls kernels too
            return train(self._prepared, self.params, self.seed, self.executor, progress, left_out)

    @cached_property
    def _prepared(self) -> Prepared:
        """The table as all fits read it."""
        types = _column_types(self.table, self.params, self.key)
        return prepare(self.table, types, self.params, self.seed, self.executor, self.judges_cells)

    def judge(self, trained: Trained, probabilities: CellProbabilities | None = None) -> Detection:
        """The rows of the table; how likely its cells are wrong may come from another fit to it."""
        with terminal_progress(bool(self.params.verbose)) as progress:
            judged = judge(trained.model, trained.rows, self.executor, progress)
        settle(trained.model, trained.rows, judged, self.settled)
        return Detection(
            trained.model,
            self.table,
            judged,
            key=self.key,
            own_rows=trained.rows.take,
            n_jobs=self.params.n_jobs,
            lines=self.lines,
            probabilities=probabilities,
            settled=self.settled,
        )

    def own_profile(self, found: Detection) -> Profile | None:
        """The evidence to keep, from the judged rows of the table; None where fewer rows than these are profiled."""
        if not self.params.keep_evidence or len(found) != len(profiled_rows(found.judged.model)):
            return None
        return bounded(found.probabilities.collected.profile)

    def with_profile(self, trained: Trained, profile: Profile | None) -> Trained:
        """The model with the evidence that it keeps, which is made now where there is none yet."""
        if not self.params.keep_evidence:
            return trained
        if profile is None:
            profile = learn_profile(trained.model, self.table, trained.rows, self.executor)
        return replace(trained, model=replace(trained.model, profile=profile))


def detect(
    model: Model,
    data: Any,
    *,
    key: str | None = None,
    first_row: int = 0,
    lines: NDArray[np.int64] | None = None,
    n_jobs: int | None = -1,
    verbose: int = 0,
    executor: Executor | None = None,
    known: tuple[NDArray[np.intp], JudgedCells] | None = None,
    decisions: Decided = None,
) -> Detection:
    """Judge the rows of a table that has the columns of the model; `first_row` is the number of its first row, `lines`
    are the lines of a text file on which rows begin. `known` are rows that were judged before, and their cells;
    `decisions` what was decided about cells."""
    decided = decide(open_table(data), decisions)
    table = decided.table
    matched = match_columns(model.schema, table)
    settled = decided.settled.renamed(dict(zip(table.names, matched.names, strict=True)))
    rows = read_rows(model, matched)
    with terminal_progress(bool(verbose)) as progress:
        judged = judge(model, rows, executor or Threads(n_jobs), progress)
    settle(model, rows, judged, settled)
    if known is not None:
        judged.put(*known)
    return Detection(
        model,
        matched,
        judged,
        given=table,
        key=key,
        first_row=first_row,
        n_jobs=n_jobs,
        lines=lines,
        settled=settled,
    )


def fit_half(
    model: Model, encoded: Sequence[NDArray[Any]], n_jobs: int | None
) -> tuple[Model, EncodedRows, NDArray[np.bool_]]:
    """A model like another, of a random half of its training rows or of a sample of them, given encoded; the other half
    of the rows; and which rows were learned from."""
    n_rows, seed = len(encoded[0]), model.seed
    is_learned = np.zeros(n_rows, np.bool_)
    is_learned[np.random.default_rng(seed).permutation(n_rows)[: (n_rows + 1) // 2]] = True
    params = replace(Params(**model.params), trim=0.0, keep_evidence=False, n_jobs=n_jobs, verbose=0)
    schema, executor = replace(model.schema, n_rows=n_rows), Threads(n_jobs)
    prepared = Prepared.of(schema, encoded, model.features, params, seed, executor)
    trained = train(prepared, params, seed, executor, left_out=~is_learned)
    return trained.model, trained.rows.take(np.flatnonzero(~is_learned)), is_learned


def draw_seed(random_state: Any) -> int:
    """One whole number from a seed, a RandomState, or, by scikit-learn's convention for None, numpy's global state."""
    if random_state is None:
        return int(np.random.randint(2**31 - 1))  # noqa: NPY002  # the global state is what None means
    source = random_state if hasattr(random_state, "randint") else np.random.RandomState(random_state)
    return int(source.randint(2**31 - 1))


def _column_types(table: Table, params: Params, key: str | None) -> dict[str, str]:
    """What is said of columns, one way or another: their kinds, which to model, which to leave out."""
    check_columns(table.names, () if key is None else (key,), "use as key")
    check_columns(table.names, params.columns or (), "model")
    check_columns(table.names, params.exclude or (), "exclude")
    left_out = set(params.exclude or ())
    if params.columns is not None:
        left_out |= set(table.names) - set(params.columns)
    types = dict(params.column_types or {}) | dict.fromkeys(sorted(left_out), "ignore")
    if key is not None:
        types.setdefault(key, "identifier")
    return types
