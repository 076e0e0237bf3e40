"""`rfod diff`: two tables, two files of findings, or a model and a table compared."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING
from zipfile import ZipFile, is_zipfile

import typer

from rfod._cli import options
from rfod._cli.options import Learning, Reading

if TYPE_CHECKING:
    from rfod._cli.console import Reporter
    from rfod._diff.diff import TableDiff
    from rfod._table.table import Table

LEVEL = 0.05


def diff(
    before: str = typer.Argument(
        ..., metavar="BEFORE", help="A table, findings that scan or score wrote, or a model file."
    ),
    after: str = typer.Argument(..., metavar="AFTER", help="A table; findings, if BEFORE has findings."),
    *,
    key: str | None = options.KEY,
    report: str | None = typer.Option(None, "--report", metavar="FILE", help="Write the comparison as one HTML file."),
    above: float | None = typer.Option(
        None, "--above", metavar="P", help="Cells of this probability and more are findings. [default: 0.9]"
    ),
    level: float = typer.Option(
        LEVEL,
        "--level",
        metavar="P",
        help="Chance that any column of an unchanged table is said to have moved, at most.",
    ),
    show_findings: int = typer.Option(
        10, "--show", metavar="N", min=0, help="Findings of each sort shown on the terminal."
    ),
    as_json: bool = typer.Option(False, "--json", help="The comparison as one JSON object on stdout."),
    named_format: str = typer.Option(
        "text", "--format", metavar="FORMAT", help="On stdout as text, json (as --json) or markdown."
    ),
    quiet: bool = options.QUIET,
    reading: Reading,
    learning: Learning,
) -> None:
    """Compare two runs: which findings are new, persist or are resolved, and which columns moved?

    Columns move in their distribution, in their gaps, or only in their relation to the other columns. Rows are matched
    by --key, or else by what they hold, so that they may move. Of two files of findings only the findings are
    compared, of a model and a table only the columns.

    Example: rfod diff orders-may.csv orders-june.csv --key order_id
    """
    from rfod._cli.console import Reporter, print_lines
    from rfod._cli.inputs import check_report, title_of
    from rfod._cli.markdown import diff_markdown
    from rfod._diff.files import is_findings_file
    from rfod._diff.wording import lines

    shown_as = options.output_format(named_format, as_json)
    if reading.sql is not None:
        raise typer.BadParameter("two files are compared.", param_hint="--sql")
    for value, option in ((above, "--above"), (level, "--level")):
        if value is not None and not 0 < value < 1:
            raise typer.BadParameter("a probability is needed, between 0 and 1.", param_hint=option)
    if "-" in (before, after):
        raise typer.BadParameter("two files are needed, not stdin.", param_hint="AFTER")
    check_report(report, [before, after])
    reporter = Reporter(quiet)
    has_findings = [is_findings_file(before), is_findings_file(after)]
    if any(has_findings) and not all(has_findings):
        raise typer.BadParameter(
            "one side is a file of findings and the other is not. Hint: rfod scan TABLE --baseline FINDINGS says what "
            "is new in a table.",
            param_hint="AFTER",
        )
    found: TableDiff
    if all(has_findings):
        found = _of_files(before, after, above)
    elif _is_model(before):
        for given, option in ((key, "--key"), (above, "--above")):
            if given is not None:
                raise typer.BadParameter(
                    "of a model and a table only columns are compared. Hint: leave it out, or give two tables.",
                    param_hint=option,
                )
        found = _of_model(before, after, reading, reporter, level, learning.jobs)
    else:
        found = _of_tables(before, after, key, reading, learning, reporter, above, level)
    found = found.named(title_of(before), title_of(after))
    if report is not None:
        from rfod._views.diff_page import write_diff_page

        with reporter.stage("report"):
            write_diff_page(found, report)
    if shown_as == "json":
        typer.echo(json.dumps(found.to_json(), ensure_ascii=False))
    elif not quiet and shown_as == "markdown":
        print_lines(diff_markdown(found, show_findings))
    elif not quiet:
        print_lines("\n".join(lines(found, show_findings)))
    times = reporter.times()
    if times:
        reporter.say(f"{times}.")
    if report is not None:
        reporter.say(f"written: {report}")


def _is_model(path: str) -> bool:
    """Whether a file is a model; a spreadsheet is an archive too."""
    from rfod._io.storage import local_copy

    if path.lower().endswith(".rfod"):
        return True
    try:
        with local_copy(path) as here:
            if not is_zipfile(here):
                return False
            with ZipFile(here) as archive:
                return "model.json" in archive.namelist()
    except (OSError, ValueError):
        return False


def _of_files(before: str, after: str, above: float | None) -> TableDiff:
    from rfod._diff.diff import diff_lists
    from rfod._diff.files import check_comparable, read_findings
    from rfod._evidence.wrong_cells import WRONG

    sides = read_findings(before), read_findings(after)
    check_comparable(*sides)
    return diff_lists(*sides, WRONG if above is None else above)


def _of_model(model: str, table: str, reading: Reading, reporter: Reporter, level: float, jobs: int) -> TableDiff:
    from rfod._cli.console import naming
    from rfod._cli.inputs import open_model_and_source, read_table
    from rfod._diff.diff import diff_model

    fitted, source = open_model_and_source(model, table, reading, reading.options(), reporter)
    batch = read_table(source, reporter)
    with reporter.stage("comparing"), reporter.remarks(), naming(source.name):
        return diff_model(fitted, batch.table, level, jobs)


def _note_repeated(table: Table, key: str, name: str, reporter: Reporter) -> None:
    """Note the keys that several rows have, and how these rows are matched."""
    if key not in table.names:
        return  # an error by which columns there are
    counts = Counter(str(value) for value in table.exact(key).to_pylist() if value is not None)
    repeated = [(text, n) for text, n in counts.items() if n > 1]
    if repeated:
        occur = f"{len(repeated):,} values occur" if len(repeated) > 1 else "one value occurs"
        such_as = f"such as {repeated[0][0][:60]!r}" if len(repeated) > 1 else repr(repeated[0][0][:60])
        reporter.note(
            f"{name}: {occur} more than once in the key {key!r}, {such_as} in {repeated[0][1]:,} rows. "
            "Rows with one key are matched where all their cells agree, the others in their order."
        )


def _of_tables(
    before: str,
    after: str,
    key: str | None,
    reading: Reading,
    learning: Learning,
    reporter: Reporter,
    above: float | None,
    level: float,
) -> TableDiff:
    from rfod._cli.console import naming
    from rfod._cli.inputs import check_training, one_source, read_table, title_of
    from rfod._diff.diff import diff_tables
    from rfod._evidence.wrong_cells import WRONG
    from rfod.params import SCAN_TRIM

    own_options = read_options = reading.options()
    batches = []
    for path in (before, after):
        source = one_source(path, reading, read_options)
        batches.append(read_table(source, reporter))
        with naming(source.name):
            check_training(batches[-1].rows.num_rows, batches[-1].rows.column_names)
        readings = batches[0].readings
        if readings is not None:  # the later table is read like the earlier one
            kinds = {name: found or "text" for name, found in readings.items()} | dict(own_options.kinds)
            read_options = replace(own_options, kinds=kinds, fixed_kinds=frozenset(kinds))
    tables = batches[0].table, batches[1].table
    if key is not None:
        for path, table in zip((before, after), tables, strict=True):
            _note_repeated(table, key, title_of(path), reporter)
    with reporter.stage("comparing"), reporter.remarks():
        return diff_tables(
            *tables,
            learning.params(tables[0].names, own_options.kinds, SCAN_TRIM, reporter.draws),
            key=key,
            above=WRONG if above is None else above,
            level=level,
            lines=(batches[0].lines, batches[1].lines),
        )
