"""Any table a caller may hold, seen as named Arrow columns that are converted one at a time."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._table.arrays import arrow_from_array, arrow_from_objects, refuse_complex
from rfod.exceptions import SchemaError, counted, did_you_mean

if TYPE_CHECKING:
    from rfod._table.kinds.base import ColumnFormat

LARGEST_EXACT = 2**53  # integer, up to which a float64 holds every one
LONG_INTEGER = r"^-?[0-9]{16,}$"  # text of an integer that a float64 may not hold

Read = Callable[[int, str, bool], Any]
Build = Callable[[pa.Table, NDArray[np.intp] | None], Any]
Fill = Callable[[Mapping[int, tuple[Sequence[int], Sequence[Any]]]], Any]
"""The caller's own table with other values in some rows of some columns, given by their position."""


@dataclass(frozen=True)
class Table:
    """A table of any library: column names, and the columns on demand.

    Columns of arrays and lists of rows have no names of their own (`has_names` is False); they are called "x0", "x1"...
    """

    names: tuple[str, ...]
    n_rows: int
    has_names: bool
    _read: Read = field(repr=False, compare=False)
    _build: Build = field(repr=False, compare=False)
    texts: Mapping[str, pa.ChunkedArray] = field(default_factory=dict, repr=False, compare=False)
    """Columns that a source parsed from text, as they were written."""
    readings: Mapping[str, ColumnFormat | None] | None = field(default=None, repr=False, compare=False)
    """How a source parsed its columns of text, None for those that stay text; None where no source decided."""
    before: Mapping[str, Mapping[int, str | None]] = field(default_factory=dict, repr=False, compare=False)
    """What stood in cells that were given other values, per column and position of the row; None for a gap."""
    _fill: Fill | None = field(default=None, repr=False, compare=False)

    def column(self, name: str, *, mixed_as_text: bool = False) -> pa.ChunkedArray:
        """The column as Arrow, converted now; null stands for every library's missing value, NaN included.

        A column of Python objects of several kinds is an error, or the text of each value with `mixed_as_text`.
        """
        column = self._read(self.names.index(name), name, mixed_as_text)
        if not isinstance(column, pa.ChunkedArray):
            column = pa.chunked_array([column])
        if pa.types.is_run_end_encoded(column.type):  # which has few compute functions, and hides its nulls
            column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type)
        return nan_as_null(column)

    def written(self, name: str, *, mixed_as_text: bool = False) -> pa.ChunkedArray:
        """The column as its source wrote it: text where that was text."""
        if name not in self.texts:
            return self.column(name, mixed_as_text=mixed_as_text)
        texts = self.texts[name]
        return pc.coalesce(texts, self.column(name).cast(texts.type)) if texts.null_count else texts

    def exact(self, name: str) -> pa.ChunkedArray:
        """The column, or its text where numbers became floats that cannot hold integers as long as those written."""
        column = self.column(name)
        if name in self.texts and pa.types.is_floating(column.type):
            texts = pc.utf8_trim_whitespace(self.written(name))
            if pc.any(pc.match_substring_regex(texts, LONG_INTEGER)).as_py():
                return texts
        return column

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Some of the rows."""
        picked, read = pa.array(rows, pa.int64()), self._read

        def read_some(index: int, name: str, mixed_as_text: bool) -> Any:
            return read(index, name, mixed_as_text).take(picked)

        texts, build = {name: column.take(picked) for name, column in self.texts.items()}, self._build

        def build_some(columns: pa.Table, at: NDArray[np.intp] | None) -> Any:
            return build(columns, None if at is None else rows[at])

        unchanged: dict[str, Any] = {"before": {}, "_fill": None}  # positions of changed cells are of the whole table
        return replace(self, n_rows=len(rows), _read=read_some, _build=build_some, texts=texts, **unchanged)

    def with_column(
        self,
        name: str,
        column: pa.ChunkedArray,
        written: pa.ChunkedArray | None = None,
        before: Mapping[int, str | None] | None = None,
    ) -> Table:
        """The same table with other values in a column, and what was written there where that was text. `before` are
        the rows that changed, and what they held."""
        place, read = self.names.index(name), self._read

        def read_other(index: int, name: str, mixed_as_text: bool) -> Any:
            return column if index == place else read(index, name, mixed_as_text)

        texts = self.texts if written is None else {**self.texts, name: written}
        changed = {**self.before, name: {**(before or {}), **self.before.get(name, {})}}
        return replace(self, _read=read_other, texts=texts, before=changed)

    def native(self) -> Any:
        """The table in the library it came from, with its types and index, and with the values that cells were given;
        an array for arrays and lists."""
        assert self._fill is not None
        changes = {}
        for name, cells in self.before.items():
            rows = sorted(cells)
            values = self.column(name, mixed_as_text=True).take(pa.array(rows, pa.int64()))
            changes[self.names.index(name)] = (rows, values.to_pylist())
        return self._fill(changes)

    def select(self, names: Sequence[str]) -> Table:
        """Some of the columns, in this order."""
        places, read = [self.names.index(name) for name in names], self._read

        def read_some(index: int, name: str, mixed_as_text: bool) -> Any:
            return read(places[index], name, mixed_as_text)

        texts = {name: column for name, column in self.texts.items() if name in names}
        before = {name: cells for name, cells in self.before.items() if name in names}
        return replace(self, names=tuple(names), _read=read_some, texts=texts, before=before, _fill=None)

    def frame(self, columns: Mapping[str, pa.Array | pa.ChunkedArray], rows: NDArray[np.intp] | None = None) -> Any:
        """A frame of the caller's own library; for arrays and lists pandas where it is installed, else pyarrow.

        `rows` are the positions of the rows of this table that the lines belong to: where it has a pandas index that
        is more than the numbers from 0, the lines have its labels.
        """
        return self._build(pa.table(dict(columns)), rows)

    def find(self, label: Any) -> NDArray[np.intp] | None:
        """Positions of the rows with a label of the pandas index; None for a table without such an index."""
        everywhere = np.arange(self.n_rows)
        index = getattr(self.frame({"row": pa.array(everywhere)}, everywhere), "index", None)
        if index is None or _counts_rows(index):
            return None
        found = np.asarray(index.get_indexer_for([label]))
        return found[found >= 0]


def nan_as_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with NaN turned into null."""
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    if pa.types.is_floating(column.type):
        not_a_number = pc.is_nan(column)
        if pc.any(not_a_number).as_py():
            return pc.if_else(not_a_number, pa.scalar(None, column.type), column)
    return column


