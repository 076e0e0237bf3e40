"""Is a row of probability 0.8 anomalous in four of five cases? Log-loss, reliability, and rates of false findings.

    python -m benchmarks.probabilities                 # the paper's datasets, one split
    python -m benchmarks.probabilities --part rates    # flag(fdr=) on new rows of synthetic tables

Log-loss three ways: each method's own probability (PyOD's `predict_proba`; `row_probability_given` of rfod, with the
share of anomalies, which PyOD calls contamination), scores from their lowest to their highest as 0 to 1, and the scores
of all methods put through rfod's transform, calibrated out of fold for the others. All probabilities are kept off 0 and
1 by one in a thousand. At most TRAIN_ROWS and TEST_ROWS rows, drawn at random.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rfod
from benchmarks import datasets, record
from benchmarks.decision.synthetic import SORTS
from benchmarks.paper.encoding import Encoder
from benchmarks.paper.metrics import LEAST_PROBABILITY, probabilities
from rfod._model.calibrate import conformal_p_values
from rfod._model.local_fdr import anomaly_probability

TRAIN_ROWS, TEST_ROWS, TREES, FOLDS, BINS = 2_000, 6_000, 50, 3, 10
RATES = (0.05, 0.1, 0.2)
N_TRAIN, N_WRONG, FAR = (
    600,
    40,
    6.0,
)  # rows of 1,000 to learn from, wrong rows among the others, spreads of a wrong cell
Floats = NDArray[np.float64]


def pyod_methods(seed: int, share: float) -> dict[str, Callable[[], Any]]:
    """The classical baselines as PyOD has them; its contamination is at most one half."""
    from pyod.models.ecod import ECOD
    from pyod.models.iforest import IForest
    from pyod.models.lof import LOF
    from pyod.models.ocsvm import OCSVM

    share = float(np.clip(share, 1e-4, 0.5))
    return {
        "IF": lambda: IForest(contamination=share, random_state=seed),
        "LOF": lambda: LOF(n_neighbors=20, novelty=True, contamination=share),
        "OCSVM": lambda: OCSVM(contamination=share),
        "ECOD": lambda: ECOD(contamination=share),
    }


def losses(labels: NDArray[np.int8], own: Floats, scores: Floats, calibration: Floats) -> dict[str, float]:
    """The three ways, and the transform with an estimated share."""
    share, p_values = float(labels.mean()), conformal_p_values(scores, np.sort(calibration))
    found = {
        "own": own,
        "scaled": probabilities(scores),
        "transformed": anomaly_probability(p_values, len(calibration), share),
        "transformed, share estimated": anomaly_probability(p_values, len(calibration)),
    }
    return {way: float(log_loss(labels, kept_off(chance))) for way, chance in found.items()}


def kept_off(chance: Floats) -> Floats:
    """Not nearer to 0 or 1 than one in a thousand."""
    return np.clip(chance, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)


def compare(name: str, seed: int = 0) -> list[dict[str, Any]]:
    """All methods on one split of a dataset."""
    whole = datasets.split(datasets.load(name), seed)
    generator = np.random.default_rng([seed, 6])
    kept, tested = (
        np.sort(generator.permutation(n)[:most])
        for n, most in ((len(whole.train), TRAIN_ROWS), (len(whole.test), TEST_ROWS))
    )
    train, test = (part.iloc[rows].reset_index(drop=True) for part, rows in ((whole.train, kept), (whole.test, tested)))
    labels = whole.labels[tested]
    share = float(labels.mean())
    found = rfod.RFOD(TREES, random_state=seed, n_jobs=1, keep_evidence=False).fit(train).detect(test)
    own = found.row_probability_given(share)
    lines = [
        {
            "method": "RFOD",
            **losses(labels, own, found.row_scores, found.judged.model.calibration),
            "given": reliability(labels, own),
            "estimated": reliability(labels, found.row_probability),
        }
    ]
    encoder = Encoder().fit(train)
    known, new = encoder.transform(train), encoder.transform(test)
    for title, make in pyod_methods(seed, share).items():
        model = make().fit(known)
        chance = np.asarray(model.predict_proba(new)[:, 1])
        lines.append(
            {"method": title, **losses(labels, chance, model.decision_function(new), out_of_fold(make, known, seed))}
        )
    lines.append({"method": "constant", "own": float(log_loss(labels, kept_off(np.full(len(labels), share))))})
    return [{"dataset": name, "rows": len(labels), "share": share} | line for line in lines]


def out_of_fold(make: Callable[[], Any], known: Floats, seed: int) -> Floats:
    """Scores of the training rows, each by a model that was not fitted to them."""
    fold = np.random.default_rng([seed, 7]).permutation(len(known)) % FOLDS
    scores = np.empty(len(known))
    for number in range(FOLDS):
        scores[fold == number] = make().fit(known[fold != number]).decision_function(known[fold == number])
    return scores


def reliability(labels: NDArray[np.int8], chance: Floats) -> list[dict[str, float]]:
    """Per tenth of the probability: rows, mean probability, share of anomalies."""
    place = np.minimum((chance * BINS).astype(int), BINS - 1)
    return [
        {"rows": int(here.sum()), "probability": float(chance[here].mean()), "anomalies": float(labels[here].mean())}
        for here in (place == number for number in range(BINS))
        if here.any()
    ]


def rates(n_seeds: int) -> list[dict[str, Any]]:
    """Shares of false findings among rows flagged at a rate, in new rows of which some have one wrong cell."""
    found = []
    for sort, make in SORTS.items():
        for seed in range(n_seeds):
            generator = np.random.default_rng([seed, 8])
            values = make(np.random.default_rng(seed))
            train, test = values[:N_TRAIN], values[N_TRAIN:].copy()
            columns = generator.integers(values.shape[1], size=N_WRONG)
            test[np.arange(N_WRONG), columns] += FAR * train.std(axis=0)[columns]
            judged = rfod.RFOD(TREES, random_state=0, n_jobs=1, keep_evidence=False).fit(train).detect(test)
            for rate in RATES:
                flagged = judged.flag(fdr=rate)
                n_false = int(flagged[N_WRONG:].sum())
                found.append(
                    {
                        "sort": sort,
                        "seed": seed,
                        "rate": rate,
                        "false": n_false / max(1, int(flagged.sum())),
                        "found": float(flagged[:N_WRONG].mean()),
                    }
                )
        for rate in RATES:
            own = [line for line in found if line["sort"] == sort and line["rate"] == rate]
            means = {key: round(float(np.mean([line[key] for line in own])), 3) for key in ("false", "found")}
            print(f"{sort:<16} rate {rate:<5} {means}", flush=True)
    return found


def draw(results: list[dict[str, Any]], path: Path) -> None:
    """Reliability curves: a panel for the share given, one for the share estimated."""
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True, layout="constrained")
    own = [line for line in results if line["method"] == "RFOD"]
    for panel, key, title in zip(panels, ("given", "estimated"), ("share given", "share estimated"), strict=True):
        panel.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1)
        for line in own:
            points = [point for point in line[key] if point["rows"] >= 20]
            x, y = ([point[name] for point in points] for name in ("probability", "anomalies"))
            panel.plot(x, y, color="0.75", linewidth=0.8, marker=".", markersize=3)
        bins = pooled([line[key] for line in own])
        panel.plot(*zip(*bins, strict=True), color="#c1121f", marker="o", linewidth=1.8, label="mean of 15 datasets")
        panel.set(title=title, xlabel="probability that a row is anomalous", xlim=(0, 1), ylim=(0, 1))
    panels[0].set_ylabel("share of anomalies among such rows")
    panels[0].legend(loc="upper left", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def pooled(curves: list[list[dict[str, float]]]) -> list[tuple[float, float]]:
    """Mean probability and mean share of anomalies per tenth, every dataset with 20 such rows counting alike."""
    points = [point for curve in curves for point in curve if point["rows"] >= 20]
    places = [min(int(point["probability"] * BINS), BINS - 1) for point in points]
    return [
        (
            float(np.mean([point["probability"] for point, own in zip(points, places, strict=True) if own == place])),
            float(np.mean([point["anomalies"] for point, own in zip(points, places, strict=True) if own == place])),
        )
        for place in sorted(set(places))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("losses", "rates"), default="losses")
    parser.add_argument("--datasets", nargs="+", default=["all"])
    parser.add_argument("--seeds", type=int, default=10, help="of the synthetic tables")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    head = {"machine": record.machine(), **record.commit()}
    if arguments.part == "rates":
        content = head | {"seeds": arguments.seeds, "results": rates(arguments.seeds)}
        record.write_json(record.RESULTS / "false_rows.json", content)
        return
    results: list[dict[str, Any]] = []
    for name in datasets.names(arguments.datasets):
        results += compare(name)
        print(name, {line["method"]: round(line["own"], 3) for line in results if line["dataset"] == name}, flush=True)
    frame = pd.DataFrame([{k: v for k, v in line.items() if not isinstance(v, list)} for line in results])
    means = frame.groupby("method").mean(numeric_only=True).drop(columns=["rows", "share"])
    print(means.round(3).to_string())
    content = head | {"train_rows": TRAIN_ROWS, "test_rows": TEST_ROWS, "trees": TREES, "results": results}
    record.write_json(record.RESULTS / "probabilities.json", content)
    draw(results, datasets.REPOSITORY / "docs" / "figures" / "benchmarks" / "reliability.png")


if __name__ == "__main__":
    main()
