"""What can go wrong, each also the built-in exception a caller would expect."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RFODError(Exception):
    """Base of every error that rfod raises on purpose."""


class ParameterError(RFODError, ValueError):
    """A parameter has a value outside its range or choices."""


class SchemaError(RFODError, ValueError):
    """A table, or one of its columns, cannot be used as it is."""


class ColumnMismatchError(SchemaError):
    """The columns of a table are not the ones the model was fitted on."""


class ModelFormatError(RFODError, ValueError):
    """A file is not a model this version can read, or it is damaged."""


class ColumnWarning(UserWarning):
    """Columns that are left out of the model, or used otherwise than a reader might think."""


def did_you_mean(name: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """A question that suggests the most similar name, letter case aside; "" if none is similar enough."""
    by_lower = {known.lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), by_lower, 1, cutoff)
    return f"did you mean {by_lower[near[0]]!r}?" if near else ""
