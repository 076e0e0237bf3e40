"""What a report says of wrong cells, as plain data that JSON can hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.wrong_cells import WORTH_A_CHECK, WRONG, WrongCell
from rfod._findings.suspects import by_pattern
from rfod._views.distribution import LONGEST_SENTENCE, printable
from rfod.detection import Detection

Positions = NDArray[np.intp]
N_COLUMNS_NAMED = 3


@dataclass(frozen=True, eq=False)
class Suspects:
    """Cells that are wrong or worth a check, most probable first, at most `most` of them."""

    found: Detection
    hidden: Collection[str]
    most: int

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """(cells, 2): row and column."""
        return self.found.probabilities.above(WORTH_A_CHECK)

    @cached_property
    def cells(self) -> list[WrongCell]:
        """Those that the report holds."""
        return self.found.probabilities.describe(self.places[: self.most], self.hidden)

    @cached_property
    def n_wrong(self) -> int:
        """Of all, how many are called wrong."""
        return int(np.count_nonzero(self.found.cell_probability >= WRONG))

    @property
    def n_worth_a_check(self) -> int:
        """Of all, how many are not."""
        return len(self.places) - self.n_wrong

    @property
    def rows(self) -> Positions:
        """Their rows, each once, in the order of the cells."""
        return np.array(list(dict.fromkeys(cell.row for cell in self.cells)), dtype=np.intp)

    def counts(self) -> dict[str, int]:
        """Per column, how many of its cells are wrong or worth a check."""
        names = self.found.judged_columns
        return {names[c]: int(n) for c, n in enumerate(np.bincount(self.places[:, 1], minlength=len(names)))}

    def words(self) -> list[str]:
        """How many there are, and where, in sentences."""
        n, m, n_cells = self.n_wrong, self.n_worth_a_check, self.found.cell_probability.size
        wrong = "is wrong" if n == 1 else "are wrong"
        counted = f"{n:,} of {n_cells:,} cells {wrong}" if n else f"No cell of {n_cells:,} is wrong"
        more = f"{m:,} {'more ' if n else ''}{'is' if m == 1 else 'are'}" if m else "none is"
        sentences = [f"{counted} (probability {WRONG} and more); {more} worth a check ({WORTH_A_CHECK} to {WRONG})."]
        often = [(name, count) for name, count in Counter(self.counts()).most_common(N_COLUMNS_NAMED) if count > 1]
        if often:
            named = ", ".join(f"{name} ({count:,})" for name, count in often)
            sentences.append(f"Most of them are in {named}.")
        return sentences

    def to_json(self, place_of: dict[int, int]) -> dict[str, Any]:
        """The cells by property, and their patterns; `place_of` says where the report has each row."""
        number_of = {id(cell): number for number, cell in enumerate(self.cells)}
        groups = by_pattern(self.cells)

        def optional(text: str | None) -> str | None:
            return None if text is None else printable(text)

        return {
            "version": self.found.probabilities.decision.version,
            "n_wrong": self.n_wrong,
            "n_check": self.n_worth_a_check,
            "limit": WRONG,
            "patterns": [
                {
                    "sentence": printable(f"{group[0].column} {group[0].sort}", LONGEST_SENTENCE),
                    "example": printable(group[0].reason, LONGEST_SENTENCE),
                    "cells": [number_of[id(cell)] for cell in group],
                }
                for group in groups
            ],
            "finding": [place_of[cell.row] for cell in self.cells],
            "column": [printable(cell.column) for cell in self.cells],
            "observed": [optional(cell.observed) for cell in self.cells],
            "suggested": [optional(cell.suggested) for cell in self.cells],
            "probability": [float(f"{cell.probability:.4f}") for cell in self.cells],
            "repair": [
                None if cell.repair_probability is None else float(f"{cell.repair_probability:.4f}")
                for cell in self.cells
            ],
            "because": [printable(cell.because, LONGEST_SENTENCE) for cell in self.cells],
        }
