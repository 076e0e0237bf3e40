"""One row against the training rows, column by column (right half of the paper's Figures 9 to 11)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._findings.conditions import grouped
from rfod._findings.explanations import LEVEL, CellExplanation
from rfod._model.blame import repaired_rows
from rfod._model.judged import JudgedTable
from rfod._table.columns import Column
from rfod._table.encode import decode_column, value_text
from rfod._table.values import UNSEEN, read_numbers
from rfod._views.distribution import ticks
from rfod._views.plotting import (
    BAND,
    BODY,
    EXPECTED,
    OBSERVED,
    as_text,
    axis,
    coloured,
    column_numbers,
    name_axis,
    row_labels,
    styled,
    title,
)
from rfod.detection import Detection
from rfod.exceptions import ParameterError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Floats = NDArray[np.float64]
N_COLUMNS = 3
N_BINS = 40
_PER_LINE = 3
_MOST_CATEGORIES = 8
_LONGEST_LINE = 36
_WIDTH, _HEIGHT = 280, 230  # of a panel, in pixels
_SIDE, _ACROSS, _DOWN, _TOP, _BOTTOM = 50, 60, 124, 148, 40  # left and right of the panels, between, above, below
_LABELS = 0.3  # share of a panel's width for the names of categories
_TAIL = 0.005  # share of the training values that may lie beyond either end of the axis
_ROOM = 0.35  # of the axis, at either end, for values of a cell that are rare in training


def row_analysis(found: Detection, row: int, columns: Sequence[str] | None = None) -> Figure:
    """Cells of a row against the training values of their columns.

    Grey bars: the column in training. Solid orange: the value in the row. Dashed blue: the expected value; shaded: the
    range expected in nine of ten such rows. For categories, blue bars are their probabilities in this row. Expected
    values are those of `Detection.explain`. `columns` are by default three: those to blame for the row
    (`Detection.blame`) and the most surprising others, in the order of their surprise.
    """
    from plotly.subplots import make_subplots

    row = int(found.positions([row])[0])
    if columns is None:
        order = [*found.judged.cell_order(row).tolist(), *range(len(found.columns))]
        wanted = list(dict.fromkeys([*found.judged.repairs(np.array([row]))[0].values, *order]))[:N_COLUMNS]
        picked = sorted(wanted, key=order.index)
    else:
        picked = column_numbers(found.columns, columns)
    if not picked:
        raise ParameterError("columns is empty; it must name at least one column.")
    n_across = min(_PER_LINE, len(picked))
    n_down = -(-len(picked) // n_across)
    width, height = n_across * (_WIDTH + _ACROSS) - _ACROSS, n_down * (_HEIGHT + _DOWN) - _DOWN
    has_panel = np.arange(n_down * n_across).reshape(n_down, n_across) < len(picked)
    figure = make_subplots(
        n_down,
        n_across,
        horizontal_spacing=_ACROSS / width,
        vertical_spacing=_DOWN / height,
        specs=[[{} if is_used else None for is_used in line] for line in has_panel],
    )
    cells = found.explainer.explain_cells([(row, j) for j in picked])
    panels = [_Panel(figure, k, found.judged, row, picked[k], cell) for k, cell in enumerate(cells)]
    return styled(
        figure,
        title=title(
            f"{as_text(found.key or 'row')} <b>{row_labels(found, np.array([row]))[0]}</b>",
            f"{coloured('observed', OBSERVED)} and {coloured(f'expected, with its {LEVEL:.0%} range', EXPECTED)}, "
            "over the column in training (grey)",
        ),
        margin={"l": _SIDE, "r": _SIDE, "t": _TOP, "b": _BOTTOM},
        barmode="overlay",
        # together: plotly copies all it has whenever one is added
        shapes=[shape for panel in panels for shape in panel.shapes],
        annotations=[note for panel in panels for note in panel.annotations],
        width=width + 2 * _SIDE,
        height=height + _TOP + _BOTTOM,
    )


class _Panel:
    """The picture of one cell, on the k-th pair of axes of the figure."""

    def __init__(self, figure: Figure, k: int, judged: JudgedTable, row: int, j: int, cell: CellExplanation) -> None:
        self._figure, self._judged, self._row, self._j, self._cell = figure, judged, row, j, cell
        self._column = judged.model.schema.columns[j]
        self._training: NDArray[Any] = judged.model.sample.values[j]
        self._read = judged.rows(np.array([row]))
        suffix = "" if k == 0 else str(k + 1)
        self._at = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        self._x, self._y = figure.layout[f"xaxis{suffix}"], figure.layout[f"yaxis{suffix}"]
        self._left, self._right = self._x.domain
        self.shapes: list[dict[str, Any]] = []
        self.annotations: list[dict[str, Any]] = []
        # bars with name, observed and expected value above them
        observed, expected = self._draw_categories() if self._column.is_categorical else self._draw_numbers()
        lines = [
            f"<b>{as_text(self._column.name, 36)}</b>",
            coloured(f"observed {observed}", OBSERVED),
            coloured(f"expected {expected}", EXPECTED),
        ]
        place = {"x": self._left, "y": self._y.domain[1], "xref": "paper", "yref": "paper", "yshift": 6}
        self._annotate("<br>".join(lines), **place, xanchor="left", yanchor="bottom", align="left")

    def _annotate(self, text: str, **settings: Any) -> None:
        self.annotations.append({"text": text, "showarrow": False} | settings)

    def _add_shape(self, low: float, high: float, **settings: Any) -> None:
        """A line or a rectangle over the whole height."""
        place = {"xref": self._at["xaxis"], "yref": f"{self._at['yaxis']} domain"}
        self.shapes.append(place | {"x0": low, "x1": high, "y0": 0, "y1": 1} | settings)

    def _draw_numbers(self) -> tuple[str, str]:
        """Bars of the training values with two lines and a band; observed and expected value in words."""
        column, cell, observed = self._column, self._cell, float(self._read.encoded[self._j][0])  # may be infinite
        expected, low, high = (np.nan if number is None else number for number in (cell.numbers or [None] * 4)[1:])
        finite = self._training[np.isfinite(self._training)]
        edges = _bin_edges(finite, [observed, expected, low, high])
        places = _positions(column, edges)

        def place(value: float) -> float:
            return float(_positions(column, np.clip([value], edges[0], edges[-1]))[0])

        self._figure.add_bar(
            x=(places[:-1] + places[1:]) / 2,
            # values beyond the axis are counted in its outer bins
            y=np.histogram(np.clip(finite, edges[0], edges[-1]), edges)[0] / max(1, len(finite)),
            width=np.diff(places),
            marker={"color": BODY, "line": {"width": 0}},
            hovertemplate="%{y:.1%} of the training rows<extra></extra>",
            **self._at,
        )
        room = 0.02 * (places[-1] - places[0])  # so that lines at the ends are seen whole
        x = axis(range=[places[0] - room, places[-1] + room], showgrid=False, nticks=5, exponentformat="none")
        if column.kind == "datetime":
            x["type"] = "date"
        elif column.kind != "numeric":
            named = ticks(column, edges[0], edges[-1])
            x |= {"tickvals": named, "ticktext": value_text(column, named)}
        self._x.update(x)
        self._y.update(axis(tickformat=".0%", rangemode="tozero", nticks=4))
        words = as_text(cell.expected)
        if cell.low is not None and cell.high is not None:
            self._add_shape(place(low), place(high), type="rect", fillcolor=BAND, line={"width": 2, "color": BAND})
            extent = f"({as_text(cell.low)} to {as_text(cell.high)})"
            if cell.low != cell.high:
                words += ("<br>" if len(words) + len(extent) > _LONGEST_LINE else " ") + extent
        for value, colour, dash in ((expected, EXPECTED, "dash"), (observed, OBSERVED, "solid")):
            if not np.isnan(value):
                stroke = {"color": colour, "width": 2.5, "dash": dash}
                self._add_shape(place(value), place(value), type="line", line=stroke)
        if observed < edges[0] or observed > edges[-1]:
            self._add_arrow(observed > edges[-1])
        return as_text(grouped(cell.observed)), words

    def _add_arrow(self, at_right: bool) -> None:
        """A sign at the end of the axis that the observed value lies further out."""
        place = {"xref": f"{self._at['xaxis']} domain", "yref": f"{self._at['yaxis']} domain", "y": 0.5}
        place |= {"x": float(at_right), "xanchor": "right" if at_right else "left"}
        font = {"color": OBSERVED, "size": 20}
        self._annotate("→" if at_right else "←", **place, xshift=-12 if at_right else 12, font=font)

    def _draw_categories(self) -> tuple[str, str]:
        """Bars of the shares in training, narrower ones of the probabilities here; observed and expected in words."""
        column, cell = self._column, self._cell
        observed, expected, here = self._codes_and_shares()
        present = self._training[self._training >= 0]
        training = np.bincount(present, minlength=len(here)) / max(1, len(present))
        # The cell itself comes first, then what was likely here, then what is frequent.
        wanted = [observed, expected, *np.argsort(-here, kind="stable")[:4], *np.argsort(-training, kind="stable")]
        codes = [int(code) for code in dict.fromkeys(wanted) if code >= 0][:_MOST_CATEGORIES]
        codes.sort(key=lambda code: (-here[code], -training[code]))
        labels = [as_text(text, 18) for text in value_text(column, np.array(codes, dtype=np.int32))]
        bars = [training[codes].tolist(), here[codes].tolist()]
        words = as_text(cell.observed)
        if observed in codes:
            labels[codes.index(observed)] = f"<b>{coloured(labels[codes.index(observed)], OBSERVED)}</b>"
        elif observed == UNSEEN:
            labels.append(f"<b>{coloured(as_text(cell.observed, 18), OBSERVED)}</b>")
            bars = [[*shares, 0.0] for shares in bars]
            words += " (never seen)"
        if len(codes) < len(here):
            labels.append(f"{len(here) - len(codes):,} others")
            bars = [[*shares, max(0.0, 1 - sum(shares))] for shares in bars]
        hover = ("%{x:.1%} of the training rows<extra></extra>", "probability here %{x:.1%}<extra></extra>")
        for shares, thickness, colour, template in zip(bars, (0.8, 0.3), (BODY, EXPECTED), hover, strict=True):
            bar = {"x": shares, "y": np.arange(len(labels)), "width": thickness, "marker": {"color": colour}}
            self._figure.add_bar(orientation="h", hovertemplate=template, **bar, **self._at)
        domain = [self._left + _LABELS * (self._right - self._left), self._right]
        self._x.update(axis(tickformat=".0%", rangemode="tozero", nticks=4, domain=domain))
        self._y.update(name_axis(labels, autorange="reversed"))
        return words, as_text(cell.expected) + (f" ({here[expected]:.0%})" if expected >= 0 else "")

    def _codes_and_shares(self) -> tuple[int, int, Floats]:
        """Codes of the observed and the expected category, and the probability of each: given the row as it is, or
        with its cells to blame repaired where this is one of them."""
        judged, j, rows = self._judged, self._j, self._read
        observed, expected = int(rows.encoded[j][0]), int(judged.cells.expected[j][self._row])
        if self._cell.blamed:
            repair = judged.repairs(np.array([self._row]))[0]
            expected, rows = int(repair.values[j]), repaired_rows(judged.model, rows, [repair])
        return observed, expected, judged.conditional.shares(rows, j)[0]


# --------------------------------------------------------------------------------------------------- axes of numbers


def _bin_edges(finite: Floats, others: Sequence[float]) -> Floats:
    """Bins of training values, over an axis that reaches as far as the other values where that is not too far.

    Bins are around each value where these are few and evenly spaced, such as counts; elsewhere as many as `N_BINS`.
    """
    low, high = np.quantile(finite, [_TAIL, 1 - _TAIL]) if len(finite) else (0.0, 0.0)
    wanted = [other for other in others if np.isfinite(other)]
    if high <= low:
        low, high = min([low, *wanted]), max([high, *wanted])
    room = (high - low) * _ROOM
    low, high = max(low - room, min([low, *wanted])), min(high + room, max([high, *wanted]))
    if high <= low:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    distinct = np.unique(finite[(finite >= low) & (finite <= high)])
    steps = np.diff(distinct)
    step = float(steps.min(initial=np.inf))
    if not len(steps) or high - low > N_BINS * step or not np.allclose(np.rint(steps / step), steps / step, atol=1e-6):
        return np.linspace(low, high, N_BINS + 1)
    n_below, n_above = np.rint((distinct[0] - low) / step), np.rint((high - distinct[0]) / step)
    return np.asarray(distinct[0] + step * (np.arange(-n_below, n_above + 2) - 0.5))


def _positions(column: Column, values: NDArray[Any]) -> Floats:
    """Encoded values on a plotly axis: dates as milliseconds, in the local time of the column's zone."""
    if column.kind != "datetime":
        return np.asarray(values, dtype=np.float64)
    moments = pa.chunked_array([decode_column(column, values)])
    if getattr(moments.type, "tz", None) is not None:
        with suppress(pa.ArrowException):  # a zone this machine does not know
            values = read_numbers(pc.local_timestamp(moments))
    return values * 1000
