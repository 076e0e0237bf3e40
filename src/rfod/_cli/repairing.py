"""What `rfod repair` reads of an earlier run and writes: the table, and the log of its changes."""

from __future__ import annotations

import csv
import json
import shlex
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.console import Console
from rich.text import Text

from rfod._cli.console import Reporter, shown
from rfod._cli.findings import place_fields
from rfod._decisions.file import beside
from rfod._decisions.texts import cell_texts, comparable, texts_as_given
from rfod._diff.files import whole_number
from rfod._evidence.wrong_cells import WRONG, probability_text
from rfod._findings.changes import CHANGE_FIELDS, Change, change_arrays, with_changes
from rfod._findings.findings import RowLabels
from rfod._io.columnar import ColumnarSource
from rfod._io.delimited import DelimitedSource
from rfod._io.interface import InputError, OutputError, ReadOptions
from rfod._io.locations import check_not_input, open_source
from rfod._io.records import JsonSource
from rfod._io.rewrite import rewrite, write_bytes
from rfod._io.source import Batch, Source, read_all
from rfod._io.text import plain_name
from rfod._io.write import check_target, format_of, open_sink
from rfod._table.edits import Edit, Refusal
from rfod._table.encode import one_line
from rfod._table.kinds.base import is_missing
from rfod.detection import Detection

TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".tab", ".psv", ".dat")
LINE_ENDINGS = (".jsonl", ".ndjson")


def log_of(output: str) -> str:
    """Where the change log goes: orders.changes.csv beside orders.csv.gz."""
    plain = Path(plain_name(output))
    return str(plain.with_name(f"{plain.stem}.changes.csv"))


def changes_schema(key_type: pa.DataType | None) -> pa.Schema:
    """One line per changed cell."""
    return pa.schema([*place_fields(key_type), *CHANGE_FIELDS])


@dataclass(frozen=True)
class Outputs:
    """The files that are written."""

    table: str
    log: str
    given: str | None
    """The table that is repaired; None for the answer of a query."""

    def check(self, inputs: Sequence[str | None]) -> None:
        """Raise `OutputError` before anything is read for files that cannot be written, or that are inputs."""
        for path in (self.table, self.log):
            if path == "-":
                raise typer.BadParameter("a file is needed, not stdout.", param_hint="--output")
            check_target(path)
            check_not_input(path, [place for place in (self.given, *inputs) if place is not None])
        format_of(self.log)
        if Path(self.table).resolve() == Path(self.log).resolve():
            raise OutputError(f"{self.log} is the output, too. Hint: --log names another file.")
        ending = Path(plain_name(self.table)).suffix.lower()
        if ending not in (*TEXT_ENDINGS, *LINE_ENDINGS):
            format_of(self.table)

    def check_format(self, source: Source, batch: Batch) -> None:
        """Raise `OutputError` for a format that this table cannot be written in."""
        if not self._keeps_bytes(source, batch):
            format_of(self.table)

    def _keeps_bytes(self, source: Source, batch: Batch) -> bool:
        """Whether the input is text that comes back as it was but for the changed fields."""
        ending = Path(plain_name(self.table)).suffix.lower()
        if batch.lines is None:
            return False
        if isinstance(source, DelimitedSource):
            return ending in TEXT_ENDINGS
        is_array = len(set(batch.lines.tolist())) < len(batch.lines)
        return isinstance(source, JsonSource) and ending in LINE_ENDINGS and not is_array and not _is_array(self.given)

    def write(
        self, source: Source, batch: Batch, changes: Sequence[Change], labels: RowLabels
    ) -> tuple[list[Change], list[Refusal]]:
        """Write the table with its changes, then the log; the changes that were made, and those that were not."""
        if self._keeps_bytes(source, batch):
            rewritten = rewrite(source, str(self.given), batch, [change.edit for change in changes])
            refused, texts = rewritten.refused, rewritten.texts
            write_bytes(self.table, rewritten.data)
        else:
            rows, refused = _typed(source, self.given, batch, changes)
            texts = _held_texts(batch, changes)
            with open_sink(self.table, rows.schema) as write:
                write(rows)
        left = {refusal.edit for refusal in refused}
        made = [_as_written(change, texts) for change in changes if change.edit not in left]
        log = pa.table(change_arrays(made, labels), schema=changes_schema(labels.key_type))
        with open_sink(self.log, log.schema) as write:
            write(log)
        return made, refused


