"""Which rows and which cells of a table are wrong, and what should they have been?"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rfod._check.selfcheck import SelfCheck, self_check
    from rfod._decisions.decision import Decision
    from rfod._decisions.decisions import Decisions
    from rfod._diff.columns import ColumnChange
    from rfod._diff.diff import TableDiff, diff
    from rfod._diff.findings import FindingChange
    from rfod._evidence.wrong_cells import WrongCell
    from rfod._findings.conditions import Condition
    from rfod._findings.explanations import CellExplanation, RowExplanation
    from rfod._findings.patterns import Pattern
    from rfod._findings.suspects import TableRegularity
    from rfod._views.page import write_report
    from rfod.detection import Detection
    from rfod.detector import RFOD, load
    from rfod.exceptions import (
        ColumnMismatchError,
        ColumnWarning,
        DecisionsError,
        DecisionsWarning,
        ModelFormatError,
        ParameterError,
        RFODError,
        SchemaError,
    )
    from rfod.pipeline import scan

    __version__: str

__all__ = [
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

# Where each public name lives. A name is imported when it is first used, so that `import rfod` takes no time.
_MODULES = {
    "rfod._check.selfcheck": ("SelfCheck", "self_check"),
    "rfod._decisions.decision": ("Decision",),
    "rfod._decisions.decisions": ("Decisions",),
    "rfod._diff.columns": ("ColumnChange",),
    "rfod._diff.diff": ("TableDiff", "diff"),
    "rfod._diff.findings": ("FindingChange",),
    "rfod._evidence.wrong_cells": ("WrongCell",),
    "rfod._findings.conditions": ("Condition",),
    "rfod._findings.explanations": ("CellExplanation", "RowExplanation"),
    "rfod._findings.patterns": ("Pattern",),
    "rfod._findings.suspects": ("TableRegularity",),
    "rfod._views.page": ("write_report",),
    "rfod.detection": ("Detection",),
    "rfod.detector": ("RFOD", "load"),
    "rfod.exceptions": (
        "ColumnMismatchError",
        "ColumnWarning",
        "DecisionsError",
        "DecisionsWarning",
        "ModelFormatError",
        "ParameterError",
        "RFODError",
        "SchemaError",
    ),
    "rfod.pipeline": ("scan",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("rfod")
    elif name in _MODULE_OF:
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    elif name in ("distributed", "exceptions", "figures", "spark"):
        value = importlib.import_module(f"rfod.{name}")
    else:
        raise AttributeError(f"module 'rfod' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
