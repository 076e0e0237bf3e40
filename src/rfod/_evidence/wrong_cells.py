"""Wrong cells: the probability of every cell of a table, and for those that are reported a suggestion and a reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._decisions.settled import shifted
from rfod._evidence.collect import Collected, collect
from rfod._evidence.context import Suspicion, column_order
from rfod._evidence.decision import LearnedDecision, load_decision, screened_rows
from rfod._evidence.inputs import GROUPS, SMALL_TABLE, ColumnInputs, group_of
from rfod._evidence.proposals import OF_OTHER_COLUMNS
from rfod._evidence.reasons import Reason, reasons_of
from rfod._evidence.regularities import Regularity
from rfod._evidence.repair import Repairs, Suggestion
from rfod._evidence.texts import Floats
from rfod._model.executor import Threads
from rfod._model.judged import JudgedTable
from rfod._table.encode import one_line
from rfod._table.table import Table
from rfod.params import SURE

WRONG, WORTH_A_CHECK = 0.9, 0.5
"""From which probability on a cell is called wrong, and worth a check."""
WORTH_OFFERING = 0.2  # probability that a suggestion is right, for it to be shown in sentences
MIN_REASON_SHARE = 0.25  # of what the strongest evidence adds to the log-odds, for another to be named beside it
MIN_REASON_ODDS = 0.3  # log-odds that the strongest evidence counts as at least
MAX_REASONS = 2  # of a sentence; `evidence` names all
HIDDEN = "hidden"
Order = NDArray[np.float32]
"""(rows, ORDER_INPUTS) of a column."""
MOST_AT_ONCE = 1_000_000  # cells whose inputs several threads make at the same time: about 500 bytes each


@dataclass(frozen=True)
class WrongCell:
    """A cell that is probably wrong."""

    row: int
    """Position in the table."""
    column: str
    observed: str | None
    """As it was written; None for a gap."""
    suggested: str | None
    """What to put in its place; None where nothing can be said."""
    probability: float
    kind: str
    """The strongest evidence: "spelling", "form", "votes", "forest", "margin" or "regularities"."""
    evidence: tuple[str, ...]
    """All evidence that counts, strongest first."""
    reason: str
    """One sentence, with the counts behind it."""
    sort: str
    """In which way it is wrong, after the name of its column: "is not a number". Cells of one pattern have one sort."""
    repair_probability: float | None = None
    """That what is suggested is the right value; None where nothing is."""

    @property
    def sentence(self) -> str:
        """The reason with what to put in the place of the cell, and how likely both are."""
        instead = "" if self.offered is None else f"; suggested '{one_line(self.offered)}'"
        return f"{self.reason}{instead} ({self.chances})"

    @property
    def offered(self) -> str | None:
        """What is suggested, unless it is hardly likely to be right."""
        return self.suggested if (self.repair_probability or 0.0) >= WORTH_OFFERING else None

    @property
    def chances(self) -> str:
        """How likely the cell is wrong, and what is offered right, in words. The two are estimated apart: a sure
        suggestion has no number that may be larger."""
        words, right = f"wrong {probability_text(self.probability)}", self.repair_probability or 0.0
        if self.offered is None:
            return words
        return f"{words}, {'sure suggestion' if right >= SURE else f'suggestion {probability_text(right)}'}"

    @property
    def because(self) -> str:
        """The reason without the column and what stands there."""
        return self.reason.removeprefix(f"{_start(self.column, self.observed)}: ")

    @property
    def is_wrong(self) -> bool:
        """Whether it is called wrong, rather than worth a check."""
        return self.probability >= WRONG

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return vars(self) | {"evidence": list(self.evidence)}

    def __str__(self) -> str:
        return self.sentence


class CellProbabilities:
    """How likely each cell of a judged table is wrong. Computed when first wanted, once.

    `decision` is that of the package unless another is given, as benchmarks do for tables it was learned from.
    """

    def __init__(self, judged: JudgedTable, table: Table, *, decision: LearnedDecision | None = None) -> None:
        self._judged, self._table, self._given = judged, table, decision
        self._orders: dict[int, Order] = {}

    @cached_property
    def decision(self) -> LearnedDecision:
        """The learned decision."""
        return load_decision() if self._given is None else self._given

    @cached_property
    def collected(self) -> Collected:
        """Evidence on all cells."""
        return collect(self._judged, self._table)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns whose cells are judged, modelled or not."""
        return tuple(column.name for column in self.collected.written.columns)

    @property
    def threads(self) -> Threads:
        """As many as the caller wants, or fewer for long columns: each thread holds the inputs of one."""
        wanted = Threads(self._judged.n_jobs).n_workers
        return Threads(max(1, min(wanted, MOST_AT_ONCE // max(1, len(self._judged)))))

    @cached_property
    def first(self) -> Floats:
        """(columns, rows): probability from the row and the profile alone."""
        inputs = self.collected.inputs
        found = np.empty((len(self.names), len(self._judged)))
        inputs.prepare()
        handles = [self.collected, self._judged.is_own, self.decision]
        results = self.threads.map(_judge_column, range(len(found)), handles)
        for c, (chance, screened, order) in enumerate(results):
            if order is not None and found.size <= SMALL_TABLE:
                self._orders[c] = order
            outcome = self._judged.settled.outcomes.get(self.names[c])
            found[c] = chance if outcome is None else np.where(np.isnan(outcome), chance, outcome)
            inputs.keep(c, screened)
        return found

    @cached_property
    def probability(self) -> Floats:
        """(rows, columns): how likely each cell is wrong."""
        if not self._judged.is_own:
            return np.stack([self._as_decided(c, chance) for c, chance in enumerate(self.first)], axis=1)
        first = self.first
        found = np.empty_like(first)
        handles = [self.collected, Suspicion(first), first, self._orders, self.decision]
        results = self.threads.map(_judge_in_context, range(len(first)), handles)
        for c, chance in enumerate(results):
            found[c] = self._as_decided(c, chance)
        return found.T

    def _as_decided(self, c: int, chance: Floats) -> Floats:
        """Probabilities of a column by what a person has decided: 0 for decided cells, the others shifted by them."""
        settled, name = self._judged.settled, self.names[c]
        chance = shifted(chance, settled.shifts.get(name, 0.0))
        outcome = settled.outcomes.get(name)
        return chance if outcome is None else np.where(np.isnan(outcome), chance, 0.0)

    def broken(self, rule: Regularity) -> NDArray[np.bool_]:
        """(rows,): which rows break a regularity of the training table."""
        return self.collected.inputs.broken(rule)

    def above(self, least: float) -> NDArray[np.intp]:
        """(cells, 2): row and column of the cells of at least this probability, most probable first."""
        rows, columns = np.nonzero(self.probability >= least)
        order = np.lexsort((columns, rows, -self.probability[rows, columns]))
        return np.stack([rows[order], columns[order]], axis=1)

    def modelled(self, least: float) -> NDArray[np.bool_]:
        """(rows, modelled columns): which cells have at least this probability."""
        place = {name: c for c, name in enumerate(self.names)}
        found = np.zeros((len(self._judged), len(self._judged.names)), dtype=np.bool_)
        for j, name in enumerate(self._judged.names):
            if name in place:
                found[:, j] = self.probability[:, place[name]] >= least
        return found

    @cached_property
    def repairs(self) -> Repairs:
        """What to put in the place of cells."""
        return Repairs(self.collected, self.probability)

    def suggestions(self, cells: Sequence[tuple[int, int]]) -> list[Suggestion | None]:
        """What to put in the place of cells, given by row and column; None where nothing can be said."""
        return self.repairs.suggestions(cells)

    def describe(self, cells: Iterable[Sequence[int]], hidden: Collection[str] = ()) -> list[WrongCell]:
        """Cells, given by row and column, with their reasons; values of `hidden` columns are not told."""
        wanted = [(int(row), int(column)) for row, column in cells]
        by_column = sorted(range(len(wanted)), key=lambda place: wanted[place][1])  # inputs are made by column
        suggested = self.suggestions(wanted)
        found = {place: self._describe(*wanted[place], suggested[place], hidden) for place in by_column}
        return [found[place] for place in range(len(wanted))]

    def _describe(self, row: int, c: int, instead: Suggestion | None, hidden: Collection[str]) -> WrongCell:
        column = self.collected.written.columns[c]
        code = int(column.codes[row])
        if instead is not None and hidden and self._tells_hidden(row, instead, hidden):
            instead = None
        groups = self._weighed_groups(row, c)
        suggested = None if instead is None else instead.text
        reasons = reasons_of(self.collected, self._judged, row, c, groups, hidden, suggested)
        found = WrongCell(
            row=row,
            column=column.name,
            observed=None if code < 0 else column.values[code],
            suggested=suggested,
            probability=float(self.probability[row, c]),
            kind=reasons[0].group,
            evidence=tuple(reason.group for reason in reasons),
            reason=_sentence(column.name, None if code < 0 else column.values[code], reasons, suggested),
            sort=reasons[0].sort or "does not fit the other cells",
            repair_probability=None if instead is None else instead.probability,
        )
        if column.name not in hidden:
            return found
        sort = "is not what was expected"
        reason = f"{one_line(column.name)} {sort}"
        return replace(found, observed=HIDDEN, suggested=None, repair_probability=None, reason=reason, sort=sort)

    def _tells_hidden(self, row: int, instead: Suggestion, hidden: Collection[str]) -> bool:
        """Whether a suggestion is a value of a hidden column of the row, or computed from other columns."""
        columns = [column for column in self.collected.written.columns if column.name in hidden]
        values = {column.values[column.codes[row]] for column in columns if column.codes[row] >= 0}
        return instead.text in values or not OF_OTHER_COLUMNS.isdisjoint(instead.ways)

    def _weighed_groups(self, row: int, c: int) -> list[str]:
        """The groups of evidence that count: how far the log-odds fall without the inputs of a group."""
        own = self.collected.inputs.cell(c, row).values[0]
        places = group_of()
        without = np.repeat(own[None], 1 + len(GROUPS), axis=0)
        for number, members in enumerate(places.values()):
            without[number + 1, members] = 0.0
        odds = self.decision.cell.log_odds(without)
        falls = {group: float(odds[0] - odds[number + 1]) for number, group in enumerate(places) if group != "facts"}
        order = sorted(falls, key=lambda group: -falls[group])
        strongest = max(falls[order[0]], MIN_REASON_ODDS)
        return [group for group in order if falls[group] >= MIN_REASON_SHARE * strongest] or order[:1]


def _judge_column(
    c: int, collected: Collected, is_own: bool, decision: LearnedDecision
) -> tuple[Floats, ColumnInputs, Order | None]:
    """First probabilities of a column, its cells that are looked at further, and what the order of rows says."""
    made = collected.inputs.make(c)
    chance = decision.first(made.values)
    order = column_order(collected.written, c) if is_own else None
    return chance, made.take(screened_rows(chance, order)), order


def _judge_in_context(
    c: int,
    collected: Collected,
    suspicion: Suspicion,
    first: Floats,
    orders: Mapping[int, Order],
    decision: LearnedDecision,
) -> Floats:
    """Probabilities of a column with the context of the table."""
    order = orders[c] if c in orders else column_order(collected.written, c)
    context = suspicion.inputs(c, collected.written.columns[c].codes)
    return decision.in_context(first[c], order, context, lambda rows: collected.inputs.cells(c, rows).values)


def judge_cells(
    judged: JudgedTable, rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> tuple[Floats, list[str | None]]:
    """(cells,): how likely cells of new rows are wrong, given by row and modelled column; and for those worth a check
    what to put in their place. Other rows of the table are not looked at."""
    wanted, at = np.unique(rows, return_inverse=True)
    if not len(wanted):
        return np.zeros(0), []
    part = judged.take(wanted)
    found = CellProbabilities(part, part.table)
    place = np.zeros(len(judged.names), dtype=np.intp)
    of_columns = found.collected.written.place
    place[of_columns[of_columns >= 0]] = np.flatnonzero(of_columns >= 0)
    chance = found.probability[at, place[columns]]
    cells = list(zip(at.tolist(), place[columns].tolist(), (chance >= WORTH_A_CHECK).tolist(), strict=True))
    reported = [(row, c) for row, c, is_reported in cells if is_reported]
    suggested = dict(zip(reported, found.suggestions(reported), strict=True))
    made = (suggested.get((row, c)) for row, c, _ in cells)
    return chance, [None if instead is None else instead.text for instead in made]


def _sentence(name: str, observed: str | None, reasons: Sequence[Reason], suggested: str | None) -> str:
    """What is wrong with a cell, in one sentence, which does not argue for another value than the suggested one if
    anything else can be said."""
    start = _start(name, observed)
    agreeing = [reason for reason in reasons if reason.leads_to is None or suggested in (None, reason.leads_to)]
    texts = [reason.text for reason in agreeing or reasons if reason.text][:MAX_REASONS]
    return f"{start}: {'; '.join(texts) or 'no single evidence decides, all of it together does'}"


def probability_text(value: float) -> str:
    """A probability in two digits that is never certain."""
    return "over 0.99" if value >= 0.995 else f"{value:.2f}"


def _start(name: str, observed: str | None) -> str:
    return f"{one_line(name)} is " + ("missing" if observed is None else f"'{one_line(observed)}'")


__all__ = [
    "HIDDEN",
    "WORTH_A_CHECK",
    "WRONG",
    "CellProbabilities",
    "WrongCell",
    "judge_cells",
    "probability_text",
]
