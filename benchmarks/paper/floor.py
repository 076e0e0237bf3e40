"""The check before a release: rfod's mean AUC-ROC on small datasets against a kept value."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks import record

PATH = Path(__file__).resolve().parent / "floor.json"
ALLOWED_DROP = 0.01


def report(lines: list[dict[str, Any]], set_floor: bool, path: Path = PATH) -> int:
    """Print the means; 1 when rfod fell below its floor by more than is allowed, or when it cannot be compared."""
    means = _print_means(lines)
    failed = [f"{line['dataset']}/{line['method']} ({line['status']})" for line in lines if line["status"] != "ok"]
    if failed:
        print(f"{len(failed)} units did not finish: {', '.join(failed[:5])}{', ...' if len(failed) > 5 else ''}")
    own = {line["dataset"]: line["auc_roc"] for line in lines if line["method"] == "rfod" and line["status"] == "ok"}
    if not own:
        print("FAILED: rfod has no result")
        return 1
    if set_floor:
        by_dataset = {name: round(value, 4) for name, value in sorted(own.items())}
        record.write_json(path, {"mean_auc_roc": round(means["rfod"], 4), "datasets": by_dataset, **record.commit()})
        print(f"floor set to {means['rfod']:.4f}")
        return 0
    if not path.is_file():
        print(f"FAILED: there is no {path.name}; --set-floor writes it")
        return 1
    floor = json.loads(path.read_text(encoding="utf-8"))
    if sorted(floor["datasets"]) != sorted(own):
        print("FAILED: the floor was set on other datasets; --set-floor writes a new one")
        return 1
    if means["rfod"] < floor["mean_auc_roc"] - ALLOWED_DROP:
        print(f"FAILED: rfod fell from {floor['mean_auc_roc']:.4f} to {means['rfod']:.4f}")
        for name, value in sorted(own.items()):
            print(f"  {name:<18}{floor['datasets'][name]:.4f} -> {value:.4f}")
        return 1
    print(f"rfod holds its floor of {floor['mean_auc_roc']:.4f}")
    return 0


def _print_means(lines: list[dict[str, Any]]) -> dict[str, float]:
    means = {}
    for method in dict.fromkeys(line["method"] for line in lines):
        own = [line["auc_roc"] for line in lines if line["method"] == method and line["status"] == "ok"]
        if own:
            means[method] = statistics.fmean(own)
            print(f"{method:<12} mean AUC-ROC {means[method]:.4f} over {len(own)} datasets")
    return means
