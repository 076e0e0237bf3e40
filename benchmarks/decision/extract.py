"""Computes the inputs of the decision for every version of every table of the corpus.

    python -m benchmarks.decision.extract CORPUS --to DIRECTORY [--processes 2]

A version is written as CSV and read as `rfod scan` reads it. One .npz per version: `inputs` float16 (columns, rows,
inputs), `order` float16, `codes` int32 (columns, rows), `wrong` int8 (columns, rows; 0 right, else the kind of error).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rfod._evidence.collect import collect
from rfod._evidence.context import order_inputs
from rfod._evidence.profile import WrittenTable
from rfod._io.interface import ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import read_all
from rfod.detection import Detection
from rfod.params import SCAN_SEED, Params
from rfod.pipeline import fit_detect


def _shuffled_order(written: WrittenTable) -> NDArray[np.float32]:
    """The inputs of row order had the rows come in a random order."""
    n_rows = len(written.columns[0].codes)
    order = np.random.default_rng(n_rows).permutation(n_rows)
    columns = [replace(column, codes=column.codes[order]) for column in written.columns]
    numbers = [None if values is None else values[order] for values in written.numbers]
    found = order_inputs(WrittenTable(columns, numbers, written.place))
    back = np.empty_like(found)
    back[:, order] = found
    return back


def file_of(folder: Path, version: dict[str, Any]) -> Path:
    """Where what is made from a version is kept."""
    return folder / f"{version['path'].replace('/', '__')}.npz"


def scanned(folder: Path, keep_evidence: bool) -> Detection:
    """What `rfod scan` finds in the CSV file of a version; ValueError where its table is read with another shape."""
    with tempfile.TemporaryDirectory() as temporary:
        dirty = pq.read_table(folder / "dirty.parquet")
        file = Path(temporary) / "table.csv"
        pa_csv.write_csv(dirty, file)
        table = read_all(open_source(str(file), ReadOptions())).table
    if table.n_rows != dirty.num_rows or len(table.names) != dirty.num_columns:
        raise ValueError(f"read as {table.n_rows} x {len(table.names)}")
    return fit_detect(table, Params(random_state=SCAN_SEED, n_jobs=1, keep_evidence=keep_evidence))[1]


def make_files(
    corpus: Path, folder: Path, versions: Sequence[dict[str, Any]], make: Callable[..., dict[str, Any]], processes: int
) -> None:
    """One .npz per version that has none: what `make` gives for its record and its folder in the corpus. Versions that
    fail are named."""
    folder.mkdir(parents=True, exist_ok=True)
    jobs = [(make, corpus / version["path"], version, file_of(folder, version)) for version in versions]
    with ProcessPoolExecutor(processes) as pool:
        for number, message in enumerate(pool.map(_make_file, jobs, chunksize=1)):
            if message:
                print(message, flush=True)
            if number % 50 == 0:
                print(f"{number} of {len(jobs)}", flush=True)


def _make_file(job: tuple[Callable[..., dict[str, Any]], Path, dict[str, Any], Path]) -> str:
    make, folder, version, path = job
    if path.exists():
        return ""
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arrays = make(version, folder)
        np.savez_compressed(path.with_suffix(".tmp.npz"), **arrays)
        path.with_suffix(".tmp.npz").replace(path)
    except Exception as error:
        return f"{version['path']}: {type(error).__name__}: {error}"
    seconds = time.perf_counter() - began
    return f"{version['path']} {seconds:.1f} s" if seconds > 20 else ""


def inputs_of(_: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The inputs of one version."""
    found = scanned(folder, keep_evidence=True)
    collected = collect(found.judged, found.judged.table)
    collected.inputs.prepare()
    wrong = pq.read_table(folder / "wrong.parquet")
    made = [collected.inputs.make(c).values for c in range(len(wrong.columns))]
    return {
        "inputs": np.clip(np.stack(made), -6e4, 6e4).astype(np.float16),
        "order": collected.order.astype(np.float16),
        "shuffled_order": _shuffled_order(collected.written).astype(np.float16),
        "codes": np.stack([column.codes for column in collected.written.columns]),
        "wrong": np.stack([column.to_numpy() for column in wrong.columns]).astype(np.int8),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="versions whose path contains this")
    options = parser.parse_args()
    versions = json.loads((options.corpus / "index.json").read_text())["versions"]
    chosen = [version for version in versions if options.only in version["path"]]
    make_files(options.corpus, options.to, chosen, inputs_of, options.processes)


if __name__ == "__main__":
    main()
