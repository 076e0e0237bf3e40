"""`rfod explain`: why does a row stand out?"""

from __future__ import annotations

from typing import Annotated

import typer

from rfod._cli import options
from rfod._cli.options import Reading

WORST = 3


def explain(
    model: options.ModelFile,
    table: options.TableName = None,
    *,
    rows: Annotated[
        list[int] | None,
        typer.Option("--row", metavar="N", min=0, help="Number of a row, counted from 0. May be repeated."),
    ] = None,
    lines: Annotated[
        list[int] | None,
        typer.Option("--line", metavar="N", min=1, help="Line of a text file, as scan shows it. May be repeated."),
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="COLUMN=VALUE", help="Rows with this value of a column. May be repeated."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="N", min=1, help=f"The rows with the highest scores. [default: {WORST}]"),
    ] = None,
    n_cells: Annotated[int, typer.Option("--cells", metavar="N", min=1, help="Cells shown of each row, at most.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="The same and more as one JSON object on stdout.")] = False,
    quiet: options.Quiet = False,
    reading: Reading,
    jobs: options.Jobs = -1,
) -> None:
    """Say in sentences why rows stand out: what was expected, why, and how many training rows bear it out.

    Example: rfod explain orders.rfod new.csv --row 17
    """
    import json

    from rich.text import Text

    from rfod._cli.console import Reporter, naming, shown, stdout_console
    from rfod._cli.inputs import as_model_reads, explain_picked, one_source, open_model, picked_rows, read_table

    read_options = reading.options()
    if top is not None and (rows or lines or keys):
        raise typer.BadParameter("give rows, or --top.", param_hint="--top")
    reporter = Reporter(quiet)
    with reporter.stage("loading"):
        fitted = open_model(model)
    source = one_source(table, reading, as_model_reads(fitted, read_options))
    batch = read_table(source, reporter)
    read = batch.rows
    with reporter.remarks(), naming(source.name):
        key, picked = picked_rows(batch, rows or (), lines or (), keys or ())
        with reporter.stage("judging"):
            explained = explain_picked(fitted, batch, key, picked, WORST if top is None else top, n_cells, jobs)
    if as_json:
        typer.echo(
            json.dumps({"source": source.name, "rows": [row.to_json() for row in explained]}, ensure_ascii=False)
        )
    else:
        console = stdout_console()
        for line in "\n\n".join(map(str, explained)).splitlines():
            console.print(Text(shown(line)), soft_wrap=True)
    reporter.say(f"{source.name}: {len(explained):,} of {read.num_rows:,} rows explained. {reporter.times()}.")
