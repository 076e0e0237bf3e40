"""The answer for one table: scores of rows and cells, what was expected, and views of the findings."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._decisions.decisions import Decided
from rfod._decisions.settled import SettledCells
from rfod._evidence.wrong_cells import WORTH_A_CHECK, WRONG, CellProbabilities, WrongCell
from rfod._findings.changes import CHANGE_FIELDS, Change, change_arrays, find_changes, with_changes
from rfod._findings.explanations import Explainer, RowExplanation
from rfod._findings.findings import DEFAULT_FDR, FIELDS, Findings, Picked, Positions, RowLabels, Rule, pick_rows
from rfod._findings.notebook import findings_html
from rfod._findings.patterns import Pattern, find_patterns
from rfod._findings.suspects import (
    SUSPECT_FIELDS,
    TableRegularity,
    regularities_of,
    suspect_arrays,
    suspect_patterns,
    with_wrong_cells,
)
from rfod._model.blame import Blame
from rfod._model.judge import EncodedRows
from rfod._model.judged import JudgedTable
from rfod._model.model import JudgedCells, Model
from rfod._model.scores import benjamini_hochberg
from rfod._table.encode import decode_column
from rfod._table.table import Table, check_columns
from rfod.exceptions import ParameterError
from rfod.params import SURE

Floats = NDArray[np.float64]


class Detection:
    """What a model found in one table. Rows are those of the table, columns the modelled ones (`columns`)."""

    def __init__(
        self,
        model: Model,
        table: Table,
        cells: JudgedCells,
        *,
        given: Table | None = None,
        key: str | None = None,
        first_row: int = 0,
        own_rows: Callable[[Any], EncodedRows] | None = None,
        n_jobs: int | None = None,
        lines: NDArray[np.int64] | None = None,
        probabilities: CellProbabilities | None = None,
        settled: SettledCells | None = None,
    ) -> None:
        given = table if given is None else given  # under the names of the caller
        check_columns(given.names, [] if key is None else [key], "use as key")
        self.judged = JudgedTable(model, table, cells, read=own_rows, n_jobs=n_jobs, settled=settled)
        """The judged table behind this answer; for figures and reports, its members may change."""
        written = given.written(key) if key is not None and key in given.texts else None
        self.labels = RowLabels(key, None if key is None else given.exact(key), first_row, lines, written)
        """How rows are found again."""
        self.given_names = given.names
        """Names of all columns that came."""
        self.row_scores: Floats = self.judged.row_scores
        """How anomalous each row is; higher is more anomalous."""
        self.probabilities = probabilities or CellProbabilities(self.judged, self.judged.table)
        """How likely each cell is wrong, with the evidence; for reports, its members may change."""

    @property
    def key(self) -> str | None:
        """Name of the column that identifies rows, or None for row numbers."""
        return self.labels.key

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the modelled columns, in the order of all (rows, columns) arrays."""
        return self.judged.names

    @property
    def cell_scores(self) -> Floats:
        """Distance of each cell from its prediction (the paper's S_cell); NaN where the cell is missing."""
        return self.judged.cells.cell_scores

    @property
    def uncertainty(self) -> Floats:
        """Spread of the trees' predictions per cell, in the unit of the column; of a probability for categories."""
        return self.judged.cells.uncertainty

    @property
    def weights(self) -> Floats:
        """Confidence in each cell's prediction (the paper's W), which its score is multiplied by in the row score."""
        return self.judged.weights

    @cached_property
    def expected(self) -> Any:
        """What each cell should have been, as a frame of the library the table came from."""
        columns = self.judged.model.schema.columns
        decoded = {
            column.name: decode_column(column, values)
            for column, values in zip(columns, self.judged.cells.expected, strict=True)
        }
        return self.judged.table.frame(decoded, np.arange(len(self)))

    @property
    def surprise(self) -> Floats:
        """How unusual each cell is given the rest of its row, as -log10 of a probability: 3 is one in a thousand.

        In one unit for all columns. Gaps have one too: how rarely the column is empty. Beyond what training rows show,
        the surprise of a category ranks it and is no probability any more; `p_values` are. See docs/surprise.md.
        """
        return self.judged.surprise

    def intervals(self, picked: Picked = None, level: float = 0.9) -> tuple[Floats, Floats]:
        """Between which values each cell was expected to lie: low and high, (picked rows, columns).

        These are conditional quantiles: each training row of the model's sample counts by how often it shares a leaf
        with the row; which ones hold the share `level` was measured out of bag. In the unit of the column, seconds for
        dates and times; NaN for categorical columns.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level is {level!r}; it must be a number between 0 and 1, both excluded.")
        rows = self.judged.rows(self.positions(picked))
        low, high = (np.full((len(rows), len(self.columns)), np.nan) for _ in range(2))
        for j in np.flatnonzero(~self.judged.model.is_categorical):
            low[:, j], high[:, j] = self.judged.conditional.interval(rows, int(j), level)
        return low, high

    def likely(self, row: int, column: str, n: int = 3) -> list[tuple[Any, float]]:
        """The `n` likeliest categories of a cell with their probabilities, likeliest first."""
        check_columns(self.columns, [column], "look up", "modelled column")
        j, model = self.columns.index(column), self.judged.model
        if not model.is_categorical[j]:
            raise ParameterError(f"Column {column!r} is not categorical.\nHint: intervals() gives what was expected.")
        shares = self.judged.conditional.shares(self.judged.rows(self.positions([row])), j)[0]
        order = np.argsort(-shares, kind="stable")[: max(n, 0)]
        order = order[shares[order] > 0].astype(np.int32)
        names = decode_column(model.schema.columns[j], order).to_pylist()
        return list(zip(names, shares[order].tolist(), strict=True))

    # ----------------------------------------------------------------------------------------- how unlikely, and which

    @property
    def row_p_values(self) -> Floats:
        """How likely a row like those of training is at least as unusual: by its score, or by its worst cell.

        Twice the smaller of two p-values, at most 1. By score, for new rows: the share of training rows, judged out of
        bag, that score at least as high (conformal; never below 1 / (n + 1)); for the rows of the training table
        itself: beyond its 90 % quantile, the tail of a log-normal distribution fitted to the bulk of the scores. By
        cells: the smallest p-value that `flag_cells` sees, times the number of columns.
        """
        return self.judged.row_p_values

    @cached_property
    def row_probability(self) -> Floats:
        """How likely each row is anomalous, among the rows of this table.

        One less the local false discovery rate of the conformal p-values of the row scores: their density in this table
        is set against that of ordinary rows, whose share is 1 - `contamination` where the fit was given one and
        estimated otherwise. So it depends on the rows that are judged together: in `detect_batches` on the batch. Of
        fewer than 100 rows each is judged by itself, by its p-value and the share (0.01 where none was given). See
        docs/surprise.md.

        After a scan or `fit_detect` this is a `ParameterError`: there are no conformal p-values of the rows of the fit.
        """
        self._require_new_rows("A probability of rows")
        return self.judged.row_probability()

    def row_probability_given(self, share: float) -> Floats:
        """`row_probability` where the share of the anomalous rows in this table is known."""
        self._require_new_rows("A probability of rows")
        if not 0 < share < 1:
            raise ParameterError(f"share is {share!r}; it must be a number between 0 and 1, both excluded.")
        return self.judged.row_probability(share)

    @property
    def p_values(self) -> Floats:
        """Per cell, the share of training cells of its column, judged out of bag, that are at least as surprising.

        Conformal: valid for cells like those of training, whatever their distribution. Among n cells with a value it is
        never below 1 / (n + 1).
        """
        return self.judged.p_values

    def flag(
        self, *, fdr: float | None = None, top: int | None = None, contamination: float | None = None
    ) -> NDArray[np.bool_]:
        """Which rows to call findings, by one of three rules.

        fdr: as many as possible while the expected share of false ones among them stays at most this
        (Benjamini-Hochberg over `row_p_values`); top: the highest scores; contamination: rows that score higher than
        all but this share of the training rows. Without any: fdr = 0.05.

        After a scan or `fit_detect` no rate holds, since the errors are in the table that was learned from: `fdr` is a
        `ParameterError`, and without any rule the findings are the rows with a wrong cell (`wrong_cells(above=0.9)`).
        """
        rule = Rule(fdr, top, contamination)
        if not self.judged.is_own or rule.top is not None or rule.contamination is not None:
            return rule.select(self.judged)
        self._require_rate(fdr)
        return np.asarray((self.cell_probability >= WRONG).any(axis=1))

    def _require_rate(self, fdr: float | None) -> None:
        """Raise `ParameterError` for a false discovery rate among the rows that the model was fitted to."""
        if fdr is not None:
            self._require_new_rows("A false discovery rate")

    def _require_new_rows(self, what: str) -> None:
        """Raise `ParameterError` for rows that the model was fitted to."""
        if self.judged.is_own:
            raise ParameterError(
                f"{what} holds for new rows that a fitted model judges, not for the rows of the fit.\n"
                "Hint: wrong_cells() says how likely each cell is wrong, flag(top=n) takes the highest scores."
            )

    def flag_cells(self, fdr: float = DEFAULT_FDR) -> NDArray[np.bool_]:
        """Which cells to call findings: as many as possible while the expected share of false ones among them stays at
        most `fdr`, over all cells of the table (Benjamini-Hochberg over 10 ** -surprise, or for categories, whose
        surprise is not a tail of numbers, over `p_values` where these are larger). For new rows only, as in `flag`."""
        self._require_rate(fdr)
        flagged = benjamini_hochberg(self.judged.tail_p_values.ravel(), Rule(fdr=fdr).rate)
        return flagged.reshape(self.surprise.shape)

    def blame(self, row: int) -> Blame:
        """Cells of a row, in order, whose replacement by what was expected makes it less surprising.

        The search is greedy: a few cells, not always the fewest; `ordinary` says whether they suffice. Of a row that is
        ordinary as it is, the one cell whose replacement leaves the least surprise; none where none lowers it. In
        batches, `row` is a position in the batch, and the row of the answer counts through all batches.
        """
        return self.blames([row])[0]

    def blames(self, picked: Picked) -> list[Blame]:
        """`blame` for many rows at once."""
        return self.explainer.blames(self.positions(picked))

    # ------------------------------------------------------------------------------------------------------ wrong cells

    @property
    def has_probabilities(self) -> bool:
        """Whether cells have a probability: rows of the fit, and new rows of a model that keeps evidence."""
        return self.judged.is_own or self.judged.model.profile is not None

    @property
    def cell_probability(self) -> Floats:
        """(rows, judged columns): how likely each cell is wrong, by all evidence. Columns are `judged_columns`, also
        those that are not modelled. See docs/wrong-cells.md."""
        return self.probabilities.probability

    @property
    def judged_columns(self) -> tuple[str, ...]:
        """Names of the columns of `cell_probability`: those of the table but for excluded ones."""
        return self.probabilities.names

    def probable_cells(self, above: float = WORTH_A_CHECK) -> NDArray[np.bool_]:
        """(rows, modelled columns): which cells have at least this probability of being wrong."""
        return self.probabilities.modelled(above)

    def wrong_cells(self, above: float = WORTH_A_CHECK) -> Any:
        """Cells of at least this probability of being wrong, most probable first, as a frame of the table's library.

        One line per cell, gaps included: row, line (of a text file, where that is known), the key under its name,
        column, observed, suggested (null where nothing can be said), probability, repair_probability (that what is
        suggested is the right value), kind (of the strongest evidence: "spelling", "form", "votes", "forest", "margin"
        or "regularities"), evidence (all that counts, strongest first), reason (a sentence) and version (of the learned
        decision). Cells of 0.9 and more are called wrong,
        others worth a check. See docs/wrong-cells.md.
        """
        cells = self.suspects(above)
        rows = np.array([cell.row for cell in cells], dtype=np.intp)
        labels = self.labels.columns(rows, self._key_name)
        if self.labels.lines is None:
            del labels["line"]
        return self.judged.table.frame(labels | suspect_arrays(cells, self.probabilities.decision.version), rows)

    def regularities(self) -> list[TableRegularity]:
        """Rules that nearly all rows of the table follow, strongest first: sums, orders, equal, unique and contained
        values. Each has a sentence, its columns, the number of rows it was checked on, and the rows that break it."""
        return regularities_of(self.probabilities)

    def suspects(self, above: float = WORTH_A_CHECK) -> list[WrongCell]:
        """The cells of `wrong_cells` as objects; their rows are positions in this table."""
        if not 0 < above <= 1:
            raise ParameterError(f"above is {above!r}; it must be a number between 0 and 1, 0 excluded.")
        return self.probabilities.describe(self.probabilities.above(above))

    # ---------------------------------------------------------------------------------------------------------- repair

    def repair(self, above: float = SURE, decisions: Decided = None) -> Any:
        """The table in the library it came from, with its types and index, and only these cells changed: those that
        were decided, and those whose suggestion is right with at least the probability `above`.

        `decisions` (the path of a file, or `rfod.Decisions`) come on top of those that the table was judged with. An
        array comes back for an array or a list of rows. `changes` lists what is changed, and why.
        """
        table, changes = find_changes(self.judged.table, self.probabilities, above, decisions)
        repaired, _ = with_changes(table, [change for change in changes if change.probability is not None])
        return repaired.native()

    def changes(self, above: float = SURE, decisions: Decided = None) -> Any:
        """What `repair` changes, in the order of rows and columns, as a frame of the table's library.

        One line per cell: row, line (of a text file, where that is known), the key under its name, column, before,
        after (null for gaps), why (the reason in one sentence, or "decided") and probability (that the new value is
        the right one; null for what was decided).
        """
        changes = self.list_changes(above, decisions)
        columns = change_arrays(changes, self.labels, self._key_name)
        if self.labels.lines is None:
            del columns["line"]
        return self.judged.table.frame(columns)

    def list_changes(self, above: float = SURE, decisions: Decided = None) -> list[Change]:
        """The lines of `changes` as objects; their rows are positions in this table."""
        return find_changes(self.judged.table, self.probabilities, above, decisions)[1]

    # ------------------------------------------------------------------------------------------------------- in words

    @cached_property
    def explainer(self) -> Explainer:
        """Explains rows and cells of this table."""
        return Explainer(self.judged, self.labels)

    def explain(self, row: int | None = None, n_cells: int = 5, *, key: Any = None) -> RowExplanation:
        """Why a row stands out: its surprising cells, those to blame marked, each with the reason in words.

        The row is given by its position, or by its key: its value in the key column, or without one its label in the
        index of a pandas frame.
        """
        if (row is None) == (key is None):
            raise ParameterError(
                "Give a row by its position, or by its key.\nHint: explain(17), or explain(key='A17')."
            )
        return self.explain_rows([self.labels.find(key, self.judged.table) if row is None else row], n_cells)[0]

    def explain_rows(self, picked: Picked, n_cells: int = 5) -> list[RowExplanation]:
        """`explain` for many rows at once, which is much faster."""
        rows = self.positions(picked)
        explained = self.explainer.explain_rows(rows, n_cells)
        if not self.has_probabilities:
            return explained
        return with_wrong_cells(explained, rows, self.probabilities, self.labels.first_row)

    def patterns(self, picked: Picked = None, *, fdr: float | None = None) -> list[Pattern]:
        """What many findings have in common, most frequent first: cells to blame, by column, way and condition.

        Of the picked rows; by default the findings of `cells(fdr=fdr, blame=True)`, or, where there are none, the cells
        to blame of the rows that `flag(fdr=fdr)` picks; fdr is 0.05 by default.

        After a scan or `fit_detect`, by default: the cells of `wrong_cells()`, by column, kind of evidence and way.
        """
        self._require_rate(fdr)
        if picked is None and self.judged.is_own:
            return suspect_patterns(self.suspects(WORTH_A_CHECK))
        fdr = DEFAULT_FDR if fdr is None else fdr
        wanted = self.flag_cells(fdr) if picked is None else np.ones(self.surprise.shape, dtype=np.bool_)
        rows = np.flatnonzero(wanted.any(axis=1)) if picked is None else self.positions(picked)
        if picked is None and not len(rows):
            wanted[:], rows = True, np.flatnonzero(self.flag(fdr=fdr))
        return find_patterns(self.explainer, rows, wanted)

    # ----------------------------------------------------------------------------------------------------- tidy tables

    @cached_property
    def keys(self) -> pa.ChunkedArray:
        """Value of the key column per row, or row numbers from 0."""
        if self.labels.keys is not None:
            return self.labels.keys
        return pa.chunked_array([pa.array(np.arange(len(self)) + self.labels.first_row)])

    def rows(self, picked: Picked = None, n_cells: int = 3) -> Any:
        """One line per row, as a frame of the table's library: key (or row), score, p_value, cells.

        `picked` are row positions or a mask, all rows by default. `cells` has the `n_cells` worst cells in words.
        """
        rows = self.positions(picked)
        return self.judged.table.frame(
            {
                self._key_name: self.keys.take(pa.array(rows)),
                "score": pa.array(self.row_scores[rows]),
                "p_value": pa.array(self.row_p_values[rows]),
                "cells": pa.array(self.worst_cells(rows, n_cells), pa.string()),
            },
            rows,
        )

    def worst_cells(self, rows: Positions, n_cells: int = 3) -> list[str]:
        """The worst cells of rows, given by position, in words: "price: 512.4 (expected 112.3); ..."."""
        return Findings.of_rows(self.judged, np.unique(rows), n_cells).words(rows)

    def cells(self, picked: Picked = None, *, fdr: float | None = None, blame: bool = False) -> Any:
        """One line per cell, as a frame of the table's library: of the picked rows, all by default.

        fdr: only findings at this false discovery rate over all cells of the table (`flag_cells`), gaps included; for
        new rows only, as in `flag`.
        blame: only cells to blame for their row (`blame`), in that order, and `expected` is the repair. Of the picked
        rows; by default of those that have findings at `fdr`, or that `flag` calls findings.

        Columns: key (or row), column, observed, expected, score, weight, p_value, surprise, kind, suggestion. `kind` is
        "value", "missing" (where training practically always has a value), "present" (the reverse), "unseen" (a
        category that training does not have) or "near miss" (of the category in `suggestion`).
        """
        self._require_rate(fdr)
        wanted = ~np.isnan(self.cell_scores) if fdr is None else self.flag_cells(fdr)
        rows = np.flatnonzero(self.flag()) if picked is None and fdr is None and blame else self.positions(picked)
        rows = rows[wanted[rows].any(axis=1)]
        if not blame:
            return self._frame(Findings.of_mask(self.judged, rows, wanted))
        cells, repaired = self.explainer.blamed_cells(rows, None if fdr is None else wanted)
        return self._frame(Findings.of_cells(self.judged, cells), {"expected": pa.array(repaired, pa.string())})

    def top(self, n: int = 10, n_cells: int = 3) -> Any:
        """The `n` most anomalous rows with their `n_cells` worst cells each, as a frame of the table's library.

        One line per cell: key (or row), row_score, column, observed, expected, score, weight, p_value, surprise, kind,
        suggestion. Cells are in the order of their surprise.
        """
        findings = Findings.of_rows(self.judged, self.judged.order[: max(n, 0)], n_cells)
        return self._frame(findings, row_score=True)

    def _frame(self, findings: Findings, instead: dict[str, pa.Array] | None = None, row_score: bool = False) -> Any:
        """Findings in the caller's library, led by their key."""
        columns = {self._key_name: self.keys.take(pa.array(findings.rows, pa.int64()))}
        if row_score:
            columns["row_score"] = pa.array(self.row_scores[findings.rows])
        return self.judged.table.frame(columns | findings.arrays() | (instead or {}), findings.rows)

    @property
    def _key_name(self) -> str:
        """What the key is called in frames: its own name, unless a frame has a column of that name already."""
        name = self.key or "row"
        taken = {*FIELDS.names, *SUSPECT_FIELDS.names, *CHANGE_FIELDS.names, "row_score", "cells", "line"}
        return f"{name} (key)" if name in taken or (self.key and name == "row") else name

    def positions(self, picked: Picked) -> Positions:
        """Rows that are picked by position, negative ones from the end of the table, or by a mask: their positions."""
        return pick_rows(picked, len(self))

    def __len__(self) -> int:
        return len(self.judged)

    def __repr__(self) -> str:
        return f"<Detection: {len(self)} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        """The summary and the first findings, for notebooks."""
        return findings_html(self.judged, self.labels, self.probabilities if self.has_probabilities else None)
