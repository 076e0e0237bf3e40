"""The answer of a SQL query, through ADBC drivers that are installed with `rfod[sql]`."""

from __future__ import annotations

import importlib
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa

from rfod._io.errors import InputError
from rfod._io.notes import Notes
from rfod._io.options import ReadOptions
from rfod._io.pieces import Piece, cut
from rfod._io.plans import Planner

_DRIVERS = {
    "sqlite": "adbc_driver_sqlite",
    "postgresql": "adbc_driver_postgresql",
    "postgres": "adbc_driver_postgresql",
}


class QuerySource:
    """The rows that a query gives, fetched batch by batch."""

    def __init__(self, address: str, query: str, options: ReadOptions) -> None:
        self.scheme = urlsplit(address).scheme
        self.name = f"{self.scheme} query"
        self.notes = Notes()
        self._options, self._query = options, query
        self._n_read = 0
        self._connection = _connect(address, self.scheme, options)

    def progress(self) -> tuple[int, int | None]:
        return self._n_read, None

    def pieces(self) -> Generator[Piece, None, None]:
        """The rows. sqlite knows no dates, so its texts are read like those of a CSV file."""
        kinds = dict(self._options.kinds)
        planner = Planner(self.name, self.notes, kinds, told=self._options.told)
        try:
            with self._connection as connection, connection.cursor() as cursor:
                cursor.execute(self._query)
                for batch in cursor.fetch_record_batch():
                    if not batch.num_rows:
                        continue
                    table = _plain(pa.Table.from_batches([batch]))
                    if self.scheme == "sqlite":
                        table = planner.convert(table, None)
                    yield from cut(table, None, self._n_read, self._options.batch_rows)
                    self._n_read += batch.num_rows
        except _database_errors() as error:
            raise InputError(f"{self.name}: {_one_line(error)} Hint: check --sql and --db.") from error


def _connect(address: str, scheme: str, options: ReadOptions) -> Any:
    module = _DRIVERS.get(scheme)
    if module is None:
        raise InputError(
            f"--db {address!r}: no driver for {scheme or 'this'!r}. "
            "Hint: sqlite:///path/to/file.db or postgresql://user@host/database."
        )
    try:
        dbapi = importlib.import_module(f"{module}.dbapi")
    except ImportError as error:
        raise InputError(f"--db {scheme}: the driver is not installed. Hint: pip install 'rfod[sql]'.") from error
    try:
        if scheme == "sqlite":
            path = unquote(address.removeprefix("sqlite:///"))
            if not Path(path).is_file():
                raise InputError(f"{path}: there is no such database. Hint: sqlite:///relative.db, sqlite:////abs.db.")
            # the driver takes the type of a column from the first batch, so that should be a large one
            size = {"adbc.sqlite.query.batch_rows": str(options.batch_rows)}
            connection = dbapi.connect(f"file:{quote(path)}?mode=ro")
            return _WithStatementOptions(connection, size)
        return dbapi.connect(address)
    except _database_errors() as error:
        raise InputError(
            f"--db {scheme}: {_one_line(error)} Hint: is the server there, and the address right?"
        ) from error


class _WithStatementOptions:
    """A connection whose cursors have options set."""

    def __init__(self, connection: Any, options: dict[str, str]) -> None:
        self._connection, self._options = connection, options

    def __enter__(self) -> _WithStatementOptions:
        return self

    def __exit__(self, *details: object) -> None:
        self._connection.close()

    def cursor(self) -> Any:
        return self._connection.cursor(adbc_stmt_kwargs=self._options)


def _database_errors() -> tuple[type[BaseException], ...]:
    """What a driver raises; only asked for when one is installed."""
    return (OSError, pa.ArrowException, importlib.import_module("adbc_driver_manager").Error)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:240]


def _plain(table: pa.Table) -> pa.Table:
    """Values of database types that Arrow has no type for: decimals as numbers, the others as text."""
    columns = {}
    for field in table.schema:
        column = table.column(field.name)
        if isinstance(field.type, pa.BaseExtensionType):
            storage = pa.chunked_array([chunk.storage for chunk in column.chunks], field.type.storage_type)
            is_number = getattr(field.type, "type_name", "") == "numeric"
            column = storage.cast(pa.float64()) if is_number else storage
        columns[field.name] = column
    return pa.table(columns)
