"""The inputs of the decision: one row of numbers per cell, on scales that mean the same in every table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rfod._evidence.form import MARKS, form_inputs
from rfod._evidence.numbers import MARGIN_INPUTS, RESIDUAL_INPUTS, margin_inputs, residual_inputs
from rfod._evidence.profile import FACTS, ColumnProfile, Profile, WrittenTable
from rfod._evidence.regularities import violations
from rfod._evidence.spelling import Spelling, spelling_inputs
from rfod._evidence.texts import Floats, TextColumn
from rfod._evidence.votes import CROSS_INPUTS, VOTE_INPUTS, Votes, cross_inputs, vote_inputs
from rfod._model.calibrate import UNSEEN_SHARE
from rfod._model.judged import JudgedTable

TEXT_INPUTS = ("padded", "gap", "disguised_gap", "type_break", "encoding", "rarity")
SPELLING_INPUTS = ("near", "near_digits", "near_word")
FOREST_INPUTS = ("surprise", "score", "weight", "strangeness", "rival_odds", "p_value", "unseen", "fitness", "modelled")
RULE_INPUTS = ("rule", "order_rule", "unique_rule", "contains_rule")
GROUPS: dict[str, tuple[str, ...]] = {
    "form": (*(f"form_{mark}" for mark in MARKS), *TEXT_INPUTS),
    "spelling": SPELLING_INPUTS,
    "votes": (*VOTE_INPUTS, *CROSS_INPUTS),
    "forest": (*FOREST_INPUTS, *RESIDUAL_INPUTS),
    "margin": MARGIN_INPUTS,
    "regularities": RULE_INPUTS,
    "facts": (*FACTS, "robust_fitness", "is_number"),
}
"""Inputs of a cell that follow from its row and the profile alone."""
CELL_INPUTS = tuple(name for group in GROUPS.values() for name in group if name not in CROSS_INPUTS) + CROSS_INPUTS
NEVER_FALLING = frozenset(
    [
        *(f"form_{mark}" for mark in MARKS),
        *("padded", "disguised_gap", "type_break", "encoding"),
        *SPELLING_INPUTS,
        *("vote_best", "vote_mean", "votes_against", "determines_wrong"),
        *("surprise", "strangeness", "rival_odds", "residual", "unit", "residual_tail"),
        *("isolation", "rare_sign"),
        *RULE_INPUTS,
    ]
)
"""Inputs of which more must not lower the probability."""

_GAPS = """n/a na nan null none nil empty missing unknown unk undefined unspecified tbd tba ? ?? ??? - -- --- . .. x xx
xxx * # #n/a #value! #ref! -1 -9 -99 -999 -9999 99 999 9999 99999 999999 1900-01-01 1970-01-01 01/01/1900 1/1/1900
01/01/1970 1/1/1970 9999-12-31 0000-00-00 00/00/0000"""
_GAP_WORDS = frozenset(_GAPS.split())
_BROKEN = re.compile("\ufffd|Ã.|Â.|â€|ï¿½|\x00|Ð.|Å.")
_SMALL = 1e-3  # of a probability


@dataclass(frozen=True, eq=False)
class CellInputs:
    """Inputs of all cells of a table, and what sentences and suggestions are made from."""

    values: NDArray[np.float32]
    """(columns, rows, CELL_INPUTS)."""
    spelling: list[Spelling]
    """Per column."""
    votes: list[Votes]


def cell_inputs(profile: Profile, written: WrittenTable, judged: JudgedTable) -> CellInputs:
    """The inputs of every cell. Rows of the training table itself are compared with the others."""
    with np.errstate(all="ignore"):  # numbers near the ends of the scale
        return _cell_inputs(profile, written, judged)


def _cell_inputs(profile: Profile, written: WrittenTable, judged: JudgedTable) -> CellInputs:
    n_rows = len(judged)
    found = np.zeros((len(written.columns), n_rows, len(CELL_INPUTS)), dtype=np.float32)
    rules = _rule_inputs(profile, written, judged.is_own)
    spellings, votes = [], []
    for c, (column, known) in enumerate(zip(written.columns, profile.columns, strict=True)):
        spelling = spelling_inputs(
            known.spelling, column.values, _rows_with(known, column, judged.is_own), judged.is_own
        )
        top_share = float(known.facts[FACTS.index("top_share")])
        vote = vote_inputs(profile.determinants[c], written.columns, c, top_share, judged.is_own)
        spellings.append(spelling)
        votes.append(vote)
        form = form_inputs(known.form, column.points, judged.is_own)
        near = np.stack([spelling.near, spelling.near_digits, spelling.near_word], axis=1)
        parts = [
            np.vstack([form, np.zeros(form.shape[1])])[column.codes],
            _text_inputs(known, column, written.numbers[c], judged.is_own),
            np.vstack([near, np.zeros(3)])[column.codes],
            vote.inputs,
            _forest_inputs(known, judged, int(written.place[c]), written.numbers[c]),
            _margins(known, written.numbers[c], n_rows, judged.is_own),
            rules[c],
            np.broadcast_to(_column_facts(known, written.numbers[c]), (n_rows, len(FACTS) + 2)),
        ]
        found[c, :, : -len(CROSS_INPUTS)] = np.nan_to_num(np.hstack(parts))
    found[:, :, -len(CROSS_INPUTS) :] = cross_inputs(profile.determinants, votes)
    return CellInputs(found, spellings, votes)


def _rows_with(known: ColumnProfile, column: TextColumn, is_own: bool) -> NDArray[np.int64]:
    """(values,): rows that have each value, its own included."""
    return column.counts if is_own else known.form.counts[0].find(column.hashes) + 1


def _text_inputs(known: ColumnProfile, column: TextColumn, numbers: Floats | None, is_own: bool) -> Floats:
    """(rows, TEXT_INPUTS)."""
    more = 0 if is_own else 1  # the row itself, which the profile has not counted
    n_rows = known.n_rows + more
    padded = np.where(column.is_padded, np.log((n_rows + 1) / (known.n_padded + more + 1)), 0.0)
    gap = np.where(column.is_blank, np.log((n_rows + 1) / (known.n_blank + more + 1)) + 0.1, 0.0)
    n_present = max(1, known.n_rows - known.n_blank)
    rows = np.maximum(_rows_with(known, column, is_own), 1)
    rarity = column.spread(np.log(n_present / rows))
    is_gap = np.array([value.lower() in _GAP_WORDS for value in column.values], dtype=np.float64)
    disguised = column.spread(is_gap * np.maximum(np.log(n_present / rows), 0.1))
    broken = column.spread(np.array([float(bool(_BROKEN.search(value))) for value in column.values]))
    share = float(known.facts[FACTS.index("numeric_share")])
    breaks = np.zeros(len(column.codes))
    if numbers is not None and share > 0:
        n_odd = max(1.0, (1 - share) * n_present + more)
        breaks = np.where(np.isnan(numbers) & ~column.is_blank, np.log(n_present / n_odd), 0.0)
    return np.stack([padded, gap, disguised, breaks, broken, rarity], axis=1)


def _forest_inputs(known: ColumnProfile, judged: JudgedTable, j: int, numbers: Floats | None) -> Floats:
    """(rows, FOREST_INPUTS + RESIDUAL_INPUTS); 0 for columns without a forest."""
    n_rows = len(judged)
    if j < 0:
        return np.zeros((n_rows, len(FOREST_INPUTS) + len(RESIDUAL_INPUTS)))
    model, cells = judged.model, judged.cells
    measured, score = cells.spread_or_share[:, j], np.nan_to_num(cells.cell_scores[:, j])
    strange, odds = np.zeros(n_rows), np.zeros(n_rows)
    residual = np.zeros((n_rows, len(RESIDUAL_INPUTS)))
    unseen = np.zeros(n_rows)
    if model.is_categorical[j]:
        share = np.nan_to_num(np.maximum(measured, 0.0), nan=1.0)
        observed = ~np.isnan(cells.cell_scores[:, j]) & ~np.isnan(measured)
        strange = np.where(observed, -np.log10(share + 1e-4), 0.0)
        own = np.clip(1 - score, 0.0, 1.0)
        rival = np.nan_to_num(cells.expected_share[:, j])
        odds = np.where(
            observed, np.log((rival + _SMALL) / (own + _SMALL)), np.log((rival + _SMALL) / (1 - rival + _SMALL))
        )
        unseen = (measured == UNSEEN_SHARE).astype(np.float64)
    elif known.residuals is not None and numbers is not None:
        residual = residual_inputs(known.residuals, numbers, cells.expected[j], measured)
    fitness = float(np.nan_to_num(model.fitness[j]))
    parts = [
        np.minimum(judged.surprise[:, j], 30.0),
        np.minimum(score, 10.0),
        judged.weights[:, j],
        strange,
        odds,
        -np.log10(np.maximum(judged.p_values[:, j], 1e-6)),
        unseen,
        np.full(n_rows, fitness),
        np.ones(n_rows),
    ]
    return np.hstack([np.nan_to_num(np.stack(parts, axis=1)), residual])


def _margins(known: ColumnProfile, numbers: Floats | None, n_rows: int, is_own: bool) -> Floats:
    if known.numbers is None or numbers is None:
        return np.zeros((n_rows, len(MARGIN_INPUTS)))
    return margin_inputs(known.numbers, numbers, is_own)


def _column_facts(known: ColumnProfile, numbers: Floats | None) -> Floats:
    fitness = known.residuals.fitness if known.residuals is not None else 0.0
    return np.append(known.facts, [fitness, float(numbers is not None)])


def _rule_inputs(profile: Profile, written: WrittenTable, is_own: bool) -> Floats:
    """(columns, rows, RULE_INPUTS): strength of the strongest rule on the cell's column that its row breaks."""
    n_rows = len(written.columns[0].codes)
    found = np.zeros((len(written.columns), n_rows, len(RULE_INPUTS)))
    slot = {"sum": 0, "equal": 0, "order": 1, "unique": 2, "contains": 3}
    for rule in profile.regularities:
        before = None
        if rule.kind == "unique" and not is_own:
            column = written.columns[rule.columns[0]]
            before = column.spread(
                profile.columns[rule.columns[0]].form.counts[0].find(column.hashes).astype(np.float64)
            ).astype(np.int64)
        broken = violations(rule, written.columns, written.numbers, before)
        for c in rule.columns:
            place = found[c, :, slot[rule.kind]]
            np.maximum(place, np.where(broken, rule.strength, 0.0), out=place)
    return found


def group_of(names: Sequence[str] = CELL_INPUTS) -> dict[str, list[int]]:
    """Per group, the places of its inputs."""
    return {group: [names.index(name) for name in members] for group, members in GROUPS.items()}