def _held_texts(batch: Batch, changes: Sequence[Change]) -> dict[tuple[int, str], tuple[str | None, str | None]]:
    """The cells of columns of text with the blanks around them, and what they are changed to."""
    rows = {name: [change.row for change in changes if change.column == name] for name in batch.table.names}
    texts = {}
    for name, picked in rows.items():
        held = texts_as_given(batch.table, name, np.array(picked, dtype=np.intp))
        texts.update({(row, name): text for row, text in zip(picked, held, strict=True)})
    return {
        (change.row, change.column): (texts[change.row, change.column], change.after)
        for change in changes
        if change.before is not None
    }


def _as_written(change: Change, texts: Mapping[tuple[int, str], tuple[str | None, str | None]]) -> Change:
    """A change with what stood in its cell and what stands there now, to the letter."""
    before, after = texts.get((change.row, change.column), (change.before, change.after))
    return replace(change, before=before, after=after)


def _is_array(path: str | None) -> bool:
    return path is not None and Path(plain_name(path)).suffix.lower() == ".json"


def _typed(
    source: Source, given: str | None, batch: Batch, changes: Sequence[Change]
) -> tuple[pa.Table, list[Refusal]]:
    """The table by value, in the types that it has."""
    rows = batch.rows
    if isinstance(source, ColumnarSource) and given is not None and Path(given).is_file() and given.endswith("parquet"):
        rows = pq.read_table(given)  # with the metadata of its schema
    repaired, refused = with_changes(batch.table, changes)
    for name in repaired.before:
        place = rows.schema.get_field_index(name)
        field = rows.schema.field(place)
        rows = rows.set_column(place, field, repaired.column(name).cast(field.type))
    return rows, refused


# ---------------------------------------------------------------------------------------------------- an earlier run


_NEEDED = ("after", "before", "column", "line", "row")
_LONGEST_FIELD = 1 << 30  # the csv module refuses fields of more than 128 KB unless it is told otherwise


@dataclass(frozen=True)
class LoggedChange:
    """One line of a change log."""

    row: int | None
    line: int | None
    column: str
    before: str | None
    after: str | None


def read_log(path: str) -> list[LoggedChange]:
    """The lines of a change log; `InputError` for a file that is none, and for a place that is no number."""
    try:
        records = _log_records(path)
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such change log. Hint: rfod repair writes one.") from error
    except json.JSONDecodeError as error:
        why = error.msg.removesuffix(" at")
        raise InputError(f"{path} is no change log ({why}). Hint: rfod repair writes one.") from error
    except (OSError, ValueError, csv.Error, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} is no change log ({str(reason)[:100]}). Hint: rfod repair writes one.") from error
    return [_logged(path, number, record) for number, record in records]


def _log_records(path: str) -> list[tuple[int, dict[str, Any]]]:
    """The records of a change log, each with the line on which it begins; those of Parquet are counted from 1."""
    file_format = format_of(path)
    found: list[tuple[int, Any]]
    if file_format == "parquet":
        found = list(enumerate(pq.read_table(path).to_pylist(), start=1))
    elif file_format == "jsonl":
        # read as bytes: U+2028 in a cell ends a line for str.splitlines
        lines = enumerate(Path(path).read_bytes().split(b"\n"), start=1)
        found = [(number, json.loads(line)) for number, line in lines if line.strip()]
    else:
        found = list(_csv_records(path))
    for number, record in found:
        if not isinstance(record, dict) or any(name not in record for name in _NEEDED):
            raise ValueError(f"line {number:,} lacks one of {', '.join(_NEEDED)}")
    return found


