"""`rfod report`: judge a table with a model and write the findings as one HTML file."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from rfod._cli import choices
from rfod._cli.choices import check_rule, read_options
from rfod._cli.console import Voice, naming
from rfod._cli.inputs import check_key, check_redact, model_kinds, one_source, title_of
from rfod._cli.rule import Rule
from rfod._cli.score import load_detector
from rfod._io.errors import InputError
from rfod._io.options import BATCH_ROWS
from rfod._io.sinks import check_target
from rfod._io.sources import read_all
from rfod._report.html import write_page


def report(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model file that rfod fit wrote.", show_default=False)
    ],
    table: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="File, folder or pattern in quotes; - for stdin.", show_default=False),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.", show_default=False)
    ] = ...,  # type: ignore[assignment]  # typer's sign for "required"
    key: choices.Key = None,
    redact: choices.Redact = None,
    quiet: choices.Quiet = False,
    fdr: choices.Fdr = None,
    top: choices.Top = None,
    contamination: choices.Contamination = None,
    separator: choices.Separator = None,
    encoding: choices.Encoding = None,
    decimal: choices.Decimal = None,
    quote: choices.Quote = None,
    header: choices.Header = None,
    types: choices.Types = None,
    sql: choices.Sql = None,
    database: choices.Database = None,
    jobs: choices.Jobs = -1,
) -> None:
    """Judge a table with a model and write the findings as one HTML file to look through.

    The file needs no network and holds at most 10,000 findings.

    Example: rfod report orders.rfod new.csv --key order_id -o report.html
    """
    check_rule(fdr, top, contamination)
    options = read_options(separator, encoding, decimal, quote, header, types, BATCH_ROWS)
    check_target(output)
    voice, rule = Voice(quiet), Rule(fdr, top, contamination)
    with voice.stage("loading"):
        detector = load_detector(model, jobs)
    kinds = model_kinds(detector.model_, options.kinds)
    source = one_source(table, sql, database, replace(options, kinds=kinds, told=frozenset(kinds)))
    with voice.stage("reading"), voice.bar("reading", source) as bar:
        piece = read_all(source, bar.advance)
    voice.notes_of(source)
    if not piece.rows.num_rows:
        raise InputError(f"{source.name}: the table has no rows. Hint: a header alone is not enough.")
    with voice.remarks(), naming(source.name):
        check_key(piece.rows, key)
        check_redact(piece.rows, redact)
        with voice.stage("judging"):
            found = detector.detect(piece.rows, key=key)
        with voice.stage("writing"):
            write_page(found, output, rule=vars(rule), redact=redact or (), title=title_of(table), lines=piece.lines)
    n_flagged = int(rule.flag(found).sum())
    voice.say(
        f"{output}: {n_flagged:,} of {len(found):,} rows of {source.name} flagged ({rule.words()}). {voice.times()}."
    )
