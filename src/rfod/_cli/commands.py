"""The commands that take a model file: `rfod explain`, `report`, `check` and `inspect`; and `rfod warm-up`."""

from __future__ import annotations

import json

import typer

from rfod._cli import options
from rfod._cli.options import Choosing, Reading
from rfod.params import ERROR_KINDS

WORST = 3
CHECKED_ROWS = 10_000
_ERRORS = ", ".join(ERROR_KINDS)


def explain(
    model: str = options.MODEL,
    table: str | None = options.TABLE,
    *,
    rows: list[int] | None = typer.Option(
        None, "--row", metavar="N", min=0, help="Number of a row, counted from 0. May be repeated."
    ),
    lines: list[int] | None = typer.Option(
        None, "--line", metavar="N", min=1, help="Line of a text file, as scan shows it. May be repeated."
    ),
    keys: list[str] | None = typer.Option(
        None, "--key", metavar="COLUMN=VALUE", help="Rows with this value of a column. May be repeated."
    ),
    top: int | None = typer.Option(
        None, "--top", metavar="N", min=1, help=f"The rows with the highest scores. [default: {WORST}]"
    ),
    n_cells: int = typer.Option(5, "--cells", metavar="N", min=1, help="Cells shown of each row, at most."),
    decisions: str | None = options.DECISIONS,
    as_json: bool = options.MORE_JSON,
    named_format: str = options.FORMAT,
    quiet: bool = options.QUIET,
    reading: Reading,
    jobs: int = options.JOBS,
) -> None:
    """Say in sentences why rows stand out: what was expected, why, and how many training rows bear it out.

    Example: rfod explain orders.rfod new.csv --row 17
    """
    from rfod._cli.console import Reporter, naming, print_lines
    from rfod._cli.findings import explanation_text
    from rfod._cli.inputs import explain_picked, open_model_and_source, picked_rows, read_table
    from rfod._cli.markdown import explained_markdown
    from rfod._decisions.decisions import open_decisions

    read_options = reading.options()
    shown_as = options.output_format(named_format, as_json)
    if top is not None and (rows or lines or keys):
        raise typer.BadParameter("give rows, or --top.", param_hint="--top")
    decided = open_decisions(decisions)
    reporter = Reporter(quiet)
    fitted, source = open_model_and_source(model, table, reading, read_options, reporter)
    batch = read_table(source, reporter)
    with reporter.remarks(), naming(source.name):
        key, picked = picked_rows(batch, rows or (), lines or (), keys or ())
        with reporter.stage("judging"):
            n_top = WORST if top is None else top
            explained = explain_picked(fitted, batch, key, picked, n_top, n_cells, jobs, decided)
    if shown_as == "json":
        plain = {"source": source.name, "rows": [row.to_json() for row in explained]}
        typer.echo(json.dumps(plain, ensure_ascii=False))
    elif shown_as == "markdown":
        print_lines(explained_markdown(explained))
    else:
        print_lines("\n\n".join(map(explanation_text, explained)))
    reporter.say(f"{source.name}: {len(explained):,} of {batch.rows.num_rows:,} rows explained. {reporter.times()}.")


def report(
    model: str = options.MODEL,
    table: str | None = options.TABLE,
    *,
    output: str = typer.Option(..., "--output", "-o", metavar="FILE", help="The HTML file to write."),
    key: str | None = options.KEY,
    redact: list[str] | None = options.REDACT,
    decisions: str | None = options.DECISIONS,
    quiet: bool = options.QUIET,
    choosing: Choosing,
    reading: Reading,
    jobs: int = options.JOBS,
) -> None:
    """Judge a table with a model and write the findings as one HTML file to look through.

    The file needs no network and holds at most 10,000 findings.

    Example: rfod report orders.rfod new.csv --key order_id -o report.html
    """
    from rfod._cli.console import Reporter, naming
    from rfod._cli.inputs import check_report, open_model_and_source, read_table, title_of
    from rfod._decisions.decisions import open_decisions
    from rfod._table.table import check_columns
    from rfod._views.page import write_page
    from rfod.pipeline import detect

    rule, read_options = choosing.rule(), reading.options()
    check_report(output, [model, table, decisions])
    decided = open_decisions(decisions)
    reporter = Reporter(quiet)
    fitted, source = open_model_and_source(model, table, reading, read_options, reporter)
    batch = read_table(source, reporter)
    with reporter.remarks(), naming(source.name):
        check_columns(batch.rows.column_names, [key] if key else [], "use as key")
        check_columns(batch.rows.column_names, redact or (), "redact")
        with reporter.stage("judging"):
            found = detect(fitted, batch.table, key=key, lines=batch.lines, n_jobs=jobs, decisions=decided)
        with reporter.stage("writing"):
            write_page(found, output, rule=vars(rule), redact=redact or (), title=title_of(table))
    n_flagged = int(rule.select(found.judged).sum())
    reporter.say(
        f"{output}: {n_flagged:,} of {len(found):,} rows of {source.name} flagged ({rule.words()}). {reporter.times()}."
    )


