"""Explains cells: what was expected, under which conditions, and how many rows of the sample bear it out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._findings.conditions import Condition, grouped
from rfod._findings.explanations import CellExplanation, RowExplanation
from rfod._findings.findings import RARE, Findings, Positions, RowLabels
from rfod._findings.reasons import Contrast, Reasons
from rfod._findings.wording import (
    Evidence,
    Expected,
    because_words,
    categorical_evidence,
    expected_category,
    expected_number,
    hidden_sentence,
    missing_sentence,
    numeric_evidence,
    present_sentence,
    unseen_sentence,
    value_sentence,
)
from rfod._model.blame import Repair
from rfod._model.judge import EncodedRows, code_rows
from rfod._model.judged import JudgedTable
from rfod._table.values import UNSEEN

Mask = NDArray[np.bool_]
LEVEL = 0.9  # of intervals
HIDDEN = "hidden"


@dataclass(frozen=True, eq=False)
class _Cell:
    """A cell to explain."""

    place: int
    """Of its row among the rows to explain."""
    row: int
    j: int
    values: Sequence[Any]
    """The whole row, encoded."""
    expected: Any
    """Encoded."""
    excluded: frozenset[int]
    """Columns that conditions must not use: those to blame."""
    observed: str
    kind: str
    suggestion: str | None
    blamed: bool


class Explainer:
    """Explains rows and cells of a judged table."""

    def __init__(self, judged: JudgedTable, labels: RowLabels) -> None:
        self.judged, self.labels = judged, labels

    @cached_property
    def reasons(self) -> Reasons:
        """The search for conditions, over the model's sample."""
        return Reasons(self.judged.model)

    def explain_rows(self, rows: Positions, n_cells: int, hidden: Collection[str] = ()) -> list[RowExplanation]:
        """Explanations of rows with at most `n_cells` cells each; values of `hidden` columns are left out."""
        judged, repairs = self.judged, self.judged.repairs(rows)
        chosen = [
            (place, j)
            for place, (row, repair) in enumerate(zip(rows.tolist(), repairs, strict=True))
            for j in self._reported(row, repair, n_cells)
        ]
        explained = self._explain(rows, repairs, chosen, hidden)
        cells: list[list[CellExplanation]] = [[] for _ in rows]
        for (place, _), cell in sorted(zip(chosen, explained, strict=True), key=lambda entry: not entry[1].blamed):
            # a cell that is unusual only beside one to blame is left out where most rows are like it
            if cell.blamed or not cells[place] or 2 * cell.n_contradicting > cell.n_such:
                cells[place].append(cell)
        labels, key = self.labels, self.labels.key
        keys = [HIDDEN if key in hidden else None] * len(rows)
        if labels.keys is not None and key not in hidden:
            keys = labels.keys.take(pa.array(rows)).to_pylist()
        return [
            RowExplanation(
                row=row + labels.first_row,
                line=None if labels.lines is None else int(labels.lines[row]),
                key=value,
                key_column=key,
                score=float(judged.row_scores[row]),
                p_value=float(judged.row_p_values[row]),
                cells=tuple(sorted(own, key=lambda cell: -cell.surprise)),
                ordinary=repair.ordinary,
            )
            for row, repair, value, own in zip(rows.tolist(), repairs, keys, cells, strict=True)
        ]

    def explain_cells(self, cells: Sequence[tuple[int, int]], hidden: Collection[str] = ()) -> list[CellExplanation]:
        """Explanations of single cells, given as (row, column)."""
        rows = np.array([row for row, _ in cells], dtype=np.intp)
        chosen = [(place, j) for place, (_, j) in enumerate(cells)]
        return self._explain(rows, self.judged.repairs(rows), chosen, hidden)

    def _reported(self, row: int, repair: Repair, n_cells: int) -> list[int]:
        """Columns to explain: those to blame and others that are surprising, the most surprising one in any case."""
        order = [int(j) for j in self.judged.cell_order(row)]
        unusual = [j for j in order if self.judged.surprise[row, j] >= RARE or j == order[0]]
        wanted = list(dict.fromkeys([*repair.columns, *unusual]))[: max(n_cells, 0)]
        return [j for j in order if j in wanted]

    def _explain(
        self, rows: Positions, repairs: Sequence[Repair], chosen: Sequence[tuple[int, int]], hidden: Collection[str]
    ) -> list[CellExplanation]:
        """Explanations of cells, given as (place of the row, column), in their order."""
        judged = self.judged
        findings = Findings.of_cells(judged, [(int(rows[place]), j) for place, j in chosen])
        read = judged.rows(rows)
        both = self._with_repaired(read, repairs)
        cells = []
        for n, (place, j) in enumerate(chosen):
            row, repair = int(rows[place]), repairs[place]
            blamed = j in repair.columns
            cells.append(
                _Cell(
                    place=place,
                    row=row,
                    j=j,
                    values=[column[place] for column in read.encoded],
                    expected=repair.values[repair.columns.index(j)] if blamed else judged.cells.expected[j][row],
                    excluded=frozenset(repair.columns) if blamed else frozenset(),
                    observed=findings.observed[n],
                    kind=findings.kinds[n],
                    suggestion=findings.suggestions[n],
                    blamed=blamed,
                )
            )
        explained: dict[int, CellExplanation] = {}
        for j in dict.fromkeys(cell.j for cell in cells):
            members = [n for n, cell in enumerate(cells) if cell.j == j]
            # a cell to blame is compared with the repaired row, others with the row as it is
            at = np.array([cells[n].place + len(rows) * cells[n].blamed for n in members], dtype=np.intp)
            column = _ColumnExplainer(self, j, both.take(at), hidden)
            explained |= {n: column.explain(i, cells[n]) for i, n in enumerate(members)}
        return [explained[n] for n in range(len(cells))]

    def _with_repaired(self, read: EncodedRows, repairs: Sequence[Repair]) -> EncodedRows:
        """Rows as they are, and once more with the cells to blame repaired."""
        n_rows = len(read)
        encoded = [np.concatenate([column, column]) for column in read.encoded]
        for place, repair in enumerate(repairs):
            for j, value in zip(repair.columns, repair.values, strict=True):
                encoded[j][n_rows + place] = value
        twice = np.concatenate([np.arange(n_rows), np.arange(n_rows)])
        return code_rows(self.judged.model, encoded).like(read, twice)


