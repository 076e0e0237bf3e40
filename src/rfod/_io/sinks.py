"""Tables on their way out: CSV, Parquet or JSON lines by the ending of the name, there whole or not at all."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from rfod._io.errors import OutputError

Format = Literal["csv", "parquet", "jsonl"]
Write = Callable[[pa.Table], None]
ENDINGS: dict[str, Format] = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


def format_of(path: str) -> Format:
    """The format that the ending of a file name stands for."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise OutputError(f"{path}: no output format has the ending {ending!r}. Hint: .csv, .parquet or .jsonl.")
    return ENDINGS[ending]


def check_target(path: str) -> None:
    """Raise `OutputError` before any work is done for a file that cannot be written."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise OutputError(f"{path}: there is no folder {folder}. Hint: make it first.")
    if Path(path).is_dir():
        raise OutputError(f"{path} is a folder. Hint: name a file.")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{path}: the folder {folder} cannot be written to.")


@contextmanager
def replaced(path: str) -> Iterator[str]:
    """A temporary name beside the target, renamed to it when the block ends well and removed when it does not."""
    target = Path(path)
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}.") from error
    os.close(descriptor)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def open_sink(path: str, schema: pa.Schema, file_format: Format | None = None) -> Iterator[Write]:
    """A function that writes tables of this schema; "-" is stdout, as CSV unless told otherwise."""
    if path == "-":
        with _writer(sys.stdout.buffer, schema, file_format or "csv") as write:
            yield write
        sys.stdout.buffer.flush()
        return
    with replaced(path) as temporary, Path(temporary).open("wb") as file:
        with _writer(file, schema, file_format or format_of(path)) as write:
            yield write
        file.flush()


@contextmanager
def _writer(file: BinaryIO, schema: pa.Schema, file_format: Format) -> Iterator[Write]:
    if file_format == "jsonl":
        yield lambda table: _write_lines(file, table)
    elif file_format == "csv":
        with pa_csv.CSVWriter(
            pa.PythonFile(file, mode="w"), schema, write_options=pa_csv.WriteOptions(quoting_style="needed")
        ) as writer:
            yield writer.write_table
    else:
        with pq.ParquetWriter(pa.PythonFile(file, mode="w"), schema, compression="zstd") as writer:
            yield writer.write_table


def _write_lines(file: BinaryIO, table: pa.Table) -> None:
    for row in table.to_pylist():
        file.write(json.dumps(row, default=_plain, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _plain(value: Any) -> str:
    """Dates, times, decimals and the like as text."""
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)
