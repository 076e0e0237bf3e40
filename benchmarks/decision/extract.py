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


def extract(job: tuple[str, dict[str, Any], str]) -> str:
    """The inputs of one version."""
    corpus, version, target = job
    path = Path(target) / f"{version['path'].replace('/', '__')}.npz"
    if path.exists():
        return ""
    folder = Path(corpus) / version["path"]
    began = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory() as temporary, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dirty = pq.read_table(folder / "dirty.parquet")
            file = Path(temporary) / "table.csv"
            pa_csv.write_csv(dirty, file)
            table = read_all(open_source(str(file), ReadOptions())).table
            if table.n_rows != dirty.num_rows or len(table.names) != dirty.num_columns:
                return f"{version['path']}: read as {table.n_rows} x {len(table.names)}"
            params = Params(random_state=SCAN_SEED, n_jobs=1)
            found = fit_detect(table, params)[1]
            collected = collect(found.judged, table)
            collected.inputs.prepare()
            wrong = pq.read_table(folder / "wrong.parquet")
            np.savez_compressed(
                path.with_suffix(".tmp.npz"),
                inputs=np.clip(
                    np.stack([made.values for made in map(collected.inputs.make, range(len(wrong.columns)))]), -6e4, 6e4
                ).astype(np.float16),
                order=collected.order.astype(np.float16),
                shuffled_order=_shuffled_order(collected.written).astype(np.float16),
                codes=np.stack([column.codes for column in collected.written.columns]),
                wrong=np.stack([column.to_numpy() for column in wrong.columns]).astype(np.int8),
            )
            path.with_suffix(".tmp.npz").replace(path)
    except Exception as error:
        return f"{version['path']}: {type(error).__name__}: {error}"
    return f"{version['path']} {time.perf_counter() - began:.1f} s" if time.perf_counter() - began > 20 else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--to", required=True)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="versions whose path contains this")
    options = parser.parse_args()
    Path(options.to).mkdir(parents=True, exist_ok=True)
    versions = json.loads((Path(options.corpus) / "index.json").read_text())["versions"]
    jobs = [(options.corpus, version, options.to) for version in versions if options.only in version["path"]]
    with ProcessPoolExecutor(options.processes) as pool:
        for number, message in enumerate(pool.map(extract, jobs, chunksize=1)):
            if message:
                print(message, flush=True)
            if number % 50 == 0:
                print(f"{number} of {len(jobs)}", flush=True)


if __name__ == "__main__":
    main()
