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
    decisions: str | None = options.DECISIONS,
    engine: str = options.ENGINE,
    checkpoint: str | None = typer.Option(
        None,
        "--checkpoint",
        metavar="FOLDER",
        help="Keep the results of finished tasks there: the same command goes on after it was killed.",
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
    from rfod._cli.inputs import check_output, check_training, match_sample, one_source, sample_table
    from rfod._decisions.decisions import open_decisions
    from rfod._engine.checkpoint import Checkpointed
    from rfod._engine.counting import count_files, fit_job
    from rfod._engine.engines import LOCAL, open_engine
    from rfod._evidence.stored import save_model
    from rfod._io.columnar import ColumnarSource
    from rfod._io.locations import not_columnar
    from rfod._io.source_stats import SourceStats, attach_stats
    from rfod._io.storage import replaced
    from rfod._model.executor import terminal_progress
    from rfod.params import Params
    from rfod.pipeline import fit_model

    read_options = reading.options(batch_rows)
    check_output(output, [table, decisions])
    decided = open_decisions(decisions)
    reporter = Reporter(quiet)
    source = one_source(table, reading, read_options)
    if not isinstance(source, ColumnarSource) and (engine != LOCAL or checkpoint is not None):
        raise not_columnar(source.name)
    with open_engine(engine, learning.jobs) as executor, naming(source.name):
        if isinstance(source, ColumnarSource):
            params = learning.params(source.schema.names, read_options.kinds, Params.trim, reporter.draws)
            if checkpoint is not None:
                executor = Checkpointed(executor, checkpoint, fit_job(source, params, key, sample_rows))
            with reporter.stage("reading"), terminal_progress(reporter.draws) as progress:
                stats, sample = count_files(source, executor, sample_rows, learning.seed, progress)
        else:
            stats = SourceStats(source.name)
            sample, n_seen = sample_table(source, reporter, sample_rows, learning.seed, stats)
            stats.n_sampled = sample.rows.num_rows if sample.rows.num_rows < n_seen else None
            params = learning.params(sample.rows.column_names, read_options.kinds, Params.trim, reporter.draws)
        rows, n_rows = sample.rows, stats.n_rows
        if stats.n_sampled:
            reporter.say(f"{source.name}: a uniform sample of {rows.num_rows:,} of {n_rows:,} rows is fitted.")
        with reporter.stage("forests"), reporter.remarks():
            check_training(rows.num_rows, rows.column_names)
            params = replace(params, keep_evidence=not no_evidence)
            settled = match_sample(decided, sample.table, not stats.n_sampled, reporter)
            model = fit_model(sample.table, params, key=key, executor=executor, decisions=settled).model
    model = replace(model, params=dict(model.params) | {"verbose": 0})  # whether progress was drawn is not for the file
    with reporter.stage("writing"), replaced(output) as temporary:
        save_model(model, temporary)
        attach_stats(temporary, stats, rows)
    reporter.say(
        f"{output}: {len(model.schema.columns)} columns of {n_rows:,} rows; "
        f"{model.n_bytes / 2**20:,.1f} MB of trees. {reporter.times()}."
    )
