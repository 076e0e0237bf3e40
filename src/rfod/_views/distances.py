"""Adjusted Gower's Distance against Gower's and its interquartile form, on one column (the paper's Figure 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rfod._model.cell_scores import Distance, numeric_range
from rfod._model.model import Fitted, Model
from rfod._table.columns import Column
from rfod._table.encode import encode_column, value_text
from rfod._table.table import open_table
from rfod._table.values import family, plain, read_numbers, value_type
from rfod._views.marginal import Marginal, marginal, positions
from rfod._views.picking import column_number, picked_rows, row_label
from rfod._views.style import BODY, EXPECTED, KEPT, OBSERVED, as_text, axis, coloured, new_figure, title
from rfod.detection import Detection
from rfod.exceptions import ParameterError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Floats = NDArray[np.float64]
_NAMES: dict[Distance, str] = {"gower": "Gower", "agd": "AGD", "gower-iqr": "IQR-Gower"}
_COLOURS: dict[Distance, str] = {"gower": "#8c6bb1", "agd": KEPT, "gower-iqr": "#a6761d"}
_KINDS = {"number": "numeric", "datetime": "datetime", "time": "time", "duration": "duration"}
_ALPHA = 0.02


@dataclass(frozen=True)
class _Difference:
    """What is measured: how far apart two values are, and in which words."""

    size: float
    words: str
    observed: float = np.nan
    expected: float = np.nan


def distances(
    source: Fitted | Detection | Any, column: str, *, row: int | None = None, alpha: float | None = None
) -> Figure:
    """What three distances make of one difference in a numeric column.

    Each divides the difference by a range of the column in training: Gower's distance by all of it, IQR-Gower by its
    middle half, AGD by that between the `alpha` and 1 - `alpha` quantiles. The line on the right runs over `alpha`.
    `source` is a `Detection` (the difference between observed and expected in a `row`, by default in the one that
    scores highest in this column), a fitted detector, or a table (a difference as wide as AGD's range). `alpha` is by
    default that of the detector, 0.02 for a table.
    """
    known, values, fitted_alpha = _training_values(source, column)
    alpha = fitted_alpha if alpha is None else alpha
    if not 0 < alpha < 0.5:
        raise ParameterError(f"alpha is {alpha!r}; it must be a number between 0 and 0.5, both excluded.")
    values = values[np.isfinite(values)]
    if len(values) == 0 or values.min() == values.max():
        raise ParameterError(
            f"Column {column!r} has fewer than two different values, so there is no range to divide by."
        )
    ranges = {distance: numeric_range(values, distance, alpha) for distance in _NAMES}
    if isinstance(source, Detection):
        difference = _found_difference(source, known, row)
    else:
        difference = _Difference(ranges["agd"], "a difference as wide as the range of AGD")
    spread = marginal(known, values, difference.observed, difference.expected, tail=0.0)
    return new_figure(
        [spread.bars(BODY), *_curve(values, difference.size, alpha), *_points(ranges, difference.size, alpha)],
        title=title(
            f"Distances in <b>{as_text(column)}</b>",
            f"left: the column in training and the range that each distance divides by; right: {difference.words}",
        ),
        xaxis=spread.axis(domain=[0, 0.5]),
        yaxis=axis(tickformat=".0%", rangemode="tozero", domain=[0, 0.76], nticks=5, title={"text": "share of rows"}),
        xaxis2=axis(domain=[0.72, 1], anchor="y2", title={"text": "alpha"}, range=[-0.02, 0.3], showgrid=False),
        yaxis2=axis(anchor="x2", title={"text": "distance"}, rangemode="tozero"),
        shapes=[*_brackets(spread, values, alpha), *_lines(spread, difference)],
        annotations=_bracket_names(ranges, known),
        width=960,
        height=400,
    )


def _training_values(source: Any, column: str) -> tuple[Column, Floats, float]:
    """The column, its values in training, and alpha."""
    model = source._model if isinstance(source, Detection) else getattr(source, "model_", None)
    if isinstance(model, Model):
        j = column_number([known.name for known in model.schema.columns], column)
        if model.schema.columns[j].is_categorical:
            raise ParameterError(_categorical_message(column))
        return model.schema.columns[j], model.sample.values[j], float(model.params["alpha"])
    table = open_table(source)
    column_number(table.names, column)
    values = plain(table.column(column))
    kind = _KINDS.get(family(value_type(values.type)))
    if kind is None:
        raise ParameterError(_categorical_message(column))
    known = Column(column, kind, str(values.type))  # type: ignore[arg-type]
    return known, read_numbers(values, known.kind), _ALPHA


def _categorical_message(column: str) -> str:
    return (
        f"Column {column!r} is not numeric: its cells have no range to divide by. For categories AGD is 1 minus the "
        "probability of what was observed, Gower's distance 0 or 1."
    )


def _found_difference(found: Detection, column: Column, row: int | None) -> _Difference:
    j = column_number(found.columns, column.name)
    scores = np.nan_to_num(found.cell_scores[:, j], nan=-1.0)
    row = int(scores.argmax() if row is None else picked_rows(found, [row])[0])
    observed = float(encode_column(found._table, column)[row])
    expected = float(found._judged.expected[j][row])
    if not np.isfinite(observed - expected):
        raise ParameterError(f"Row {row} has no finite value in column {column.name!r}; there is nothing to measure.")
    texts = [as_text(text) for text in value_text(column, np.array([observed, expected]))]
    words = (
        f"{as_text(found.key or 'row')} {row_label(found, row)}, {coloured(f'observed {texts[0]}', OBSERVED)}, "
        f"{coloured(f'expected {texts[1]}', EXPECTED)}"
    )
    return _Difference(abs(observed - expected), words, observed, expected)


def _curve(values: Floats, difference: float, alpha: float) -> list[dict[str, Any]]:
    """The distance as a function of alpha."""
    alphas = np.linspace(0.0, max(0.25, min(0.45, 1.2 * alpha)), 51)
    ranges = np.diff(np.quantile(values, [alphas, 1 - alphas]), axis=0)[0]
    scores = np.divide(difference, ranges, out=np.full(len(ranges), np.nan), where=ranges > 0)
    line = {"type": "scatter", "mode": "lines", "x": alphas, "y": scores, "line": {"color": BODY, "width": 2}}
    return [line | {"xaxis": "x2", "yaxis": "y2", "hovertemplate": "alpha %{x:.2f}: %{y:.3g}<extra></extra>"}]


def _points(ranges: dict[Distance, float], difference: float, alpha: float) -> list[dict[str, Any]]:
    places: dict[Distance, float] = {"gower": 0.0, "agd": alpha, "gower-iqr": 0.25}
    return [
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": [places[distance]],
            "y": [difference / ranges[distance]],
            "text": [f"{_NAMES[distance]} {difference / ranges[distance]:.2f}"],
            "textposition": "top left" if distance == "gower-iqr" else "middle right",
            "textfont": {"color": _COLOURS[distance]},
            "marker": {"color": _COLOURS[distance], "size": 10},
            "cliponaxis": False,
            "xaxis": "x2",
            "yaxis": "y2",
            "hoverinfo": "skip",
        }
        for distance in _NAMES
    ]


def _heights() -> dict[Distance, float]:
    """Where the three ranges are drawn above the bars."""
    return {"gower": 0.96, "agd": 0.89, "gower-iqr": 0.82}


def _brackets(spread: Marginal, values: Floats, alpha: float) -> list[dict[str, Any]]:
    tails: dict[Distance, float] = {"gower": 0.0, "agd": alpha, "gower-iqr": 0.25}
    lines = []
    for distance, height in _heights().items():
        low, high = positions(spread.column, np.quantile(values, [tails[distance], 1 - tails[distance]]))
        stroke = {"color": _COLOURS[distance], "width": 6}
        place = {"xref": "x", "yref": "paper", "x0": low, "x1": high, "y0": height, "y1": height}
        lines.append({"type": "line", "line": stroke} | place)
    return lines


def _bracket_names(ranges: dict[Distance, float], column: Column) -> list[dict[str, Any]]:
    names = []
    for distance, height in _heights().items():
        unit = value_text(column, np.array([ranges[distance]]))[0] if column.kind == "numeric" else ""
        text = coloured(f"{_NAMES[distance]} {as_text(unit)}".rstrip(), _COLOURS[distance])
        place = {"xref": "paper", "yref": "paper", "x": 0.51, "y": height, "xanchor": "left", "yanchor": "middle"}
        names.append({"text": text, "showarrow": False} | place)
    return names


def _lines(spread: Marginal, difference: _Difference) -> list[dict[str, Any]]:
    """Observed solid, expected dashed, where there is a row."""
    lines = []
    for value, colour, dash in ((difference.observed, OBSERVED, "solid"), (difference.expected, EXPECTED, "dash")):
        if np.isfinite(value):
            place = {
                "xref": "x",
                "yref": "y domain",
                "x0": spread.place(value),
                "x1": spread.place(value),
                "y0": 0,
                "y1": 1,
            }
            lines.append({"type": "line", "line": {"color": colour, "width": 2.5, "dash": dash}} | place)
    return lines
