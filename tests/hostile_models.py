"""Files of at most 1 MB that are made to take memory or time. As a program it loads those of a folder and measures:

    python hostile_models.py model.rfod folder

Prints one JSON object per file: its name, "refused", "loaded" or the exception that escaped, the seconds it took, and
by how many bytes the largest memory of the process has grown since it loaded the model.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import rfod
from damaged_models import Members, header_npy, npy, pack, unpack, with_array, with_header
from rfod._io.source_stats import read_stats

MOST_BYTES = 2**20
ZEROS = {
    "trees.entry_ends": np.int64,
    "trees.word_starts": np.int64,
    "trees.entry_class": np.uint16,
    "trees.entry_share": np.float32,
}
ZEROS |= {"forest.kept": np.int64, "trees.words": np.int64, "calibration": np.float64, "sample.codes": np.int32}
ZEROS |= {"form.n_keys": np.int64, "form.keys": np.int64, "texts.n_values": np.int64, "texts.values": np.uint8}
ZEROS |= {"texts.value_bytes": np.int64, "votes.n_groups": np.int64, "votes.groups": np.int64, "rules.kind": np.uint8}


def filled_up(data: bytes) -> bytes:
    """The file with facts that nothing packs, up to the largest size that is tried."""
    file = io.BytesIO(data)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr("source.json", os.urandom(max(MOST_BYTES - len(data) - 200, 0)))
    return file.getvalue()


def headers(members: Members) -> Iterator[tuple[str, bytes]]:
    """Headers with one field more, of few bytes in the file and many in memory."""
    good = members["model.json"].removesuffix(b"}")
    parts = {"lists": b"[],", "objects": b"{},", "fields": b'{"":0},', "nested": b"[" * 200 + b"]" * 200 + b","}
    parts |= {"numbers": b"1e9,", "texts": b'"ab",', "emoji": '"😀a",'.encode(), "digits": b"1" * 4000 + b","}
    for name, part in parts.items():
        for size in (10**6, 3 * 10**6, 3 * 10**7):
            data = pack(members | {"model.json": good + b', "more": [' + part * (size // len(part)) + b"0]}"})
            yield f"{name} of {size:,} bytes", filled_up(data)
    yield "a number of a million digits", pack(members | {"model.json": good + b', "more": ' + b"1" * 10**6 + b"}"})
    yield "unclosed lists", pack(members | {"model.json": b"[" * 10**7})
    yield "unclosed text", pack(members | {"model.json": b'"' + b'\\"' * 10**7})
    for n_columns in (3_000, 50_000):
        column = json.loads(members["model.json"])["schema"]["columns"][0]
        columns = [column | {"name": f"x{j}"} for j in range(n_columns)]
        names = [column["name"] for column in columns]
        wide = with_header(members, lambda h, c=columns, n=names: h["schema"].update(columns=c, names=n, left_out={}))
        zeros = np.zeros((min(n_columns, 10_000),) * 2)
        yield f"{n_columns:,} columns", with_array(unpack(wide), "forest.importances", npy(zeros))
    for n_categories in (100_000, 1_000_000):
        column = {"name": "a", "kind": "categorical", "arrow_type": "int64", "n_missing": 0, "from_text": False}
        column |= {"categories": list(range(n_categories)), "n_distinct": n_categories}
        schema = {"columns": [column, column | {"name": "b"}], "names": ["a", "b"], "left_out": {}}
        yield f"{n_categories:,} categories", with_header(members, lambda h, s=schema: h["schema"].update(s))


def arrays(members: Members) -> Iterator[tuple[str, bytes]]:
    """Arrays that pack well, or claim to be large."""
    for name, dtype in ZEROS.items():
        zeros = np.zeros(75 * 10**6 // np.dtype(dtype).itemsize, dtype)
        yield f"{name} of 75,000,000 bytes", filled_up(with_array(members, name, npy(zeros)))
        text = f"{{'descr': {np.dtype(dtype).str!r}, 'fortran_order': False, 'shape': (10000000000,), }}"
        yield f"{name} that claims to be large", with_array(members, name, header_npy(text))
    ascending = np.arange(10**6)
    many = members
    for name in ("trees.word_starts", "forest.kept", "trees.words", "trees.leaf_starts", "trees.entry_ends"):
        many = unpack(with_array(many, name, npy(ascending)))
    yield "many small trees", filled_up(pack(many))
    many = members
    n_columns = len(json.loads(members["model.json"])["schema"]["columns"])
    for n_texts in (10**5, 10**6, 10**7):
        lengths, letters = np.zeros(n_columns, np.int64), np.full(n_texts, ord("a"), np.uint8)
        lengths[0] = n_texts
        arrays_of = {"n_values": lengths, "value_rows": np.full(n_texts, 2), "value_bytes": np.ones(n_texts, np.int64)}
        for name, array in (arrays_of | {"values": letters}).items():
            many = unpack(with_array(many, f"texts.{name}", npy(array)))
        yield f"{n_texts:,} short texts", filled_up(pack(many))


def facts(members: Members) -> Iterator[tuple[str, bytes]]:
    """Facts about the source that take much memory."""
    parts = {"lists": b"[],", "fields": b'{"":0},', "nested": b"[" * 200 + b"]" * 200 + b",", "digits": b"1"}
    for name, part in parts.items():
        for size in (10**6, 10**7, 10**8):
            data = b'{"columns": [' + part * (size // len(part)) + b"0]}"
            yield f"facts: {name} of {size:,} bytes", pack(members | {"source.json": data})


def write_files(model: Path, folder: Path) -> int:
    """Write every file that is small enough; how many."""
    members = unpack(model.read_bytes())
    files = [(n, d) for group in (headers, arrays, facts) for n, d in group(members) if len(d) <= MOST_BYTES]
    for number, (name, data) in enumerate(files):
        folder.joinpath(f"{number:03d} {name}.rfod").write_bytes(data)
    return len(files)


def main() -> None:
    model, folder = sys.argv[1:]
    rfod.load(model)
    before = _largest_memory()
    for path in sorted(Path(folder).iterdir()):
        start = time.perf_counter()
        try:
            read_stats(path)
            rfod.load(path)
            outcome = "loaded"
        except rfod.ModelFormatError as error:
            outcome = "refused" if len(str(error)) < 300 else f"refused at length: {error}"
        except BaseException as error:  # the report is what this program is for
            outcome = repr(error)[:300]
        seconds = time.perf_counter() - start
        line = {"name": path.name, "outcome": outcome, "seconds": seconds, "bytes": _largest_memory() - before}
        sys.stdout.write(json.dumps(line) + "\n")


def _largest_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()
