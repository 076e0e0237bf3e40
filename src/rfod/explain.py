"""Why rows and cells stand out: what `Detection.explain` and `Detection.patterns` give."""

from rfod._explain.cell import CellExplanation, RowExplanation
from rfod._explain.condition import Condition
from rfod._explain.patterns import Pattern

__all__ = ["CellExplanation", "Condition", "Pattern", "RowExplanation"]
