"""Scores of cells over rows and columns (left half of the paper's Figures 9 to 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rfod._views.picking import Rows, column_number, picked_rows, row_label, row_ticks
from rfod._views.style import EMPTY, SEQUENCE, as_text, axis, new_figure, slanted, title
from rfod.detection import Detection
from rfod.exceptions import ParameterError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Floats = NDArray[np.float64]
Measure = Literal["score", "surprise"]
N_ROWS = 50
# Scores of categories end at 1, and a number that is as far off is far off enough; so is a chance of one in a million.
_BRIGHTEST: dict[Measure, float] = {"score": 1.0, "surprise": 6.0}
_TITLES: dict[Measure, str] = {"score": "Cell scores", "surprise": "Surprise of cells"}
_MOST_LABELS = 60  # a label takes some 16 pixels of height
_MOST_TEXTS = 20_000  # cells that tell on hovering what was observed and expected; beyond, only their score


def heat_map(
    found: Detection,
    rows: NDArray[Any] | Sequence[int] | None = None,
    *,
    columns: Sequence[str] | None = None,
    measure: Measure = "score",
    limit: float | None = None,
    sort: bool = True,
) -> Figure:
    """Cell scores of some rows as colours: bright cells are far from what the rest of their row leads to expect.

    Rows are positions or a mask, by default the 50 with the highest scores; the highest stands on top. `sort=False`
    keeps the order given. Columns are all by default, the brightest first; names keep their order. `measure` is "score"
    (the paper's cell score) or "surprise" (one unit for all columns). Colours end at `limit`: by default at the highest
    value shown, but at most at a score of 1 or a surprise of 6. Cells without a score, which are missing, are grey.
    """
    if measure not in ("score", "surprise"):
        raise ParameterError(f"measure is {measure!r}; it must be 'score' or 'surprise'.")
    if limit is not None and not limit > 0:
        raise ParameterError(f"limit is {limit!r}; it must be a number above 0.")
    order = np.argsort(-found.row_scores, kind="stable")
    shown = order[:N_ROWS] if rows is None else picked_rows(found, rows)
    if rows is not None and sort:
        shown = shown[np.argsort(-found.row_scores[shown], kind="stable")]
    values = (found.cell_scores if measure == "score" else found.surprise)[shown]
    top = limit or _highest(values, measure)
    if columns is not None:
        picked = np.array([column_number(found.columns, name) for name in columns], dtype=np.intp)
    else:
        picked = np.argsort(-np.minimum(np.nan_to_num(values), top).sum(axis=0), kind="stable")
    cells = values[:, picked]
    capped = bool(np.any(cells > top))
    names = [as_text(found.columns[j], 24) for j in picked]
    few = len(shown) <= _MOST_LABELS
    return new_figure(
        [
            {
                "type": "heatmap",
                "z": cells,
                "zmin": 0.0,
                "zmax": top,
                "colorscale": SEQUENCE,
                "hovertext": _hover(found, shown, picked, cells, measure),
                "hoverinfo": "text",
                "xgap": 1,
                "ygap": 1 if few else 0,
                "colorbar": _colour_bar(top, capped, measure),
            }
        ],
        title=title(_TITLES[measure], "; ".join(_notes(len(shown), sort, bool(np.isnan(cells).any())))),
        plot_bgcolor=EMPTY,
        xaxis=axis(
            tickvals=np.arange(len(picked)),
            ticktext=names,
            side="top",
            showgrid=False,
            tickangle=-45,
        ),
        yaxis=axis(showgrid=False, **row_ticks(found, shown, _MOST_LABELS)),
        width=min(1600, 220 + max(320, 34 * len(picked))),
        height=min(1400, int(90 + slanted(names)) + max(120, (16 if few else 6) * len(shown))),
        margin={"l": 60, "r": 20, "t": 70 + slanted(names), "b": 20},
    )


def _notes(n_rows: int, sort: bool, has_gaps: bool) -> list[str]:
    order = "the highest row score on top" if sort else "in the order given"
    return [f"{n_rows:,} rows, {order}", *(["grey cells are missing"] if has_gaps else [])]


def _highest(values: Floats, measure: Measure) -> float:
    """Where colours end if nothing else is said."""
    return min(float(np.nanmax(values, initial=0.0)), _BRIGHTEST[measure]) or 1.0


def _colour_bar(top: float, capped: bool, measure: Measure) -> dict[str, Any]:
    ticks = np.linspace(0.0, top, 5)
    labels = [f"{tick:.2g}" for tick in ticks]
    if capped:
        labels[-1] = f"≥ {labels[-1]}"
    return {"title": {"text": measure}, "tickvals": ticks, "ticktext": labels, "thickness": 12, "outlinewidth": 0}


def _hover(found: Detection, shown: Rows, picked: Rows, cells: Floats, measure: Measure) -> list[list[str]]:
    """Per cell: row, column, what stands there, what was expected, score."""
    keys = [f"{as_text(found.key or 'row')} {row_label(found, row)}" for row in shown]
    names = [as_text(found.columns[j]) for j in picked]
    told = [""] * cells.size
    if cells.size <= _MOST_TEXTS:
        places = [(row, j) for row in shown for j in picked]
        pairs = zip(found._texts(places, observed=True), found._texts(places, observed=False), strict=True)
        told = [f"<br>{as_text(observed)} (expected {as_text(expected)})" for observed, expected in pairs]
    texts = [
        f"{key}<br>{name}{told[i * len(names) + j]}"
        + ("" if np.isnan(cells[i, j]) else f"<br>{measure} {cells[i, j]:.3g}")
        for i, key in enumerate(keys)
        for j, name in enumerate(names)
    ]
    return [texts[start : start + len(names)] for start in range(0, len(texts), max(1, len(names)))]
