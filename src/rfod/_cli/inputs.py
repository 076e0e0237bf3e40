"""From arguments of a command to its model, its source and its outputs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from rfod._cli.console import Reporter, naming
from rfod._cli.options import Reading
from rfod._decisions.decisions import Decisions, Matched, Settled, warn_of
from rfod._decisions.texts import rows_with_key
from rfod._evidence.stored import load_model
from rfod._findings.explanations import RowExplanation
from rfod._io.interface import InputError, OutputError, ReadOptions
from rfod._io.locations import check_not_input, open_query, open_source
from rfod._io.row_sample import RowSample, row_keys
from rfod._io.source import Batch, Source, joined, read_all
from rfod._io.source_stats import SourceStats
from rfod._io.storage import local_copy
from rfod._io.write import check_target, format_of
from rfod._model.model import Model
from rfod._table.kinds import kind_of
from rfod._table.table import Table, check_columns
from rfod._table.values import family, parse_arrow_type
from rfod.pipeline import detect

_TEXT = "\0text of "  # no column that was read begins like this


def open_model(path: str) -> Model:
    """The model, with errors that name its file."""
    with local_copy(path) as here:
        return load_local(here, path)


def load_local(here: str, path: str, hint: str = "the model comes first, then the table.") -> Model:
    """The model of a file on this machine, with errors that name the path or address it was given by."""
    if not Path(here).is_file():
        raise InputError(f"{path}: there is no such model file. Hint: rfod fit TABLE -o {path} writes one.")
    if not is_zipfile(here):
        raise InputError(f"{path} is no model file{', or damaged' if path.endswith('.rfod') else ''}. Hint: {hint}")
    with naming(path):
        return load_model(here)


def open_model_and_source(
    path: str,
    table: str | None,
    reading: Reading,
    read_options: ReadOptions,
    reporter: Reporter,
    only_modelled: bool = False,
) -> tuple[Model, Source]:
    """A model, and the table to judge by it, read as the model needs it."""
    with reporter.stage("loading"):
        model = open_model(path)
    needed = {column.name for column in model.schema.columns} if only_modelled else None
    return model, one_source(table, reading, as_model_reads(model, read_options, needed))


def one_source(table: str | None, reading: Reading, read_options: ReadOptions) -> Source:
    """The table or the query, of which one must be given."""
    if (table is None) == (reading.sql is None):
        raise typer.BadParameter("name one table, or give --sql with --db.", param_hint="TABLE")
    if reading.sql is not None:
        return open_query(str(reading.database), reading.sql, read_options)
    return open_source(str(table), read_options)


def read_table(source: Source, reporter: Reporter) -> Batch:
    """All rows of a source, with progress and notes."""
    with reporter.stage("reading"), reporter.bar("reading", source) as advance:
        batch = read_all(source, advance)
    reporter.notes_of(source)
    return batch


def sample_table(
    source: Source, reporter: Reporter, n_rows: int, seed: int, stats: SourceStats | None = None
) -> tuple[Batch, int]:
    """A uniform sample of the rows of a source and the number of all; `stats` take in every batch."""
    sampler, n_seen = RowSample(n_rows), 0
    with reporter.stage("reading"), reporter.bar("reading", source) as advance, closing(source.batches()) as batches:
        for batch in batches:
            places = np.arange(n_seen, n_seen + batch.rows.num_rows)
            sampler.add(_with_texts(batch), row_keys(seed, "", places), places)
            n_seen, sampler.readings = n_seen + len(places), batch.readings
            if stats is not None:
                stats.add(batch)
            advance(batch.rows.num_rows)
        if not n_seen:
            raise InputError(f"{source.name}: the table has no rows. Hint: a header alone is not enough.")
        sample = _sampled(sampler)
    reporter.notes_of(source)
    return sample, n_seen


def read_or_sample(
    source: Source, reporter: Reporter, n_rows: int, seed: int
) -> tuple[Batch, NDArray[np.int64] | None]:
    """All rows of a source; or, if it has more than `n_rows`, a uniform sample of so many and their numbers."""
    batches: list[Batch] = []
    sampler, n_seen = RowSample(n_rows), 0
    with reporter.stage("reading"), reporter.bar("reading", source) as advance, closing(source.batches()) as read:
        for batch in read:
            batches.append(batch)
            n_seen += batch.rows.num_rows
            while batches and n_seen > n_rows:
                earlier = batches.pop(0)
                places = np.arange(earlier.first_row, earlier.first_row + earlier.rows.num_rows)
                sampler.add(_with_texts(earlier), row_keys(seed, "", places), places)
                sampler.readings = earlier.readings
            advance(batch.rows.num_rows)
        if not n_seen:
            raise InputError(f"{source.name}: the table has no rows. Hint: a header alone is not enough.")
    reporter.notes_of(source)
    if n_seen <= n_rows:
        return joined(batches), None
    sample = _sampled(sampler), sampler.places
    pa.default_memory_pool().release_unused()  # of the rows that were not taken
    return sample


def _sampled(sampler: RowSample) -> Batch:
    """The sample of rows that came by `_with_texts`."""
    rows = sampler.rows()
    n_columns = sum(not name.startswith(_TEXT) for name in rows.column_names)
    texts = rows.select(range(n_columns, rows.num_columns))
    texts = texts.rename_columns([name.removeprefix(_TEXT) for name in texts.column_names])
    return Batch(
        rows.select(range(n_columns)), 0, texts=texts if texts.num_columns else None, readings=sampler.readings
    )


def _with_texts(batch: Batch) -> pa.Table:
    """The rows, and behind them the columns that were parsed, as they were written."""
    rows = batch.rows
    if batch.texts is not None:
        for name in batch.texts.column_names:
            rows = rows.append_column(f"{_TEXT}{name}", batch.texts.column(name))
    return rows


def match_source(decisions: Decisions, source: Source, reporter: Reporter) -> Matched:
    """Find the cells of decisions in a source that is read batch by batch."""
    matcher, table = decisions.matcher(), None
    with reporter.stage("reading"), reporter.bar("matching", source) as advance, closing(source.batches()) as batches:
        for batch in batches:
            table = batch.table
            matcher.add(table, np.arange(batch.first_row, batch.first_row + table.n_rows))
            advance(table.n_rows)
    if table is None:
        raise InputError(f"{source.name}: the table has no rows. Hint: a header alone is not enough.")
    matched = decisions.matched(matcher, table)
    with reporter.remarks():
        warn_of(decisions.notes, [*matched.unmatched, *matched.find_fine(table)[1]])
    return matched


def match_sample(decisions: Decisions | None, sample: Table, is_whole: bool, reporter: Reporter) -> Settled | None:
    """A table, or a sample of its rows, as decided."""
    if decisions is None:
        return None
    matched = decisions.match(sample)
    settled = matched.settle(sample)
    warn_of(decisions.notes, [*(matched.unmatched if is_whole else ()), *settled.unread])
    if not is_whole and len(matched.unmatched):
        reporter.note(
            f"{len(matched.unmatched):,} decisions are about rows that are not in the sample, or do not apply."
        )
    return settled


def check_output(output: str | None, inputs: Sequence[str | None], *, is_table: bool = False) -> None:
    """Raise `OutputError` before anything is read for a file that cannot be written, or that is an input."""
    if output is None or (is_table and output == "-"):
        return
    if is_table:
        format_of(output)
    check_target(output)
    check_not_input(output, [place for place in inputs if place is not None])


def check_report(output: str | None, inputs: Sequence[str | None]) -> None:
    """The same for a report, whose name must not promise another format than HTML."""
    check_output(output, inputs)
    ending = "" if output is None else Path(output).suffix
    if ending.lower() not in ("", ".html", ".htm"):
        raise OutputError(f"{output}: a report is HTML, not {ending!r}. Hint: name a .html file; a browser prints it.")


def title_of(table: str | None) -> str:
    """What a report calls its table: no folders of this machine, no address of a database."""
    return "query" if table is None else "standard input" if table == "-" else Path(table).name


def check_training(n_rows: int, names: Sequence[str]) -> None:
    """Raise `InputError` for a table that nothing can be learnt from."""
    if n_rows < 2:
        raise InputError("the table has one row. Hint: what is ordinary is learnt from many rows.")
    if len(names) < 2:
        raise InputError(
            f"the table has one column, {names[0][:60]!r}. Hint: each column is predicted from the others, "
            "so two are needed. --sep names the separator, if there are more."
        )


def as_model_reads(model: Model, read_options: ReadOptions, needed: Collection[str] | None = None) -> ReadOptions:
    """Options by which text columns arrive as what the model was fitted on; `needed` columns only, all for None."""
    kinds: dict[str, Any] = {}
    for column in model.schema.columns:
        if column.from_text and kind_of(column.kind).reads_text:
            kinds[column.name] = column.reading
        elif column.from_text or column.kind == "duration":
            kinds[column.name] = "text"
        elif column.kind == "categorical":
            held = family(parse_arrow_type(column.arrow_type))
            kinds[column.name] = {"number": "number", "boolean": "boolean"}.get(held, "categorical")
        else:
            kinds[column.name] = column.kind
    kinds |= dict(read_options.kinds)
    columns = None if needed is None else frozenset(needed)
    return replace(read_options, kinds=kinds, fixed_kinds=frozenset(kinds), columns=columns)


def explain_picked(
    model: Model,
    batch: Batch,
    key: str | None,
    picked: Sequence[int],
    top: int,
    n_cells: int,
    jobs: int,
    decisions: Decisions | None = None,
) -> list[RowExplanation]:
    """The picked rows, or without any the `top` worst ones."""
    judged = batch.take(picked) if picked else batch
    settled = None
    if decisions is not None:
        matched = decisions.match(batch.table)
        settled = matched.settle(judged.table, np.array(picked) if picked else None)
        warn_of(decisions.notes, [*matched.unmatched, *settled.unread])
    found = detect(model, judged.table, key=key, lines=judged.lines, n_jobs=jobs, decisions=settled)
    if not picked:
        return found.explain_rows(found.judged.order[:top], n_cells)
    explained = found.explain_rows(None, n_cells)
    return [row.renumbered(number) for row, number in zip(explained, picked, strict=True)]


def picked_rows(
    batch: Batch, rows: Sequence[int], lines: Sequence[int], keys: Sequence[str]
) -> tuple[str | None, list[int]]:
    """Which rows the user names, and the column that names them."""
    table = batch.rows
    for row in rows:
        if row >= table.num_rows:
            raise InputError(f"there is no row {row}. Hint: rows are numbered from 0 to {table.num_rows - 1}.")
    key, picked = None, list(rows)
    for line in lines:
        at = [] if batch.lines is None else np.flatnonzero(batch.lines == line).tolist()
        if not at:
            raise InputError(f"no row begins on line {line}. Hint: --row N names a row by its number, from 0.")
        picked += at
    for text in keys:
        key, value = _key_and_value(table, text)
        found = rows_with_key(batch.table, key, value)
        if not len(found):
            raise InputError(f"no row has {key} = {value}. Hint: rows can also be named by their number, with --row.")
        picked += found.tolist()
    return key, list(dict.fromkeys(picked))


def _key_and_value(table: pa.Table, text: str) -> tuple[str, str]:
    """`column=value`; the first equals sign behind the name of a column counts, since names may have one."""
    places = [place for place, sign in enumerate(text) if sign == "="]
    if not places:
        raise typer.BadParameter(f"{text!r} is not COLUMN=VALUE.", param_hint="--key")
    known = [place for place in places if text[:place] in table.column_names]
    name, value = text[: (known or places)[0]], text[(known or places)[0] + 1 :]
    check_columns(table.column_names, [name], "use as key")
    return name, value
