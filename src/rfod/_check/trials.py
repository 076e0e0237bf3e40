"""Try a model on errors that are known, because they were put in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._check.inject import inject
from rfod._check.selfcheck import SelfCheck, Trial
from rfod._model.model import Fitted, Model, summarise_forests
from rfod._table.schema import match_columns
from rfod._table.table import Table, open_table
from rfod.exceptions import ParameterError
from rfod.params import ERROR_KINDS, ErrorKind
from rfod.pipeline import detect, draw_seed


def self_check(
    detector: Fitted,
    table: Any,
    *,
    fdr: float = 0.05,
    share: float = 0.2,
    kinds: Sequence[str] | None = None,
    max_rows: int | None = 10_000,
    random_state: int | np.random.RandomState | None = 0,
) -> SelfCheck:
    """Put known errors into copies of a table and count how many are found: where is the model blind?

    One copy per kind of error, in each a `share` of the rows with one wrong cell. `kinds`, all by default: "swap" (the
    value of another row), "factor" (ten times the value), "sign", "shift" (one to three spreads away), "category"
    (another known one), "typo", "blank" (no value). A kind that a column cannot have is left out there. The more
    errors a table has, the more of them are found at the same false discovery rate `fdr`.

    The table is best one that the detector was not fitted to, since trees that have seen a row know it too well. Of
    more than `max_rows` rows a sample is taken.
    """
    _ = detector.forests_  # raises where `fit` was not called
    return check_model(
        detector.model_,
        table,
        fdr=fdr,
        share=share,
        kinds=kinds,
        max_rows=max_rows,
        random_state=random_state,
        n_jobs=detector.n_jobs,
    )


def check_model(
    model: Model,
    table: Any,
    *,
    fdr: float,
    share: float,
    kinds: Sequence[str] | None,
    max_rows: int | None,
    random_state: Any,
    n_jobs: int | None,
) -> SelfCheck:
    """`self_check` of a model."""
    chosen = _checked(fdr, share, kinds, max_rows)
    given = open_table(table)
    matched = match_columns(model.schema, given)
    seed = draw_seed(random_state)
    if max_rows is not None and matched.n_rows > max_rows:
        matched = _rows_of(matched, np.sort(np.random.default_rng(seed).permutation(matched.n_rows)[:max_rows]))
    columns = model.schema.columns
    before = detect(model, matched, n_jobs=n_jobs).flag_cells(fdr)
    trials = []
    for kind in chosen:
        injected = inject(matched, columns, kind, share=share, seed=seed)
        if not injected.wrong.any():
            continue
        flagged = detect(model, injected.table, n_jobs=n_jobs).flag_cells(fdr)
        right = flagged & ~injected.wrong
        spoilt = injected.wrong.any(axis=1)
        trials += [
            Trial(
                columns[j].name,
                kind,
                n_errors=int(injected.wrong[:, j].sum()),
                n_found=int((flagged & injected.wrong)[:, j].sum()),
                n_collateral=int(right[spoilt, j].sum()),
                n_false=int(right[~spoilt, j].sum()),
            )
            for j in range(len(columns))
        ]
    summaries = summarise_forests(model)
    return SelfCheck(
        fdr=float(fdr),
        n_rows=matched.n_rows,
        n_before=int(before.sum()),
        trials=tuple(trial for trial in trials if trial.n_errors or trial.n_collateral or trial.n_false),
        fitness={name: (summary.measure, summary.fitness) for name, summary in summaries.items()},
        _table=given,
    )


def _checked(fdr: float, share: float, kinds: Sequence[str] | None, max_rows: int | None) -> tuple[ErrorKind, ...]:
    """The kinds of error to try, once all parameters are in range."""
    for name, value in (("fdr", fdr), ("share", share)):
        if not 0 < value < 1:
            raise ParameterError(f"{name} is {value!r}; it must be a number between 0 and 1, both excluded.")
    if max_rows is not None and max_rows < 1:
        raise ParameterError(f"max_rows is {max_rows!r}; it must be a whole number of at least 1, or None.")
    wanted = ERROR_KINDS if kinds is None else tuple(kinds)
    unknown = [kind for kind in wanted if kind not in ERROR_KINDS]
    if unknown or not wanted:
        raise ParameterError(f"kinds is {kinds!r}; it must be some of {', '.join(map(repr, ERROR_KINDS))}.")
    return tuple(kind for kind in ERROR_KINDS if kind in wanted)


def _rows_of(table: Table, rows: NDArray[np.intp]) -> Table:
    """Some rows of a table."""

    def read(_: int, name: str, mixed_as_text: bool) -> Any:
        return table.column(name, mixed_as_text=mixed_as_text).take(pa.array(rows))

    return replace(table, n_rows=len(rows), _read=read)
