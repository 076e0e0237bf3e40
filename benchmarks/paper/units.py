"""One unit of an experiment: a dataset, a method and a seed, run in a process of its own within limits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import record
from benchmarks.datasets import REPOSITORY
from benchmarks.paper import methods, metrics, protocol

SCORES = Path(__file__).resolve().parent / "scores"
SECONDS_BETWEEN_LOOKS = 0.25


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


def run(unit: Unit, limits: protocol.Limits) -> dict[str, Any]:
    """The result of a unit as one flat record; a failure or an exceeded limit is a result too."""
    started = time.perf_counter()
    environment = os.environ | {
        name: str(limits.threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    }
    paths = [str(REPOSITORY), str(REPOSITORY / "src"), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    order = json.dumps({"unit": asdict(unit), "threads": limits.threads})
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.paper.units", order],
        cwd=REPOSITORY,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        stopped = _watch(process, limits, started)
        output, errors = process.communicate()
    result: dict[str, Any] = asdict(unit) | {"label": unit.label or unit.method}
    if stopped:
        result |= {"status": stopped, "limit_seconds": limits.seconds, "limit_memory_mb": limits.memory_mb}
    elif process.returncode != 0:
        last = errors.strip().splitlines()[-1] if errors.strip() else f"exit code {process.returncode}"
        result |= {"status": "failed", "error": last[:500]}
    else:
        result |= {"status": "ok"} | json.loads(output.splitlines()[-1])
    return result | {
        "unit_seconds": round(time.perf_counter() - started, 2),
        "threads": limits.threads,
        "note": methods.METHODS[unit.method].note,
        "versions": record.versions(),
        **record.commit(),
    }


def scores_path(unit: Unit) -> Path:
    """Where the row scores of a unit lie, so that a measure can be added later without running anything again."""
    parts = [unit.study, unit.dataset, unit.label or unit.method, str(unit.seed), str(unit.train_rows or "all")]
    return SCORES / ("-".join(part.replace("/", "_").replace(" ", "_") for part in parts) + ".npy")


def _watch(process: subprocess.Popen[str], limits: protocol.Limits, started: float) -> str:
    """Wait for the end; kill and say why when a limit is passed. Looks at resident memory, which is what runs out."""
    while True:
        try:
            process.wait(SECONDS_BETWEEN_LOOKS)
        except subprocess.TimeoutExpired:
            pass
        else:
            return ""
        reason = (
            "timeout"
            if _cpu_seconds(process.pid) > limits.seconds or time.perf_counter() - started > limits.wall_seconds
            else "memory"
            if _memory_mb(process.pid, "VmRSS") > limits.memory_mb
            else ""
        )
        if reason:
            process.kill()
            return reason


def _cpu_seconds(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_mb(process: int | str, field_name: str) -> float:
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(field_name)), 0.0)


def _measure(unit: Unit, threads: int) -> dict[str, Any]:
    """Inside the unit's own process."""
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
    if not np.isfinite(scores).all():
        raise ValueError(f"{int((~np.isfinite(scores)).sum())} of {len(scores)} scores are not finite")
    path = scores_path(unit)
    path.parent.mkdir(exist_ok=True)
    np.save(path, scores.astype(np.float32))
    return metrics.measure(split.labels, scores, unit.seed) | {
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


def _warm_up(unit: Unit, threads: int) -> None:
    """Load the compiled kernels before the clock runs."""
    small = protocol.split(unit.dataset, unit.seed, 100)
    tiny = methods.build(unit.method, unit.seed, threads, unit.parameters | {"n_estimators": 2})
    tiny.fit(small.train)
    tiny.score(small.test.iloc[:100])


def main() -> None:
    order = json.loads(sys.argv[1])
    print(json.dumps(_measure(Unit(**order["unit"]), order["threads"])))


if __name__ == "__main__":
    main()
