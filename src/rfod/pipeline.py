"""Fit, detect and scan as functions of a table, parameters and a model: the estimator and the commands call these."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._model.executor import Executor, Threads, terminal_progress
from rfod._model.fit import Trained, train
from rfod._model.judge import judge, read_rows
from rfod._model.model import Model
from rfod._table.schema import match_columns
from rfod._table.table import Table, check_columns, open_table
from rfod.detection import Detection
from rfod.params import SCAN_SEED, SCAN_TRIM, Params


def scan(table: Any, *, key: str | None = None, **params: Any) -> Detection:
    """Fit and judge one table: which of its own rows and cells do not fit the rest?

    Every row is judged only by trees that have not seen it, so a wrong row does not make itself look ordinary. Many
    wrong rows of one sort would; so the tenth of the rows that scores highest at first is left out of a second fit
    (`trim=0.1`). `key` names a column that identifies rows; it is left out of the model. `params` are those of `RFOD`;
    `random_state` is 0 by default, so that two scans of a table agree.
    """
    return fit_detect(table, Params(**{"trim": SCAN_TRIM, "random_state": SCAN_SEED} | params), key=key)[1]


def fit_model(data: Any, params: Params, *, key: str | None = None, executor: Executor | None = None) -> Trained:
    """Fit a model to a table; `key` names a column that is left out because it identifies rows.

    Tasks run on `executor`; by default on as many threads as `params.n_jobs` says.
    """
    table, seed = open_table(data), draw_seed(params.random_state)
    with terminal_progress(bool(params.verbose)) as progress:
        executor = executor or Threads(params.n_jobs)
        return train(table, _column_types(table, params, key), params, seed, executor, progress)


def fit_detect(
    data: Any,
    params: Params,
    *,
    key: str | None = None,
    lines: NDArray[np.int64] | None = None,
    executor: Executor | None = None,
) -> tuple[Model, Detection]:
    """Fit a model to a table and judge its own rows, each only by trees that have not seen it."""
    table, executor = open_table(data), executor or Threads(params.n_jobs)
    trained = fit_model(table, params, key=key, executor=executor)
    with terminal_progress(bool(params.verbose)) as progress:
        judged = judge(trained.model, trained.rows, executor, progress)
    own = Detection(
        trained.model, table, judged, key=key, own_rows=trained.rows.take, n_jobs=params.n_jobs, lines=lines
    )
    return trained.model, own


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
) -> Detection:
    """Judge the rows of a table that has the columns of the model; `first_row` is the number of its first row, `lines`
    are the lines of a text file on which rows begin."""
    table = open_table(data)
    matched = match_columns(model.schema, table)
    with terminal_progress(bool(verbose)) as progress:
        judged = judge(model, read_rows(model, matched), executor or Threads(n_jobs), progress)
    return Detection(model, matched, judged, given=table, key=key, first_row=first_row, n_jobs=n_jobs, lines=lines)


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
