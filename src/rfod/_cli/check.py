"""`rfod check`: how many known errors would a model find?"""

from __future__ import annotations

from typing import Annotated

import typer

from rfod._cli import options
from rfod._cli.options import Reading
from rfod._io.interface import BATCH_ROWS
from rfod.params import ERROR_KINDS, SCAN_SEED

SAMPLE_ROWS = 10_000


def check(
    model: options.ModelFile,
    table: options.TableName = None,
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write one line per column and kind of error to a .csv, .parquet or .jsonl file; - for stdout.",
        ),
    ] = None,
    csv_safe: options.CsvSafe = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same and more as one JSON object on stdout.")] = False,
    quiet: options.Quiet = False,
    fdr: Annotated[
        float, typer.Option("--fdr", metavar="RATE", help="False discovery rate at which cells are findings.")
    ] = 0.05,
    share: Annotated[
        float, typer.Option("--share", metavar="SHARE", help="Share of the rows that get one wrong cell.")
    ] = 0.2,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--kind", metavar="KIND", help=f"Only this kind of error: {', '.join(ERROR_KINDS)}. May be repeated."
        ),
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
    reading: Reading,
    batch_rows: options.BatchRows = BATCH_ROWS,
    seed: options.Seed = SCAN_SEED,
    jobs: options.Jobs = -1,
) -> None:
    """Put known errors into copies of a table, and show how many of them a model finds in each column.

    The table is best one that the model was not fitted to. Where few errors are found, nothing predicts the column.

    Example: rfod check orders.rfod held_out.csv
    """
    import json

    from rich.text import Text

    from rfod._check.selfcheck import check_model
    from rfod._cli.console import Reporter, naming, shown, stdout_console
    from rfod._cli.inputs import as_model_reads, check_output, one_source, open_model, sample_table
    from rfod._io.write import open_sink

    read_options = reading.options(batch_rows)
    check_output(output, [model, table], is_table=True)
    reporter = Reporter(quiet)
    with reporter.stage("loading"):
        fitted = open_model(model)
    needed = {column.name for column in fitted.schema.columns}
    source = one_source(table, reading, as_model_reads(fitted, read_options, needed))
    sample, n_rows = sample_table(source, reporter, sample_rows, seed)
    rows = sample.rows
    with reporter.stage("checking"), reporter.remarks(), naming(source.name):
        checked = check_model(
            fitted, rows, fdr=fdr, share=share, kinds=kinds, max_rows=None, random_state=seed, n_jobs=jobs
        )
    if output is not None:
        lines = checked.frame()
        with open_sink(output, lines.schema, csv_safe=csv_safe) as write:
            write(lines)
    if as_json:
        typer.echo(json.dumps({"source": source.name} | checked.to_json(), ensure_ascii=False))
    elif output != "-" and not quiet:
        console = stdout_console()
        for line in str(checked).splitlines():
            console.print(Text(shown(line)), soft_wrap=True)
    sampled = f"a sample of {rows.num_rows:,} of {n_rows:,} rows" if rows.num_rows < n_rows else "all rows"
    reporter.say(f"{source.name}: {sampled} checked. {reporter.times()}.")
