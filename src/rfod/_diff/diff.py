"""Two runs compared: tables, answers of a model, or a model and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._diff.columns import ColumnChange, compare_columns, gap_movement, judged_together
from rfod._diff.findings import FindingChange, FindingList, compare_detections, compare_lists, identities_of
from rfod._diff.matching import match
from rfod._diff.samples import sides_of_model, sides_of_tables
from rfod._evidence.wrong_cells import WRONG
from rfod._model.model import Model
from rfod._table.fingerprint import cell_hashes
from rfod._table.table import Table, check_columns, open_table
from rfod.detection import Detection
from rfod.exceptions import ParameterError, SchemaError
from rfod.params import SCAN_SEED, SCAN_TRIM, Params
from rfod.pipeline import scan_table

Positions = NDArray[np.intp]
LEVEL = 0.05
FORMAT_VERSION = 1  # of `to_json`; docs/schemas/diff-1.json


@dataclass(frozen=True, eq=False)
class TableDiff:
    """What is different between two runs."""

    columns: tuple[ColumnChange, ...]
    """The columns of both, in the order of the earlier side; none for findings from files."""
    findings: tuple[FindingChange, ...]
    """Findings of either side: new ones, those that persist, resolved ones; in each the most probable first."""
    compares_columns: bool
    compares_findings: bool
    """What was compared: findings need two runs, columns two tables."""
    n_rows: tuple[int | None, int | None]
    """Rows before and after, where that is known."""
    n_matched: int | None
    """Rows that are in both tables."""
    key: str | None
    """Column by which rows were matched; None where they were matched by their content."""
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    """Columns that one side lacks."""
    level: float = LEVEL
    above: float = WRONG
    names: tuple[str, str] = ("before", "after")
    """What the sides are called."""
    _frame: Any = field(default=None, repr=False)

    def named(self, before: str, after: str) -> TableDiff:
        """The same with other names of its sides."""
        return replace(self, names=(before, after))

    @property
    def moved(self) -> list[ColumnChange]:
        """Columns that moved, the largest effect first; those whose relation alone moved at the end."""
        return sorted((column for column in self.columns if column.moved), key=_by_effect)

    @property
    def new(self) -> list[FindingChange]:
        """Findings of the later side that the earlier one does not have."""
        return [change for change in self.findings if change.status == "new"]

    @property
    def persisting(self) -> list[FindingChange]:
        """Findings of both sides."""
        return [change for change in self.findings if change.status == "persisting"]

    @property
    def resolved(self) -> list[FindingChange]:
        """Findings of the earlier side that the later one does not have."""
        return [change for change in self.findings if change.status == "resolved"]

    def column_frame(self) -> Any:
        """One line per column and test, as a frame of the tables' library: column, kind, test ("distribution", "gaps"
        or "relation"), moved, effect, p_value, adjusted, n_before, n_after, n_changed and sentence."""
        lines = [(change, name, test) for change in self.columns for name, test in change.tests.items()]
        sentence = {
            (change.column, name): text
            for change in self.columns
            for name, text in zip(change.moved, change.sentences, strict=True)
        }
        columns = {
            "column": pa.array([change.column for change, _, _ in lines], pa.string()),
            "kind": pa.array([change.kind for change, _, _ in lines], pa.string()),
            "test": pa.array([name for _, name, _ in lines], pa.string()),
            "moved": pa.array([test.moved for _, _, test in lines], pa.bool_()),
            "effect": pa.array([test.effect for _, _, test in lines], pa.float64()),
            "p_value": pa.array([test.p_value for _, _, test in lines], pa.float64()),
            "adjusted": pa.array([test.adjusted for _, _, test in lines], pa.float64()),
            "n_before": pa.array([test.n_before for _, _, test in lines], pa.int64()),
            "n_after": pa.array([test.n_after for _, _, test in lines], pa.int64()),
            "n_changed": pa.array([change.n_changed for change, _, _ in lines], pa.int64()),
            "sentence": pa.array([sentence.get((change.column, name)) for change, name, _ in lines], pa.string()),
        }
        return self._built(columns)

    def finding_frame(self) -> Any:
        """One line per finding, as a frame of the tables' library: status, why, key, column, observed_before,
        observed_after, suggested, row_before, row_after, probability_before, probability_after and reason."""
        changes = self.findings
        keys = [change.key for change in changes]
        is_text = any(not isinstance(key, int | None) for key in keys)
        columns = {
            "status": pa.array([change.status for change in changes], pa.string()),
            "why": pa.array([change.why for change in changes], pa.string()),
            "key": pa.array([str(key) if is_text and key is not None else key for key in keys]),
            "column": pa.array([change.column for change in changes], pa.string()),
            "observed_before": pa.array([change.observed_before for change in changes], pa.string()),
            "observed_after": pa.array([change.observed_after for change in changes], pa.string()),
            "suggested": pa.array([change.finding.suggested for change in changes], pa.string()),
        }
        for side in ("before", "after"):
            found = [getattr(change, side) for change in changes]
            columns[f"row_{side}"] = pa.array([None if one is None else one.row for one in found], pa.int64())
        for side in ("before", "after"):
            found = [getattr(change, side) for change in changes]
            chances = [None if one is None else one.probability for one in found]
            columns[f"probability_{side}"] = pa.array(chances, pa.float64())
        columns["reason"] = pa.array([change.finding.reason for change in changes], pa.string())
        return self._built(columns)

    def _built(self, columns: dict[str, pa.Array]) -> Any:
        return pa.table(columns) if self._frame is None else self._frame(columns)

    def to_json(self) -> dict[str, Any]:
        """Plain types, by the schema docs/schemas/diff-1.json."""
        return {
            "format": "rfod diff",
            "version": FORMAT_VERSION,
            "before": {"name": self.names[0], "n_rows": self.n_rows[0]},
            "after": {"name": self.names[1], "n_rows": self.n_rows[1]},
            "key": self.key,
            "n_matched": self.n_matched,
            "level": self.level,
            "above": self.above,
            "compares_columns": self.compares_columns,
            "compares_findings": self.compares_findings,
            "n_moved": len(self.moved),
            "n_new": len(self.new),
            "n_persisting": len(self.persisting),
            "n_resolved": len(self.resolved),
            "only_before": list(self.only_before),
            "only_after": list(self.only_after),
            "columns": [change.to_json() for change in self.columns],
            "findings": [change.to_json() for change in self.findings],
        }

    def __str__(self) -> str:
        from rfod._diff.wording import lines

        return "\n".join(lines(self))

    def __repr__(self) -> str:
        return (
            f"<TableDiff: {len(self.moved)} of {len(self.columns)} columns moved; findings: {len(self.new)} new, "
            f"{len(self.persisting)} persisting, {len(self.resolved)} resolved>"
        )


def _by_effect(change: ColumnChange) -> tuple[bool, float]:
    sizes = [abs(change.tests[name].effect) for name in change.moved if name != "relation"]
    if sizes:
        return False, -max(sizes)
    return True, -change.tests["relation"].effect


def diff(
    before: Any, after: Any, *, key: str | None = None, above: float = WRONG, level: float = LEVEL, **params: Any
) -> TableDiff:
    """Compare two runs: which findings are new, which columns moved, and which no longer go with the others as before?

    Parameters
    ----------
    before
        A table, or the `Detection` of one that was scanned already; or a fitted `RFOD`, which has no earlier findings.
    after
        A table, or the `Detection` of one if `before` is one. A table if `before` is an `RFOD`: its columns are
        compared with those that the model was fitted to, and `level` is the only parameter.
    key
        Column that identifies rows. Without one, rows are matched by their content, so that they may move.
    above
        Probability from which on a cell is a finding.
    level
        Chance that any column of an unchanged table is said to have moved, at most.
    params
        Of the scans, as for `rfod.scan`.
    """
    _check(above, "above")
    _check(level, "level")
    if hasattr(before, "model_"):
        if params or key is not None or above != WRONG:
            raise ParameterError(
                "key, above and parameters belong to scans, and a model is compared with a table by its columns only.\n"
                "Hint: leave them out, or pass two tables."
            )
        return diff_model(before.model_, open_table(after), level, before.n_jobs)
    if isinstance(before, Detection) != isinstance(after, Detection):
        raise ParameterError("One side is a Detection and the other is not.\nHint: pass two of them, or two tables.")
    if isinstance(before, Detection):
        if params or key is not None:
            raise ParameterError("key and parameters belong to the scans, which were made already.")
        return diff_detections(before, after, above, level)
    settings = Params(**{"trim": SCAN_TRIM, "random_state": SCAN_SEED} | params)
    return diff_tables(open_table(before), open_table(after), settings, key=key, above=above, level=level)


def _check(value: float, name: str) -> None:
    if not 0 < value < 1:
        raise ParameterError(f"{name} is {value!r}; it must be a number between 0 and 1, both excluded.")


def diff_tables(
    before: Table,
    after: Table,
    params: Params,
    *,
    key: str | None = None,
    above: float = WRONG,
    level: float = LEVEL,
    lines: Sequence[NDArray[np.int64] | None] = (None, None),
) -> TableDiff:
    """Scan and compare two tables; columns that one of them lacks are named and left out."""
    shared = [name for name in before.names if name in set(after.names)]
    for table in (before, after):
        check_columns(table.names, [] if key is None else [key], "use as key")
    if len(shared) < 2:
        raise SchemaError(
            f"The tables have {len(shared)} columns in common; two are needed.\nHint: columns are matched by name."
        )
    found = [
        scan_table(table.select(shared), params, key=key, lines=own)[1]
        for table, own in zip((before, after), lines, strict=True)
    ]
    compared = diff_detections(found[0], found[1], above, level)
    left = [tuple(name for name in table.names if name not in shared) for table in (before, after)]
    return replace(compared, only_before=left[0], only_after=left[1])


def diff_detections(before: Detection, after: Detection, above: float = WRONG, level: float = LEVEL) -> TableDiff:
    """Compare two judged tables."""
    has_key = before.labels.keys is not None and after.labels.keys is not None
    rows = match(identities_of(before), identities_of(after))
    tables = before.judged.table, after.judged.table
    sides = sides_of_tables(before.judged, tables[1], rows, before.judged.n_jobs)
    model = before.judged.model
    changes = compare_columns(model, *sides, tables)
    changes += _gaps_elsewhere(model, *tables)
    names = before.judged.table.names
    changes = sorted(judged_together(changes, level), key=lambda change: names.index(change.column))
    changes = [replace(change, n_changed=_n_changed(*tables, change.column, rows)) for change in changes]
    can_compare = before.has_probabilities and after.has_probabilities
    return TableDiff(
        columns=tuple(changes),
        findings=tuple(compare_detections(before, after, rows, above)) if can_compare else (),
        compares_columns=True,
        compares_findings=can_compare,
        n_rows=(len(before), len(after)),
        n_matched=int(np.count_nonzero(rows >= 0)),
        key=before.key if has_key else None,
        only_before=tuple(name for name in tables[0].names if name not in tables[1].names),
        only_after=tuple(name for name in tables[1].names if name not in tables[0].names),
        level=level,
        above=above,
        _frame=tables[0].frame,
    )


def diff_model(model: Model, table: Table, level: float = LEVEL, n_jobs: int | None = -1) -> TableDiff:
    """Compare a table with what a model keeps of its training table: columns only, a model has no earlier findings."""
    changes = compare_columns(model, *sides_of_model(model, table, n_jobs), (None, table))
    return TableDiff(
        columns=tuple(judged_together(changes, level)),
        findings=(),
        compares_columns=True,
        compares_findings=False,
        n_rows=(model.schema.n_rows, table.n_rows),
        n_matched=None,
        key=None,
        only_before=tuple(name for name in model.schema.names if name not in table.names and model.schema.has_names),
        only_after=tuple(name for name in table.names if name not in model.schema.names and model.schema.has_names),
        level=level,
        _frame=table.frame,
    )


def diff_lists(before: FindingList, after: FindingList, above: float = WRONG) -> TableDiff:
    """Compare the findings of two files."""
    has_key = before.identities.keys is not None and after.identities.keys is not None
    return TableDiff(
        columns=(),
        findings=tuple(compare_lists(before, after, above)),
        compares_columns=False,
        compares_findings=True,
        n_rows=(None, None),
        n_matched=None,
        key="key" if has_key else None,  # files do not say what the column is called
        above=above,
    )


def _gaps_elsewhere(model: Model, before: Table, after: Table) -> list[ColumnChange]:
    """The gaps of columns that are not modelled."""
    changes = []
    for name, reason in model.schema.left_out.items():
        if reason == "ignored" or name not in before.names or name not in after.names:
            continue
        n_missing = [int(np.count_nonzero(cell_hashes(table, name) == 0)) for table in (before, after)]
        test, detail = gap_movement(n_missing[0], before.n_rows, n_missing[1], after.n_rows)
        changes.append(ColumnChange(name, str(reason), None, test, None, {"gaps": detail}))
    return changes


def _n_changed(before: Table, after: Table, name: str, rows: Positions) -> int:
    """In how many matched rows a column holds something else."""
    is_matched = rows >= 0
    return int(np.count_nonzero(cell_hashes(before, name)[rows[is_matched]] != cell_hashes(after, name)[is_matched]))
