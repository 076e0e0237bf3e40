"""Which rows are findings, by one rule, and the reported cells as one table: all that users see are views of it."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA

from rfod._decisions.texts import places_of_key
from rfod._model.calibrate import UNSEEN_SHARE
from rfod._model.judged import JudgedTable
from rfod._model.scores import benjamini_hochberg, false_discovery_cut, highest
from rfod._table.encode import cell_text, one_line, value_text
from rfod._table.table import Table
from rfod.exceptions import ParameterError

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]
Picked = NDArray[Any] | Sequence[int] | None
"""Rows by position or by a mask; None for all."""
DEFAULT_FDR = 0.05
MOST_CATEGORIES = 5_000  # the most frequent ones, that a new one is compared with
LONGEST = 60  # letters of a text that is compared
RARE = 2.0  # surprise from which on a cell is worth reporting: one in a hundred
MOSTLY = 0.99  # a column that is filled, or empty, in this share of the training rows practically always is

# One line per reported cell; docs/formats.md says what each field means.
FIELDS = pa.schema(
    [(name, pa.string()) for name in ("column", "observed", "expected")]
    + [(name, pa.float64()) for name in ("score", "weight", "p_value", "surprise")]
    + [(name, pa.string()) for name in ("kind", "suggestion")]
)


def pick_rows(picked: Picked, n_rows: int) -> Positions:
    """Positions of the picked rows; negative ones count from the end of the table."""
    if picked is None:
        return np.arange(n_rows)
    given = np.asarray(picked)
    if given.dtype == np.bool_:
        if given.shape != (n_rows,):
            raise ParameterError(f"A mask of shape {given.shape} came for a table of {n_rows} rows.")
        return np.flatnonzero(given)
    if given.size and given.dtype.kind not in "iu":
        raise ParameterError(f"Rows are picked by whole numbers or a mask, but {given.dtype} came.")
    rows = given.astype(np.intp).reshape(-1)
    outside = rows[(rows < -n_rows) | (rows >= n_rows)]
    if len(outside):
        raise IndexError(f"There is no row {outside[0]}: the table has {n_rows} rows, counted from 0.")
    return rows % max(1, n_rows)


@dataclass(frozen=True, eq=False)
class RowLabels:
    """How rows are found again: by key, line of a text file, or number."""

    key: str | None = None
    """Name of the key column."""
    keys: pa.ChunkedArray | None = None
    """(rows): values of the key column."""
    first_row: int = 0
    """Number of the first row, for one of several batches."""
    lines: NDArray[np.int64] | None = None
    """(rows): line on which each row begins, from 1."""
    written: pa.ChunkedArray | None = None
    """(rows): the key column as its source wrote it."""

    def columns(self, rows: Positions, key_name: str = "key") -> dict[str, pa.Array | pa.ChunkedArray]:
        """`row` and `line`, and the key where there is one."""
        lines = pa.nulls(len(rows), pa.int64()) if self.lines is None else pa.array(self.lines[rows])
        places = {"row": pa.array(rows + self.first_row, pa.int64()), "line": lines}
        if self.keys is not None:
            places[key_name] = self.keys.take(pa.array(rows)).cast(self.key_type)
        return places

    def find(self, key: Any, table: Table) -> int:
        """Position of the row with a key: a value of the key column, or without one a label of a pandas index."""
        if self.keys is not None:
            written = self.keys if self.written is None else self.written
            found, name = places_of_key(self.keys, written, str(key)), str(self.key)
        else:
            labelled = table.find(key)
            if labelled is None:
                raise ParameterError(
                    "Rows have no keys.\nHint: name a column with key=, or give a row by its position: explain(17)."
                )
            found, name = labelled, "the label"
        if len(found) != 1:
            counted = f"{len(found):,} rows have" if len(found) else "No row has"
            first = f" (at {', '.join(map(str, found[:3].tolist()))}{', ...' if len(found) > 3 else ''})"
            raise ParameterError(
                f"{counted} {name} {key!r}{first if len(found) else ''}.\n"
                "Hint: explain(row) takes a row by its position, from 0."
            )
        return int(found[0])

    def place(self, row: int) -> str:
        """How a row, given by position, is found again, in words."""
        line = None if self.lines is None else int(self.lines[row])
        named = None if self.key is None or self.keys is None else (self.key, self.keys[row].as_py())
        return place_words(row + self.first_row, line, named)

    @property
    def key_type(self) -> pa.DataType | None:
        """The type that keys are written in; None without a key."""
        if self.keys is None:
            return None
        return self.keys.type.value_type if pa.types.is_dictionary(self.keys.type) else self.keys.type


def place_words(row: int, line: int | None, named: tuple[str, Any] | None) -> str:
    """How a row is found again: by its key (`named`, a column and its value), its line or its number."""
    if named is not None:
        return f"{named[0]} {one_line(str(named[1]))}{'' if line is None else f' (line {line:,})'}"
    return f"row {row:,}" if line is None else f"line {line:,}"


class Findings:
    """Cells of a judged table that are reported.

    Parameters
    ----------
    judged
        The table.
    rows, columns
        (cells): position of the row and number of the modelled column of each cell.
    """

    def __init__(self, judged: JudgedTable, rows: Positions, columns: Positions) -> None:
        self.judged, self.rows, self.columns = judged, rows, columns

    @classmethod
    def of_rows(cls, judged: JudgedTable, rows: Positions, n_cells: int) -> Findings:
        """The `n_cells` most surprising cells of each row; gaps only where they are rare."""
        is_worth = ~np.isnan(judged.cells.cell_scores) | (judged.surprise >= RARE)
        orders = [(row, judged.cell_order(row)) for row in rows.tolist()]
        cells = [(row, j) for row, order in orders for j in order[is_worth[row, order]][: max(n_cells, 0)]]
        return cls.of_cells(judged, cells)

    @classmethod
    def of_mask(cls, judged: JudgedTable, rows: Positions, mask: NDArray[np.bool_]) -> Findings:
        """Those cells of the rows that the mask (rows of the table, columns) has, in the order of columns."""
        at, columns = np.nonzero(mask[rows])
        return cls(judged, rows[at], columns)

    @classmethod
    def of_cells(cls, judged: JudgedTable, cells: Sequence[tuple[int, int]]) -> Findings:
        """Cells given as (row, column) pairs."""
        rows, columns = np.array(cells, dtype=np.intp).reshape(-1, 2).T
        return cls(judged, rows, columns)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def observed(self) -> list[str]:
        """(cells): what stands there, as a person reads it."""
        return self._texts(lambda j, rows: cell_text(self.judged.model.schema.columns[j], self.judged.table, rows))

    @cached_property
    def expected(self) -> list[str]:
        """(cells): the paper's prediction."""
        columns, predicted = self.judged.model.schema.columns, self.judged.cells.expected
        return self._texts(lambda j, rows: value_text(columns[j], predicted[j][rows]))

    def _texts(self, texts_of: Callable[[int, Positions], list[str]]) -> list[str]:
        """Texts column by column, since each is converted as a whole."""
        texts = np.full(len(self), "", dtype=object)
        for j in np.unique(self.columns).tolist():
            places = np.flatnonzero(self.columns == j)
            texts[places] = texts_of(j, self.rows[places])
        return texts.tolist()

    def words(self, rows: Positions) -> list[str]:
        """The cells of each of these rows: "price: 512.4 (expected 112.3); ..."; empty for one without any."""
        names = self.judged.names
        words: dict[int, list[str]] = {}
        for row, j, observed, expected in zip(
            self.rows.tolist(), self.columns.tolist(), self.observed, self.expected, strict=True
        ):
            words.setdefault(row, []).append(f"{names[j]}: {observed} (expected {expected})")
        return ["; ".join(words.get(row, ())) for row in rows.tolist()]

    @cached_property
    def kinds(self) -> list[str]:
        """(cells): "value", "missing", "present", "unseen" or "near miss"."""
        return [kind for kind, _ in self._kinds_and_suggestions]

    @cached_property
    def suggestions(self) -> list[str | None]:
        """(cells): the known category that a near miss was probably meant to be."""
        return [suggestion for _, suggestion in self._kinds_and_suggestions]

    @cached_property
    def _kinds_and_suggestions(self) -> list[tuple[str, str | None]]:
        model, cells = self.judged.model, self.judged.cells
        near: dict[tuple[int, str], str | None] = {}
        found: list[tuple[str, str | None]] = []
        for row, j, text in zip(self.rows.tolist(), self.columns.tolist(), self.observed, strict=True):
            column, measured = model.schema.columns[j], cells.spread_or_share[row, j]
            if np.isnan(cells.cell_scores[row, j]) and (text == "missing" or not np.isnan(measured)):
                found.append(("missing", None))
            elif measured == UNSEEN_SHARE and column.is_categorical:
                if (j, text) not in near:
                    near[j, text] = nearest_category(text, [c for c in column.categories if isinstance(c, str)])
                found.append(("unseen" if near[j, text] is None else "near miss", near[j, text]))
            else:
                is_rarely_filled = column.n_missing >= MOSTLY * model.schema.n_rows
                found.append(("present" if is_rarely_filled else "value", None))
        return found

    def arrays(self) -> dict[str, pa.Array]:
        """The fields of `FIELDS`, in their order."""
        judged, at = self.judged, (self.rows, self.columns)
        values = {
            "column": [judged.names[j] for j in self.columns.tolist()],
            "observed": self.observed,
            "expected": self.expected,
            "score": judged.cells.cell_scores[at],
            "weight": judged.weights[at],
            "p_value": judged.p_values[at],
            "surprise": judged.surprise[at],
            "kind": self.kinds,
            "suggestion": self.suggestions,
        }
        return {field.name: pa.array(values[field.name], field.type, from_pandas=True) for field in FIELDS}


