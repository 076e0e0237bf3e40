"""How likely each row is anomalous where the scores lie in many files: a last column of each, written in two passes."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rfod._engine.cut_off import read_part
from rfod._io.interface import OutputError
from rfod._io.storage import put, read_bytes
from rfod._model.executor import Executor, Progress
from rfod._model.local_fdr import RowProbabilities
from rfod._model.model import Model

Floats = NDArray[np.float64]
COLUMN = "row_probability"


def add_row_probability(
    model: Model, places: Sequence[str], executor: Executor, progress: Progress
) -> list[tuple[int, str]]:
    """Write the probabilities of all rows into the parts; returns the size in bytes and the SHA-256 of each part.

    A part that has them already keeps its bytes, so that a run that was stopped in between can be repeated.
    """
    probabilities = RowProbabilities(model.calibration, model.anomalous_share)
    for counts in executor.map(_count, places, [executor.share(model.calibration)]):
        probabilities.counts.update(counts)
    probabilities.settle()
    handles = [executor.share(probabilities)]
    return list(executor.map(_add_column, places, handles, progress=partial(progress, "comparing")))


def _count(place: str, calibration: Floats) -> Counter[float]:
    """How many rows of one part have each p-value."""
    part = RowProbabilities(calibration, None)
    part.count(read_part(place, "score"))
    return part.counts


def _add_column(place: str, probabilities: RowProbabilities) -> tuple[int, str]:
    """Write the column into one part, a row group at a time."""
    before = read_bytes(place)
    if before is None:
        raise OutputError(f"{place}: the file is gone. Hint: start again with the same directory.")
    file, sink = pq.ParquetFile(pa.BufferReader(before)), io.BytesIO()
    names = [name for name in file.schema_arrow.names if name != COLUMN]
    schema = pa.schema([file.schema_arrow.field(name) for name in names], file.schema_arrow.metadata)
    with pq.ParquetWriter(sink, schema.append(pa.field(COLUMN, pa.float64())), compression="zstd") as writer:
        for number in range(file.num_row_groups):
            rows = file.read_row_group(number, columns=names)
            writer.write_table(rows.append_column(COLUMN, pa.array(probabilities.of(rows["score"].to_numpy()))))
    after = sink.getvalue()
    if after != before:
        put(place, after)
    return len(after), hashlib.sha256(after).hexdigest()