def has_exact_floats(integers: pa.ChunkedArray) -> bool:
    """Whether a float64 holds each of these integers."""
    bounds = pc.min_max(integers).as_py()
    return bounds["min"] is None or bool(max(-bounds["min"], bounds["max"]) <= LARGEST_EXACT)


def open_table(data: Any) -> Table:
    """See any supported table as a `Table`; raise `SchemaError` for everything else."""
    if isinstance(data, Table):
        return data
    _refuse_what_is_no_table(data)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table) or nw.dependencies.is_pandas_like_dataframe(data):  # before narwhals refuses them
        _refuse_duplicates(data.column_names if isinstance(data, pa.Table) else data.columns)
    frame = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return _from_frame(frame)
    if isinstance(data, list | tuple):
        return _from_rows(data)
    if hasattr(data, "__arrow_c_stream__"):
        return open_table(pa.table(data))
    if isinstance(data, np.ndarray) or hasattr(data, "__array__"):
        return _from_array(data if isinstance(data, np.ma.MaskedArray) else np.asarray(data))
    raise SchemaError(f"{_type_name(data)} is not a table.\n{_ACCEPTED}")


_ACCEPTED = "Hint: pass a pandas or polars DataFrame, a pyarrow Table, or a 2-d array."


def _refuse_what_is_no_table(data: Any) -> None:
    """Raise `SchemaError` for things that are often passed by mistake."""
    if data is None:
        raise SchemaError(f"A table is needed, but None came.\n{_ACCEPTED}")
    if isinstance(data, str | bytes | os.PathLike):
        raise SchemaError(f"A table is needed, but a path or text came: {data!r}.\nHint: read it into a frame first.")
    if hasattr(data, "tocsr") or type(data).__module__.startswith("scipy.sparse"):
        raise SchemaError(
            "A sparse matrix came, but sparse data is not supported.\n"
            "Hint: pass data.toarray(), or a frame of its columns."
        )
    if isinstance(data, Mapping):
        raise SchemaError("A dict is not a table.\nHint: pass pandas.DataFrame(data) or pyarrow.table(data).")
    if isinstance(data, pa.Array | pa.ChunkedArray) or nw.dependencies.is_into_series(data):
        raise SchemaError(
            f"A table is needed, but a single column came ({_type_name(data)}).\n"
            "Hint: Reshape your data: pass a frame with at least two columns."
        )