def check(
    model: str = options.MODEL,
    table: str | None = options.TABLE,
    *,
    output: str | None = typer.Option(
        None,
        "--output",
        "-o",
        metavar="FILE",
        help="Write one line per column and kind of error to a .csv, .parquet or .jsonl file; - for stdout.",
    ),
    csv_safe: bool = options.CSV_SAFE,
    as_json: bool = options.MORE_JSON,
    quiet: bool = options.QUIET,
    fdr: float = typer.Option(0.05, "--fdr", metavar="RATE", help="False discovery rate at which cells are findings."),
    share: float = typer.Option(0.2, "--share", metavar="SHARE", help="Share of the rows that get one wrong cell."),
    kinds: list[str] | None = typer.Option(
        None, "--kind", metavar="KIND", help=f"Only this kind of error: {_ERRORS}. May be repeated."
    ),
    sample_rows: int = typer.Option(
        CHECKED_ROWS,
        "--sample-rows",
        metavar="N",
        min=1,
        help="Of a source with more rows a uniform sample of this size is used, drawn in one pass.",
    ),
    reading: Reading,
    batch_rows: int = options.BATCH,
    seed: int = options.SEED,
    jobs: int = options.JOBS,
) -> None:
    """Put known errors into copies of a table, and show how many of them a model finds in each column.

    The table is best one that the model was not fitted to. Where few errors are found, nothing predicts the column.

    Example: rfod check orders.rfod held_out.csv
    """
    from rfod._check.selfcheck import check_model
    from rfod._cli.console import Reporter, naming, print_lines
    from rfod._cli.inputs import check_output, open_model_and_source, sample_table
    from rfod._io.write import open_sink

    read_options = reading.options(batch_rows)
    check_output(output, [model, table], is_table=True)
    reporter = Reporter(quiet)
    fitted, source = open_model_and_source(model, table, reading, read_options, reporter, only_modelled=True)
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
        print_lines(str(checked))
    sampled = f"a sample of {rows.num_rows:,} of {n_rows:,} rows" if rows.num_rows < n_rows else "all rows"
    reporter.say(f"{source.name}: {sampled} checked. {reporter.times()}.")


def inspect(
    model: str = options.MODEL,
    *,
    as_json: bool = typer.Option(False, "--json", help="The same and more as one JSON object."),
) -> None:
    """Show a model: its columns, how predictable each is and from what, its sizes and versions.

    Example: rfod inspect orders.rfod
    """
    from rfod._cli.console import stdout_console
    from rfod._cli.description import describe, print_description
    from rfod._cli.inputs import load_local
    from rfod._io.storage import local_copy

    with local_copy(model) as here:
        summary = describe(load_local(here, model, "rfod fit TABLE -o MODEL writes one."), here)
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False))
    else:
        print_description(stdout_console(), summary)


def warm_up(*, quiet: bool = options.QUIET) -> None:
    """Compile the kernels now, for container images and CI caches; later runs load them from the cache.

    The cache is beside the installed package, or in the folder that NUMBA_CACHE_DIR names.

    Example: rfod warm-up
    """
    from rfod._cli.console import Reporter
    from rfod._model.executor import compile_ahead

    reporter = Reporter(quiet)
    with reporter.stage("compiling"), reporter.remarks():
        compile_ahead(reporter.draws)
    reporter.say(f"kernels are ready. {reporter.times()}.")
