"""Time and memory of fit and detect as tables grow, model size, and what the first use costs.

    python -m benchmarks.scale                       all parts; some take minutes
    python -m benchmarks.scale --only rows start     these parts; the others keep their last result

Each measurement runs in a process of its own (benchmarks/probe.py). The growth exponent is the slope of log(time)
against log(size): 1 is linear, 0 is no growth. Memory is the highest resident memory of the process during the phase.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import datasets, record
from benchmarks.datasets import REPOSITORY

ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
COLUMNS = (10, 30, 100, 300)
WIDE_COLUMNS = (60, 120, 240, 480)  # of which a column is predicted from max_predictors
MOST_COLUMNS, SCANNED_ROWS = 1_000, 2_000
TREES = (25, 50, 100, 200)
SCAN_MB = 1_500.0  # that a scan of kdd may take
MEMORY_FACTOR, MEMORY_ALLOWANCE_MB = 3.0, 500.0  # peak at most this many frames plus this


def main() -> None:
    parts = {
        "rows": _rows,
        "rows_uncapped": _rows_uncapped,
        "columns": _columns,
        "wide_columns": _wide_columns,
        "thousand_columns": _thousand_columns,
        "trees": _trees,
        "kdd": _kdd,
        "scan_kdd": _scan_kdd,
        "million": _million,
        "model_file": _model_file,
        "start": _start,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(parts), default=list(parts))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--largest", type=int, default=max(ROWS), help="leave out tables with more rows than this")
    parser.add_argument("--output", type=Path, default=record.RESULTS / "scale.json")
    arguments = parser.parse_args()
    for name in arguments.only:
        print(f"\n{name}", flush=True)
        found = parts[name](arguments)
        content = json.loads(arguments.output.read_text(encoding="utf-8")) if arguments.output.is_file() else {}
        content[name] = {"machine": record.machine(), **record.commit(), **found}
        record.write_json(arguments.output, content)
    print(f"\nwritten: {arguments.output}")


def _rows(arguments: argparse.Namespace) -> dict[str, Any]:
    """Growth with n at the default cap on rows per tree."""
    sizes = [size for size in ROWS if size <= arguments.largest]
    return _growth("train_rows", [_table(size, 20, arguments, n_estimators=25) for size in sizes])


def _rows_uncapped(arguments: argparse.Namespace) -> dict[str, Any]:
    """Growth with n when every tree draws from all rows."""
    sizes = [size for size in ROWS if size <= min(arguments.largest, 300_000)]
    orders = [_table(size, 20, arguments, n_estimators=25, max_samples=1.0) for size in sizes]
    return _growth("train_rows", orders)


def _columns(arguments: argparse.Namespace) -> dict[str, Any]:
    return _growth("columns", [_table(10_000, size, arguments, n_estimators=25) for size in COLUMNS])


def _wide_columns(arguments: argparse.Namespace) -> dict[str, Any]:
    return _growth("columns", [_table(10_000, size, arguments, n_estimators=25) for size in WIDE_COLUMNS])


def _thousand_columns(arguments: argparse.Namespace) -> dict[str, Any]:
    """10,000 rows with the default parameters: fit, detect, report, model file, inspect; and a scan of fewer rows."""
    settings = {"n_jobs": arguments.jobs}
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "wide.rfod")
        order = {"task": "wide", "rows": 10_000, "columns": MOST_COLUMNS, "path": path}
        result = {"load": load} | _probe(order | {"settings": settings})
    print(_text(result), flush=True)
    order = {"task": "scan", "rows": SCANNED_ROWS, "columns": MOST_COLUMNS}
    scanned = {"load": os.getloadavg()[0]} | _probe(order | {"settings": settings})
    print(_text(scanned), flush=True)
    return {"measurements": [result, scanned]}


def _trees(arguments: argparse.Namespace) -> dict[str, Any]:
    orders = [_table(10_000, 20, arguments, n_estimators=size) for size in TREES]
    return _growth("n_estimators", orders)


def _kdd(arguments: argparse.Namespace) -> dict[str, Any]:
    """The training half of kdd with 30 trees."""
    settings = {"n_estimators": 30, "n_jobs": arguments.jobs}
    return _single({"task": "fit_detect", "dataset": "kdd", "settings": settings})


def _scan_kdd(arguments: argparse.Namespace) -> dict[str, Any]:
    """`rfod scan` of all rows of kdd from a CSV file, which are more than are held in memory; as users run it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kdd.csv"
        frame = datasets.load("kdd").frame
        frame.to_csv(path, index=False)
        command = [sys.executable, "-m", "rfod", "scan", str(path), "--quiet", "--jobs", str(arguments.jobs)]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    peak = usage.ru_maxrss / 1000  # of kilobytes, on Linux
    result = {"rows": len(frame), "columns": frame.shape[1], "seconds": seconds, "peak_mb": peak, "allowed_mb": SCAN_MB}
    print(_text(result))
    return {"measurements": [result]}


