"""One unit of an experiment: a dataset, a method and a seed, run in a process of its own within limits."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import sys
import time
import traceback
import warnings
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import record
from benchmarks.datasets import REPOSITORY, Split
from benchmarks.paper import methods, metrics, protocol, variants

SCORES = Path(__file__).resolve().parent / "scores"
SECONDS_BETWEEN_LOOKS = 0.25

# Units fork from a server that has loaded the slow libraries, if they are there: five seconds less for each.
PROCESSES = multiprocessing.get_context("forkserver")
SLOW_TO_LOAD = ["pyod.models.dif", "pyod.models.deep_svdd", "deepod.models.tabular"] if find_spec("torch") else []
PROCESSES.set_forkserver_preload(["__main__", *SLOW_TO_LOAD])


@dataclass(frozen=True)
class Unit:
    """`label` names the variant in a study of parameters; it is the method's own name otherwise."""

    study: str
    dataset: str
    method: str
    seed: int
    train_rows: int | None = None
    label: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What makes two results the same result."""
        words = [self.study, self.dataset, self.method, self.label or self.method, self.seed, self.train_rows]
        return json.dumps([*words, self.parameters], sort_keys=True)


def run(unit: Unit, limits: protocol.Limits) -> list[dict[str, Any]]:
    """The results of a unit as flat records, mostly one; a failure or an exceeded limit is a result too."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(limits.threads)  # read by the server of processes, which starts with the first unit
    started = time.perf_counter()
    receiver, sender = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=_work, args=(unit, limits.threads, sender))
    process.start()
    sender.close()
    stopped = _watch(process, limits, started)
    found: list[dict[str, Any]]
    if stopped:
        found = [{"status": stopped, "limit_seconds": limits.seconds, "limit_memory_mb": limits.memory_mb}]
    else:
        try:
            found = receiver.recv()
        except EOFError:
            found = [{"status": "failed", "error": f"exit code {process.exitcode}"}]
    receiver.close()
    head = asdict(unit) | {"label": unit.label or unit.method}
    tail = {
        "unit_seconds": round(time.perf_counter() - started, 2),
        "threads": limits.threads,
        "note": methods.METHODS[unit.method].note,
        "versions": record.versions(),
        **record.commit(),
    }
    return [head | result | tail for result in found]


def scores_path(unit: Unit) -> Path:
    """Where the row scores of a unit lie, so that a measure can be added later without running anything again."""
    parts = [unit.study, unit.dataset, unit.label or unit.method, str(unit.seed), str(unit.train_rows or "all")]
    return SCORES / ("-".join(part.replace("/", "_").replace(" ", "_") for part in parts) + ".npy")


def _watch(process: ForkServerProcess, limits: protocol.Limits, started: float) -> str:
    """Wait for the end; kill and say why when a limit is passed. Looks at resident memory, which is what runs out."""
    while process.is_alive():
        process.join(SECONDS_BETWEEN_LOOKS)
        is_late = time.perf_counter() - started > limits.wall_seconds
        reason = (
            "timeout"
            if is_late or _cpu_seconds(process.pid) > limits.seconds
            else "memory"
            if _memory_mb(process.pid, "VmRSS") > limits.memory_mb
            else ""
        )
        if reason and process.is_alive():
            process.kill()
            process.join()
            return reason
    return ""


def _cpu_seconds(process: int | None) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_mb(process: int | str | None, field_name: str) -> float:
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(field_name)), 0.0)


def _work(unit: Unit, threads: int, sender: Connection) -> None:
    """The whole life of a unit's process."""
    sys.path.insert(0, str(REPOSITORY / "src"))
    warnings.simplefilter("ignore")  # those of the libraries, hundreds of them
    try:
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
            sender.send(_measure(unit, threads))
    except Exception as error:
        traceback.print_exc()
        sender.send([{"status": "failed", "error": f"{type(error).__name__}: {error}"[:500]}])


def _measure(unit: Unit, threads: int) -> list[dict[str, Any]]:
    split = protocol.split(unit.dataset, unit.seed, unit.train_rows)
    detector = methods.build(unit.method, unit.seed, threads, unit.parameters)
    if methods.METHODS[unit.method].family == "rfod":
        _warm_up(unit, threads)
    before = _memory_mb("self", "VmRSS")
    start, start_cpu = time.perf_counter(), time.process_time()
    detector.fit(split.train)
    fitted, fitted_cpu = time.perf_counter(), time.process_time()
    scores = detector.score(split.test)
    done, done_cpu = time.perf_counter(), time.process_time()
    path = scores_path(unit)
    path.parent.mkdir(exist_ok=True)
    np.save(path, scores.astype(np.float32))
    facts = {
        "status": "ok",
        "fit_seconds": fitted - start,
        "score_seconds": done - fitted,
        "fit_cpu_seconds": fitted_cpu - start_cpu,
        "score_cpu_seconds": done_cpu - fitted_cpu,
        "seconds_per_feature": (fitted_cpu - start_cpu) / split.train.shape[1],
        "seconds_per_sample": (done_cpu - fitted_cpu) / len(split.test),
        "before_mb": before,
        "peak_mb": _memory_mb("self", "VmHWM"),
        "n_train": len(split.train),
        "n_test": len(split.test),
        "n_columns": split.train.shape[1],
        "n_anomalies": int(split.labels.sum()),
        **getattr(detector, "facts", {}),
    }
    results = [_measured(split, scores, unit.seed) | facts]
    if unit.study == "variants":
        only_rows = bool(unit.parameters)
        for parameters, row_scores in variants.rescored(detector.detector, split.train, split.test, only_rows):
            label = ", ".join(f"{name}={value}" for name, value in (unit.parameters | parameters).items())
            own = {"label": label, "parameters": unit.parameters | parameters}
            results.append(own | _measured(split, row_scores, unit.seed) | facts)
    return results


def _measured(split: Split, scores: NDArray[np.float64], seed: int) -> dict[str, float]:
    if not np.isfinite(scores).all():
        raise ValueError(f"{int((~np.isfinite(scores)).sum())} of {len(scores)} scores are not finite")
    return metrics.measure(split.labels, scores, seed)


def _warm_up(unit: Unit, threads: int) -> None:
    """Load the compiled kernels before the clock runs."""
    small = protocol.split(unit.dataset, unit.seed, 100)
    tiny = methods.build(unit.method, unit.seed, threads, unit.parameters | {"n_estimators": 2})
    tiny.fit(small.train)
    tiny.score(small.test.iloc[:100])
