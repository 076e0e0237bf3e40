"""Fit and detect: the paper's letter on scikit-learn beside rfod, in one run.

Four parts. "equal": the same hyper-parameters for both (trees, columns per node, leaf size, depth, pruning, all rows
per tree, the paper's row score, two workers), those of rfod's defaults. "full": the same for both again,
scikit-learn's own: all columns per node, leaves of one row. "defaults": each with its own. rfod's fit also judges
training rows out of bag, for p-values, surprise and intervals, which the literal version does not do.

"alone" compares with forests alone, one per column and without a score of any kind: scikit-learn-intelex (oneDAL) and
scikit-learn's own `n_jobs` (forests_alone.py). rfod does all it does by default, at the same hyper-parameters, except
keeping evidence:

    python -m benchmarks.speed --parts alone --trees 20 --repeats 5 --datasets pageblocks spambase bank \\
        --output benchmarks/results/speed_alone.json

Both see the same rows; the order alternates; compilation and the start of worker processes happen in a warm-up that is
reported by itself. The literal version shares its work in three ways: "forests" is scikit-learn's own (`n_jobs` of each
forest), "threads" and "processes" take columns, which is faster. Fits with equal settings are measured with all three,
the rest with processes. Detecting, "forests" shares the trees of a column among threads, as it does when fitting; the
other two take columns in threads. Every round of fits is followed by several detects of all in turn. Medians are
compared, and the shortest times, which say more on a shared machine; "cpu_seconds" are those of the process, without
those of worker processes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rfod
from benchmarks import datasets, record
from benchmarks.forests_alone import LIBRARIES as ALONE
from benchmarks.forests_alone import ForestsAlone
from benchmarks.literal import LiteralRFOD

FIT_ON = ("ionosphere", "pageblocks", "spambase", "bank")
DETECT_ON = ("spambase", "bank", "fraud")
PARTS = ("equal", "full", "defaults", "alone")
ARRANGEMENTS = ("forests", "threads", "processes")
METHODS = (*ARRANGEMENTS, *ALONE, "rfod")
GOALS = {"fit": 10.0, "detect": 5.0}  # how many times faster rfod is to be with equal hyper-parameters
FRAUD_TEST_ROWS = 100_000
DETECTS = 3  # of all in turn, after every round of fits


@dataclass(frozen=True)
class Case:
    name: str
    split: datasets.Split
    phases: tuple[str, ...]

    @property
    def shape(self) -> str:
        return f"{len(self.split.train)}/{len(self.split.test)} x {self.split.train.shape[1]}"


def main() -> None:
    arguments = _arguments()
    cases = [_case(name, arguments.fraud_train) for name in datasets.names(arguments.datasets)]
    shared = {
        "n_estimators": arguments.trees,
        "max_features": 1 / 3,
        "min_samples_leaf": 5,
        "max_depth": None,
        "alpha": 0.02,
        "beta": 0.5,
    }
    full = shared | {"max_features": 1.0, "min_samples_leaf": 1}
    literal_only = {"n_jobs": arguments.jobs}
    ours_only = {"max_samples": 1.0, "aggregation": "uncertainty", "n_jobs": arguments.jobs}
    settings = {
        "equal": (shared | literal_only, shared | ours_only),
        "full": (full | literal_only, full | ours_only),
        "defaults": (literal_only, {"n_jobs": arguments.jobs}),
        "alone": (
            {key: shared[key] for key in ("n_estimators", "max_features", "min_samples_leaf")} | literal_only,
            shared | {"max_samples": 1.0, "keep_evidence": False, "n_jobs": arguments.jobs},
        ),
    }
    if "alone" not in arguments.parts:
        del settings["alone"]
    warm_up = _warm_up(arguments.jobs, arguments.parts)
    print("warm-up, excluded below: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in warm_up.items()))
    measurements: list[dict[str, Any]] = []
    for part in arguments.parts:
        print(f"\n{part}: {_describe(settings[part])}")
        heads = "".join(f"{name + ' s':>16}" for name in METHODS)
        print(
            f"{'dataset':<12}{'train/test x columns':<22}{'phase':<8}{heads}  times faster than each [shortest]"
            f"{'AUC literal':>16}{'AUC rfod':>10}"
        )
        for case in cases:
            arrangements: Sequence[str] = ("processes",)
            if part == "alone":
                arrangements = tuple(ALONE)
            elif part == "equal":  # who is compared at detection is fitted before, in its own way or with processes
                arrangements = ARRANGEMENTS if "fit" in case.phases else ("forests", "processes")
            for line in _measure(case, *settings[part], arrangements=arrangements, repeats=arguments.repeats):
                measurements.append({"part": part} | line)
                print(_line(line, {} if part in ("defaults", "alone") else GOALS), flush=True)
    record.write_json(
        arguments.output,
        {
            "machine": record.machine(),
            **record.commit(),
            "settings": {part: {"literal": pair[0], "rfod": pair[1]} for part, pair in settings.items()},
            "warm_up_seconds": warm_up,
            "measurements": measurements,
        },
    )
    print(f"\nwritten: {arguments.output}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=[*FIT_ON, "fraud"])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS[:3]))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--trees", type=int, default=50, help="trees per column in the equal part")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--fraud-train", type=int, default=20_000, help="training rows for fraud, the same for both")
    parser.add_argument("--output", type=Path, default=record.RESULTS / "speed.json")
    return parser.parse_args()


def _case(name: str, fraud_train: int) -> Case:
    split = datasets.split(datasets.load(name), seed=0)
    phases = tuple(phase for phase, wanted in (("fit", FIT_ON), ("detect", DETECT_ON)) if name in wanted)
    if name == "fraud":
        generator = np.random.default_rng(0)
        train = np.sort(generator.choice(len(split.train), min(fraud_train, len(split.train)), replace=False))
        test = np.sort(generator.choice(len(split.test), FRAUD_TEST_ROWS, replace=False))
        split = datasets.Split(split.train.iloc[train], split.test.iloc[test], split.labels[test])
    return Case(name, split, phases or ("fit", "detect"))


def _makers(literal: dict[str, Any], ours: dict[str, Any], arrangements: Sequence[str]) -> dict[str, Callable[[], Any]]:
    """One maker of detectors per arrangement of the literal version or library of forests, and rfod."""
    makers: dict[str, Callable[[], Any]] = {
        name: partial(ForestsAlone, name, **literal)
        if name in ALONE
        else partial(LiteralRFOD, random_state=0, backend=name, **literal)
        for name in arrangements
    }
    return makers | {"rfod": partial(rfod.RFOD, random_state=0, **ours)}


def _warm_up(n_jobs: int, parts: Sequence[str]) -> dict[str, float]:
    """Seconds of a first fit and detect on a tiny mixed table: kernels compiled or loaded, worker processes started."""
    generator = np.random.default_rng(0)
    table = pd.DataFrame({f"number_{column}": generator.normal(size=200) for column in range(3)})
    table["kind"] = pd.Categorical(generator.choice(["a", "b", "c"], 200))
    table["flag"] = pd.Categorical(generator.choice(["yes", "no"], 200))
    few = {"n_estimators": 5, "n_jobs": n_jobs}
    makers = _makers(few, few, ARRANGEMENTS) if set(parts) != {"alone"} else {}
    if "alone" in parts:
        makers |= _makers(few | {"max_features": 1 / 3, "min_samples_leaf": 5}, few, tuple(ALONE))
    return {
        name: _seconds(partial(lambda make: make().fit(table).detect(table), make))[0] for name, make in makers.items()
    }


def _measure(
    case: Case,
    literal_settings: dict[str, Any],
    rfod_settings: dict[str, Any],
    arrangements: Sequence[str],
    repeats: int,
) -> list[dict[str, Any]]:
    """One line per phase, with all repeats of all."""
    makers = _makers(literal_settings, rfod_settings, arrangements)
    taken: dict[tuple[str, str], list[tuple[float, float]]] = {}
    area: dict[str, float] = {}
    for repeat in range(repeats):
        detectors: dict[str, Any] = {}
        for method in sorted(makers, reverse=repeat % 2 == 1):
            *fit, detector = _seconds(partial(makers[method]().fit, case.split.train))
            taken.setdefault(("fit", method), []).append((fit[0], fit[1]))
            detectors["threads" if method == "processes" else method] = detector
        for turn in range(DETECTS if "detect" in case.phases else 1):
            for method in sorted(detectors, reverse=(repeat + turn) % 2 == 1):
                *detect, found = _seconds(partial(detectors[method].detect, case.split.test))
                taken.setdefault(("detect", method), []).append((detect[0], detect[1]))
                if method not in ALONE:
                    area["rfod" if method == "rfod" else "literal"] = float(
                        roc_auc_score(case.split.labels, found.row_scores)
                    )
    lines = []
    for phase in case.phases:
        pairs = {method: taken[phase, method] for method in METHODS if (phase, method) in taken}
        seconds, cpu_seconds = ({name: [pair[i] for pair in own] for name, own in pairs.items()} for i in (0, 1))
        lines.append(
            {
                "dataset": case.name,
                "shape": case.shape,
                "phase": phase,
                "seconds": seconds,
                "cpu_seconds": cpu_seconds,
                "times_faster": _times_faster(seconds, statistics.median),
                "times_faster_shortest": _times_faster(seconds, min),
                "times_faster_cpu": _times_faster(cpu_seconds, statistics.median),
                "auc_roc": area,
            }
        )
    return lines


def _times_faster(seconds: dict[str, list[float]], of: Callable[[list[float]], float]) -> dict[str, float]:
    return {name: of(taken) / of(seconds["rfod"]) for name, taken in seconds.items() if name != "rfod"}


def _seconds(action: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds by the clock, seconds of processor time of this process, and what came out."""
    start, start_cpu = time.perf_counter(), time.process_time()
    result = action()
    return time.perf_counter() - start, time.process_time() - start_cpu, result


def _line(line: dict[str, Any], goals: dict[str, float]) -> str:
    goal = goals.get(line["phase"])
    taken = line["seconds"]
    seconds = "".join(f"{statistics.median(taken[name]):>16.3f}" if name in taken else " " * 16 for name in METHODS)
    faster = ", ".join(
        f"{times:.1f}{'' if goal is None else ' (ok)' if times >= goal else f' (goal {goal:g})'}"
        f" [{line['times_faster_shortest'][name]:.1f}]"
        for name, times in line["times_faster"].items()
    )
    return (
        f"{line['dataset']:<12}{line['shape']:<22}{line['phase']:<8}{seconds}  {faster}"
        f"{line['auc_roc'].get('literal', float('nan')):>10.4f}{line['auc_roc']['rfod']:>10.4f}"
    )


def _describe(pair: tuple[dict[str, Any], dict[str, Any]]) -> str:
    texts = [", ".join(f"{name}={value}" for name, value in settings.items()) for settings in pair]
    return f"literal({texts[0]}); rfod({texts[1]})"


if __name__ == "__main__":
    main()
