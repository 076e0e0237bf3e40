"""Clean tables that packages on PyPI ship, and the tables with known errors of the shared data directory.

`python -m benchmarks.decision.tables` lists the selection.
"""

import hashlib
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.decision import exclusions, package_files
from benchmarks.decision.text_table import checksum, sample_rows, text_of

MIN_ROWS, MAX_ROWS, SAMPLED_ROWS = 200, 20_000, 5_000
MIN_COLUMNS, MAX_COLUMNS = 4, 40
PER_R_PACKAGE = 5
PER_PACKAGE = 15
MAX_BLANK_SHARE = 0.6  # more is a sparse matrix rather than a table
SAME_COLUMNS = 0.8  # Jaccard index of the names above which two tables are near copies
SAME_CONTENT = 0.5  # share of the informative columns that two tables have in common, value by value


@dataclass(frozen=True)
class CleanTable:
    """A table that a package ships, as text."""

    name: str
    package: str
    version: str
    licence: str
    family: str
    title: str = ""
    read: Callable[[], pd.DataFrame] = field(repr=False, compare=False, default=pd.DataFrame)

    @cached_property
    def text(self) -> pd.DataFrame:
        """All rows up to 20,000, of larger tables a sample of 5,000."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = text_of(self.read())
        return table if len(table) <= MAX_ROWS else sample_rows(table, SAMPLED_ROWS)

    @property
    def shelf(self) -> str:
        """The R or Python package that the table comes from, of which only so many are taken."""
        return self.name.rsplit("/", 1)[0]

    @property
    def order(self) -> bytes:
        """A key for choices that must not depend on the alphabet."""
        return hashlib.blake2b(self.name.encode(), digest_size=8).digest()

    def record(self) -> dict[str, Any]:
        """What `corpus.json` says of the table."""
        return {
            "table": self.name,
            "package": self.package,
            "version": self.version,
            "licence": self.licence,
            "family": self.family,
            "rows": len(self.text),
            "columns": self.text.shape[1],
            "sha256": checksum(self.text),
        }


@dataclass(frozen=True)
class DirtyTable:
    """A published table with wrong cells, and its clean version."""

    name: str
    family: str
    kind: str
    directory: Path

    def versions(self) -> list[str]:
        """`clean`, `dirty` and, for the injected ones, `heavy`."""
        return [version for version in ("clean", "dirty", "heavy") if (self.directory / f"{version}.csv").exists()]

    def text(self, version: str) -> pd.DataFrame:
        """The cells of a version, as published."""
        return pd.read_csv(self.directory / f"{version}.csv", dtype=str, keep_default_na=False)

    def error_types(self) -> dict[tuple[int, str], str]:
        """Row and column to type of error, where the publisher names it."""
        path = self.directory / "errors.json"
        if not path.exists():
            return {}
        return {(row, column): kind for row, column, kind in json.loads(path.read_text(encoding="utf-8"))}


def clean_tables(judged: Iterable[pd.DataFrame] = ()) -> list[CleanTable]:
    """The selection: every table of the packages that passes the rules of the README, in a fixed order.

    Tables that share half of their column names with one of `judged` are left out.
    """
    chosen: list[CleanTable] = []
    seen = _Seen()
    taken: Counter[str] = Counter()
    for excluded in exclusions.reference_columns():
        seen.exclude(excluded)
    for table in judged:
        seen.exclude(_column_names(table))
    candidates = list(_candidates())
    for table in candidates:
        if exclusions.by_name(table.name) and table.text.shape[1] >= MIN_COLUMNS:
            seen.exclude(_column_names(table.text))
            seen.add(table.text)
    for table in sorted(candidates, key=_rank):
        limit = PER_R_PACKAGE if table.name.startswith("r/") else PER_PACKAGE
        if taken[table.shelf] < limit and _is_eligible(table) and not seen.has(table.text):
            seen.add(table.text)
            taken[table.shelf] += 1
            chosen.append(table)
    return sorted(chosen, key=lambda table: (table.family, table.name))


def dirty_tables(directory: Path) -> list[DirtyTable]:
    """The tables of the shared data directory that have a clean version."""
    sources = {entry["table"]: entry["source"] for entry in json.loads((directory / "MANIFEST.json").read_text())}
    folders = sorted(path.parent for path in directory.glob("*/clean.csv"))
    return [
        DirtyTable(
            folder.name,
            _publisher(folder.name, sources.get(folder.name, folder.name)),
            folder.name.split("_")[0],
            folder,
        )
        for folder in folders
    ]


def _publisher(name: str, source: str) -> str:
    root = re.sub(r"[^a-z0-9]+", "_", source.rsplit("/", 1)[-1].lower())
    for family, pattern in exclusions.PUBLISHERS.items():
        if re.search(pattern, root):
            return family
    return root if "/" in source else name.split("_", 1)[1]


def _candidates() -> Iterator[CleanTable]:
    yield from package_files.r_tables(CleanTable)
    yield from package_files.older_r_tables(CleanTable)
    yield from package_files.python_tables(CleanTable)


def _rank(table: CleanTable) -> tuple[int, int, bytes]:
    """Within a package, every second place goes to tables with more text, the others by hash."""
    text_columns = sum(_is_text(table.text[column]) for column in table.text) if len(table.text) else 0
    by_text = table.order[0] % 2 == 0
    return (0, -min(text_columns, 4), table.order) if by_text else (0, -min(text_columns, 1), table.order)


def _is_text(column: pd.Series) -> bool:
    present = column[column != ""].head(200)
    return len(present) > 0 and pd.to_numeric(present, errors="coerce").isna().mean() > 0.5


def _is_eligible(table: CleanTable) -> bool:
    text = table.text
    return (
        len(text) >= MIN_ROWS
        and MIN_COLUMNS <= text.shape[1] <= MAX_COLUMNS
        and float((text == "").to_numpy().mean()) <= MAX_BLANK_SHARE
        and not exclusions.by_name(table.name)
        and not exclusions.is_simulated(table.name, table.title)
        and not exclusions.is_list_of_countries(text)
    )


def _column_names(table: pd.DataFrame) -> frozenset[str]:
    # Published tables append the type: 'endpoint(double precision)'.
    plain = (re.sub(r"\(.*\)", "", column.lower()) for column in table.columns)
    return frozenset(re.sub(r"[^a-z0-9]", "", column) for column in plain)


class _Seen:
    """What has been chosen or excluded, by column names and by content."""

    def __init__(self) -> None:
        self._excluded: list[frozenset[str]] = []
        self._names: list[frozenset[str]] = []
        self._contents: list[set[str]] = []

    def exclude(self, names: frozenset[str]) -> None:
        self._excluded.append(names)

    def add(self, table: pd.DataFrame) -> None:
        self._names.append(_column_names(table))
        self._contents.append(_content(table))

    def has(self, table: pd.DataFrame) -> bool:
        names, content = _column_names(table), _content(table)
        if any(_jaccard(names, other) >= exclusions.SIMILAR_COLUMNS for other in self._excluded):
            return True
        if any(_jaccard(names, other) >= SAME_COLUMNS for other in self._names):
            return True
        return any(
            len(content & other) >= max(2, SAME_CONTENT * min(len(content), len(other))) for other in self._contents
        )


def _jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    return len(left & right) / max(1, len(left | right))


def _content(table: pd.DataFrame) -> set[str]:
    """Hashes of the columns with at least 20 different values, whatever their row order."""
    found = set()
    for column in table.columns:
        values = sorted(table[column])
        if len(set(values)) >= 20:
            found.add(hashlib.blake2b("\n".join(values).encode(), digest_size=8).hexdigest())
    return found


def main() -> None:
    for table in clean_tables():
        print(table.family, table.name, *table.text.shape, sep="\t")


if __name__ == "__main__":
    main()
