"""One row against the training rows, column by column (right half of the paper's Figures 9 to 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rfod._table.columns import Column
from rfod._table.encode import cell_text, encode_column, value_text
from rfod._views.marginal import marginal
from rfod._views.picking import column_number, picked_rows, row_label
from rfod._views.style import BAND, BODY, EXPECTED, OBSERVED, as_text, axis, coloured, new_figure, title
from rfod.detection import Detection
from rfod.exceptions import ParameterError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Floats = NDArray[np.float64]
N_COLUMNS = 3
_PER_LINE = 3
_MOST_CATEGORIES = 8
_LONGEST_LINE = 36
_WIDTH, _HEIGHT, _TOP = 340, 230, 64  # of a panel, and of the title, in pixels
_GAP, _HEAD, _FOOT = 60, 84, 40  # between panels; above a panel for its title; below it for labels


def row_analysis(found: Detection, row: int, columns: Sequence[str] | None = None, *, level: float = 0.9) -> Figure:
    """How each suspicious cell of a row stands to the training values of its column.

    Grey bars: the column in training. Solid orange: what stands in the row. Dashed blue: what the rest of the row leads
    to expect; shaded: the interval in which such a cell lies with probability `level`. For categories, blue bars are
    the probabilities that the rest of the row gives them. `columns` are by default three: those to blame for the row
    (`Detection.blame`), then the most surprising ones.
    """
    row = int(picked_rows(found, [row])[0])
    if not 0 < level < 1:
        raise ParameterError(f"level is {level!r}; it must be a number between 0 and 1, both excluded.")
    if columns is None:
        blamed = [column_number(found.columns, name) for name in found.blame(row).columns]
        surprising = np.argsort(-found.surprise[row], kind="stable").tolist()
        picked = list(dict.fromkeys([*blamed, *surprising]))[:N_COLUMNS]
    else:
        picked = [column_number(found.columns, name) for name in columns]
    if not picked:
        raise ParameterError("columns is empty; it must name at least one column.")
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"annotations": [], "shapes": []}
    n_across = min(_PER_LINE, len(picked))
    n_lines = -(-len(picked) // n_across)
    width, height = 40 + n_across * _WIDTH, _TOP + n_lines * (_HEIGHT + _HEAD + _FOOT)
    for number, j in enumerate(picked):
        panel = _Panel(number, number % n_across, number // n_across, width, height)
        if found._model.schema.columns[j].is_categorical:
            _draw_categories(panel, found, row, j, data, layout)
        else:
            _draw_numbers(panel, found, row, j, level, data, layout)
    return new_figure(
        data,
        title=title(
            f"{as_text(found.key or 'row')} <b>{row_label(found, row)}</b>",
            f"{coloured('observed', OBSERVED)} and {coloured(f'expected, with its {level:.0%} interval', EXPECTED)}, "
            "over the column in training (grey)",
        ),
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        barmode="overlay",
        width=width,
        height=height,
        **layout,
    )


class _Panel:
    """The place of one column's picture: its axes and its share of the figure."""

    def __init__(self, number: int, across: int, down: int, width: int, height: int) -> None:
        self.suffix = "" if number == 0 else str(number + 1)
        left = 20 + across * _WIDTH + _GAP / 2
        top = _TOP + down * (_HEIGHT + _HEAD + _FOOT) + _HEAD
        self.x_domain = [left / width, (left + _WIDTH - _GAP) / width]
        self.y_domain = [1 - (top + _HEIGHT) / height, 1 - top / height]

    def add_axes(self, layout: dict[str, Any], x: dict[str, Any], y: dict[str, Any], label_share: float = 0.0) -> None:
        """Both axes; labels of the vertical one may take a share of the panel's width."""
        left, right = self.x_domain
        domain = [left + label_share * (right - left), right]
        layout["xaxis" + self.suffix] = x | {"domain": domain, "anchor": "y" + self.suffix}
        layout["yaxis" + self.suffix] = y | {"domain": self.y_domain, "anchor": "x" + self.suffix}

    def trace(self, trace: dict[str, Any]) -> dict[str, Any]:
        return trace | {"xaxis": "x" + self.suffix, "yaxis": "y" + self.suffix}

    def add_title(self, layout: dict[str, Any], name: str, observed: str, expected: str) -> None:
        told = coloured(f"observed {observed}", OBSERVED), coloured(f"expected {expected}", EXPECTED)
        text = "<br>".join([f"<b>{as_text(name, 36)}</b>", *told])
        place = {"xref": "paper", "yref": "paper", "x": self.x_domain[0], "y": self.y_domain[1]}
        anchor = {"xanchor": "left", "yanchor": "bottom", "align": "left", "showarrow": False, "yshift": 6}
        layout["annotations"].append({"text": text} | place | anchor)

    def add_line(self, layout: dict[str, Any], place: float, colour: str, dash: str) -> None:
        layout["shapes"].append(
            self._over_height(place, place) | {"type": "line", "line": {"color": colour, "width": 2.5, "dash": dash}}
        )

    def add_band(self, layout: dict[str, Any], low: float, high: float) -> None:
        layout["shapes"].append(
            self._over_height(low, high) | {"type": "rect", "fillcolor": BAND, "line": {"width": 2, "color": BAND}}
        )

    def add_arrow(self, layout: dict[str, Any], at_right: bool) -> None:
        """A sign at the end of the axis that the observed value lies further out."""
        sign = {"text": "→" if at_right else "←", "showarrow": False, "font": {"color": OBSERVED, "size": 20}}
        place = {"xref": f"x{self.suffix} domain", "yref": f"y{self.suffix} domain", "x": float(at_right), "y": 0.5}
        layout["annotations"].append(
            sign | place | {"xanchor": "right" if at_right else "left", "xshift": -12 if at_right else 12}
        )

    def _over_height(self, low: float, high: float) -> dict[str, Any]:
        references = {"xref": "x" + self.suffix, "yref": f"y{self.suffix} domain"}
        return references | {"x0": low, "x1": high, "y0": 0, "y1": 1}


