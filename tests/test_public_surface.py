"""The public names, their documentation and the cost of importing them."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from importlib.metadata import version

import pytest

import rfod

# Adding a name is a promise; removing one breaks somebody's program. Both need a line in CHANGELOG.md.
PUBLIC_NAMES = [
    "RFOD",
    "CellExplanation",
    "ColumnMismatchError",
    "ColumnWarning",
    "Condition",
    "Detection",
    "ModelFormatError",
    "ParameterError",
    "Pattern",
    "RFODError",
    "RowExplanation",
    "SchemaError",
    "SelfCheck",
    "__version__",
    "load",
    "scan",
    "self_check",
    "write_report",
]

# Needed by some users of the package only, and slow to import.
OPTIONAL_LIBRARIES = {"jinja2", "pandas", "polars", "plotly", "matplotlib", "typer", "rich"}


def public_callables() -> Iterator[tuple[str, object]]:
    """Every public class and function, and the methods and properties that our classes define themselves."""
    for name in rfod.__all__:
        thing = getattr(rfod, name)
        if not callable(thing):
            continue
        yield name, thing
        if inspect.isclass(thing):
            ours = [parent for parent in thing.__mro__ if parent.__module__.startswith("rfod")]
            for attribute in sorted({key for parent in ours for key in vars(parent)}):
                member = inspect.getattr_static(thing, attribute)
                if not attribute.startswith("_") and (
                    inspect.isroutine(member) or isinstance(member, property | cached_property)
                ):
                    yield f"{name}.{attribute}", member


def signature_owner(thing: object) -> object:
    """The function whose signature a caller sees."""
    if isinstance(thing, property):
        return thing.fget
    if isinstance(thing, cached_property):
        return thing.func
    if isinstance(thing, classmethod | staticmethod):
        return thing.__func__
    return thing.__init__ if inspect.isclass(thing) else thing


def test_public_names() -> None:
    assert sorted(rfod.__all__) == sorted(PUBLIC_NAMES)
    assert all(hasattr(rfod, name) for name in PUBLIC_NAMES)


def test_version_is_that_of_the_distribution() -> None:
    assert rfod.__version__ == version("rfod")


@pytest.mark.parametrize(("name", "thing"), list(public_callables()))
def test_is_documented(name: str, thing: object) -> None:
    own = thing.__doc__ if not inspect.isclass(thing) else vars(thing).get("__doc__")
    assert own, f"{name} has no docstring"
    assert own.strip()


@pytest.mark.parametrize(("name", "thing"), list(public_callables()))
def test_is_typed(name: str, thing: object) -> None:
    owner = signature_owner(thing)
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return
    signature = inspect.signature(owner)
    untyped = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.annotation is parameter.empty and parameter.name not in {"self", "cls"}
    ]
    assert not untyped, f"{name} lacks types for {untyped}"
    assert signature.return_annotation is not signature.empty, f"{name} lacks a return type"


def test_import_is_light() -> None:
    # scikit-learn imports pandas by itself where it is installed; only what comes on top is ours.
    program = (
        "import json, sys, sklearn.base, sklearn.utils.validation; before = set(sys.modules); import rfod; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert OPTIONAL_LIBRARIES.isdisjoint(json.loads(answer.stdout))
