"""Reading results, the floor of the quick form, and the page on partial results."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.paper import floor, results
from benchmarks.paper.units import Unit


def line(dataset: str = "pima", method: str = "rfod", seed: int = 0, **more: Any) -> dict[str, Any]:
    fields = {"auc_roc": 0.8, "auc_pr": 0.7, "f1": 0.6, "accuracy": 0.9, "log_loss": 0.3}
    times = dict.fromkeys(
        ("fit_cpu_seconds", "score_cpu_seconds", "seconds_per_feature", "seconds_per_sample", "peak_mb"), 1.0
    )
    head = {"study": "main", "dataset": dataset, "method": method, "label": method, "seed": seed}
    return head | {"train_rows": None, "parameters": {}, "status": "ok"} | fields | times | more


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
    return path


def test_of_a_unit_that_ran_twice_the_last_counts(tmp_path: Path) -> None:
    path = write(tmp_path / "main.jsonl", [line(auc_roc=0.1), line(auc_roc=0.2), line(seed=1, auc_roc=0.4)])
    assert [entry["auc_roc"] for entry in results.read(path)] == [0.2, 0.4]
    assert results.by_dataset(results.read(path), "auc_roc").loc["pima", "rfod"] == pytest.approx(0.3)


def test_a_line_has_the_key_of_its_unit() -> None:
    assert results.key(line()) == Unit("main", "pima", "rfod", 0).key


def test_methods_are_compared_on_the_seeds_that_all_have() -> None:
    lines = [line(seed=seed) for seed in range(3)] + [line(method="lof", seed=seed) for seed in (1, 2, 3)]
    lines += [
        line("bank"),
        line("bank", "lof", status="timeout"),
        line(method="knn", seed=0),
        line(method="knn", seed=2),
    ]
    common = results.on_common_seeds(lines, ["rfod", "lof"])
    assert [(entry["dataset"], entry["method"], entry["seed"]) for entry in common] == [
        ("pima", "rfod", 1),
        ("pima", "rfod", 2),
        ("pima", "lof", 1),
        ("pima", "lof", 2),
        ("bank", "rfod", 0),
        ("pima", "knn", 2),
    ]


def test_a_form_with_fewer_seeds_is_compared_on_the_splits_it_shares() -> None:
    lines = [line(seed=seed, auc_roc=0.5 + seed / 10) for seed in range(3)] + [line("bank")]
    lines += [line(method="lof", seed=seed, auc_roc=0.4) for seed in range(3)] + [line("bank", "lof")]
    lines += [line(method="rfod_paper", seed=2, auc_roc=0.6)]
    values = results.paired(lines, ["rfod", "lof"], "rfod_paper", "auc_roc")
    assert values.loc["pima"].to_dict() == pytest.approx({"lof": 0.4, "rfod": 0.7, "rfod_paper": 0.6})
    assert list(values.index) == ["pima"]
    assert results.n_paired(lines, ["rfod", "lof"], "rfod_paper") == (1, 1)


def test_units_without_a_result_count_as_such() -> None:
    lines = [line(), line(method="lof", status="timeout")]
    assert list(results.by_dataset(lines, "auc_roc")) == ["rfod"]
    assert results.counts(lines).loc["lof", "timeout"] == 1


def test_the_floor_holds_or_fails(tmp_path: Path) -> None:
    path = tmp_path / "floor.json"
    assert floor.report([line(auc_roc=0.8)], set_floor=False, path=path) == 1
    assert floor.report([line(auc_roc=0.8)], set_floor=True, path=path) == 0
    assert floor.report([line(auc_roc=0.795)], set_floor=False, path=path) == 0
    assert floor.report([line(auc_roc=0.785)], set_floor=False, path=path) == 1
    assert floor.report([line(dataset="wine")], set_floor=False, path=path) == 1
    assert floor.report([line(status="failed")], set_floor=False, path=path) == 1


def test_the_page_says_what_has_not_run(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from benchmarks.paper import page

    lines = [line(), line(method="lof", auc_roc=0.9), line("bank", "lof"), line("bank", "icl", status="timeout")]
    write(tmp_path / "main.jsonl", lines)
    found = page.fragments(tmp_path, tmp_path / "figures" / "benchmarks")
    text = page.fill(page.TEMPLATE.read_text(encoding="utf-8"), found, tmp_path)
    assert "{{" not in text
    assert page.NOT_RUN.strip() in text
    assert "ICL on bank, seed 0: timeout" in text
    assert "0.100 behind LOF" in text
    assert "figures/benchmarks/auc_roc.svg" in text
    assert "figures/benchmarks/ablation.svg" not in text
