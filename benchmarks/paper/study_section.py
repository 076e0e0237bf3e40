"""Tables and figures of the studies: ablation, parameters, scalability, the largest datasets in full."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.paper import published, results, study_figures
from benchmarks.paper.drawing import save, title
from benchmarks.paper.markdown import folded, means_and_spreads, number, table
from benchmarks.paper.methods import METHODS
from benchmarks.paper.studies import ALPHAS, BETAS, COMPLETE, TREES

MEASURES = {"auc_roc": "AUC-ROC", "auc_pr": "AUC-PR"}
# parameter: its values, its default, whether the axis is logarithmic
PARAMETERS = {
    "alpha": (ALPHAS, 0.02, True),
    "beta": (BETAS, 0.5, False),
    "n_estimators": (TREES, 100, True),
}


def ablation(lines: list[results.Line], figures: Path) -> dict[str, str]:
    if not results.finished(lines):
        return {}
    order = list(dict.fromkeys(line["label"] for line in lines))
    means = {}
    for measure in MEASURES:
        wide = results.by_dataset(lines, measure, column="label")
        means[measure] = wide[[label for label in order if label in wide]]
    save(
        study_figures.ablation({MEASURES[key]: value for key, value in means.items()}, COMPLETE),
        figures / "ablation.svg",
    )
    rows = []
    for label in means["auc_roc"]:
        cells = [label, str(int(means["auc_roc"][label].notna().sum()))]
        for measure in MEASURES:
            change = (means[measure][label] - means[measure][COMPLETE]).dropna()
            cells += [number(means[measure][label].mean()), f"{change.mean():+.3f}", f"{(change > 0).sum()}"]
            cells += [f"{(change < 0).sum()}"]
        rows.append(cells)
    head = ["variant", "datasets"]
    for name in MEASURES.values():
        head += [name, "change", "better on", "worse on"]
    values = "\n".join(
        folded(
            f"Ablation, {name} per dataset",
            means_and_spreads(
                means[measure], results.by_dataset(lines, measure, column="label", how="std"), list(means[measure])
            ),
        )
        for measure, name in MEASURES.items()
    )
    return {"ablation": table(head, rows) + "\n" + values, "ablation_dos": _dos(means["auc_roc"])}


def _dos(values: pd.DataFrame) -> str:
    if "dos" not in values.index:
        return "dos has not run yet."
    own = values.loc["dos"]
    return (
        f"On dos AUC-ROC is {number(own.get(COMPLETE))} with AGD and {number(own.get('with Gower'))} with Gower's "
        f"distance (paper: {published.DOS_WITH_AGD} and {published.DOS_WITH_GOWER})."
    )


def parameter(name: str, lines: list[results.Line], figures: Path) -> dict[str, str]:
    if not results.finished(lines):
        return {}
    values, default, logarithmic = PARAMETERS[name]
    flat = [line | {"value": line["parameters"][name]} for line in lines]
    tables = {title: results.by_dataset(flat, measure, column="value") for measure, title in MEASURES.items()}
    known = [value for value in values if value in next(iter(tables.values()))]
    save(study_figures.parameter(tables, known, name, default, logarithmic), figures / f"{name}.svg")
    rows = []
    for measure, wide in tables.items():
        complete = wide[known].dropna()
        rows.append(
            [f"{measure}, mean of {len(complete)} datasets", *(number(complete[value].mean()) for value in known)]
        )
    return {name: table([name, *(f"{value:g}" for value in known)], rows)}


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