def nearest_category(text: str, categories: Sequence[str]) -> str | None:
    """The category that differs from a new text in case, blanks or accents only, else in one letter (two from eight
    letters on; a letter added, left out, replaced, or two swapped). Of several the most frequent, which comes first."""
    known = categories[:MOST_CATEGORIES]
    plain = _plain(text)
    for category in known:
        if _plain(category) == plain:
            return category
    if not 4 <= len(plain) <= LONGEST or plain.replace(".", "").isdigit():
        return None
    allowed = 1 if len(plain) < 8 else 2
    found = process.extractOne(plain, list(map(_plain, known)), scorer=OSA.distance, score_cutoff=allowed)
    return None if found is None else known[found[2]]


def _plain(text: str) -> str:
    """Without case, accents, and blanks at the ends or in a row."""
    letters = (letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return " ".join("".join(letters).casefold().split())


# ---------------------------------------------------------------------------------------------- which rows are findings


@dataclass(frozen=True)
class Rule:
    """One of three ways to call rows findings; a false discovery rate of 0.05 where none is given."""

    fdr: float | None = None
    top: int | None = None
    contamination: float | None = None

    def __post_init__(self) -> None:
        """Raise `ParameterError` for more than one rule, or a share that is none."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        if len(given) > 1:
            raise ParameterError(f"Give one rule, not {' and '.join(given)}.")
        for name, share in given.items():
            if name != "top" and not 0 < share < 1:
                raise ParameterError(f"{name} is {share!r}; it must be a number between 0 and 1, both excluded.")

    def select(self, judged: JudgedTable) -> Mask:
        """(rows): which rows of one table are findings."""
        if self.top is not None:
            return highest(judged.row_scores, self.top)
        if self.contamination is not None:
            limit = np.quantile(judged.model.calibration, 1 - self.contamination)
            return np.asarray(judged.row_scores > limit)
        return benjamini_hochberg(judged.row_p_values, self.rate)

    @property
    def rate(self) -> float:
        """The false discovery rate, where that is the rule."""
        return DEFAULT_FDR if self.fdr is None else self.fdr

    @property
    def needs_all(self) -> bool:
        """Whether a row is a finding depends on all the others."""
        return self.contamination is None

    def words(self) -> str:
        """The rule as a part of a sentence."""
        if self.top is not None:
            return f"the {self.top:,} highest scores"
        if self.contamination is not None:
            return f"above all but {self.contamination:g} of the training rows"
        return f"false discovery rate {self.rate:g}"


class StreamRule:
    """A rule over a stream: who may be a finding at once, who is one at the end."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._counts: Counter[float] = Counter()
        """How often each p-value occurred: all that Benjamini-Hochberg needs, and conformal ones take few values."""
        self._best: Floats = np.empty(0)
        """The highest scores so far, in falling order."""
        self._cut, self._ties, self.n_flagged = np.inf, 0, 0

    def candidates(self, judged: JudgedTable) -> Mask:
        """Rows that may turn out to be findings; exactly these where the rule looks at one row at a time."""
        if self.rule.contamination is not None:
            flagged = self.rule.select(judged)
            self.n_flagged += int(flagged.sum())
            return flagged
        if self.rule.top is not None:
            self._best = -np.sort(-np.append(self._best, judged.row_scores))[: self.rule.top]
            return np.asarray(judged.row_scores >= self._best.min(initial=np.inf))
        self._counts.update(judged.row_p_values.tolist())
        return np.asarray(judged.row_p_values <= self.rule.rate)

    def settle(self) -> None:
        """All rows have been seen."""
        if self.rule.top is not None:
            self._cut, self.n_flagged = self._best.min(initial=np.inf), len(self._best)
            self._ties = int(np.count_nonzero(self._best == self._cut))
        elif self.rule.contamination is None:
            values, counts = np.array(sorted(self._counts.items())).reshape(-1, 2).T
            self._cut, self.n_flagged = false_discovery_cut(values, counts.astype(np.int64), self.rule.rate)

    def final(self, scores: Floats, p_values: Floats, candidates: Mask) -> Mask:
        """Which candidates are findings; called for the rows in their order, after `settle`."""
        if self.rule.contamination is not None:
            return candidates
        if self.rule.top is None:
            return np.asarray(candidates & (p_values <= self._cut))
        flagged = candidates & (scores > self._cut)
        equal = np.flatnonzero(candidates & (scores == self._cut))[: self._ties]
        flagged[equal] = True
        self._ties -= len(equal)
        return np.asarray(flagged)