def _draw_numbers(
    panel: _Panel,
    found: Detection,
    row: int,
    j: int,
    level: float,
    data: list[dict[str, Any]],
    layout: dict[str, Any],
) -> None:
    """Bars of the training values with two lines and a band."""
    column = found._model.schema.columns[j]
    observed = float(encode_column(found._table, column)[row])
    expected = float(found._judged.expected[j][row])
    lows, highs = found.intervals([row], level)
    low, high = float(lows[0, j]), float(highs[0, j])
    spread = marginal(column, found._model.sample.values[j], observed, expected, low, high)
    data.append(panel.trace(spread.bars(BODY)))
    panel.add_axes(layout, spread.axis(), axis(tickformat=".0%", rangemode="tozero", nticks=4))
    texts = [as_text(text) for text in value_text(column, _rounded(column, np.array([expected, low, high])))]
    told = texts[0]
    if np.isfinite(low) and np.isfinite(high):
        panel.add_band(layout, spread.place(low), spread.place(high))
        interval = f"({texts[1]} to {texts[2]})" if texts[1] != texts[2] else f"(mostly {texts[1]})"
        told += f"{'<br>' if len(told) + len(interval) > _LONGEST_LINE else ' '}{interval}"
    if np.isfinite(expected):
        panel.add_line(layout, spread.place(expected), EXPECTED, "dash")
    if not np.isnan(observed):
        panel.add_line(layout, spread.place(observed), OBSERVED, "solid")
        if spread.is_beyond(observed):
            panel.add_arrow(layout, observed > spread.edges[-1])
    panel.add_title(layout, column.name, as_text(cell_text(column, found._table, np.array([row]))[0]), told)


def _rounded(column: Column, values: Floats) -> Floats:
    """A value and the ends of its interval without the digits that the width of the interval makes idle."""
    width = float(values[2] - values[1])
    if not np.isfinite(width) or width <= 0:
        return values
    if column.kind == "numeric":
        step = 10.0 ** np.floor(np.log10(width / 20))
    else:
        step = max((unit for unit in (1.0, 60.0, 3600.0, 86_400.0) if unit <= width / 20), default=0.0)
    return np.asarray(np.rint(values / step) * step) if step else values


def _draw_categories(
    panel: _Panel, found: Detection, row: int, j: int, data: list[dict[str, Any]], layout: dict[str, Any]
) -> None:
    """Bars of the shares in training, narrower ones of the probabilities in this row."""
    column = found._model.schema.columns[j]
    observed = int(encode_column(found._table, column)[row])
    expected = int(found._judged.expected[j][row])
    codes = found._model.sample.values[j]
    n_categories = len(column.categories)
    known = codes[codes >= 0]
    shares = np.bincount(known, minlength=n_categories) / max(1, len(known))
    code_of = {category: code for code, category in enumerate(column.categories)}
    probabilities = np.zeros(n_categories)
    for category, probability in found.likely(row, column.name, n_categories):
        probabilities[code_of[category]] = probability
    # The cell itself comes first, then what was likely here, then what is frequent.
    wanted = [observed, expected, *np.argsort(-probabilities, kind="stable")[:4], *np.argsort(-shares, kind="stable")]
    shown = [int(code) for code in dict.fromkeys(wanted) if code >= 0][:_MOST_CATEGORIES]
    shown.sort(key=lambda code: (-probabilities[code], -shares[code]))
    labels = [as_text(text, 18) for text in value_text(column, np.array(shown, dtype=np.int32))]
    labels = [
        f"<b>{coloured(text, OBSERVED)}</b>" if code == observed else text
        for code, text in zip(shown, labels, strict=True)
    ]
    in_training, here = shares[shown].tolist(), probabilities[shown].tolist()
    observed_text = as_text(cell_text(column, found._table, np.array([row]))[0])
    if observed < 0 and observed_text != "missing":
        labels.append(f"<b>{coloured(as_text(observed_text, 18), OBSERVED)}</b>")
        in_training, here = [*in_training, 0.0], [*here, 0.0]
        observed_text += " (never seen)"
    n_others = n_categories - len(shown)
    if n_others:
        labels.append(f"{n_others:,} others")
        in_training.append(max(0.0, 1 - sum(in_training)))
        here.append(max(0.0, 1 - sum(here)))
    places = np.arange(len(labels))
    sides = {"type": "bar", "orientation": "h", "y": places}
    data.append(
        panel.trace(
            sides
            | {"x": in_training, "width": 0.8, "marker": {"color": BODY}}
            | {"hovertemplate": "%{x:.1%} of the training rows<extra></extra>"}
        )
    )
    data.append(
        panel.trace(
            sides
            | {"x": here, "width": 0.3, "marker": {"color": EXPECTED}}
            | {"hovertemplate": "probability here %{x:.1%}<extra></extra>"}
        )
    )
    panel.add_axes(
        layout,
        axis(tickformat=".0%", rangemode="tozero", nticks=4),
        axis(autorange="reversed", tickvals=places, ticktext=labels, showgrid=False),
        label_share=0.3,
    )
    told = as_text(value_text(column, np.array([expected]))[0])
    if expected >= 0:
        told += f" ({probabilities[expected]:.0%})"
    panel.add_title(layout, column.name, observed_text, told)