class _ColumnExplainer:
    """Explains cells of column j; `rows` has one row per cell."""

    def __init__(self, explainer: Explainer, j: int, rows: EncodedRows, hidden: Collection[str]) -> None:
        self._judged, self._reasons, self._j, self._rows = explainer.judged, explainer.reasons, j, rows
        self._model, self._first_row = self._judged.model, explainer.labels.first_row
        self._column = self._model.schema.columns[j]
        self._sample = self._model.sample.values[j]
        self._is_hidden = self._column.name in hidden
        self._unused = {k for k, column in enumerate(self._model.schema.columns) if column.name in hidden} | {j}
        self._places = rows.places(self._model.sample.places)
        if self._column.is_categorical:
            self._shares = self._judged.conditional.shares(rows, j)
        else:
            self._low, self._high = self._judged.conditional.interval(rows, j, LEVEL)
        self._steps = self._reasons.walk(j, rows)

    def explain(self, i: int, cell: _Cell) -> CellExplanation:
        """The i-th cell."""
        expected = self._expected(i, cell)
        conditions: tuple[Condition, ...] = ()
        if cell.kind in ("missing", "present"):
            evidence = self._gaps(i, cell.kind)
        elif self._is_hidden:
            evidence = Evidence(0, 0, "", "have")
        else:
            usable = self._usable(i)
            conditions = self._conditions(i, cell, self._contrast(usable, cell))
            evidence = self._evidence(conditions, usable, cell, expected)
        score, at = float(self._judged.cells.cell_scores[cell.row, self._j]), (cell.row, self._j)
        numbers = None
        if not self._column.is_categorical:
            values = (float(cell.values[self._j]), expected.value, float(self._low[i]), float(self._high[i]))
            numbers = tuple(value if np.isfinite(value) else None for value in values)
        explanation = CellExplanation(
            row=cell.row + self._first_row,
            column=self._column.name,
            kind=cell.kind,
            observed=cell.observed,
            expected=expected.text,
            low=expected.low_text,
            high=expected.high_text,
            numbers=numbers,
            likely=expected.likely,
            score=None if np.isnan(score) else score,
            surprise=float(self._judged.surprise[at]),
            p_value=float(self._judged.p_values[at]),
            blamed=cell.blamed,
            conditions=conditions,
            n_such=evidence.n_such,
            n_contradicting=evidence.n_contradicting,
            claim=f"not {evidence.claim}" if evidence.negative else evidence.claim,
            suggestion=cell.suggestion,
            sentence=self._sentence(cell, expected, conditions, evidence),
        )
        return explanation.hide(HIDDEN) if self._is_hidden else explanation

    def _sentence(self, cell: _Cell, expected: Expected, conditions: Sequence[Condition], evidence: Evidence) -> str:
        name, kind, rows = self._column.name, cell.kind, self._rows_words()
        observed = cell.observed if self._column.is_categorical else grouped(cell.observed)
        because = because_words(conditions, evidence, rows)
        if self._is_hidden:
            return hidden_sentence(name)
        if kind == "missing":
            return missing_sentence(name, evidence, rows, expected.words)
        if kind == "present":
            return present_sentence(name, observed, evidence, rows)
        if kind in ("unseen", "near miss"):
            return unseen_sentence(name, cell.observed, cell.suggestion, expected, because)
        return value_sentence(name, observed, expected.words, because)

    def _expected(self, i: int, cell: _Cell) -> Expected:
        if self._column.is_categorical:
            return expected_category(self._column, int(cell.expected), self._shares[i])
        observed, low, high = float(cell.values[self._j]), float(self._low[i]), float(self._high[i])
        # one value and one range: the mean of the trees, kept within the range that is shown beside it
        expected = float(np.clip(cell.expected, low, high)) if low <= high else float(cell.expected)
        return expected_number(self._column, expected, low, high, observed)

    def _usable(self, i: int) -> Mask:
        """Rows of the sample that have a value, without the row itself."""
        usable = np.asarray(self._sample >= 0 if self._column.is_categorical else np.isfinite(self._sample))
        if self._places[i] >= 0:
            usable[self._places[i]] = False
        return usable

    def _gaps(self, i: int, kind: str) -> Evidence:
        is_missing = self._sample < 0 if self._column.is_categorical else np.isnan(self._sample)
        if self._places[i] >= 0:
            is_missing = np.delete(is_missing, self._places[i])
        n_missing = int(np.count_nonzero(is_missing))
        if kind == "present":
            return Evidence(len(is_missing), n_missing, "no value", "have")
        return Evidence(len(is_missing), len(is_missing) - n_missing, "a value", "have")

    def _contrast(self, usable: Mask, cell: _Cell) -> Contrast:
        observed, expected = cell.values[self._j], cell.expected
        if self._column.is_categorical:
            return Contrast(usable, (self._sample != expected).astype(np.float64), self._sample == observed)
        scale = float(self._model.ranges[self._j]) or 1.0
        distance = np.minimum(np.abs(np.where(usable, self._sample, expected) - expected) / scale, 1.0)
        as_extreme = self._sample >= observed if observed > expected else self._sample <= observed
        return Contrast(usable, distance, as_extreme)

    def _conditions(self, i: int, cell: _Cell, contrast: Contrast) -> tuple[Condition, ...]:
        unseen = {j for j in np.flatnonzero(self._model.is_categorical).tolist() if cell.values[j] == UNSEEN}
        excluded = self._unused | cell.excluded | unseen
        clauses = self._reasons.find(self._j, self._steps, i, self._rows.block[i], contrast, excluded)
        worded = [self._reasons.condition(clause, cell.values) for clause in clauses]
        return tuple(condition for condition in worded if condition is not None)

    def _evidence(self, conditions: Sequence[Condition], usable: Mask, cell: _Cell, expected: Expected) -> Evidence:
        for condition in conditions:
            usable = usable & self._reasons.sampled_rows_meeting(condition)
        such, observed = self._sample[usable], cell.values[self._j]
        if self._column.is_categorical:
            return categorical_evidence(self._column, such, int(observed), int(cell.expected), cell.observed)
        return numeric_evidence(self._column, such, float(observed), expected.low, expected.high)

    def _rows_words(self) -> tuple[str, str]:
        """What the rows of the sample are called: one, many."""
        is_all = len(self._model.sample.rows) >= self._model.schema.n_rows
        is_own = self._judged.is_own
        kind = ("other" if is_own else "training") if is_all else ("other sampled" if is_own else "sampled")
        return f"{kind} row", f"{kind} rows"
