"""Wrong cells on a terminal, as JSON, and as the tables that `rfod scan` writes (docs/formats.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.text import Text

from rfod._cli.console import shown
from rfod._cli.findings import FINGERPRINT, cell_sentence, finding_json, place_fields, place_of, print_wrapped
from rfod._diff.findings import row_fingerprints
from rfod._evidence.decision import load_decision
from rfod._evidence.wrong_cells import WORTH_A_CHECK, WRONG, WrongCell
from rfod._findings.explanations import RowExplanation
from rfod._findings.suspects import SUSPECT_FIELDS, TableRegularity, by_pattern, suspect_arrays, suspect_patterns
from rfod._table.encode import one_line
from rfod.detection import Detection
from rfod.pipeline import ScannedSample

N_EXAMPLES = 3  # cells of a pattern on the terminal
N_CELLS = 3  # per row in the table of rows
N_RULES = 3  # that are named on the terminal, ...
MOST_EXCEPTIONS = {"sum": 0.05, "equal": 0.05, "contains": 0.02, "unique": 0.01, "order": 0.005}
"""Share of the rows that may break a rule of each kind for it to be named: numbers are in order by chance too."""
MOST_KEPT = 1_000  # cells of a table that is not held in memory


def scan_rows_schema(key_type: pa.DataType | None) -> pa.Schema:
    """One line per row of a scanned table."""
    answers = {"score": pa.float64(), "probability": pa.float64(), "flagged": pa.bool_(), "cells": pa.string()}
    return pa.schema([*place_fields(key_type), *(pa.field(*answer) for answer in answers.items()), FINGERPRINT])


def scan_cells_schema(key_type: pa.DataType | None) -> pa.Schema:
    """One line per cell that is wrong or worth a check."""
    return pa.schema([*place_fields(key_type), *SUSPECT_FIELDS, FINGERPRINT])


class CellFindings:
    """Cells of a scanned table by their probability, as JSON and on a terminal.

    `above` is the probability from which on cells are listed and written; by default those that are wrong are listed,
    and those worth a check are written too.
    """

    def __init__(self, columns: tuple[str, ...], above: float | None) -> None:
        self.columns = columns
        """Names of the judged columns."""
        self.listed_above = WRONG if above is None else above
        self.written_above = WORTH_A_CHECK if above is None else above
        self.n_rows = self.n_wrong = self.n_worth_a_check = self.n_listed = 0
        """Numbers of rows, of wrong cells, of those worth a check, and of cells to list."""

    @property
    def listed(self) -> Sequence[WrongCell]:
        """Cells that are listed, most probable first."""
        raise NotImplementedError

    @property
    def written(self) -> Sequence[WrongCell]:
        """Cells that are written, most probable first."""
        raise NotImplementedError

    def regularities(self) -> Sequence[TableRegularity]:
        """Rules that nearly all rows follow."""
        raise NotImplementedError

    def broken_rules(self) -> Sequence[str]:
        """Rules that few rows break, each with these rows: none where rows of a sample are known only."""
        return ()

    def place_json(self, cell: WrongCell) -> dict[str, Any]:
        """How the row of a cell is found again."""
        raise NotImplementedError

    def place_text(self, cell: WrongCell) -> str:
        """The same in words."""
        raise NotImplementedError

    def to_json(self, most: int, unusual: Sequence[RowExplanation]) -> dict[str, Any]:
        """The findings as plain values, at most so many cells."""
        cells = [
            self.place_json(cell) | {name: value for name, value in cell.to_json().items() if name != "row"}
            for cell in self.written[:most]
        ]
        return {
            "n_rows": self.n_rows,
            "n_columns": len(self.columns),
            "n_wrong": self.n_wrong,
            "n_worth_a_check": self.n_worth_a_check,
            "version": load_decision().version,
            "wrong_cells": cells,
            "patterns": [
                {"column": pattern.column, "what": pattern.what, "n_cells": pattern.n_findings}
                for pattern in suspect_patterns(self.listed)
            ],
            "regularities": [rule.to_json() for rule in self.regularities()],
            "unusual_rows": [finding_json(row) for row in unusual],
        }

    # ------------------------------------------------------------------------------------------------ on a terminal

    def print(self, console: Console, most: int, unusual: Sequence[RowExplanation], output: str | None) -> None:
        """Wrong cells by pattern, at most so many entries; how many are worth a check; the most unusual rows."""
        entries = by_pattern(self.listed)
        console.print(self._heading(), soft_wrap=True)
        for number, cells in enumerate(entries[:most], start=1):
            self._print_entry(console, number, cells)
        if len(entries) > most > 0:
            n_left = self.n_listed - sum(map(len, entries[:most]))
            console.print(Text(f"... and {n_left:,} more {_cells(n_left)}{_where(output)}"), soft_wrap=True)
        n = self.n_wrong + self.n_worth_a_check - self.n_listed
        if n > 0 and self.listed_above > WORTH_A_CHECK:
            them = "it" if n == 1 else "them"
            does = f"lists {them}" + (f", --cells -o FILE writes {them}" if self.written_above <= WORTH_A_CHECK else "")
            console.print(
                f"\n{n:,} {'more ' if self.n_listed else ''}{_cells(n)} {'is' if n == 1 else 'are'} "
                f"{'wrong or ' if self.listed_above > WRONG else ''}worth a check "
                f"(probability {WORTH_A_CHECK} to {self.listed_above:g}): --above {WORTH_A_CHECK} {does}.",
                soft_wrap=True,
            )
        rules = self.broken_rules() if most > 0 else ()
        if rules:
            console.print(Text("\nRules that nearly all rows follow", style="bold"), soft_wrap=True)
        for rule in rules:
            print_wrapped(console, "- ", Text(shown(rule)))
        if unusual:
            title = "The most unusual row" if len(unusual) == 1 else f"The {len(unusual):,} most unusual rows"
            heading = Text(f"\n{title} by score", style="bold") + Text(" (a ranking; unusual is not wrong)")
            console.print(heading, soft_wrap=True)
        for number, row in enumerate(unusual, start=1):
            cell = next((cell for cell in row.cells if cell.blamed), row.cells[0] if row.cells else None)
            place = Text(shown(place_of(row)))
            print_wrapped(console, f"{number}. ", place if cell is None else place + Text(": ") + cell_sentence(cell))

    def _heading(self) -> Text:
        n = self.n_listed
        counted = f"{n:,} {_cells(n)} {'is' if n == 1 else 'are'}" if n else "No cell is"
        called = " wrong" if self.listed_above >= WRONG else " wrong or worth a check"
        return Text(counted + called, style="bold") + Text(f" (probability {self.listed_above:g} and more)")

    def _print_entry(self, console: Console, number: int, cells: Sequence[WrongCell]) -> None:
        """One cell, or a pattern with its first cells."""
        start, first = f"{number}. ", cells[0]
        margin = " " * len(start)
        if len(cells) == 1:
            place = Text(f"{start}{shown(self.place_text(first))}, {shown(one_line(first.column))}: ", style="bold")
            console.print(place + _change(first), soft_wrap=True)
            print_wrapped(console, margin, Text(shown(first.because)))
            return
        counted = f"{start}{len(cells):,} cells: {one_line(first.column)} {first.sort}"
        console.print(Text(shown(counted), style="bold"), soft_wrap=True)
        for cell in cells[:N_EXAMPLES]:
            console.print(Text(f"{margin}{shown(self.place_text(cell))}: ") + _change(cell), soft_wrap=True)
            print_wrapped(console, f"{margin}  ", Text(shown(cell.because), style="dim"))
        if len(cells) > N_EXAMPLES:
            console.print(f"{margin}... and {len(cells) - N_EXAMPLES:,} more", soft_wrap=True)


class ScanFindings(CellFindings):
    """What a scan says of a table in memory: cells by their probability, and rows by their scores.

    Of the cells that are written, only the `most_written` most probable ones are looked at, where that is said.
    """

    def __init__(self, found: Detection, above: float | None, most_written: int | None = None) -> None:
        super().__init__(found.judged_columns, above)
        self.found, self._most_written = found, most_written
        self.n_rows = len(found)
        probability = found.cell_probability
        self.n_wrong = int(np.count_nonzero(probability >= WRONG))
        self.n_worth_a_check = int(np.count_nonzero(probability >= WORTH_A_CHECK)) - self.n_wrong
        self.n_listed = int(np.count_nonzero(probability >= self.listed_above))

    @cached_property
    def listed(self) -> list[WrongCell]:
        """Cells that are listed, most probable first."""
        return self.found.suspects(self.listed_above)

    @cached_property
    def written(self) -> list[WrongCell]:
        """Cells that are written, most probable first."""
        probabilities = self.found.probabilities
        return probabilities.describe(probabilities.above(self.written_above)[: self._most_written])

    @cached_property
    def _prints(self) -> dict[int, str]:
        """Fingerprints of the rows that have a cell to write."""
        rows = np.unique(np.array([cell.row for cell in self.written], dtype=np.intp))
        return dict(zip(rows.tolist(), row_fingerprints(self.found, rows), strict=True))

    def regularities(self) -> list[TableRegularity]:
        """Rules that nearly all rows of the table follow."""
        return self.found.regularities()

    def broken_rules(self) -> list[str]:
        """The first rules that few rows break, each with some of these rows. That values differ is a rule of
        identifiers only."""
        identifiers = self.found.judged.model.schema.left_out
        told = []
        for rule in self.regularities():
            is_meant = rule.kind != "unique" or rule.columns[0] in identifiers
            if is_meant and 0 < len(rule.exceptions) <= MOST_EXCEPTIONS[rule.kind] * rule.n_rows:
                places = [self.found.labels.place(row) for row in rule.exceptions[:N_EXAMPLES]]
                n_more = len(rule.exceptions) - len(places)
                told.append(f"{rule.sentence}; not in {', '.join(places)}{f' and {n_more:,} more' if n_more else ''}")
        return told[:N_RULES]

    def cells_table(self) -> pa.Table:
        """One line per cell."""
        cells, labels = self.written, self.found.labels
        columns = labels.columns(np.array([cell.row for cell in cells], dtype=np.intp))
        columns |= suspect_arrays(cells, self.found.probabilities.decision.version)
        columns["fingerprint"] = pa.array([self._prints[cell.row] for cell in cells], pa.string())
        return pa.table(columns, schema=scan_cells_schema(labels.key_type))

    def rows_table(self) -> pa.Table:
        """All rows, with the highest probability of their cells and those that are listed in words."""
        found = self.found
        words: dict[int, list[str]] = {}
        for cell in self.listed:
            instead = "" if cell.suggested is None else f" (suggested {cell.suggested})"
            words.setdefault(cell.row, []).append(f"{cell.column}: {_observed(cell)}{instead}")
        rows = range(len(found))
        columns = found.labels.columns(np.arange(len(found))) | {
            "score": pa.array(found.row_scores),
            "probability": pa.array(found.cell_probability.max(axis=1)),
            "flagged": pa.array([row in words for row in rows]),
            "cells": pa.array(["; ".join(words[row][:N_CELLS]) if row in words else None for row in rows], pa.string()),
            "fingerprint": pa.array(row_fingerprints(found, np.arange(len(found)))),
        }
        return pa.table(columns, schema=scan_rows_schema(found.labels.key_type))

    def place_json(self, cell: WrongCell) -> dict[str, Any]:
        """How the row of a cell is found again."""
        labels = self.found.labels
        line = None if labels.lines is None else int(labels.lines[cell.row])
        place: dict[str, Any] = {"row": cell.row + labels.first_row, "line": line}
        if labels.keys is not None:
            key = labels.keys[cell.row].as_py()
            place["key"] = key if isinstance(key, int | bool | None) else str(key)
        return place | {"fingerprint": self._prints[cell.row]}

    def place_text(self, cell: WrongCell) -> str:
        """The same in words."""
        return self.found.labels.place(cell.row)


class StreamedFindings(CellFindings):
    """What a scan says of a table that is judged batch by batch, by a model of a sample of it.

    Of the cells that are written, the `MOST_KEPT` most probable ones are kept to be listed.
    """

    def __init__(self, sample: ScannedSample, above: float | None) -> None:
        super().__init__(sample.judged_columns, above)
        self._regularities = sample.regularities
        self._kept: list[tuple[WrongCell, dict[str, Any], str]] = []

    def add(self, batch: ScanFindings) -> None:
        """Take in the findings of the next batch."""
        self.n_rows += batch.n_rows
        self.n_wrong += batch.n_wrong
        self.n_worth_a_check += batch.n_worth_a_check
        self.n_listed += batch.n_listed
        for cell in batch.written[:MOST_KEPT]:
            place = batch.place_json(cell)
            self._kept.append((replace(cell, row=place["row"]), place, batch.place_text(cell)))
        self._kept = sorted(self._kept, key=lambda kept: (-kept[0].probability, kept[0].row))[:MOST_KEPT]

    @property
    def written(self) -> list[WrongCell]:
        """The most probable ones of the cells that are written."""
        return [cell for cell, _, _ in self._kept]

    @property
    def listed(self) -> list[WrongCell]:
        """Those of them that are listed."""
        return [cell for cell in self.written if cell.probability >= self.listed_above]

    def regularities(self) -> Sequence[TableRegularity]:
        """Those of the sample."""
        return self._regularities

    def place_json(self, cell: WrongCell) -> dict[str, Any]:
        """How the row of a cell is found again."""
        return next(place for kept, place, _ in self._kept if kept is cell)

    def place_text(self, cell: WrongCell) -> str:
        """The same in words."""
        return next(text for kept, _, text in self._kept if kept is cell)


def _change(cell: WrongCell) -> Text:
    """What stands there, what to put in its place, and how likely it is wrong."""
    text = Text(shown(_observed(cell)), style="red")
    if cell.offered is not None:
        text = text + Text(" → ") + Text(shown(one_line(cell.offered)), style="green")
    return text + Text(f" ({cell.chances})")


def _observed(cell: WrongCell) -> str:
    return "missing" if cell.observed is None else one_line(cell.observed)


def _cells(n: int) -> str:
    return "cell" if n == 1 else "cells"


def _where(output: str | None) -> str:
    return f" in {shown(output)}" if output else "; --cells -o FILE writes all, --show N shows more"
