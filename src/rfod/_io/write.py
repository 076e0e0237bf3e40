"""Write tables as CSV, Parquet or JSON lines, by the ending of the name; a file is there whole or not at all."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from rfod._io.interface import OutputError
from rfod._io.storage import is_address, replaced

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
    if is_address(path):
        return
    folder = Path(path).parent
    if not folder.is_dir():
        raise OutputError(f"{path}: there is no folder {folder}. Hint: make it first.")
    if Path(path).is_dir():
        raise OutputError(f"{path} is a folder. Hint: name a file.")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{path}: the folder {folder} cannot be written to.")


@contextmanager
def open_sink(
    path: str, schema: pa.Schema, file_format: Format | None = None, csv_safe: bool = False
) -> Iterator[Write]:
    """A function that writes tables of this schema; "-" is stdout, as CSV if there is no `file_format`.

    With `csv_safe`, text in CSV output that a spreadsheet would take for a formula gets a single quote before it.
    """
    if path == "-":
        with _writer(sys.stdout.buffer, schema, file_format or "csv", csv_safe) as write:
            yield write
        sys.stdout.buffer.flush()
        return
    with replaced(path) as temporary, Path(temporary).open("wb") as file:
        with _writer(file, schema, file_format or format_of(path), csv_safe) as write:
            yield write
        file.flush()


@contextmanager
def _writer(file: BinaryIO, schema: pa.Schema, file_format: Format, csv_safe: bool) -> Iterator[Write]:
    if file_format == "jsonl":
        yield lambda table: _write_lines(file, table)
    elif file_format == "csv":
        if csv_safe:
            schema = _safe(schema.empty_table()).schema
        with pa_csv.CSVWriter(
            pa.PythonFile(file, mode="w"), schema, write_options=pa_csv.WriteOptions(quoting_style="needed")
        ) as writer:
            yield (lambda table: writer.write_table(_safe(table))) if csv_safe else writer.write_table
    else:
        with pq.ParquetWriter(pa.PythonFile(file, mode="w"), schema, compression="zstd") as writer:
            yield writer.write_table


def _safe(table: pa.Table) -> pa.Table:
    """Cells and names of text that begin like a formula with a single quote before them."""
    columns = [_safe_texts(column) for column in table.columns]
    return pa.Table.from_arrays(columns, names=_safe_texts(pa.array(table.column_names, pa.string())).to_pylist())


def _safe_texts(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    return pc.replace_substring_regex(column, r"\A([=+\-@\t\r])", r"'\1")


def _write_lines(file: BinaryIO, table: pa.Table) -> None:
    for row in table.to_pylist():
        file.write(json.dumps(row, default=_plain, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _plain(value: Any) -> str:
    """Dates, times, decimals and the like as text."""
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)
