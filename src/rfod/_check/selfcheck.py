"""The self-check: known errors are planted in copies of a table, and the share that a model finds is counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._check.errors import inject
from rfod._model.model import Fitted, Model, summarise_forests
from rfod._table.schema import match_columns
from rfod._table.table import Table, open_table
from rfod.exceptions import ParameterError
from rfod.params import ERROR_KINDS, ErrorKind
from rfod.pipeline import detect, draw_seed


@dataclass(frozen=True)
class Trial:
    """Errors of one kind in one column."""

    column: str
    kind: ErrorKind
    n_errors: int
    """Cells that were given a wrong value."""
    n_found: int
    """Those among them that are findings."""
    n_collateral: int
    """Findings in the column that are not errors themselves, but stand beside one in their row."""
    n_false: int
    """Findings in the column in rows without an error."""
    n_probable: int | None = None
    """Errors of a probability of 0.5 and more; None for a model without evidence."""

    @property
    def n_findings(self) -> int:
        """Findings in the column."""
        return self.n_found + self.n_collateral + self.n_false

    @property
    def recall(self) -> float:
        """Share of the errors that was found; NaN without errors."""
        return share(self.n_found, self.n_errors)


@dataclass(frozen=True)
class SelfCheck:
    """How well a model finds errors that were put into a table; `str` is a table to read."""

    fdr: float
    """False discovery rate at which cells were called findings."""
    n_rows: int
    """Rows of the table, or of the sample of it."""
    n_before: int
    """Findings in the table as it came, before any error was put in."""
    trials: tuple[Trial, ...]
    """One per column and kind, where there were errors or false findings."""
    fitness: dict[str, tuple[str, float]]
    """Per column, "R2" or "AUC" and how well the model predicts the column; NaN for a constant."""
    _table: Table = field(repr=False, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns with errors or false findings."""
        return tuple(dict.fromkeys(trial.column for trial in self.trials))

    @property
    def kinds(self) -> tuple[ErrorKind, ...]:
        """Kinds of error that were tried."""
        return tuple(dict.fromkeys(trial.kind for trial in self.trials))

    def recall(self, *, column: str | None = None, kind: str | None = None) -> float:
        """Share of the errors that was found: of all, or of one column, of one kind, or both. NaN without errors."""
        return share(self._sum("n_found", column, kind), self._sum("n_errors", column, kind))

    def probable_recall(self, *, column: str | None = None, kind: str | None = None) -> float:
        """Share of the errors with a probability of 0.5 and more, by all evidence (`Detection.wrong_cells`). NaN
        without errors, and for a model without evidence."""
        if not self.has_probabilities:
            return math.nan
        return share(self._sum("n_probable", column, kind), self._sum("n_errors", column, kind))

    @property
    def has_probabilities(self) -> bool:
        """Whether the model keeps evidence, so that it says how likely each cell is wrong."""
        return all(trial.n_probable is not None for trial in self.trials)

    def collateral_share(self, *, column: str | None = None, kind: str | None = None) -> float:
        """Share of the findings that are right cells of rows with a wrong one, which they do not agree with.

        `Detection.blame` tells the two apart.
        """
        return share(self._sum("n_collateral", column, kind), self._sum("n_findings", column, kind))

    def false_share(self, *, column: str | None = None, kind: str | None = None) -> float:
        """Share of the findings that are in rows without an error. NaN without findings.

        What the table had wrong before counts as false here; `n_before` says how much that may be. The realised false
        discovery rate over cells is this and `collateral_share` together.
        """
        return share(self._sum("n_false", column, kind), self._sum("n_findings", column, kind))

    def _sum(self, count: str, column: str | None, kind: str | None) -> int:
        """One of the counts of trials, over those of a column and kind."""
        chosen = (trial for trial in self.trials if column in (None, trial.column) and kind in (None, trial.kind))
        return sum(getattr(trial, count) for trial in chosen)

    def frame(self) -> Any:
        """One line per column and kind, as a frame of the table's library.

        Columns: column, kind, n_errors, n_found, recall, n_collateral, n_false, n_probable.
        """
        fields = {"column": pa.string(), "kind": pa.string(), "n_errors": pa.int64(), "n_found": pa.int64()}
        fields |= {"recall": pa.float64(), "n_collateral": pa.int64(), "n_false": pa.int64()}
        fields["n_probable"] = pa.int64()
        table = pa.Table.from_pylist(self.to_json()["trials"], pa.schema(fields))
        return self._table.frame(dict(zip(fields, table.columns, strict=True)))

    def to_json(self) -> dict[str, Any]:
        """Plain values: the whole, per column, and per column and kind."""
        columns = []
        for name in self.columns:
            measure, fitness = self.fitness[name]
            recall, probable = self.recall(column=name), self.probable_recall(column=name)
            columns.append(
                {
                    "column": name,
                    "measure": measure,
                    "fitness": _number(fitness),
                    "recall": _number(recall),
                    "probable_recall": _number(probable),
                }
            )
        return {
            "fdr": self.fdr,
            "n_rows": self.n_rows,
            "n_before": self.n_before,
            "recall": _number(self.recall()),
            "probable_recall": _number(self.probable_recall()),
            "collateral_share": _number(self.collateral_share()),
            "false_share": _number(self.false_share()),
            "columns": columns,
            "trials": [asdict(trial) | {"recall": _number(trial.recall)} for trial in self.trials],
        }

    def __str__(self) -> str:
        kinds, n_errors = (*self.kinds, None), self._sum("n_errors", None, None)  # None: of all
        recalls = {name: self.recall(column=name) for name in self.columns}
        probable = self.has_probabilities
        blindest_first = sorted(recalls, key=lambda name: (math.isnan(recalls[name]), recalls[name]))
        table = [
            ["column", "fit", *self.kinds, "all"],
            *map(self._line, blindest_first),
            ["all", "", *(_percent(self.recall(kind=kind)) for kind in kinds)],
            *([["probable", "", *(_percent(self.probable_recall(kind=kind)) for kind in kinds)]] if probable else []),
            ["collateral", "", *(_percent(self.collateral_share(kind=kind), 1) for kind in kinds)],
            ["false", "", *(_percent(self.false_share(kind=kind), 1) for kind in kinds)],
        ]
        before = f"{self.n_before:,} finding{'' if self.n_before == 1 else 's'}"
        return "\n".join(
            [
                f"Share of {n_errors:,} known errors found at a false discovery rate of {self.fdr:g}",
                "",
                *_aligned(table),
                "",
                "fit: R² of numbers, AUC of categories, on rows the trees had not seen",
                *(
                    ["probable: share of the errors with a probability of 0.5 and more of being wrong"]
                    if probable
                    else []
                ),
                "collateral: share of the findings that are right cells in a row with an error",
                "false: share of the findings that are in rows without an error",
                f"The {self.n_rows:,} rows had {before} before any error was put in.",
            ]
        )

    def _line(self, name: str) -> list[str]:
        measure, fitness = self.fitness[name]
        fit = "constant" if math.isnan(fitness) else f"{'R²' if measure == 'R2' else measure} {fitness:.2f}"
        shares = [_percent(self.recall(column=name, kind=kind)) for kind in (*self.kinds, None)]
        return [name if len(name) <= 30 else name[:29] + "…", fit, *shares]


def share(part: int, whole: int) -> float:
    """part / whole; NaN for a part of nothing."""
    return part / whole if whole else math.nan


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _percent(value: float, decimals: int = 0) -> str:
    return "-" if math.isnan(value) else f"{value:.{decimals}%}"


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Rows of a table under each other: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    sides = ["<", "<", *">" * len(widths)]
    return ["  ".join(map("{:{}{}}".format, row, sides, widths)).rstrip() for row in table]


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
        found = detect(model, injected.table, n_jobs=n_jobs)
        flagged = found.flag_cells(fdr)
        probable = found.probable_cells() if found.has_probabilities else None
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
                n_probable=None if probable is None else int((probable & injected.wrong)[:, j].sum()),
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
