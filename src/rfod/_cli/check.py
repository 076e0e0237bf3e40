"""`rfod check`: how many known errors would a model find?"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from typing import Annotated

import typer
from rich.text import Text

from rfod._check.errors import KINDS
from rfod._check.trials import self_check
from rfod._cli import choices
from rfod._cli.choices import SEED, read_options
from rfod._cli.console import Voice, naming, shown, stdout_console
from rfod._cli.inputs import model_kinds, one_source
from rfod._cli.score import load_detector
from rfod._io.errors import InputError
from rfod._io.options import BATCH_ROWS
from rfod._io.sampling import RowSampler
from rfod._io.sinks import check_target, format_of, open_sink

SAMPLE_ROWS = 10_000


def check(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model file that rfod fit wrote.", show_default=False)
    ],
    table: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="File, folder or pattern in quotes; - for stdin.", show_default=False),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write one line per column and kind of error to a .csv, .parquet or .jsonl file; - for stdout.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same and more as one JSON object on stdout.")] = False,
    quiet: choices.Quiet = False,
    fdr: Annotated[
        float, typer.Option("--fdr", metavar="RATE", help="False discovery rate at which cells are findings.")
    ] = 0.05,
    share: Annotated[
        float, typer.Option("--share", metavar="SHARE", help="Share of the rows that get one wrong cell.")
    ] = 0.2,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help=f"Only this kind of error: {', '.join(KINDS)}. May be repeated."),
    ] = None,
    sample_rows: Annotated[
        int,
        typer.Option(
            "--sample-rows",
            metavar="N",
            min=1,
            help="Of a source with more rows a uniform sample of this size is used, drawn in one pass.",
        ),
    ] = SAMPLE_ROWS,
    separator: choices.Separator = None,
    encoding: choices.Encoding = None,
    decimal: choices.Decimal = None,
    quote: choices.Quote = None,
    header: choices.Header = None,
    types: choices.Types = None,
    sql: choices.Sql = None,
    database: choices.Database = None,
    batch_rows: choices.BatchRows = BATCH_ROWS,
    seed: choices.Seed = SEED,
    jobs: choices.Jobs = -1,
) -> None:
    """Put known errors into copies of a table, and show how many of them a model finds in each column.

    The table is best one that the model was not fitted to. Where few errors are found, nothing predicts the column.

    Example: rfod check orders.rfod held_out.csv
    """
    options = read_options(separator, encoding, decimal, quote, header, types, batch_rows)
    if output not in (None, "-"):
        format_of(str(output))
        check_target(str(output))
    voice = Voice(quiet)
    with voice.stage("loading"):
        detector = load_detector(model, jobs)
    read_as = model_kinds(detector.model_, options.kinds)
    needed = frozenset(column.name for column in detector.model_.columns)
    source = one_source(table, sql, database, replace(options, kinds=read_as, told=frozenset(read_as), columns=needed))
    sampler = RowSampler(sample_rows, seed)
    with voice.stage("reading"), voice.bar("reading", source) as bar, closing(source.pieces()) as pieces:
        for piece in pieces:
            sampler.add(piece)
            bar.advance(piece.rows.num_rows)
        if not sampler.n_seen:
            raise InputError(f"{source.name}: the table has no rows. Hint: a header alone is not enough.")
        rows = sampler.rows().rows
    voice.notes_of(source)
    with voice.stage("checking"), voice.remarks(), naming(source.name):
        checked = self_check(detector, rows, fdr=fdr, share=share, kinds=kinds, max_rows=None, random_state=seed)
    if output is not None:
        lines = checked.frame()
        with open_sink(output, lines.schema) as write:
            write(lines)
    if as_json:
        typer.echo(json.dumps({"source": source.name} | checked.to_json(), ensure_ascii=False))
    elif output != "-" and not quiet:
        console = stdout_console()
        for line in str(checked).splitlines():
            console.print(Text(shown(line)), soft_wrap=True)
    sampled = (
        f"a sample of {rows.num_rows:,} of {sampler.n_seen:,} rows" if rows.num_rows < sampler.n_seen else "all rows"
    )
    voice.say(f"{source.name}: {sampled} checked. {voice.times()}.")
