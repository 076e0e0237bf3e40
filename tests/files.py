"""A table in Parquet files, and digests of what is made from them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import rfod
from tables import as_arrow, mixed_columns

N_ROWS, SAMPLE_ROWS = 6_000, 2_000
FIT: dict[str, Any] = {"sample_rows": SAMPLE_ROWS, "n_estimators": 6, "key": "id"}


def mixed_table(n_rows: int = N_ROWS) -> pa.Table:
    """Every kind of column, a dictionary and a key."""
    rows = as_arrow(mixed_columns(n_rows))
    return rows.append_column("place", rows["city"].dictionary_encode()).append_column("id", pa.array(range(n_rows)))


def write_files(folder: Path, group_rows: int = 500) -> Path:
    """The table as files of equal names in two folders, and one more."""
    rows = mixed_table()
    for name, start, stop in (("a/x.parquet", 0, 2_500), ("b/x.parquet", 2_500, 4_000), ("b/y.pq", 4_000, N_ROWS)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows.slice(start, stop - start), folder / name, row_group_size=group_rows)
    return folder


def model_digest(detector: rfod.RFOD, folder: Path) -> str:
    detector.save(folder / "digested.rfod")
    return hashlib.sha256((folder / "digested.rfod").read_bytes()).hexdigest()


def score_digest(scores: pa.Table) -> str:
    """Of scores and p-values in the order of keys, none of which is missing or there twice."""
    scores = scores.sort_by("key")
    assert scores["key"].to_pylist() == list(range(N_ROWS))
    return hashlib.sha256(b"".join(scores[name].to_numpy().tobytes() for name in ("score", "p_value"))).hexdigest()


def read_scores(folder: Path) -> pa.Table:
    return ds.dataset(folder, format="parquet").to_table()


def output_digest(folder: Path) -> str:
    """Of all files of a directory, with their names."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()
