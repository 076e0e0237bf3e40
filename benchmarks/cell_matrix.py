"""A frame as one matrix of numbers, for methods that take nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.cell_methods import is_number

Floats = NDArray[np.float64]
UNSEEN = -1.0


@dataclass(frozen=True)
class Matrix:
    """`values` (rows, columns): standardised numbers, and codes from 0 for categories.

    A gap is NaN; a category that the encoder does not know is `UNSEEN`, in a column with `n_codes` codes.
    """

    values: Floats
    is_category: NDArray[np.bool_]
    n_codes: tuple[int, ...]


class Encoder:
    """Learns means, standard deviations and categories; at most `max_categories` per column, the commonest."""

    def __init__(self, frame: pd.DataFrame, max_categories: int) -> None:
        self._numbers: dict[str, tuple[float, float]] = {}
        self._categories: dict[str, pd.Index] = {}
        for name in frame:
            if is_number(frame[name]):
                values = frame[name].astype(np.float64)
                self._numbers[name] = float(values.mean()), float(values.std()) or 1.0
            else:
                counts = _texts(frame[name]).value_counts(dropna=True)
                self._categories[name] = counts.index[:max_categories]

    def encode(self, frame: pd.DataFrame) -> Matrix:
        columns = [self._encode_column(frame[name]) for name in frame]
        known = [self._categories.get(name) for name in frame]
        return Matrix(
            np.column_stack(columns),
            np.array([categories is not None for categories in known]),
            tuple(0 if categories is None else len(categories) for categories in known),
        )

    def _encode_column(self, column: pd.Series) -> Floats:
        if column.name in self._numbers:
            mean, spread = self._numbers[column.name]
            return (column.to_numpy(np.float64, na_value=np.nan) - mean) / spread
        codes = self._categories[column.name].get_indexer(_texts(column)).astype(np.float64)
        return np.where(column.isna(), np.nan, codes)


def _texts(column: pd.Series) -> pd.Series:
    """Categories as texts, gaps as they are."""
    return column.astype(object).where(column.isna(), column.astype(str))
