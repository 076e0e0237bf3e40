"""Judge files of any size: a part of a file is a task, and its scores are a file in a directory with a manifest."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rfod._decisions.decisions import Matched
from rfod._engine.cut_off import CutOff, find_cut_off
from rfod._engine.row_probability import add_row_probability
from rfod._evidence.stored import save_model
from rfod._evidence.wrong_cells import judge_cells
from rfod._findings.findings import FIELDS, RARE, Findings, Rule
from rfod._io.columnar import ColumnarSource, FilePart
from rfod._io.interface import InputError, OutputError
from rfod._io.storage import files_below, put, read_bytes, remove_leftovers
from rfod._model.executor import Executor, Progress, silent
from rfod._model.model import Model
from rfod._table.schema import match_columns
from rfod._table.table import check_columns, open_table
from rfod.detection import Detection
from rfod.pipeline import detect

MANIFEST = "_manifest.json"
"""Written last; readers of Parquet folders pass over names with an underscore."""
MANIFEST_FORMAT = 1
_METADATA = b"rfod"
CELL_FIELDS = [*FIELDS, pa.field("probability", pa.float64())]
"""Of the structs that engines write per unusual cell."""


@dataclass(frozen=True)
class ScoreJob:
    """What the scores of a part depend on, beside the part."""

    model: str
    """SHA-256 of the model."""
    key: str | None
    cells: bool
    row_probability: bool = False
    decisions: str | None = None
    """SHA-256 of what was decided."""

    @property
    def options(self) -> dict[str, Any]:
        """As parts and the manifest name them; those that 0.2.0 does not know only where they are given."""
        later = {"row_probability": self.row_probability, "decisions": self.decisions}
        return {"key": self.key, "cells": self.cells} | {name: value for name, value in later.items() if value}


@dataclass(frozen=True)
class ScoredPart:
    """A file of the output, as the manifest lists it."""

    path: str
    input: str
    first_row: int
    n_rows: int
    n_bytes: int
    sha256: str


def score_files(
    model: Model,
    source: ColumnarSource,
    output: str,
    executor: Executor,
    rule: Rule,
    *,
    key: str | None = None,
    cells: bool = False,
    row_probability: bool = False,
    decisions: Matched | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Judge all rows of files and write the scores to a directory; parts that are there already are kept.

    Parameters
    ----------
    model
        Judges the rows.
    source
        The files, read with the columns of the model and the key.
    output
        A directory, or a prefix in object storage: new, empty, or with scores of the same model, options and files.
    executor
        Runs one task per part.
    rule
        Which rows are findings: its cut-off is found in further passes over the parts, which stay as they are.
    key
        A column that is written beside the scores.
    cells
        Whether to write the unusual cells of each row.
    row_probability
        Whether to add how likely each row is anomalous, which is known when all parts are scored.
    decisions
        What was decided about cells of the files, which are then read with all their columns.
    progress
        Is told of finished parts.

    Returns
    -------
    dict
        The manifest.
    """
    match_columns(model.schema, open_table(pa.Table.from_pylist([{}], source.schema)))  # before any task runs
    check_columns(source.schema.names, [key] if key else [], "use as key")
    output = output.rstrip("/")
    job = ScoreJob(_digest_of_model(model), key, cells, row_probability, _digest_of_decisions(decisions))
    parts = {_name_of(part): part for part in source.parts()}
    if not parts:
        raise InputError(f"{source.name}: the table has no rows. Hint: a header alone is not enough.")
    kept = _check_directory(output, job, source, parts, executor)
    to_score = [part for name, part in parts.items() if name not in kept]
    starts = np.cumsum([0, *(file.n_rows for file in source.files)])
    shared = (model, source.schema, source.options.batch_rows, job, output, decisions, starts)
    handles = [executor.share(value) for value in shared]
    scored = executor.map(_score_part, to_score, handles, progress=partial(progress, "scoring"))
    entries = kept | {entry.path: entry for entry in scored}
    in_order = [entries[name] for name in parts]
    if row_probability:
        written = add_row_probability(model, [f"{output}/{entry.path}" for entry in in_order], executor, progress)
        in_order = [
            replace(entry, n_bytes=n_bytes, sha256=digest)
            for entry, (n_bytes, digest) in zip(in_order, written, strict=True)
        ]
    cut_off = find_cut_off(rule, model, output, [(entry.path, entry.n_rows) for entry in in_order], executor)
    manifest = _manifest(job, source, rule, cut_off, in_order)
    remove_leftovers(output)
    put(f"{output}/{MANIFEST}", json.dumps(manifest, indent=1).encode())
    return manifest


