"""Repairs: which of the proposals for a wrong cell to take, and how likely it is the right value.

The probability of a repair is a learned sum of small trees over the evidence for a proposal, made by
benchmarks/decision/repairs.py and kept as plain arrays in repair.npz. The proposal with the highest one is suggested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA

from rfod._evidence.collect import Collected
from rfod._evidence.form import MARKS, marks_of
from rfod._evidence.inputs import CELL_INPUTS
from rfod._evidence.numbers import margin_inputs, residual_inputs
from rfod._evidence.profile import FACTS
from rfod._evidence.proposals import MORE_INPUTS, WAYS, ColumnProposals, Proposal
from rfod._evidence.texts import Floats, code_points
from rfod._forest.boosted import BoostedTrees

FIELDS = ("input", "limit", "left", "right", "starts")
OF_CELL = (
    *("is_number", "type_break", "encoding", "disguised_gap", "gap", "unit", "residual", "residual_tail", "tail"),
    *("vote_rival", "vote_dissent", "vote_gain", "determines_wrong", "determines_right", "fitness", "robust_fitness"),
    *FACTS,
)
"""Inputs of the decision that tell how far a proposal can be trusted."""
OF_PROPOSAL = ("odds", "row_rest", "determinant", "observed_rows", "observed_length", "n_proposals", "votes_other",
               "near_other", "rows", "distance", "relative_distance", "length_change", "shape_rows", "shape_gain",
               "residual_after", "tail_after")  # fmt: skip
"""
odds: of the cell being wrong; row_rest: of the most suspicious other cell of the row; determinant: of that among the
cells that vote; votes_other, near_other: the evidence for another proposal; rows: log of those that have the text;
distance: letters to change; shape_rows, shape_gain: log of the rows of its shape, and how many times more than before;
residual_after, tail_after: as for a cell that holds the text.
"""
REPAIR_INPUTS = (*(f"cell_{name}" for name in OF_CELL), *WAYS, *MORE_INPUTS, *OF_PROPOSAL)
NEVER_FALLING = frozenset(
    [
        *("odds", "near", "votes", "n_for", "sum", "unit", "encoding", "n_ways"),
        *("cell_vote_rival", "cell_unit", "cell_encoding"),
    ]
)
NEVER_RISING = frozenset(["cell_vote_dissent", "n_against", "vote_against", "determinant"])
REPAIRED_FROM = 0.1  # probability of being wrong from which on a cell may be repaired unasked
MOST_ODDS, NO_ODDS = 12.0, -12.0
MOST_DISTANCE = 20.0
_OF_CELL = [CELL_INPUTS.index(name) for name in OF_CELL]
_PLACE = {name: place for place, name in enumerate(REPAIR_INPUTS)}
_SHAPE = MARKS.index("shape")


@dataclass(frozen=True)
class Suggestion:
    """What to put in the place of a cell."""

    text: str
    probability: float
    """That it is the right value."""
    ways: tuple[str, ...]
    """Of WAYS, that lead to it."""


@dataclass(frozen=True, eq=False)
class Proposed:
    """The proposals for some cells of one column."""

    cell: NDArray[np.intp]
    """(proposals,): which of the cells each is for."""
    proposals: list[Proposal]
    inputs: NDArray[np.float32]
    """(proposals, REPAIR_INPUTS)."""


class Repairs:
    """Suggestions for the cells of a table, given how likely each cell is wrong, (rows, columns)."""

    def __init__(self, collected: Collected, probability: Floats) -> None:
        self._collected = collected
        self._columns: dict[int, ColumnProposals] = {}
        clipped = np.clip(probability, 1e-6, 1 - 1e-6)
        self._odds = np.log(clipped / (1 - clipped))

    def suggestions(self, cells: Sequence[tuple[int, int]]) -> list[Suggestion | None]:
        """For cells given by row and column, the best proposal; None where there is none."""
        found: list[Suggestion | None] = [None] * len(cells)
        by_column: dict[int, list[int]] = {}
        for place, (_, c) in enumerate(cells):
            by_column.setdefault(c, []).append(place)
        trees = load_trees()
        for c, places in by_column.items():
            proposed = self.proposed(c, [cells[place][0] for place in places])
            chance = trees.probability(proposed.inputs)
            for k in np.lexsort((-np.arange(len(chance)), chance)).tolist():  # the best comes last
                proposal = proposed.proposals[k]
                ways = tuple(way for way in WAYS if way in proposal.strength)
                found[places[proposed.cell[k]]] = Suggestion(proposal.text, float(chance[k]), ways)
        return found

    def proposed(self, c: int, rows: Sequence[int]) -> Proposed:
        """All proposals for cells of a column."""
        if c not in self._columns:
            self._columns[c] = ColumnProposals(self._collected, c)
        column = self._columns[c]
        wanted = np.array(rows, dtype=np.intp)
        distinct = np.unique(wanted)
        cells = self._collected.inputs.cells(c, distinct)
        column.prepare(distinct.tolist())
        made = {row: column.of(row, cells.take(np.array([row], dtype=np.intp))) for row in distinct.tolist()}
        proposals = [(place, proposal) for place, row in enumerate(rows) for proposal in made[int(row)]]
        place = np.array([place for place, _ in proposals], dtype=np.intp)
        inputs = np.zeros((len(proposals), len(REPAIR_INPUTS)), dtype=np.float32)
        at = np.searchsorted(distinct, wanted[place])
        inputs[:, : len(_OF_CELL)] = cells.values[at][:, _OF_CELL]
        for k, (_, proposal) in enumerate(proposals):
            for name, strength in proposal.strength.items():
                inputs[k, _PLACE[name]] = strength
        found = [proposal for _, proposal in proposals]
        if found:
            for name, values in self._of_proposals(column, found, wanted[place]).items():
                inputs[:, _PLACE[name]] = values
        return Proposed(place, found, np.nan_to_num(np.clip(inputs, -6e4, 6e4)))

    def _of_proposals(
        self, column: ColumnProposals, proposals: Sequence[Proposal], rows: NDArray[np.intp]
    ) -> dict[str, Floats]:
        """The inputs OF_PROPOSAL."""
        c, known = column.c, column.known
        texts = [proposal.text for proposal in proposals]
        codes = column.column.codes[rows]
        observed = ["" if code < 0 else column.column.values[code] for code in codes.tolist()]
        own_rows = np.append(column.column.counts, 0)[codes]
        lengths = np.array([len(text) for text in observed], dtype=np.float64)
        distance = np.array(
            [OSA.distance(a, b, score_cutoff=int(MOST_DISTANCE)) for a, b in zip(observed, texts, strict=True)],
            dtype=np.float64,
        )
        shapes = known.form.counts[_SHAPE]
        shape_rows, own_shape = (
            np.log1p(shapes.find(marks_of(code_points(given))[_SHAPE][:, 0]).astype(np.float64))
            for given in (texts, observed)
        )
        residual, tail = self._after(column, texts, rows)
        odds = np.clip(self._odds[rows], NO_ODDS, MOST_ODDS)
        others = odds.copy()
        others[:, c] = NO_ODDS
        by_row: dict[int, list[Proposal]] = {}
        for row, proposal in zip(rows.tolist(), proposals, strict=True):
            by_row.setdefault(row, []).append(proposal)

        def of_others(way: str) -> Floats:
            best = [
                max((other.strength.get(way, 0.0) for other in by_row[row] if other is not proposal), default=0.0)
                for row, proposal in zip(rows.tolist(), proposals, strict=True)
            ]
            return np.array(best)

        return {
            "odds": odds[:, c],
            "row_rest": others.max(axis=1),
            "determinant": self._determinant(c, rows),
            "observed_rows": np.log1p(own_rows),
            "observed_length": lengths,
            "n_proposals": np.array([len(by_row[row]) for row in rows.tolist()], dtype=np.float64),
            "votes_other": of_others("votes"),
            "near_other": of_others("near"),
            "rows": np.log1p(np.array([column.domain.rows.get(text, 0) for text in texts], dtype=np.float64)),
            "distance": distance,
            "relative_distance": distance / np.maximum(lengths, 1.0),
            "length_change": np.array([len(text) for text in texts]) - lengths,
            "shape_rows": shape_rows,
            "shape_gain": shape_rows - own_shape,
            "residual_after": residual,
            "tail_after": tail,
        }

    def _after(self, column: ColumnProposals, texts: Sequence[str], rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """(proposals,): residual and tail of the cells if they held the texts; -1 for what is no number."""
        residual, tail = np.full(len(texts), -1.0), np.full(len(texts), -1.0)
        if column.numbers is None:
            return residual, tail
        read = [column.style.read(text) for text in texts]
        values = np.array([np.nan if value is None else float(value) for value in read])
        is_number = np.isfinite(values)
        known = column.known
        with np.errstate(all="ignore"):
            if known.numbers is not None:
                tail[is_number] = margin_inputs(known.numbers, values, True)[is_number, 0]
            cells = self._collected.judged.cells
            if (
                known.residuals is not None
                and column.model_column is not None
                and column.model_column.kind == "numeric"
            ):
                expected, spread = cells.expected[column.j][rows], cells.spread_or_share[rows, column.j]
                found = residual_inputs(known.residuals, values, expected, spread, is_own=True)
                residual[is_number] = found[is_number, 0]
        return residual, tail

    def _determinant(self, c: int, rows: NDArray[np.intp]) -> Floats:
        """(proposals,): log-odds of the most suspicious cell among those whose columns determine this one."""
        columns = sorted({j for determinant in self._collected.profile.determinants[c] for j in determinant.columns})
        if not columns:
            return np.full(len(rows), NO_ODDS)
        return np.asarray(np.clip(self._odds[rows][:, columns], NO_ODDS, MOST_ODDS).max(axis=1))


@cache
def load_trees() -> BoostedTrees:
    """The learned trees that come with the package."""
    with files("rfod._evidence").joinpath("repair.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return BoostedTrees(**{name: arrays[name] for name in FIELDS}, base=float(arrays["base"]))
