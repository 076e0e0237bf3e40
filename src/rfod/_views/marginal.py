"""How one column is spread in training: bins over an axis in the column's own unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._table.columns import Column
from rfod._table.encode import decode_column, value_text
from rfod._table.values import read_numbers
from rfod._views.style import axis

Floats = NDArray[np.float64]
N_BINS = 40
_TAIL = 0.005  # share of the training values that may lie beyond either end of the axis
_ROOM = 0.35  # of the axis, at either end, for values of a cell that training hardly knows
_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400]


@dataclass(frozen=True)
class Marginal:
    """The training values of a numeric column or of dates, in bins."""

    column: Column
    edges: Floats
    shares: Floats
    """Share of the training values per bin; those beyond the axis are counted in its outer bins."""

    def place(self, value: float) -> float:
        """Where a value lies on the axis; at its end if it is further out."""
        return float(positions(self.column, np.clip([value], self.edges[0], self.edges[-1]))[0])

    def is_beyond(self, value: float) -> bool:
        """Whether a value lies outside the axis."""
        return not self.edges[0] <= value <= self.edges[-1]

    def bars(self, colour: str, **settings: Any) -> dict[str, Any]:
        """The bins as a plotly trace."""
        places = positions(self.column, self.edges)
        return {
            "type": "bar",
            "x": (places[:-1] + places[1:]) / 2,
            "y": self.shares,
            "width": np.diff(places),
            "marker": {"color": colour, "line": {"width": 0}},
            "hovertemplate": "%{y:.1%} of the training rows<extra></extra>",
        } | settings

    def axis(self, **settings: Any) -> dict[str, Any]:
        """The horizontal axis: nice numbers, dates, or times of day."""
        low, high = positions(self.column, self.edges[[0, -1]])
        room = 0.02 * (high - low)  # so that lines at the ends are seen whole
        shared = axis(range=[low - room, high + room], showgrid=False, nticks=5, exponentformat="none", **settings)
        if self.column.kind == "datetime":
            return shared | {"type": "date"}
        if self.column.kind in ("time", "duration"):
            ticks = _clock_ticks(self.edges[0], self.edges[-1])
            return shared | {"tickvals": ticks, "ticktext": value_text(self.column, ticks)}
        return shared


def marginal(column: Column, values: Floats, *others: float, tail: float = _TAIL) -> Marginal:
    """Bins of training values, over an axis on which the other values have a place where that is possible."""
    finite = values[np.isfinite(values)]
    low, high = np.quantile(finite, [tail, 1 - tail]) if len(finite) else (0.0, 0.0)
    wanted = [other for other in others if np.isfinite(other)]
    if high <= low:
        low, high = min([low, *wanted]), max([high, *wanted])
    room = (high - low) * _ROOM
    low, high = max(low - room, min([low, *wanted])), min(high + room, max([high, *wanted]))
    if high <= low:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    edges = _edges(low, high, finite)
    counts = np.histogram(np.clip(finite, edges[0], edges[-1]), edges)[0]
    return Marginal(column, edges, np.asarray(counts / max(1, len(finite)), dtype=np.float64))


def _edges(low: float, high: float, values: Floats) -> Floats:
    """Bins around each value where these are few and evenly spaced, such as counts; even bins elsewhere."""
    distinct = np.unique(values[(values >= low) & (values <= high)])
    steps = np.diff(distinct)
    if len(steps) and (step := float(steps.min())) > 0 and (high - low) / step <= N_BINS:
        whole = np.rint(steps / step) * step
        if np.allclose(whole, steps, rtol=0, atol=step * 1e-6):
            n_steps = int(np.rint((distinct[0] - low) / step)), int(np.rint((high - distinct[0]) / step))
            return np.asarray(distinct[0] + step * (np.arange(-n_steps[0], n_steps[1] + 2) - 0.5))
    return np.linspace(low, high, N_BINS + 1)


def positions(column: Column, values: NDArray[Any]) -> Floats:
    """Encoded values on a plotly axis: dates as milliseconds, in the local time of the column's zone."""
    values = np.asarray(values, dtype=np.float64)
    if column.kind != "datetime":
        return values
    moments = pa.chunked_array([decode_column(column, values)])
    if getattr(moments.type, "tz", None) is None:
        return values * 1000
    try:
        return read_numbers(pc.local_timestamp(moments), "datetime") * 1000
    except pa.ArrowException:  # a zone this machine does not know
        return values * 1000


def _clock_ticks(low: float, high: float) -> Floats:
    """About five round times between two."""
    wanted = (high - low) / 5
    step = next((step for step in _STEPS if step >= wanted), 86_400 * np.ceil(wanted / 86_400))
    if wanted < 1:
        step = wanted
    return np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
