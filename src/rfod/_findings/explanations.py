"""Explains cells and rows: what was expected, under which conditions, and how many rows of the sample bear it out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._evidence.wrong_cells import HIDDEN, WrongCell
from rfod._findings.conditions import Condition, joined, name_text
from rfod._findings.findings import RARE, Findings, Positions, RowLabels
from rfod._findings.reasons import Contrast, Reasons, walk
from rfod._findings.wording import (
    Evidence,
    Expected,
    because_words,
    categorical_evidence,
    cell_sentence,
    evidence_words,
    expected_category,
    expected_number,
    numeric_evidence,
    rank_words,
    rarity_words,
    title_words,
)
from rfod._model.blame import Blame, Repair, repaired_rows
from rfod._model.judge import EncodedRows
from rfod._model.judged import JudgedTable
from rfod._table.encode import decode_column, value_text
from rfod._table.kinds.base import trimmed
from rfod._table.values import UNSEEN

Mask = NDArray[np.bool_]
LEVEL = 0.9  # of intervals


@dataclass(frozen=True)
class CellExplanation:
    """Why one cell stands out: values as texts in the unit of the column."""

    row: int
    column: str
    kind: str
    """"value", "missing", "present", "unseen" or "near miss", as in `Detection.cells`."""
    observed: str
    expected: str
    """The value to put in its place; of a cell to blame, once the others to blame are repaired."""
    low: str | None
    """Numeric columns: the value was expected between `low` and `high`, in nine of ten rows like this one."""
    high: str | None
    numbers: tuple[float | None, ...] | None
    """Numeric columns: observed, expected, low and high in the unit of the column, seconds for dates and times; None
    for what is missing or infinite."""
    likely: tuple[tuple[str, float], ...]
    """Categorical columns: the likeliest categories with their probabilities."""
    score: float | None
    surprise: float
    p_value: float
    blamed: bool
    """Whether replacing this cell is part of what makes the row ordinary."""
    conditions: tuple[Condition, ...]
    """What holds for the row and makes the expected value what it is; empty when nothing narrows it."""
    n_such: int
    """Training rows of the model's sample that meet the conditions and have a value, without the row itself."""
    n_contradicting: int
    """How many of them are evidence against the cell, in the way that `claim` states."""
    claim: str
    """What those rows are like, such as "at most 42" or "carrier = DHL"."""
    suggestion: str | None
    """The known category that a misspelt one is near to."""
    sentence: str

    def __str__(self) -> str:
        return self.sentence

    def hide(self) -> CellExplanation:
        """The same without anything that tells values."""
        sentence = f"{name_text(self.column)} is not what the rest of the row leads to expect"
        hidden = replace(self, kind="value", observed=HIDDEN, expected=HIDDEN, sentence=sentence)
        return replace(hidden, low=None, high=None, numbers=None, likely=(), suggestion=None)

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return vars(self) | {
            "numbers": None if self.numbers is None else list(self.numbers),
            "likely": [list(entry) for entry in self.likely],
            "conditions": [condition.to_json() for condition in self.conditions],
        }


