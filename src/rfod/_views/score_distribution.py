"""How row scores are spread, beside those of the training rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rfod._views.style import BODY, EXPECTED, OBSERVED, axis, coloured, new_figure, title
from rfod.detection import Detection
from rfod.exceptions import ParameterError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Floats = NDArray[np.float64]
N_BINS = 60


def score_distribution(found: Detection, *, threshold: float | None = None, fdr: float = 0.05) -> Figure:
    """Row scores of a table as bars, those of the training rows (judged out of bag) as a line, and a threshold.

    `threshold` is a row score; without one, it is the lowest score that `found.flag(fdr=fdr)` calls a finding. Scores
    have a logarithmic axis, since a few rows score many times more than the rest.
    """
    if threshold is not None and not np.isfinite(threshold):
        raise ParameterError(f"threshold is {threshold!r}; it must be a finite number.")
    scores = found.row_scores
    flagged = found.flag(fdr=fdr) if threshold is None else scores >= threshold
    line = threshold if threshold is not None else float(scores[flagged].min()) if flagged.any() else None
    known = found._model.calibration
    edges = _edges(np.concatenate([scores, known, [] if line is None else [line]]))
    middles = np.sqrt(edges[:-1] * edges[1:])
    return new_figure(
        [
            {
                "type": "bar",
                "x": middles,
                "y": _shares(scores, edges),
                "width": np.diff(edges),
                "marker": {"color": [OBSERVED if line is not None and low >= line else BODY for low in edges[:-1]]},
                "hovertemplate": "score %{x:.3g}: %{y:.1%} of the rows<extra></extra>",
            },
            {
                "type": "scatter",
                "mode": "lines",
                "x": middles,
                "y": _shares(known, edges),
                "line": {"color": EXPECTED, "width": 2, "shape": "hvh"},
                "hovertemplate": "score %{x:.3g}: %{y:.1%} of the training rows<extra></extra>",
            },
        ],
        title=title(
            "Row scores",
            f"{len(scores):,} rows (bars) and training rows judged out of bag ({coloured('line', EXPECTED)}); "
            + coloured(_counted(int(flagged.sum()), threshold, fdr), OBSERVED),
        ),
        xaxis=axis(type="log", title={"text": "row score"}, showgrid=False, dtick="D2"),
        yaxis=axis(title={"text": "share of rows"}, tickformat=".0%", rangemode="tozero"),
        shapes=[] if line is None else [_rule(line)],
        bargap=0,
        width=760,
        height=380,
    )


def _counted(n_rows: int, threshold: float | None, fdr: float) -> str:
    rows = "no row" if n_rows == 0 else "1 row" if n_rows == 1 else f"{n_rows:,} rows"
    return f"{rows} {f'at or above {threshold:.3g}' if threshold is not None else f'flagged at fdr = {fdr:g}'}"


def _edges(values: Floats) -> Floats:
    """Edges of bins that are equally wide on a logarithmic axis; scores of 0 fall in the first bin."""
    positive = values[values > 0]
    if not len(positive):
        return np.array([0.1, 1.0])
    low, high = max(float(np.quantile(positive, 0.001)), float(positive.max()) * 1e-6), float(positive.max())
    return np.geomspace(low / 1.05, high * 1.05, N_BINS + 1)


def _shares(values: Floats, edges: Floats) -> Floats:
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    return np.asarray(counts / max(1, len(values)), dtype=np.float64)


def _rule(line: float) -> dict[str, Any]:
    """A dashed vertical line over the whole height."""
    dashed = {"color": OBSERVED, "width": 1.5, "dash": "dash"}
    return {"type": "line", "x0": line, "x1": line, "y0": 0, "y1": 1, "yref": "paper", "line": dashed}
