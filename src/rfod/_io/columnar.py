"""Parquet, Arrow and Feather files, alone, in folders, by pattern and in hive partitions."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from rfod._io.interface import InputError, ReadOptions
from rfod._io.source import Block, Source

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc"}


class ColumnarSource(Source):
    """Files with typed columns, read as one table in the order of their names."""

    parses_text = False

    def __init__(self, paths: Sequence[str], file_format: str, options: ReadOptions, name: str) -> None:
        super().__init__(name, options)
        self._format = file_format
        with _read_errors(name):
            where = paths[0] if len(paths) == 1 else list(paths)
            dataset = ds.dataset(where, format=file_format, partitioning="hive")
            self._fragments = sorted(dataset.get_fragments(), key=lambda fragment: fragment.path)
            self._schema = _joined(dataset, self._fragments)
            self._names = options.pick(self._schema.names)
            self.n_rows = sum(fragment.count_rows() for fragment in self._fragments)

    def blocks(self) -> Generator[Block, None, None]:
        """One batch in memory at a time."""
        schema = pa.schema([self._schema.field(name) for name in self._names])
        for fragment in self._fragments:
            with _read_errors(fragment.path):
                for batch in self._batches(fragment):
                    batch.validate(full=True)  # Arrow takes offsets and texts in a file as they are
                    yield _as_schema(pa.Table.from_batches([batch]), schema, fragment), None

    def _batches(self, fragment: ds.Fragment) -> Iterator[pa.RecordBatch]:
        """Batches of one file. Not by the dataset's scanner: that reads up to a gigabyte ahead of a slow consumer."""
        stored = [name for name in self._names if name in fragment.physical_schema.names]
        if self._format == "parquet":
            # a pre-buffered file keeps the bytes of all row groups it has read
            with pq.ParquetFile(fragment.path, pre_buffer=False, buffer_size=1 << 20) as file:
                yield from file.iter_batches(self.options.batch_rows, columns=stored)
            return
        with pa.memory_map(fragment.path) as mapped, pa.ipc.open_file(mapped) as file:
            for number in range(file.num_record_batches):
                yield file.get_batch(number).select(stored)


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


class IpcStreamSource(Source):
    """Arrow data from stdin or a stream file, which has no index at its end."""

    parses_text = False

    def __init__(self, stream: object, options: ReadOptions, name: str) -> None:
        super().__init__(name, options)
        with _read_errors(name):
            self._reader = pa.ipc.open_stream(stream)
            _ = self._reader.schema.names

    def blocks(self) -> Generator[Block, None, None]:
        """The batches of the stream."""
        with _read_errors(self.name):
            for batch in self._reader:
                batch.validate(full=True)
                yield pa.Table.from_batches([batch]), None


@contextmanager
def _read_errors(name: str) -> Iterator[None]:
    """What Arrow raises for a damaged file as `InputError`; names of columns may be no UTF-8."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"{name}: cannot be read as a table: {reason}. Hint: is the file whole, and what its ending says?"
        ) from error
