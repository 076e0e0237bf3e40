"""Writes the training corpus: tables with known wrong cells.

    python -m benchmarks.decision.corpus --to DIRECTORY [--dirty DIRECTORY] [--only NAME] [--list FILE]

One folder per version of a table, TABLE/VERSION, with `dirty.parquet` (all cells text) and `wrong.parquet` (int8, 0 for
a right cell, else the code of the kind of error in `index.json`).
"""

import argparse
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.decision import errors, tab_err_errors
from benchmarks.decision.tables import CleanTable, DirtyTable, clean_tables, dirty_tables
from benchmarks.decision.text_table import checksum, sample_rows

MAX_ROWS, MAX_ROWS_OF_FEW, SHARE_OF_FEW = 2_000, 5_000, 0.12
MAX_CELLS = 60_000
NORMAL_SHARE = 0.02
LIGHT_SHARES, HEAVY_SHARES = (0.0005, 0.005), (0.05, 0.25)


@dataclass(frozen=True)
class Version:
    """One version of a table, to be judged on its own."""

    table: str
    family: str
    name: str
    sort: str  # package or dirty
    generator: str
    share: float
    seed: int
    cells: pd.DataFrame
    codes: np.ndarray

    def record(self) -> dict[str, Any]:
        """What `index.json` says of the version."""
        return {
            "table": self.table,
            "family": self.family,
            "version": self.name,
            "sort": self.sort,
            "path": f"{_folder(self.table)}/{self.name}",
            "generator": self.generator,
            "share": self.share,
            "seed": self.seed,
            "rows": len(self.cells),
            "columns": self.cells.shape[1],
            "wrong": int((self.codes > 0).sum()),
            "sha256": checksum(self.cells),
            "sha256_wrong": hashlib.sha256(np.ascontiguousarray(self.codes).tobytes()).hexdigest(),
        }

    def write(self, directory: Path) -> None:
        """Writes the pair of Parquet files."""
        folder = directory / _folder(self.table) / self.name
        folder.mkdir(parents=True, exist_ok=True)
        names = [str(name) for name in self.cells.columns]
        text = [pa.array(self.cells.iloc[:, at].tolist(), pa.string()) for at in range(len(names))]
        codes = [pa.array(self.codes[:, at], pa.int8()) for at in range(len(names))]
        pq.write_table(pa.Table.from_arrays(text, names=names), folder / "dirty.parquet")
        pq.write_table(pa.Table.from_arrays(codes, names=names), folder / "wrong.parquet")


def package_versions(table: CleanTable, place: int) -> Iterator[Version]:
    """Clean, 2 % wrong and another share; the generators take turns by the table's place in the list."""
    cells = _bounded(table)
    seed = int.from_bytes(hashlib.blake2b(table.name.encode(), digest_size=4).digest(), "big")
    rng = np.random.default_rng(seed)
    clean = np.zeros(cells.shape, dtype=np.int8)
    yield Version(table.name, table.family, "clean", "package", "", 0.0, seed, cells, clean)
    own_first = place % 2 == 0
    light = rng.random() < 0.5
    share = float(np.exp(rng.uniform(*np.log(LIGHT_SHARES if light else HEAVY_SHARES))))
    bad_columns = int(rng.integers(1, 3)) if not light and rng.random() < 0.4 else 0
    for name, at, own, bad in (
        ("normal", NORMAL_SHARE, own_first, 0),
        ("light" if light else "heavy", share, not own_first, bad_columns),
    ):
        version_seed = seed + len(name)
        if own:
            planted = errors.plant(cells, at, version_seed, bad_columns=bad)
        else:
            planted = tab_err_errors.plant(cells, at, version_seed)
        if planted.wrong.any():
            generator = "own" if own else "tab_err"
            yield Version(
                table.name,
                table.family,
                name,
                "package",
                generator,
                round(at, 4),
                version_seed,
                planted.table,
                planted.codes,
            )


def dirty_versions(table: DirtyTable) -> Iterator[Version]:
    """The published versions; a cell is wrong where its text differs from the clean one after `strip`."""
    clean = table.text("clean")
    types = table.error_types()
    for name in table.versions():
        cells = table.text(name)
        wrong = _stripped(cells) != _stripped(clean)
        codes = np.zeros(cells.shape, dtype=np.int8)
        for row, column in zip(*np.nonzero(wrong), strict=True):
            kind = types.get((int(row), str(cells.columns[column])), table.kind)
            codes[row, column] = errors.CODES[f"published:{kind}"]
        share = round(float(wrong.mean()), 4)
        yield Version(table.name, table.family, name, "dirty", "published", share, 0, cells, codes)


def _stripped(table: pd.DataFrame) -> np.ndarray:
    return np.array([[cell.strip() for cell in table[column]] for column in table.columns], dtype=object).T


def _bounded(table: CleanTable) -> pd.DataFrame:
    few = table.order[1] < SHARE_OF_FEW * 256
    cells = table.text
    return sample_rows(cells, min(MAX_ROWS_OF_FEW if few else MAX_ROWS, MAX_CELLS // cells.shape[1]))


def _folder(name: str) -> str:
    return name.replace("/", "__")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--to", type=Path, required=True, help="directory for the corpus")
    data = Path(os.environ.get("RFOD_DATA", "../shared/data"))
    parser.add_argument("--dirty", type=Path, default=data / "dirty", help="tables with known errors")
    parser.add_argument("--only", default="", help="only tables whose name contains this")
    parser.add_argument("--list", type=Path, help="write the list of tables and checksums here as well")
    arguments = parser.parse_args()
    index: list[dict[str, Any]] = []
    packages: list[dict[str, Any]] = []
    published = dirty_tables(arguments.dirty)
    for place, table in enumerate(clean_tables(dirty.text("clean") for dirty in published)):
        if arguments.only in table.name:
            packages.append(table.record())
            for version in package_versions(table, place):
                version.write(arguments.to)
                index.append(version.record())
    for dirty in published:
        if arguments.only in dirty.name:
            for version in dirty_versions(dirty):
                version.write(arguments.to)
                index.append(version.record())
    arguments.to.mkdir(parents=True, exist_ok=True)
    content = {"kinds": errors.CODES, "versions": index}
    (arguments.to / "index.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    if arguments.list:
        short = [
            {
                key: entry[key]
                for key in ("table", "version", "family", "generator", "share", "wrong", "sha256", "sha256_wrong")
            }
            for entry in index
        ]
        listing = {"kinds": errors.CODES, "tables": packages, "versions": short}
        lines = json.dumps(listing).replace("}, {", "},\n{").replace("[{", "[\n{")
        arguments.list.write_text(lines + "\n", encoding="utf-8")
    print(f"{len(index)} versions of {len({entry['table'] for entry in index})} tables in {arguments.to}")


if __name__ == "__main__":
    main()
