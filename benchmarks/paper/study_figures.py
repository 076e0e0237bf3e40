"""Figures of the studies: ablation, one parameter at a time, scalability."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from benchmarks.paper.drawing import OTHER, OWN, SERIES


def ablation(tables: dict[str, pd.DataFrame], complete: str) -> Figure:
    """What each change adds to the complete method: a point per dataset, the mean as a line; right is better."""
    figure, axes = plt.subplots(1, len(tables), figsize=(9.6, 3.4), sharey=True)
    for axis, (name, table) in zip(axes, tables.items(), strict=True):
        labels = [label for label in table if label != complete]
        for place, label in enumerate(reversed(labels)):
            change = (table[label] - table[complete]).dropna()
            axis.scatter(change, np.full(len(change), place), s=11, color=OTHER, alpha=0.6, lw=0)
            axis.plot([change.mean()] * 2, [place - 0.35, place + 0.35], color=OWN, lw=2)
        axis.axvline(0, color="#555", lw=0.8)
        axis.set_xlabel(f"{name}, minus the complete method (red: mean)")
        axis.set_yticks(range(len(labels)), list(reversed(labels)))
        axis.grid(axis="x", color="#eee")
        axis.set_axisbelow(True)
    figure.tight_layout()
    return figure


def parameter(
    tables: dict[str, pd.DataFrame], values: Sequence[float], name: str, default: float, logarithmic: bool
) -> Figure:
    """Lines over the values of a parameter, one per dataset."""
    figure, axes = plt.subplots(1, len(tables), figsize=(9.2, 3.0))
    for axis, (measure, table) in zip(axes, tables.items(), strict=True):
        for colour, (dataset, row) in zip(SERIES, table.iterrows(), strict=False):
            known = row.reindex(values).dropna()
            axis.plot(known.index, known, marker="o", ms=3, lw=1.2, color=colour, label=str(dataset))
        axis.axvline(default, color="#999", ls=":", lw=1)
        if logarithmic:
            axis.set_xscale("log")
        axis.set_xlabel(f"{name} (dotted: default)")
        axis.set_ylabel(measure)
        axis.grid(color="#f0f0f0")
    axes[-1].legend(fontsize=7, bbox_to_anchor=(1.02, 1), loc="upper left")
    figure.tight_layout()
    return figure


def scalability(table: pd.DataFrame) -> Figure:
    """Accuracy, and seconds split into growing, judging and testing, over training sizes."""
    figure, axes = plt.subplots(1, 2, figsize=(9.2, 2.9))
    for measure, colour in (("auc_roc", OTHER), ("auc_pr", OWN)):
        axes[0].plot(
            table.index, table[measure], marker="o", ms=3, color=colour, label=measure.replace("_", "-").upper()
        )
    axes[0].set(xscale="log", ylim=(0, 1.03), xlabel="training rows", ylabel="kdd")
    axes[0].legend()
    bottom = np.zeros(len(table))
    places = np.arange(len(table))
    for part, colour in (("growing", SERIES[0]), ("judging", SERIES[3]), ("testing", SERIES[2])):
        axes[1].bar(places, table[part], bottom=bottom, color=colour, label=part, width=0.6)
        bottom += table[part].to_numpy()
    axes[1].set_xticks(places, [f"{rows:,}" for rows in table.index])
    axes[1].set(xlabel="training rows", ylabel="seconds of processor time")
    axes[1].legend()
    figure.tight_layout()
    return figure
