"""From what a user names (file, folder, pattern, stdin, query) to a source that can be read."""

from __future__ import annotations

import contextlib
import glob
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from rfod._io.columnar import COLUMNAR, ColumnarSource, IpcStreamSource
from rfod._io.delimited import DelimitedSource
from rfod._io.interface import InputError, OutputError, ReadOptions
from rfod._io.records import JsonSource
from rfod._io.source import ChainedSource, Source
from rfod._io.storage import expand_address, files_below, is_address, is_folder, local_path
from rfod._io.text import UNPACK_ERRORS, FileStream, binary_format, is_workbook, open_bytes, plain_name, unpack
from rfod._io.typed import SCHEMES, SPREADSHEETS, QuerySource, SpreadsheetSource
from rfod.exceptions import counted

_FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".tab", ".psv", ".dat"), "delimited"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    **COLUMNAR,
    **dict.fromkeys(SPREADSHEETS, "spreadsheet"),
}
_READABLE = f"tables are files that end in {', '.join(_FORMATS)}."
_PATTERN = "*?["
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_JSON_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{|\[\s*[{\]])")
_START_BYTES = 512


def open_source(place: str, options: ReadOptions) -> Source:
    """The source behind a path, a folder, a pattern, or "-" for stdin."""
    if place == "-":
        return _open_stdin(options)
    _refuse_address(place)
    paths = expand(place)
    if len(paths) > 1:
        return _open_together(paths, place, options)
    return _open_folder(paths[0], options) if is_folder(paths[0]) else _open_file(paths[0], options)


def open_columnar(place: str, options: ReadOptions) -> ColumnarSource:
    """The Parquet or Arrow files behind a path, a folder or a pattern, which several processes can read parts of."""
    source = open_source(place, options)
    if not isinstance(source, ColumnarSource):
        raise not_columnar(place)
    return source


def not_columnar(place: str) -> InputError:
    """The error for a table that only one process can read."""
    return InputError(
        f"{place}: engines and checkpoints are for Parquet and Arrow files. Hint: write the table as Parquet first."
    )


def open_query(address: str, query: str, options: ReadOptions) -> Source:
    """The source behind a SQL query."""
    _refuse_sheet("the query", options)
    return QuerySource(address, query, options)


def expand(place: str) -> list[str]:
    """The files that a pattern stands for, in order; the place itself if it is no pattern."""
    place = local_path(place)
    if not any(sign in place for sign in _PATTERN) or Path(place).exists():
        return [place]
    if is_address(place):
        return expand_address(place)
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
    if found is None or is_address(place) or Path(place).exists():
        return
    scheme = found[1].lower()
    if scheme in ("http", "https", "ftp", "sftp"):
        reason = "nothing is fetched from the network. Hint: download the file first, then name it."
    elif scheme in SCHEMES:
        reason = "a database is read by a query. Hint: --db ADDRESS --sql QUERY."
    else:
        reason = f"nothing is read from {scheme}. Hint: copy the file to this machine first, then name it."
    raise InputError(f"{place}: {reason}")


def _refuse_sheet(name: str, options: ReadOptions) -> None:
    if options.sheet is not None:
        raise InputError(f"{name}: only spreadsheets have sheets. Hint: leave out --sheet.")


def _open_file(path: str, options: ReadOptions) -> Source:
    ending = _ending(path)
    with open_bytes(path) as stream:
        try:
            start = FileStream(unpack(stream)).peek(_START_BYTES)
        except UNPACK_ERRORS:
            start = b""  # which the reader reports
    if ending == ".tsv" and options.separator is None:
        options = replace(options, separator="\t")
    file_format = _FORMATS.get(ending) or _format_of(start)
    if file_format == "ipc" and not start.startswith(b"ARROW1"):
        file_format = "ipc stream"
    if file_format == "spreadsheet" and start and binary_format(start) is None:
        source = _open_as("delimited", path, path, options)  # many programs write text into files that are called .xls
        source.notes.add(f"{Path(path).name} is no spreadsheet but text; read as such.")
        return source
    return _open_as(file_format, path, path, options, may_be_array=ending == ".json")


def _open_stdin(options: ReadOptions) -> Source:
    stream = FileStream(unpack(open_bytes("-")))
    try:
        file_format = _format_of(stream.peek(_START_BYTES))
    except UNPACK_ERRORS as error:
        raise InputError(f"stdin: the compressed data is damaged or cut off ({error}).") from error
    if file_format in ("parquet", "ipc"):
        raise InputError(
            "stdin: Parquet and Arrow files are read from their end, which a pipe cannot do. "
            "Hint: name the file, or send an Arrow stream."
        )
    return _open_as(file_format, io.BufferedReader(stream), "stdin", options)


def _format_of(start: bytes) -> str:
    """The format of a table by its first bytes."""
    if is_workbook(start):
        return "spreadsheet"
    magic = {b"PAR1": "parquet", b"ARRO": "ipc", b"\xff\xff\xff\xff": "ipc stream"}
    return magic.get(start[:4]) or ("json" if _JSON_START.match(start) else "delimited")


def _open_as(
    file_format: str, place: str | BinaryIO, name: str, options: ReadOptions, may_be_array: bool = False
) -> Source:
    if file_format == "spreadsheet":
        return SpreadsheetSource(place, options, name)
    _refuse_sheet(name, options)
    if file_format == "json":
        return JsonSource(place, options, name, may_be_array)
    if file_format == "delimited":
        return DelimitedSource(place, options, name)
    return (
        IpcStreamSource(place, options, name)
        if file_format == "ipc stream"
        else ColumnarSource([name], file_format, options, name)
    )


def files_in(folder: str) -> list[str]:
    """The files that are read where a folder is named, those of its folders included."""
    return [f"{folder.rstrip('/')}/{path}" for path in files_below(folder) if Path(path).name[0] not in "._"]


def _open_folder(folder: str, options: ReadOptions) -> Source:
    """Files of one format in a folder and its hive partitions."""
    files = files_in(folder)
    endings = sorted(set(map(_ending, files)))
    if not files:
        raise InputError(f"{folder}: the folder has no files in it. Hint: {_READABLE}")
    known = [ending for ending in endings if ending in _FORMATS]
    if not known and "" not in endings:
        raise InputError(
            f"{folder}: no table is in this folder, only {counted(len(files), 'file')} ending in "
            f"{', '.join(endings[:10])}. Hint: {_READABLE}"
        )
    if len({COLUMNAR.get(ending, ending) for ending in endings}) > 1:
        raise InputError(
            f"{folder}: files of several kinds ({', '.join(endings)}). "
            f"Hint: name those that are meant by a pattern, such as '{folder}/*{known[0] if known else ''}'."
        )
    return _open_together(files, folder, options, is_whole=True)


def _open_together(paths: Sequence[str], name: str, options: ReadOptions, is_whole: bool = False) -> Source:
    formats = {COLUMNAR.get(_ending(path)) for path in paths}
    if len(formats) == 1 and (file_format := formats.pop()) is not None:
        _refuse_sheet(name, options)
        return ColumnarSource([name] if is_whole else paths, file_format, options, name)
    return ChainedSource([_open_file(path, options) for path in paths], name)


def check_not_input(output: str, inputs: Sequence[str]) -> None:
    """Raise `OutputError` if the output is one of the files that the inputs stand for.

    Parameters
    ----------
    output
        The file to be written; "-" and files that do not exist yet are always fine.
    inputs
        Files, folders and patterns, as `open_source` takes them. Links to a file count as the file.
    """
    target = Path(output)
    if output == "-" or not target.is_file():
        return
    if any(path.is_file() and path.samefile(target) for place in inputs for path in _files_of(place)):
        raise OutputError(f"{output} is also the input. Hint: write to another file.")


def _files_of(place: str) -> Iterator[Path]:
    """The files behind one input; none for stdin, and for a pattern that fits nothing, which reading it reports."""
    if place == "-":
        return
    with contextlib.suppress(InputError):
        for path in expand(place):
            yield from map(Path, files_in(path) if is_folder(path) else (path,))
