"""How the values of a column are distributed in training: counts for the bars of a figure, and words for its axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._table.columns import Column
from rfod._table.encode import value_text
from rfod._table.values import parse_arrow_type
from rfod._views.texts import printable, rounded

MOST_BARS = 12
N_BINS = 32
N_TICKS = 5
SECONDS = (1, 5, 15, 60, 300, 900, 3600, 10800, 21600, 43200, 86400, 7 * 86400, 30 * 86400, 90 * 86400, 365 * 86400)
DIGITS = 12  # of positions on an axis: seconds since 1970 have ten before the point


def distribution(column: Column, values: NDArray[Any]) -> dict[str, Any] | None:
    """Bars of categories or bins of numbers, as JSON; None where there is nothing to count."""
    return _categories(column, values) if column.is_categorical else _bins(column, values)


def _categories(column: Column, codes: NDArray[Any]) -> dict[str, Any] | None:
    present = codes[codes >= 0]
    if not len(present):
        return None
    counts = np.bincount(present, minlength=len(column.categories))
    order = np.argsort(-counts, kind="stable")
    shown = [int(code) for code in order[:MOST_BARS] if counts[code]]
    n_rest = int(np.count_nonzero(counts)) - len(shown)
    return {
        "names": [printable(text) for text in value_text(column, np.array(shown, dtype=np.int32))],
        "counts": [int(counts[code]) for code in shown],
        "n_others": n_rest,
        "others": int(len(present) - counts[shown].sum()),
        "total": len(present),
    }


def _bins(column: Column, values: NDArray[Any]) -> dict[str, Any] | None:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return None
    low, high = float(finite.min()), float(finite.max())
    inner_low, inner_high = (float(edge) for edge in np.quantile(finite, (0.005, 0.995)))
    if inner_high > inner_low and high - low > 3 * (inner_high - inner_low):
        low, high = inner_low, inner_high  # a few far values would press all others into one bin
    edges = _edges(column, low, high)
    counts, _ = np.histogram(finite, edges)
    ticks = _ticks(column, low, high)
    texts = value_text(column, ticks)
    return {
        "low": rounded(float(edges[0]), DIGITS),
        "high": rounded(float(edges[-1]), DIGITS),
        "counts": counts.tolist(),
        "beyond": int(len(finite) - counts.sum()),
        "ticks": [[rounded(float(tick), DIGITS), text] for tick, text in zip(ticks, texts, strict=True)],
        "total": len(finite),
    }


def _ticks(column: Column, low: float, high: float) -> NDArray[np.float64]:
    """A few round places on the axis."""
    if not high > low:
        return np.array([low])
    target = (high - low) / N_TICKS
    if column.kind == "numeric":
        power = 10.0 ** np.floor(np.log10(target))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= target)
        step = max(step, 1.0) if _whole(column) else step
    else:
        step = next((step for step in SECONDS if step >= target), np.ceil(target / SECONDS[-1]) * SECONDS[-1])
    return np.asarray(np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step)


def _whole(column: Column) -> bool:
    return column.kind == "numeric" and pa.types.is_integer(parse_arrow_type(column.arrow_type))


def _edges(column: Column, low: float, high: float) -> NDArray[np.float64]:
    if _whole(column) and high - low < N_BINS:
        return np.arange(np.floor(low), np.ceil(high) + 2) - 0.5
    if high <= low:
        return np.array([low - 0.5, low + 0.5])
    return np.linspace(low, high, N_BINS + 1)
