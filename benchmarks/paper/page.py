"""Write docs/benchmarks.md and its figures from the result files, whatever of them there is:

    python -m benchmarks.paper.page

The words are in page.md beside this file; `{{name}}` there is a table made here. Tables of studies that have not run
say so. Needs the environment of requirements.txt, but none of the datasets.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import datasets, record
from benchmarks.datasets import REPOSITORY
from benchmarks.paper import illustration_figures, published, results, study_section
from benchmarks.paper.drawing import save
from benchmarks.paper.main_section import MainComparison
from benchmarks.paper.markdown import number, table
from benchmarks.paper.protocol import LARGEST

TEMPLATE = Path(__file__).resolve().parent / "page.md"
ILLUSTRATIONS = results.FOLDER / "illustrations.json"
PROBABILITIES = record.RESULTS / "probabilities.json"
PAGE = REPOSITORY / "docs" / "benchmarks.md"
FIGURES = REPOSITORY / "docs" / "figures" / "benchmarks"
NOT_RUN = "*This has not run yet.*\n"


def main() -> None:
    found = fragments(results.FOLDER, FIGURES)
    text = fill(TEMPLATE.read_text(encoding="utf-8"), found, PAGE.parent)
    PAGE.write_text(text, encoding="utf-8")
    print(f"{PAGE.relative_to(REPOSITORY)} written, figures in {FIGURES.relative_to(REPOSITORY)}")


def fragments(folder: Path, figures: Path) -> dict[str, str]:
    """The tables of the page by name; saves the figures on the way."""
    lines = {name: results.read(folder / f"{name}.jsonl") for name in ("main", "full", "variants", "scalability")}
    found = {"differences": _differences()}
    if results.finished(lines["main"]):
        found |= MainComparison(lines["main"] + study_section.forms(lines["variants"])).fragments(figures)
        found |= study_section.full(lines["full"], [line for line in lines["main"] if line["dataset"] in LARGEST])
    found |= study_section.ablation(lines["variants"], figures)
    for name in study_section.PARAMETERS:
        found |= study_section.parameter(name, lines["variants"], figures)
    found |= study_section.scalability(lines["scalability"], figures)
    if (folder / ILLUSTRATIONS.name).is_file():
        found |= _illustrations(folder / ILLUSTRATIONS.name, figures)
    if PROBABILITIES.is_file():
        found |= _probabilities(PROBABILITIES)
    return found


def _probabilities(path: Path) -> dict[str, str]:
    """Log-loss by method, each way to get a probability: means over the datasets, the best of a way in bold."""
    known = json.loads(path.read_text(encoding="utf-8"))
    ways = ("own", "scaled", "transformed", "transformed, share estimated")
    frame = pd.DataFrame(known["results"]).groupby("method")[list(ways)].mean().sort_values("own")
    rows = []
    for method, means in frame.iterrows():
        cells = ["-" if pd.isna(means[way]) else number(means[way]) for way in ways]
        is_best = [means[way] == frame[way].min() for way in ways]
        rows.append(
            [str(method), *(f"**{cell}**" if best else cell for cell, best in zip(cells, is_best, strict=True))]
        )
    return {
        "probabilities": table(["method", *ways], rows),
        "probability_rows": f"{known['train_rows']:,} training and {known['test_rows']:,} test rows",
    }


def fill(template: str, found: dict[str, str], folder: Path) -> str:
    """The template with its tables, without figures that do not exist in `folder`."""

    def replaced(match: re.Match[str]) -> str:
        return found.get(match[1], NOT_RUN).rstrip("\n")

    text = re.sub(r"\{\{(\w+)\}\}", replaced, template)
    return re.sub(
        r"^!\[[^]]*\]\(([^)]+)\)\n\n?",
        lambda match: match[0] if (folder / match[1]).is_file() else "",
        text,
        flags=re.M,
    )


def _differences() -> str:
    return table(["dataset", "differs from the paper's file"], datasets.DIFFERENCES.items(), left=2)


def _illustrations(path: Path, figures: Path) -> dict[str, str]:
    known = json.loads(path.read_text(encoding="utf-8"))
    save(illustration_figures.pruning(known["pruning"]), figures / "pruning.svg")
    save(illustration_figures.agd(known["agd"]), figures / "agd.svg")
    rows = []
    for name, row in known["agd"]["rows"].items():
        theirs = published.AGD_EXAMPLE[name]
        cells = [
            f"{value:.2f}" + (f" ({theirs[kind]:.2f})" if kind in theirs else "")
            for kind, value in row["distances"].items()
        ]
        rows.append([name, f"{row['observed']:.4g}", f"{row['expected']:.4g}", *cells])
    pruned = [
        [task["column"], f"{task['best_beta']:.2f}", _change(task, task["best_beta"]), _change(task, 0.5)]
        for task in known["pruning"]
    ]
    return {
        "agd": table(["row", "observed", "expected", *known["agd"]["rows"]["normal"]["distances"]], rows),
        "agd_column": f"`{known['agd']['column']}` of {known['agd']['dataset']}",
        "pruning": table(["column", "best beta", "test MSE there", "at beta 0.5"], pruned),
        "pruning_dataset": known["pruning"][0]["dataset"],
    }


def _change(task: dict[str, Any], beta: float) -> str:
    """Of the test error against all trees."""
    return f"{task['errors'][task['betas'].index(beta)] / task['errors'][-1] - 1:+.1%}"


if __name__ == "__main__":
    main()