def _name_of(part: FilePart) -> str:
    """Of the file with the scores of a part: from the path of its input, so that equal names in two folders differ."""
    return f"{part.name}.{part.first_row:012d}.parquet"


def _identity(job: ScoreJob, part: FilePart) -> dict[str, Any]:
    """What a part of the output must have been made from."""
    about = {"model": job.model} | job.options
    return about | {"input": part.name, "version": list(part.version), "rows": [part.first_row, part.n_rows]}


def _score_part(
    part: FilePart,
    model: Model,
    schema: pa.Schema,
    batch_rows: int,
    job: ScoreJob,
    output: str,
    decisions: Matched | None,
    starts: NDArray[np.int64],
) -> ScoredPart:
    """Judge the rows of one part and write their scores; `starts` are the numbers of the first rows of the files."""
    metadata = {_METADATA: json.dumps(_identity(job, part), sort_keys=True)}
    sink, writer, row = io.BytesIO(), None, part.first_row
    for rows in part.batches(schema, batch_rows):
        settled = None
        if decisions is not None:
            settled = decisions.settle(open_table(rows), starts[part.number] + row + np.arange(rows.num_rows))
        found = detect(model, rows, key=job.key, first_row=row, n_jobs=1, decisions=settled)  # a task per core
        row += rows.num_rows
        answers: dict[str, Any] = {"row": pa.array(np.arange(row - rows.num_rows, row))}
        if found.labels.keys is not None:
            answers["key"] = found.labels.keys.cast(found.labels.key_type)
        table = pa.table(answers | score_columns(found, job.cells))
        if writer is None:
            writer = pq.ParquetWriter(sink, table.schema.with_metadata(metadata), compression="zstd")
        writer.write_table(table)
    if writer is None or row != part.first_row + part.n_rows:
        raise InputError(f"{part.address}: the file has other rows than at first. Hint: start again without changes.")
    writer.close()
    name, data = _name_of(part), sink.getvalue()
    put(f"{output}/{name}", data)
    return ScoredPart(name, part.name, part.first_row, part.n_rows, len(data), hashlib.sha256(data).hexdigest())


def score_columns(found: Detection, cells: bool) -> dict[str, pa.Array]:
    """What engines write per row: `score`, `p_value` and, if wanted, its unusual `cells`."""
    answers = {"score": pa.array(found.row_scores), "p_value": pa.array(found.row_p_values)}
    return answers | ({"cells": _unusual_cells(found)} if cells else {})


