"""Tables and figures of the studies: ablation, parameters, scalability, the largest datasets in full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.paper import published, results, study_figures
from benchmarks.paper.drawing import save, title
from benchmarks.paper.markdown import folded, means_and_spreads, number, table
from benchmarks.paper.methods import METHODS
from benchmarks.paper.studies import BETAS, DEFAULT_BETA, DEFAULT_TREES, SIX_DATASETS, TREES
from benchmarks.paper.variants import ALPHAS, PAPER_SCORE

MEASURES = {"auc_roc": "AUC-ROC", "auc_pr": "AUC-PR"}
DEFAULT_ALPHA = 0.02

COMPLETE = "the paper's score: AGD, UWA, pruned"
ABLATIONS: dict[str, dict[str, Any]] = {
    COMPLETE: PAPER_SCORE,
    "without pruning": {"beta": 1.0, **PAPER_SCORE},
    "Gower instead of AGD": PAPER_SCORE | {"distance": "gower"},
    "IQR-Gower instead of AGD": PAPER_SCORE | {"distance": "gower-iqr"},
    "plain mean instead of UWA": {"aggregation": "mean"},
    "UWA in the unit of each column": PAPER_SCORE | {"uncertainty": "raw"},
    "surprise": {"aggregation": "surprise"},
    "consensus (default)": {},
    "consensus without pruning": {"beta": 1.0},
}
# parameter: its values, its default, whether the axis is logarithmic
PARAMETERS: dict[str, tuple[tuple[float, ...], float, bool]] = {
    "alpha": (ALPHAS, DEFAULT_ALPHA, True),
    "beta": (BETAS, DEFAULT_BETA, False),
    "n_estimators": (TREES, DEFAULT_TREES, True),
}
SCORES = {"paper's score": PAPER_SCORE, "consensus": {}}


def forms(lines: list[results.Line]) -> list[results.Line]:
    """Two further forms of RFOD, as if they were methods of the main comparison."""
    names = {"rfod_uwa": PAPER_SCORE, "rfod_surprise": {"aggregation": "surprise"}}
    return [line | {"method": name} for name, wanted in names.items() for line in lines if line["parameters"] == wanted]


def ablation(lines: list[results.Line], figures: Path) -> dict[str, str]:
    labelled = [
        line | {"variant": label}
        for label, wanted in ABLATIONS.items()
        for line in results.finished(lines)
        if line["parameters"] == wanted
    ]
    if not any(line["variant"] == COMPLETE for line in labelled):
        return {}
    means = {}
    for measure in MEASURES:
        wide = results.by_dataset(labelled, measure, column="variant")
        means[measure] = wide[[label for label in ABLATIONS if label in wide]]
    named = {MEASURES[measure]: wide for measure, wide in means.items()}
    save(study_figures.ablation(named, COMPLETE), figures / "ablation.svg")
    rows = []
    for label in means["auc_roc"]:
        cells = [label, str(int(means["auc_roc"][label].notna().sum()))]
        for measure in MEASURES:
            change = (means[measure][label] - means[measure][COMPLETE]).dropna()
            cells += [number(means[measure][label].mean()), f"{change.mean():+.3f}"]
            cells += [f"{(change > 0).sum()}", f"{(change < 0).sum()}"]
        rows.append(cells)
    head = ["variant", "datasets"]
    for name in MEASURES.values():
        head += [name, "change", "better on", "worse on"]
    values = "\n".join(
        folded(f"Ablation, {name} per dataset", _per_dataset(labelled, means[measure], measure))
        for measure, name in MEASURES.items()
    )
    return {"ablation": table(head, rows) + "\n" + values, "ablation_dos": _dos(means["auc_roc"])}


def _per_dataset(lines: list[results.Line], means: pd.DataFrame, measure: str) -> str:
    spreads = results.by_dataset(lines, measure, column="variant", how="std")
    return means_and_spreads(means, spreads, list(means))


def _dos(values: pd.DataFrame) -> str:
    if "dos" not in values.index:
        return "dos has not run yet."
    own = values.loc["dos"]
    return (
        f"On dos AUC-ROC is {number(own[COMPLETE])} with AGD and {number(own['Gower instead of AGD'])} with Gower's "
        f"distance (paper: {published.DOS_WITH_AGD} and {published.DOS_WITH_GOWER})."
    )


def parameter(name: str, lines: list[results.Line], figures: Path) -> dict[str, str]:
    """The figure shows the paper's score, the table also the consensus, where that was run."""
    values, default, logarithmic = PARAMETERS[name]
    rows, drawn = [], {}
    for score, base in SCORES.items():
        chosen = _with_values(results.finished(lines), name, base, default)
        if len({line["value"] for line in chosen}) < 2:
            continue
        for measure, title_of in MEASURES.items():
            wide = results.by_dataset(chosen, measure, column="value")
            wide = wide[[value for value in values if value in wide]].dropna()
            if score == "paper's score":
                drawn[title_of] = wide[wide.index.isin(SIX_DATASETS)]
            means = {value: number(wide[value].mean()) if value in wide else "-" for value in values}
            rows.append([f"{title_of}, {score}, mean of {len(wide)} datasets", *means.values()])
    if not drawn:
        return {}
    save(study_figures.parameter(drawn, values, name, default, logarithmic), figures / f"{name}.svg")
    return {name: table([name, *(f"{value:g}" for value in values)], rows)}


