"""Run an experiment of the paper: what is missing from its results file, one JSON line per unit.

    python -m benchmarks.paper.run quick                                    minutes; fails on a drop below floor.json
    python -m benchmarks.paper.run main --datasets small --methods if rfod  a piece of the grid
    python -m benchmarks.paper.run variants --labels defaults               the paper's row score, all planned seeds
    python -m benchmarks.paper.run main --workers 2 --minutes 480           as much as fits into eight hours

Stop it at any time and start it again: finished units are kept. Units that failed or passed a limit count as finished;
--retry runs them again.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import datasets
from benchmarks.paper import floor, methods, protocol, results, units
from benchmarks.paper.studies import STUDIES


def main() -> None:
    arguments = _arguments()
    path = arguments.results / f"{arguments.study}.jsonl"
    wanted = list(_chosen(STUDIES[arguments.study](), arguments))
    # A check before a release is worth nothing on results of older code.
    is_fresh = arguments.fresh or arguments.study == "quick"
    finished = set() if is_fresh else _finished(results.read(path), arguments.retry)
    missing = [unit for unit in wanted if unit.key not in finished]
    print(f"{arguments.study}: {len(wanted)} units, {len(missing)} to run", flush=True)
    _run_all(missing, path, arguments)
    if arguments.study == "quick":
        keys = {unit.key for unit in wanted}
        sys.exit(floor.report([line for line in results.read(path) if results.key(line) in keys], arguments.set_floor))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=list(STUDIES))
    parser.add_argument("--datasets", nargs="+", default=["all"])
    parser.add_argument("--methods", nargs="+", choices=list(methods.METHODS), default=list(methods.METHODS))
    parser.add_argument("--labels", nargs="+", help="only units with these labels; 'defaults' has all row scores")
    parser.add_argument("--seeds", type=int, help="only this many seeds, from 0")
    parser.add_argument("--retry", action="store_true", help="run failed and stopped units again")
    parser.add_argument("--fresh", action="store_true", help="run finished units again too")
    parser.add_argument("--workers", type=int, default=1, help="units at a time")
    parser.add_argument("--threads", type=int, default=1, help="threads of each unit; stated in the results")
    parser.add_argument("--seconds", type=float, default=protocol.SECONDS_PER_UNIT, help="processor time per unit")
    parser.add_argument("--memory-mb", type=float, default=protocol.MEMORY_MB_PER_UNIT, help="limit per unit")
    parser.add_argument("--minutes", type=float, help="start no new unit after this many minutes")
    parser.add_argument("--set-floor", action="store_true", help="quick only: take this run as the new floor")
    parser.add_argument("--results", type=Path, default=results.FOLDER)
    return parser.parse_args()


def _chosen(all_units: Iterable[units.Unit], arguments: argparse.Namespace) -> Iterable[units.Unit]:
    names = set(datasets.names(arguments.datasets))
    for unit in all_units:
        if unit.dataset not in names or unit.method not in arguments.methods:
            continue
        if arguments.labels is not None and (unit.label or unit.method) not in arguments.labels:
            continue
        if arguments.seeds is not None and unit.seed >= arguments.seeds:
            continue
        yield unit


def _finished(lines: list[dict[str, Any]], retry: bool) -> set[str]:
    return {results.key(line) for line in lines if line["status"] == "ok" or not retry}


def _run_all(missing: list[units.Unit], path: Path, arguments: argparse.Namespace) -> None:
    limits = protocol.Limits(seconds=arguments.seconds, memory_mb=arguments.memory_mb, threads=arguments.threads)
    started, lock = time.monotonic(), threading.Lock()
    path.parent.mkdir(parents=True, exist_ok=True)

    def run_one(unit: units.Unit) -> None:
        if arguments.minutes is not None and time.monotonic() - started > 60 * arguments.minutes:
            return
        found = units.run(unit, limits)
        with lock, path.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(result) + "\n" for result in found))
            print(_line(found[0]), flush=True)

    with ThreadPoolExecutor(arguments.workers) as pool:
        list(pool.map(run_one, missing))


def _line(result: dict[str, Any]) -> str:
    rows = "all rows" if result["train_rows"] is None else f"{result['train_rows']} rows"
    head = f"{result['dataset']:<18}{result['label']:<22}{rows:<12}seed {result['seed']}  {result['status']:<8}"
    if result["status"] != "ok":
        return f"{head}{result.get('error', '')}"
    return (
        f"{head}AUC-ROC {result['auc_roc']:.4f}  AUC-PR {result['auc_pr']:.4f}  "
        f"fit {result['fit_seconds']:.2f} s  score {result['score_seconds']:.2f} s  peak {result['peak_mb']:.0f} MB"
    )


if __name__ == "__main__":
    main()
