"""`rfod scan`: fit and judge one table."""

from __future__ import annotations

import typer

from rfod._cli import options
from rfod._cli.options import Choosing, Learning, Reading

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

    from rfod._cli.console import Reporter, naming, stdout_console
    from rfod._cli.findings import UNUSUAL_ROWS_SHOWN, cells_table, finding_json, print_findings, rows_table
    from rfod._cli.inputs import check_output, check_training, one_source, read_table, title_of
    from rfod._io.write import open_sink
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
    batch = read_table(source, reporter)
    with reporter.stage("forests"), reporter.remarks(), naming(source.name):
        check_training(batch.rows.num_rows, batch.rows.column_names)
        check_columns(batch.rows.column_names, redact or (), "redact")
        params = learning.params(batch.rows.column_names, read_options.kinds, SCAN_TRIM, reporter.draws)
        found = fit_detect(batch.table, params, key=key, lines=batch.lines)[1]
    with reporter.stage("findings"):
        flagged = rule.select(found.judged)
        order = found.judged.order
        worst = order[flagged[order]]
        n_flagged = len(worst)
        n_shown = MOST_JSON_FINDINGS if as_json else 0 if quiet or output == "-" else show_rows
        shown_rows = worst[:n_shown] if n_flagged or as_json else order[: min(UNUSUAL_ROWS_SHOWN, n_shown)]
        findings = found.explain_rows(shown_rows)
        if output is not None:
            answers = cells_table(found, worst) if cells else rows_table(found, flagged)
            with open_sink(output, answers.schema, csv_safe=csv_safe) as write:
                write(answers)
    if report is not None:
        with reporter.stage("report"):
            write_page(found, report, rule=vars(rule), redact=redact or (), title=title_of(table))
    if as_json:
        summary = {
            "source": source.name,
            "n_rows": len(found),
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
        f"{source.name}: {len(found):,} rows, {len(found.columns)} columns judged; {n_flagged:,} flagged "
        f"({n_flagged / len(found):.2%}; {rule.words()}). {reporter.times()}."
    )
    written = [path for path in (output, report) if path not in (None, "-")]
    if written:
        reporter.say(f"written: {', '.join(map(str, written))}")
    if fail_above is not None and n_flagged > fail_above * len(found):
        raise typer.Exit(FINDINGS_ABOVE)
