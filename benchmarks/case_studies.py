"""The paper's three case studies: 100 rows as three methods see them, and one outlier.

    python -m benchmarks.case_studies                   # measures, draws and writes docs/case_studies.md; 2 minutes
    python -m benchmarks.case_studies --attributions    # first asks the other methods again; 10 minutes
    python -m benchmarks.case_studies --write           # writes the page from the last measurement

Drawing needs `rfod[pictures]`, asking the others benchmarks/paper/requirements.txt. Rows are drawn by a fixed seed,
before anything is scored; the outlier is the labelled one with the highest row score among them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rfod
from benchmarks import datasets, record
from rfod import figures
from rfod._views.plotting import SEQUENCE, as_text, axis, new_figure, slanted, title

Floats = NDArray[np.float64]
DOCS = datasets.REPOSITORY / "docs"
RESULTS = datasets.REPOSITORY / "benchmarks" / "results" / "case_studies.json"
ATTRIBUTIONS = RESULTS.with_suffix(".npz")
TEMPLATE = datasets.REPOSITORY / "benchmarks" / "case_studies.md"
STUDIES = {"pima": "Pima (healthcare)", "dos": "DoS (network traffic)", "bank": "Bank (marketing)"}
OTHERS = ("one-class SVM", "isolation forest")
ROWS_PER_SIDE = 50
SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attributions", action="store_true", help="ask the other methods again first")
    parser.add_argument("--write", action="store_true", help="write the page from the last measurement")
    arguments = parser.parse_args()
    if arguments.attributions:
        ask_others()
    if not arguments.write:
        studies = {name: study(name) for name in STUDIES}
        record.write_json(RESULTS, {"studies": studies, "versions": record.versions(), **record.commit()})
    write_page()


def ask_others() -> None:
    """Attributions of the rows that are shown, and the accuracy of the row scores, by the methods beside RFOD."""
    from benchmarks import attributions  # only this needs shap

    answers: dict[str, Floats] = {}
    for name in STUDIES:
        split = datasets.split(datasets.load(name), SEED)
        rows = shown_rows(split.labels)
        for method, ask in zip(OTHERS, (attributions.one_class_svm, attributions.isolation_forest), strict=True):
            scores, cells = ask(split.train, split.test, rows, SEED)
            answers[f"{name}/{method}/cells"] = cells.astype(np.float32)
            answers[f"{name}/{method}/accuracy"] = np.array(list(accuracy(scores, split.labels).values()))
            print(f"{name}: {method}", flush=True)
    np.savez_compressed(ATTRIBUTIONS, **answers)


def study(name: str) -> dict[str, Any]:
    """Fit one dataset, draw its two figures, and measure what they show."""
    split = datasets.split(datasets.load(name), SEED)
    rows = shown_rows(split.labels)
    began = time.perf_counter()
    detector = rfod.RFOD(random_state=SEED).fit(split.train)
    found = detector.detect(split.test)
    seconds = time.perf_counter() - began
    others = np.load(ATTRIBUTIONS)
    maps = {"RFOD: score": found.cell_scores[rows], "RFOD: surprise": found.surprise[rows]}
    maps |= {method: others[f"{name}/{method}/cells"] for method in OTHERS}
    cells = {panel: np.maximum(np.nan_to_num(values), 0.0) for panel, values in maps.items()}
    row_scores = {
        "RFOD: score": np.nanmean(found.cell_scores * found.weights, axis=1),
        "RFOD: surprise": np.sqrt((found.surprise**2).mean(axis=1)),
        "RFOD: default row score": found.row_scores,
    }
    accurate = {method: accuracy(scores, split.labels) for method, scores in row_scores.items()}
    for method in OTHERS:
        accurate[method] = dict(zip(("auc_roc", "auc_pr"), others[f"{name}/{method}/accuracy"].tolist(), strict=True))
    names = [str(column) for column in split.train]
    if list(found.columns) != names:
        raise ValueError(f"{name}: the model leaves columns out: {set(names) - set(found.columns)}")
    save(side_by_side(cells, names), f"{name}_cells.png", scale=1.25)
    anomalous = rows[ROWS_PER_SIDE:]
    worst = int(anomalous[np.argmax(found.row_scores[anomalous])])
    save(figures.row_analysis(found, worst), f"{name}_row.png", scale=1.25)
    rank = int((found.row_scores > found.row_scores[worst]).sum()) + 1
    print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    return {
        "rows": {"train": len(split.train), "test": len(split.test), "anomalous": int(split.labels.sum())},
        "columns": len(names),
        "rfod_seconds": seconds,
        "maps": {panel: measure(values) for panel, values in cells.items()},
        "brightest": {panel: brightest(values, names) for panel, values in cells.items()},
        "accuracy": accurate,
        "outlier": {
            "row": worst,
            "rank": rank,
            "score": float(found.row_scores[worst]),
            "cells": outlier_cells(found, worst),
            "told": [cell.sentence for cell in found.explain(worst).cells[:3]],
        },
    }


def shown_rows(labels: NDArray[np.int8]) -> NDArray[np.intp]:
    """50 normal rows, then 50 anomalous ones, drawn before anything is scored."""
    rng = np.random.default_rng([SEED, 4])
    return np.concatenate(
        [np.sort(rng.choice(np.flatnonzero(labels == label), ROWS_PER_SIDE, replace=False)) for label in (0, 1)]
    )


def accuracy(scores: Floats, labels: NDArray[np.int8]) -> dict[str, float]:
    return {
        "auc_roc": float(roc_auc_score(labels, scores)),
        "auc_pr": float(average_precision_score(labels, scores)),
    }


def measure(cells: Floats) -> dict[str, float]:
    """What a heat map shows, in numbers."""
    total = cells.sum(axis=1)
    top = np.sort(cells, axis=1)[:, -3:].sum(axis=1)
    around = cells - cells.mean()
    by_column = len(cells) * ((cells.mean(axis=0) - cells.mean()) ** 2).sum()
    brightest = np.argmax(cells, axis=1)
    return {
        # mean brightness of the anomalous rows, that of the normal ones being 1
        "contrast": float(total[ROWS_PER_SIDE:].mean() / total[:ROWS_PER_SIDE].mean()),
        # share of a row's brightness that is in its three brightest cells
        "top_3": float(np.mean(top[total > 0] / total[total > 0])),
        # share of the picture's variance that is stripes: the same columns bright in every row
        "stripes": float(by_column / (around**2).sum()),
        "columns_named": len(np.unique(brightest[ROWS_PER_SIDE:])),
    }


def brightest(cells: Floats, names: list[str]) -> dict[str, int]:
    """In how many anomalous rows each column is the brightest; the three most frequent."""
    counts = pd.Series(np.array(names, dtype=object)[np.argmax(cells[ROWS_PER_SIDE:], axis=1)]).value_counts()
    return {str(name): int(count) for name, count in counts.head(3).items()}


def outlier_cells(found: rfod.Detection, row: int) -> list[dict[str, Any]]:
    """The three most surprising cells of a row."""
    lines = found.cells([row]).sort_values("surprise", ascending=False, kind="stable").head(3)
    return lines[["column", "observed", "expected", "score", "surprise"]].to_dict("records")


# ------------------------------------------------------------------------------------------------------------ figures


def side_by_side(cells: dict[str, Floats], names: list[str]) -> Any:
    """Heat maps over the same rows and columns, each on its own scale: from 0 to its 99 % quantile."""
    data, layout = [], {}
    labels = [as_text(name, 14) for name in names]
    width = 0.23
    for number, (method, values) in enumerate(cells.items()):
        suffix = "" if number == 0 else str(number + 1)
        left = number * (1 - width) / (len(cells) - 1)
        top = float(np.quantile(values, 0.99)) or 1.0
        heat = {"type": "heatmap", "z": values, "zmin": 0, "zmax": top, "colorscale": SEQUENCE, "showscale": False}
        data.append(heat | {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"})
        layout[f"xaxis{suffix}"] = axis(
            domain=[left, left + width],
            side="top",
            tickvals=list(range(len(names))),
            ticktext=labels,
            tickangle=-45 if len(names) < 10 else -90,
            tickfont={"size": 11 if len(names) < 20 else 7},
            showgrid=False,
            anchor=f"y{suffix}",
        )
        layout[f"yaxis{suffix}"] = axis(
            autorange="reversed",
            tickvals=[0, 25, ROWS_PER_SIDE, 75, 99],
            showgrid=False,
            showticklabels=number == 0,
            anchor=f"x{suffix}",
        )
        layout.setdefault("annotations", []).append(
            {"text": f"<b>{method}</b>", "x": left + width / 2, "y": -0.02, "xref": "paper", "yref": "paper"}
            | {"showarrow": False, "xanchor": "center", "yanchor": "top"}
        )
        border = {"color": "#ffffff", "width": 1.5, "dash": "dot"}
        layout.setdefault("shapes", []).append(
            {"type": "line", "xref": f"x{suffix} domain", "yref": f"y{suffix}", "x0": 0, "x1": 1, "line": border}
            | {"y0": ROWS_PER_SIDE - 0.5, "y1": ROWS_PER_SIDE - 0.5}
        )
    return new_figure(
        data,
        title=title(
            "What each method finds unusual", "rows 0 to 49 are normal, rows 50 to 99 (below the line) anomalous"
        ),
        width=1180,
        height=620,
        margin={"l": 40, "r": 30, "t": 90 + slanted(labels), "b": 40},
        **layout,
    )


def save(figure: Any, name: str, scale: float) -> None:
    folder = DOCS / "figures" / "case_studies"
    folder.mkdir(parents=True, exist_ok=True)
    figures.save(figure, folder / name, scale=scale)


# --------------------------------------------------------------------------------------------------------------- page


def write_page() -> None:
    """Fill the measured numbers into the template."""
    studies = json.loads(RESULTS.read_text(encoding="utf-8"))["studies"]

    def fill(mark: re.Match[str]) -> str:
        measured = studies[mark["study"]]
        return PARTS[mark["part"]](measured)

    page = re.sub(r"\{\{(?P<study>\w+)\.(?P<part>\w+)\}\}", fill, TEMPLATE.read_text(encoding="utf-8"))
    target = DOCS / "case_studies.md"
    note = "<!-- Written by benchmarks/case_studies.py from benchmarks/case_studies.md. -->\n\n"
    target.write_text(note + page, encoding="utf-8")
    print(f"{target.relative_to(datasets.REPOSITORY)} written")


def rows_text(measured: dict[str, Any]) -> str:
    rows = measured["rows"]
    return (
        f"{rows['train']:,} normal rows to learn from, {rows['test']:,} to judge, {rows['anomalous']:,} of them "
        f"anomalous; {measured['columns']} columns"
    )


def maps_table(measured: dict[str, Any]) -> str:
    lines = ["| | contrast | in 3 cells | stripes | brightest column in how many of 50 |", "|---|---|---|---|---|"]
    for panel, values in measured["maps"].items():
        most = ", ".join(f"{name} {count}" for name, count in measured["brightest"][panel].items())
        lines.append(
            f"| {panel} | {values['contrast']:.2f} | {values['top_3']:.0%} | {values['stripes']:.0%} | {most} |"
        )
    return "\n".join(lines)


def accuracy_table(measured: dict[str, Any]) -> str:
    lines = ["| row score | AUC-ROC | AUC-PR |", "|---|---|---|"]
    lines += [f"| {name} | {v['auc_roc']:.3f} | {v['auc_pr']:.3f} |" for name, v in measured["accuracy"].items()]
    return "\n".join(lines)


def outlier_table(measured: dict[str, Any]) -> str:
    outlier = measured["outlier"]
    lines = [
        f"Row {outlier['row']} of the test rows, number {outlier['rank']} by row score:",
        "",
        "| column | observed | expected | score | surprise |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {cell['column']} | {cell['observed']} | {cell['expected']} | {cell['score']:.2f} | {cell['surprise']:.1f} |"
        for cell in outlier["cells"]
    ]
    lines += ["", *(f"> {sentence}" + "\n>" for sentence in outlier["told"])]
    return "\n".join(lines).removesuffix("\n>")


PARTS = {"rows": rows_text, "maps": maps_table, "accuracy": accuracy_table, "outlier": outlier_table}

if __name__ == "__main__":
    main()
