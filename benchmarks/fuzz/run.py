"""Damaged files through the commands: no exception but the documented errors, none slow, none large.

    python -m benchmarks.fuzz.run --mutations 10000

Every mutation is a damaged file that `scan`, or `fit`, or `score` and `explain` with a model of the undamaged table,
have to read in this process. A failure is an exception that the program does not expect (RFOD_DEBUG=1 lets it through),
more than 60 s, or more than 2 GB of memory. Failures and counts go to benchmarks/results/fuzz.json; `--only SEED` runs
one mutation again and shows what happens.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty
from typing import Any

from benchmarks.fuzz.mutate import Rows, damage

MOST_SECONDS, MOST_MEGABYTES = 60.0, 2000.0
N_ROWS, N_COLUMNS = 120, 8
EVERY_TABLE = 4
FEW = ("--trees", "3", "--jobs", "1", "-q")
COMMANDS = ("scan", "fit", "score", "explain")


@dataclass(frozen=True)
class Result:
    """What one mutation came to."""

    seed: int
    story: str
    command: str
    code: int | None
    """Exit code; None for an exception that nobody foresaw."""
    seconds: float
    megabytes: float
    trouble: str = ""


def run_one(seed: int, tables: list[tuple[str, list[str], Rows]], folder: Path, models: dict[str, Path]) -> Result:
    """Damage a table and give it to one command."""
    rng = random.Random(f"{seed} command")
    name, header, rows = rng.choice([table for table in tables if table[0] in models])
    command = rng.choice(COMMANDS)
    damaged = damage(header, rows, seed, folder)
    place = damaged.arguments or (str(damaged.path),)
    output = folder / "out"
    if command == "scan":
        report = ("--report", f"{output}.html") if rng.random() < 0.2 else ()
        arguments = ("scan", *place, "-o", f"{output}.csv", *report, *FEW)
    elif command == "fit":
        arguments = ("fit", *place, "-o", f"{output}.rfod", *FEW)
    elif command == "score":
        arguments = ("score", str(models[name]), *place, "-o", f"{output}.parquet", "-j", "1", "-q")
    else:
        arguments = ("explain", str(models[name]), *place, "--top", "2", "-j", "1", "-q")
    start = time.perf_counter()
    code, trouble = run_program(arguments)
    seconds = time.perf_counter() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Result(seed, damaged.story, command, code, round(seconds, 3), round(megabytes, 1), trouble)


def run_program(arguments: tuple[str, ...]) -> tuple[int | None, str]:
    """Exit code and, for an exception that nobody foresaw, its traceback."""
    from rfod._cli.app import main

    os.environ["RFOD_DEBUG"] = "1"
    before = sys.argv
    sys.argv = ["rfod", *arguments]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            main()
    except SystemExit as end:
        return int(end.code or 0), ""
    except BaseException:
        return None, traceback.format_exc()
    finally:
        sys.argv = before
    return 0, ""


def fit_models(tables: list[tuple[str, list[str], Rows]], folder: Path) -> dict[str, Path]:
    """A model of each undamaged table that can be fitted as it is."""
    models = {}
    for number, (name, header, rows) in enumerate(tables):
        path, model = folder / f"base{number}.csv", folder / f"base{number}.rfod"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
        if run_program(("fit", str(path), "-o", str(model), *FEW))[0] == 0:
            models[name] = model
    return models


def shipments() -> tuple[str, list[str], Rows]:
    """The example table."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
    from make_shipments import make_shipments

    frame = make_shipments(n_rows=N_ROWS, n_clean=0)[0]
    text = io.StringIO(frame.to_csv(index=False))
    header, *rows = csv.reader(text)
    return "shipments", header, rows


def dirty_tables() -> list[tuple[str, list[str], Rows]]:
    """The first rows and columns of the dirty tables beside the project, where these are there."""
    from benchmarks.datasets import folder

    tables = []
    for path in sorted((folder() / "dirty").glob("*/dirty.csv"))[::EVERY_TABLE]:
        with path.open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        kept = [row[:N_COLUMNS] for row in rows[:N_ROWS] if len(row) == len(header)]
        tables.append((path.parent.name, header[:N_COLUMNS], kept))
    return tables


