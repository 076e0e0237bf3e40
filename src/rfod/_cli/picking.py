"""Rows that a user names, by number or by key, and their explanations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer

from rfod._cli.inputs import check_key
from rfod._io.batches import Batch
from rfod._io.errors import InputError
from rfod._model.model import Model
from rfod.explain import RowExplanation
from rfod.pipeline import detect


def explain_picked(
    model: Model, table: pa.Table, key: str | None, picked: Sequence[int], top: int, n_cells: int, jobs: int
) -> list[RowExplanation]:
    """The picked rows, or without any the `top` worst ones."""
    if not picked:
        found = detect(model, table, key=key, n_jobs=jobs)
        return found.explain_rows(np.argsort(-found.row_scores, kind="stable")[:top], n_cells)
    found = detect(model, table.take(pa.array(picked)), key=key, n_jobs=jobs)
    told = found.explain_rows(np.arange(len(picked)), n_cells)
    return [row.renumbered(number) for row, number in zip(told, picked, strict=True)]


def picked_rows(
    batch: Batch, rows: Sequence[int], lines: Sequence[int], keys: Sequence[str]
) -> tuple[str | None, list[int]]:
    """Which rows are asked for, and the column that names them."""
    table = batch.rows
    for row in rows:
        if row >= table.num_rows:
            raise InputError(f"there is no row {row}. Hint: rows are numbered from 0 to {table.num_rows - 1}.")
    key, picked = None, list(rows)
    for line in lines:
        at = [] if batch.lines is None else np.flatnonzero(batch.lines == line).tolist()
        if not at:
            raise InputError(f"no row begins on line {line}. Hint: --row N names a row by its number, from 0.")
        picked += at
    for text in keys:
        key, value = _key_and_value(table, text)
        same = pc.equal(table.column(key).cast(pa.string()), value)
        found = np.flatnonzero(same.fill_null(False).to_numpy())
        if not len(found):
            raise InputError(f"no row has {key} = {value}. Hint: rows can also be named by their number, with --row.")
        picked += found.tolist()
    return key, list(dict.fromkeys(picked))


def _key_and_value(table: pa.Table, text: str) -> tuple[str, str]:
    """`column=value`; the first equals sign behind the name of a column counts, since names may have one."""
    places = [place for place, sign in enumerate(text) if sign == "="]
    if not places:
        raise typer.BadParameter(f"{text!r} is not COLUMN=VALUE.", param_hint="--key")
    known = [place for place in places if text[:place] in table.column_names]
    name, value = text[: (known or places)[0]], text[(known or places)[0] + 1 :]
    check_key(table, name)
    return name, value
