"""Spreadsheets of Excel and LibreOffice, through python-calamine, which is installed with `rfod[excel]`."""

from __future__ import annotations

import datetime as dt
import importlib
import io
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from rfod._io.batches import Batch, cut
from rfod._io.dialect import column_names
from rfod._io.errors import InputError
from rfod._io.notes import Notes
from rfod._io.options import ReadOptions
from rfod._io.plans import Planner
from rfod._io.streams import closing_on_error, open_bytes, unpack

ENDINGS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")

Cell = str | float | int | bool | dt.date | dt.time | dt.timedelta
_WHOLE = 2.0**53  # floats up to here tell whole numbers apart
# Kinds of column that cells of these types are read as; for another kind they become text first, as in a CSV file.
_KINDS: dict[type, tuple[str, ...]] = {
    float: ("numeric", "number"),
    bool: ("boolean",),
    dt.date: ("datetime", "dmy", "mdy"),
    dt.datetime: ("datetime", "dmy", "mdy"),
    dt.time: ("time",),
    dt.timedelta: ("duration", "text"),
}
_ARROW_TYPES: dict[type, pa.DataType] = {
    float: pa.float64(),
    bool: pa.bool_(),
    dt.date: pa.date32(),
    dt.datetime: pa.timestamp("us"),
    dt.time: pa.time64("us"),
    dt.timedelta: pa.duration("us"),
}


@dataclass
class _Sheet:
    """The rows of a sheet that hold anything, and where they stand."""

    rows: list[list[Cell]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    """Row numbers, from 1."""


class SpreadsheetSource:
    """One sheet of a workbook. The first row that holds anything names the columns."""

    def __init__(self, path: str | BinaryIO, options: ReadOptions, name: str) -> None:
        self.name, self.notes, self._options = name, Notes(), options
        self._n_given = 0
        self._n_rows: int | None = None
        self._bytes = open_bytes(path)
        with closing_on_error(self._bytes):
            try:
                self._calamine = importlib.import_module("python_calamine")
            except ImportError as error:
                raise InputError(
                    f"{name}: spreadsheets are read by a library that is not installed. "
                    "Hint: pip install 'rfod[excel]', or save the sheet as CSV."
                ) from error

    def progress(self) -> tuple[int, int | None]:
        return self._n_given, self._n_rows

    def batches(self) -> Generator[Batch, None, None]:
        """The rows, in order. A sheet is read as a whole: it has a million rows at most."""
        options = self._options
        with self._bytes, self._readable():
            sheet = self._read(unpack(self._bytes).read())
        if not sheet.rows:
            raise InputError(f"{self.name}: the sheet is empty. Hint: --sheet names another one.")
        names, columns = self._columns(sheet)
        lines = np.array(sheet.numbers, dtype=np.int64)
        del sheet
        picked = options.picked(names)
        table = pa.table({name: _array(columns[name], options.kinds.get(name)) for name in picked})
        planner = Planner(self.name, self.notes, options.kinds, options.decimal, options.told)
        self._n_rows = table.num_rows
        for batch in cut(planner.convert(table, lines), lines, 0, options.batch_rows):
            self._n_given += batch.rows.num_rows
            yield batch

    def _read(self, data: bytes) -> _Sheet:
        with self._calamine.CalamineWorkbook.from_filelike(io.BytesIO(data)) as workbook:
            found = workbook.get_sheet_by_name(self._choose(workbook))
            sheet = _Sheet()
            if found.start is None:
                return sheet
            for number, row in enumerate(found.iter_rows(), start=1):
                if any(not isinstance(cell, str) or cell.strip() for cell in row):
                    sheet.rows.append(row)
                    sheet.numbers.append(number)
        return sheet

    def _choose(self, workbook: Any) -> str:
        """The sheet that was asked for; otherwise the first one that can be seen and is no chart."""
        kinds, visible = self._calamine.SheetTypeEnum, self._calamine.SheetVisibleEnum.Visible
        sheets = [sheet for sheet in workbook.sheets_metadata if sheet.typ == kinds.WorkSheet]
        names = [sheet.name for sheet in sheets]
        listed = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
        wanted = self._options.sheet
        if not sheets:
            raise InputError(f"{self.name}: the workbook has no sheet with cells. Hint: charts are not read.")
        if wanted in names:
            return str(wanted)
        if wanted is not None:
            if wanted.isascii() and wanted.isdigit() and 0 < int(wanted[:9]) <= len(names):
                return str(names[int(wanted[:9]) - 1])
            raise InputError(f"{self.name}: there is no sheet {wanted!r}. Hint: the sheets are {listed}.")
        chosen = next((sheet.name for sheet in sheets if sheet.visible == visible), names[0])
        others = [repr(name) for name in names if name != chosen]
        if others:
            self.notes.say(
                f"read the sheet {chosen!r}; there are others: {', '.join(others[:10])}"
                f"{', ...' if len(others) > 10 else ''}. Hint: --sheet names one of them."
            )
        return str(chosen)

    def _columns(self, sheet: _Sheet) -> tuple[list[str], dict[str, list[Cell]]]:
        """Cells by column; the rows and numbers that are left in the sheet are those of the data."""
        has_header = self._options.header is not False
        header = [_text(cell) for cell in sheet.rows[0]] if has_header else [""] * len(sheet.rows[0])
        if has_header:
            del sheet.rows[0], sheet.numbers[0]
        columns = list(zip(*sheet.rows, strict=True)) or [()] * len(header)
        used = [place for place, cells in enumerate(columns) if header[place].strip() or any(map(_is_present, cells))]
        rows = [[header[place] for place in used]] if has_header else [[""] * len(used)]
        names = list(column_names(rows, has_header, self.notes))
        for before, number in zip(sheet.numbers, sheet.numbers[1:], strict=False):
            for empty in range(before + 1, number):
                self.notes.empty_lines.add(f"{empty:,}")
        return names, {name: list(columns[place]) for name, place in zip(names, used, strict=True)}

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Whatever the library raises becomes an `InputError`."""
        try:
            yield
        except (InputError, KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
            raise
        except BaseException as error:  # a panic of its compiled code is no Exception
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            if isinstance(error, self._calamine.PasswordError):
                reason = "it is protected by a password"
            raise InputError(
                f"{self.name}: cannot be read as a spreadsheet: {reason}. "
                "Hint: is the file whole, and what its ending says?"
            ) from error


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
    if only in _ARROW_TYPES and (kind is None or kind in _KINDS[only]):
        try:
            array = pa.array(values, _ARROW_TYPES[only])
            return _whole(array) if only is float else array
        except (pa.ArrowException, OverflowError, ValueError):
            pass
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
