"""Parquet and Arrow files, on this machine or in object storage, in parts that other processes can read too."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq

from rfod._io.interface import InputError, ReadOptions
from rfod._io.source import Block, Source
from rfod._io.storage import address_of, open_storage

COLUMNAR = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc"}
PART_ROWS = 500_000  # that a task reads at least, unless the file ends: seconds of judging
_FOOTERS_AT_A_TIME = 16


@dataclass(frozen=True)
class FilePart:
    """Consecutive rows of one file: some row groups of a Parquet file, or all of an Arrow file."""

    address: str
    name: str
    """The path of the file from the folder that all files have in common."""
    number: int
    """Of the file, from 0."""
    file_format: str
    version: tuple[int, int]
    """Size in bytes and time of modification in nanoseconds."""
    partition: tuple[tuple[str, Any], ...]
    """Values of columns that the names of folders hold."""
    first_row: int
    n_rows: int
    groups: tuple[int, int] = (0, 0)
    """First row group, and the one behind the last."""

    def batches(self, schema: pa.Schema, batch_rows: int) -> Iterator[pa.Table]:
        """The rows in order, at most `batch_rows` at a time, with the columns of the schema."""
        with reading(self.address):
            filesystem, path = open_storage(self.address)
            if version_of(filesystem.get_file_info(path)) != self.version:
                raise InputError(f"{self.address}: the file has changed or is gone. Hint: start again without changes.")
            for batch in self._stored(filesystem, path, schema, batch_rows):
                batch.validate(full=True)  # Arrow takes offsets and texts in a file as they are
                yield self._with_schema(pa.Table.from_batches([batch]), schema)

    def _stored(
        self, filesystem: pa_fs.FileSystem, path: str, schema: pa.Schema, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Not by the dataset's scanner: that reads up to a gigabyte ahead of a slow consumer."""
        is_local = filesystem.type_name == "local"
        if self.file_format == "parquet":
            # a pre-buffered file keeps the bytes of all row groups it has read; elsewhere each read is a request
            with pq.ParquetFile(path, filesystem=filesystem, pre_buffer=not is_local, buffer_size=1 << 20) as file:
                names = [name for name in schema.names if name in file.schema_arrow.names]
                yield from file.iter_batches(batch_rows, row_groups=range(*self.groups), columns=names)
            return
        opened = pa.memory_map(path) if is_local else filesystem.open_input_file(path)
        with opened, pa.ipc.open_file(opened) as file:
            names = [name for name in schema.names if name in file.schema.names]
            for number in range(file.num_record_batches):
                batch = file.get_batch(number).select(names)
                for start in range(0, batch.num_rows, batch_rows):
                    yield batch.slice(start, batch_rows)

    def _with_schema(self, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """The columns of the schema: from the file, from the names of its folders, or missing throughout."""
        constants, columns = dict(self.partition), {}
        for field in schema:
            if field.name in table.column_names:
                columns[field.name] = table.column(field.name).cast(field.type)
            else:
                value = pa.scalar(constants.get(field.name), field.type)
                columns[field.name] = pa.repeat(value, table.num_rows)
        return pa.table(columns)


def version_of(info: pa_fs.FileInfo) -> tuple[int, int]:
    """What changes when a file does: its size and its time of modification."""
    return info.size or 0, info.mtime_ns or 0


class ColumnarSource(Source):
    """Files with typed columns, read as one table in the order of their names.

    Parameters
    ----------
    places
        Paths or addresses of files in one file system; or one folder.
    file_format
        "parquet" or "ipc".
    """

    parses_text = False

    def __init__(self, places: Sequence[str], file_format: str, options: ReadOptions, name: str) -> None:
        super().__init__(name, options)
        with reading(name):
            filesystem, first = open_storage(places[0])
            paths = [first, *(open_storage(place)[1] for place in places[1:])]
            where = paths[0] if len(paths) == 1 else paths
            dataset = ds.dataset(where, format=file_format, filesystem=filesystem, partitioning="hive")
            fragments = sorted(dataset.get_fragments(), key=lambda fragment: fragment.path)
            with ThreadPoolExecutor(_FOOTERS_AT_A_TIME) as pool:
                rows = list(pool.map(_rows_of_groups, fragments))
            # the columns of all files together; numbers of different width become the widest
            schemas = [fragment.physical_schema for fragment in fragments] if len(fragments) > 1 else []
            schema = pa.unify_schemas([*schemas, dataset.schema], promote_options="permissive")
            self.schema = pa.schema([schema.field(column) for column in options.pick(schema.names)])
            """Of the columns that are read."""
            self.n_rows = sum(map(sum, rows))
            is_folder = filesystem.get_file_info(first).type == pa_fs.FileType.Directory
            root = first.rstrip("/") if is_folder else _common_folder(paths)
            infos = filesystem.get_file_info([fragment.path for fragment in fragments])
            self.files = tuple(
                FilePart(
                    address_of(places[0], fragment.path),
                    fragment.path[len(root) :].lstrip("/"),
                    number,
                    file_format,
                    version_of(info),
                    tuple(sorted(ds.get_partition_keys(fragment.partition_expression).items())),
                    0,
                    sum(groups),
                    (0, len(groups)),
                )
                for number, (fragment, info, groups) in enumerate(zip(fragments, infos, rows, strict=True))
            )
            """All files, each as one part."""
            self._rows_of_groups = rows

    def parts(self) -> list[FilePart]:
        """The files in parts of at least `PART_ROWS` rows, if they have so many and are cut into row groups."""
        parts = []
        for file, groups in zip(self.files, self._rows_of_groups, strict=True):
            start, first_row, held = 0, 0, 0
            for number, n_more in enumerate(groups, start=1):
                held += n_more
                if (held >= PART_ROWS or number == len(groups)) and held:
                    parts.append(replace(file, first_row=first_row, n_rows=held, groups=(start, number)))
                    start, first_row, held = number, first_row + held, 0
        return parts

    def blocks(self) -> Generator[Block, None, None]:
        """One batch in memory at a time."""
        for file in self.files:
            for table in file.batches(self.schema, self.options.batch_rows):
                yield table, None


def _common_folder(paths: Sequence[str]) -> str:
    """The folder that all paths have in common, "" for none."""
    folders = [path.split("/")[:-1] for path in paths]
    common = []
    for names in zip(*folders, strict=False):
        if len(set(names)) > 1:
            break
        common.append(names[0])
    return "/".join(common)


def _rows_of_groups(fragment: ds.Fragment) -> list[int]:
    """Rows of each row group; of an Arrow file, of all of it."""
    if isinstance(fragment, ds.ParquetFileFragment):
        fragment.ensure_complete_metadata()
        return [group.num_rows for group in fragment.row_groups]
    return [fragment.count_rows()]


class IpcStreamSource(Source):
    """Arrow data from stdin or a stream file, which has no index at its end."""

    parses_text = False

    def __init__(self, stream: object, options: ReadOptions, name: str) -> None:
        super().__init__(name, options)
        with reading(name):
            self._reader = pa.ipc.open_stream(stream)
            _ = self._reader.schema.names

    def blocks(self) -> Generator[Block, None, None]:
        """The batches of the stream."""
        with reading(self.name):
            for batch in self._reader:
                batch.validate(full=True)
                yield pa.Table.from_batches([batch]), None


@contextmanager
def reading(name: str) -> Iterator[None]:
    """What Arrow raises for a damaged file as `InputError`."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # names of columns may be no UTF-8
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(
            f"{name}: cannot be read as a table: {reason}. Hint: is the file whole, and what its ending says?"
        ) from error
