"""Why rows and cells stand out: what `Detection.explain` and `Detection.patterns` give."""

from rfod._findings.conditions import Condition
from rfod._findings.explanations import CellExplanation, RowExplanation
from rfod._findings.patterns import Pattern

__all__ = ["CellExplanation", "Condition", "Pattern", "RowExplanation"]
