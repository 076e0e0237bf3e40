"""`rfod fit`: learn from a table of any size and keep the model in a file."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from rfod._cli import choices
from rfod._cli.choices import DEFAULTS, SEED, column_types, read_options
from rfod._cli.console import Voice, naming
from rfod._cli.inputs import check_training, one_source
from rfod._io.errors import InputError
from rfod._io.facts import SourceFacts, attach_facts
from rfod._io.options import BATCH_ROWS
from rfod._io.sampling import RowSampler
from rfod._io.sinks import check_target, replaced
from rfod.detector import RFOD

SAMPLE_ROWS = 1_000_000


def fit(
    table: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="File, folder or pattern in quotes; - for stdin.", show_default=False),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The model file to write.", show_default=False)
    ] = ...,  # type: ignore[assignment]  # typer's sign for "required"
    key: choices.Key = None,
    sample_rows: Annotated[
        int,
        typer.Option(
            "--sample-rows",
            metavar="N",
            min=2,
            help="A source with more rows is fitted on a uniform sample of this size, drawn in one pass.",
        ),
    ] = SAMPLE_ROWS,
    quiet: choices.Quiet = False,
    separator: choices.Separator = None,
    encoding: choices.Encoding = None,
    decimal: choices.Decimal = None,
    quote: choices.Quote = None,
    header: choices.Header = None,
    types: choices.Types = None,
    sql: choices.Sql = None,
    database: choices.Database = None,
    batch_rows: choices.BatchRows = BATCH_ROWS,
    trees: choices.Trees = DEFAULTS["n_estimators"],
    alpha: choices.Alpha = DEFAULTS["alpha"],
    beta: choices.Beta = DEFAULTS["beta"],
    trim: choices.Trim = None,
    seed: choices.Seed = SEED,
    jobs: choices.Jobs = -1,
) -> None:
    """Learn what is ordinary from a table, and keep the model in a file.

    Example: rfod fit train.parquet -o orders.rfod
    """
    options = read_options(separator, encoding, decimal, quote, header, types, batch_rows)
    check_target(output)
    voice = Voice(quiet)
    source = one_source(table, sql, database, options)
    facts, sampler = SourceFacts(source.name), RowSampler(sample_rows, seed)
    with voice.stage("reading"), voice.bar("reading", source) as bar, closing(source.pieces()) as pieces:
        for piece in pieces:
            sampler.add(piece)
            facts.add(piece)
            bar.advance(piece.rows.num_rows)
        if not sampler.n_seen:
            raise InputError(f"{source.name}: the table has no rows. Hint: a header alone is not enough.")
        rows = sampler.rows().rows
    voice.notes_of(source)
    facts.n_sampled = rows.num_rows if rows.num_rows < facts.n_rows else None
    if facts.n_sampled:
        voice.say(f"{source.name}: a uniform sample of {rows.num_rows:,} of {facts.n_rows:,} rows is fitted.")
    kinds = column_types(options.kinds)
    if key is not None:
        kinds.setdefault(key, "identifier")
    detector = RFOD(
        n_estimators=trees,
        alpha=alpha,
        beta=beta,
        trim=DEFAULTS["trim"] if trim is None else trim,
        column_types=kinds or None,
        random_state=seed,
        n_jobs=jobs,
        verbose=int(voice.draws),
    )
    with voice.stage("forests"), voice.remarks(), naming(source.name):
        check_training(rows, key)
        detector.fit(rows)
    detector.set_params(verbose=0)
    with voice.stage("writing"), replaced(output) as temporary:
        detector.save(temporary)
        attach_facts(temporary, facts)
    voice.say(
        f"{output}: {len(detector.model_.columns)} columns of {facts.n_rows:,} rows; "
        f"{detector.model_.n_bytes / 2**20:,.1f} MB of trees. {voice.times()}."
    )
