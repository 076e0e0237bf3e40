"""`rfod fit`: learn from a table of any size and keep the model in a file."""

from __future__ import annotations

from typing import Annotated

import typer

from rfod._cli import options
from rfod._cli.options import Learning, Reading
from rfod._io.interface import BATCH_ROWS

SAMPLE_ROWS = 1_000_000


def fit(
    table: options.TableName = None,
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The model file to write.", show_default=False)
    ],
    key: options.Key = None,
    sample_rows: Annotated[
        int,
        typer.Option(
            "--sample-rows",
            metavar="N",
            min=2,
            help="A source with more rows is fitted on a uniform sample of this size, drawn in one pass.",
        ),
    ] = SAMPLE_ROWS,
    quiet: options.Quiet = False,
    reading: Reading,
    batch_rows: options.BatchRows = BATCH_ROWS,
    learning: Learning,
) -> None:
    """Learn what is ordinary from a table, and keep the model in a file.

    Example: rfod fit train.parquet -o orders.rfod
    """
    from dataclasses import replace

    from rfod._cli.console import Reporter, naming
    from rfod._cli.inputs import check_output, check_training, named_columns, one_source, sample_table
    from rfod._io.source_stats import SourceStats, attach_stats
    from rfod._io.write import replaced
    from rfod._model.persist import save_model
    from rfod.params import Params
    from rfod.pipeline import fit_model

    read_options = reading.options(batch_rows)
    check_output(output, [table])
    reporter = Reporter(quiet)
    source = one_source(table, reading, read_options)
    stats = SourceStats(source.name)
    sample, n_rows = sample_table(source, reporter, sample_rows, learning.seed, stats)
    rows = sample.rows
    stats.n_sampled = rows.num_rows if rows.num_rows < n_rows else None
    if stats.n_sampled:
        reporter.say(f"{source.name}: a uniform sample of {rows.num_rows:,} of {n_rows:,} rows is fitted.")
    with reporter.stage("forests"), reporter.remarks(), naming(source.name):
        check_training(rows, key)
        params = named_columns(learning, rows).params(read_options.kinds, Params.trim, reporter.draws)
        kinds = dict(params.column_types or {})
        if key is not None:
            kinds.setdefault(key, "identifier")
        params = replace(params, column_types=kinds or None)
        model = fit_model(sample.table, params).model
    model = replace(model, params=dict(model.params) | {"verbose": 0})  # whether progress was drawn is not for the file
    with reporter.stage("writing"), replaced(output) as temporary:
        save_model(model, temporary)
        attach_stats(temporary, stats, rows)
    reporter.say(
        f"{output}: {len(model.schema.columns)} columns of {n_rows:,} rows; "
        f"{model.n_bytes / 2**20:,.1f} MB of trees. {reporter.times()}."
    )
