"""Fit and detect of this code beside those of another commit, in turns.

    python -m benchmarks.pairs 4b75897 [--repeats 9] [--trees 20]

The other commit is checked out into a temporary folder. Each side has a process of its own that loads the datasets of
`speed.py` and compiles first; then the two take turns, each first in every other round. Evidence is not kept, since not
every commit knows it. The ratio of a line is that of the medians, this code over the other.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import record
from benchmarks.speed import DETECT_ON, FIT_ON

REPOSITORY = Path(__file__).resolve().parents[1]
PHASES = [(name, "fit") for name in FIT_ON] + [(name, "detect") for name in DETECT_ON]
WORKER = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import rfod
from rfod.params import Params
from benchmarks.speed import _case
settings = {"n_estimators": int(sys.argv[1]), "n_jobs": 2, "random_state": 0}
if "keep_evidence" in Params.__dataclass_fields__:
    settings["keep_evidence"] = False
cases, fitted = {}, {}
for line in sys.stdin:
    name, phase = json.loads(line)
    if name not in cases:
        cases[name] = _case(name, 10_000).split
        fitted[name] = rfod.RFOD(**settings).fit(cases[name].train)
        fitted[name].detect(cases[name].test[:100])
    start = time.perf_counter()
    if phase == "fit":
        rfod.RFOD(**settings).fit(cases[name].train)
    else:
        fitted[name].detect(cases[name].test).row_scores
    print(json.dumps(time.perf_counter() - start), flush=True)
"""


class Side:
    """One version of the code, in a process of its own."""

    def __init__(self, source: Path, trees: int) -> None:
        paths = os.pathsep.join([str(source / "src"), str(source)])
        data = os.environ.get("RFOD_DATA", str(REPOSITORY / "../shared/data"))
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(trees)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": paths, "RFOD_DATA": data},
        )

    def seconds(self, name: str, phase: str) -> float:
        """One measurement."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, phase]) + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--output", type=Path, default=record.RESULTS / "pairs.json")
    given = parser.parse_args()
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        other = Path(temporary) / "other"
        subprocess.run(
            ["git", "worktree", "add", "--quiet", "--detach", other, given.commit], cwd=REPOSITORY, check=True
        )
        sides = {"this": Side(REPOSITORY, given.trees), "other": Side(other, given.trees)}
        try:
            for name, phase in PHASES:
                found: dict[str, list[float]] = {"this": [], "other": []}
                for side in sides.values():
                    side.seconds(name, phase)
                for turn in range(given.repeats):
                    for key in ("this", "other") if turn % 2 else ("other", "this"):
                        found[key].append(sides[key].seconds(name, phase))
                medians = {key: statistics.median(values) for key, values in found.items()}
                ratio = medians["this"] / medians["other"]
                lines.append({"dataset": name, "phase": phase, "seconds": found, "ratio": round(ratio, 3)})
                print(f"{name:12s}{phase:8s}{medians['this']:8.3f}{medians['other']:8.3f}{ratio:8.3f}", flush=True)
        finally:
            for side in sides.values():
                side.close()
            subprocess.run(["git", "worktree", "remove", "--force", other], cwd=REPOSITORY, check=True)
    ratios = [line["ratio"] for line in lines]
    summary = {"median_ratio": round(statistics.median(ratios), 3), "worst_ratio": max(ratios)}
    print(summary)
    content = {"machine": record.machine(), **record.commit(), "other": given.commit, "trees": given.trees}
    record.write_json(given.output, content | summary | {"lines": lines})


if __name__ == "__main__":
    main()
