"""Context: what the other cells of the table add to a cell's own evidence, once each has a first probability.

Two sorts: the rows before and after a cell in the order of the file, since tables are often exported in order; and how
suspicious the rest of its row, its column and the table are.
"""

from __future__ import annotations

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
CONTEXT_INPUTS = (*ORDER_INPUTS, *SUSPECT_INPUTS)
MOST_ODDS = 8.0


def order_inputs(written: WrittenTable) -> NDArray[np.float32]:
    """(columns, rows, ORDER_INPUTS).

    * between        where both neighbours share a value: log-odds that cells have it too, positive for a cell that
                     does not, negative for one that does
    * run_agreement  share of the rows of the column whose neighbours share a value
    * step           distance from the mean of the neighbours, in typical steps (log)
    * smoothness     how much smaller a typical step is than the spread of the column
    """
    n_rows = len(written.columns[0].codes)
    found = np.zeros((len(written.columns), n_rows, len(ORDER_INPUTS)), dtype=np.float32)
    if n_rows < 10:
        return found
    for c, column in enumerate(written.columns):
        before, own, after = column.codes[:-2], column.codes[1:-1], column.codes[2:]
        between = before == after
        n_between = int(between.sum())
        if n_between >= 10:
            share = float(np.mean(own[between] == before[between]))
            odds = np.clip(np.log((share * n_between + 0.5) / ((1 - share) * n_between + 0.5)), -MOST_ODDS, MOST_ODDS)
            found[c, 1:-1, 0] = np.where(between, np.where(own == before, -odds, odds), 0.0)
            found[c, :, 1] = n_between / n_rows
        values = written.numbers[c]
        if values is None:
            continue
        step = np.abs(values[1:-1] - (values[:-2] + values[2:]) / 2)
        known = np.isfinite(step)
        if np.count_nonzero(known) < 10:
            continue
        typical = float(np.median(step[known]))
        spread = float(np.nanmedian(np.abs(values - np.nanmedian(values))))
        if spread > 0:
            unit = max(typical, 0.01 * spread)
            found[c, 1:-1, 2] = np.log1p(np.minimum(np.where(known, step, 0.0) / unit, 1e6))
            found[c, :, 3] = max(0.0, 1 - typical / spread)
    return found


def suspect_inputs(first: Floats, codes: NDArray[np.int32]) -> NDArray[np.float32]:
    """(columns, rows, SUSPECT_INPUTS) from the first probabilities, (columns, rows), and the codes of the texts.

    * first          log-odds of the first probability
    * column_mean    log of the mean probability of the column; row_mean, table_mean likewise
    * column_above   log of the share of the cells of the column that are at least as suspicious
    * row_rest       log-odds of the most suspicious other cell of the row
    * same_value     log of the number of rows with the same value
    * rank_in_row    1 for the most suspicious cell of the row, else 0
    """
    n_columns, n_rows = first.shape
    odds = np.log(np.maximum(first, 1e-6) / np.maximum(1 - first, 1e-6))
    found = np.empty((n_columns, n_rows, len(SUSPECT_INPUTS)), dtype=np.float32)
    order = np.sort(odds, axis=0)
    largest = order[-1]
    second = order[-2] if n_columns > 1 else np.full(n_rows, -13.0)
    row_mean = np.log(np.maximum(first.mean(axis=0), 1e-6))
    table_mean = float(np.log(max(first.mean(), 1e-6)))
    for c in range(n_columns):
        ascending = np.sort(first[c])
        above = (n_rows - np.searchsorted(ascending, first[c], side="left")) / n_rows
        rows_with = np.bincount(codes[c] + 1)[codes[c] + 1]
        is_largest = odds[c] >= largest
        found[c] = np.stack(
            [
                odds[c],
                np.full(n_rows, np.log(max(float(first[c].mean()), 1e-6))),
                np.log(above),
                np.where(is_largest, second, largest),
                row_mean,
                np.full(n_rows, table_mean),
                np.log(rows_with),
                is_largest.astype(np.float64),
            ],
            axis=1,
        )
    return found
