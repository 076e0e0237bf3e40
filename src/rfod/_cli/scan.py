"""`rfod scan`: fit and judge one table."""

from __future__ import annotations

import typer

from rfod._cli import options
from rfod._cli.options import Choosing, Learning, Reading
from rfod.params import SCAN_SAMPLE_ROWS

MOST_JSON_FINDINGS = 1000
FINDINGS_ABOVE = 3
"""Exit code where more rows are findings than --fail-above allows."""


def scan(
    table: str | None = options.TABLE,
    *,
    key: str | None = options.KEY,
    output: str | None = typer.Option(
        None,
        "--output",
        "-o",
        metavar="FILE",
        help="Write all rows with their scores to a .csv, .parquet or .jsonl file; - for stdout.",
    ),
    cells: bool = options.CELLS,
    csv_safe: bool = options.CSV_SAFE,
    report: str | None = typer.Option(
        None, "--report", metavar="FILE", help="Write the findings as one HTML file to look through."
    ),
    redact: list[str] | None = options.REDACT,
    show_rows: int = options.SHOW,
    as_json: bool = options.FINDINGS_JSON,
    sample_rows: int = typer.Option(
        SCAN_SAMPLE_ROWS,
        "--sample-rows",
        metavar="N",
        min=2,
        help="A file with more rows is not held in memory: the model is fitted to a uniform sample of this size, and "
        "all rows are judged batch by batch, as rfod score does. --report shows the sample.",
    ),
    quiet: bool = options.QUIET,
    choosing: Choosing,
    fail_above: float | None = options.FAIL_ABOVE,
    reading: Reading,
    learning: Learning,
) -> None:
    """Fit and judge one table: which of its rows and cells do not fit the rest?

    Every row is judged only by trees that have not seen it. The findings go to the terminal; -o keeps the scores of all
    rows, --report the findings with their figures.

    Example: rfod scan orders.csv --key order_id --fdr 0.05 -o findings.parquet
    """
    import json
    import sys

    from rfod._cli.console import Reporter, naming, stdout_console
    from rfod._cli.findings import UNUSUAL_ROWS_SHOWN, cells_table, finding_json, print_findings, rows_table
    from rfod._cli.inputs import as_model_reads, check_output, check_training, one_source, read_or_sample, title_of
    from rfod._cli.streaming import Answers, judge_source
    from rfod._io.write import open_sink
    from rfod._model.model import JudgedSample
    from rfod._table.table import check_columns
    from rfod._views.page import write_page
    from rfod.params import SCAN_TRIM
    from rfod.pipeline import fit_detect

    rule, read_options = choosing.rule(), reading.options()
    check_output(output, [table], is_table=True)
    check_output(report, [table])
    if redact and report is None:
        raise typer.BadParameter("it belongs to --report.", param_hint="--redact")
    if as_json and output == "-":
        raise typer.BadParameter("stdout takes the rows (-o -) or the JSON object, not both.", param_hint="--json")
    reporter = Reporter(quiet)
    source = one_source(table, reading, read_options)
    can_stream = reading.sql is None and table != "-"  # which are there only once
    batch, places = read_or_sample(source, reporter, sample_rows if can_stream else sys.maxsize, learning.seed)
    with reporter.stage("forests"), reporter.remarks(), naming(source.name):
        check_training(batch.rows.num_rows, batch.rows.column_names)
        check_columns(batch.rows.column_names, redact or (), "redact")
        params = learning.params(batch.rows.column_names, read_options.kinds, SCAN_TRIM, reporter.draws)
        found = fit_detect(batch.table, params, key=key, lines=batch.lines)[1]
    n_shown = MOST_JSON_FINDINGS if as_json else 0 if quiet or output == "-" else show_rows
    if places is not None:
        reporter.say(f"{source.name}: the model is fitted to a uniform sample of {len(found):,} rows.")
        model, own = found.judged.model, JudgedSample(places, found.judged.cells)
        needed = {column.name for column in model.schema.columns} | ({key} if key else set())
        source = one_source(table, reading, as_model_reads(model, read_options, needed))
        answers = Answers(rule, output, cells, n_shown, csv_safe)
        judge_source(model, source, key, answers, reporter, learning.jobs, own)
        n_rows, n_flagged = answers.n_rows, answers.n_flagged
        findings = answers.findings[:n_flagged] if as_json else answers.findings
    else:
        with reporter.stage("findings"):
            flagged = rule.select(found.judged)
            order = found.judged.order
            worst = order[flagged[order]]
            n_rows, n_flagged = len(found), len(worst)
            shown_rows = worst[:n_shown] if n_flagged or as_json else order[: min(UNUSUAL_ROWS_SHOWN, n_shown)]
            findings = found.explain_rows(shown_rows)
            if output is not None:
                written = cells_table(found, worst) if cells else rows_table(found, flagged)
                with open_sink(output, written.schema, csv_safe=csv_safe) as write:
                    write(written)
    if report is not None:
        with reporter.stage("report"):
            write_page(found, report, rule=vars(rule), redact=redact or (), title=title_of(table))
    if as_json:
        summary = {
            "source": source.name,
            "n_rows": n_rows,
            "n_columns": len(found.columns),
            "n_flagged": n_flagged,
            "rule": rule.words(),
            "notes": reporter.notes,
            "seconds": {name: round(seconds, 3) for name, seconds in reporter.seconds.items()},
            "findings": [finding_json(finding) for finding in findings],
        }
        typer.echo(json.dumps(summary, ensure_ascii=False))
    elif output != "-" and not quiet:
        print_findings(stdout_console(), findings, n_flagged, rule, output)
    reporter.say(
        f"{source.name}: {n_rows:,} rows, {len(found.columns)} columns judged; {n_flagged:,} flagged "
        f"({n_flagged / n_rows:.2%}; {rule.words()}). {reporter.times()}."
    )
    paths = [path for path in (output, report) if path not in (None, "-")]
    if paths:
        reporter.say(f"written: {', '.join(map(str, paths))}")
    if fail_above is not None and n_flagged > fail_above * n_rows:
        raise typer.Exit(FINDINGS_ABOVE)
