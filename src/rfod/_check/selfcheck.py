"""What a self-check found out: per column and kind of error, how many of the errors were found."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from rfod._table.table import Table
from rfod.params import ErrorKind


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
        chosen = self._chosen(column, kind)
        return share(sum(trial.n_found for trial in chosen), sum(trial.n_errors for trial in chosen))

    def collateral_share(self, *, column: str | None = None, kind: str | None = None) -> float:
        """Share of the findings that are right cells of rows with a wrong one, which they do not agree with.

        `Detection.blame` tells the two apart.
        """
        chosen = self._chosen(column, kind)
        return share(sum(trial.n_collateral for trial in chosen), sum(map(_n_findings, chosen)))

    def false_share(self, *, column: str | None = None, kind: str | None = None) -> float:
        """Share of the findings that are in rows without an error. NaN without findings.

        What the table had wrong before counts as false here; `n_before` says how much that may be. The realised false
        discovery rate over cells is this and `collateral_share` together.
        """
        chosen = self._chosen(column, kind)
        return share(sum(trial.n_false for trial in chosen), sum(map(_n_findings, chosen)))

    def frame(self) -> Any:
        """One line per column and kind, as a frame of the table's library.

        Columns: column, kind, n_errors, n_found, recall, n_collateral, n_false.
        """
        return self._table.frame(
            {
                "column": pa.array([trial.column for trial in self.trials], pa.string()),
                "kind": pa.array([trial.kind for trial in self.trials], pa.string()),
                "n_errors": pa.array([trial.n_errors for trial in self.trials], pa.int64()),
                "n_found": pa.array([trial.n_found for trial in self.trials], pa.int64()),
                "recall": pa.array([_number(trial.recall) for trial in self.trials], pa.float64()),
                "n_collateral": pa.array([trial.n_collateral for trial in self.trials], pa.int64()),
                "n_false": pa.array([trial.n_false for trial in self.trials], pa.int64()),
            }
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values: the whole, per column, and per column and kind."""
        return {
            "fdr": self.fdr,
            "n_rows": self.n_rows,
            "n_before": self.n_before,
            "recall": _number(self.recall()),
            "collateral_share": _number(self.collateral_share()),
            "false_share": _number(self.false_share()),
            "columns": [
                {
                    "column": name,
                    "measure": self.fitness[name][0],
                    "fitness": _number(self.fitness[name][1]),
                    "recall": _number(self.recall(column=name)),
                }
                for name in self.columns
            ],
            "trials": [asdict(trial) | {"recall": _number(trial.recall)} for trial in self.trials],
        }

    def __str__(self) -> str:
        n_errors = sum(trial.n_errors for trial in self.trials)
        by_kind = [_percent(self.recall(kind=kind)) for kind in self.kinds]
        beside_by_kind = [_percent(self.collateral_share(kind=kind), 1) for kind in self.kinds]
        false_by_kind = [_percent(self.false_share(kind=kind), 1) for kind in self.kinds]
        recalls = {name: self.recall(column=name) for name in self.columns}
        blindest_first = sorted(recalls, key=lambda name: (math.isnan(recalls[name]), recalls[name]))
        table = [
            ["column", "fit", *self.kinds, "all"],
            *map(self._line, blindest_first),
            ["all", "", *by_kind, _percent(self.recall())],
            ["beside", "", *beside_by_kind, _percent(self.collateral_share(), 1)],
            ["false", "", *false_by_kind, _percent(self.false_share(), 1)],
        ]
        before = f"{self.n_before:,} finding{'' if self.n_before == 1 else 's'}"
        return "\n".join(
            [
                f"Share of {n_errors:,} known errors found at a false discovery rate of {self.fdr:g}",
                "",
                *_aligned(table),
                "",
                "fit: R² of numbers, AUC of categories, on rows the trees had not seen",
                "beside: share of the findings that are right cells in a row with an error",
                "false: share of the findings that are in rows without an error",
                f"The {self.n_rows:,} rows had {before} before any error was put in.",
            ]
        )

    def _chosen(self, column: str | None, kind: str | None) -> list[Trial]:
        return [trial for trial in self.trials if column in (None, trial.column) and kind in (None, trial.kind)]

    def _line(self, name: str) -> list[str]:
        measure, fitness = self.fitness[name]
        fit = "constant" if math.isnan(fitness) else f"{'R²' if measure == 'R2' else measure} {fitness:.2f}"
        shares = [_percent(self.recall(column=name, kind=kind)) for kind in self.kinds]
        return [name if len(name) <= 30 else name[:29] + "…", fit, *shares, _percent(self.recall(column=name))]


def share(part: int, whole: int) -> float:
    """part / whole; NaN for a part of nothing."""
    return part / whole if whole else math.nan


def _n_findings(trial: Trial) -> int:
    return trial.n_found + trial.n_collateral + trial.n_false


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _percent(value: float, decimals: int = 0) -> str:
    return "-" if math.isnan(value) else f"{value:.{decimals}%}"


def _aligned(rows: Iterable[list[str]]) -> list[str]:
    """Rows of a table under each other: names to the left, numbers to the right."""
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            [
                *(cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)),
                *(cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)),
            ]
        ).rstrip()
        for row in table
    ]
