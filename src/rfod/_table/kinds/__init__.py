"""What columns hold: one class per kind, registered in `rfod.params.KINDS`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from rfod._table.kinds.base import ColumnFormat, ColumnKind, TextSample
from rfod._table.values import Family
from rfod.params import KINDS

NATURAL_KIND: dict[Family, str] = {
    "number": "numeric",
    "text": "categorical",
    "boolean": "boolean",
    "datetime": "datetime",
    "time": "time",
    "duration": "duration",
}
"""What values of an Arrow type are without further knowledge."""


@cache
def kind_of(name: str) -> ColumnKind:
    """The kind of this name."""
    module = import_module(f"rfod._table.kinds.{KINDS[name]}")
    kinds: tuple[ColumnKind, ...] = module.KINDS
    return next(kind for kind in kinds if kind.name == name)


def find_reading(sample: TextSample) -> ColumnFormat | None:
    """How a column of text is read, as the caller says or as what nearly all of its values are; None if as text."""
    given = "datetime" if sample.order else sample.given
    found = given or next((name for name in KINDS if kind_of(name).recognises(sample)), None)
    return None if found is None else kind_of(found).reading(sample)
