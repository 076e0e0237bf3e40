"""AUC-ROC and AUC-PR of rfod, of the paper's letter on scikit-learn, and of the public form; the tool for defaults.

    python -m benchmarks.accuracy --datasets small middle --max-rows 30000 --seeds 3
    python -m benchmarks.accuracy --methods rfod --set max_depth=10 --vary alpha=0.01,0.02,0.05

`rfod` runs with its defaults and what --set says; `literal` with the same hyper-parameters; `paper` is the literal
version with scikit-learn's defaults (100 full trees), since the paper names none; `public` has 30 trees of depth 6.
--vary adds one rfod column per value. Results are cached per dataset, method, parameters, seed and state of the code,
so that a run that was stopped resumes.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import datasets, record
from benchmarks.literal import PUBLIC_FORM, LiteralRFOD

CACHE = record.RESULTS / "accuracy_cache.jsonl"
METHODS = ("rfod", "literal", "paper", "public")
SHARED = ("n_estimators", "alpha", "beta", "max_features", "min_samples_leaf", "max_depth", "max_samples")
AUTO_SAMPLES = 4096  # what rfod's max_samples="auto" stands for


@dataclass(frozen=True)
class Contestant:
    """One column of the table: a method with all its parameters, and the state of the code behind it."""

    label: str
    method: str
    parameters: dict[str, Any]
    code: str

    def detector(self, seed: int, n_jobs: int) -> Any:
        if self.method == "rfod":
            import rfod

            return rfod.RFOD(random_state=seed, n_jobs=n_jobs, **self.parameters)
        return LiteralRFOD(random_state=seed, n_jobs=n_jobs, **self.parameters)


def main() -> None:
    arguments = _arguments()
    contestants = list(_contestants(arguments))
    results = []
    for name in datasets.names(arguments.datasets):
        results += _run_dataset(name, contestants, arguments)
        print(_row(name, [line for line in results if line["dataset"] == name], contestants), flush=True)
    _print_means(results, contestants)
    record.write_json(arguments.output, {"machine": record.machine(), **record.commit(), "results": results})
    print(f"written: {arguments.output}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["small"])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=1, help="number of splits, from seed 0")
    parser.add_argument("--max-rows", type=int, help="sample larger datasets to this many rows")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of rfod")
    parser.add_argument("--vary", metavar="NAME=VALUE,VALUE", help="one more rfod column per value")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, default=record.RESULTS / "accuracy.json")
    return parser.parse_args()


def _contestants(arguments: argparse.Namespace) -> Iterator[Contestant]:
    own = dict(_assignment(text) for text in arguments.set)
    literal_code = record.fingerprint(record.RESULTS.parent / "literal.py")
    rfod_code = record.fingerprint(datasets.REPOSITORY / "src" / "rfod")
    if "rfod" in arguments.methods:
        yield Contestant("rfod", "rfod", own, rfod_code)
        if arguments.vary:
            name, values = arguments.vary.split("=", 1)
            for value in values.split(","):
                varied = own | dict([_assignment(f"{name}={value}")])
                yield Contestant(f"{name}={value}", "rfod", varied, rfod_code)
    if "literal" in arguments.methods:
        yield Contestant("literal", "literal", _same_parameters(own), literal_code)
    if "paper" in arguments.methods:
        yield Contestant("paper", "paper", {}, literal_code)
    if "public" in arguments.methods:
        yield Contestant("public", "public", PUBLIC_FORM, literal_code)


def _same_parameters(own: dict[str, Any]) -> dict[str, Any]:
    """The hyper-parameters of rfod, as far as the literal version has them."""
    import rfod

    complete = rfod.RFOD(**own).get_params()
    same = {name: complete[name] for name in SHARED}
    if same["max_samples"] == "auto":
        same["max_samples"] = AUTO_SAMPLES
    return same | ({"uncertainty": own["uncertainty"]} if "uncertainty" in own else {})


def _assignment(text: str) -> tuple[str, Any]:
    """A parameter from the command line: numbers, None and booleans as such, fractions like 1/3, else a string."""
    name, separator, value = text.partition("=")
    if not separator:
        raise SystemExit(f"{text!r} is not NAME=VALUE")
    above, slash, below = value.partition("/")
    if slash and above.isdigit() and below.isdigit():
        return name, int(above) / int(below)
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _run_dataset(name: str, contestants: list[Contestant], arguments: argparse.Namespace) -> list[dict[str, Any]]:
    known = _cached()
    results = []
    for seed in range(arguments.seeds):
        split: datasets.Split | None = None
        for contestant in contestants:
            key = json.dumps(
                [name, contestant.method, contestant.parameters, contestant.code, seed, arguments.max_rows],
                sort_keys=True,
            )
            if key not in known:
                split = split or datasets.split(datasets.load(name, arguments.max_rows, seed), seed)
                known[key] = _measure(contestant, split, seed, arguments.jobs)
                with CACHE.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": key, "result": known[key]}) + "\n")
            labels = {"dataset": name, "label": contestant.label, "method": contestant.method, "seed": seed}
            results.append(labels | known[key] | {"parameters": contestant.parameters, "max_rows": arguments.max_rows})
    return results


def _measure(contestant: Contestant, split: datasets.Split, seed: int, n_jobs: int) -> dict[str, float]:
    start = time.perf_counter()
    detector = contestant.detector(seed, n_jobs).fit(split.train)
    fitted = time.perf_counter()
    scores = detector.detect(split.test).row_scores
    done = time.perf_counter()
    return {
        "auc_roc": float(roc_auc_score(split.labels, scores)),
        "auc_pr": float(average_precision_score(split.labels, scores)),
        "fit_seconds": fitted - start,
        "detect_seconds": done - fitted,
    }


def _cached() -> dict[str, dict[str, float]]:
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    if not CACHE.is_file():
        return {}
    lines = (json.loads(line) for line in CACHE.read_text(encoding="utf-8").splitlines())
    return {line["key"]: line["result"] for line in lines}


def _row(name: str, lines: list[dict[str, Any]], contestants: list[Contestant]) -> str:
    """AUC-ROC, AUC-PR and fit seconds of one dataset, a group per contestant, each the mean over seeds."""
    groups = []
    for contestant in contestants:
        own = [line for line in lines if line["label"] == contestant.label]
        means = {
            metric: float(np.mean([line[metric] for line in own]))
            for metric in ("auc_roc", "auc_pr", "fit_seconds", "detect_seconds")
        }
        groups.append(
            f"{contestant.label} {means['auc_roc']:.4f} {means['auc_pr']:.4f} "
            f"{means['fit_seconds']:.1f}+{means['detect_seconds']:.1f}s"
        )
    return f"{name:<20}" + "  |  ".join(groups)


def _print_means(results: list[dict[str, Any]], contestants: list[Contestant]) -> None:
    print(f"\n{'mean over datasets':<20}{'AUC-ROC':>10}{'AUC-PR':>10}{'fit s':>10}{'detect s':>10}")
    for contestant in contestants:
        own = [line for line in results if line["label"] == contestant.label]
        means = [np.mean([line[m] for line in own]) for m in ("auc_roc", "auc_pr")]
        sums = [np.mean([line[m] for line in own]) for m in ("fit_seconds", "detect_seconds")]
        print(f"{contestant.label:<20}{means[0]:>10.4f}{means[1]:>10.4f}{sums[0]:>10.2f}{sums[1]:>10.2f}")


if __name__ == "__main__":
    main()