def _with_values(lines: list[results.Line], name: str, base: dict[str, Any], default: float) -> list[results.Line]:
    """Lines that differ from `base` in the parameter only; `base` itself stands for the default value."""
    chosen = []
    for line in lines:
        others = {key: value for key, value in line["parameters"].items() if key != name}
        if others == base:
            chosen.append(line | {"value": line["parameters"].get(name, default)})
    with_all = {line["dataset"] for line in chosen if line["value"] != default}
    return [line for line in chosen if line["dataset"] in with_all]


def scalability(lines: list[results.Line], figures: Path) -> dict[str, str]:
    """Judging is what training takes longer than with trees that are judged on one row each."""
    done = {(line["train_rows"], line["label"].split()[-1]): line for line in results.finished(lines)}
    rows = {}
    for size, kind in sorted(done):
        if kind == "pruned":
            own, bare = done[size, kind], done.get((size, "unjudged"))
            growing = min(bare["fit_cpu_seconds"], own["fit_cpu_seconds"]) if bare else float("nan")
            rows[own["n_train"]] = {
                "auc_roc": own["auc_roc"],
                "auc_pr": own["auc_pr"],
                "growing": growing,
                "judging": own["fit_cpu_seconds"] - growing,
                "testing": own["score_cpu_seconds"],
            }
    if not rows:
        return {}
    frame = pd.DataFrame(rows).T
    save(study_figures.scalability(frame), figures / "scalability.svg")
    cells = [
        [f"{size:,}", number(own["auc_roc"]), number(own["auc_pr"])]
        + [number(own[part], 1) for part in ("growing", "judging", "testing")]
        for size, own in frame.iterrows()
    ]
    head = ["training rows", "AUC-ROC", "AUC-PR", "growing, s", "judging and pruning, s", "testing, s"]
    return {"scalability": table(head, cells)}


def full(lines: list[results.Line], sampled: list[results.Line]) -> dict[str, str]:
    """The largest datasets: trained on all rows, beside the sample of the main comparison."""
    if not results.finished(lines):
        return {}
    everything = {measure: results.by_dataset(lines, measure) for measure in MEASURES}
    sample = {measure: results.by_dataset(sampled, measure) for measure in MEASURES}
    rows = []
    for dataset in everything["auc_roc"].index:
        for method in (name for name in METHODS if name in everything["auc_roc"]):
            n_train = max(line["n_train"] for line in results.finished(lines) if line["dataset"] == dataset)
            cells = []
            for measure in MEASURES:
                part = sample[measure].loc[dataset].get(method) if dataset in sample[measure].index else None
                cells += [number(everything[measure].loc[dataset, method]), number(part)]
            rows.append([str(dataset), title(method), f"{n_train:,}", *cells])
    head = ["dataset", "method", "rows", "AUC-ROC", "on the sample", "AUC-PR", "on the sample"]
    return {"full": table(head, rows, left=2)}
