"""`rfod score` to a directory of parts with a manifest, on an engine."""

from __future__ import annotations

import json
from typing import Any

import typer

from rfod._cli.console import Reporter, naming
from rfod._cli.inputs import match_source
from rfod._decisions.decisions import Decisions
from rfod._engine.engines import open_engine
from rfod._engine.scoring import MANIFEST, score_files
from rfod._findings.findings import Rule
from rfod._io.interface import ReadOptions
from rfod._io.locations import open_columnar
from rfod._model.executor import terminal_progress
from rfod._model.model import Model
from rfod.exceptions import counted


def score_directory(
    model: Model,
    table: str,
    output: str,
    rule: Rule,
    engine: str,
    read_options: ReadOptions,
    reporter: Reporter,
    *,
    key: str | None,
    cells: bool,
    row_probability: bool,
    decisions: Decisions | None,
    as_json: bool,
    jobs: int,
) -> dict[str, Any]:
    """Judge the files of one table and say what was done; returns the manifest."""
    matched = None if decisions is None else match_source(decisions, open_columnar(table, read_options), reporter)
    source = open_columnar(table, read_options)
    with (
        reporter.stage("scoring"),
        reporter.remarks(),
        naming(source.name),
        terminal_progress(reporter.draws) as progress,
        open_engine(engine, jobs) as executor,
    ):
        manifest = score_files(
            model,
            source,
            output,
            executor,
            rule,
            key=key,
            cells=cells,
            row_probability=row_probability,
            decisions=matched,
            progress=progress,
        )
    if as_json:
        about = {name: value for name, value in manifest.items() if name not in ("inputs", "parts")}
        typer.echo(json.dumps({"source": source.name, "notes": reporter.notes} | about, ensure_ascii=False))
    reporter.say(
        f"{source.name}: {manifest['n_rows']:,} rows judged; {manifest['n_flagged']:,} flagged "
        f"({manifest['n_flagged'] / manifest['n_rows']:.2%}; {rule.words()})."
    )
    reporter.say(
        f"written: {output.rstrip('/')}/{MANIFEST} and {counted(len(manifest['parts']), 'part')}. {reporter.times()}."
    )
    return manifest
