"""`rfod report`: judge a table with a model and write the findings as one HTML file."""

from __future__ import annotations

from typing import Annotated

import typer

from rfod._cli import options
from rfod._cli.options import Choosing, Reading


def report(
    model: options.ModelFile,
    table: options.TableName = None,
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.", show_default=False)
    ],
    key: options.Key = None,
    redact: options.Redact = None,
    quiet: options.Quiet = False,
    choosing: Choosing,
    reading: Reading,
    jobs: options.Jobs = -1,
) -> None:
    """Judge a table with a model and write the findings as one HTML file to look through.

    The file needs no network and holds at most 10,000 findings.

    Example: rfod report orders.rfod new.csv --key order_id -o report.html
    """
    from rfod._cli.console import Reporter, naming
    from rfod._cli.inputs import (
        as_model_reads,
        check_key,
        check_output,
        check_redact,
        one_source,
        open_model,
        read_table,
        title_of,
    )
    from rfod._findings.rule import Rule
    from rfod._views.page import write_page
    from rfod.pipeline import detect

    choosing.check()
    read_options = reading.options()
    check_output(output, [model, table])
    reporter, rule = Reporter(quiet), Rule(choosing.fdr, choosing.top, choosing.contamination)
    with reporter.stage("loading"):
        fitted = open_model(model)
    source = one_source(table, reading, as_model_reads(fitted, read_options))
    batch = read_table(source, reporter)
    with reporter.remarks(), naming(source.name):
        check_key(batch.rows, key)
        check_redact(batch.rows, redact)
        with reporter.stage("judging"):
            found = detect(fitted, batch.table, key=key, lines=batch.lines, n_jobs=jobs)
        with reporter.stage("writing"):
            write_page(found, output, rule=vars(rule), redact=redact or (), title=title_of(table))
    n_flagged = int(rule.select(found.judged).sum())
    reporter.say(
        f"{output}: {n_flagged:,} of {len(found):,} rows of {source.name} flagged ({rule.words()}). {reporter.times()}."
    )
