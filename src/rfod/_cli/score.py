"""`rfod score`: judge tables of any size with a model from a file."""

from __future__ import annotations

import typer

from rfod._cli import options
from rfod._cli.options import Choosing, Reading
from rfod._cli.scan import FINDINGS_ABOVE
from rfod.params import MOST_JSON_FINDINGS


def score(
    model: str = options.MODEL,
    tables: list[str] | None = typer.Argument(
        None, metavar="TABLE...", help="Files, folders or patterns in quotes; - for stdin."
    ),
    *,
    key: str | None = options.KEY,
    output: str | None = typer.Option(
        None,
        "--output",
        "-o",
        metavar="PATH",
        help="Write all rows with their scores to a .csv, .parquet or .jsonl file (- for stdout), or to a folder: "
        "one Parquet file per table.",
    ),
    engine: str | None = typer.Option(
        None,
        "--engine",
        metavar="NAME",
        help="Write to a directory of parts with a manifest, and go on where an earlier run of the same command "
        "stopped. local, ray or the address of a Ray cluster, as in rfod fit.",
    ),
    cells: bool = options.CELLS,
    row_probability: bool = typer.Option(
        False,
        "--row-probability",
        help="Write a last column, row_probability: how likely the row is anomalous among all rows of its table.",
    ),
    decisions: str | None = options.DECISIONS,
    csv_safe: bool = options.CSV_SAFE,
    show_rows: int = options.SHOW,
    as_json: bool = options.FINDINGS_JSON,
    named_format: str = options.FORMAT,
    quiet: bool = options.QUIET,
    choosing: Choosing,
    fail_above: float | None = options.FAIL_ABOVE,
    fail_above_cells: int | None = options.FAIL_ABOVE_CELLS,
    baseline: str | None = options.BASELINE,
    reading: Reading,
    batch_rows: int = options.BATCH,
    jobs: int = options.JOBS,
) -> None:
    """Judge tables with a model; rows are read, judged and written batch by batch.

    What compares all rows (--fdr, --top, --row-probability) is settled per table, at its end; with --engine for all
    files together.

    Example: rfod score orders.rfod 'new/*.parquet' -o scores/ --cells
    """
    import json

    from rich.text import Text

    from rfod._cli.baseline import Baseline
    from rfod._cli.console import Reporter, print_lines, shown, stdout_console
    from rfod._cli.findings import finding_json, print_findings
    from rfod._cli.inputs import as_model_reads, match_source, one_source, open_model
    from rfod._cli.markdown import known_markdown, rows_markdown
    from rfod._cli.streaming import Answers, BatchJudge, judge_source, targets_for
    from rfod._decisions.decisions import open_decisions
    from rfod._io.interface import InputError
    from rfod._io.locations import expand
    from rfod._model.local_fdr import RowProbabilities

    rule, read_options = choosing.rule(), reading.options(batch_rows)
    shown_as = options.output_format(named_format, as_json)
    as_json = shown_as == "json"
    if as_json and output == "-":
        raise typer.BadParameter("stdout takes the rows (-o -) or the JSON object, not both.", param_hint="--json")
    if bool(tables) == (reading.sql is not None):
        raise typer.BadParameter("name tables, or give --sql with --db.", param_hint="TABLE")
    if engine is not None and (len(tables or ()) != 1 or output in (None, "-")):
        raise typer.BadParameter("name one table and a directory (-o DIRECTORY).", param_hint="--engine")
    if decisions is not None and (reading.sql is not None or "-" in (tables or ())):
        raise typer.BadParameter(
            "decisions take a file that is read twice, not stdin or --sql. Hint: write the table to a file.",
            param_hint="--decisions",
        )
    for option, value, reason in (
        ("--baseline", baseline, "an engine writes no fingerprints, by which findings are recognised"),
        ("--fail-above-cells", fail_above_cells, "an engine does not count wrong cells"),
    ):
        if value is not None and engine is not None:
            hint = "Hint: leave out --engine; a file or folder of any size is then read batch by batch."
            raise typer.BadParameter(f"{reason}. {hint}", param_hint=option)
    if row_probability and output is None:
        raise typer.BadParameter("it is a column of the output. Hint: add -o FILE.", param_hint="--row-probability")
    if cells and output is None:
        raise typer.BadParameter("it says what -o writes. Hint: add -o PATH.", param_hint="--cells")
    opened = open_decisions(decisions)
    places = [path for place in tables or [] for path in expand(place)] or ["query"]
    if baseline is not None and len(places) > 1:
        raise typer.BadParameter(f"one table is compared with it, but {len(places):,} came.", param_hint="--baseline")
    inputs = [model, *(tables or []), *(path for path in (decisions, baseline) if path is not None)]
    targets = [] if engine is not None else targets_for(places, output, cells, inputs)
    known = None if baseline is None else Baseline(baseline, key)
    reporter = Reporter(quiet)
    with reporter.stage("loading"):
        fitted = open_model(model)
    needed = {column.name for column in fitted.schema.columns}
    if fitted.profile is not None and (cells or fail_above_cells is not None):
        needed |= set(fitted.profile.names)  # columns without a forest are judged too
    if known is not None and known.file.level == "cells" and fitted.profile is None:
        raise InputError(
            f"{model} keeps no evidence, so cells have no probability to compare with {baseline}. "
            "Hint: fit it without --no-evidence, or give findings that are rows."
        )
    # with fingerprints, and decisions, of all columns
    is_whole = opened is not None or (engine is None and (output is not None or as_json or known is not None))
    read_options = as_model_reads(fitted, read_options, None if is_whole else needed if key is None else needed | {key})
    if engine is not None:
        from rfod._cli.directory import score_directory

        manifest = score_directory(
            fitted,
            str((tables or [])[0]),
            str(output),
            rule,
            engine,
            read_options,
            reporter,
            key=key,
            cells=cells,
            row_probability=row_probability,
            decisions=opened,
            as_json=as_json,
            jobs=jobs,
        )
        if fail_above is not None and manifest["n_flagged"] > fail_above * manifest["n_rows"]:
            raise typer.Exit(FINDINGS_ABOVE)
        return
    is_above = False
    summaries = []
    for place, target in zip(places, targets, strict=True):
        source = one_source(place if tables else None, reading, read_options)
        matched = None
        if opened is not None:
            matched = match_source(opened, source, reporter)
            source = one_source(place, reading, read_options)
        n_shown = MOST_JSON_FINDINGS if as_json else 0 if quiet or output == "-" else show_rows
        probabilities = RowProbabilities(fitted.calibration, fitted.anomalous_share) if row_probability else None
        answers = Answers(
            rule,
            target,
            cells=cells,
            n_shown=n_shown,
            csv_safe=csv_safe,
            count_wrong=fail_above_cells is not None,
            known=known,
            probabilities=probabilities,
        )
        judge_source(BatchJudge(fitted, key, jobs, matched=matched), source, answers, reporter)
        if as_json:
            summaries.append(
                {
                    "source": source.name,
                    "n_rows": answers.n_rows,
                    "n_flagged": answers.n_flagged,
                    "rule": rule.words(),
                    "notes": reporter.notes,
                    **({} if fail_above_cells is None else {"n_wrong": answers.n_wrong}),
                    **({} if known is None else {"baseline": known.to_json()}),
                    "findings": [
                        finding_json(finding, answers.worst.prints[finding.row])
                        for finding in answers.findings[: answers.n_flagged]
                    ],
                }
            )
        elif output != "-" and not quiet and shown_as == "markdown":
            print_lines(rows_markdown(source.name, answers.findings, answers.n_flagged, rule))
            if known is not None:
                print_lines("\n".join(["", *known_markdown(known, show_rows)]))
        elif output != "-" and not quiet:
            if len(places) > 1:
                stdout_console().print(Text(shown(f"{source.name}:")), soft_wrap=True)
            print_findings(stdout_console(), answers.findings, answers.n_flagged, rule, target)
            if known is not None:
                known.print(stdout_console(), show_rows)
        reporter.say(
            f"{source.name}: {answers.n_rows:,} rows judged; {answers.n_flagged:,} flagged "
            f"({answers.n_flagged / answers.n_rows:.2%}; {rule.words()})."
        )
        is_above |= fail_above is not None and answers.n_flagged > fail_above * answers.n_rows
        if fail_above_cells is not None:
            reporter.say(f"{source.name}: wrong cells: {answers.n_wrong:,} (probability 0.9 and more).")
            is_above |= answers.n_wrong > fail_above_cells
    if as_json:
        typer.echo(json.dumps(summaries[0] if len(summaries) == 1 else summaries, ensure_ascii=False))
    reporter.say(f"{reporter.times()}.")
    if is_above or (known is not None and known.n_new):
        raise typer.Exit(FINDINGS_ABOVE)
