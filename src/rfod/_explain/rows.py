"""From judged rows to their explanations, column by column."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._explain.cell import CellExplanation, RowExplanation
from rfod._explain.condition import Condition
from rfod._explain.evidence import Evidence, categorical_evidence, numeric_evidence
from rfod._explain.paths import Steps, walk
from rfod._explain.reasons import Question, Reasons
from rfod._explain.sentences import (
    because_words,
    expected_words,
    missing_sentence,
    present_sentence,
    tidy_text,
    title_words,
    unseen_sentence,
    value_sentence,
)
from rfod._run.expecting import Expecting
from rfod._run.judging import Rows, code_rows
from rfod._table.encode import one_line
from rfod._table.values import UNSEEN
from rfod.blame import Repair
from rfod.model import Judged, Model

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]

LEVEL = 0.9  # of intervals
N_LIKELY = 3
SURPRISING = 2.0  # cells that are not to blame are told when this surprising: one in a hundred
HIDDEN = "hidden"


class Found(Protocol):
    """What an explanation needs to know of a judged table; `Detection` is one."""

    _model: Model
    _judged: Judged
    row_scores: Floats
    key: str | None

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def cell_scores(self) -> Floats: ...
    @property
    def surprise(self) -> Floats: ...
    @property
    def p_values(self) -> Floats: ...
    @property
    def row_p_values(self) -> Floats: ...
    @property
    def keys(self) -> pa.ChunkedArray: ...
    @property
    def _expecting(self) -> Expecting: ...
    @property
    def _reasons(self) -> Reasons: ...
    def _read(self, rows: Positions) -> Rows: ...
    def _repairs(self, rows: Positions) -> list[Repair]: ...
    def _kinds(self, cells: list[tuple[Any, Any]]) -> tuple[list[str], list[str | None]]: ...
    def _texts(self, cells: list[tuple[Any, Any]], observed: bool) -> list[str]: ...


@dataclass(frozen=True)
class _Cell:
    """A cell to explain."""

    place: int
    """Of its row among the rows to explain."""
    j: int
    blamed: bool


def explain_rows(
    found: Found,
    rows: Positions,
    n_cells: int,
    hidden: Collection[str] = (),
    only: Sequence[Collection[int]] | None = None,
) -> list[RowExplanation]:
    """Explanations of rows, by their positions, with at most `n_cells` cells each.

    `hidden` are columns whose values are not told; `only`, per row, the columns to speak of.
    """
    repairs = found._repairs(rows)
    chosen = _choose(found, rows, repairs, n_cells, only)
    told = explain_cells(found, rows, repairs, chosen, hidden)
    keys = found.keys.take(pa.array(rows)).to_pylist() if found.key is not None else [None] * len(rows)
    explained = []
    for place, (row, repair, key) in enumerate(zip(rows.tolist(), repairs, keys, strict=True)):
        columns = [found._model.columns[j] for j in repair.columns]
        texts = [
            HIDDEN if column.name in hidden else tidy_text(column, value)
            for column, value in zip(columns, repair.values, strict=True)
        ]
        score, p_value = float(found.row_scores[row]), float(found.row_p_values[row])
        shown = None if found.key is None else (found.key, HIDDEN if found.key in hidden else str(key))
        explained.append(
            RowExplanation(
                row=row,
                key=HIDDEN if found.key in hidden else key,
                score=score,
                p_value=p_value,
                cells=tuple(told[n] for n, cell in enumerate(chosen) if cell.place == place),
                repaired={column.name: text for column, text in zip(columns, texts, strict=True)},
                ordinary=repair.ordinary,
                title=title_words(row, shown, score, p_value),
            )
        )
    return explained


def _choose(
    found: Found,
    rows: Positions,
    repairs: Sequence[Repair],
    n_cells: int,
    only: Sequence[Collection[int]] | None,
) -> list[_Cell]:
    """The cells to blame in their order, then others that are surprising; the most surprising one in any case."""
    chosen = []
    for place, (row, repair) in enumerate(zip(rows.tolist(), repairs, strict=True)):
        surprise = found.surprise[row]
        order = [int(j) for j in np.argsort(-surprise, kind="stable") if surprise[j] >= SURPRISING]
        columns = list(dict.fromkeys([*repair.columns, *order])) or [int(np.argmax(surprise))]
        columns = [j for j in columns if not np.isnan(found._judged.local[row, j])]
        if only is not None:
            columns = [j for j in columns if j in only[place]]
        chosen += [_Cell(place, j, j in repair.columns) for j in columns[: max(n_cells, 0)]]
    return chosen


def explain_cells(
    found: Found, rows: Positions, repairs: Sequence[Repair], chosen: Sequence[_Cell], hidden: Collection[str]
) -> list[CellExplanation]:
    """Explanations of cells, in their order."""
    cells: list[tuple[Any, Any]] = [(int(rows[cell.place]), cell.j) for cell in chosen]
    observed = found._texts(cells, observed=True)
    kinds, suggestions = found._kinds(cells)
    read = found._read(rows)
    both = _with_repaired(found._model, read, repairs)
    told: list[CellExplanation | None] = [None] * len(chosen)
    places_of: dict[int, list[int]] = {}
    for n, cell in enumerate(chosen):
        places_of.setdefault(cell.j, []).append(n)
    for j, members in places_of.items():
        # a cell to blame is held against the row as it should have been, others against the row as it is
        at = np.array([chosen[n].place + len(rows) * chosen[n].blamed for n in members], dtype=np.intp)
        telling = _Telling(found, j, both.take(at), hidden)
        for i, n in enumerate(members):
            cell, repair = chosen[n], repairs[chosen[n].place]
            own = [column[cell.place] for column in read.encoded]
            if cell.blamed:
                expected = repair.values[repair.columns.index(j)]
            else:
                expected = found._judged.expected[j][rows[cell.place]]
            without = {j, *(repair.columns if cell.blamed else ())}
            told[n] = telling.tell(
                i, int(rows[cell.place]), own, expected, without, observed[n], kinds[n], suggestions[n], cell.blamed
            )
    return [cell for cell in told if cell is not None]


def _with_repaired(model: Model, read: Rows, repairs: Sequence[Repair]) -> Rows:
    """Rows as they are, and once more with the cells to blame repaired."""
    n_rows = len(read)
    encoded = [np.concatenate([column, column]) for column in read.encoded]
    for place, repair in enumerate(repairs):
        for j, value in zip(repair.columns, repair.values, strict=True):
            encoded[j][n_rows + place] = value
    return code_rows(model, encoded).like(read, np.concatenate([np.arange(n_rows), np.arange(n_rows)]))


class _Telling:
    """What is asked of the model for the cells of one column, all at once; and each cell in words."""

    def __init__(self, found: Found, j: int, rows: Rows, hidden: Collection[str]) -> None:
        self.found, self.j, self.rows, self.hidden = found, j, rows, hidden
        self.model = found._model
        self.column = self.model.columns[j]
        self.reasons = found._reasons
        self.places = rows.places(self.model.sample.places)
        if self.column.is_categorical:
            self.shares = found._expecting.shares(rows, j)
        else:
            self.low, self.high = found._expecting.interval(rows, j, LEVEL)
        self.steps: Steps = walk(self.model.forests[j], rows.block, rows.in_bag(j))

    def tell(
        self,
        i: int,
        row: int,
        own: Sequence[Any],
        expected: Any,
        without: set[int],
        observed: str,
        kind: str,
        suggestion: str | None,
        blamed: bool,
    ) -> CellExplanation:
        """The i-th cell, of a row whose encoded values are `own`."""
        column, j, found = self.column, self.j, self.found
        is_hidden = column.name in self.hidden
        likely = self._likely(i)
        low, high = self._interval(i)
        expected_text = tidy_text(column, expected)
        conditions: tuple[Condition, ...] = ()
        heard = self._heard(i)
        if kind == "missing":
            evidence = self._gaps(i, agree_missing=False)
        elif kind == "present":
            evidence = self._gaps(i, agree_missing=True)
        elif is_hidden:
            evidence = Evidence(0, 0, "", "have")
        else:
            question = self._question(heard, own[j], expected)
            conditions = self._conditions(i, own, question, without)
            evidence = self._evidence(conditions, heard, own[j], expected, observed)
        is_outside = column.is_categorical or not (self.low[i] <= own[j] <= self.high[i])
        told = expected_words(column, expected_text, low, high, is_outside, likely)
        rows = self._rows_words()
        because = because_words(conditions, evidence, rows)
        if is_hidden:
            observed = expected_text = HIDDEN
            low = high = suggestion = None
            likely = ()
            sentence = f"{one_line(column.name)} is not what the rest of the row leads to expect"
        elif kind == "missing":
            sentence = missing_sentence(column.name, evidence, rows, told)
        elif kind == "present":
            sentence = present_sentence(column.name, observed, evidence, rows)
        elif kind in ("unseen", "near miss"):
            sentence = unseen_sentence(column.name, observed, suggestion, expected_text, told, because)
        else:
            sentence = value_sentence(column.name, observed, told, because)
        score = float(found.cell_scores[row, j])
        return CellExplanation(
            row=row,
            column=column.name,
            kind="value" if is_hidden else kind,
            observed=observed,
            expected=expected_text,
            low=low,
            high=high,
            likely=likely,
            score=None if np.isnan(score) else score,
            surprise=float(found.surprise[row, j]),
            p_value=float(found.p_values[row, j]),
            blamed=blamed,
            conditions=conditions,
            n_such=evidence.n_such,
            n_agree=evidence.n_agree,
            claim=f"not {evidence.claim}" if evidence.negative else evidence.claim,
            suggestion=suggestion,
            sentence=sentence,
        )

    def _likely(self, i: int) -> tuple[tuple[str, float], ...]:
        if not self.column.is_categorical:
            return ()
        shares = self.shares[i]
        order = np.argsort(-shares, kind="stable")[:N_LIKELY]
        order = order[shares[order] > 0].astype(np.int32)
        names = [tidy_text(self.column, code) for code in order]
        return tuple(zip(names, [round(float(share), 4) for share in shares[order]], strict=True))

    def _interval(self, i: int) -> tuple[str | None, str | None]:
        if self.column.is_categorical or not (np.isfinite(self.low[i]) and np.isfinite(self.high[i])):
            return None, None
        return tidy_text(self.column, self.low[i]), tidy_text(self.column, self.high[i])

    def _heard(self, i: int) -> NDArray[np.bool_]:
        """Rows of the sample that have a value, without the row itself."""
        values = self.model.sample.values[self.j]
        heard = values >= 0 if self.column.is_categorical else np.isfinite(values)
        if self.places[i] >= 0:
            heard = heard.copy()
            heard[self.places[i]] = False
        return np.asarray(heard)

    def _gaps(self, i: int, agree_missing: bool) -> Evidence:
        values = self.model.sample.values[self.j]
        has_value = values >= 0 if self.column.is_categorical else ~np.isnan(values)
        if self.places[i] >= 0:
            has_value = np.delete(has_value, self.places[i])
        n_agree = int(np.count_nonzero(has_value != agree_missing))
        return Evidence(len(has_value), n_agree, "missing" if agree_missing else "a value", "are")

    def _question(self, heard: NDArray[np.bool_], observed: Any, expected: Any) -> Question:
        values = self.model.sample.values[self.j]
        if self.column.is_categorical:
            return Question(heard, (values != expected).astype(np.float64), values == observed)
        scale = float(self.model.ranges[self.j]) or 1.0
        off = np.minimum(np.abs(np.where(heard, values, expected) - expected) / scale, 1.0)
        return Question(heard, off, values >= observed if observed > expected else values <= observed)

    def _conditions(self, i: int, own: Sequence[Any], question: Question, without: set[int]) -> tuple[Condition, ...]:
        unknown = {j for j, is_set in enumerate(self.model.is_set) if is_set and own[j] == UNSEEN}
        hidden = {j for j, column in enumerate(self.model.columns) if column.name in self.hidden}
        clauses = self.reasons.find(self.j, self.steps, i, self.rows.block[i], question, without | unknown | hidden)
        worded = [self.reasons.condition(clause, own) for clause in clauses]
        return tuple(condition for condition in worded if condition is not None)

    def _evidence(
        self, conditions: Sequence[Condition], heard: NDArray[np.bool_], observed: Any, expected: Any, text: str
    ) -> Evidence:
        such = heard.copy()
        for condition in conditions:
            such &= self.reasons.met(condition)
        values = self.model.sample.values[self.j][such]
        if self.column.is_categorical:
            return categorical_evidence(self.column, values, int(observed), int(expected), text)
        return numeric_evidence(self.column, values, float(observed), float(expected))

    def _rows_words(self) -> tuple[str, str]:
        """What the rows of the sample are called."""
        is_all = len(self.model.sample.rows) >= self.model.schema.n_rows
        kind = "other" if self.rows.trained_as is not None else "training"
        kind = kind if is_all else f"sampled {kind}" if kind == "training" else "other sampled"
        return f"{kind} row", f"{kind} rows"
