"""From arguments of a command to its source."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import typer

from rfod._io.errors import InputError
from rfod._io.options import ReadOptions
from rfod._io.pieces import Source
from rfod._io.sources import open_query, open_source
from rfod._table.values import family, parse_arrow_type
from rfod.model import Model


def one_source(table: str | None, sql: str | None, database: str | None, options: ReadOptions) -> Source:
    """The table or the query, of which one must be given."""
    if (sql is None) != (database is None):
        raise typer.BadParameter("--sql and --db belong together.", param_hint="--sql")
    if (table is None) == (sql is None):
        raise typer.BadParameter("name one table, or give --sql with --db.", param_hint="TABLE")
    if sql is not None and database is not None:
        return open_query(database, sql, options)
    return open_source(str(table), options)


def title_of(table: str | None) -> str:
    """What a report calls its table: no folders of this machine, no address of a database."""
    return "query" if table is None else "standard input" if table == "-" else Path(table).name


def check_training(rows: pa.Table, key: str | None) -> None:
    """Raise `InputError` for a table that nothing can be learnt from."""
    if rows.num_rows < 2:
        raise InputError("the table has one row. Hint: what is ordinary is learnt from many rows.")
    check_key(rows, key)


def check_key(rows: pa.Table, key: str | None) -> None:
    """Raise `InputError` for a key that is no column."""
    _check_column(rows, key, "use as key")


def check_redact(rows: pa.Table, names: list[str] | None) -> None:
    """Raise `InputError` for names to redact that are no columns."""
    for name in names or []:
        _check_column(rows, name, "redact")


def _check_column(rows: pa.Table, name: str | None, purpose: str) -> None:
    if name is None or name in rows.column_names:
        return
    near = difflib.get_close_matches(name, rows.column_names, 1)
    names = ", ".join(map(repr, rows.column_names[:5])) + (", ..." if len(rows.column_names) > 5 else "")
    raise InputError(
        f"there is no column {name!r} to {purpose}. "
        + (f"Hint: did you mean {near[0]!r}?" if near else f"Hint: the columns are {names}.")
    )


def model_kinds(model: Model, given: Mapping[str, str]) -> dict[str, str]:
    """How text columns have to be read to arrive as what the model was fitted on."""
    kinds = {}
    for column in model.columns:
        if column.from_text or column.kind == "duration":
            kinds[column.name] = "text"
        elif column.kind == "categorical":
            held = family(parse_arrow_type(column.arrow_type))
            kinds[column.name] = {"number": "number", "boolean": "boolean"}.get(held, "categorical")
        else:
            kinds[column.name] = column.kind
    return kinds | dict(given)
