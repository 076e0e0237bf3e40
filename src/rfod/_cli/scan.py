"""`rfod scan`: fit and judge one table."""

from __future__ import annotations

import json
from typing import Annotated

import numpy as np
import typer

from rfod._cli import choices
from rfod._cli.answers import cells_schema, cells_table, key_type_of, rows_schema, rows_table
from rfod._cli.choices import DEFAULTS, SEED, check_rule, column_types, read_options
from rfod._cli.console import Voice, naming, stdout_console
from rfod._cli.findings import Finding, collect, show
from rfod._cli.inputs import check_redact, check_training, one_source, title_of
from rfod._cli.rule import Rule
from rfod._cli.stream import NEAREST
from rfod._io.options import BATCH_ROWS
from rfod._io.sinks import check_target, format_of, open_sink
from rfod._io.sources import read_all
from rfod._report.html import write_page
from rfod.detector import scan as scan_table

FINDINGS_ABOVE = 3


def scan(
    table: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="File, folder or pattern in quotes; - for stdin.", show_default=False),
    ] = None,
    key: choices.Key = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write all rows with their scores to a .csv, .parquet or .jsonl file; - for stdout.",
        ),
    ] = None,
    cells: choices.Cells = False,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="Write the findings as one HTML file to look through."),
    ] = None,
    redact: choices.Redact = None,
    show_rows: choices.Show = 20,
    as_json: choices.Json = False,
    quiet: choices.Quiet = False,
    fdr: choices.Fdr = None,
    top: choices.Top = None,
    contamination: choices.Contamination = None,
    fail_above: choices.FailAbove = None,
    separator: choices.Separator = None,
    encoding: choices.Encoding = None,
    decimal: choices.Decimal = None,
    quote: choices.Quote = None,
    header: choices.Header = None,
    types: choices.Types = None,
    sql: choices.Sql = None,
    database: choices.Database = None,
    trees: choices.Trees = DEFAULTS["n_estimators"],
    alpha: choices.Alpha = DEFAULTS["alpha"],
    beta: choices.Beta = DEFAULTS["beta"],
    trim: choices.Trim = None,
    seed: choices.Seed = SEED,
    jobs: choices.Jobs = -1,
) -> None:
    """Fit and judge one table: which of its rows and cells do not fit the rest?

    Every row is judged only by trees that have not seen it. The findings go to the terminal; -o keeps the scores of all
    rows, --report the findings with their figures.

    Example: rfod scan orders.csv --key order_id --fdr 0.05 -o findings.parquet
    """
    check_rule(fdr, top, contamination)
    options = read_options(separator, encoding, decimal, quote, header, types, BATCH_ROWS)
    if output not in (None, "-"):
        format_of(str(output))
        check_target(str(output))
    if report is not None:
        check_target(report)
    elif redact:
        raise typer.BadParameter("it belongs to --report.", param_hint="--redact")
    voice, rule = Voice(quiet), Rule(fdr, top, contamination)
    source = one_source(table, sql, database, options)
    with voice.stage("reading"), voice.bar("reading", source) as bar:
        piece = read_all(source, bar.advance)
    voice.notes_of(source)
    params = {"n_estimators": trees, "alpha": alpha, "beta": beta, "random_state": seed, "n_jobs": jobs}
    params |= {} if trim is None else {"trim": trim}
    with voice.stage("forests"), voice.remarks(), naming(source.name):
        check_training(piece.rows, key)
        check_redact(piece.rows, redact)
        found = scan_table(
            piece.rows, key=key, column_types=column_types(options.kinds), verbose=int(voice.draws), **params
        )
    with voice.stage("findings"):
        flagged = rule.flag(found)
        order = np.argsort(-found.row_scores, kind="stable")
        worst = order[flagged[order]]
        n_shown = len(worst) if as_json else min(show_rows, len(worst))
        findings = collect(found, piece, worst[:n_shown] if len(worst) else order[: min(NEAREST, show_rows)])
        if output is not None:
            schema = (cells_schema if cells else rows_schema)(key_type_of(found))
            with open_sink(output, schema) as write:
                write(cells_table(found, piece, worst) if cells else rows_table(found, piece, flagged))
        if report is not None:
            write_page(found, report, rule=vars(rule), redact=redact or (), title=title_of(table), lines=piece.lines)
        n_flagged = int(flagged.sum())
        if as_json:
            summary = {
                "source": source.name,
                "n_rows": len(found),
                "n_columns": len(found.columns),
                "n_flagged": n_flagged,
                "rule": rule.words(),
                "notes": source.notes.texts(),
                "seconds": {name: round(seconds, 3) for name, seconds in voice.seconds.items()},
                "findings": [finding.to_json() for finding in findings] if n_flagged else [],
            }
            typer.echo(json.dumps(summary, ensure_ascii=False))
        elif output != "-" and not quiet:
            print_findings(findings, n_flagged, rule, key, output)
    voice.say(
        f"{source.name}: {len(found):,} rows, {len(found.columns)} columns judged; {n_flagged:,} flagged "
        f"({n_flagged / len(found):.2%}; {rule.words()}). {voice.times()}."
    )
    if fail_above is not None and n_flagged > fail_above * len(found):
        raise typer.Exit(FINDINGS_ABOVE)


def print_findings(findings: list[Finding], n_flagged: int, rule: Rule, key: str | None, output: str | None) -> None:
    """The findings, or that there are none and what comes nearest."""
    console = stdout_console()
    if not n_flagged:
        console.print(f"No row is a finding ({rule.words()}). The highest scores:")
    if findings:
        show(console, findings, key)
    if n_flagged > len(findings):
        rest = f"... and {n_flagged - len(findings):,} more"
        console.print(rest + (f" in {output}" if output else "; -o FILE writes all, --show N shows more"))
