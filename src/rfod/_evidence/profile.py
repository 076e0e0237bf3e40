"""What a training table shows of its columns: the profile that cells are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.form import FormProfile, fit_form
from rfod._evidence.numbers import NumberProfile, ResidualScale, as_numbers, fit_numbers, fit_residuals
from rfod._evidence.regularities import Regularity, find_regularities
from rfod._evidence.spelling import MOST_VALUES, SpellingProfile, fit_spelling
from rfod._evidence.texts import Floats, TextColumn, code_points, hash_rows, letter_classes, read_texts
from rfod._evidence.votes import SCREENED_COLUMNS, Determinant, fit_votes
from rfod._model.judged import JudgedTable
from rfod._table.table import Table

MOSTLY_NUMBERS = 0.7  # share of the values of a column from which on it is one of numbers
FACTS = ("log_rows", "numeric_share", "distinct_share", "entropy", "top_share", "blank_share", "single_share", "length")


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

    @cached_property
    def text_of(self) -> dict[int, str]:
        """The frequent values by their hashes."""
        return dict(zip(hash_rows(code_points(self.frequent)).tolist(), self.frequent, strict=True))


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


@dataclass(frozen=True, eq=False)
class WrittenTable:
    """The columns of a table as texts and, where they are numbers or dates, as numbers."""

    columns: list[TextColumn]
    numbers: list[Floats | None]
    """Per column, (rows,): NaN for what is no number."""
    place: NDArray[np.int64]
    """Per column, its position among the modelled columns; -1 for others."""


def read_written(table: Table, names: tuple[str, ...], judged: JudgedTable) -> WrittenTable:
    """The columns of a table; modelled columns of numbers have the values that the model sees."""
    columns = read_texts(table, names)
    modelled = {name: j for j, name in enumerate(judged.names)}
    place = np.array([modelled.get(column.name, -1) for column in columns], dtype=np.int64)
    encoded = judged.rows(np.arange(len(judged))).encoded
    numbers: list[Floats | None] = []
    for column, j in zip(columns, place.tolist(), strict=True):
        if j >= 0 and not judged.model.is_categorical[j]:
            numbers.append(np.where(np.isfinite(encoded[j]), encoded[j], np.nan))
            continue
        values = as_numbers(column.values)
        share = float(column.counts[~np.isnan(values)].sum()) / max(1, int(column.counts.sum()))
        numbers.append(column.spread(values, np.nan) if share >= MOSTLY_NUMBERS else None)
    return WrittenTable(columns, numbers, place)


def fit_profile(written: WrittenTable, judged: JudgedTable) -> Profile:
    """The profile of a training table whose cells were judged out of bag."""
    columns = []
    for column, numbers, j in zip(written.columns, written.numbers, written.place.tolist(), strict=True):
        residuals = None
        if j >= 0 and not judged.model.is_categorical[j]:
            assert numbers is not None
            residuals = fit_residuals(numbers, judged.cells.expected[j], judged.cells.spread_or_share[:, j])
        columns.append(
            ColumnProfile(
                column.name,
                _frequent(column),
                fit_form(column),
                fit_spelling(column.values, column.counts),
                None if numbers is None else fit_numbers(numbers),
                residuals,
                _facts(column, numbers),
                len(column.codes),
                int(column.is_blank.sum()),
                int(column.is_padded.sum()),
            )
        )
    determinants = fit_votes(written.columns, _candidates(written, judged))
    rules = find_regularities(written.columns, written.numbers)
    return Profile(tuple(columns), tuple(map(tuple, determinants)), tuple(rules))


def _frequent(column: TextColumn) -> tuple[str, ...]:
    order = np.argsort(-column.counts, kind="stable")[:MOST_VALUES]
    return tuple(column.values[k] for k in order.tolist() if column.counts[k] > 1)


def _candidates(written: WrittenTable, judged: JudgedTable) -> list[Sequence[int]]:
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
        order = np.argsort(-judged.model.forests[j].importances, kind="stable")[:SCREENED_COLUMNS]
        candidates.append([back[int(k)] for k in order if int(k) in back])
    return candidates


def _facts(column: TextColumn, numbers: Floats | None) -> Floats:
    """(FACTS,): what sort of column it is, on scales that mean the same in every table."""
    n_rows, counts = len(column.codes), column.counts
    n_present = max(1, int(counts.sum()))
    shares = counts / n_present
    entropy = float(-(shares * np.log(np.maximum(shares, 1e-300))).sum()) / np.log(max(2, n_present))
    has_digits = (letter_classes(column.points) == 3).any(axis=1) if len(column.values) else np.zeros(0)
    numeric = float(np.isfinite(numbers).sum()) / n_present if numbers is not None else 0.0
    if numbers is None:
        numeric = -float(shares[has_digits].sum()) if len(shares) else 0.0  # below 0: texts with digits in them
    lengths = np.count_nonzero(column.points, axis=1)
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
