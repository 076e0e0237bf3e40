"""One pass over files of any size: exact statistics of all rows, and the sample of them that a model is fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa

from rfod._io.columnar import ColumnarSource, FilePart
from rfod._io.interface import InputError
from rfod._io.row_sample import MOST_FILE_ROWS, RowSample, likely_bound, row_keys
from rfod._io.source import Batch
from rfod._io.source_stats import SourceStats
from rfod._model.executor import Executor, Progress, silent
from rfod.params import Params


@dataclass(frozen=True)
class _Wanted:
    """What the pass looks for."""

    schema: pa.Schema
    batch_rows: int
    n_rows: int
    bound: int
    seed: int


def count_files(
    source: ColumnarSource, executor: Executor, n_wanted: int, seed: int, progress: Progress = silent
) -> tuple[SourceStats, Batch]:
    """Exact statistics of all rows of the files, and a uniform sample of `n_wanted` of them, in their order.

    A row is in the sample by a hash of the seed, the path of its file from the folder that all have in common, and its
    number in the file: the sample is the same on every executor, and however the files are cut into row groups.
    """
    n_rows = source.n_rows or 0
    if not n_rows:
        raise InputError(f"{source.name}: the table has no rows. Hint: a header alone is not enough.")
    bound = likely_bound(n_wanted, n_rows)
    wanted = executor.share(_Wanted(source.schema, source.options.batch_rows, n_wanted, bound, seed))
    stats, sampler = SourceStats(source.name), RowSample(n_wanted, bound)
    for part_stats, part_sample in executor.map(
        _count_part, source.parts(), [wanted], progress=partial(progress, "reading")
    ):
        stats.merge(part_stats)
        sampler.merge(part_sample)
    sample = Batch(sampler.rows(), 0)
    stats.n_sampled = sample.rows.num_rows if sample.rows.num_rows < n_rows else None
    return stats, sample


def _count_part(part: FilePart, wanted: _Wanted) -> tuple[SourceStats, RowSample]:
    """Statistics and sample of one part."""
    stats, sampler, first = SourceStats(""), RowSample(wanted.n_rows, wanted.bound), part.first_row
    for rows in part.batches(wanted.schema, wanted.batch_rows):
        numbers = np.arange(first, first + rows.num_rows)
        keys = row_keys(wanted.seed, part.name, numbers)
        sampler.add(rows, keys, part.number * MOST_FILE_ROWS + numbers)
        stats.add(Batch(rows, first))
        first += rows.num_rows
    sampler.rows()  # cut to what is wanted, before it is sent
    return stats, sampler


def fit_job(source: ColumnarSource, params: Params, key: str | None, sample_rows: int) -> dict[str, Any]:
    """What the model of these files depends on, for a checkpoint."""
    return {
        "rfod": version("rfod"),
        "files": [[file.name, *file.version, file.n_rows] for file in source.files],
        "columns": str(source.schema.remove_metadata()),
        "params": params.to_json() | {"n_jobs": None, "verbose": 0},
        "key": key,
        "sample_rows": sample_rows,
    }
