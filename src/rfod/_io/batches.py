"""Rows of a source on their way in, and the thing they come from."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._io.notes import Notes


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows."""

    rows: pa.Table
    first_row: int
    """Position of the first of them in the source, from 0."""
    lines: NDArray[np.int64] | None = None
    """Line of each row in its text file, from 1."""


class Source(Protocol):
    """A table that is read batch by batch, once."""

    name: str

    @property
    def notes(self) -> Notes:
        """What the reader noticed so far."""
        ...

    def batches(self) -> Generator[Batch, None, None]:
        """The rows, in order."""
        ...

    def progress(self) -> tuple[int, int | None]:
        """How much has been read, and of how much; rows or bytes."""
        ...


def cut(table: pa.Table, lines: NDArray[np.int64] | None, first_row: int, n_rows: int) -> Iterator[Batch]:
    """A table as batches of at most so many rows."""
    for start in range(0, table.num_rows, n_rows):
        part = None if lines is None else lines[start : start + n_rows]
        yield Batch(table.slice(start, n_rows), first_row + start, part)
