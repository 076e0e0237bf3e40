"""Which rows and which cells of a table are wrong, and what should they have been?"""

from importlib.metadata import version

from rfod._check.selfcheck import SelfCheck
from rfod._check.trials import self_check
from rfod._report.html import write_report
from rfod.detection import Detection
from rfod.detector import RFOD, load, scan
from rfod.exceptions import (
    ColumnMismatchError,
    ColumnWarning,
    ModelFormatError,
    ParameterError,
    RFODError,
    SchemaError,
)
from rfod.explain import CellExplanation, Condition, Pattern, RowExplanation

__version__ = version("rfod")

__all__ = [
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
