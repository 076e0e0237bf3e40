"""From what a user names (file, folder, pattern, stdin, query) to a source that can be read."""

from __future__ import annotations

import glob
import io
import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import pyarrow as pa

from rfod._io.batches import Batch, Source
from rfod._io.columnar import FORMATS, ColumnarSource, IpcStreamSource
from rfod._io.database import SCHEMES, QuerySource
from rfod._io.delimited import DelimitedSource
from rfod._io.errors import InputError
from rfod._io.jsonlines import JsonSource
from rfod._io.notes import Notes
from rfod._io.options import ReadOptions
from rfod._io.signatures import binary_format, is_workbook
from rfod._io.spreadsheet import ENDINGS as SPREADSHEETS
from rfod._io.spreadsheet import SpreadsheetSource
from rfod._io.streams import UNPACK_ERRORS, CountingStream, open_bytes, plain_name, unpack

DELIMITED = (".csv", ".tsv", ".txt", ".tab", ".psv", ".dat")
JSON = (".jsonl", ".ndjson", ".json")
READ_ENDINGS = (*DELIMITED, *JSON, *FORMATS, *SPREADSHEETS)
_PATTERN = "*?["
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_START_BYTES = 512


def open_source(place: str, options: ReadOptions) -> Source:
    """The source behind a path, a folder, a pattern, or "-" for stdin."""
    if place == "-":
        return _open_stdin(options)
    _refuse_address(place)
    paths = expand(place)
    if len(paths) > 1:
        return _open_together(paths, place, options)
    path = Path(paths[0])
    if path.is_dir():
        return _open_folder(path, options)
    return _open_file(str(path), options)


def open_query(address: str, query: str, options: ReadOptions) -> Source:
    """The source behind a SQL query."""
    _refuse_sheet("the query", options)
    return QuerySource(address, query, options)


def expand(place: str) -> list[str]:
    """The files that a pattern stands for, in order; the place itself if it is no pattern."""
    if not any(sign in place for sign in _PATTERN) or Path(place).exists():
        return [place]
    paths = sorted(glob.glob(place, recursive=True))  # noqa: PTH207  # which knows absolute patterns too
    if not paths:
        raise InputError(
            f"{place}: no file has a name like that. Hint: put the pattern in quotes, and check the folder."
        )
    return paths


def _ending(path: str) -> str:
    return Path(plain_name(path)).suffix.lower()


def _refuse_address(place: str) -> None:
    """Raise `InputError` for addresses: nothing is fetched."""
    found = _ADDRESS.match(place)
    if found is None or Path(place).exists():
        return
    scheme = found[1].lower()
    if scheme in ("http", "https", "ftp", "sftp"):
        reason = "nothing is fetched from the network. Hint: download the file first, then name it."
    elif scheme in SCHEMES:
        reason = "a database is read by a query. Hint: --db ADDRESS --sql QUERY."
    elif scheme == "file":
        reason = f"an address. Hint: name the path itself: {place[len(found[0]) :]}."
    else:
        reason = "object storage is not read. Hint: copy the file to this machine first, then name it."
    raise InputError(f"{place}: {reason}")


def _refuse_sheet(name: str, options: ReadOptions) -> None:
    if options.sheet is not None:
        raise InputError(f"{name}: only spreadsheets have sheets. Hint: leave out --sheet.")


def _open_file(path: str, options: ReadOptions) -> Source:
    ending = _ending(path)
    is_known = ending in READ_ENDINGS
    start = b"" if ending in FORMATS else _start_of(path)
    if ending in SPREADSHEETS or (not is_known and is_workbook(start)):
        if not start or binary_format(start) is not None:
            return SpreadsheetSource(path, options, path)
        return _open_text_in_spreadsheet(path, options)
    _refuse_sheet(path, options)
    if ending in FORMATS and Path(path).is_file():
        if FORMATS[ending] == "ipc" and not _is_ipc_file(path):
            return IpcStreamSource(path, options, path)
        return ColumnarSource([path], FORMATS[ending], options, path)
    if ending in JSON:
        return JsonSource(path, options, path, may_be_array=ending == ".json")
    if ending == ".tsv" and options.separator is None:
        options = replace(options, separator="\t")
    if not is_known and start[:4] == b"PAR1":
        return ColumnarSource([path], "parquet", options, path)
    if not is_known and start[:6] == b"ARROW1":
        return ColumnarSource([path], "ipc", options, path)
    return DelimitedSource(path, options)


def _start_of(path: str) -> bytes:
    """The first bytes, unpacked; none where they cannot be unpacked, which the reader reports."""
    with open_bytes(path) as stream:
        try:
            return CountingStream(unpack(stream), None).peek(_START_BYTES)
        except UNPACK_ERRORS:
            return b""


def _open_text_in_spreadsheet(path: str, options: ReadOptions) -> Source:
    """Many programs write text into files that are called .xls."""
    _refuse_sheet(path, options)
    source = DelimitedSource(path, options)
    source.notes.say(f"{Path(path).name} is no spreadsheet but text; read as such.")
    return source


def _is_ipc_file(path: str) -> bool:
    return _start_of(path)[:6] == b"ARROW1"


