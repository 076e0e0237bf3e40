"""What all figures share: colours, labels, names of rows and columns, and files."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rfod._io.interface import OutputError
from rfod._io.storage import replaced
from rfod._io.write import check_target
from rfod._table.table import check_columns
from rfod._views.distribution import printable
from rfod.detection import Detection

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Positions = NDArray[np.intp]

# Figures have no background of their own. Every colour keeps its contrast on light and dark pages, and the two that
# carry meaning differ for the colour-blind too.
OBSERVED = "#d55e00"
EXPECTED = "#2b83ba"
INK = "#777777"
FAINT = "rgba(128,128,128,0.25)"
BODY = "#a3a3a3"
EMPTY = "rgba(150,150,150,0.55)"
BAND = "rgba(43,131,186,0.22)"
SEQUENCE = "Viridis"  # low is dark, high is bright, as in the paper's heat maps

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")


def as_text(value: object, longest: int = 40) -> str:
    """A name or value as plotly shows it unchanged, on one line: plotly interprets tags, entities and $formulas$."""
    return html.escape(printable(value, longest), quote=False).replace("$", "&#36;")


def coloured(text: str, colour: str) -> str:
    """Escaped text in a colour."""
    return f'<span style="color:{colour}">{text}</span>'


def axis(**settings: Any) -> dict[str, Any]:
    """An axis with faint lines; settings are plotly's own."""
    faint = dict.fromkeys(("gridcolor", "linecolor", "tickcolor"), FAINT)
    return faint | {"zeroline": False, "automargin": True} | settings


def name_axis(labels: Sequence[str], **settings: Any) -> dict[str, Any]:
    """An axis whose places 0, 1, 2 ... have names."""
    return axis(tickvals=np.arange(len(labels)), ticktext=labels, showgrid=False, **settings)


def title(text: str, note: str = "") -> dict[str, Any]:
    """Title of a figure and a line below it, both already escaped."""
    below = f'<br><span style="font-size:12px">{note}</span>' if note else ""
    return {"text": text + below, "font": {"size": 16}, "x": 0, "xref": "container", "pad": {"l": 16}}


def slanted(labels: Sequence[str]) -> float:
    """Height in pixels of labels that are written at 45 degrees."""
    return 5.2 * max((len(html.unescape(label)) for label in labels), default=0)


def new_figure(data: list[dict[str, Any]], **layout: Any) -> Figure:
    """A plotly figure from plain traces and layout."""
    from plotly.graph_objects import Figure

    return styled(Figure(data=data), **layout)


def styled(figure: Figure, **layout: Any) -> Figure:
    """A figure with this layout, of which `height` is needed, on top of what all figures share."""
    shared: dict[str, Any] = {
        "template": "none",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": INK, "size": 12, "family": "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"},
        "hoverlabel": {"align": "left"},
        "margin": {"l": 60, "r": 20, "t": 80, "b": 50},
        "showlegend": False,
    }
    figure.update_layout(shared | layout)
    # In pixels, so that the title has the same place in figures of any height.
    figure.update_layout(title={"yref": "container", "y": 1 - 34 / figure.layout.height, "yanchor": "middle"})
    return figure


# ---------------------------------------------------------------------------------------------------- rows and columns


def column_numbers(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Positions of columns among the modelled ones."""
    check_columns(names, wanted, "draw", "modelled column")
    return [list(names).index(name) for name in wanted]


def row_labels(found: Detection, rows: Positions) -> list[str]:
    """Rows by their keys, or by their numbers where there is no key column."""
    return [as_text(key, 24) for key in found.keys.take(rows).to_pylist()]


# --------------------------------------------------------------------------------------------------------------- files


def save(figure: Figure, path: str | os.PathLike[str], *, scale: float = 2.0) -> None:
    """Write a figure to a file, in the format of its ending.

    `.html` is a page that works from disk and without a network. `.png`, `.svg`, `.pdf`, `.jpg` and `.webp` are
    pictures, which need the package kaleido and a Chrome or Chromium browser. `scale` multiplies the pixels of a
    picture. An error leaves an existing file as it was.
    """
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in (".html", *PICTURES):
        raise OutputError(
            f"{target}: no kind of figure has the ending {ending!r}. Hint: .html, or one of {', '.join(PICTURES)}."
        )
    check_target(str(target))
    if ending == ".html":
        content = str(figure.to_html(include_plotlyjs=True, include_mathjax=False)).encode()
    else:
        content = _picture(figure, ending.removeprefix("."), scale, target)
    with replaced(str(target)) as temporary:
        Path(temporary).write_bytes(content)


def _picture(figure: Figure, kind: str, scale: float, target: Path) -> bytes:
    hint = "Hint: save it as .html, which needs neither."
    try:
        import kaleido  # noqa: F401
    except ImportError as error:
        raise OutputError(
            f"{target}: pictures need the package kaleido, which is not installed (pip install 'rfod[pictures]'), and "
            f"a Chrome or Chromium browser. {hint}"
        ) from error
    try:
        return bytes(figure.to_image(format=kind, scale=scale))
    except Exception as error:  # every version of the exporter has its own
        reason = str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__
        raise OutputError(
            f"{target}: the picture could not be made ({reason}). Pictures need a Chrome or Chromium browser. {hint}"
        ) from error
