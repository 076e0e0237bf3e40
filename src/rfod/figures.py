"""Figures of findings and forests, as plotly figures to show in a notebook or to save."""

from rfod._views.plotting import save
from rfod._views.row_figure import row_analysis
from rfod._views.table_figures import heat_map, predictability, score_distribution

__all__ = ["heat_map", "predictability", "row_analysis", "save", "score_distribution"]
