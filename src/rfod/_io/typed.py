"""Tables that store the types of their values cell by cell: results of SQL queries, spreadsheets."""

from __future__ import annotations

import datetime as dt
import importlib
import io
import itertools
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa

from rfod._io.delimited import column_names
from rfod._io.interface import EMPTY_LINES, InputError, ReadOptions, redacted
from rfod._io.source import Block, Source
from rfod._io.text import open_bytes, unpack


@contextmanager
def _read_errors(name: str) -> Iterator[None]:
    """What calamine raises for a damaged file as `InputError`; a panic of its compiled code is no `Exception`."""
    try:
        yield
    except (InputError, KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        if type(error).__name__ == "PasswordError":
            reason = "it is protected by a password"
        raise InputError(
            f"{name}: cannot be read as a spreadsheet: {reason}. Hint: is the file whole, and what its ending says?"
        ) from error


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
            is_number = getattr(field.type, "type_name", "") == "numeric"
            column = column.cast(field.type.storage_type)
            column = column.cast(pa.float64()) if is_number else column
        columns[field.name] = column
    return pa.table(columns)


SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")

Cell = str | float | int | bool | dt.date | dt.time | dt.timedelta
_WHOLE = 2.0**53  # whole numbers up to here are exact as floats
# Types of cells, and the kinds of column they are read as; for another kind they become text first, as in a CSV file.
_TYPES: dict[type, tuple[pa.DataType, tuple[str, ...]]] = {
    float: (pa.float64(), ("numeric", "number")),
    bool: (pa.bool_(), ("boolean",)),
    dt.date: (pa.date32(), ("datetime", "dmy", "mdy")),
    dt.datetime: (pa.timestamp("us"), ("datetime", "dmy", "mdy")),
    dt.time: (pa.time64("us"), ("time",)),
    dt.timedelta: (pa.duration("us"), ("duration", "text")),
}


class SpreadsheetSource(Source):
    """One sheet of a workbook. The first row that holds anything names the columns."""

    def __init__(self, path: str | BinaryIO, options: ReadOptions, name: str) -> None:
        super().__init__(name, options)
        try:
            self._calamine = importlib.import_module("python_calamine")
        except ImportError as error:
            raise InputError(
                f"{name}: spreadsheets are read by a library that is not installed. "
                "Hint: pip install 'rfod[excel]', or save the sheet as CSV."
            ) from error
        self._path = path

    def blocks(self) -> Generator[Block, None, None]:
        """The sheet as a whole: it has a million rows at most."""
        with open_bytes(self._path) as stream, _read_errors(self.name):
            data = io.BytesIO(unpack(stream).read())
            with self._calamine.CalamineWorkbook.from_filelike(data) as workbook:
                chosen, others = self._choose(workbook)
                sheet = workbook.get_sheet_by_name(chosen)
                cells = [] if sheet.start is None else enumerate(sheet.iter_rows(), start=1)
                rows = {number: row for number, row in cells if any(map(_is_present, row))}
        if not rows:
            raise self._no_rows(f"the sheet {chosen!r} is empty", others)
        header = [""] * len(next(iter(rows.values())))
        if has_header := self.options.header is not False:
            header = [_text(cell) for cell in rows.pop(next(iter(rows)))]
            if not rows:
                raise self._no_rows(f"the sheet {chosen!r} has a header alone: the table has no rows", others)
        for before, number in itertools.pairwise(rows):
            for empty in range(before + 1, number):
                self.notes.places(EMPTY_LINES).add(f"{empty:,}")
        columns = list(zip(*rows.values(), strict=True)) or [()] * len(header)
        used = [place for place, cells in enumerate(columns) if header[place].strip() or any(map(_is_present, cells))]
        names = column_names([[header[place] for place in used]], has_header, self.notes)
        lines = np.array(list(rows), dtype=np.int64)
        del rows
        picked = set(self.options.pick(names))
        table = pa.table(
            {
                name: _array(columns[place], self.options.kinds.get(name))
                for name, place in zip(names, used, strict=True)
                if name in picked
            }
        )
        self.n_rows = table.num_rows
        yield table, lines

    def _no_rows(self, what: str, others: Sequence[str]) -> InputError:
        """The error for a sheet without a table, with the other sheets of its workbook."""
        hint = f"other sheets are {_some(others)}; --sheet names one." if others else "the workbook has no other sheet."
        return InputError(f"{self.name}: {what}. Hint: {hint}")

    def _choose(self, workbook: Any) -> tuple[str, list[str]]:
        """The name of the wanted sheet, otherwise of the first one that is visible and no chart; and of the others."""
        kinds, visible = self._calamine.SheetTypeEnum, self._calamine.SheetVisibleEnum.Visible
        sheets = [sheet for sheet in workbook.sheets_metadata if sheet.typ == kinds.WorkSheet]
        names = [sheet.name for sheet in sheets]
        wanted = self.options.sheet
        if not sheets:
            raise InputError(f"{self.name}: the workbook has no sheet with cells. Hint: charts are not read.")
        if wanted is None:
            chosen = next((sheet.name for sheet in sheets if sheet.visible == visible), names[0])
        elif wanted in names:
            chosen = wanted
        elif wanted.isascii() and wanted.isdigit() and 0 < int(wanted[:9]) <= len(names):
            chosen = names[int(wanted[:9]) - 1]
        else:
            raise InputError(f"{self.name}: there is no sheet {wanted!r}. Hint: the sheets are {_some(names)}.")
        others = [name for name in names if name != chosen]
        if others and wanted is None:
            self.notes.add(
                f"read the sheet {chosen!r}; there are others: {_some(others)}. Hint: --sheet names one of them."
            )
        return chosen, others


def _some(names: Sequence[str]) -> str:
    """Up to ten quoted names."""
    return ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")


def _is_present(cell: Cell) -> bool:
    return not isinstance(cell, str) or bool(cell.strip())


def _array(cells: Sequence[Cell], kind: str | None) -> pa.Array:
    """One column: typed if all its cells are of one type, and that suits the kind; otherwise text."""
    values = [cell if _is_present(cell) else None for cell in cells]
    types = {type(value) for value in values if value is not None}
    if types <= {int, float}:
        types = {float} if types else set()
    elif types == {dt.date, dt.datetime}:
        types = {dt.datetime}
        values = [dt.datetime.combine(value, dt.time()) if type(value) is dt.date else value for value in values]
    (only,) = types if len(types) == 1 else (str,)
    arrow_type, kinds = _TYPES.get(only, (None, ()))
    if arrow_type is not None and (kind is None or kind in kinds):
        with suppress(pa.ArrowException, OverflowError, ValueError):
            array = pa.array(values, arrow_type)
            return _whole(array) if only is float else array
    return pa.array([None if value is None else _text(value) for value in values], pa.large_string())


def _whole(numbers: pa.Array) -> pa.Array:
    """As int64 where all are whole, since spreadsheets know no integers."""
    values = numbers.drop_null().to_numpy(zero_copy_only=False)
    is_whole = len(values) and np.isfinite(values).all() and (values == np.rint(values)).all()
    return numbers.cast(pa.int64()) if is_whole and np.abs(values).max() < _WHOLE else numbers


def _text(cell: Cell) -> str:
    """A cell as it would stand in a CSV file."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _WHOLE:
        return str(int(cell))
    if isinstance(cell, dt.datetime):
        return cell.isoformat(" ")
    return cell.isoformat() if isinstance(cell, dt.date | dt.time) else str(cell)
