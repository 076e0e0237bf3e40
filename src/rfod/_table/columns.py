"""The modelled columns of a training table, and their place in a model file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import pyarrow as pa

from rfod._table.kinds import kind_of
from rfod._table.kinds.base import ORDERS, ColumnFormat
from rfod._table.values import Category, family, parse_arrow_type
from rfod.exceptions import ModelFormatError, require_intact
from rfod.params import KINDS

LeftOut = Literal["identifier", "text", "empty", "ignored"]


@dataclass(frozen=True)
class Column:
    """One modelled column, as the training table had it."""

    name: str
    kind: str
    arrow_type: str
    """`str` of the Arrow type in which values are given back."""
    categories: tuple[Category, ...] = ()
    """By falling frequency, ties by value; the code of a category is its position."""
    n_missing: int = 0
    n_distinct: int = 0
    from_text: bool = False
    """Text is read as this kind, or values as their text; at detection too. Also decimals of so many digits that only
    their text distinguishes them."""
    decimal: str = "."
    """Decimal sign of numbers in text."""
    order: str = ""
    """Of dates in text."""

    @property
    def is_categorical(self) -> bool:
        return kind_of(self.kind).is_categorical

    @property
    def constant(self) -> bool:
        return self.n_distinct <= 1

    @property
    def reading(self) -> ColumnFormat:
        """How its text is read."""
        return ColumnFormat(self.kind, self.decimal, self.order, self.arrow_type)


_COLUMN_TYPES = {"name": str, "kind": str, "arrow_type": str, "categories": list, "n_missing": int, "n_distinct": int}
_COLUMN_TYPES |= {"from_text": bool, "decimal": str, "order": str}
_SCHEMA_TYPES = {"columns": list, "left_out": dict, "names": list, "has_names": bool, "n_rows": int}


@dataclass(frozen=True)
class Schema:
    """All columns of a training table: the modelled ones in order, and why the others are left out."""

    columns: tuple[Column, ...]
    left_out: Mapping[str, LeftOut]
    names: tuple[str, ...]
    has_names: bool
    n_rows: int

    def to_json(self) -> dict[str, Any]:
        """Plain lists, dicts, numbers and text."""
        data = asdict(self)
        return data | {
            "columns": [column | {"categories": list(column["categories"])} for column in data["columns"]],
            "left_out": dict(self.left_out),
            "names": list(self.names),
        }

    @classmethod
    def from_json(cls, data: Any) -> Schema:
        """The inverse of `to_json`; `ModelFormatError` for anything that `to_json` cannot have written."""
        fields = checked_fields(data, _SCHEMA_TYPES, "schema")
        n_rows, left_out, names = fields["n_rows"], fields["left_out"], fields["names"]
        require_intact(2 <= n_rows < 2**62, f"the number of rows is {n_rows}")
        columns = tuple(_column_from_json(column, n_rows) for column in fields["columns"])
        unique = all(map(_is_text, names)) and len(set(names)) == len(names)
        require_intact(unique, "column names are not unique texts")
        known = all(reason in get_args(LeftOut) for reason in left_out.values())
        require_intact(known, "a column is left out for no known reason")
        modelled = {column.name for column in columns}
        require_intact(len(columns) >= 2, "fewer than two columns are modelled")
        require_intact(len(modelled) == len(columns) and not modelled & left_out.keys(), "a column is described twice")
        in_order = [name for name in names if name in modelled] == [column.name for column in columns]
        require_intact(in_order, "columns are in disorder")
        require_intact(
            [name for name in names if name not in modelled] == list(left_out), "columns and names do not agree"
        )
        return cls(columns, left_out, tuple(names), fields["has_names"], n_rows)


def _is_text(value: Any) -> bool:
    """Text that Arrow can hold: no lone surrogates."""
    return isinstance(value, str) and value.encode("utf-8", "ignore").decode() == value


def checked_fields(data: Any, types: dict[str, type], what: str) -> dict[str, Any]:
    """The dict itself, when it has exactly these fields of these types."""
    require_intact(
        isinstance(data, dict) and data.keys() == types.keys(), f"a {what} does not have the fields {sorted(types)}"
    )
    for name, expected in types.items():
        require_intact(type(data[name]) is expected, f"{name} of a {what} is not a {expected.__name__}")
    return dict(data)


def _column_from_json(data: Any, n_rows: int) -> Column:
    fields = checked_fields(data, _COLUMN_TYPES, "column")
    column = Column(**(fields | {"categories": tuple(fields["categories"])}))
    where = f"column {column.name!r}"
    require_intact(column.kind in KINDS, f"{where} is of the unknown kind {column.kind[:40]!r}")
    require_intact(column.decimal in (".", ",") and column.order in ("", *ORDERS), f"{where} has no known form of text")
    try:
        arrow_type = parse_arrow_type(column.arrow_type)
    except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise ModelFormatError(f"The model file is damaged: {where} has no known Arrow type.") from error
    kind, n_missing, n_distinct = kind_of(column.kind), column.n_missing, column.n_distinct
    require_intact(family(arrow_type) in kind.stored, f"{where} is {column.kind} of type {arrow_type}")
    require_intact(0 <= n_missing < n_rows, f"{where} has {n_missing} missing values of {n_rows}")
    require_intact(1 <= n_distinct <= n_rows - n_missing, f"{where} has {n_distinct} distinct values")
    if kind.is_categorical:
        _check_categories(fields["categories"], arrow_type, n_distinct, where)
    else:
        require_intact(not column.categories, f"{where} is {column.kind} and has categories")
    return column


def _check_categories(categories: list[Any], arrow_type: pa.DataType, n_distinct: int, where: str) -> None:
    require_intact(len(categories) == n_distinct, f"{where} has {len(categories)} categories")
    require_intact(len(set(map(type, categories))) == 1, f"{where} mixes categories")
    plain = all(_is_text(value) or isinstance(value, int | float) for value in categories)
    require_intact(plain and not {math.inf, -math.inf} & set(categories), f"{where} has odd categories")
    require_intact(len(set(categories)) == len(categories), f"{where} repeats a category")
    try:
        require_intact(pa.array(categories, arrow_type).to_pylist() == categories, f"{where} has odd categories")
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ModelFormatError(f"The model file is damaged: categories of {where} are no {arrow_type}.") from error
