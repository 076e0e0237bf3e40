"""Collects all evidence on the cells of one judged table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.bounds import bounded, fair_limit
from rfod._evidence.context import order_inputs
from rfod._evidence.inputs import CellInputs
from rfod._evidence.profile import (
    RESIDUAL_ROWS,
    Profile,
    WrittenTable,
    evenly,
    fit_profile,
    read_new,
    read_written,
    written_rows,
)
from rfod._evidence.texts import read_texts
from rfod._model.executor import Executor
from rfod._model.judge import EncodedRows, judge
from rfod._model.judged import JudgedTable
from rfod._model.model import Model
from rfod._table.table import Table
from rfod.exceptions import ParameterError

MOST_ROWS = 200_000  # of the training table that a kept profile is made from, ...
MOST_DISTINCT = 500_000  # ... or so many that all columns together have this many distinct values, ...
LEAST_ROWS = 20_000  # ... but always these: the decision was learned on tables of up to so many rows


@dataclass(frozen=True, eq=False)
class Collected:
    """Evidence on the cells of a table."""

    profile: Profile
    written: WrittenTable
    judged: JudgedTable

    @cached_property
    def inputs(self) -> CellInputs:
        """The inputs of the decision."""
        return CellInputs(self.profile, self.written, self.judged)

    @property
    def order(self) -> NDArray[np.float32]:
        """(columns, rows, ORDER_INPUTS): all at once, for small training tables."""
        return order_inputs(self.written)


def judged_names(model: Model, table: Table) -> tuple[str, ...]:
    """The columns whose cells are judged: all but those that the caller leaves out."""
    ignored = {name for name, why in model.schema.left_out.items() if why == "ignored"}
    return tuple(name for name in table.names if name not in ignored)


def collect(judged: JudgedTable, table: Table) -> Collected:
    """Evidence on the cells of a table: rows of the training table are compared with the others, new rows with what the
    model keeps of it."""
    model = judged.model
    if judged.is_own:
        written = read_written(table, judged_names(model, table), judged)
        return Collected(fit_profile(written, judged), written, judged)
    if model.profile is None:
        raise ParameterError(
            "The model holds no evidence, so that it gives cells no probability.\n"
            "Hint: fit it again with keep_evidence=True (without --no-evidence on the command line)."
        )
    profile = model.profile.of_columns(table.names)
    return Collected(profile, read_new(table, profile, judged), judged)


def profiled_rows(model: Model) -> NDArray[np.intp]:
    """Rows of the training table that a kept profile is made from. The time goes with distinct values, so that fewer
    rows are taken where nearly all values differ."""
    distinct = {column.name: column.n_distinct for column in model.schema.columns}
    n_rows = model.schema.n_rows
    fair = fair_limit([distinct.get(name, n_rows) for name in model.schema.names], MOST_DISTINCT)
    return evenly(n_rows, min(MOST_ROWS, max(fair, LEAST_ROWS)))


def learn_profile(model: Model, table: Table, rows: EncodedRows, executor: Executor) -> Profile:
    """What a model keeps of its training table: the profile of `profiled_rows`, bounded in size."""
    kept = profiled_rows(model)
    sample = evenly(len(kept), RESIDUAL_ROWS)
    cells = judge(model, rows.take(kept[sample]), executor, with_rows=False)
    columns = read_texts(table, judged_names(model, table), None if len(kept) == len(rows) else kept)
    encoded = rows.encoded if len(kept) == len(rows) else [column[kept] for column in rows.encoded]
    written = written_rows(model, columns, encoded)
    return bounded(fit_profile(written, JudgedTable(model, table, cells, read=rows.take), sample))
