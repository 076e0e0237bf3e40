"""Figures of the paper's illustrations, from results/illustrations.json."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from benchmarks.paper.drawing import FAINT, OWN, SERIES

GREEN, ORANGE, PURPLE = SERIES[2], SERIES[3], SERIES[4]


def pruning(tasks: list[dict[str, Any]]) -> Figure:
    """Bars: fitness of each tree, best first. Line: test error of the best trees; dashed: of all trees."""
    figure, axes = plt.subplots(1, len(tasks), figsize=(9.6, 2.8))
    for axis, task in zip(axes, tasks, strict=True):
        n_trees = len(task["fitness"])
        axis.bar((np.arange(n_trees) + 0.5) / n_trees, task["fitness"], width=1 / n_trees, color=GREEN, alpha=0.45)
        axis.set(xlabel="share of trees kept (beta)", ylabel="R² of each tree")
        error = axis.twinx()
        error.spines["right"].set_visible(True)
        error.plot(task["betas"], task["errors"], color=ORANGE, marker="o", ms=2.5)
        error.axhline(task["errors"][-1], color=ORANGE, ls="--", lw=0.9)
        error.set_ylabel("test MSE")
        gain = 1 - min(task["errors"]) / task["errors"][-1]
        axis.set_title(f"{task['dataset']}, {task['column']}: best at {task['best_beta']:.2f}, MSE {-gain:+.1%}")
    figure.tight_layout()
    return figure


def agd(example: dict[str, Any]) -> Figure:
    """Where the values lie, what the three distances make of two rows, and how AGD follows alpha."""
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 2.8), width_ratios=[1.5, 1, 1.2])
    rows = example["rows"]
    training = np.asarray(example["training"])
    axes[0].hist(training, bins=60, color=FAINT)
    axes[0].set_yscale("log")
    for name, solid, dashed in (("normal", GREEN, GREEN), ("outlier", OWN, PURPLE)):
        axes[0].axvline(rows[name]["observed"], color=solid, lw=1.4, label=f"{name}: observed")
        axes[0].axvline(rows[name]["expected"], color=dashed, lw=1.4, ls="--", label=f"{name}: expected")
    axes[0].set(xlabel=f"{example['dataset']}, {example['column']}", ylabel="share of training rows")
    axes[0].set_yticks([])
    axes[0].legend(fontsize=6)
    kinds = list(rows["normal"]["distances"])
    for offset, (name, colour) in enumerate((("normal", GREEN), ("outlier", OWN))):
        values = [rows[name]["distances"][kind] for kind in kinds]
        places = np.arange(len(kinds)) + 0.4 * offset - 0.2
        axes[1].bar(places, values, width=0.38, color=colour, label=name)
        for place, value in zip(places, values, strict=True):
            axes[1].text(place, value, f"{value:.2f}", ha="center", va="bottom", fontsize=6)
        alphas = [float(alpha) for alpha in rows[name]["by_alpha"]]
        axes[2].plot(alphas, list(rows[name]["by_alpha"].values()), marker="o", ms=3, color=colour, label=name)
    axes[1].set_xticks(range(len(kinds)), kinds)
    axes[1].set_title(f"distance (AGD at alpha {example['alpha']})")
    axes[2].set(xscale="log", xlabel="alpha", title="AGD over alpha")
    axes[2].legend()
    figure.tight_layout()
    return figure