def _type_name(data: Any) -> str:
    return f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")


def _refuse_duplicates(names: Iterable[Any]) -> None:
    """Raise `SchemaError` when two names are the same text."""
    repeated = [name for name, count in Counter(map(str, names)).items() if count > 1]
    if repeated:
        raise SchemaError(
            f"{counted(len(repeated), 'column name')} {'occurs' if len(repeated) == 1 else 'occur'} more than once: "
            f"{listed(repeated)}.\n"
            "Hint: rename them, so that each column has a name of its own."
        )


def listed(names: Iterable[str]) -> str:
    """Up to five quoted names, then "..."."""
    quoted = [repr(str(name)) for name in names]
    return ", ".join(quoted[:5]) + (", ..." if len(quoted) > 5 else "")


def check_columns(names: Sequence[str], wanted: Iterable[str], purpose: str, what: str = "column") -> None:
    """Raise `SchemaError` for the first wanted name that is not among the names of a table."""
    for name in wanted:
        if name not in names:
            hint = did_you_mean(name, names) or f"the columns are {listed(names)}."
            raise SchemaError(f"There is no {what} {name!r} to {purpose}.\nHint: {hint}")


def _checked_size(n_rows: int, n_columns: int) -> None:
    """Raise `SchemaError` for a table without rows or columns, in scikit-learn's words."""
    shape = f"(shape=({n_rows}, {n_columns})) while a minimum of 1 is required."
    if n_columns == 0:
        raise SchemaError(f"Found array with 0 feature(s) {shape}\nHint: the table has no columns.")
    if n_rows == 0:
        raise SchemaError(f"Found array with 0 sample(s) {shape}\nHint: the table has no rows.")


def _from_frame(frame: nw.DataFrame[Any]) -> Table:
    names = tuple(str(name) for name in frame.columns)
    _refuse_duplicates(names)
    _checked_size(len(frame), len(names))
    backend = frame.implementation
    columns = list(frame.iter_columns())

    def read(index: int, name: str, mixed_as_text: bool) -> Any:
        series = columns[index]
        if str(getattr(series.to_native(), "dtype", "")).lower() == "object":
            # Arrow would guess from the first values, and silently cut the times off [date, datetime]
            values = np.fromiter(series.to_list(), dtype=object, count=len(series))
            return arrow_from_objects(values, name, mixed_as_text)
        try:
            return series.to_arrow()
        except (pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError):
            return arrow_from_array(series.to_numpy(), name, mixed_as_text)

    def build(columns: pa.Table, rows: NDArray[np.intp] | None) -> Any:
        if backend.is_pyarrow():
            return columns
        built = _as_frame(columns, backend)
        if rows is not None and backend.is_pandas_like():
            index = frame.to_native().index
            if not _counts_rows(index):
                built.index = index.take(rows)
        return built

    def fill(changes: Mapping[int, tuple[Sequence[int], Sequence[Any]]]) -> Any:
        if backend.is_pyarrow():
            table = frame.to_native()
            for index, (rows, values) in changes.items():
                table = table.set_column(index, table.field(index), _refilled(table.column(index), rows, values))
            return table
        filled = [_scattered(columns[index], rows, values) for index, (rows, values) in changes.items() if rows]
        return frame.with_columns(*filled).to_native() if filled else frame.clone().to_native()

    return Table(names, len(frame), True, read, build, _fill=fill)


def _refilled(column: pa.ChunkedArray, rows: Sequence[int], values: Sequence[Any]) -> pa.ChunkedArray:
    """The same for a column of Arrow."""
    held = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    plain, source = column.cast(held), np.arange(len(column))
    source[list(rows)] = len(column) + np.arange(len(rows))
    together = pa.chunked_array([*plain.chunks, pa.array(list(values), held)], held)
    return together.take(pa.array(source)).cast(column.type)


