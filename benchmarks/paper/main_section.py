"""Tables and figures of the main comparison."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks import datasets
from benchmarks.paper import accuracy_figures, published, ranks, results
from benchmarks.paper.drawing import save, title
from benchmarks.paper.markdown import folded, means_and_spreads, number, table
from benchmarks.paper.methods import METHODS
from benchmarks.paper.metrics import LOWER_IS_BETTER, METRICS

NAMES = {"auc_roc": "AUC-ROC", "auc_pr": "AUC-PR", "f1": "F1", "accuracy": "Accuracy", "log_loss": "Log-loss"}
MAIN_MEASURES = ("auc_roc", "auc_pr")
# The defaults were settled looking at these (docs/design.md).
USED_FOR_DEFAULTS = ("pima", "ionosphere", "wine", "thyroid", "bank")


class MainComparison:
    """The lines of the study "main", as tables of datasets by methods per measure."""

    def __init__(self, lines: list[results.Line]) -> None:
        self._lines = lines
        paired = results.on_common_seeds(lines, [name for name, method in METHODS.items() if method.ranked])
        self._means = {measure: _ordered(results.by_dataset(paired, measure)) for measure in METRICS}
        self._methods = list(self._means["auc_roc"])
        self._n_splits = sorted(results.by_dataset(paired, "auc_roc", column="method", how="count").max(axis=1))
        self._ranked = [name for name in self._methods if METHODS[name].ranked]

    def fragments(self, figures: Path) -> dict[str, str]:
        """Pieces of the page by name; figures are saved in the folder `figures`."""
        others = tuple(name for name in datasets.ALL if name not in USED_FOR_DEFAULTS)
        found = {
            "ran": self._ran(),
            "unfinished": self._unfinished(),
            "ranks": self._ranks_on(datasets.ALL, with_paper=True),
            "ranks_untouched": self._ranks_on(others, with_paper=False),
            "used_for_defaults": ", ".join(USED_FOR_DEFAULTS),
            "other_forms": self._other_forms(),
            "values": "\n".join(
                folded(f"{NAMES[measure]}, mean ± standard deviation over seeds", self._values(measure))
                for measure in METRICS
            ),
            "times": self._times(),
            "epochs": self._epochs(),
        }
        ranked = {measure: self._means[measure][self._ranked] for measure in METRICS}
        save(accuracy_figures.averages(ranked, NAMES), figures / "averages.svg")
        for measure in MAIN_MEASURES:
            save(accuracy_figures.heat_map(self._means[measure]), figures / f"{measure}.svg")
        save(accuracy_figures.times(*self._seconds()), figures / "times.svg")
        if "rfod" in self._ranked:
            found["verdict"], found["places"], found["pairwise"] = self._verdict(), self._places(), self._pairwise()
            save(
                accuracy_figures.pairwise(self._means["auc_roc"][self._compared()], "AUC-ROC"), figures / "pairwise.svg"
            )
            shares = [
                results.by_dataset(self._lines, field)["rfod"]
                for field in ("seconds_per_feature", "seconds_per_sample")
            ]
            save(accuracy_figures.shares_of_time(*shares), figures / "shares_of_time.svg")
        return found

    def _ran(self) -> str:
        statuses = results.counts(self._lines)
        seeds = results.by_dataset(self._lines, "auc_roc", how="count")
        rows = []
        for name in self._methods:
            others = [f"{count} {status}" for status, count in statuses.loc[name].items() if status != "ok" and count]
            low, high = int(seeds[name].min()), int(seeds[name].max())
            rows.append(
                [
                    title(name),
                    str(self._n_datasets(name)),
                    str(low) if low == high else f"{low} to {high}",
                    str(int(statuses.loc[name].get("ok", 0))),
                    ", ".join(others) or "-",
                    METHODS[name].note or "the library's defaults",
                ]
            )
        return table(["method", "datasets", "seeds", "units", "without result", "settings"], rows)

    def _unfinished(self) -> str:
        listed = [
            f"{title(line['method'])} on {line['dataset']}, seed {line['seed']}: {line['status']}"
            + (f" ({line['error']})" if line.get("error") else "")
            for line in self._lines
            if line["status"] != "ok"
        ]
        return "\n".join(f"* {text}" for text in listed) or "No unit failed or passed a limit."

    def _average_ranks(self, names: tuple[str, ...], all_seeds: bool = False) -> pd.DataFrame:
        columns = {}
        for measure in METRICS:
            values = results.by_dataset(self._lines, measure) if all_seeds else self._means[measure]
            values = values.loc[values.index.isin(names), self._ranked]
            columns[measure] = ranks.average_ranks(values, measure in LOWER_IS_BETTER)
        return pd.DataFrame(columns)

    def _ranks_on(self, names: tuple[str, ...], with_paper: bool) -> str:
        frame = self._average_ranks(names)
        present = self._means["auc_roc"].loc[self._means["auc_roc"].index.isin(names)].notna().sum()
        best = frame.min()
        rows = []
        for name, own in frame.sort_values("auc_roc").iterrows():
            cells = []
            for place, measure in enumerate(METRICS):
                value = f"{own[measure]:.2f}"
                value = f"**{value}**" if own[measure] == best[measure] else value
                cells.append(value + (f" ({published.AVERAGE_RANKS[str(name)][place]:.2f})" if with_paper else ""))
            rows.append([title(str(name)), str(present[name]), *cells])
        return table(["method", "datasets", *(NAMES[measure] for measure in METRICS)], rows)

    def _verdict(self) -> str:
        """Where RFOD stands by each measure, and who is ahead of it, in words."""
        frame = self._average_ranks(datasets.ALL)
        sentences = []
        for measure in METRICS:
            order = frame[measure].sort_values()
            place = int(frame[measure].rank(method="min")["rfod"])
            ahead = [f"{title(str(name))} {value:.2f}" for name, value in order.items() if value < order["rfod"]]
            sentences.append(
                f"* {NAMES[measure]}: {order['rfod']:.2f}, place {place} of {len(order)}"
                + (f"; ahead of it: {', '.join(ahead)}" if ahead else "")
                + "."
            )
        low, high = int(self._n_splits[0]), int(self._n_splits[-1])
        splits = str(low) if low == high else f"{low} to {high}"
        every = self._average_ranks(datasets.ALL, all_seeds=True)
        second = every.drop("rfod").min()
        sentences.append(
            f"\nThese are ranks on the splits that all eleven methods have run ({splits} per dataset).\n"
            "By the means over all seeds that each method has, which are not the same splits for all:\n"
            + ", ".join(
                f"{NAMES[measure]} {every.loc['rfod', measure]:.2f} (best other {second[measure]:.2f})"
                for measure in METRICS
            )
            + "."
        )
        return "\n".join(sentences) + "\n"

    def _places(self) -> str:
        """RFOD on each dataset, beside the best of the others."""
        rows = []
        for dataset in self._means["auc_roc"].index:
            cells = [str(dataset) + (" †" if dataset in USED_FOR_DEFAULTS else "")]
            for measure in MAIN_MEASURES:
                own = self._means[measure].loc[dataset, self._ranked]
                if pd.isna(own["rfod"]):
                    cells += ["-", "-", "-"]
                    continue
                others = own.drop("rfod").sort_values(ascending=False)
                margin = own["rfod"] - others.iloc[0]
                lead = "ahead of" if margin > 0 else "behind"
                place = int((others > own["rfod"]).sum()) + 1
                cells += [number(own["rfod"]), str(place), f"{abs(margin):.3f} {lead} {title(str(others.index[0]))}"]
            rows.append(cells)
        head = ["dataset", "AUC-ROC", "place", "against the best other", "AUC-PR", "place", "against the best other"]
        firsts = " and ".join(
            f"on {sum(row[column] == '1' for row in rows)} of {len(rows)} by {measure}"
            for measure, column in (("AUC-ROC", 2), ("AUC-PR", 5))
        )
        return f"RFOD is first of the eleven {firsts}.\n\n" + table(head, rows)

    def _other_forms(self) -> str:
        """Methods outside the eleven: the average rank of each among the baselines, and RFOD's on the same splits."""
        rows = []
        field = [name for name in self._ranked if name != "rfod"]
        for name in self._methods:
            if name in self._ranked:
                continue
            low, high = results.n_paired(self._lines, self._ranked, name)
            cells = []
            for measure in MAIN_MEASURES:
                values = results.paired(self._lines, self._ranked, name, measure)
                for value in (name, "rfod"):
                    if value in values:
                        rank = ranks.average_ranks(values[[*field, value]])[value]
                        cells += [number(values[value].mean()), f"{rank:.2f}"]
                    else:
                        cells += ["-", "-"]
            splits = str(low) if low == high else f"{low} to {high}"
            rows.append([title(name), str(len(values)), splits, *cells])
        head = ["method", "datasets", "splits"]
        for measure in MAIN_MEASURES:
            head += [f"{NAMES[measure]}, mean", "rank", "RFOD's mean", "RFOD's rank"]
        return table(head, rows)

    def _values(self, measure: str) -> str:
        """Over all seeds, common or not."""
        means = _ordered(results.by_dataset(self._lines, measure))
        spreads = results.by_dataset(self._lines, measure, how="std")
        return means_and_spreads(means, spreads, [title(name) for name in means], measure in LOWER_IS_BETTER)

    def _compared(self) -> list[str]:
        return [*self._ranked, *(name for name in ("knn",) if name in self._methods)]

    def _pairwise(self) -> str:
        values = self._means["auc_roc"]
        rows = []
        for name in self._compared():
            if name == "rfod":
                continue
            result = ranks.duel(values["rfod"], values[name])
            theirs = published.DIFFERENCES.get(name)
            rows.append(
                [
                    title(name),
                    str(result.n_datasets),
                    f"{result.average_difference:+.3f}" + (f" ({theirs:+.2f})" if theirs else ""),
                    f"{result.share_ahead:.0%}",
                    f"{result.share_ahead_by_margin:.0%}",
                ]
            )
        return table(["RFOD against", "datasets", "average difference", "ahead", "ahead by 10 %"], rows)

    def _seconds(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        fit, score = (
            _ordered(results.by_dataset(self._lines, name)) for name in ("fit_cpu_seconds", "score_cpu_seconds")
        )
        return fit, score

    def _times(self) -> str:
        fit, score = self._seconds()
        peak = results.by_dataset(self._lines, "peak_mb", how="max")
        rows = [
            [
                title(name),
                f"{fit[name].median():.2f}",
                f"{fit[name].max():.1f}",
                f"{score[name].median():.2f}",
                f"{score[name].max():.1f}",
                f"{peak[name].max():.0f}",
            ]
            for name in fit
        ]
        return table(["method", "training, median s", "most", "testing, median s", "most", "peak memory, MB"], rows)

    def _epochs(self) -> str:
        """Of the deep methods, per dataset."""
        trained = [line for line in self._lines if "epochs" in line]
        if not trained:
            return ""
        epochs = _ordered(results.by_dataset(trained, "epochs"))
        rows = [[title(name), *(number(value, 0) for value in own)] for name, own in epochs.T.iterrows()]
        return table(["epochs", *epochs.index], rows)

    def _n_datasets(self, name: str) -> int:
        return int(self._means["auc_roc"][name].notna().sum())


def _ordered(values: pd.DataFrame) -> pd.DataFrame:
    return values[[name for name in METHODS if name in values]]
