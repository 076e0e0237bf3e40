"""`rfod explain`: why does a row stand out?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer
from rich.text import Text

from rfod._cli import choices
from rfod._cli.choices import read_options
from rfod._cli.console import Voice, naming, shown, stdout_console
from rfod._cli.inputs import check_key, model_kinds, one_source
from rfod._cli.score import load_detector
from rfod._io.errors import InputError
from rfod._io.options import BATCH_ROWS
from rfod._io.sources import read_all
from rfod.detector import RFOD
from rfod.explain import RowExplanation

WORST = 3


def explain(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model file that rfod fit wrote.", show_default=False)
    ],
    table: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="File, folder or pattern in quotes; - for stdin.", show_default=False),
    ] = None,
    rows: Annotated[
        list[int] | None,
        typer.Option("--row", metavar="N", min=0, help="Number of a row, counted from 0. May be repeated."),
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="COLUMN=VALUE", help="Rows with this value of a column. May be repeated."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="N", min=1, help=f"The rows with the highest scores. [default: {WORST}]"),
    ] = None,
    n_cells: Annotated[int, typer.Option("--cells", metavar="N", min=1, help="Cells told of each row, at most.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="The same and more as one JSON object on stdout.")] = False,
    quiet: choices.Quiet = False,
    separator: choices.Separator = None,
    encoding: choices.Encoding = None,
    decimal: choices.Decimal = None,
    quote: choices.Quote = None,
    header: choices.Header = None,
    types: choices.Types = None,
    sql: choices.Sql = None,
    database: choices.Database = None,
    jobs: choices.Jobs = -1,
) -> None:
    """Say in sentences why rows stand out: what was expected, why, and how many training rows bear it out.

    Example: rfod explain orders.rfod new.csv --row 17
    """
    options = read_options(separator, encoding, decimal, quote, header, types, BATCH_ROWS)
    if top is not None and (rows or keys):
        raise typer.BadParameter("give rows, or --top.", param_hint="--top")
    voice = Voice(quiet)
    with voice.stage("loading"):
        detector = load_detector(model, jobs)
    kinds = model_kinds(detector.model_, options.kinds)
    source = one_source(table, sql, database, replace(options, kinds=kinds, told=frozenset(kinds)))
    with voice.stage("reading"), voice.bar("reading", source) as bar:
        read = read_all(source, bar.advance).rows
    voice.notes_of(source)
    if not read.num_rows:
        raise InputError(f"{source.name}: the table has no rows. Hint: a header alone is not enough.")
    with voice.remarks(), naming(source.name):
        key, picked = _picked(read, rows or (), keys or ())
        with voice.stage("judging"):
            told = explain_picked(detector, read, key, picked, WORST if top is None else top, n_cells)
    if as_json:
        typer.echo(json.dumps({"source": source.name, "rows": [row.to_json() for row in told]}, ensure_ascii=False))
    else:
        console = stdout_console()
        for line in "\n\n".join(map(str, told)).splitlines():
            console.print(Text(shown(line)), soft_wrap=True)
    voice.say(f"{source.name}: {len(told):,} of {read.num_rows:,} rows explained. {voice.times()}.")


def explain_picked(
    detector: RFOD, table: pa.Table, key: str | None, picked: Sequence[int], top: int, n_cells: int
) -> list[RowExplanation]:
    """The picked rows, or without any the `top` worst ones."""
    if not picked:
        found = detector.detect(table, key=key)
        return found.explain_rows(np.argsort(-found.row_scores, kind="stable")[:top], n_cells)
    found = detector.detect(table.take(pa.array(picked)), key=key)
    told = found.explain_rows(np.arange(len(picked)), n_cells)
    return [row.renumbered(number) for row, number in zip(told, picked, strict=True)]


def _picked(table: pa.Table, rows: Sequence[int], keys: Sequence[str]) -> tuple[str | None, list[int]]:
    """Which rows are asked for, and the column that names them."""
    for row in rows:
        if row >= table.num_rows:
            raise InputError(f"there is no row {row}. Hint: rows are numbered from 0 to {table.num_rows - 1}.")
    key, picked = None, list(rows)
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
