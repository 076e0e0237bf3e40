"""Figures of findings and forests, as plotly figures to show in a notebook or to save."""

from rfod._views.distances import distances
from rfod._views.forests import predictability, tree_fitness
from rfod._views.heat_map import heat_map
from rfod._views.row_analysis import row_analysis
from rfod._views.saving import save
from rfod._views.score_distribution import score_distribution

__all__ = [
    "distances",
    "heat_map",
    "predictability",
    "row_analysis",
    "save",
    "score_distribution",
    "tree_fitness",
]