def _unusual_cells(found: Detection) -> pa.ListArray:
    """Per row, its unusual cells as structs, most surprising first."""
    rows, columns = np.nonzero(found.surprise >= RARE)
    order = np.lexsort((columns, -found.surprise[rows, columns], rows))
    rows, columns = rows[order], columns[order]
    arrays = Findings(found.judged, rows, columns).arrays()
    chance = judge_cells(found.judged, rows, columns)[0] if found.has_probabilities else pa.nulls(len(rows))
    arrays["probability"] = pa.array(chance, pa.float64())
    starts = np.searchsorted(rows, np.arange(len(found) + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(starts), pa.StructArray.from_arrays(arrays.values(), fields=CELL_FIELDS))


# ------------------------------------------------------------------------------------------------ what is there already


def _check_directory(
    output: str, job: ScoreJob, source: ColumnarSource, parts: Mapping[str, FilePart], executor: Executor
) -> dict[str, ScoredPart]:
    """The parts that are finished; `OutputError` for a directory that holds anything else."""
    there = files_below(output)
    foreign = [name for name in there if name not in parts and name != MANIFEST]
    if foreign:
        raise OutputError(
            f"{output}: {foreign[0]} is no part of these scores; the directory belongs to another run or to something "
            "else. Hint: name another directory."
        )
    finished = [parts[name] for name in there if name in parts]
    handles = [executor.share(value) for value in (job, output)]
    kept = {entry.path: entry for entry in executor.map(_check_part, finished, handles)}
    if MANIFEST in there:
        _check_manifest(output, job, source, kept)
    return kept


def _check_part(part: FilePart, job: ScoreJob, output: str) -> ScoredPart:
    """A part of the output that is there already; `OutputError` if it was made from anything else."""
    name = _name_of(part)
    data = read_bytes(f"{output}/{name}")
    if data is None:  # it was there when the directory was listed
        raise OutputError(f"{output}/{name}: the file is gone. Hint: start again, and leave the directory to this run.")
    try:
        about = pq.read_metadata(pa.BufferReader(data))
        found = json.loads((about.metadata or {}).get(_METADATA, b"null"))
    except (pa.ArrowException, OSError, ValueError):
        found = None
    if found != json.loads(json.dumps(_identity(job, part))):
        raise OutputError(f"{output}/{name}: {_difference(found, _identity(job, part))}. Hint: name another directory.")
    return ScoredPart(name, part.name, part.first_row, part.n_rows, len(data), hashlib.sha256(data).hexdigest())


def _difference(found: Any, wanted: Mapping[str, Any]) -> str:
    """Why a part cannot be kept."""
    if not isinstance(found, dict):
        return "no part of these scores"
    if found.get("model") != wanted["model"]:
        return "scores by another model"
    if any(found.get(name) != wanted.get(name) for name in ("key", "cells", "row_probability", "decisions")):
        return "scores with other options (--key, --cells, --row-probability, --decisions)"
    return f"scores of other rows: {wanted['input']} has changed since"


def _check_manifest(output: str, job: ScoreJob, source: ColumnarSource, kept: Mapping[str, ScoredPart]) -> None:
    """Raise `OutputError` for the manifest of another run, or parts that are not what it lists."""
    name = f"{output}/{MANIFEST}"
    try:
        manifest = json.loads(read_bytes(name) or b"")
        made_from = {field: manifest[field] for field in ("format", "model", "options", "inputs")}
        listed = {part["path"]: part["sha256"] for part in manifest["parts"]}
    except (ValueError, KeyError, TypeError) as error:
        raise OutputError(f"{name}: no manifest of scores. Hint: name another directory.") from error
    if made_from != _made_from(job, source):
        raise OutputError(
            f"{name}: scores by another model, with other options or of other files. Hint: name another one."
        )
    changed = [path for path, entry in kept.items() if listed.get(path) != entry.sha256]
    if changed:
        raise OutputError(f"{output}/{changed[0]}: not what the manifest lists. Hint: remove it to score it again.")


def _made_from(job: ScoreJob, source: ColumnarSource) -> dict[str, Any]:
    return {
        "format": MANIFEST_FORMAT,
        "model": job.model,
        "options": job.options,
        "inputs": [
            {"path": file.name, "n_bytes": file.version[0], "modified_ns": file.version[1], "n_rows": file.n_rows}
            for file in source.files
        ],
    }


def _manifest(
    job: ScoreJob, source: ColumnarSource, rule: Rule, cut_off: CutOff, parts: list[ScoredPart]
) -> dict[str, Any]:
    return _made_from(job, source) | {
        "rfod": version("rfod"),
        "n_rows": sum(part.n_rows for part in parts),
        "n_flagged": cut_off.n_flagged,
        "rule": rule.words(),
        "cut_off": cut_off.to_json(),
        "parts": [asdict(part) for part in parts],
    }


def _digest_of_model(model: Model) -> str:
    """SHA-256 of the file that the model alone makes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.rfod"
        save_model(model, path)
        return hashlib.sha256(path.read_bytes()).hexdigest()


def _digest_of_decisions(decisions: Matched | None) -> str | None:
    """SHA-256 of what the decisions that apply say, with their rows; notes and times do not count."""
    if decisions is None:
        return None
    rows = [(one.row, one.decision.column, one.decision.kind, one.decision.value) for one in decisions.applied]
    everywhere = [(decision.column, decision.wherever) for decision, _ in decisions.wherever]
    return hashlib.sha256(repr((sorted(rows, key=repr), everywhere)).encode()).hexdigest()