@dataclass(frozen=True)
class RowExplanation:
    """Why one row stands out: its cells, most surprising first, those to blame marked."""

    row: int
    line: int | None
    """Line of the text file on which the row begins, where that is known."""
    key: Any
    """Value of the key column, None without one."""
    key_column: str | None
    score: float
    p_value: float
    standing: str
    """How unusual the row is in words: its rank among the rows of the fit, or how many training rows are like it."""
    cells: tuple[CellExplanation, ...]
    ordinary: bool
    """Whether the row is ordinary once the cells to blame are replaced by what was expected."""
    wrong: tuple[WrongCell, ...] = ()
    """Its cells that are wrong or worth a check, most probable first."""

    @property
    def title(self) -> str:
        """The row and how unusual it is, in words."""
        named = None if self.key_column is None else (self.key_column, str(self.key))
        return title_words(self.row, named, self.score, self.standing)

    def renumbered(self, row: int) -> RowExplanation:
        """The same for a row that has another number where it came from."""
        cells = tuple(replace(cell, row=row) for cell in self.cells)
        return replace(self, row=row, cells=cells, wrong=tuple(replace(cell, row=row) for cell in self.wrong))

    @property
    def remedy(self) -> str:
        """What becomes of the row when the cells to blame are replaced, in words; empty when none is to blame."""
        names = [name_text(cell.column) for cell in self.cells if cell.blamed]
        if not names:
            return ""
        end = "would be ordinary" if self.ordinary else "would still be unusual"
        return f"With the expected {joined(names, 'and')} the row {end}."

    def _parts(self) -> list[tuple[str, list[str]]]:
        """Paragraphs, each with its list."""
        blamed = [cell.sentence for cell in self.cells if cell.blamed]
        others = [cell.sentence for cell in self.cells if not cell.blamed]
        wrong: list[tuple[str, list[str]]] = []
        for name, cells in (
            ("Wrong:", [cell for cell in self.wrong if cell.is_wrong]),
            ("Worth a check:", [cell for cell in self.wrong if not cell.is_wrong]),
        ):
            wrong += [(name, [cell.sentence for cell in cells])] if cells else []
        start = [(self.title, []), *wrong, ("By its forests:", blamed or others)] if wrong else []
        start = start or [(self.title, blamed or others)]
        if not blamed:
            return start
        rest = "Next to that, this looks unusual too:" if self.ordinary else "Also unusual:"
        return [*start, (self.remedy, []), *([(rest, others)] if others else [])]

    def __str__(self) -> str:
        return "\n".join(line for text, items in self._parts() for line in (text, *(f"- {item}" for item in items)))

    def _repr_html_(self) -> str:
        parts = []
        for text, items in self._parts():
            listed = "".join(f"<li>{escape(item)}</li>" for item in items)
            parts.append(f"<p>{escape(text)}</p>" + (f"<ul>{listed}</ul>" if listed else ""))
        return f"<div>{''.join(parts)}</div>"

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return {
            "row": self.row,
            "line": self.line,
            "key": self.key if isinstance(self.key, int | bool | None) else str(self.key),
            "score": self.score,
            "p_value": self.p_value,
            "standing": self.standing,
            "wrong_cells": [cell.to_json() for cell in self.wrong],
            "cells": [cell.to_json() for cell in self.cells],
            "ordinary": self.ordinary,
            "text": str(self),
        }


class Explainer:
    """Explains rows and cells of a judged table."""

    def __init__(self, judged: JudgedTable, labels: RowLabels) -> None:
        self.judged, self.labels = judged, labels
        self.reasons = Reasons(judged.model)
        """The search for conditions, over the model's sample."""

    def explain_rows(self, rows: Positions, n_cells: int, hidden: Collection[str] = ()) -> list[RowExplanation]:
        """Explanations of rows with at most `n_cells` cells each; values of `hidden` columns are left out."""
        judged, repairs = self.judged, self.judged.repairs(rows)
        wanted = dict(zip(rows.tolist(), repairs, strict=True))
        chosen = [(row, j) for row, repair in wanted.items() for j in self._reported(row, repair, n_cells)]
        explained = zip(chosen, self.explain_cells(chosen, hidden), strict=True)
        cells: dict[int, list[CellExplanation]] = {row: [] for row in wanted}
        for (row, _), cell in sorted(explained, key=lambda entry: not entry[1].blamed):
            # a cell that is unusual only beside one to blame is left out where most rows are like it
            if cell.blamed or not cells[row] or 2 * cell.n_contradicting > cell.n_such:
                cells[row].append(cell)
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
                standing=self._standing(row),
                cells=tuple(sorted(cells[row], key=lambda cell: -cell.surprise)),
                ordinary=repair.ordinary,
            )
            for row, repair, value in zip(rows.tolist(), repairs, keys, strict=True)
        ]

    def _standing(self, row: int) -> str:
        judged = self.judged
        if judged.is_own:
            return rank_words(int(judged.ranks[row]), len(judged))
        return rarity_words(float(judged.row_p_values[row]), len(judged.model.calibration))

    def suggestions(self, rows: Positions) -> list[dict[int, Any]]:
        """Per row: the columns to blame, in that order, with the encoded value to put in the place of each cell."""
        judged, repairs = self.judged, self.judged.repairs(rows)
        repaired = repaired_rows(judged.model, judged.rows(rows), repairs)
        suggested = [dict(repair.values) for repair in repairs]
        for j in np.flatnonzero(~judged.model.is_categorical).tolist():
            places = np.array([place for place, own in enumerate(suggested) if j in own], dtype=np.intp)
            low, high = judged.conditional.interval(repaired.take(places), j, LEVEL)
            for place, *interval in zip(places.tolist(), low.tolist(), high.tolist(), strict=True):
                suggested[place][j] = _within(suggested[place][j], *interval)
        return suggested

    def blames(self, rows: Positions) -> list[Blame]:
        """Per row: the cells to blame, and what to put in their place."""
        columns, found = self.judged.model.schema.columns, []
        for row, repair, suggested in zip(
            rows.tolist(), self.judged.repairs(rows), self.suggestions(rows), strict=True
        ):
            repaired = {
                columns[j].name: decode_column(columns[j], np.array([value]))[0].as_py()
                for j, value in suggested.items()
            }
            found.append(Blame(row + self.labels.first_row, tuple(repaired), repaired, repair.ordinary))
        return found

    def blamed_cells(self, rows: Positions, among: Mask | None = None) -> tuple[list[tuple[int, int]], list[str]]:
        """The cells to blame, all or those of a mask (rows of the table, columns), as (row, column); and the text of
        what to put in their place."""
        cells, texts = [], []
        for row, suggested in zip(rows.tolist(), self.suggestions(rows), strict=True):
            for j, value in suggested.items():
                if among is None or among[row, j]:
                    cells.append((row, j))
                    texts += value_text(self.judged.model.schema.columns[j], np.array([value]))
        return cells, texts

    def _reported(self, row: int, repair: Repair, n_cells: int) -> list[int]:
        """Columns to explain: those to blame and others that are surprising, the most surprising one in any case."""
        order = [int(j) for j in self.judged.cell_order(row)]
        unusual = [j for j in order if self.judged.surprise[row, j] >= RARE or j == order[0]]
        wanted = list(dict.fromkeys([*repair.values, *unusual]))[: max(n_cells, 0)]
        return [j for j in order if j in wanted]

    def explain_cells(self, cells: Sequence[tuple[int, int]], hidden: Collection[str] = ()) -> list[CellExplanation]:
        """Explanations of cells, given as (row, column), in their order."""
        judged, findings = self.judged, Findings.of_cells(self.judged, cells)
        rows, places = np.unique(findings.rows, return_inverse=True)
        repairs, as_they_are = judged.repairs(rows), judged.rows(rows)
        twice = as_they_are.take(np.tile(np.arange(len(rows)), 2))
        both = repaired_rows(judged.model, twice, [None] * len(rows) + [*repairs])
        explained: dict[int, CellExplanation] = {}
        for j in np.unique(findings.columns).tolist():
            members = np.flatnonzero(findings.columns == j)
            # a cell to blame is compared with the repaired row, others with the row as it is
            blamed = np.array([j in repairs[place].values for place in places[members]])
            column = _ColumnExplainer(self, findings, j, both.take(places[members] + len(rows) * blamed), hidden)
            for i, n in enumerate(members.tolist()):
                values = [encoded[places[n]] for encoded in as_they_are.encoded]
                explained[n] = column.explain(i, n, values, repairs[places[n]].values if blamed[i] else {})
        return [explained[n] for n in range(len(findings))]


