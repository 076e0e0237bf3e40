"""Context: what the other cells of the table add to a cell's own evidence, once each has a first probability.

Two sorts: the rows before and after a cell in the order of the file, since tables are often exported in order; and how
suspicious the rest of its row, its column and the table are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.profile import WrittenTable
from rfod._evidence.texts import Floats

ORDER_INPUTS = ("between", "run_agreement", "step", "smoothness")
SUSPECT_INPUTS = (
    "first",
    "column_mean",
    "column_above",
    "row_rest",
    "row_mean",
    "table_mean",
    "same_value",
    "rank_in_row",
)
MOST_ODDS = 8.0
NO_OTHER = -13.0  # log-odds that stand for the other cells of a row where there is one column only
LEAST_ROWS = 10  # that say something of the order
CLEAR_ODDS = 2.0  # that a cell has the value its neighbours share: seven in eight cells do
CLEAR_STEP, CLEAR_SMOOTHNESS = (
    3.0,
    0.5,
)  # twenty typical steps away, where these are half of the column's spread at most


def order_inputs(written: WrittenTable) -> NDArray[np.float32]:
    """(columns, rows, ORDER_INPUTS): all at once, for small tables."""
    return np.stack([column_order(written, c) for c in range(len(written.columns))])


def column_order(written: WrittenTable, c: int) -> NDArray[np.float32]:
    """(rows, ORDER_INPUTS) of a column.

    * between        where both neighbours share a value: log-odds that cells have it too, positive for a cell that
                     does not, negative for one that does
    * run_agreement  share of the rows of the column whose neighbours share a value
    * step           distance from the median of the four nearest rows, in typical steps (log); texts by their place in
                     the alphabet, since files are sorted by names too
    * smoothness     how much smaller a typical step is than the spread of the column
    """
    column, values = written.columns[c], written.numbers[c]
    codes = column.codes
    n_rows = len(codes)
    found = np.zeros((n_rows, len(ORDER_INPUTS)), dtype=np.float32)
    if n_rows < LEAST_ROWS:
        return found
    before, own, after = codes[:-2], codes[1:-1], codes[2:]
    between = before == after
    n_between = int(between.sum())
    if n_between >= LEAST_ROWS:
        share = float(np.mean(own[between] == before[between]))
        odds = np.clip(np.log((share * n_between + 0.5) / ((1 - share) * n_between + 0.5)), -MOST_ODDS, MOST_ODDS)
        found[1:-1, 0] = np.where(between, np.where(own == before, -odds, odds), 0.0)
        found[:, 1] = n_between / n_rows
    if values is None:
        values = column.spread(_alphabetical_places(column.values), np.nan)
    with np.errstate(all="ignore"):  # numbers near the ends of the scale
        step = np.abs(values - _median_of_nearest(values))
        known = np.isfinite(step)
        if np.count_nonzero(known) < LEAST_ROWS:
            return found
        typical = float(np.median(step[known]))
        spread = float(np.nanmedian(np.abs(values - np.nanmedian(values))))
        if spread > 0:
            unit = max(typical, 0.01 * spread)
            found[:, 2] = np.log1p(np.minimum(np.where(known, step, 0.0) / unit, 1e6))
            found[:, 3] = max(0.0, 1 - typical / spread)
    return found


def is_out_of_order(order: NDArray[np.float32]) -> NDArray[np.bool_]:
    """(rows,): which cells of a column the rows around them contradict clearly, by their (rows, ORDER_INPUTS). Such
    cells are judged without other evidence against them too; whether they are wrong is the decision's business."""
    between, _, step, smoothness = order.T
    return np.asarray((between >= CLEAR_ODDS) | ((step >= CLEAR_STEP) & (smoothness >= CLEAR_SMOOTHNESS)))


def _alphabetical_places(texts: Sequence[str]) -> Floats:
    """(texts,): the place of each text among all, sorted."""
    places = np.empty(len(texts))
    places[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    return places


def _median_of_nearest(values: Floats) -> Floats:
    """(rows,): the median of the two values before and the two after each; NaN where all four are missing."""
    padded = np.pad(values, 2, constant_values=np.nan)
    n_rows = len(values)
    nearest = np.sort(np.stack([padded[shift : shift + n_rows] for shift in (0, 1, 3, 4)]), axis=0)  # NaN last
    n_known = np.maximum(4 - np.isnan(nearest).sum(axis=0), 1)
    middle = [np.take_along_axis(nearest, place[None], axis=0)[0] for place in ((n_known - 1) // 2, n_known // 2)]
    return np.asarray((middle[0] + middle[1]) / 2)


class Suspicion:
    """How suspicious the cells of a table are, from their first probabilities, (columns, rows)."""

    def __init__(self, first: Floats) -> None:
        self._first = first
        n_rows = first.shape[1]
        largest, second = np.full(n_rows, -np.inf), np.full(n_rows, -np.inf)
        for chance in first:
            odds = _log_odds(chance)
            second = np.maximum(second, np.minimum(largest, odds))
            largest = np.maximum(largest, odds)
        self._largest = largest
        self._second = second if len(first) > 1 else np.full(n_rows, NO_OTHER)
        self._row_mean = np.log(np.maximum(first.mean(axis=0), 1e-6))
        self._table_mean = float(np.log(max(first.mean(), 1e-6)))

    def inputs(self, c: int, codes: NDArray[np.int32]) -> NDArray[np.float32]:
        """(rows, SUSPECT_INPUTS) of a column; `codes` are those of its texts.

        * first          log-odds of the first probability
        * column_mean    log of the mean probability of the column; row_mean, table_mean likewise
        * column_above   log of the share of the cells of the column that are at least as suspicious
        * row_rest       log-odds of the most suspicious other cell of the row
        * same_value     log of the number of rows with the same value
        * rank_in_row    1 for the most suspicious cell of the row, else 0
        """
        first = self._first[c]
        n_rows, odds = len(first), _log_odds(first)
        above = (n_rows - np.searchsorted(np.sort(first), first, side="left")) / n_rows
        rows_with = np.bincount(codes + 1)[codes + 1]
        is_largest = odds >= self._largest
        parts = (
            odds,
            np.log(max(float(first.mean()), 1e-6)),
            np.log(above),
            np.where(is_largest, self._second, self._largest),
            self._row_mean,
            self._table_mean,
            np.log(rows_with),
            is_largest,
        )
        found = np.empty((n_rows, len(SUSPECT_INPUTS)), dtype=np.float32)
        for place, part in enumerate(parts):
            found[:, place] = part
        return found


def _log_odds(chance: Floats) -> Floats:
    return np.log(np.maximum(chance, 1e-6) / np.maximum(1 - chance, 1e-6))


def suspect_inputs(first: Floats, codes: NDArray[np.int32]) -> NDArray[np.float32]:
    """(columns, rows, SUSPECT_INPUTS): all at once, for small tables."""
    suspicion = Suspicion(first)
    return np.stack([suspicion.inputs(c, codes[c]) for c in range(len(first))])
