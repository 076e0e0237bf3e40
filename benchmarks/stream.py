"""Score more rows than fit into memory, under a memory limit that the system enforces (Linux).

    python benchmarks/stream.py                      # 2 and 20 million rows
    python benchmarks/stream.py --rows 200000 400000 --limit-mb 3000

Makes Parquet files of orders (12 mixed columns), fits a model to 200,000 rows, then runs `rfod score` once per size in
a process of its own. The limit is RLIMIT_AS: it counts address space, of which libraries reserve more than they use, so
it is stricter than a limit on resident memory of the same size. Peaks of both are what the kernel says of the process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

GROUP_ROWS = 250_000
PROGRAM = """
import sys
from rfod._cli.app import main
try:
    main()
finally:
    print(open("/proc/self/status").read(), file=sys.stderr)
"""


def orders(n: int, seed: int) -> pa.Table:
    """Rows whose columns depend on each other, one in a thousand with a wrong price."""
    rng = np.random.default_rng(seed)
    weight, distance = rng.gamma(2.0, 5.0, n).round(2), rng.uniform(20, 2000, n).round()
    service = rng.integers(0, 3, n)
    region, customer = rng.integers(0, 12, n), rng.integers(0, 40, n)
    price = (5 + weight * distance * np.array([0.002, 0.004, 0.008])[service]).round(2)
    wrong = rng.random(n) < 0.001
    price[wrong] = rng.permutation(price)[wrong]
    return pa.table(
        {
            "order_id": pa.array(np.arange(n) + seed * 10**9),
            "weight": weight,
            "distance": distance,
            "service": pa.DictionaryArray.from_arrays(service.astype(np.int8), ["economy", "standard", "express"]),
            "price": price,
            "tax": (price * np.where(region < 6, 0.19, 0.21)).round(2),
            "days": np.ceil(distance / np.array([200, 300, 900])[service]),
            "region": pa.array(region).cast(pa.string()),
            "customer": pa.array(customer).cast(pa.string()),
            "fragile": (customer % 5 == 0) ^ (rng.random(n) < 0.05),
            "insured": price > 100,
            "day": pa.array((19000 + rng.integers(0, 700, n)).astype(np.int32)).cast(pa.date32()),
        }
    )


def write_orders(path: Path, n: int) -> None:
    """A Parquet file, made group by group."""
    first = orders(2, 0)
    with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
        for number, start in enumerate(range(0, n, GROUP_ROWS)):
            writer.write_table(orders(min(GROUP_ROWS, n - start), number + 1))


def score(model: Path, table: Path, output: Path, limit: int, options: list[str]) -> dict[str, object]:
    """Score one file in a limited process."""
    command = [sys.executable, "-c", PROGRAM, "score", str(model), str(table), "-o", str(output), *options]
    start = time.perf_counter()
    ran = subprocess.run(
        command,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - start
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)}\nexit code {ran.returncode}:\n{ran.stderr[-2000:]}")
    peaks = dict(line.split()[:2] for line in ran.stderr.splitlines() if line.startswith(("VmPeak:", "VmHWM:")))
    n_rows = pq.ParquetFile(output).metadata.num_rows
    return {
        "rows": n_rows,
        "limit_mb": limit >> 20,
        "peak_address_space_mb": int(peaks["VmPeak:"]) >> 10,
        "peak_rss_mb": int(peaks["VmHWM:"]) >> 10,
        "seconds": round(seconds, 1),
        "rows_per_second": round(n_rows / seconds),
        "input_mb": table.stat().st_size >> 20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000_000, 20_000_000])
    parser.add_argument("--limit-mb", type=int, default=4096)
    parser.add_argument("--train-rows", type=int, default=200_000)
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--folder", type=Path, help="where the files go; a temporary folder by default")
    parser.add_argument("--output", type=Path, default=record.RESULTS / "stream.json")
    parser.add_argument("options", nargs="*", help="further options of rfod score, after --")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as temporary:
        folder = Path(temporary)
        write_orders(folder / "train.parquet", given.train_rows)
        fit = [
            "fit",
            folder / "train.parquet",
            "-o",
            folder / "model.rfod",
            "--trees",
            given.trees,
            "--key",
            "order_id",
        ]
        subprocess.run([sys.executable, "-m", "rfod", *map(str, fit)], check=True)
        results = []
        for n_rows in given.rows:
            table = folder / "new.parquet"
            write_orders(table, n_rows)
            result = score(folder / "model.rfod", table, folder / "out.parquet", given.limit_mb << 20, given.options)
            print(json.dumps(result), flush=True)
            results.append(result)
    first, last = results[0], results[-1]
    growth = last["peak_rss_mb"] / first["peak_rss_mb"]  # type: ignore[operator]
    print(f"peak memory: {growth:.2f} times from {first['rows']:,} to {last['rows']:,} rows")
    record.write_json(given.output, {"machine": record.machine(), **record.commit(), "results": results})


if __name__ == "__main__":
    main()
