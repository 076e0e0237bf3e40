"""The modelled columns of a training table, and their place in a model file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, get_args

import pyarrow as pa

from rfod._table.guess import LeftOut
from rfod._table.values import Category, family, parse_arrow_type
from rfod.exceptions import ModelFormatError
from rfod.params import KINDS, Kind

NATURAL_FAMILIES: dict[Kind, tuple[str, ...]] = {  # taken as the kind without being told
    "numeric": ("number", "boolean"),
    "categorical": ("number", "text", "boolean"),
    "boolean": ("boolean", "number"),
    "datetime": ("datetime",),
    "time": ("time",),
    "duration": ("duration",),
}
STORED_FAMILY: dict[Kind, str] = {"numeric": "number", "boolean": "boolean"}  # of their natural families


@dataclass(frozen=True)
class Column:
    """One modelled column, as the training table had it."""

    name: str
    kind: Kind
    arrow_type: str
    """`str` of the Arrow type in which values are given back."""
    categories: tuple[Category, ...] = ()
    """By falling frequency, ties by value; the code of a category is its position."""
    n_missing: int = 0
    n_distinct: int = 0
    from_text: bool = False
    """Text is read as this kind, or values as their text, because the caller says so; at detection too. Also decimals
    of so many digits that only their text tells them apart."""

    @property
    def is_categorical(self) -> bool:
        return self.kind in ("categorical", "boolean")

    @property
    def constant(self) -> bool:
        return self.n_distinct <= 1


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
        fields = _fields(
            data, {"columns": list, "left_out": dict, "names": list, "has_names": bool, "n_rows": int}, "schema"
        )
        n_rows = fields["n_rows"]
        _require(2 <= n_rows < 2**62, f"the number of rows is {n_rows}")
        columns = tuple(_column_from_json(column, n_rows) for column in fields["columns"])
        left_out, names = fields["left_out"], fields["names"]
        _require(
            all(_is_text(name) for name in names) and len(set(names)) == len(names), "column names are not unique texts"
        )
        _require(
            all(reason in get_args(LeftOut) for reason in left_out.values()), "a column is left out for no known reason"
        )
        modelled = {column.name for column in columns}
        _require(len(columns) >= 2, "fewer than two columns are modelled")
        _require(len(modelled) == len(columns) and not modelled & left_out.keys(), "a column is described twice")
        _require(
            [name for name in names if name in modelled] == [column.name for column in columns],
            "columns are in disorder",
        )
        _require([name for name in names if name not in modelled] == list(left_out), "columns and names do not agree")
        return cls(columns, left_out, tuple(names), fields["has_names"], n_rows)


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise ModelFormatError(f"The model's schema is damaged: {problem}.")


def _is_text(value: Any) -> bool:
    """Text that Arrow can hold: no lone surrogates."""
    return isinstance(value, str) and value.encode("utf-8", "ignore").decode() == value


def _fields(data: Any, types: dict[str, type], what: str) -> dict[str, Any]:
    """The dict itself, when it has exactly these fields of these types."""
    _require(
        isinstance(data, dict) and data.keys() == types.keys(), f"a {what} does not have the fields {sorted(types)}"
    )
    for name, expected in types.items():
        _require(type(data[name]) is expected, f"{name} of a {what} is not a {expected.__name__}")
    return dict(data)


def _column_from_json(data: Any, n_rows: int) -> Column:
    types = {"name": str, "kind": str, "arrow_type": str, "categories": list, "n_missing": int, "n_distinct": int}
    fields = _fields(data, types | {"from_text": bool}, "column")
    name, kind, categories = fields["name"], fields["kind"], fields["categories"]
    _require(kind in KINDS, f"column {name!r} is of the unknown kind {kind[:40]!r}")
    try:
        arrow_type = parse_arrow_type(fields["arrow_type"])
    except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise ModelFormatError(f"The model's schema is damaged: column {name!r} has no known Arrow type.") from error
    stored = (STORED_FAMILY[kind],) if kind in STORED_FAMILY else NATURAL_FAMILIES[kind]
    _require(family(arrow_type) in stored, f"column {name!r} is {kind} of type {arrow_type}")
    _require(0 <= fields["n_missing"] < n_rows, f"column {name!r} has {fields['n_missing']} missing values of {n_rows}")
    n_present = n_rows - fields["n_missing"]
    _require(1 <= fields["n_distinct"] <= n_present, f"column {name!r} has {fields['n_distinct']} distinct values")
    if kind in ("categorical", "boolean"):
        _require(len(categories) == fields["n_distinct"], f"column {name!r} has {len(categories)} categories")
        _require(len(set(map(type, categories))) == 1, f"column {name!r} mixes categories")
        _require(
            all(isinstance(value, str | int | float) for value in categories), f"column {name!r} has odd categories"
        )
        _require(
            all(_is_text(value) for value in categories if isinstance(value, str)),
            f"column {name!r} has odd categories",
        )
        _require(
            not any(value in (math.inf, -math.inf) for value in categories), f"column {name!r} has infinite categories"
        )
        _require(len(set(categories)) == len(categories), f"column {name!r} repeats a category")
        try:
            _require(pa.array(categories, arrow_type).to_pylist() == categories, f"column {name!r} has odd categories")
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise ModelFormatError(
                f"The model's schema is damaged: categories of {name!r} are no {arrow_type}."
            ) from error
    else:
        _require(not categories, f"column {name!r} is {kind} and has categories")
    return Column(**(fields | {"categories": tuple(categories)}))
