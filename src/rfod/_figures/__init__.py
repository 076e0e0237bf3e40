"""Figures, one file each: plain data and layout first, a plotly figure at the end."""
