"""Errors that need more than one cell: exchanged, shifted and copied cells, broken regularities.

Each function takes a random generator, the profile of a table, a row and a column, and returns the changes as
(row, column, wrong text), empty where the error does not apply.
"""

from collections import defaultdict

import numpy as np

from benchmarks.decision.profiles import Profile

Change = tuple[int, int, str]


def swap_rows(rng: np.random.Generator, profile: Profile, row: int, column: int) -> list[Change]:
    """Two rows have each other's value, often neighbouring rows."""
    cells = profile.columns[column].cells
    other = row + int(rng.choice([-2, -1, 1, 2])) if rng.random() < 0.5 else int(rng.integers(len(cells)))
    if not 0 <= other < len(cells) or not cells[other].strip():
        return []
    return [(row, column, cells[other]), (other, column, cells[row])]


def swap_columns(rng: np.random.Generator, profile: Profile, row: int, column: int) -> list[Change]:
    """Two cells of a row are exchanged: of the same sort in most cases, else neighbours."""
    columns = profile.columns
    same_sort = [
        position
        for position, other in enumerate(columns)
        if position != column
        and other.is_number == columns[column].is_number
        and other.is_text == columns[column].is_text
    ]
    other = column + 1 if rng.random() < 0.3 or not same_sort else same_sort[int(rng.integers(len(same_sort)))]
    if other >= len(columns) or not columns[other].cells[row].strip():
        return []
    return [(row, column, columns[other].cells[row]), (row, other, columns[column].cells[row])]


def shift(rng: np.random.Generator, profile: Profile, row: int, column: int) -> list[Change]:
    """A run of cells stands one column to the right; the first is blank or doubled, the last is lost."""
    length = int(rng.integers(2, 7))
    last = min(column + length, len(profile.columns) - 1)
    if last == column:
        return []
    cells = [profile.columns[position].cells[row] for position in range(column, last + 1)]
    first = "" if rng.random() < 0.5 else cells[0]
    return [(row, column + step, text) for step, text in enumerate([first, *cells[:-1]])]


def copy_down(rng: np.random.Generator, profile: Profile, row: int, column: int) -> list[Change]:
    """The value of the row above, in one cell or in a few below each other."""
    cells = profile.columns[column].cells
    if row == 0 or not cells[row - 1].strip():
        return []
    length = 1 if rng.random() < 0.7 else int(rng.integers(2, 5))
    return [
        (below, column, cells[row - 1]) for below in range(row, min(row + length, len(cells))) if cells[below].strip()
    ]


def dependency(rng: np.random.Generator, profile: Profile, row: int, column: int) -> list[Change]:
    """A value that another column determines is replaced by another value of its column."""
    determinants = [left for left, right in profile.dependencies if right == column]
    if not determinants:
        return []
    cells = profile.columns[column].cells
    other = cells[int(rng.integers(len(cells)))]  # by frequency, so that the value itself is ordinary
    return [(row, column, other)] if other.strip() else []


def duplicate_key(rng: np.random.Generator, profile: Profile, row: int, column: int) -> list[Change]:
    """A key that another row has."""
    cells = profile.columns[column].cells
    other = cells[int(rng.integers(len(cells)))]
    return [(row, column, other)] if profile.columns[column].is_key and other.strip() else []


def broken_sum(rng: np.random.Generator, profile: Profile, row: int, column: int) -> list[Change]:
    """A total, or one of its parts, that does not add up."""
    if not any(column in triple for triple in profile.sums):
        return []
    values = profile.columns[column]
    number = values.numbers[row]
    if not np.isfinite(number):
        return []
    step = max(10.0**-values.decimals, abs(number) * float(rng.uniform(0.02, 0.6)), 0.2 * values.spread)
    wrong = number + step if rng.random() < 0.5 or number - step < 0 else number - step
    return [(row, column, values.write(wrong, values.cells[row]))]


def broken_order(rng: np.random.Generator, profile: Profile, row: int, column: int) -> list[Change]:
    """Start after end, least above largest: the two are exchanged, or one is moved beyond the other."""
    pairs = [pair for pair in profile.orders if column in pair]
    if not pairs:
        return []
    low, high = pairs[int(rng.integers(len(pairs)))]
    first, second = profile.columns[low], profile.columns[high]
    a, b = first.numbers[row], second.numbers[row]
    if not (np.isfinite(a) and np.isfinite(b)) or a == b:
        return []
    if rng.random() < 0.4:
        return [(row, low, second.cells[row]), (row, high, first.cells[row])]
    beyond = float(rng.uniform(0.1, 1.5)) * max(first.spread, second.spread, b - a)
    if column == low:
        return [(row, low, first.write(b + beyond, first.cells[row]))]
    return [(row, high, second.write(a - beyond, second.cells[row]))]


def columns_of(kind: str, profile: Profile) -> list[int]:
    """Columns in which an error of this module can be planted at all."""
    every = list(range(len(profile.columns)))
    special = defaultdict(lambda: every)
    special["dependency"] = sorted({right for _, right in profile.dependencies})
    special["duplicate_key"] = [position for position in every if profile.columns[position].is_key]
    special["broken_sum"] = sorted({position for triple in profile.sums for position in triple})
    special["broken_order"] = sorted({position for pair in profile.orders for position in pair})
    special["shift"] = every[:-1]
    return special[kind]
