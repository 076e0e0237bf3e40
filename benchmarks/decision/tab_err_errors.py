"""Plants errors with the library tab-err: its error types, placed by its three mechanisms.

Left out are what would not be repeatable or not be wrong: `CategorySwap` by frequency draws from the unseeded global
generator, `Mojibake` without named encodings depends on the order of a set, and `Mistype` writes 5 as 5.0.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.decision.errors import CODES, TAB_ERR_KINDS, Planted
from benchmarks.decision.profiles import Column, Profile, same_value

_TEMPLATES = (
    "{value}.",
    "~{value}",
    "{value}*",
    "#{value}",
    "{value} (?)",
    "_{value}_",
    "{value} kg",
    "approx. {value}",
    "{value}!",
    "({value})",
    "{value} - check",
    "<b>{value}</b>",
    "{value};",
)
_GAPS = ("N/A", "?", "unknown", "-", "none", "empty", "missing")
_NUMBER_GAPS = (9999.0, -1.0, -999.0, 99.0, 0.0)
_ENCODINGS = (("utf_8", "windows-1252"), ("utf_8", "iso-8859-1"), ("utf_8", "windows-1251"), ("utf_8", "shift_jis"))
_FACTORS = (10.0, 100.0, 1000.0, 0.1, 0.01, 0.001, 2.54, 1 / 2.54, 1.609344, 0.621371, 0.45359237, 2.204623)
_SEPARATORS = (" ", "-", ", ", "/")
MAX_JOBS = 24  # pairs of error type and column
MAX_COLUMN_SHARE = 0.6


def plant(table: pd.DataFrame, share: float, seed: int) -> Planted:
    """Makes about `share` of the cells wrong by a random mix of tab-err's types and mechanisms."""
    from tab_err import error_mechanism

    rng = np.random.default_rng(seed)
    profile = Profile(table)
    typed = pd.DataFrame({position: _typed(column) for position, column in enumerate(profile.columns)})
    typed.columns = [f"c{position}" for position in range(typed.shape[1])]
    cells = table.to_numpy(dtype=object).copy()
    codes = np.zeros(cells.shape, dtype=np.int8)
    target = round(share * cells.size)
    jobs = _jobs(rng, profile, target)
    for round_ in range(3):  # cells whose text stays the same are made up for in the next round
        for kind, position in jobs:
            missing = target - int((codes > 0).sum())
            if missing <= 0:
                break
            wanted = max(1, min(missing, -(-missing // len(jobs)))) if round_ == 0 else max(1, missing // len(jobs))
            column = profile.columns[position]
            free = np.flatnonzero((codes[:, position] == 0) & _usable(kind, column))
            room = round(MAX_COLUMN_SHARE * len(cells)) - int((codes[:, position] > 0).sum())
            wanted = min(wanted, len(free), room)
            if wanted < 1:
                continue
            part = typed.iloc[free].reset_index(drop=True)
            if kind == "category_swap":
                part[f"c{position}"] = pd.Categorical(part[f"c{position}"], categories=sorted(column.counts))
            name, job_seed = f"c{position}", int(rng.integers(2**31))
            mechanism = int(rng.integers(4))
            if mechanism < 2:
                chosen: Any = error_mechanism.ECAR(seed=job_seed)
            elif mechanism == 2 and part.shape[1] > 1:
                others = [other for other in part.columns if other != name]
                chosen = error_mechanism.EAR(condition_to_column=others[int(rng.integers(len(others)))], seed=job_seed)
            else:
                chosen = error_mechanism.ENAR(seed=job_seed)
            mask = chosen.sample(part, name, min(1.0, (wanted + 0.5) / len(part)), error_mask=None)
            changed = _error_type(rng, kind, column, job_seed).apply(part, mask, name)
            for at in np.flatnonzero(mask[name].to_numpy()):
                row = int(free[at])
                text = _written(changed.iloc[at], column, column.cells[row])
                if text.strip() and not same_value(text, column.cells[row]):
                    cells[row, position] = text
                    codes[row, position] = CODES[f"tab_err:{kind}"]
    return Planted(pd.DataFrame(cells, columns=table.columns, dtype=object), codes)


def _typed(column: Column) -> pd.Series:
    """Numbers as float64, else text."""
    if column.is_number:
        return pd.Series(column.numbers)
    return pd.Series(column.cells, dtype=object)


def _jobs(rng: np.random.Generator, profile: Profile, target: int) -> list[tuple[str, int]]:
    kinds = [name.removeprefix("tab_err:") for name in TAB_ERR_KINDS]
    kinds = [
        kinds[at] for at in sorted(rng.choice(len(kinds), size=int(rng.integers(4, len(kinds) + 1)), replace=False))
    ]
    pairs = [
        (kind, position)
        for kind in kinds
        for position, column in enumerate(profile.columns)
        if _usable(kind, column).mean() > 0.05
    ]
    n_jobs = min(len(pairs), MAX_JOBS, max(1, target // 3))
    # Every kind has the same chance, however many columns it fits; codes for gaps fit all and count half.
    fitting = Counter(kind for kind, _ in pairs)
    weights = np.array([(0.5 if kind == "missing" else 1.0) / fitting[kind] for kind, _ in pairs])
    if not pairs:
        return []
    return [pairs[at] for at in rng.choice(len(pairs), size=n_jobs, replace=False, p=weights / weights.sum())]


def _usable(kind: str, column: Column) -> np.ndarray:
    """Rows on which an error type can work."""
    nothing = np.zeros(len(column.cells), dtype=bool)
    if kind in ("wrong_unit", "outlier", "add_delta"):
        return np.isfinite(column.numbers) if column.is_measure else nothing
    if kind == "missing" and not _gaps(column):
        return nothing
    if kind == "missing":
        return column.filled & (np.isfinite(column.numbers) | (not column.is_number))
    if kind == "category_swap":
        return column.filled if column.is_category and not column.is_number else nothing
    if column.is_number:
        return nothing
    if kind == "mojibake":
        return np.array([not cell.isascii() for cell in column.cells])
    if kind == "permutate":
        separator = _separator(column)
        return np.array([len(set(cell.split(separator))) > 1 for cell in column.cells]) if separator else nothing
    return column.filled


def _gaps(column: Column) -> tuple[Any, ...]:
    """Codes for a gap that are not ordinary in the column: those would disguise nothing."""
    options: tuple[Any, ...] = _NUMBER_GAPS if column.is_number else _GAPS
    texts = [f"{gap:.0f}" if column.is_number else gap for gap in options]
    return tuple(
        gap for gap, text in zip(options, texts, strict=True) if column.counts[text] <= 0.01 * len(column.cells)
    )


def _separator(column: Column) -> str | None:
    shares = {text: np.mean([text in cell for cell in column.cells[column.filled]]) for text in _SEPARATORS}
    best = max(_SEPARATORS, key=lambda text: shares[text])
    return best if shares[best] > 0.2 else None


def _error_type(rng: np.random.Generator, kind: str, column: Column, seed: int) -> Any:
    from tab_err import error_type

    def pick(options: tuple[Any, ...]) -> Any:
        return options[int(rng.integers(len(options)))]

    factor, delta = pick(_FACTORS), float(rng.choice([-1, 1])) * float(rng.uniform(1, 5)) * column.spread
    sender, receiver = pick(_ENCODINGS)
    letters = sorted(set("".join(column.distinct[:50])))
    makers: dict[str, Callable[[], Any]] = {
        "typo": lambda: error_type.Typo(seed=seed),
        "wrong_unit": lambda: error_type.WrongUnit({"wrong_unit_scaling": lambda value: value * factor}, seed=seed),
        "category_swap": lambda: error_type.CategorySwap(seed=seed),
        "outlier": lambda: error_type.Outlier({"outlier_coefficient": float(rng.uniform(0.7, 2.5))}, seed=seed),
        "mojibake": lambda: error_type.Mojibake({"encoding_sender": sender, "encoding_receiver": receiver}, seed=seed),
        "permutate": lambda: error_type.Permutate({"permutation_separator": _separator(column)}, seed=seed),
        "extraneous": lambda: error_type.Extraneous({"extraneous_value_template": pick(_TEMPLATES)}, seed=seed),
        "add_delta": lambda: error_type.AddDelta({"add_delta_value": delta}, seed=seed),
        "missing": lambda: error_type.MissingValue({"missing_value": pick(_gaps(column))}, seed=seed),
        "replace": lambda: error_type.Replace(
            {"replace_what": pick(tuple(letters)), "replace_with": pick(("", "x", "_"))}, seed=seed
        ),
    }
    return makers[kind]()


def _written(value: Any, column: Column, replaced: str) -> str:
    if column.is_number:
        return column.write(float(value), replaced) if np.isfinite(value) else ""
    return str(value)