def _scattered(series: nw.Series[Any], rows: Sequence[int], values: Sequence[Any]) -> nw.Series[Any]:
    """A column with other values in some rows, in its own type where that can hold them."""
    native, backend = series.to_native(), series.implementation
    if backend.is_pandas_like():
        if None in values and native.dtype.kind in "iub":
            native = native.astype("boolean" if native.dtype.kind == "b" else "Int64")
        if str(native.dtype) == "category":
            new = [value for value in dict.fromkeys(values) if value is not None and value not in native.cat.categories]
            native = native.cat.add_categories(new)
        native = native.copy()
        native.iloc[list(rows)] = type(native)(list(values), dtype=native.dtype).array
        return nw.from_native(native, series_only=True)
    if series.dtype == nw.Categorical:
        text = series.cast(nw.String)
        return text.scatter(list(rows), list(values)).cast(nw.Categorical)
    return series.scatter(list(rows), list(values))


def _from_array(array: NDArray[Any]) -> Table:
    if array.ndim != 2:
        raise SchemaError(_shape_message(array.ndim))
    refuse_complex(array.dtype)
    n_rows, n_columns = array.shape
    _checked_size(n_rows, n_columns)
    names = tuple(f"x{position}" for position in range(n_columns))

    def read(index: int, name: str, mixed_as_text: bool) -> Any:
        return arrow_from_array(array[:, index], name, mixed_as_text)

    def fill(changes: Mapping[int, tuple[Sequence[int], Sequence[Any]]]) -> Any:
        filled = array.copy()
        for index, (rows, values) in changes.items():
            if None in values and filled.dtype.kind in "iub":
                filled = filled.astype(np.float64)
            filled[list(rows), index] = values
        return filled

    return Table(names, n_rows, False, read, _build_without_library, _fill=fill)


def _shape_message(n_dimensions: int) -> str:
    if n_dimensions > 2:
        return f"Found array with dim {n_dimensions}, while dim 2 is required.\nHint: pass one row per sample."
    return (
        f"Expected 2D array, got {n_dimensions}D array instead.\nHint: Reshape your data to rows and columns: "
        "array.reshape(1, -1) if it is a single row, or a frame with at least two columns."
    )


def _from_rows(rows: Sequence[Any]) -> Table:
    if not rows:
        raise SchemaError(
            "Found array with 0 sample(s) (shape=(0,)) while a minimum of 1 is required.\nHint: the list has no rows."
        )
    if isinstance(rows[0], Mapping):
        raise SchemaError("A list of dicts is not a table.\nHint: pass pandas.DataFrame(data).")
    if not all(isinstance(row, list | tuple | np.ndarray) for row in rows):
        raise SchemaError(_shape_message(1))
    lengths = Counter(map(len, rows))
    if len(lengths) > 1:
        raise SchemaError(
            f"The rows have between {min(lengths)} and {max(lengths)} values.\n"
            "Hint: give every row the same number of values."
        )
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    for position, row in enumerate(rows):
        array[position] = row
    return _from_array(array)


def _counts_rows(index: Any) -> bool:
    """Whether the index of a pandas frame says no more than the positions of its rows, from 0."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None


def _build_without_library(columns: pa.Table, rows: NDArray[np.intp] | None) -> Any:
    """Arrays cannot hold mixed columns by name, so their owners get pandas where it is installed, else pyarrow."""
    if importlib.util.find_spec("pandas") is None:
        return columns
    return _as_frame(columns, nw.Implementation.PANDAS)


def _as_frame(columns: pa.Table, backend: Any) -> Any:
    """A frame of a library. Where pandas would turn integers with gaps into floats that merge some of them, they
    get its own type of integers with gaps."""
    built = nw.from_arrow(columns, backend=backend).to_native()
    if backend.is_pandas_like():
        for name, column in zip(columns.column_names, columns.columns, strict=True):
            if column.null_count and pa.types.is_integer(column.type) and not has_exact_floats(column):
                dtype = "UInt64" if pa.types.is_unsigned_integer(column.type) else "Int64"
                built[name] = backend.to_native_namespace().array(column.to_pylist(), dtype=dtype)
    return built
