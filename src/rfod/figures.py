"""Figures of findings and forests, as plotly figures to show in a notebook or to save."""

from rfod._figures.distances import distances
from rfod._figures.forests import predictability, tree_fitness
from rfod._figures.heat_map import heat_map
from rfod._figures.row_analysis import row_analysis
from rfod._figures.saving import save
from rfod._figures.score_distribution import score_distribution

__all__ = [
    "distances",
    "heat_map",
    "predictability",
    "row_analysis",
    "save",
    "score_distribution",
    "tree_fitness",
]
