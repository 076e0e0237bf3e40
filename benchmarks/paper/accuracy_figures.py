"""Figures of the main comparison: averages, values per dataset, one against one, and times."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from benchmarks.paper import ranks
from benchmarks.paper.drawing import FAINT, OTHER, OWN, title
from benchmarks.paper.metrics import LOWER_IS_BETTER


def averages(means: dict[str, pd.DataFrame], names: dict[str, str]) -> Figure:
    """One panel per measure: the mean over datasets, best on top; a method that misses datasets is drawn pale."""
    figure, axes = plt.subplots(1, len(means), figsize=(10.5, 3.0))
    for axis, (measure, table) in zip(axes, means.items(), strict=True):
        values = table.mean().sort_values(ascending=measure not in LOWER_IS_BETTER)
        complete = table.notna().all()
        colours = [OWN if name == "rfod" else OTHER if complete[name] else FAINT for name in values.index]
        axis.barh([title(name) for name in values.index], values, color=colours)
        for place, value in enumerate(values):
            axis.text(value, place, f" {value:.2f}", va="center", fontsize=6)
        axis.set_title(names[measure] + (" (lower is better)" if measure in LOWER_IS_BETTER else ""))
        axis.set_xlim(0, values.max() * 1.18)
        axis.tick_params(axis="y", labelsize=7, length=0)
    figure.tight_layout()
    return figure


def heat_map(table: pd.DataFrame) -> Figure:
    """Datasets by methods; the best of each dataset is framed."""
    figure, axis = plt.subplots(figsize=(8.6, 4.6))
    values = table.to_numpy()
    axis.imshow(values, cmap="viridis", aspect="auto", vmin=np.nanmin(values), vmax=1.0)
    middle = (np.nanmin(values) + 1.0) / 2
    for row in range(len(table)):
        best = np.nanmax(values[row])
        for column in range(table.shape[1]):
            value = values[row, column]
            text = "-" if np.isnan(value) else f"{value:.2f}"
            axis.text(
                column,
                row,
                text,
                ha="center",
                va="center",
                fontsize=7,
                fontweight="bold" if value == best else "normal",
                color="white" if value < middle else "black",
            )
            if value == best:
                axis.add_patch(
                    plt.Rectangle((column - 0.48, row - 0.48), 0.96, 0.96, fill=False, edgecolor=OWN, lw=1.6)
                )
    axis.set_xticks(range(table.shape[1]), [title(name) for name in table], rotation=35, ha="right")
    axis.set_yticks(range(len(table)), table.index)
    axis.tick_params(length=0)
    for side in axis.spines.values():
        side.set_visible(False)
    return figure


def pairwise(table: pd.DataFrame, measure: str, own: str = "rfod") -> Figure:
    """A point per dataset, the other method on x, RFOD on y; dashed lines are ten percent apart."""
    others = [name for name in table if name != own]
    n_columns = 4
    n_rows = -(-len(others) // n_columns)
    figure, axes = plt.subplots(n_rows, n_columns, figsize=(9.2, 2.5 * n_rows), squeeze=False)
    low = max(0.0, float(np.nanmin(table.to_numpy())) - 0.05)
    line = np.array([low, 1.02])
    for axis, other in zip(axes.flat, others, strict=False):
        result = ranks.duel(table[own], table[other])
        axis.plot(line, line, color="#555", lw=0.8)
        axis.plot(line, line * (1 + ranks.MARGIN), color="#999", lw=0.7, ls="--")
        axis.plot(line, line / (1 + ranks.MARGIN), color="#999", lw=0.7, ls="--")
        ahead = table[own] > table[other]
        axis.scatter(table[other], table[own], c=np.where(ahead, OWN, OTHER), s=14, zorder=3)
        axis.set(xlim=line, ylim=line, xlabel=title(other), aspect="equal")
        axis.set_title(
            f"difference {result.average_difference:+.3f}\n"
            f"ahead {result.share_ahead:.0%}, by 10 % {result.share_ahead_by_margin:.0%}",
            fontsize=7,
        )
    for axis in axes[:, 0]:
        axis.set_ylabel(f"RFOD, {measure}")
    for axis in axes.flat[len(others) :]:
        axis.set_visible(False)
    figure.tight_layout()
    return figure


def times(fit: pd.DataFrame, score: pd.DataFrame) -> Figure:
    """Processor seconds per method, a point per dataset, logarithmic."""
    figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.4), sharey=True)
    order = fit.median().sort_values(ascending=False).index
    for axis, table, name in ((axes[0], fit, "training"), (axes[1], score, "testing")):
        for place, method in enumerate(order):
            values = table[method].dropna()
            colour = OWN if method == "rfod" else OTHER
            axis.scatter(values, np.full(len(values), place), s=10, color=colour, alpha=0.55, lw=0)
            axis.plot([values.median()] * 2, [place - 0.32, place + 0.32], color=colour, lw=2)
        axis.set_xscale("log")
        axis.set_xlabel(f"{name}, seconds of processor time (line: median)")
        axis.grid(axis="x", color="#eee")
        axis.set_axisbelow(True)
    axes[0].set_yticks(range(len(order)), [title(name) for name in order])
    figure.tight_layout()
    return figure


def shares_of_time(per_feature: pd.Series, per_sample: pd.Series) -> Figure:
    """RFOD's time per feature (training) and per sample (testing), a bar per dataset."""
    figure, axes = plt.subplots(1, 2, figsize=(9.2, 2.8))
    for axis, values, unit, name in (
        (axes[0], per_feature * 1e3, "ms", "time per feature (TPF), training"),
        (axes[1], per_sample * 1e6, "µs", "time per sample (TPS), testing"),
    ):
        axis.bar(values.index, values, color=OWN, alpha=0.75, hatch="///", edgecolor="white")
        axis.set_title(name)
        axis.set_ylabel(unit)
        axis.tick_params(axis="x", rotation=55)
        for label in axis.get_xticklabels():
            label.set_ha("right")
    figure.tight_layout()
    return figure
