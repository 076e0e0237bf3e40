"""What a column of a report holds, as bars or bins; and texts and numbers as a page shows them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._table.columns import Column
from rfod._table.encode import value_text
from rfod._table.values import parse_arrow_type

LONGEST = 120  # letters of a text
LONGEST_SENTENCE = 1000
MOST_BARS = 12
N_BINS = 32
N_TICKS = 5
SECONDS = (1, 5, 15, 60, 300, 900, 3600, 10800, 21600, 43200, 86400, 7 * 86400, 30 * 86400, 90 * 86400, 365 * 86400)
DIGITS = 12  # of positions on an axis: seconds since 1970 have ten before the point


def printable(text: object, longest: int = LONGEST) -> str:
    """Text on one line: control characters and marks that turn the writing direction escaped, cut with an ellipsis."""
    whole = str(text)
    cut = whole if len(whole) <= longest else whole[: longest - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in cut)


def rounded(value: float | None, digits: int = 4) -> float | None:
    """A number in few digits; None where JSON has no word for it."""
    return float(f"{value:.{digits}g}") if value is not None and math.isfinite(value) else None


def distribution(column: Column, values: NDArray[Any]) -> dict[str, Any] | None:
    """Bars of categories or bins of numbers, as JSON; None where there is nothing to count."""
    present = values[values >= 0 if column.is_categorical else np.isfinite(values)]
    if not len(present):
        return None
    return _categories(column, present) if column.is_categorical else _bins(column, present)


def _categories(column: Column, present: NDArray[Any]) -> dict[str, Any]:
    counts = np.bincount(present, minlength=len(column.categories))
    order = np.argsort(-counts, kind="stable")
    shown = [int(code) for code in order[:MOST_BARS] if counts[code]]
    return {
        "names": [printable(text) for text in value_text(column, np.array(shown, dtype=np.int32))],
        "counts": [int(counts[code]) for code in shown],
        "n_others": int(np.count_nonzero(counts)) - len(shown),
        "others": int(len(present) - counts[shown].sum()),
        "total": len(present),
    }


def _bins(column: Column, finite: NDArray[Any]) -> dict[str, Any]:
    low, high = float(finite.min()), float(finite.max())
    inner_low, inner_high = (float(edge) for edge in np.quantile(finite, (0.005, 0.995)))
    if inner_high > inner_low and high - low > 3 * (inner_high - inner_low):
        low, high = inner_low, inner_high  # a few far values would press all others into one bin
    if _whole(column) and high - low < N_BINS:
        edges = np.arange(np.floor(low), np.ceil(high) + 2) - 0.5
    else:
        edges = np.linspace(low, high, N_BINS + 1) if high > low else np.array([low - 0.5, low + 0.5])
    counts, _ = np.histogram(finite, edges)
    places = ticks(column, low, high)
    texts = value_text(column, places)
    return {
        "low": rounded(float(edges[0]), DIGITS),
        "high": rounded(float(edges[-1]), DIGITS),
        "counts": counts.tolist(),
        "beyond": int(len(finite) - counts.sum()),
        "ticks": [[rounded(float(tick), DIGITS), text] for tick, text in zip(places, texts, strict=True)],
        "total": len(finite),
    }


def ticks(column: Column, low: float, high: float) -> NDArray[np.float64]:
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
        step = min(step, target) if target < 1 else step
    return np.asarray(np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step)


def _whole(column: Column) -> bool:
    return column.kind == "numeric" and pa.types.is_integer(parse_arrow_type(column.arrow_type))
