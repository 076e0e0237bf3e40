"""What all figures share: colours, text that stays text, and the way from plain dicts to a plotly figure."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# Figures have no background of their own. Every colour keeps its contrast on a light page and on a dark one, and the
# three that carry meaning are told apart without red and green.
OBSERVED = "#d55e00"
EXPECTED = "#2b83ba"
KEPT = "#1b9e77"
INK = "#777777"
FAINT = "rgba(128,128,128,0.25)"
BODY = "#a3a3a3"
EMPTY = "rgba(150,150,150,0.55)"
BAND = "rgba(43,131,186,0.22)"
SEQUENCE = "Viridis"  # low is dark, high is bright, as in the paper's heat maps; in order for the colour-blind too

_LONGEST_LABEL = 40


def as_text(value: object, longest: int = _LONGEST_LABEL) -> str:
    """Anything from a table as plotly shows it unchanged, on one line.

    Plotly reads tags, entities and formulas between dollar signs in every label.
    """
    text = str(value)
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    text = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
    return html.escape(text, quote=False).replace("$", "&#36;")


def coloured(text: str, colour: str) -> str:
    """Escaped text in a colour."""
    return f'<span style="color:{colour}">{text}</span>'


def axis(**settings: Any) -> dict[str, Any]:
    """An axis with quiet lines; settings are plotly's own."""
    quiet = {"gridcolor": FAINT, "linecolor": FAINT, "zeroline": False, "automargin": True, "tickcolor": FAINT}
    return quiet | settings


def title(text: str, note: str = "") -> dict[str, Any]:
    """Title of a figure and a line below it, both already escaped."""
    below = f'<br><span style="font-size:12px">{note}</span>' if note else ""
    return {"text": text + below, "font": {"size": 16}, "x": 0, "xref": "container", "pad": {"l": 16}}


def slanted(labels: list[str]) -> float:
    """Pixels that these labels take above a figure when they are written at 45 degrees."""
    return 5.2 * max((len(html.unescape(label)) for label in labels), default=0)


def new_figure(data: list[dict[str, Any]], **layout: Any) -> Figure:
    """A plotly figure from plain traces and layout."""
    from plotly.graph_objects import Figure

    shared: dict[str, Any] = {
        "template": "none",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": INK, "size": 12, "family": "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"},
        "hoverlabel": {"align": "left"},
        "margin": {"l": 60, "r": 20, "t": 80, "b": 50},
        "showlegend": False,
    }
    figure = Figure(data=data, layout=shared | layout)
    # In pixels, so that the title stays where it is in figures of any height.
    figure.update_layout(title={"yref": "container", "y": 1 - 34 / figure.layout.height, "yanchor": "middle"})
    return figure