def _csv_records(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a change log in CSV; an empty field is None."""
    limit = csv.field_size_limit(_LONGEST_FIELD)
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            names = next(reader, [])
            number = reader.line_num + 1
            for fields in reader:
                if fields:
                    yield number, {name: value or None for name, value in zip(names, fields, strict=False)}
                number = reader.line_num + 1
    finally:
        csv.field_size_limit(limit)


def _logged(path: str, number: int, record: dict[str, Any]) -> LoggedChange:
    places: dict[str, int | None] = {}
    for name in ("row", "line"):
        places[name] = whole_number(record[name])
        if places[name] is None and record[name] is not None:
            raise InputError(
                f"{path}, line {number:,}: {name!r} is {str(record[name])[:40]!r}, not a {name} number. "
                "Hint: give the log as rfod repair wrote it, or repair the table without --done."
            )
    before, after = (None if record[name] is None else str(record[name]) for name in ("before", "after"))
    return LoggedChange(places["row"], places["line"], str(record["column"]), before, after)


@contextmanager
def undone(
    source: Source, batch: Batch, table: str | None, log: str | None, options: ReadOptions, reporter: Reporter
) -> Iterator[tuple[Batch, frozenset[tuple[int, str]]]]:
    """The table as it was before the changes of an earlier run, and the cells that these changed."""
    if log is None:
        yield batch, frozenset()
        return
    edits = _earlier(batch, read_log(log), reporter)
    settled = frozenset((edit.row, edit.column) for edit in edits)
    if not isinstance(source, DelimitedSource | JsonSource) or batch.lines is None or _is_array(table):
        before, _ = _typed(source, table, batch, [_as_change(edit) for edit in edits])
        yield Batch(before, batch.first_row, batch.lines, readings=batch.readings), settled
        return
    rewritten = rewrite(source, str(table), batch, edits)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(plain_name(str(table))).name
        path.write_bytes(rewritten.data)
        judged = read_all(open_source(str(path), options))
    if judged.rows.num_rows != batch.rows.num_rows:
        raise InputError(f"{log}: its changes do not belong to {table}. Hint: repair the table without --done.")
    yield judged, settled


def _as_change(edit: Edit) -> Change:
    return Change(edit.row, edit.column, None, edit.text, "", None)


def _earlier(batch: Batch, logged: Sequence[LoggedChange], reporter: Reporter) -> list[Edit]:
    """What takes the changes of a log back; those whose new value is not found are noted."""
    table = batch.table
    row_of = {} if batch.lines is None else {line: row for row, line in enumerate(batch.lines.tolist())}
    texts: dict[str, list[str | None]] = {}
    edits, n_lost = [], 0
    for change in logged:
        name = change.column
        row = row_of.get(change.line) if row_of and change.line is not None else change.row
        if name in table.names and name not in texts:
            texts[name] = cell_texts(table, name)
        after = None if change.after is None or is_missing(change.after) else change.after
        if (
            row is None
            or name not in texts
            or not 0 <= row < table.n_rows
            or comparable(texts[name][row]) != comparable(after)
        ):
            n_lost += 1
        else:
            edits.append(Edit(row, name, change.before))
    if n_lost:
        reporter.note(f"{n_lost:,} change{'s' if n_lost > 1 else ''} of the log not found in the table.")
    return edits


# ------------------------------------------------------------------------------------------------------ on a terminal


def count_wrong(found: Detection, but: Collection[tuple[int, str]]) -> int:
    """Number of wrong cells, without those that are dealt with."""
    probabilities = found.probabilities
    return sum((int(row), probabilities.names[c]) not in but for row, c in probabilities.above(WRONG))


def left_sentence(n: int, has_changes: bool, above: float, review: str | None) -> str:
    """That so many cells are wrong and stay as they are, and what decides about them."""
    more = "more " if has_changes else ""
    counted = f"{n:,} {more}cell is wrong" if n == 1 else f"{n:,} {more}cells are wrong"
    lacks = "it has no suggestion" if n == 1 else "none of them has a suggestion"
    hint = "" if review is None else f" Hint: {review} asks about {'it' if n == 1 else 'them'}."
    return f"{counted} (probability {WRONG} and more); {lacks} that is at least {above:g} likely to be right.{hint}"


def review_command(table: str, key: str | None, decisions: str | None) -> str:
    """The command that asks about the findings of a table."""
    more = [] if key is None else ["--key", key]
    if decisions is not None and Path(decisions) != Path(beside(table)):
        more += ["--decisions", decisions]
    return shlex.join(["rfod", "decide", table, "--review", *more])


def repair_command(table: str, key: str | None, decisions: str) -> str:
    """The command that carries decisions out."""
    ending = Path(plain_name(table)).suffix.lower()
    output = f"clean{ending if ending in (*TEXT_ENDINGS, *LINE_ENDINGS, '.parquet') else '.csv'}"
    more = [] if key is None else ["--key", key]
    return shlex.join(["rfod", "repair", table, *more, "--decisions", decisions, "-o", output])


def print_changes(console: Console, changes: Sequence[Change], labels: RowLabels, most: int, log: str) -> None:
    """The first changes, in the order of the table."""
    for change in changes[:most]:
        before = "missing" if change.before is None else one_line(change.before)
        after = "missing" if change.after is None else one_line(change.after)
        text = Text(shown(f"{labels.place(change.row)}, {one_line(change.column)}: "), style="bold")
        text += Text(shown(before), style="red") + Text(" → ") + Text(shown(after), style="green")
        chance = "decided" if change.probability is None else f"probability {probability_text(change.probability)}"
        console.print(text + Text(f" ({chance})"), soft_wrap=True)
    if len(changes) > most:
        console.print(Text(f"... and {len(changes) - most:,} more in {shown(log)}"), soft_wrap=True)
