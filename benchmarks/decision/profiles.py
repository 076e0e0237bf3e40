"""What the columns of a text table hold, as far as planting errors needs it."""

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
_SCIENTIFIC = re.compile(r"[+-]?\d+\.?\d*[eE][+-]?\d+")
_DATES = (  # pattern, positions of day and month among the parts
    (re.compile(r"\d{4}([-/.])\d{1,2}\1\d{1,2}"), 2, 1),
    (re.compile(r"\d{1,2}([-/.])\d{1,2}\1\d{2,4}"), 0, 1),
)
MIN_NUMBER_SHARE = 0.95  # of the filled cells; the others may be codes for gaps
MAX_CATEGORIES = 60


def same_value(left: str, right: str) -> bool:
    """Whether two texts say the same: alike without outer white space, or equal as numbers."""
    left, right = left.strip(), right.strip()
    return left == right or bool(NUMBER.fullmatch(left) and NUMBER.fullmatch(right) and float(left) == float(right))


def _has_letter(cell: str) -> bool:
    return any(map(str.isalpha, cell)) and not _SCIENTIFIC.fullmatch(cell)


@dataclass(frozen=True)
class Column:
    """One column of a text table."""

    name: str
    cells: np.ndarray  # object, shape (rows,)

    @cached_property
    def filled(self) -> np.ndarray:
        """Rows that hold a value, bool."""
        return np.array([cell.strip() != "" for cell in self.cells])

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each value occurs, blanks apart."""
        return Counter(self.cells[self.filled])

    @cached_property
    def distinct(self) -> list[str]:
        """The values, most frequent first, then by the alphabet."""
        return sorted(self.counts, key=lambda value: (-self.counts[value], value))

    @cached_property
    def numbers(self) -> np.ndarray:
        """float64, NaN where the cell is not a plain number."""
        return np.array([float(cell) if NUMBER.fullmatch(cell) else np.nan for cell in self.cells])

    @cached_property
    def is_number(self) -> bool:
        """Plain numbers, more than two of them, that are no codes with leading zeros."""
        values = self.cells[self.filled]
        if len(values) == 0 or np.isfinite(self.numbers[self.filled]).mean() < MIN_NUMBER_SHARE:
            return False
        leading_zeros = sum(len(cell) > 1 and cell[0] == "0" and cell[1] != "." for cell in values)
        return len(self.counts) > 2 and leading_zeros < 0.01 * len(values)

    @cached_property
    def is_measure(self) -> bool:
        """A number with many values, for which units and shifts make sense."""
        return self.is_number and len(self.counts) >= 10 and self.spread > 0

    @cached_property
    def is_category(self) -> bool:
        """Few values for the number of rows."""
        return 2 <= len(self.counts) <= min(MAX_CATEGORIES, max(2, int(self.filled.sum()) // 4))

    @cached_property
    def is_text(self) -> bool:
        """Most cells hold a letter."""
        values = self.cells[self.filled]
        return len(values) > 0 and sum(_has_letter(cell) for cell in values) > 0.5 * len(values)

    @cached_property
    def is_key(self) -> bool:
        """All values differ, and they are not measurements with decimals."""
        n_filled = int(self.filled.sum())
        return n_filled >= 20 and len(self.counts) == n_filled and not (self.is_number and self.decimals > 0)

    @cached_property
    def date_parts(self) -> tuple[int, int] | None:
        """Positions of day and month in a date, or None."""
        values = [cell.split(" ")[0] for cell in self.cells[self.filled]]
        for pattern, day, month in _DATES:
            if values and sum(bool(pattern.fullmatch(value)) for value in values) > MIN_NUMBER_SHARE * len(values):
                return day, month
        return None

    @cached_property
    def _decimal_counts(self) -> Counter[int]:
        valid = np.isfinite(self.numbers)
        return Counter(len(cell.partition(".")[2]) for cell in self.cells[valid])

    @cached_property
    def decimals(self) -> int:
        """Decimals of the column: the median over its numbers."""
        total, seen = sum(self._decimal_counts.values()), 0
        for decimals in sorted(self._decimal_counts):
            seen += self._decimal_counts[decimals]
            if seen >= 0.5 * total:
                return decimals
        return 0

    @cached_property
    def has_fixed_decimals(self) -> bool:
        """Every number has the same decimals, trailing zeros included."""
        return len(self._decimal_counts) == 1

    @cached_property
    def is_whole(self) -> bool:
        """Every number is whole, written with decimals or not."""
        values = self.numbers[np.isfinite(self.numbers)]
        return bool((values == np.round(values)).all())

    @cached_property
    def spread(self) -> float:
        """Robust standard deviation; the ordinary one where more than half of the values are equal."""
        values = self.numbers[np.isfinite(self.numbers)]
        if len(values) == 0:
            return 0.0
        deviation = 1.4826 * float(np.median(np.abs(values - np.median(values))))
        return deviation if deviation > 0 else float(values.std())

    @cached_property
    def is_positive(self) -> bool:
        """No number is negative."""
        return bool(np.nanmin(self.numbers) >= 0) if np.isfinite(self.numbers).any() else False

    def write(self, value: float, replaced: str) -> str:
        """A number in the column's own format: its decimals, or those of the replaced cell where it has more."""
        value = round(value) if self.is_whole else value
        text = f"{value:.{max(self.decimals, len(replaced.partition('.')[2]))}f}"
        if not self.has_fixed_decimals and "." in text:
            text = text.rstrip("0").rstrip(".")
        return text.removeprefix("-") if float(text) == 0 else text


