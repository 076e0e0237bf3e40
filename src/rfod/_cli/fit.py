"""`rfod fit`: learn from a table of any size and keep the model in a file."""

from __future__ import annotations

import typer

from rfod._cli import options
from rfod._cli.options import Learning, Reading
from rfod.params import FIT_SAMPLE_ROWS


def fit(
    table: str | None = options.TABLE,
    *,
    output: str = typer.Option(..., "--output", "-o", metavar="FILE", help="The model file to write."),
    key: str | None = options.KEY,
    sample_rows: int = typer.Option(
        FIT_SAMPLE_ROWS,
        "--sample-rows",
        metavar="N",
        min=2,
        help="A source with more rows is fitted on a uniform sample of this size, drawn in one pass.",
    ),
    no_evidence: bool = typer.Option(
        False,
        "--no-evidence",
        help="Keep no counts, frequent values and rules of the table in the model. Cells of new rows then get no "
        "probability of being wrong.",
    ),
    quiet: bool = options.QUIET,
    reading: Reading,
    batch_rows: int = options.BATCH,
    learning: Learning,
) -> None:
    """Learn what is ordinary from a table, and keep the model in a file.

    Example: rfod fit train.parquet -o orders.rfod
    """
    from dataclasses import replace

    from rfod._cli.console import Reporter, naming
    from rfod._cli.inputs import check_output, check_training, one_source, sample_table
    from rfod._evidence.stored import save_model
    from rfod._io.source_stats import SourceStats, attach_stats
    from rfod._io.write import replaced
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
        check_training(rows)
        params = learning.params(rows.column_names, read_options.kinds, Params.trim, reporter.draws)
        params = replace(params, keep_evidence=not no_evidence)
        model = fit_model(sample.table, params, key=key).model
    model = replace(model, params=dict(model.params) | {"verbose": 0})  # whether progress was drawn is not for the file
    with reporter.stage("writing"), replaced(output) as temporary:
        save_model(model, temporary)
        attach_stats(temporary, stats, rows)
    reporter.say(
        f"{output}: {len(model.schema.columns)} columns of {n_rows:,} rows; "
        f"{model.n_bytes / 2**20:,.1f} MB of trees. {reporter.times()}."
    )
