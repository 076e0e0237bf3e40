"""`rfod decide`: say what is right about cells of a table, one by one or along its findings."""

from __future__ import annotations

import typer

from rfod._cli import options
from rfod._cli.options import Learning, Reading


def decide(
    table: str = typer.Argument(..., metavar="TABLE", help="File, folder or pattern in quotes."),
    *,
    review: bool = typer.Option(
        False, "--review", help="Go through the findings of a scan on the terminal, worst first: one key per answer."
    ),
    key: str | None = typer.Option(
        None, "--key", metavar="COLUMN", help="Column that identifies rows; without it a row is known by its cells."
    ),
    row: str | None = typer.Option(
        None, "--row", metavar="KEY", help="The row: its value of the key column, or its number from 0 without --key."
    ),
    line: int | None = typer.Option(None, "--line", metavar="N", min=1, help="The row: its line in a text file."),
    column: str | None = typer.Option(None, "--column", "-c", metavar="COLUMN", help="The column of the cell."),
    new: str | None = typer.Option(None, "--replace", metavar="VALUE", help="The cell should have this value."),
    blank: bool = typer.Option(False, "--blank", help="The cell should have no value."),
    fine: bool = typer.Option(False, "--fine", help="The cell is right as it is."),
    wherever: str | None = typer.Option(
        None,
        "--wherever",
        metavar="CONDITION",
        help='With --fine: all cells of the column are, where this holds, such as "country = NZ and weight > 100".',
    ),
    note: str = typer.Option("", "--note", metavar="TEXT", help="Why; it is kept with the decision."),
    decisions: str | None = typer.Option(
        None, "--decisions", metavar="FILE", help="Where decisions are kept. [default: TABLE's name.decisions.jsonl]"
    ),
    above: float = typer.Option(
        0.5, "--above", metavar="P", help="With --review: cells that are wrong with this probability and more."
    ),
    quiet: bool = options.QUIET,
    reading: Reading,
    learning: Learning,
) -> None:
    """Decide what is right: a cell is to be replaced, blanked, or fine as it is.

    Decisions are appended to a file beside the table, and on the disk when the program says so. --decisions FILE of the
    other commands takes them.

    Example: rfod decide orders.csv --key order_id --row A17 --column city --replace Hamburg
    """
    from rfod._cli.console import Reporter, naming, shown
    from rfod._cli.deciding import CellChoice, decide_cell, decided_path
    from rfod._cli.inputs import check_training, one_source, read_table
    from rfod._decisions.decisions import Decisions
    from rfod._table.table import check_columns

    read_options = reading.options()
    path = decided_path(table, decisions, reading)
    choice = CellChoice(row, line, column, new, blank, fine, wherever, note)
    choice.check(review)
    if not 0 < above <= 1:
        raise typer.BadParameter("a probability is needed, above 0 and at most 1.", param_hint="--above")
    known = Decisions.read(path, missing_ok=True)
    reporter = Reporter(quiet)
    if review:
        from rfod._cli.review import start_review

        start_review()
    batch = read_table(one_source(table if reading.sql is None else None, reading, read_options), reporter)
    for remark in known.notes:
        reporter.note(remark)
    with naming(str(table)):
        check_columns(batch.rows.column_names, [key] if key else [], "use as key")
        if not review:
            reporter.say(f"{path}: {shown(decide_cell(batch, known, key, choice))}")
            return
        check_training(batch.rows.num_rows, batch.rows.column_names)
    from rfod._cli.review import review_table

    with reporter.stage("forests"), naming(str(table)):
        params = learning.params(batch.rows.column_names, read_options.kinds, 0.0, reporter.draws)
    given = table if reading.sql is None else None
    if not review_table(batch, known, params, key, above, reporter, given):
        raise typer.Exit(130)
