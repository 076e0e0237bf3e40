"""One measurement in a process of its own: `python -m benchmarks.probe '{"task": ...}'` prints one JSON object.

Time is wall clock around `fit` and `detect` after a warm-up on a tiny table; processor time, of all threads, says more
where other programs run. Memory is resident memory: after the imports, before the phase (the table is loaded), and the
highest during the phase.
"""

from __future__ import annotations

import ctypes
import gc
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks import datasets

N_FACTORS = 5
N_CATEGORIES = 8


def main() -> None:
    order = json.loads(sys.argv[1])
    tasks: dict[str, Callable[..., dict[str, Any]]] = {
        "fit_detect": _fit_detect,
        "wide": _wide,
        "scan": _scan,
        "model_file": _model_file,
        "load": _load,
        "first_use": _first_use,
    }
    print(json.dumps(tasks[order.pop("task")](**order)))


def synthetic(n_rows: int, n_columns: int, seed: int = 0) -> pd.DataFrame:
    """A mixed table: every fifth column a category, the others numbers, all driven by a few common factors."""
    generator = np.random.default_rng(seed)
    factors = generator.normal(size=(n_rows, N_FACTORS))
    columns: dict[str, Any] = {}
    for column in range(n_columns):
        values = factors @ generator.normal(size=N_FACTORS) + generator.normal(size=n_rows)
        if column % 5 == 4:
            edges = np.quantile(values[:10_000], np.linspace(0, 1, N_CATEGORIES + 1)[1:-1])
            names = [f"kind {number}" for number in range(N_CATEGORIES)]
            columns[f"category_{column}"] = pd.Categorical.from_codes(np.searchsorted(edges, values), names)
        else:
            columns[f"number_{column}"] = values
    return pd.DataFrame(columns)


def _fit_detect(
    settings: dict[str, Any], rows: int = 0, columns: int = 0, dataset: str = "", detect: bool = True
) -> dict[str, Any]:
    """Fit on a synthetic table, or on a dataset's training half, and detect on the same table, or on the test rows."""
    import rfod

    imported = _resident_mb()
    _warm_up()
    if dataset:
        split = datasets.split(datasets.load(dataset), seed=0)
        train, test = split.train, split.test
        del split
    else:
        train = synthetic(rows, columns)
        test = train
    _settle()
    result: dict[str, Any] = {
        "train_rows": len(train),
        "test_rows": len(test),
        "columns": train.shape[1],
        "frame_mb": float(train.memory_usage(deep=True).sum() / 1e6),
        "imported_mb": imported,
        "before_fit_mb": _resident_mb(),
    }
    with _phase("fit", result):
        detector = rfod.RFOD(random_state=0, **settings).fit(train)
    if detect:
        result["before_detect_mb"] = _resident_mb()
        with _phase("detect", result):
            detector.detect(test)
    return result


def _wide(settings: dict[str, Any], rows: int, columns: int, path: str) -> dict[str, Any]:
    """Fit, detect, a report and a model file of a synthetic table, and what `rfod inspect` reads from the file."""
    import rfod
    from rfod._cli.description import describe

    _warm_up()
    train = synthetic(rows, columns)
    _settle()
    result: dict[str, Any] = {"train_rows": rows, "columns": columns, "before_fit_mb": _resident_mb()}
    with _phase("fit", result):
        detector = rfod.RFOD(random_state=0, **settings).fit(train)
    result["trees_mb"] = detector.model_.n_bytes / 1e6
    with _phase("detect", result):
        found = detector.detect(train)
    with _phase("report", result):
        rfod.write_report(found, f"{path}.html")
    del found
    with _phase("save", result):
        detector.save(path)
    del detector
    _settle()
    with _phase("load", result):
        model = rfod.load(path).model_
    with _phase("inspect", result):
        described = json.dumps(describe(model, path))
    return result | {
        "file_mb": Path(path).stat().st_size / 1e6,
        "report_mb": Path(f"{path}.html").stat().st_size / 1e6,
        "inspect_mb": len(described) / 1e6,
    }


def _scan(settings: dict[str, Any], rows: int, columns: int) -> dict[str, Any]:
    """`rfod.scan` of a synthetic table, and the probabilities of all cells."""
    import rfod

    _warm_up()
    table = synthetic(rows, columns)
    _settle()
    result: dict[str, Any] = {"rows": rows, "columns": columns, "before_scan_mb": _resident_mb()}
    with _phase("scan", result):
        found = rfod.scan(table, **settings)
    with _phase("probabilities", result):
        found.cell_probability  # noqa: B018  # computed when first wanted
    return result


def _model_file(dataset: str, settings: dict[str, Any], path: str) -> dict[str, Any]:
    """Fit on a dataset's training half and save the model to `path`."""
    import rfod

    train = datasets.split(datasets.load(dataset), seed=0).train
    start = time.perf_counter()
    detector = rfod.RFOD(random_state=0, **settings).fit(train)
    fitted = time.perf_counter()
    detector.save(path)
    return {
        "train_rows": len(train),
        "columns": train.shape[1],
        "fit_seconds": fitted - start,
        "save_seconds": time.perf_counter() - fitted,
        "file_mb": Path(path).stat().st_size / 1e6,
    }


def _load(path: str) -> dict[str, Any]:
    import rfod

    start = time.perf_counter()
    rfod.load(path)
    return {"load_seconds": time.perf_counter() - start}


def _first_use() -> dict[str, Any]:
    """What a new process pays: the import of rfod once numpy and scikit-learn are in, then the first fit and detect."""
    import sklearn.ensemble  # noqa: F401

    start = time.perf_counter()
    import rfod  # noqa: F401

    imported = time.perf_counter()
    _warm_up()
    return {
        "import_seconds": imported - start,
        "first_fit_and_detect_seconds": time.perf_counter() - imported,
    }


def _warm_up() -> None:
    """Compile or load every kernel: numbers, two and more categories, missing values."""
    import rfod

    table = synthetic(300, 10)
    table["flag"] = pd.Categorical(np.where(table["number_0"] > 0, "yes", "no"))
    table.loc[::7, "number_1"] = np.nan
    rfod.RFOD(n_estimators=3, random_state=0).fit(table).detect(table)


@contextmanager
def _phase(name: str, result: dict[str, Any]) -> Iterator[None]:
    """Measure what the block does."""
    _reset_peak()
    start, start_cpu = time.perf_counter(), time.process_time()
    yield
    result[f"{name}_seconds"] = time.perf_counter() - start
    result[f"{name}_cpu_seconds"] = time.process_time() - start_cpu
    result[f"{name}_peak_mb"] = _peak_mb()


def _settle() -> None:
    """Give back what reading the table left behind, so that it does not count as memory of the next phase."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)


def _resident_mb() -> float:
    return _status_mb("VmRSS")


def _peak_mb() -> float:
    return _status_mb("VmHWM")


def _reset_peak() -> None:
    """Let the kernel's high-water mark start again from here, where it can."""
    marks = Path("/proc/self/clear_refs")
    if marks.exists():
        marks.write_text("5", encoding="ascii")


def _status_mb(field: str) -> float:
    status = Path("/proc/self/status")
    if not status.is_file():  # not Linux: only the highest since the start is known
        scale = 1e6 if sys.platform == "darwin" else 1e3
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale
    line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    main()