def _million(arguments: argparse.Namespace) -> dict[str, Any]:
    """A mixed table of 1,000,000 x 41 with 30 trees."""
    return _single(_table(1_000_000, 41, arguments, n_estimators=30))


def _model_file(arguments: argparse.Namespace) -> dict[str, Any]:
    """The default model of fraud's training half: its size on disk, and its load in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "fraud.rfod")
        settings = {"n_jobs": arguments.jobs}
        result = _probe({"task": "model_file", "dataset": "fraud", "settings": settings, "path": path})
        result |= _probe({"task": "load", "path": path})
    print(_text(result))
    return {"measurements": [result]}


def _start(_: argparse.Namespace) -> dict[str, Any]:
    """First use with an empty kernel cache, then in later processes with the cache filled."""
    with tempfile.TemporaryDirectory() as cache:
        results = [
            {"cache": state} | _probe({"task": "first_use"}, NUMBA_CACHE_DIR=cache)
            for state in ("empty", "filled", "filled")
        ]
    for result in results:
        print(_text(result))
    return {"measurements": results}


def _table(n_rows: int, n_columns: int, arguments: argparse.Namespace, **settings: Any) -> dict[str, Any]:
    settings["n_jobs"] = arguments.jobs
    return {"task": "fit_detect", "rows": n_rows, "columns": n_columns, "settings": settings}


def _single(order: dict[str, Any]) -> dict[str, Any]:
    result = _measure(order)
    verdict = "within" if result["fit_peak_mb"] <= result["allowed_mb"] else "ABOVE"
    print(f"peak of fit is {verdict} the allowance of {result['allowed_mb']:.0f} MB")
    return {"measurements": [result]}


def _growth(size: str, orders: list[dict[str, Any]]) -> dict[str, Any]:
    """Measure a row of sizes; the exponents over all of them and over the last two."""
    results = [_measure(order) for order in orders]
    exponents = {}
    for phase in ("fit_seconds", "detect_seconds", "fit_cpu_seconds", "detect_cpu_seconds"):
        sizes, seconds = np.log([result[size] for result in results]), np.log([result[phase] for result in results])
        if len(results) > 1:
            last = (seconds[-1] - seconds[-2]) / (sizes[-1] - sizes[-2])
            exponents[phase] = {"all": float(np.polyfit(sizes, seconds, 1)[0]), "last_two": float(last)}
            print(f"growth of {phase} with {size}: {exponents[phase]['all']:.2f}, last two {last:.2f}", flush=True)
    return {"measurements": results, "exponents": exponents}


def _measure(order: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = _probe(order) | order["settings"]
    result["allowed_mb"] = MEMORY_FACTOR * result["frame_mb"] + MEMORY_ALLOWANCE_MB
    print(_text(result), flush=True)
    return result


def _probe(order: dict[str, Any], **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.probe", json.dumps(order)],
        cwd=REPOSITORY,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{order} failed with exit code {done.returncode}:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _text(result: dict[str, Any]) -> str:
    words = (f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in result.items())
    return "  ".join(words)


if __name__ == "__main__":
    main()