@dataclass(frozen=True)
class Profile:
    """A text table with what its columns hold."""

    table: pd.DataFrame

    @cached_property
    def columns(self) -> list[Column]:
        """One per column of the table."""
        return [Column(str(name), self.table[name].to_numpy(dtype=object)) for name in self.table.columns]

    @cached_property
    def codes(self) -> np.ndarray:
        """Values as whole numbers, -1 for blanks, int64 of shape (rows, columns)."""
        coded = [pd.factorize(column.cells)[0] for column in self.columns]
        return np.stack(
            [np.where(column.filled, code, -1) for column, code in zip(self.columns, coded, strict=True)], 1
        )

    @cached_property
    def dependencies(self) -> list[tuple[int, int]]:
        """Pairs (determinant, dependent): rows that share the first value nearly always share the second."""
        found = []
        for left, determinant in enumerate(self.columns):
            n_groups = len(determinant.counts)
            if not 2 <= n_groups <= 0.5 * max(1, int(determinant.filled.sum())):
                continue
            for right, dependent in enumerate(self.columns):
                if left != right and len(dependent.counts) >= 3 and self._determines(left, right):
                    found.append((left, right))
        return found

    def _determines(self, left: int, right: int) -> bool:
        both = (self.codes[:, left] >= 0) & (self.codes[:, right] >= 0)
        if both.sum() < 50:
            return False
        pairs = pd.Series(self.codes[both, right]).groupby(self.codes[both, left])
        agreeing = int(pairs.agg(lambda group: np.bincount(group).max()).sum())
        commonest = np.bincount(self.codes[both, right]).max()
        return agreeing >= 0.98 * both.sum() and commonest <= 0.9 * both.sum()

    @cached_property
    def sums(self) -> list[tuple[int, ...]]:
        """Total and parts: a column that is the sum of two others, or of a run of neighbours, in 99 % of the rows."""
        counts = [at for at, column in enumerate(self.columns) if column.is_number and len(column.counts) >= 5][:24]
        runs = {tuple(counts[first : first + length]) for length in range(3, 9) for first in range(len(counts))}
        pairs = set(itertools.combinations(counts, 2))
        candidates = sorted(parts for parts in runs | pairs if len(parts) > 1)
        return [
            (total, *parts)
            for parts in candidates
            for total in counts
            if total not in parts and self._adds_up(total, parts)
        ]

    def _adds_up(self, total: int, parts: tuple[int, ...]) -> bool:
        sample = slice(None, None, max(1, len(self.table) // 40))
        return self._agrees(total, parts, sample, 10) and self._agrees(total, parts, slice(None), 50)

    def _agrees(self, total: int, parts: tuple[int, ...], rows: slice, least: int) -> bool:
        numbers = np.stack([self.columns[part].numbers[rows] for part in parts])
        whole = self.columns[total].numbers[rows]
        valid = np.isfinite(whole) & np.isfinite(numbers).all(axis=0)
        tolerance = 0.51 * len(parts) * 10.0 ** -self.columns[total].decimals
        several = (np.abs(numbers) > tolerance).sum(axis=0) > 1  # a total of one part and zeros is a copy
        if valid.sum() < least or (several & valid).sum() < 0.3 * valid.sum():
            return False
        if tolerance > 0.2 * self.columns[total].spread:
            return False
        return bool((np.abs(whole - numbers.sum(axis=0))[valid] <= tolerance).mean() >= 0.99)

    @cached_property
    def orders(self) -> list[tuple[int, int]]:
        """Pairs of columns on one scale where the first is never above the second and both vary."""
        measures = [position for position, column in enumerate(self.columns) if column.is_measure]
        found = []
        for low in measures:
            for high in measures:
                a, b = self.columns[low].numbers, self.columns[high].numbers
                valid = np.isfinite(a) & np.isfinite(b)
                if low == high or valid.sum() < 50 or not (a[valid] <= b[valid]).all():
                    continue
                overlap = (a[valid] > np.quantile(b[valid], 0.1)).mean()
                if overlap > 0.2 and (a[valid] < b[valid]).mean() > 0.5:
                    found.append((low, high))
        return found
