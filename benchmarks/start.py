"""How long a user waits before anything happens, each time in a fresh process.

    python -m benchmarks.start
    python -m benchmarks.start --repeats 9 --compilations 3

Importing the package and `rfod --help`; compiling all kernels into an empty cache, with a second process and without;
loading them from the cache; and in a process that is warm, detecting one row with a small model. Seconds on the clock,
start of Python included; for compiling also those of the processor, both processes together.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rfod
from benchmarks import record

COMPILE = "from rfod._forest.warm_up import compile_kernels; compile_kernels()"
COMPILE_ALONE = "from rfod._forest import warm_up; warm_up._start_other = lambda: None; warm_up.compile_kernels()"
COMMANDS = {
    "import numba": ["-c", "import numba"],
    "import rfod": ["-c", "import rfod"],
    "rfod --help": ["-m", "rfod", "--help"],
}


def run(arguments: Sequence[str], **environment: str) -> dict[str, float]:
    """Seconds of one Python process, on the clock and of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    command = [sys.executable, *arguments]
    subprocess.run(command, env=os.environ | environment, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "processor_seconds": processor}


def compile_and_load(program: str, repeats: int) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Runs with an empty cache, and runs with the cache that they leave."""
    first, later = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            first.append(run(["-c", program], NUMBA_CACHE_DIR=cache))
            later += [run(["-c", program], NUMBA_CACHE_DIR=cache) for _ in range(3)]
    return first, later


def detect_one_row(repeats: int) -> list[dict[str, float]]:
    """One row after the other, with a model of ten columns."""
    generator = np.random.default_rng(0)
    table = pd.DataFrame({f"number {column}": generator.normal(size=1000) for column in range(7)})
    for name, kinds in (("two", "ab"), ("five", "abcde"), ("nine", "abcdefghi")):
        table[name] = pd.Categorical(generator.choice(list(kinds), len(table)))
    detector = rfod.RFOD(random_state=0).fit(table)
    rows = [table[row : row + 1] for row in range(repeats)]
    detector.detect(rows[0])
    taken = []
    for row in rows:
        start = time.perf_counter()
        detector.detect(row)
        taken.append({"seconds": time.perf_counter() - start})
    return taken


def scan_shipments(repeats: int) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """`rfod scan` of the example table in a process of its own, and fitting and judging it in this one, in turn."""
    sys.path.insert(0, str(record.REPOSITORY / "examples"))
    from make_shipments import make_shipments

    table = make_shipments(n_clean=0)[0]
    program, library = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shipments.csv"
        table.to_csv(path, index=False)
        rfod.scan(table, key="shipment_id")
        for _ in range(repeats):
            program.append(run(["-m", "rfod", "scan", str(path), "--key", "shipment_id", "--quiet"]))
            start = time.perf_counter()
            rfod.scan(table, key="shipment_id")
            library.append({"seconds": time.perf_counter() - start})
    return program, library


def summarize(runs: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Shortest and median of each number."""
    found: dict[str, Any] = {"runs": len(runs)}
    for name in runs[0]:
        numbers = [each[name] for each in runs]
        found[name] = {"shortest": min(numbers), "median": statistics.median(numbers)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--compilations", type=int, default=3)
    parser.add_argument("--detections", type=int, default=200)
    parser.add_argument("--output", type=Path, default=record.RESULTS / "start.json")
    arguments = parser.parse_args()
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in COMMANDS}
    for _ in range(arguments.repeats):
        for name, command in COMMANDS.items():
            measured[name].append(run(command))
    alone, _ = compile_and_load(COMPILE_ALONE, arguments.compilations)
    measured["first compilation"], measured["later start"] = compile_and_load(COMPILE, arguments.compilations)
    measured["first compilation, one process"] = alone
    measured["rfod scan, 4,000 x 17"], measured["rfod.scan, the same"] = scan_shipments(arguments.repeats)
    measured["detect one row"] = detect_one_row(arguments.detections)
    results = {name: summarize(runs) for name, runs in measured.items()}
    print(f"{'':<32}{'runs':>6}{'shortest s':>12}{'median s':>12}{'processor s':>14}")
    for name, result in results.items():
        seconds, processor = result["seconds"], result.get("processor_seconds")
        print(
            f"{name:<32}{result['runs']:>6}{seconds['shortest']:>12.4f}{seconds['median']:>12.4f}"
            + (f"{processor['shortest']:>14.3f}" if processor else "")
        )
    record.write_json(arguments.output, {"machine": record.machine(), **record.commit(), "measurements": results})
    print(f"written: {arguments.output}")


if __name__ == "__main__":
    main()