def _work(seeds: Any, answers: Any, tables: list[tuple[str, list[str], Rows]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        models = fit_models(tables, Path(folder))
        while (seed := seeds.get()) is not None:
            answers.put(("start", seed))
            answers.put(("end", asdict(run_one(seed, tables, Path(folder), models))))


class Worker:
    """A process that runs mutations, and is replaced when it hangs or dies."""

    def __init__(self, tables: list[tuple[str, list[str], Rows]]) -> None:
        context = multiprocessing.get_context("spawn")
        self.seeds, self.answers = context.Queue(), context.Queue()
        self.process = context.Process(target=_work, args=(self.seeds, self.answers, tables), daemon=True)
        self.process.start()

    def run(self, seed: int) -> dict[str, Any]:
        """The result of one mutation; a process that dies or takes too long is a failure."""
        self.seeds.put(seed)
        started = None
        while True:
            try:
                event, content = self.answers.get(timeout=1)
            except Empty:
                late = started is not None and time.monotonic() - started > MOST_SECONDS + 5
                if late or not self.process.is_alive():
                    self.process.kill()
                    trouble = "took too long" if late else f"died with {self.process.exitcode}"
                    return asdict(Result(seed, "", "", None, MOST_SECONDS if late else 0.0, 0.0, trouble))
                continue
            if event == "end":
                return dict(content)
            started = time.monotonic()


def is_failure(result: dict[str, Any]) -> bool:
    return result["code"] not in (0, 1, 2) or result["seconds"] > MOST_SECONDS or result["megabytes"] > MOST_MEGABYTES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--only", type=int, help="run one seed in this process and show what happens")
    parser.add_argument("--share", default="1/1", metavar="K/N", help="every N-th seed, from the K-th on")
    arguments = parser.parse_args()
    tables = [shipments(), *dirty_tables()]
    if arguments.only is not None:
        with tempfile.TemporaryDirectory() as folder:
            result = run_one(arguments.only, tables, Path(folder), fit_models(tables, Path(folder)))
            print(result.trouble or result)
        return
    share, of = map(int, arguments.share.split("/"))
    results: list[dict[str, Any]] = []
    worker = Worker(tables)
    for seed in range(arguments.first + share - 1, arguments.first + arguments.mutations, of):
        result = worker.run(seed)
        results.append(result)
        if is_failure(result):
            print(f"{seed}: {result['story']} | {result['command']}\n{result['trouble'][-1500:]}", flush=True)
            if not worker.process.is_alive() or result["megabytes"] > MOST_MEGABYTES:
                worker.process.kill()
                worker = Worker(tables)
        if len(results) % 250 == 0:
            print(f"{len(results):,} done, {sum(map(is_failure, results))} failures", flush=True)
    worker.process.kill()
    write(results, arguments.share)


def write(results: list[dict[str, Any]], share: str) -> None:
    from benchmarks.record import RESULTS, commit, machine, write_json

    failures = [result for result in results if is_failure(result)]
    name = "fuzz.json" if share == "1/1" else f"fuzz_{share.replace('/', '_of_')}.json"
    write_json(
        RESULTS / name,
        {
            "machine": machine(),
            **commit(),
            "n_mutations": len(results),
            "n_failures": len(failures),
            "exit_codes": Counter(str(result["code"]) for result in results),
            "commands": Counter(result["command"] for result in results),
            "formats": Counter(result["story"].partition(":")[0] for result in results),
            "slowest_seconds": max(result["seconds"] for result in results),
            "most_megabytes": max(result["megabytes"] for result in results),
            "failures": failures,
        },
    )
    print(f"{len(results):,} mutations, {len(failures)} failures")


if __name__ == "__main__":
    main()
