"""Figures of findings and forests, as plotly figures to show in a notebook or to save."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rfod._findings.findings import DEFAULT_FDR, Findings
from rfod._model.model import Fitted, ForestSummary
from rfod._views.plotting import (
    BODY,
    EMPTY,
    EXPECTED,
    OBSERVED,
    SEQUENCE,
    Positions,
    as_text,
    axis,
    coloured,
    column_numbers,
    name_axis,
    new_figure,
    row_labels,
    save,
    slanted,
    title,
)
from rfod._views.row_figure import row_analysis
from rfod.detection import Detection
from rfod.exceptions import ParameterError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["heat_map", "predictability", "row_analysis", "save", "score_distribution"]

Floats = NDArray[np.float64]
Measure = Literal["score", "surprise"]
N_ROWS = 50
N_COLUMNS = 40
N_BINS = 60
# Categories score at most 1, and a number that scores 1 is far off; 6 is one in a million.
_BRIGHTEST: dict[Measure, float] = {"score": 1.0, "surprise": 6.0}
_TITLES: dict[Measure, str] = {"score": "Cell scores", "surprise": "Surprise of cells"}
_MOST_LABELS = 60  # a label is 16 pixels high
_MOST_TEXTS = 20_000  # cells whose values are shown on hovering; with more, only their scores


def heat_map(
    found: Detection,
    rows: NDArray[Any] | Sequence[int] | None = None,
    *,
    columns: Sequence[str] | None = None,
    measure: Measure = "score",
    limit: float | None = None,
    sort: bool = True,
) -> Figure:
    """Cell scores of some rows as colours: bright cells differ most from what the rest of their row predicts.

    Rows are positions or a mask, by default the 50 with the highest scores; the highest is on top. `sort=False` keeps
    the order given. Columns are all by default, the brightest first; names keep their order. `measure` is "score" (the
    paper's cell score) or "surprise" (one unit for all columns). Colours end at `limit`: by default at the highest
    value shown, but at most at a score of 1 or a surprise of 6. Cells without a score, which are missing, are grey.
    """
    if measure not in _TITLES:
        raise ParameterError(f"measure is {measure!r}; it must be 'score' or 'surprise'.")
    if limit is not None and not limit > 0:
        raise ParameterError(f"limit is {limit!r}; it must be a number above 0.")
    shown = found.judged.order[:N_ROWS] if rows is None else found.positions(rows)
    if sort:
        shown = shown[np.argsort(-found.row_scores[shown], kind="stable")]
    values = (found.cell_scores if measure == "score" else found.surprise)[shown]
    top = limit or min(float(np.nanmax(values, initial=0.0)), _BRIGHTEST[measure]) or 1.0
    if columns is not None:
        picked = np.array(column_numbers(found.columns, columns), dtype=np.intp)
    else:
        picked = np.argsort(-np.minimum(np.nan_to_num(values), top).sum(axis=0), kind="stable")
    cells = values[:, picked]
    names = [as_text(found.columns[j], 24) for j in picked]
    labelled = np.arange(0, len(shown), -(-len(shown) // _MOST_LABELS) or 1)
    has_few_rows = len(shown) <= _MOST_LABELS
    order = "the highest row score on top" if sort else "in the order given"
    ticks = np.linspace(0.0, top, 5)
    tick_labels = [f"{tick:.2g}" for tick in ticks]
    if np.any(cells > top):
        tick_labels[-1] = f"≥ {tick_labels[-1]}"
    bar = {"title": {"text": measure}, "tickvals": ticks, "ticktext": tick_labels}
    colours = _colours(cells, _hover(found, shown, picked, cells, measure), bar)
    return _map_figure(
        [colours | {"zmax": top, "ygap": 1 if has_few_rows else 0}],
        names,
        width=220 + max(320, 34 * len(picked)),
        height=max(120, (16 if has_few_rows else 6) * len(shown)),
        title=title(
            _TITLES[measure],
            f"{len(shown):,} rows, {order}" + ("; grey cells are missing" if np.isnan(cells).any() else ""),
        ),
        plot_bgcolor=EMPTY,
        xaxis=name_axis(names, side="top", tickangle=-45),
        yaxis=axis(
            autorange="reversed",
            tickvals=labelled,
            ticktext=row_labels(found, shown[labelled]),
            title={"text": as_text(found.key or "row"), "standoff": 12},
            showgrid=False,
        ),
    )


def _colours(values: Floats, hover: list[list[str]], bar: dict[str, Any]) -> dict[str, Any]:
    """A trace of cells as colours, with a text for each and the settings of the colour bar."""
    cells = {"type": "heatmap", "z": values, "zmin": 0.0, "colorscale": SEQUENCE, "xgap": 1, "ygap": 1}
    return cells | {"hovertext": hover, "hoverinfo": "text", "colorbar": bar | {"thickness": 12, "outlinewidth": 0}}


def _map_figure(
    data: list[dict[str, Any]], names: Sequence[str], *, width: float, height: float, **layout: Any
) -> Figure:
    """A figure of cells under slanted names; `height` is that of the cells."""
    sizes = {"width": min(1600, width), "height": min(1400, int(90 + slanted(names)) + height)}
    return new_figure(data, **layout, **sizes, margin={"l": 60, "r": 20, "t": 70 + slanted(names), "b": 20})


def _hover(found: Detection, shown: Positions, picked: Positions, cells: Floats, measure: Measure) -> list[list[str]]:
    """Per cell: row, column, observed and expected value, score."""
    key = as_text(found.key or "row")
    heads = [f"{key} {row}<br>{as_text(found.columns[j])}" for row in row_labels(found, shown) for j in picked]
    if cells.size <= _MOST_TEXTS:
        findings = Findings(found.judged, np.repeat(shown, len(picked)), np.tile(picked, len(shown)))
        heads = [
            f"{head}<br>{as_text(observed)} (expected {as_text(expected)})"
            for head, observed, expected in zip(heads, findings.observed, findings.expected, strict=True)
        ]
    scores = ["" if np.isnan(score) else f"<br>{measure} {score:.3g}" for score in cells.ravel()]
    texts = np.array([head + score for head, score in zip(heads, scores, strict=True)], dtype=object)
    return list(texts.reshape(cells.shape).tolist())


# ---------------------------------------------------------------------------------------------------- scores of rows


def score_distribution(found: Detection, *, threshold: float | None = None, fdr: float | None = None) -> Figure:
    """Row scores of a table as bars, those of the training rows (judged out of bag) as a line, and a threshold.

    `threshold` is a row score; without one, it is the lowest score that `found.flag(fdr=fdr)` calls a finding, 0.05 by
    default; after a scan, where no rate holds, there is none. Scores have a logarithmic axis, since a few rows score
    many times more than the rest.
    """
    if threshold is not None and not np.isfinite(threshold):
        raise ParameterError(f"threshold is {threshold!r}; it must be a finite number.")
    scores, training = found.row_scores, found.judged.model.calibration
    if threshold is not None:
        flagged, chosen = scores >= threshold, f" at or above {threshold:.3g}"
    elif found.judged.is_own and fdr is None:
        flagged, chosen = np.zeros(len(scores), dtype=np.bool_), " flagged: a ranking"
    else:
        rate = DEFAULT_FDR if fdr is None else fdr
        flagged, chosen = found.flag(fdr=rate), f" flagged at fdr = {rate:g}"
    line = threshold if threshold is not None else float(scores[flagged].min()) if flagged.any() else None
    edges = _score_edges(np.concatenate([scores, training, [] if line is None else [line]]))
    centres = np.sqrt(edges[:-1] * edges[1:])
    n_flagged = int(flagged.sum())
    counted = "no row" if n_flagged == 0 else "1 row" if n_flagged == 1 else f"{n_flagged:,} rows"
    counted += chosen
    figure = new_figure(
        [
            {
                "type": "bar",
                "x": centres,
                "y": _shares(scores, edges),
                "width": np.diff(edges),
                "marker": {"color": [OBSERVED if line is not None and low >= line else BODY for low in edges[:-1]]},
                "hovertemplate": "score %{x:.3g}: %{y:.1%} of the rows<extra></extra>",
            },
            {
                "type": "scatter",
                "x": centres,
                "mode": "lines",
                "y": _shares(training, edges),
                "line": {"color": EXPECTED, "width": 2, "shape": "hvh"},
                "hovertemplate": "score %{x:.3g}: %{y:.1%} of the training rows<extra></extra>",
            },
        ],
        title=title(
            "Row scores",
            f"{len(scores):,} rows (bars) and training rows judged out of bag ({coloured('line', EXPECTED)}); "
            + coloured(counted, OBSERVED),
        ),
        xaxis=axis(type="log", title={"text": "row score"}, showgrid=False, dtick="D2"),
        yaxis=axis(title={"text": "share of rows"}, tickformat=".0%", rangemode="tozero"),
        bargap=0,
        width=760,
        height=380,
    )
    if line is not None:
        figure.add_vline(line, line={"color": OBSERVED, "width": 1.5, "dash": "dash"})
    return figure


def _score_edges(values: Floats) -> Floats:
    """Edges of bins that are equally wide on a logarithmic axis; scores of 0 fall in the first bin."""
    positive = values[values > 0]
    if not len(positive):
        return np.array([0.1, 1.0])
    low, high = max(float(np.quantile(positive, 0.001)), float(positive.max()) * 1e-6), float(positive.max())
    return np.geomspace(low / 1.05, high * 1.05, N_BINS + 1)


def _shares(values: Floats, edges: Floats) -> Floats:
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    return np.asarray(counts / max(1, len(values)), dtype=np.float64)


# --------------------------------------------------------------------------------------------------- what predicts what


def predictability(detector: Fitted, *, columns: Sequence[str] | None = None) -> Figure:
    """Which column is predicted how well, and from which others.

    One line per column, the best predicted on top: colours are the shares of the other columns in the impurity decrease
    of its forest, the bar is its fitness on rows that the trees had not seen. A fitness near 0 (R²) or 0.5 (AUC) means
    that the other columns do not predict this one, so its cells cannot be judged. By default the 40 best predicted
    columns.
    """
    forests = detector.forests_
    names = list(forests)
    if columns is None:
        shown = sorted(names, key=lambda name: -_skill(forests[name]))[:N_COLUMNS]
    else:
        shown = [names[j] for j in column_numbers(names, columns)]
    labels = [as_text(name, 24) for name in shown]
    shares = np.array([[forests[target].importances.get(name, 0.0) for name in shown] for target in shown])
    full = [as_text(name) for name in shown]
    hover = [
        ["" if i == j else f"{full[i]}<br>{share:.0%} from {full[j]}" for j, share in enumerate(line)]
        for i, line in enumerate(shares)
    ]
    np.fill_diagonal(shares, np.nan)
    n_left = len(names) - len(shown)
    bar = {"x": 1.02, "title": {"text": "share of<br>the forest"}, "tickformat": ".0%"}
    return _map_figure(
        [
            _colours(shares, hover, bar),
            {
                "type": "bar",
                "orientation": "h",
                "y": np.arange(len(shown)),
                "x": [_skill(forests[name]) for name in shown],
                "xaxis": "x2",
                "marker": {"color": EXPECTED},
                "text": [_fitness_text(forests[name]) for name in shown],
                "textposition": "outside",
                "cliponaxis": False,
                "hoverinfo": "skip",
            },
        ],
        labels,
        width=420 + max(360, 34 * len(shown)),
        height=max(100, 24 * len(shown)),
        title=title(
            "What predicts what",
            "each line is a column, predicted from the columns above the colours"
            + (f"; {n_left:,} other columns are left out" if n_left else ""),
        ),
        xaxis=name_axis(labels, domain=[0, 0.75], side="top", tickangle=-45),
        xaxis2=axis(domain=[0.77, 0.9], range=[0, 1], showticklabels=False, title={"text": "fitness", "standoff": 4}),
        yaxis=name_axis(labels, autorange="reversed"),
    )


def _skill(forest: ForestSummary) -> float:
    """Fitness from 0 (no better than without predictors) to 1, whatever the measure; 0 for a constant column."""
    if np.isnan(forest.fitness):
        return 0.0
    return max(0.0, forest.fitness if forest.measure == "R2" else 2 * forest.fitness - 1)


def _fitness_text(forest: ForestSummary) -> str:
    measure = "R²" if forest.measure == "R2" else forest.measure
    return "constant" if np.isnan(forest.fitness) else f"{measure} {forest.fitness:.2f}"
