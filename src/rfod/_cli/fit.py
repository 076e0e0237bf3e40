"""`rfod fit`: learn from a table of any size and keep the model in a file."""

from __future__ import annotations

from typing import Annotated

import typer

from rfod._cli import options
from rfod._cli.options import Learning, Reading
from rfod._io.options import BATCH_ROWS

SAMPLE_ROWS = 1_000_000


def fit(
    table: options.TableName = None,
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The model file to write.", show_default=False)
    ],
    key: options.Key = None,
    sample_rows: Annotated[
        int,
        typer.Option(
            "--sample-rows",
            metavar="N",
            min=2,
            help="A source with more rows is fitted on a uniform sample of this size, drawn in one pass.",
        ),
    ] = SAMPLE_ROWS,
    quiet: options.Quiet = False,
    reading: Reading,
    batch_rows: options.BatchRows = BATCH_ROWS,
    learning: Learning,
) -> None:
    """Learn what is ordinary from a table, and keep the model in a file.

    Example: rfod fit train.parquet -o orders.rfod
    """
    from contextlib import closing
    from dataclasses import replace

    from rfod._cli.console import Voice, naming
    from rfod._cli.inputs import check_output, check_training, named_columns, one_source
    from rfod._io.errors import InputError
    from rfod._io.facts import SourceFacts, attach_facts
    from rfod._io.sampling import RowSampler
    from rfod._io.sinks import replaced
    from rfod.params import Params
    from rfod.persist import save_model
    from rfod.pipeline import fit_model

    read_options = reading.options(batch_rows)
    check_output(output, [table])
    voice = Voice(quiet)
    source = one_source(table, reading, read_options)
    facts, sampler = SourceFacts(source.name), RowSampler(sample_rows, learning.seed)
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
    with voice.stage("forests"), voice.remarks(), naming(source.name):
        check_training(rows, key)
        params = named_columns(learning, rows).params(read_options.kinds, Params.trim, voice.draws)
        kinds = dict(params.column_types or {})
        if key is not None:
            kinds.setdefault(key, "identifier")
        params = replace(params, column_types=kinds or None)
        model = fit_model(rows, params).model
    model = replace(model, params=dict(model.params) | {"verbose": 0})  # whether progress was drawn is not for the file
    with voice.stage("writing"), replaced(output) as temporary:
        save_model(model, temporary)
        attach_facts(temporary, facts)
    voice.say(
        f"{output}: {len(model.columns)} columns of {facts.n_rows:,} rows; "
        f"{model.n_bytes / 2**20:,.1f} MB of trees. {voice.times()}."
    )
