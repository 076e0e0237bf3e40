"""Plants errors in a text table: which cells are wrong, and by what kind of error.

The same table, share and seed give the same result. Nothing here knows how wrong cells are looked for.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.decision import cell_errors, table_errors
from benchmarks.decision.profiles import Profile, same_value

_CELL_ERRORS: dict[str, Callable[..., str | None]] = {
    name: getattr(cell_errors, name)
    for name in (
        "keyboard", "ocr", "encoding", "case", "white_space", "truncation", "abbreviation", "affix", "word_order",
        "date_order", "digit_transposition", "digit_count", "digit_wrong", "decimal_point", "sign", "unit", "noise",
        "outlier", "disguised_gap", "blank", "category",
    )
}  # fmt: skip
_TABLE_ERRORS: dict[str, Callable[..., list[table_errors.Change]]] = {
    name: getattr(table_errors, name)
    for name in (
        "swap_rows", "swap_columns", "shift", "copy_down", "dependency", "duplicate_key", "broken_sum", "broken_order",
    )
}  # fmt: skip
_TAB_ERR = (
    "typo", "wrong_unit", "category_swap", "outlier", "mojibake", "permutate", "extraneous", "add_delta", "missing",
    "replace",
)  # fmt: skip
_PUBLISHED = (
    "dependency", "outlier", "typo", "mixed", "real", "extraneous", "permute", "delta", "swap", "unit", "everyday",
)  # fmt: skip

OWN_KINDS = (*_CELL_ERRORS, *_TABLE_ERRORS)
TAB_ERR_KINDS = tuple(f"tab_err:{name}" for name in _TAB_ERR)
PUBLISHED_KINDS = tuple(f"published:{name}" for name in _PUBLISHED)
# Code 0 is a right cell; codes are stored, so new kinds go to the end of their block.
CODES = {
    **{name: code for code, name in enumerate(OWN_KINDS, start=1)},
    **{name: code for code, name in enumerate(TAB_ERR_KINDS, start=64)},
    **{name: code for code, name in enumerate(PUBLISHED_KINDS, start=96)},
}
# Kinds that some users do not mind, and one of several cells at once: drawn less often.
_WEIGHTS = {"blank": 0.3, "white_space": 0.5, "case": 0.6, "shift": 0.5}
_RARE = ("date_order", "dependency", "duplicate_key", "broken_sum", "broken_order", "word_order")
MAX_MISSES = 400  # attempts in a row without a planted cell before a mix counts as exhausted


@dataclass(frozen=True)
class Planted:
    """A table with planted errors."""

    table: pd.DataFrame  # text
    codes: np.ndarray  # int8, shape (rows, columns): 0 right, else the code of the kind of error

    @property
    def wrong(self) -> np.ndarray:
        """Cells whose text was changed, bool."""
        return self.codes > 0


def plant(
    table: pd.DataFrame, share: float, seed: int, kinds: tuple[str, ...] | None = None, bad_columns: int = 0
) -> Planted:
    """Makes `share` of the cells wrong by a random mix of kinds.

    Parameters
    ----------
    table : text table, all cells str
    share : wrong cells per cell, at most 0.5
    seed : decides everything
    kinds : kinds to choose from; the mix is drawn at random without it
    bad_columns : so many columns get most of the errors, by one or two kinds each
    """
    rng = np.random.default_rng(seed)
    profile = Profile(table)
    cells = table.to_numpy(dtype=object).copy()
    codes = np.zeros(cells.shape, dtype=np.int8)
    target = round(share * cells.size)
    if target:
        mix = _mix(rng, profile, kinds)
        if bad_columns:
            _fill_columns(rng, profile, cells, codes, mix, min(bad_columns, cells.shape[1]), target)
        _fill(rng, profile, cells, codes, mix, target)
    return Planted(pd.DataFrame(cells, columns=table.columns, dtype=object), codes)


def _mix(
    rng: np.random.Generator, profile: Profile, kinds: tuple[str, ...] | None
) -> dict[str, tuple[float, list[int]]]:
    """Kinds with their weights and the columns they can fall on."""
    every = tuple(kinds) if kinds is not None else OWN_KINDS
    possible = {kind: _columns_for(kind, profile) for kind in every}
    possible = {kind: columns for kind, columns in possible.items() if columns}
    names = list(possible)
    if kinds is None and len(names) > 3:
        n_kinds = min(len(names), int(rng.integers(3, 13)))
        drawn = {names[at] for at in rng.choice(len(names), size=n_kinds, replace=False)}
        # Few tables have dates or regularities: those that do show how they break.
        drawn |= {name for name in _RARE if name in names and rng.random() < 0.7}
        names = [name for name in names if name in drawn]
    weights = rng.dirichlet(np.full(len(names), 1.5)) if names else []
    return {
        name: (float(weight) * _WEIGHTS.get(name, 1.0), possible[name])
        for name, weight in zip(names, weights, strict=True)
    }


def _columns_for(kind: str, profile: Profile) -> list[int]:
    if kind in _TABLE_ERRORS:
        return table_errors.columns_of(kind, profile)
    probe = np.random.default_rng(0)
    found = []
    for position, column in enumerate(profile.columns):
        rows = np.flatnonzero(column.filled)
        trials = rows[:: max(1, len(rows) // 12)]
        texts = [(row, _CELL_ERRORS[kind](probe, column, column.cells[row])) for row in trials]
        if sum(text is not None and text != column.cells[row] for row, text in texts) >= 0.25 * max(1, len(trials)):
            found.append(position)
    return found


def _fill_columns(
    rng: np.random.Generator,
    profile: Profile,
    cells: np.ndarray,
    codes: np.ndarray,
    mix: dict[str, tuple[float, list[int]]],
    n_columns: int,
    target: int,
) -> None:
    """One or two columns get 60 to 90 % of the errors, each by one kind."""
    for column in rng.choice(cells.shape[1], size=n_columns, replace=False):
        usable = [kind for kind, (_, columns) in mix.items() if int(column) in columns]
        if usable:
            kind = usable[int(rng.integers(len(usable)))]
            upto = min(round(float(rng.uniform(0.6, 0.9)) * target / n_columns), round(0.9 * len(cells)))
            _fill(rng, profile, cells, codes, {kind: (1.0, [int(column)])}, int((codes > 0).sum()) + upto)


def _fill(
    rng: np.random.Generator,
    profile: Profile,
    cells: np.ndarray,
    codes: np.ndarray,
    mix: dict[str, tuple[float, list[int]]],
    target: int,
) -> None:
    mix = dict(mix)
    planted, misses = int((codes > 0).sum()), 0
    appeal = rng.gamma(2.0, size=cells.shape[1])  # some columns are more error-prone than others
    while planted < target and mix and misses < MAX_MISSES:
        names = list(mix)
        weights = np.array([mix[name][0] for name in names])
        kind = names[int(rng.choice(len(names), p=weights / weights.sum()))]
        columns = mix[kind][1]
        column = int(rng.choice(columns, p=appeal[columns] / appeal[columns].sum()))
        row = int(rng.integers(len(cells)))
        done = _apply(kind, _changes(rng, profile, kind, row, column), profile, cells, codes)
        planted += done
        misses = 0 if done else misses + 1


def _changes(rng: np.random.Generator, profile: Profile, kind: str, row: int, column: int) -> list[table_errors.Change]:
    cell = profile.columns[column].cells[row]
    if not cell.strip():
        return []
    if kind in _TABLE_ERRORS:
        return _TABLE_ERRORS[kind](rng, profile, row, column)
    text = _CELL_ERRORS[kind](rng, profile.columns[column], cell)
    return [] if text is None else [(row, column, text)]


def _apply(
    kind: str, changes: list[table_errors.Change], profile: Profile, cells: np.ndarray, codes: np.ndarray
) -> int:
    """Writes changes if none of their cells is wrong yet; returns how many cells changed their text."""
    if any(codes[row, column] for row, column, _ in changes):
        return 0
    if kind in ("swap_rows", "swap_columns") and any(
        same_value(cells[row, column], text) for row, column, text in changes
    ):
        return 0
    done = 0
    for row, column, text in changes:
        before = profile.columns[column].cells[row]
        if same_value(text, before):
            continue
        cells[row, column] = text
        codes[row, column] = CODES[kind]
        done += 1
    return done
