"""Parquet, Arrow and Feather files, alone, in folders, by pattern and in hive partitions."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from rfod._io.batches import Batch
from rfod._io.errors import InputError
from rfod._io.notes import Notes
from rfod._io.options import ReadOptions

READ_ERRORS = (pa.ArrowException, OSError, UnicodeDecodeError)
"""What Arrow raises for a damaged file; names of columns may be no UTF-8."""
FORMATS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc"}


class ColumnarSource:
    """Files with typed columns, read as one table."""

    def __init__(self, paths: Sequence[str], file_format: str, options: ReadOptions, name: str) -> None:
        self.name = name
        self.notes = Notes()
        self._options, self._format = options, file_format
        self._n_read = 0
        try:
            where = paths[0] if len(paths) == 1 else list(paths)
            self._dataset = ds.dataset(where, format=file_format, partitioning="hive")
            self._fragments = sorted(self._dataset.get_fragments(), key=lambda fragment: fragment.path)
            self._schema = _joined(self._dataset, self._fragments)
            _ = self._schema.names
            self._n_rows = sum(fragment.count_rows() for fragment in self._fragments)
        except READ_ERRORS as error:
            raise InputError(_message(name, error)) from error

    def progress(self) -> tuple[int, int | None]:
        return self._n_read, self._n_rows

    def batches(self) -> Generator[Batch, None, None]:
        """The rows in the order of the file names, one batch in memory at a time."""
        columns = self._options.picked(self._schema.names)
        schema = pa.schema([self._schema.field(name) for name in columns])
        for fragment in self._fragments:
            try:
                for batch in self._batches(fragment, columns):
                    batch.validate(full=True)  # Arrow takes offsets and texts in a file as they are
                    table = _as_schema(pa.Table.from_batches([batch]), schema, fragment)
                    yield Batch(table, self._n_read)
                    self._n_read += batch.num_rows
            except READ_ERRORS as error:
                raise InputError(_message(fragment.path, error)) from error

    def _batches(self, fragment: ds.Fragment, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches of one file. Not by the dataset's scanner: that reads up to a gigabyte ahead of a slow consumer."""
        stored = [name for name in columns if name in fragment.physical_schema.names]
        n_rows = self._options.batch_rows
        if self._format == "parquet":
            # a pre-buffered file keeps the bytes of all row groups it has read
            with pq.ParquetFile(fragment.path, pre_buffer=False, buffer_size=1 << 20) as file:
                yield from file.iter_batches(n_rows, columns=stored)
            return
        with pa.memory_map(fragment.path) as mapped, pa.ipc.open_file(mapped) as file:
            for number in range(file.num_record_batches):
                batch = file.get_batch(number).select(stored)
                for start in range(0, batch.num_rows, n_rows):
                    yield batch.slice(start, n_rows)


def _as_schema(table: pa.Table, schema: pa.Schema, fragment: ds.Fragment) -> pa.Table:
    """The columns of the schema: from the file, from the names of its folders, or missing throughout."""
    partition = ds.get_partition_keys(fragment.partition_expression)
    columns = {}
    for field in schema:
        if field.name in table.column_names:
            columns[field.name] = table.column(field.name).cast(field.type)
        else:
            value = pa.scalar(partition.get(field.name), field.type)
            columns[field.name] = pa.repeat(value, table.num_rows)
    return pa.table(columns)


def _joined(dataset: ds.Dataset, fragments: Sequence[ds.Fragment]) -> pa.Schema:
    """The columns of all files together; numbers of different width become the widest."""
    if len(fragments) < 2:
        return dataset.schema
    schemas = [fragment.physical_schema for fragment in fragments]
    return pa.unify_schemas([*schemas, dataset.schema], promote_options="permissive")


class IpcStreamSource:
    """Arrow data from stdin or a stream file, which has no index at its end."""

    def __init__(self, stream: object, options: ReadOptions, name: str) -> None:
        self.name, self.notes, self._options = name, Notes(), options
        self._n_read = 0
        try:
            self._reader = pa.ipc.open_stream(stream)
            _ = self._reader.schema.names
        except READ_ERRORS as error:
            raise InputError(_message(name, error)) from error

    def progress(self) -> tuple[int, int | None]:
        return self._n_read, None

    def batches(self) -> Generator[Batch, None, None]:
        """The rows, in the batches of the stream."""
        try:
            for batch in self._reader:
                batch.validate(full=True)
                if batch.num_rows:
                    yield Batch(pa.Table.from_batches([batch]), self._n_read)
                    self._n_read += batch.num_rows
        except READ_ERRORS as error:
            raise InputError(_message(self.name, error)) from error


def _message(name: str, error: Exception) -> str:
    reason = " ".join(str(error).split())[:200]
    return f"{name}: cannot be read as a table: {reason}. Hint: is the file whole, and what its ending says?"