def _called(judged: JudgedTable) -> tuple[str, str]:
    """What one row and many rows of the sample are called. A scan learns from the rows that its first fit finds
    ordinary (`trim`)."""
    if judged.is_own and judged.model.params["trim"] > 0:
        kind = "other ordinary"
    elif len(judged.model.sample.rows) >= judged.model.schema.n_rows:
        kind = "other" if judged.is_own else "training"
    else:
        kind = "other sampled" if judged.is_own else "sampled"
    return f"{kind} row", f"{kind} rows"


def _within(prediction: float, low: float, high: float) -> float:
    """The one value that is suggested: the mean of the trees, kept within the range that is shown beside it."""
    return float(np.clip(prediction, low, high)) if low <= high else float(prediction)


class _ColumnExplainer:
    """Explains cells of column j; `rows` has one row per cell, which the cell is compared with."""

    def __init__(
        self, explainer: Explainer, findings: Findings, j: int, rows: EncodedRows, hidden: Collection[str]
    ) -> None:
        self._judged, self._reasons, self._findings = explainer.judged, explainer.reasons, findings
        self._model, self._first_row = self._judged.model, explainer.labels.first_row
        self._j, self._rows = j, rows
        self._column, self._sample = self._model.schema.columns[j], self._model.sample.values[j]
        self._is_hidden = self._column.name in hidden
        self._unused = {k for k, column in enumerate(self._model.schema.columns) if column.name in hidden} | {j}
        self._in_sample = self._model.sample.find(rows.training_rows)
        if self._column.is_categorical:
            self._shares = self._judged.conditional.shares(rows, j)
        else:
            self._low, self._high = self._judged.conditional.interval(rows, j, LEVEL)
        self._steps = walk(self._model.forests[j], rows.block, rows.in_bag(j))
        self._called = _called(self._judged)
        self._written = self._judged.table.texts.get(self._column.name)

    def explain(self, i: int, n: int, values: Sequence[Any], repaired: Mapping[int, Any]) -> CellExplanation:
        """The i-th cell, number `n` of the findings. `values` is its row, encoded; `repaired` are the values of the
        row's cells to blame, if this is one of them: conditions do not use these columns."""
        findings, column, j = self._findings, self._column, self._j
        row, text = int(findings.rows[n]), findings.observed[n]
        kind, suggestion = findings.kinds[n], findings.suggestions[n]
        prediction = repaired.get(j, self._judged.cells.expected[j][row])
        expected = self._expected(i, prediction, values[j])
        others = np.arange(len(self._sample)) != self._in_sample[i]  # all rows of the sample but the row itself
        conditions: tuple[Condition, ...] = ()
        if kind in ("missing", "present"):
            evidence = self._gaps(others, kind)
        elif self._is_hidden:
            evidence = Evidence(0, 0, "", "have")
        else:
            usable = others & (self._sample >= 0 if column.is_categorical else np.isfinite(self._sample))
            contrast = self._contrast(usable, values[j], prediction)
            conditions = self._conditions(i, values, contrast, self._unused | repaired.keys())
            for condition in conditions:
                usable = usable & self._reasons.rows_meeting(condition, self._model.sample.values)
            such = self._sample[usable]
            if column.is_categorical:
                evidence = categorical_evidence(column, such, int(values[j]), int(prediction), text)
            else:
                evidence = numeric_evidence(column, such, float(values[j]), expected.low, expected.high)
        score = float(self._judged.cells.cell_scores[row, j])
        numbers = None
        if not column.is_categorical:
            found = (float(values[j]), expected.value, float(self._low[i]), float(self._high[i]))
            numbers = tuple(value if np.isfinite(value) else None for value in found)
        because, counted = because_words(conditions, evidence, self._called), evidence_words(evidence, self._called)
        explanation = CellExplanation(
            row=row + self._first_row,
            column=column.name,
            kind=kind,
            observed=text,
            expected=expected.text,
            low=expected.low_text,
            high=expected.high_text,
            numbers=numbers,
            likely=expected.likely,
            score=None if np.isnan(score) else score,
            surprise=float(self._judged.surprise[row, j]),
            p_value=float(self._judged.p_values[row, j]),
            blamed=bool(repaired),
            conditions=conditions,
            n_such=evidence.n_such,
            n_contradicting=evidence.n_contradicting,
            claim=f"not {evidence.claim}" if evidence.negative else evidence.claim,
            suggestion=suggestion,
            sentence=cell_sentence(column, kind, self._unread(row) or text, suggestion, expected, because, counted),
        )
        return explanation.hide() if self._is_hidden else explanation

    def _expected(self, i: int, prediction: Any, observed: Any) -> Expected:
        if self._column.is_categorical:
            return expected_category(self._column, int(prediction), self._shares[i])
        low, high = float(self._low[i]), float(self._high[i])
        return expected_number(self._column, _within(prediction, low, high), low, high, float(observed))

    def _unread(self, row: int) -> str | None:
        """What stands in a cell that counts as missing because it does not read as the kind of its column."""
        if self._written is None:
            return None
        text: str | None = trimmed(self._written.slice(row, 1))[0].as_py()
        return text

    def _gaps(self, others: Mask, kind: str) -> Evidence:
        """How many of the other rows of the sample have a value, or none."""
        is_missing = (self._sample < 0 if self._column.is_categorical else np.isnan(self._sample))[others]
        if kind == "present":
            return Evidence(len(is_missing), int(np.count_nonzero(is_missing)), "no value", "have")
        return Evidence(len(is_missing), int(np.count_nonzero(~is_missing)), "a value", "have")

    def _contrast(self, usable: Mask, observed: Any, expected: Any) -> Contrast:
        if self._column.is_categorical:
            return Contrast(usable, (self._sample != expected).astype(np.float64), self._sample == observed)
        scale = float(self._model.ranges[self._j]) or 1.0
        distance = np.minimum(np.abs(np.where(usable, self._sample, expected) - expected) / scale, 1.0)
        as_extreme = self._sample >= observed if observed > expected else self._sample <= observed
        return Contrast(usable, distance, as_extreme)

    def _conditions(
        self, i: int, values: Sequence[Any], contrast: Contrast, excluded: Collection[int]
    ) -> tuple[Condition, ...]:
        unseen = {k for k in np.flatnonzero(self._model.is_categorical).tolist() if values[k] == UNSEEN}
        clauses = self._reasons.find(self._j, self._steps[i], self._rows.block[i], contrast, {*excluded, *unseen})
        worded = [self._reasons.condition(clause, values) for clause in clauses]
        return tuple(condition for condition in worded if condition is not None)
