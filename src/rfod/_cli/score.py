"""`rfod score`: judge tables of any size with a model from a file."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from rfod._cli import choices
from rfod._cli.choices import check_rule, read_options
from rfod._cli.console import Voice, naming
from rfod._cli.inputs import check_key, model_kinds
from rfod._cli.rule import Rule
from rfod._cli.scan import FINDINGS_ABOVE, print_findings
from rfod._cli.stream import Answers, Tally
from rfod._io.errors import InputError, OutputError
from rfod._io.options import BATCH_ROWS
from rfod._io.pieces import Source
from rfod._io.sinks import check_target, format_of
from rfod._io.sources import expand, open_query, open_source
from rfod._io.streams import plain_name
from rfod.detector import RFOD, load

MOST_JSON_FINDINGS = 1000


def score(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model file that rfod fit wrote.", show_default=False)
    ],
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TABLE...", help="Files, folders or patterns in quotes; - for stdin.", show_default=False
        ),
    ] = None,
    key: choices.Key = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Write all rows with their scores to a .csv, .parquet or .jsonl file (- for stdout), or to a folder: "
            "one Parquet file per table.",
        ),
    ] = None,
    cells: choices.Cells = False,
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
    batch_rows: choices.BatchRows = BATCH_ROWS,
    jobs: choices.Jobs = -1,
) -> None:
    """Judge tables with a model; rows are read, judged and written batch by batch.

    Rules that compare all rows (--fdr, --top) are applied per table, at its end.

    Example: rfod score orders.rfod 'new/*.parquet' -o scores/ --cells
    """
    check_rule(fdr, top, contamination)
    options = read_options(separator, encoding, decimal, quote, header, types, batch_rows)
    voice, rule = Voice(quiet), Rule(fdr, top, contamination)
    with voice.stage("loading"):
        detector = load_detector(model, jobs)
    kinds, needed = model_kinds(detector.model_, options.kinds), {column.name for column in detector.model_.columns}
    options = replace(
        options,
        kinds=kinds,
        told=frozenset(kinds),
        columns=frozenset(needed if key is None else needed | {key}),
    )
    if (sql is None) != (database is None):
        raise typer.BadParameter("--sql and --db belong together.", param_hint="--sql")
    if bool(tables) == (sql is not None):
        raise typer.BadParameter("name tables, or give --sql with --db.", param_hint="TABLE")
    places = [path for place in tables or [] for path in expand(place)] or ["query"]
    targets = targets_for(places, output, cells)
    share_above = False
    summaries = []
    for place, target in zip(places, targets, strict=True):
        source = open_query(str(database), str(sql), options) if sql else open_source(place, options)
        n_kept = MOST_JSON_FINDINGS if as_json else 0 if quiet or output == "-" else show_rows
        tally = judge_source(detector, source, key, Answers(rule, target, cells, n_kept, None), voice)
        if as_json:
            summaries.append(summary_of(source, tally, rule))
        elif output != "-" and not quiet:
            print_findings(tally.highest(show_rows), tally.n_flagged, rule, key, target)
        voice.say(
            f"{source.name}: {tally.n_rows:,} rows judged; {tally.n_flagged:,} flagged "
            f"({tally.n_flagged / tally.n_rows:.2%}; {rule.words()})."
        )
        share_above |= fail_above is not None and tally.n_flagged > fail_above * tally.n_rows
    if as_json:
        typer.echo(json.dumps(summaries[0] if len(summaries) == 1 else summaries, ensure_ascii=False))
    voice.say(f"{voice.times()}.")
    if share_above:
        raise typer.Exit(FINDINGS_ABOVE)


def load_detector(path: str, jobs: int) -> RFOD:
    """The model, with errors that name its file."""
    if not Path(path).is_file():
        raise InputError(f"{path}: there is no such model file. Hint: rfod fit TABLE -o {path} writes one.")
    with naming(path):
        detector = load(path)
    detector.set_params(n_jobs=jobs, verbose=0)
    return detector


def targets_for(places: list[str], output: str | None, cells: bool) -> list[str | None]:
    """Where the answer for each table goes."""
    if output is None or output == "-":
        if output == "-" and len(places) > 1:
            raise OutputError(f"stdout takes one table, but {len(places)} came. Hint: -o FOLDER/ writes one file each.")
        return [output] * len(places)
    folder = Path(output)
    if not (folder.is_dir() or output.endswith("/") or len(places) > 1):
        format_of(output)
        check_target(output)
        return [output]
    if folder.is_file():
        raise OutputError(f"{output} is a file, but {len(places)} tables came. Hint: -o FOLDER/ writes one file each.")
    folder.mkdir(parents=True, exist_ok=True)
    names = ["stdin" if place == "-" else Path(plain_name(place)).stem for place in places]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise OutputError(
            f"{output}: two tables are both called {sorted(repeated)[0]!r}. Hint: score them one at a time."
        )
    return [str(folder / f"{name}{'.cells' if cells else ''}.parquet") for name in names]


def judge_source(detector: RFOD, source: Source, key: str | None, answers: Answers, voice: Voice) -> Tally:
    """Read, judge and write one source."""
    with (
        voice.bar("scoring", source) as bar,
        voice.remarks(),
        naming(source.name),
        answers,
        closing(source.pieces()) as pieces,
    ):
        while True:
            with voice.stage("reading"):
                piece = next(pieces, None)
            if piece is None:
                break
            check_key(piece.rows, key)
            with voice.stage("judging"):
                found = detector.detect(piece.rows, key=key)
            with voice.stage("writing"):
                answers.add(found, piece)
            bar.advance(piece.rows.num_rows)
        if not answers.tally.n_rows:
            raise InputError(f"{source.name}: the table has no rows. Hint: a header alone is not enough.")
        with voice.stage("writing"):
            answers.settle()
    voice.notes_of(source)
    return answers.tally


def summary_of(source: Source, tally: Tally, rule: Rule) -> dict[str, object]:
    """Plain values for --json; at most MOST_JSON_FINDINGS findings, since all are in the file that -o writes."""
    return {
        "source": source.name,
        "n_rows": tally.n_rows,
        "n_flagged": tally.n_flagged,
        "rule": rule.words(),
        "notes": source.notes.texts(),
        "findings": [finding.to_json() for finding in tally.highest(tally.n_flagged)],
    }
