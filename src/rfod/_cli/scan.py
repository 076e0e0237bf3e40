"""`rfod scan`: fit and judge one table."""

from __future__ import annotations

import typer

from rfod._cli import options
from rfod._cli.options import Learning, Reading
from rfod.params import MOST_JSON_FINDINGS, SCAN_SAMPLE_ROWS

FINDINGS_ABOVE = 3
"""Exit code where there are more findings than --fail-above or --fail-above-cells allows, or --baseline has."""
UNUSUAL_ROWS = 10
_NO_RATE = (
    "no rate holds in a scan, where the errors are in the table that is learned from. Hint: --fail-above-cells N "
    "counts wrong cells, --above P lists cells by their probability; rfod score takes rates, for new rows."
)


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
    cells: bool = typer.Option(
        False, "--cells", help="Write one line per cell of probability 0.5 and more instead of the rows."
    ),
    csv_safe: bool = options.CSV_SAFE,
    report: str | None = typer.Option(
        None, "--report", metavar="FILE", help="Write the findings as one HTML file to look through."
    ),
    redact: list[str] | None = options.REDACT,
    above: float | None = typer.Option(
        None,
        "--above",
        metavar="P",
        help="List and write cells of this probability and more. [default: 0.9 listed, 0.5 written]",
    ),
    top: int = typer.Option(UNUSUAL_ROWS, "--top", metavar="N", min=0, help="Most unusual rows shown."),
    show_entries: int = typer.Option(
        20, "--show", metavar="N", min=0, help="Cells and patterns of cells shown on the terminal."
    ),
    as_json: bool = options.FINDINGS_JSON,
    named_format: str = options.FORMAT,
    sample_rows: int = typer.Option(
        SCAN_SAMPLE_ROWS,
        "--sample-rows",
        metavar="N",
        min=2,
        help="A file with more rows is not held in memory: the model is fitted to a uniform sample of this size, and "
        "all rows are judged batch by batch, as rfod score does. --report shows the sample.",
    ),
    decisions: str | None = options.DECISIONS,
    quiet: bool = options.QUIET,
    fail_above_cells: int | None = options.FAIL_ABOVE_CELLS,
    baseline: str | None = options.BASELINE,
    reading: Reading,
    learning: Learning,
    fdr: float | None = typer.Option(None, "--fdr", hidden=True),
    fail_above: float | None = typer.Option(None, "--fail-above", hidden=True),
) -> None:
    """Fit and judge one table: which of its cells are wrong, and what should they have been?

    Every row is judged only by trees that have not seen it. Wrong cells go to the terminal, with what to put in their
    place and how likely they are wrong; -o keeps the scores of all rows or, with --cells, the cells; --report the
    findings with their figures.

    Example: rfod scan orders.csv --key order_id --cells -o wrong.csv
    """
    import json
    import sys

    from rfod._cli.baseline import Baseline
    from rfod._cli.console import Reporter, naming, print_lines, stdout_console
    from rfod._cli.inputs import (
        as_model_reads,
        check_output,
        check_report,
        check_training,
        match_source,
        one_source,
        read_or_sample,
        title_of,
    )
    from rfod._cli.large import judge_large
    from rfod._cli.markdown import scan_markdown
    from rfod._cli.suspects import CellFindings, ScanFindings
    from rfod._decisions.decisions import decide, open_decisions
    from rfod._io.write import open_sink
    from rfod._table.table import check_columns
    from rfod._views.page import write_page
    from rfod.detection import Detection
    from rfod.params import SCAN_TRIM
    from rfod.pipeline import ScannedSample, scan_sample, scan_table

    read_options = reading.options()
    shown_as = options.output_format(named_format, as_json)
    as_json = shown_as == "json"
    for option, value in (("--fdr", fdr), ("--fail-above", fail_above)):
        if value is not None:
            raise typer.BadParameter(_NO_RATE, param_hint=option)
    if above is not None and not 0 < above <= 1:
        raise typer.BadParameter("a probability is needed, above 0 and at most 1.", param_hint="--above")
    check_output(output, [table, decisions, baseline], is_table=True)
    check_report(report, [table, decisions, baseline])
    if cells and output is None:
        raise typer.BadParameter("it says what -o writes. Hint: add -o FILE.", param_hint="--cells")
    if redact and report is None:
        raise typer.BadParameter("it belongs to --report.", param_hint="--redact")
    if as_json and output == "-":
        raise typer.BadParameter("stdout takes the rows (-o -) or the JSON object, not both.", param_hint="--json")
    opened, matched = open_decisions(decisions), None
    known = None if baseline is None else Baseline(baseline, key)
    reporter = Reporter(quiet)
    source = one_source(table, reading, read_options)
    can_stream = reading.sql is None and table != "-"  # which are there only once
    batch, places = read_or_sample(source, reporter, sample_rows if can_stream else sys.maxsize, learning.seed)
    if opened is not None and places is not None:
        matched = match_source(opened, one_source(table, reading, read_options), reporter)
    sample: ScannedSample | None = None
    found: Detection | None = None
    with reporter.stage("forests"), reporter.remarks(), naming(source.name):
        check_training(batch.rows.num_rows, batch.rows.column_names)
        check_columns(batch.rows.column_names, redact or (), "redact")
        params = learning.params(batch.rows.column_names, read_options.kinds, SCAN_TRIM, reporter.draws)
        rows = batch.table
        settled = decide(rows, opened) if matched is None else matched.settle(rows, places)
        if places is not None and report is None:  # which shows the rows of the sample
            sample = scan_sample(rows, params, key=key, decisions=settled)
        else:
            model, found = scan_table(rows, params, key=key, lines=batch.lines, decisions=settled)
            if places is not None:
                sample = ScannedSample.of(model, found)
        del batch, rows, settled  # not held while all rows are judged
    is_listed = as_json or not (quiet or output == "-")
    n_unusual = top if is_listed else 0
    findings: CellFindings
    if places is not None and sample is not None:
        reporter.say(f"{source.name}: the model is fitted to a uniform sample of {len(places):,} rows.")
        source = one_source(table, reading, as_model_reads(sample.model, read_options))
        findings, unusual = judge_large(
            sample,
            places,
            source,
            reporter,
            key=key,
            output=output,
            cells=cells,
            csv_safe=csv_safe,
            above=above,
            n_unusual=n_unusual,
            jobs=learning.jobs,
            matched=matched,
            known=known,
        )
    else:
        assert found is not None
        with reporter.stage("findings"):
            findings = in_memory = ScanFindings(found, above)
            unusual = found.explain_rows(found.judged.order[:n_unusual])
            if known is not None:
                known.add_cells(found, in_memory.listed)
            if output is not None:
                answers = in_memory.cells_table() if cells else in_memory.rows_table()
                with open_sink(output, answers.schema, csv_safe=csv_safe) as write:
                    write(answers)
    if report is not None and found is not None:
        with reporter.stage("report"):
            write_page(found, report, rule={}, redact=redact or (), title=title_of(table))
    if as_json:
        seconds = {name: round(seconds, 3) for name, seconds in reporter.seconds.items()}
        summary = {"source": source.name, "notes": reporter.notes, "seconds": seconds}
        summary |= {} if known is None else {"baseline": known.to_json()}
        typer.echo(json.dumps(summary | findings.to_json(MOST_JSON_FINDINGS, unusual), ensure_ascii=False))
    elif is_listed and shown_as == "markdown":
        print_lines(scan_markdown(source.name, findings, show_entries, unusual, known))
    elif is_listed:
        findings.print(stdout_console(), show_entries, unusual, output if cells else None)
        if known is not None:
            known.print(stdout_console(), show_entries)
    reporter.say(
        f"{source.name}: {findings.n_rows:,} rows, {len(findings.columns)} columns judged; wrong cells: "
        f"{findings.n_wrong:,}, worth a check: {findings.n_worth_a_check:,}. {reporter.times()}."
    )
    written = [path for path in (output, report) if path not in (None, "-")]
    if written:
        reporter.say(f"written: {', '.join(map(str, written))}")
    is_new = known is not None and known.n_new > 0
    if is_new or (fail_above_cells is not None and findings.n_wrong > fail_above_cells):
        raise typer.Exit(FINDINGS_ABOVE)
