"""What can go wrong, each also the built-in exception a caller would expect."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Iterable

_INNER = ("contextlib", "functools", "rfod", "sklearn")
"""Packages whose frames lie between a warning and the program that it is for."""


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


class DecisionsError(RFODError, ValueError):
    """A decisions file cannot be read or written, or a decision or its condition contradicts itself or the table."""


class EngineError(RFODError, RuntimeError):
    """The engine that runs the tasks cannot be reached, or has lost a task for good."""


class DecisionsWarning(UserWarning):
    """Decisions that do not apply to a table, and lines of a decisions file that do not count."""


class ColumnWarning(UserWarning):
    """Columns that are left out of the model, or used otherwise than a reader might think."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """A warning with the file and line of the program that called rfod, also by way of scikit-learn."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INNER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level if frame is not None else 2)


def require_intact(condition: bool, problem: str) -> None:
    """Raise `ModelFormatError` for a model file that does not meet a condition."""
    if not condition:
        raise ModelFormatError(f"The model file is damaged: {problem}.")


def counted(n: int, noun: str) -> str:
    """A number with its noun, as in 1 line and 1,000 lines."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def nearest_name(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The most similar name, letter case aside; None if none is similar enough."""
    by_lower = {known.lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), by_lower, 1, cutoff)
    return by_lower[near[0]] if near else None


def did_you_mean(name: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """A question that suggests the most similar name; "" if none is similar enough."""
    near = nearest_name(name, names, cutoff)
    return "" if near is None else f"did you mean {near!r}?"