def _open_stdin(options: ReadOptions) -> Source:
    """Told apart by the first bytes: Parquet, Arrow, a spreadsheet, JSON or delimited text."""
    stream = open_bytes("-")
    start = stream.peek(_START_BYTES)
    if is_workbook(start):
        return SpreadsheetSource(cast(BinaryIO, stream), options, "stdin")
    _refuse_sheet("stdin", options)
    if start[:4] == b"PAR1" or start[:6] == b"ARROW1":
        raise InputError(
            "stdin: Parquet and Arrow files are read from their end, which a pipe cannot do. "
            "Hint: name the file, or send an Arrow stream."
        )
    if start[:4] == b"\xff\xff\xff\xff":
        return IpcStreamSource(io.BufferedReader(stream), options, "stdin")
    unpacked = CountingStream(unpack(stream), None)
    try:
        text = unpacked.peek(_START_BYTES)
    except UNPACK_ERRORS as error:
        raise InputError(f"stdin: the compressed data is damaged or cut off ({error}).") from error
    is_json = re.match(rb"(?:\xef\xbb\xbf)?\s*(?:\{|\[\s*[{\]])", text) is not None
    return (JsonSource if is_json else DelimitedSource)(cast(BinaryIO, unpacked), options, "stdin")


def files_in(folder: Path) -> list[Path]:
    """The files that are read where a folder is named, those of its folders included."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name[0] not in "._")


def _open_folder(folder: Path, options: ReadOptions) -> Source:
    """Files of one format in a folder and its hive partitions."""
    files = files_in(folder)
    endings = {_ending(str(path)) for path in files}
    if not files:
        raise InputError(f"{folder}: the folder has no files in it. Hint: {_readable_endings()}")
    if not endings & {"", *READ_ENDINGS}:
        found = ", ".join(sorted(endings)[:10])
        raise InputError(
            f"{folder}: no table is in this folder; its {len(files):,} file(s) end in {found}. "
            f"Hint: {_readable_endings()}"
        )
    if len({FORMATS.get(ending, ending) for ending in endings}) > 1:
        some = next((ending for ending in sorted(endings) if ending in READ_ENDINGS), "")
        raise InputError(
            f"{folder}: files of several kinds ({', '.join(sorted(endings))}). "
            f"Hint: name those that are meant by a pattern, such as '{folder}/*{some}'."
        )
    if next(iter(endings)) in FORMATS:
        return ColumnarSource([str(folder)], FORMATS[next(iter(endings))], options, str(folder))
    return _open_together([str(path) for path in files], str(folder), options)


def _readable_endings() -> str:
    return f"tables are files that end in {', '.join(READ_ENDINGS)}."


def _open_together(paths: Sequence[str], name: str, options: ReadOptions) -> Source:
    endings = {_ending(path) for path in paths}
    formats = {FORMATS.get(ending) for ending in endings}
    if options.sheet is not None and formats != {None}:
        _refuse_sheet(name, options)
    if len(formats) == 1 and (file_format := formats.pop()) is not None:
        return ColumnarSource(list(paths), file_format, options, name)
    return ChainedSource([_open_file(path, options) for path in paths], name)


class ChainedSource:
    """Several sources with the same columns, one after the other."""

    def __init__(self, sources: Sequence[Source], name: str) -> None:
        self.name = name
        self._sources = sources

    @property
    def notes(self) -> Notes:
        """Those of all parts, each with its file."""
        notes = Notes()
        for source in self._sources:
            for text in source.notes.texts():
                notes.say(f"{source.name}: {text}")
        return notes

    def progress(self) -> tuple[int, int | None]:
        read, totals = zip(*(source.progress() for source in self._sources), strict=True)
        return sum(read), None if None in totals else sum(total or 0 for total in totals)

    def batches(self) -> Generator[Batch, None, None]:
        """The rows; columns are matched by name."""
        names: list[str] | None = None
        n_read = 0
        for source in self._sources:
            for batch in source.batches():
                if names is None:
                    names = batch.rows.column_names
                if set(names) != set(batch.rows.column_names):
                    raise InputError(_differing(source.name, names, batch.rows.column_names))
                yield Batch(batch.rows.select(names), n_read, None)
                n_read += batch.rows.num_rows


def _differing(name: str, wanted: Sequence[str], found: Sequence[str]) -> str:
    lacking = [column for column in wanted if column not in found]
    more = [column for column in found if column not in wanted]
    parts = [f"lacks {', '.join(map(repr, lacking[:5]))}"] if lacking else []
    parts += [f"has {', '.join(map(repr, more[:5]))} on top"] if more else []
    return f"{name}: other columns than the files before it: {' and '.join(parts)}. Hint: read them one by one."


def read_all(source: Source, tick: Callable[[int], None] | None = None) -> Batch:
    """The whole source in memory; `tick` is told the rows of each batch."""
    tables, lines = [], []
    for batch in source.batches():
        tables.append(batch.rows)
        lines.append(batch.lines)
        if tick is not None:
            tick(batch.rows.num_rows)
    if not tables:
        raise InputError(f"{source.name}: the table has no rows. Hint: a header alone is not enough.")
    known = [part for part in lines if part is not None]
    joined = np.concatenate(known) if len(known) == len(lines) else None
    return Batch(pa.concat_tables(tables, promote_options="permissive"), 0, joined)
