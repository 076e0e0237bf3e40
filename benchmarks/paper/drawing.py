"""How all figures of the page look, and how they are saved: small SVG files that are the same from the same numbers."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from benchmarks.paper.methods import METHODS

OWN = "#c0392b"
OTHER = "#34607f"
FAINT = "#b8c4cc"
SERIES = ("#34607f", "#c0392b", "#3a8f5c", "#d98e04", "#7b4fa3", "#5d6d7e", "#a0522d", "#1f9e9e")

mpl.rcParams.update(
    {
        "font.size": 8,
        "font.family": "sans-serif",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 8,
        "legend.frameon": False,
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "rfod",
    }
)


def title(method: str) -> str:
    return METHODS[method].title if method in METHODS else method


def save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)
    plt.close(figure)
