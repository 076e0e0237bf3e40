"""How well columns are predicted, from which others, and by which trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rfod._forest.fitness import coefficient_of_determination, weighted_auc
from rfod._forest.forest import Forest
from rfod._model.judge import as_block
from rfod._model.model import Fitted, ForestSummary, Model
from rfod._table.bins import bin_table
from rfod._table.encode import encode_column
from rfod._table.schema import match_columns
from rfod._table.table import open_table
from rfod._views.picking import column_number
from rfod._views.style import BODY, EXPECTED, KEPT, SEQUENCE, as_text, axis, coloured, new_figure, slanted, title

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Floats = NDArray[np.float64]
N_COLUMNS = 40
_MEASURES = {"R2": "R²", "AUC": "AUC"}


def predictability(detector: Fitted, *, columns: Sequence[str] | None = None) -> Figure:
    """Which column is predicted how well, and from which others.

    One line per column, the best predicted on top: colours are the shares of the other columns in the impurity decrease
    of its forest, the bar is its fitness on rows that the trees had not seen. A fitness near 0 (R²) or 0.5 (AUC) means
    that nothing in the row tells the column, so its cells cannot be judged. By default the 40 best predicted columns.
    """
    forests = detector.forests_
    names = list(forests)
    if columns is None:
        order = np.argsort([-_share_told(forests[name]) for name in names], kind="stable")
        shown = [names[j] for j in order[:N_COLUMNS]]
    else:
        shown = [names[column_number(names, name)] for name in columns]
    told = [_share_told(forests[name]) for name in shown]
    labels = [as_text(name, 24) for name in shown]
    shares = np.array([[forests[target].importances.get(name, 0.0) for name in shown] for target in shown])
    np.fill_diagonal(shares, np.nan)
    hover = [
        [
            ""
            if target == name
            else f"{as_text(target)}<br>{forests[target].importances.get(name, 0.0):.0%} from {as_text(name)}"
            for name in shown
        ]
        for target in shown
    ]
    places = np.arange(len(shown))
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": places,
        "x": told,
        "xaxis": "x2",
        "marker": {"color": EXPECTED},
        "text": [_fitness_text(forests[name]) for name in shown],
        "textposition": "outside",
        "cliponaxis": False,
        "hoverinfo": "skip",
    }
    colours = {
        "type": "heatmap",
        "z": shares,
        "zmin": 0.0,
        "colorscale": SEQUENCE,
        "xgap": 1,
        "ygap": 1,
        "hovertext": hover,
        "hoverinfo": "text",
        "colorbar": {
            "x": 1.02,
            "title": {"text": "share of<br>the forest"},
            "tickformat": ".0%",
            "thickness": 12,
            "outlinewidth": 0,
        },
    }
    n_left = len(names) - len(shown)
    return new_figure(
        [colours, bars],
        title=title(
            "What predicts what",
            "each line is a column, predicted from the columns above the colours"
            + (f"; {n_left:,} other columns are left out" if n_left else ""),
        ),
        xaxis=axis(domain=[0, 0.75], side="top", tickvals=places, ticktext=labels, tickangle=-45, showgrid=False),
        xaxis2=axis(domain=[0.77, 0.9], range=[0, 1], showticklabels=False, title={"text": "fitness", "standoff": 4}),
        yaxis=axis(autorange="reversed", tickvals=places, ticktext=labels, showgrid=False),
        width=min(1600, 420 + max(360, 34 * len(shown))),
        height=min(1400, int(90 + slanted(labels)) + max(100, 24 * len(shown))),
        margin={"l": 60, "r": 20, "t": 70 + slanted(labels), "b": 20},
    )


def _share_told(forest: ForestSummary) -> float:
    """Fitness from 0 (nothing is known of the column) to 1, whatever the measure."""
    if np.isnan(forest.fitness):
        return 0.0
    return max(0.0, forest.fitness if forest.measure == "R2" else 2 * forest.fitness - 1)


def _fitness_text(forest: ForestSummary) -> str:
    return "constant" if np.isnan(forest.fitness) else f"{_MEASURES[forest.measure]} {forest.fitness:.2f}"


# ------------------------------------------------------------------------------------------------------ trees, pruning


def tree_fitness(detector: Fitted, column: str, table: Any = None) -> Figure:
    """Fitness of every tree of a column, best first, and which of them were kept (the paper's Figure 3).

    With a `table` of rows that were not trained on, a line tells how well the best one, two, three ... kept trees
    predict the column there together. Pruned trees are gone, so a line over all trees needs a detector with beta=1.
    """
    forests = detector.forests_
    j = column_number(list(forests), column)
    forest = forests[column]
    measure = _MEASURES[forest.measure]
    order = np.argsort(-forest.tree_fitness, kind="stable")
    kept = np.isin(order, forest.kept)
    ranks = np.arange(1, len(order) + 1)
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "x": ranks,
            "y": forest.tree_fitness[order],
            "marker": {"color": [KEPT if is_kept else BODY for is_kept in kept]},
            "customdata": order,
            "hovertemplate": f"tree %{{customdata}}: {measure} %{{y:.3f}}<extra></extra>",
        }
    ]
    together = ""
    if table is not None:
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": ranks[: len(forest.kept)],
                "y": _fitness_together(detector.model_, j, table),
                "line": {"color": EXPECTED, "width": 2.5},
                "hovertemplate": f"the best %{{x}} together: {measure} %{{y:.3f}}<extra></extra>",
            }
        )
        together = f"; {coloured('line', EXPECTED)}: the best so many together, on other rows"
    return new_figure(
        data,
        title=title(
            f"Trees of <b>{as_text(column)}</b>",
            f"{coloured(f'{len(forest.kept)} kept', KEPT)} of {len(order)}, each judged on rows it had not seen"
            + together,
        ),
        xaxis=axis(title={"text": "trees, best first"}, showgrid=False),
        yaxis=axis(title={"text": measure}),
        bargap=0.15,
        width=760,
        height=380,
    )


def _fitness_together(model: Model, j: int, table: Any) -> Floats:
    """Fitness of the best 1, 2, 3 ... kept trees of a column on the rows of a table."""
    matched = match_columns(model.schema, open_table(table))
    encoded = [encode_column(matched, column) for column in model.schema.columns]
    block = as_block(bin_table(model.schema, model.features, encoded.__getitem__, matched.n_rows))
    forest, observed = model.forests[j], encoded[j]
    present = (observed >= 0) & (observed < forest.n_classes) if forest.n_classes else np.isfinite(observed)
    block, observed = np.ascontiguousarray(block[present]), observed[present]
    total = np.zeros((len(block), forest.n_classes) if forest.n_classes else len(block))
    fitness = np.empty(forest.trees.n_trees)
    for tree in range(len(fitness)):
        total += _one_tree(forest, block, tree)
        together = total / (tree + 1)
        if forest.n_classes:
            fitness[tree] = weighted_auc(observed.astype(np.int32), together)
        else:
            fitness[tree] = coefficient_of_determination(observed.astype(np.float64), together)
    return fitness


def _one_tree(forest: Forest, block: NDArray[np.uint8], tree: int) -> Floats:
    """Prediction of one tree: a forest whose other trees are told to stand back."""
    stand_back = np.ones((forest.trees.n_trees, len(block)), dtype=np.uint8)
    stand_back[tree] = 0
    return forest.predict_shares(block, stand_back) if forest.n_classes else forest.predict_values(block, stand_back)[0]
