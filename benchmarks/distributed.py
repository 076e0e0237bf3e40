"""Fit and score up to 100 million rows: on one machine under a memory limit, and by Ray on the same cores (Linux).

    python benchmarks/distributed.py                                   # 1, 10 and 100 million rows; 10 GB of disk
    python benchmarks/distributed.py --rows 1000000 --ray-rows 1000000

Makes Parquet files of orders (12 mixed columns, `stream.py`). Every measurement is a process of its own. The local ones
run under RLIMIT_AS. `score` writes a directory of parts; the engine is started and its workers have judged a few rows
before the clock starts. Peaks are what the kernel says of each process; of Ray, of the driver and of the worker that
needs most. CPU seconds are those of the driver and its workers: on a machine that others use too, they say more than
the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record
from benchmarks.stream import GROUP_ROWS, orders

FILE_ROWS = 5_000_000
N_COLUMNS = 12
PROGRAM = """
import json, os, sys, time
from pathlib import Path
from rfod._engine.engines import open_engine
from rfod import distributed, load

what, engine, files, model, output, few = sys.argv[1:]


def peak(process):
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM"))


def cpu(process):
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def workers():
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cmdline").read_bytes().startswith(b"ray::"):
                yield entry.name
        except OSError:
            pass


with open_engine(engine, -1) as executor:
    if what == "score":
        distributed.score(model, few, output + "-few", engine=executor, key="order_id")
        start, before = time.perf_counter(), sum(map(cpu, ["self", *workers()]))
        distributed.score(model, files, output, engine=executor, key="order_id")
    else:
        start, before = time.perf_counter(), sum(map(cpu, ["self", *workers()]))
        distributed.fit(files, engine=executor, sample_rows=200_000, n_estimators=30, key="order_id").save(output)
    seconds = time.perf_counter() - start
    spent = sum(map(cpu, ["self", *workers()])) - before
    found = [peak(process) for process in workers()]
result = {"seconds": seconds, "cpu_seconds": round(spent, 1), "peak_rss_mb": peak("self")}
print(json.dumps(result | {"peak_worker_rss_mb": max(found, default=None)}))
"""


def write_files(folder: Path, n_rows: int) -> None:
    """Orders in files of at most `FILE_ROWS` rows; those of a smaller table are the first of a larger one."""
    folder.mkdir(parents=True)
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        with pq.ParquetWriter(folder / f"{number:04d}.parquet", orders(2, 0).schema, compression="zstd") as writer:
            for first in range(start, min(start + FILE_ROWS, n_rows), GROUP_ROWS):
                writer.write_table(orders(min(GROUP_ROWS, n_rows - first), first // GROUP_ROWS + 1))


def measure(what: str, engine: str, table: Path, folder: Path, n_rows: int, limit: int | None) -> dict[str, object]:
    """One fit or one scoring in a process of its own."""
    output = folder / ("model.rfod" if what == "fit" else "scores")
    arguments = [what, engine, table, folder / "model.rfod", output, folder / "few"]

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        preexec_fn=limited,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{what} on {engine}: exit code {done.returncode}:\n{done.stderr[-2000:]}")
    result = json.loads(done.stdout.splitlines()[-1])
    rate = n_rows / result["seconds"]
    for name in ("scores", "scores-few"):
        shutil.rmtree(folder / name, ignore_errors=True)
    return {
        "what": what,
        "engine": engine,
        "rows": n_rows,
        "limit_mb": None if limit is None else limit >> 20,
        **result,
        "seconds": round(result["seconds"], 1),
        "rows_per_second": round(rate),
        "cells_per_second": round(rate * N_COLUMNS),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 10_000_000, 100_000_000])
    parser.add_argument("--ray-rows", type=int, nargs="*", default=[10_000_000])
    parser.add_argument("--limit-mb", type=int, default=4096)
    parser.add_argument("--folder", type=Path, help="where the files go; a temporary folder by default")
    parser.add_argument("--output", type=Path, default=record.RESULTS / "distributed.json")
    given = parser.parse_args()
    about = {"machine": record.machine(), **record.commit()}
    results: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(dir=given.folder) as temporary:
        folder = Path(temporary)
        write_files(folder / "few", 1_000)
        for n_rows in sorted({*given.rows, *given.ray_rows}):
            table = folder / f"{n_rows}"
            write_files(table, n_rows)
            n_bytes = sum(path.stat().st_size for path in table.iterdir())
            runs = [(what, "local", given.limit_mb << 20) for what in ("fit", "score") if n_rows in given.rows]
            runs += [(what, "ray", None) for what in ("fit", "score") if n_rows in given.ray_rows]
            for what, engine, limit in runs:
                result = measure(what, engine, table, folder, n_rows, limit) | {"input_mb": n_bytes >> 20}
                print(json.dumps(result), flush=True)
                results.append(result)
                record.write_json(given.output, {**about, "results": results})
            shutil.rmtree(table)


if __name__ == "__main__":
    main()
