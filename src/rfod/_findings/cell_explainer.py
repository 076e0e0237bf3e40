"""The cells of one column, each in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._findings.conditions import Condition, grouped
from rfod._findings.evidence import Evidence, categorical_evidence, numeric_evidence
from rfod._findings.expected import Expected, expected_category, expected_number
from rfod._findings.explanations import CellExplanation
from rfod._findings.found import Found
from rfod._findings.paths import Steps, walk
from rfod._findings.reasons import Contrast
from rfod._findings.sentences import (
    because_words,
    hidden_sentence,
    missing_sentence,
    present_sentence,
    unseen_sentence,
    value_sentence,
)
from rfod._model.judge import Rows
from rfod._table.values import UNSEEN

Mask = NDArray[np.bool_]
LEVEL = 0.9  # of intervals
HIDDEN = "hidden"


@dataclass(frozen=True, eq=False)
class Asked:
    """One cell, and what is known of it."""

    row: int
    values: Sequence[Any]
    """The whole row, encoded."""
    expected: Any
    """Encoded."""
    without: frozenset[int]
    """Columns that conditions must not speak of."""
    observed: str
    kind: str
    suggestion: str | None
    blamed: bool


class CellExplainer:
    """What is asked of the model for the cells of column j, all at once; `rows` has one row per cell."""

    def __init__(self, found: Found, j: int, rows: Rows, hidden: Collection[str]) -> None:
        self._found, self._j, self._rows = found, j, rows
        self._model, self._reasons = found._model, found._reasons
        self._column = self._model.schema.columns[j]
        self._is_hidden = self._column.name in hidden
        self._never = {k for k, column in enumerate(self._model.schema.columns) if column.name in hidden} | {j}
        self._places = rows.places(self._model.sample.places)
        if self._column.is_categorical:
            self._shares = found._conditional.shares(rows, j)
        else:
            self._low, self._high = found._conditional.interval(rows, j, LEVEL)
        self._steps: Steps = walk(self._model.forests[j], rows.block, rows.in_bag(j))

    def tell(self, i: int, asked: Asked) -> CellExplanation:
        """The i-th cell."""
        observed = asked.values[self._j]
        expected = self._expected(i, asked)
        conditions: tuple[Condition, ...] = ()
        if asked.kind in ("missing", "present"):
            evidence = self._gaps(i, asked.kind)
        elif self._is_hidden:
            evidence = Evidence(0, 0, "", "have")
        else:
            heard = self._heard(i)
            conditions = self._conditions(i, asked, self._contrast(heard, observed, asked.expected))
            evidence = self._evidence(conditions, heard, asked, expected)
        score, found = float(self._found.cell_scores[asked.row, self._j]), self._found
        told = CellExplanation(
            row=asked.row,
            column=self._column.name,
            kind=asked.kind,
            observed=asked.observed,
            expected=expected.text,
            low=expected.low_text,
            high=expected.high_text,
            likely=expected.likely,
            score=None if np.isnan(score) else score,
            surprise=float(found.surprise[asked.row, self._j]),
            p_value=float(found.p_values[asked.row, self._j]),
            blamed=asked.blamed,
            conditions=conditions,
            n_such=evidence.n_such,
            n_agree=evidence.n_agree,
            claim=f"not {evidence.claim}" if evidence.negative else evidence.claim,
            suggestion=asked.suggestion,
            sentence=self._sentence(asked, expected, conditions, evidence),
        )
        return told.hide(HIDDEN) if self._is_hidden else told

    def _sentence(self, asked: Asked, expected: Expected, conditions: Sequence[Condition], evidence: Evidence) -> str:
        name, kind = self._column.name, asked.kind
        rows = self._rows_words()
        observed = asked.observed if self._column.is_categorical else grouped(asked.observed)
        because = because_words(conditions, evidence, rows)
        if self._is_hidden:
            return hidden_sentence(name)
        if kind == "missing":
            return missing_sentence(name, evidence, rows, expected.words)
        if kind == "present":
            return present_sentence(name, observed, evidence, rows)
        if kind in ("unseen", "near miss"):
            return unseen_sentence(name, asked.observed, asked.suggestion, expected, because)
        return value_sentence(name, observed, expected.words, because)

    def _expected(self, i: int, asked: Asked) -> Expected:
        if self._column.is_categorical:
            return expected_category(self._column, int(asked.expected), self._shares[i])
        observed, low, high = float(asked.values[self._j]), float(self._low[i]), float(self._high[i])
        return expected_number(self._column, float(asked.expected), low, high, observed)

    def _heard(self, i: int) -> Mask:
        """Rows of the sample that have a value, without the row itself."""
        values = self._model.sample.values[self._j]
        heard = np.asarray(values >= 0 if self._column.is_categorical else np.isfinite(values))
        if self._places[i] >= 0:
            heard[self._places[i]] = False
        return heard

    def _gaps(self, i: int, kind: str) -> Evidence:
        values = self._model.sample.values[self._j]
        is_missing = values < 0 if self._column.is_categorical else np.isnan(values)
        if self._places[i] >= 0:
            is_missing = np.delete(is_missing, self._places[i])
        n_missing = int(np.count_nonzero(is_missing))
        if kind == "present":
            return Evidence(len(is_missing), n_missing, "no value", "have")
        return Evidence(len(is_missing), len(is_missing) - n_missing, "a value", "have")

    def _contrast(self, heard: Mask, observed: Any, expected: Any) -> Contrast:
        values = self._model.sample.values[self._j]
        if self._column.is_categorical:
            return Contrast(heard, (values != expected).astype(np.float64), values == observed)
        scale = float(self._model.ranges[self._j]) or 1.0
        off = np.minimum(np.abs(np.where(heard, values, expected) - expected) / scale, 1.0)
        return Contrast(heard, off, values >= observed if observed > expected else values <= observed)

    def _conditions(self, i: int, asked: Asked, contrast: Contrast) -> tuple[Condition, ...]:
        unknown = {j for j in np.flatnonzero(self._model.is_categorical).tolist() if asked.values[j] == UNSEEN}
        without = self._never | asked.without | unknown
        clauses = self._reasons.find(self._j, self._steps, i, self._rows.block[i], contrast, without)
        worded = [self._reasons.condition(clause, asked.values) for clause in clauses]
        return tuple(condition for condition in worded if condition is not None)

    def _evidence(self, conditions: Sequence[Condition], heard: Mask, asked: Asked, expected: Expected) -> Evidence:
        for condition in conditions:
            heard = heard & self._reasons.met(condition)
        such, observed = self._model.sample.values[self._j][heard], asked.values[self._j]
        if self._column.is_categorical:
            return categorical_evidence(self._column, such, int(observed), int(asked.expected), asked.observed)
        return numeric_evidence(self._column, such, float(observed), expected.low, expected.high)

    def _rows_words(self) -> tuple[str, str]:
        """What the rows of the sample are called: one, many."""
        is_all = len(self._model.sample.rows) >= self._model.schema.n_rows
        is_own = self._rows.trained_as is not None
        kind = ("other" if is_own else "training") if is_all else ("other sampled" if is_own else "sampled")
        return f"{kind} row", f"{kind} rows"
