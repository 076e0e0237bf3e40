"""`rfod repair`: a table with its decided and its certain repairs made."""

from __future__ import annotations

import typer

from rfod._cli import options
from rfod._cli.options import Learning, Reading
from rfod.params import SURE


def repair(
    table: str | None = options.TABLE,
    *,
    output: str = typer.Option(
        ...,
        "--output",
        "-o",
        metavar="FILE",
        help="The repaired table. A text file comes back byte for byte but for the changed fields; .csv, .parquet or "
        ".jsonl for all else.",
    ),
    repair_above: float = typer.Option(
        SURE, "--repair-above", metavar="P", help="Make repairs that are right with at least this probability."
    ),
    decisions: str | None = options.DECISIONS,
    log: str | None = typer.Option(
        None,
        "--log",
        metavar="FILE",
        help="Change log, a .csv, .jsonl or .parquet file. [default: beside the output, its name with .changes.csv]",
    ),
    done: str | None = typer.Option(
        None,
        "--done",
        metavar="FILE",
        help="Change log of the run that wrote TABLE: its changes stay, and the table is judged as it was before them.",
    ),
    key: str | None = options.KEY,
    show_entries: int = typer.Option(10, "--show", metavar="N", min=0, help="Changes shown on the terminal."),
    quiet: bool = options.QUIET,
    reading: Reading,
    learning: Learning,
) -> None:
    """Write a table with wrong cells repaired: those that were decided, and those whose right value is practically
    certain. A change log says what was changed, and why.

    Example: rfod repair orders.csv -o clean.csv
    """
    from rfod._cli.console import Reporter, naming, stdout_console
    from rfod._cli.inputs import check_training, one_source, read_table
    from rfod._cli.repairing import Outputs, count_wrong, left_sentence, log_of, print_changes, review_command, undone
    from rfod._decisions.decisions import Decisions
    from rfod.pipeline import fit_detect

    if not 0 < repair_above <= 1:
        raise typer.BadParameter("a probability is needed, above 0 and at most 1.", param_hint="--repair-above")
    if table == "-":
        raise typer.BadParameter("stdin cannot be repaired; name a file, or give --sql with --db.", param_hint="TABLE")
    outputs = Outputs(output, log or log_of(output), table)
    outputs.check([decisions, done])
    decided = None if decisions is None else Decisions.read(decisions)
    reporter = Reporter(quiet)
    read_options = reading.options()
    source = one_source(table, reading, read_options)
    batch = read_table(source, reporter)
    outputs.check_format(source, batch)
    with undone(source, batch, table, done, read_options, reporter) as (judged, settled):
        with reporter.stage("forests"), reporter.remarks(), naming(source.name):
            check_training(judged.rows.num_rows, judged.rows.column_names)
            params = learning.params(judged.rows.column_names, read_options.kinds, 0.0, reporter.draws)
            found = fit_detect(judged.table, params, key=key, lines=batch.lines, decisions=decided)[1]
        with reporter.stage("repairs"), reporter.remarks():
            changes = [
                change for change in found.list_changes(repair_above) if (change.row, change.column) not in settled
            ]
    with reporter.stage("writing"):
        made, refused = outputs.write(source, batch, changes, found.labels)
    for refusal in refused[:show_entries]:
        place = found.labels.place(refusal.edit.row)
        reporter.note(f"{place}, column {refusal.edit.column!r} left as it is: {refusal.reason}.")
    if show_entries and not quiet:
        print_changes(stdout_console(), made, found.labels, show_entries, outputs.log)
    n_decided = sum(change.probability is None for change in made)
    counted = f"{len(made):,} cell{'' if len(made) == 1 else 's'} changed ({n_decided:,} decided)"
    left = f", {len(refused):,} left as they are" if refused else ""
    reporter.say(f"{source.name}: {len(found):,} rows; {counted}{left}. {reporter.times()}.")
    wanted = {(change.row, change.column) for change in changes} | settled
    n_wrong = count_wrong(found, wanted)
    if n_wrong:
        hint = None if table is None else review_command(table, key, decisions)
        reporter.say(left_sentence(n_wrong, bool(made), repair_above, hint))
    reporter.say(f"written: {output}, {outputs.log}")
