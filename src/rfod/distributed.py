"""Tables of many files: fit a model to them and judge them, on the threads of this machine or on a Ray cluster."""

from __future__ import annotations

import os
from typing import Any

from rfod._engine.checkpoint import Checkpointed
from rfod._engine.counting import count_files, fit_job
from rfod._engine.engines import LOCAL, open_engine
from rfod._engine.scoring import score_files
from rfod._evidence.stored import load_model
from rfod._findings.findings import Rule
from rfod._io.columnar import ColumnarSource
from rfod._io.interface import ReadOptions
from rfod._io.locations import open_columnar
from rfod._io.storage import local_copy
from rfod._model.executor import Executor
from rfod._model.model import Model
from rfod.detector import RFOD
from rfod.exceptions import ParameterError
from rfod.params import FIT_SAMPLE_ROWS, SCAN_SEED, Params
from rfod.pipeline import draw_seed, fit_model


def fit(
    source: str | os.PathLike[str],
    engine: str | Executor = LOCAL,
    sample_rows: int = FIT_SAMPLE_ROWS,
    checkpoint: str | os.PathLike[str] | None = None,
    key: str | None = None,
    **params: Any,
) -> RFOD:
    """Fit a detector to Parquet or Arrow files. The same files give the same bits on every engine, however they are cut
    into row groups.

    Parameters
    ----------
    source
        A file, a folder or a pattern, on this machine or in object storage (`s3://bucket/orders/*.parquet`).
    engine
        "local" for the threads of this machine; "ray" for the cluster that the environment variable RAY_ADDRESS names,
        or else one on this machine; `ray://host:port` or `host:port` for a cluster that runs; or an executor.
    sample_rows
        Files with more rows are fitted on a uniform sample of this size. Which rows are in it follows from the seed,
        the paths of the files from the folder that they have in common, and the numbers of the rows.
    checkpoint
        A folder on this machine that keeps the results of finished tasks: a fit that was killed goes on from there.
    key
        A column that identifies rows; it is left out of the model.
    params
        Those of `RFOD`; `random_state` is 0 by default.
    """
    if sample_rows < 2:
        raise ParameterError(f"sample_rows is {sample_rows!r}; at least 2 rows are needed.")
    settings = Params(**{"random_state": SCAN_SEED} | params)
    if not isinstance(settings.random_state, int):
        settings.random_state = draw_seed(settings.random_state)  # the sample needs it too
    files = open_columnar(os.fspath(source), ReadOptions())
    with open_engine(engine, settings.n_jobs) as executor:
        if checkpoint is not None:
            executor = Checkpointed(executor, os.fspath(checkpoint), fit_job(files, settings, key, sample_rows))
        _, sample = count_files(files, executor, sample_rows, settings.random_state)
        return RFOD.from_model(fit_model(sample.table, settings, key=key, executor=executor).model)


def score(
    model: RFOD | Model | str | os.PathLike[str],
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    engine: str | Executor = LOCAL,
    key: str | None = None,
    cells: bool = False,
    row_probability: bool = False,
    **rule: Any,
) -> dict[str, Any]:
    """Judge every row of Parquet or Arrow files and write the scores to a directory.

    Called again with the same arguments it goes on where it stopped: parts that are there are not judged twice. A
    directory with anything else in it is refused.

    Parameters
    ----------
    model
        A fitted detector or the path of a model file.
    source
        A file, a folder or a pattern, on this machine or in object storage.
    output
        A directory, or a prefix in object storage.
    engine
        As in `fit`.
    key
        A column that is written beside the scores.
    cells
        Whether to write the unusual cells of each row.
    row_probability
        Whether to write how likely each row is anomalous among the rows of all files, as `Detection.row_probability`.
    rule
        One of `fdr`, `top` and `contamination`, as in `Detection.flag`; a false discovery rate of 0.05 without any.

    Returns
    -------
    dict
        The manifest, which the directory holds as `_manifest.json`: parts, checksums, inputs and the cut-off of the
        rule (docs/formats.md).
    """
    if isinstance(model, RFOD):
        model = model.model_
    elif not isinstance(model, Model):
        with local_copy(os.fspath(model)) as path:
            model = load_model(path)
    files = open_judged(model, os.fspath(source), key)
    with open_engine(engine) as executor:
        return score_files(
            model,
            files,
            os.fspath(output),
            executor,
            Rule(**rule),
            key=key,
            cells=cells,
            row_probability=row_probability,
        )


def open_judged(model: Model, source: str, key: str | None) -> ColumnarSource:
    """Files, of which the columns of the model and the key are read."""
    needed = {column.name for column in model.schema.columns} | ({key} if key else set())
    return open_columnar(source, ReadOptions(columns=frozenset(needed)))
