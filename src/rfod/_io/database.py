"""The result of a SQL query, through ADBC drivers that are installed with `rfod[sql]`."""

from __future__ import annotations

import importlib
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa

from rfod._io.interface import InputError, ReadOptions, redacted
from rfod._io.source import Block, Source

_DRIVERS = {
    "sqlite": "adbc_driver_sqlite",
    "postgresql": "adbc_driver_postgresql",
    "postgres": "adbc_driver_postgresql",
}
SCHEMES = (*_DRIVERS, "mysql", "mariadb", "mssql", "oracle", "duckdb", "snowflake")  # whether there is a driver or not


class QuerySource(Source):
    """The rows of a query, fetched batch by batch."""

    def __init__(self, address: str, query: str, options: ReadOptions) -> None:
        scheme = address.partition("://")[0] if "://" in address else ""
        super().__init__(f"{scheme} query", options)
        self.parses_text = self._is_sqlite = scheme == "sqlite"  # which has no type for dates
        self._query, self._secrets = query, _secrets(address)
        self._connection = _connect(address, scheme)

    def blocks(self) -> Generator[Block, None, None]:
        """The batches of the driver."""
        # the sqlite driver takes the type of a column from the first batch, so that should be a large one
        settings = {"adbc.sqlite.query.batch_rows": str(self.options.batch_rows)} if self._is_sqlite else None
        try:
            with self._connection as connection, connection.cursor(adbc_stmt_kwargs=settings) as cursor:
                cursor.execute(self._query)
                for batch in cursor.fetch_record_batch():
                    if batch.num_rows:
                        batch.validate(full=True)  # texts in a database may be no UTF-8
                        yield _plain(pa.Table.from_batches([batch])), None
        except _database_errors() as error:
            raise InputError(
                f"{self.name}: {_one_line(error, self._secrets)} Hint: check --sql and --db."
            ) from None  # whose own message may hold the password


def _connect(address: str, scheme: str) -> Any:
    module = _DRIVERS.get(scheme)
    shown = _without(address, _secrets(address))
    if module is None:
        raise InputError(
            f"--db {shown!r}: no driver for {scheme or 'this'!r}. "
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
                raise InputError(
                    f"{shown.removeprefix('sqlite:///')}: there is no such database. "
                    "Hint: sqlite:///relative.db, sqlite:////abs.db."
                )
            return dbapi.connect(f"file:{quote(path)}?mode=ro")
        return dbapi.connect(address)
    except _database_errors() as error:
        raise InputError(
            f"--db {scheme}: {_one_line(error, _secrets(address))} Hint: is the server there, and the address right?"
        ) from None


def _database_errors() -> tuple[type[BaseException], ...]:
    """What a driver raises; call this only when one is installed."""
    return (OSError, pa.ArrowException, importlib.import_module("adbc_driver_manager").Error)


def _secrets(address: str) -> tuple[str, ...]:
    """The password of an address, as written and as the server gets it; it may hold @, : and spaces itself.

    Passwords of one or two characters are masked in addresses only: elsewhere they would mask half of a message.
    """
    password = address.split("://", 1)[-1].rpartition("@")[0].partition(":")[2]
    return (password, unquote(password)) if len(unquote(password)) > 2 else ()


def _without(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def _one_line(error: BaseException, secrets: tuple[str, ...]) -> str:
    """The message of a driver without passwords; shortened only afterwards, lest half of a password remain."""
    return redacted(_without(" ".join(str(error).split()), secrets))[:240]


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
