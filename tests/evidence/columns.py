"""Columns of text by hand, for the tests of evidence."""

import numpy as np
import pyarrow as pa

from rfod._evidence.texts import TextColumn, read_texts
from rfod._table.table import open_table


def text_columns(**columns) -> list[TextColumn]:
    """Lists of texts (None is missing) as columns."""
    return read_texts(open_table(pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})))


def text_column(values) -> TextColumn:
    """One column."""
    return text_columns(column=values)[0]


def numbers(values) -> np.ndarray:
    """Numbers, NaN for None."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
