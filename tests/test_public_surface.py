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
    "ColumnChange",
    "ColumnMismatchError",
    "ColumnWarning",
    "Condition",
    "Decision",
    "Decisions",
    "DecisionsError",
    "DecisionsWarning",
    "Detection",
    "FindingChange",
    "ModelFormatError",
    "ParameterError",
    "Pattern",
    "RFODError",
    "RowExplanation",
    "SchemaError",
    "SelfCheck",
    "TableDiff",
    "TableRegularity",
    "WrongCell",
    "__version__",
    "diff",
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


def modules_after(program: str) -> set[str]:
    """What is loaded in a fresh interpreter after a program has run."""
    program = f"import json, sys\n{program}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(answer.stderr.splitlines()[-1]))


def test_import_loads_nothing_else() -> None:
    loaded = {name.partition(".")[0] for name in modules_after("import rfod") - modules_after("")}
    assert not loaded & (OPTIONAL_LIBRARIES | {"sklearn", "scipy", "numba", "numpy", "pyarrow", "joblib"})


def test_only_the_estimator_needs_scikit_learn() -> None:
    program = """
import rfod, pyarrow as pa
table = pa.table({"a": [1.0, 2.0, 3.0] * 20, "b": ["x", "y", "z"] * 20})
found = rfod.scan(table, n_estimators=3)
found.explain(0)
import rfod.figures
"""
    loaded = modules_after(program)
    assert not {"sklearn", "scipy.stats", "plotly"} & loaded  # pandas is pyarrow's choice, where it is installed
    assert "sklearn" in modules_after("import rfod; rfod.RFOD")


def test_the_program_loads_no_library_for_its_help() -> None:
    program = """
import sys
sys.argv = ["rfod", "scan", "--help"]
from rfod._cli.app import main
try:
    main()
except SystemExit:
    pass
"""
    assert not {"sklearn", "scipy", "numba", "numpy", "pyarrow", "narwhals", "jinja2"} & modules_after(program)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'rfod' has no attribute 'scam'"):
        rfod.scam  # noqa: B018
    assert set(rfod.__all__) <= set(dir(rfod))
