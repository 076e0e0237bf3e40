"""What a training table shows of its columns: the profile that cells are compared with."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._evidence.form import FormProfile, fit_form
from rfod._evidence.numbers import NumberProfile, ResidualScale, as_numbers, fit_numbers, fit_residuals
from rfod._evidence.regularities import Regularity, find_regularities
from rfod._evidence.spelling import MOST_VALUES, SpellingProfile, fit_spelling
from rfod._evidence.texts import (
    LETTER_CLASSES,
    Floats,
    Keys,
    Style,
    TextColumn,
    code_points,
    hash_rows,
    letter_classes,
    read_texts,
)
from rfod._evidence.votes import SCREENED_COLUMNS, Determinant, fit_votes
from rfod._model.judged import JudgedTable
from rfod._model.model import JudgedCells, Model
from rfod._table.columns import Column
from rfod._table.kinds import kind_of
from rfod._table.kinds.base import ColumnFormat
from rfod._table.table import Table
from rfod._table.values import Family

MOSTLY_NUMBERS = 0.7  # share of the values of a column from which on it is one of numbers
RESIDUAL_ROWS = 20_000  # that the residuals of a column are measured on
FACTS = ("log_rows", "numeric_share", "distinct_share", "entropy", "top_share", "blank_share", "single_share", "length")

MOST_FORMS = 20  # of a truth value that are looked at, the most frequent


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """One column of the training table."""

    name: str
    frequent: tuple[str, ...]
    """Values that at least two rows have, the most frequent first."""
    form: FormProfile
    spelling: SpellingProfile
    numbers: NumberProfile | None
    residuals: ResidualScale | None
    """Of columns that a forest predicts as numbers."""
    facts: Floats
    """(FACTS,)."""
    n_rows: int
    n_blank: int
    n_padded: int
    is_number: bool
    """Whether its texts are read as numbers."""
    decimals: int
    """That most of its texts have."""
    frequent_rows: Keys
    """Rows that have each of the frequent values."""

    @cached_property
    def text_of(self) -> dict[int, str]:
        """The frequent values by their hashes."""
        return dict(zip(hash_rows(code_points(self.frequent)).tolist(), self.frequent, strict=True))

    @cached_property
    def truth_texts(self) -> dict[bool, str]:
        """How true and false are most often written, as far as the frequent values are truth values."""
        texts = pa.chunked_array([pa.array(self.frequent[:MOST_FORMS], pa.large_string())])
        meant = kind_of("boolean").parse(texts, ColumnFormat("boolean")).to_pylist()
        found: dict[bool, str] = {}
        for text, truth in zip(texts.to_pylist(), meant, strict=True):
            if truth is not None:
                found.setdefault(truth, text)
        return found

    @cached_property
    def frequent_set(self) -> frozenset[str]:
        """The frequent values."""
        return frozenset(self.frequent)


@dataclass(frozen=True, eq=False)
class Profile:
    """All columns of the training table, modelled or not, and what holds between them."""

    columns: tuple[ColumnProfile, ...]
    determinants: tuple[tuple[Determinant, ...], ...]
    """Per column."""
    regularities: tuple[Regularity, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def of_columns(self, names: Container[str]) -> Profile:
        """The profile of those columns that have one of these names: a table may lack what no forest needs."""
        kept = [c for c, name in enumerate(self.names) if name in names]
        if len(kept) == len(self.columns):
            return self
        place = {c: number for number, c in enumerate(kept)}
        return Profile(
            tuple(self.columns[c] for c in kept),
            tuple(moved(self.determinants[c], place) for c in kept),
            moved(self.regularities, place),
        )


Relation = TypeVar("Relation", Determinant, Regularity)


def moved(relations: Sequence[Relation], place: dict[int, int]) -> tuple[Relation, ...]:
    """Those relations whose columns all have a place, with the new places."""
    return tuple(
        replace(one, columns=tuple(place[c] for c in one.columns))
        for one in relations
        if all(c in place for c in one.columns)
    )


@dataclass(frozen=True, eq=False)
class WrittenTable:
    """The columns of a table as texts and, where they are numbers or dates, as numbers."""

    columns: list[TextColumn]
    numbers: list[Floats | None]
    """Per column, (rows,): NaN for what is no number."""
    place: NDArray[np.int64]
    """Per column, its position among the modelled columns; -1 for others."""


def read_written(table: Table, names: tuple[str, ...], judged: JudgedTable) -> WrittenTable:
    """The columns of a training table; modelled columns of numbers have the values that the model sees."""
    return written_rows(judged.model, read_texts(table, names), judged.encoded)


def read_new(table: Table, profile: Profile, judged: JudgedTable) -> WrittenTable:
    """The columns of another table, read as those of the profile were."""
    modelled = {column.name: column for column in judged.model.schema.columns}
    known = [_style(column, modelled.get(column.name)) for column in profile.columns]
    columns = read_texts(table, profile.names, known=known)
    return written_rows(judged.model, columns, judged.encoded, [column.is_number for column in profile.columns])


def _style(column: ColumnProfile, modelled: Column | None) -> Style:
    """How a column was written. A frame has no words for true and false: a model of one takes those of any file."""
    truth_families: tuple[Family, ...] = ("boolean",)
    if modelled is not None and modelled.arrow_type == "bool":
        truth_families = ("boolean", "number") if modelled.from_text else ("boolean", "number", "text")
    return Style(column.decimals, column.truth_texts, truth_families)


def written_rows(
    model: Model,
    columns: list[TextColumn],
    encoded: Sequence[NDArray[Any]],
    is_number: Sequence[bool] | None = None,
) -> WrittenTable:
    """Texts with their numbers. `encoded` are the rows as the model reads them; `is_number` says per column whether a
    column without a forest of numbers is read as numbers, by default as its values are."""
    modelled = {column.name: j for j, column in enumerate(model.schema.columns)}
    place = np.array([modelled.get(column.name, -1) for column in columns], dtype=np.int64)
    numbers: list[Floats | None] = []
    for c, (column, j) in enumerate(zip(columns, place.tolist(), strict=True)):
        if j >= 0 and not model.is_categorical[j]:
            numbers.append(
                np.where(np.isinf(encoded[j]), np.nan, encoded[j]) if np.isinf(encoded[j]).any() else encoded[j]
            )
            continue
        values = as_numbers(column.values)
        share = float(column.counts[~np.isnan(values)].sum()) / max(1, int(column.counts.sum()))
        is_one = share >= MOSTLY_NUMBERS if is_number is None else is_number[c]
        numbers.append(column.spread(values, np.nan) if is_one else None)
    return WrittenTable(columns, numbers, place)


def evenly(n_rows: int, most: int) -> NDArray[np.intp]:
    """At most so many positions, spread evenly over the rows."""
    return np.arange(n_rows) if n_rows <= most else np.linspace(0, n_rows - 1, most).astype(np.intp)


def fit_profile(written: WrittenTable, judged: JudgedTable, rows: NDArray[np.intp] | None = None) -> Profile:
    """The profile of a training table of which cells were judged out of bag: those of `rows`, in their order, by
    default those of all rows."""
    cells = judged.cells
    if rows is None:
        rows = evenly(len(judged), RESIDUAL_ROWS)
        cells = cells if len(rows) == len(judged) else cells.take(rows)
    with np.errstate(all="ignore"):  # numbers near the ends of the scale
        return _fit_profile(written, judged.model, cells, rows)


def _fit_profile(written: WrittenTable, model: Model, cells: JudgedCells, rows: NDArray[np.intp]) -> Profile:
    columns = []
    for column, numbers, j in zip(written.columns, written.numbers, written.place.tolist(), strict=True):
        residuals = None
        if j >= 0 and not model.is_categorical[j]:
            assert numbers is not None
            residuals = fit_residuals(numbers[rows], cells.expected[j], cells.spread_or_share[:, j])
        frequent, frequent_rows = _frequent(column)
        columns.append(
            ColumnProfile(
                column.name,
                frequent,
                fit_form(column),
                fit_spelling(column.values, column.counts),
                None if numbers is None else fit_numbers(numbers),
                residuals,
                _facts(column, numbers),
                len(column.codes),
                int(column.is_blank.sum()),
                int(column.is_padded.sum()),
                numbers is not None,
                column.decimals,
                frequent_rows,
            )
        )
    determinants = fit_votes(written.columns, _candidates(written, model))
    rules = find_regularities(written.columns, written.numbers)
    return Profile(tuple(columns), tuple(map(tuple, determinants)), tuple(rules))


def _frequent(column: TextColumn) -> tuple[tuple[str, ...], Keys]:
    order = np.argsort(-column.counts, kind="stable")[:MOST_VALUES]
    order = order[column.counts[order] > 1]
    return tuple(column.values[k] for k in order.tolist()), column.counts[order]


def _candidates(written: WrittenTable, model: Model) -> list[Sequence[int]]:
    """Per column, which others may determine it: all, or in wide tables those that its forest finds important."""
    n_columns = len(written.columns)
    if n_columns <= SCREENED_COLUMNS:
        return [range(n_columns)] * n_columns
    back = {j: place for place, j in enumerate(written.place.tolist()) if j >= 0}
    candidates: list[Sequence[int]] = []
    for j in written.place.tolist():
        if j < 0:
            candidates.append(())
            continue
        order = np.argsort(-model.forests[j].importances, kind="stable")[:SCREENED_COLUMNS]
        candidates.append([back[int(k)] for k in order if int(k) in back])
    return candidates


def _facts(column: TextColumn, numbers: Floats | None) -> Floats:
    """(FACTS,): what sort of column it is, on scales that mean the same in every table."""
    n_rows, counts = len(column.codes), column.counts
    n_present = max(1, int(counts.sum()))
    shares = counts / n_present
    entropy = float(-(shares * np.log(np.maximum(shares, 1e-300))).sum()) / np.log(max(2, n_present))
    has_digits = np.zeros(len(shares), dtype=np.bool_)
    lengths = np.zeros(len(shares), dtype=np.int64)
    for part, points in column.parts():
        has_digits[part] = (letter_classes(points) == LETTER_CLASSES["digit"]).any(axis=1)
        lengths[part] = np.count_nonzero(points, axis=1)
    n_numbers = 0 if numbers is None else int(np.isfinite(numbers).sum())
    # below 0: texts with digits in them
    numeric = n_numbers / n_present if numbers is not None else -float(shares[has_digits].sum())
    return np.array(
        [
            np.log10(max(1, n_rows)),
            numeric,
            len(column.values) / n_present,
            entropy,
            float(shares.max(initial=0.0)),
            1 - n_present / max(1, n_rows),
            float(counts[counts == 1].sum()) / n_present,
            float((shares * lengths).sum()),
        ]
    )
