"""Load damaged variants of a model file and say what came of each: run as a program, so that a crash is seen.

    python damaged_models.py model.rfod probe.arrow

Prints one JSON object per variant: its name, and "refused", "identical", "altered" or the exception that escaped.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import rfod

Members = dict[str, bytes]
N_FLIPS, N_TRUNCATIONS, N_SWAPS, N_BYTES, N_NUMBERS = 500, 120, 60, 120, 900


def unpack(data: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(members: Members) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def header_npy(header: str, body: bytes = b"") -> bytes:
    """A .npy file with any text as its header."""
    text = header.encode("latin1") + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


def with_array(members: Members, name: str, data: bytes) -> bytes:
    """The file with one array replaced, and a checksum that vouches for it."""
    return with_header(
        members | {f"arrays/{name}.npy": data},
        lambda header: header["checksums"].update({name: hashlib.sha256(data).hexdigest()}),
    )


def with_header(members: Members, change: Callable[[dict[str, Any]], Any]) -> bytes:
    header = json.loads(members["model.json"])
    change(header)
    return pack(members | {"model.json": json.dumps(header).encode()})


def read(members: Members, name: str) -> np.ndarray:
    return np.load(io.BytesIO(members[f"arrays/{name}.npy"]))


def broken_files(good: bytes, members: Members, rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    """Accidents: the file may come out refused or, where nothing that matters was hit, identical."""
    for position in rng.integers(8 * len(good), size=N_FLIPS):
        data = bytearray(good)
        data[position // 8] ^= 1 << (position % 8)
        yield f"bit {position} flipped", bytes(data)
    # the directory at the end of a zip is small, and every byte of it is a place to go wrong
    directory = good.rfind(b"PK\x01\x02", 0, -600)
    for position in rng.integers(directory, len(good), size=N_BYTES):
        data = bytearray(good)
        data[position] = rng.integers(256)
        yield f"byte {position} overwritten", bytes(data)
    for length in rng.integers(len(good), size=N_TRUNCATIONS):
        yield f"cut at {length}", good[:length]
    names = list(members)
    for _ in range(N_SWAPS):
        one, other = rng.choice(len(names), 2, replace=False)
        swapped = members | {names[one]: members[names[other]], names[other]: members[names[one]]}
        yield f"{names[one]} and {names[other]} swapped", pack(swapped)


def no_models(members: Members) -> Iterator[tuple[str, bytes]]:
    """Files that must be refused, though zip, checksums and JSON are in order."""
    yield "empty", b""
    yield "text", b"not a model\n" * 50
    yield "empty zip", pack({})
    yield "other zip", pack({"hello.txt": b"hello"})
    for name in members:
        yield f"{name} removed", pack({key: data for key, data in members.items() if key != name})
    for text in (b"", b"{", b"[]", b"null", b'"x"', b"[" * 100_000, b"\xff\xfe", b'{"format": "rfod model"}'):
        yield f"model.json is {text[:9]!r}", pack(members | {"model.json": text})

    def header(name: str, change: Callable[[dict[str, Any]], Any]) -> tuple[str, bytes]:
        return f"header: {name}", with_header(members, change)

    yield header("future version", lambda h: h.update(format_version=3))
    yield header("version 0", lambda h: h.update(format_version=0))
    yield header("version true", lambda h: h.update(format_version=True))
    yield header("version text", lambda h: h.update(format_version="1"))
    yield header("other format", lambda h: h.update(format="other"))
    yield header("seed text", lambda h: h.update(seed="0"))
    yield header("seed negative", lambda h: h.update(seed=-1))
    yield header("seed huge", lambda h: h.update(seed=2**63))
    yield header("no checksum", lambda h: h["checksums"].pop("trees.words"))
    yield header("wrong checksum", lambda h: h["checksums"].update({"trees.words": "0" * 64}))
    yield header("checksum list", lambda h: h["checksums"].update({"trees.words": []}))
    for key in ("params", "seed", "features", "checksums", "schema", "evidence"):
        yield header(f"no {key}", lambda h, key=key: h.pop(key))
        yield header(f"{key} null", lambda h, key=key: h.update({key: None}))
    for key in json.loads(members["model.json"])["params"]:
        if key in ("uncertainty", "aggregation", "distance", "trim"):  # the others serve fit only, and have defaults
            yield header(f"param {key} removed", lambda h, key=key: h["params"].pop(key))
        yield header(f"param {key} odd", lambda h, key=key: h["params"].update({key: [1, {}]}))
    yield header("param unknown", lambda h: h["params"].update(evil=1))
    yield header("param alpha NaN", lambda h: h["params"].update(alpha=float("nan")))
    yield header("schema without columns", lambda h: h["schema"].update(columns=[], names=[]))
    yield header("column of odd kind", lambda h: h["schema"]["columns"][0].update(kind="odd"))
    yield header("column of other kind", lambda h: h["schema"]["columns"][0].update(kind="categorical"))
    yield header("column of odd type", lambda h: h["schema"]["columns"][0].update(arrow_type="list<double>"))
    yield header("column named twice", lambda h: h["schema"]["columns"][0].update(name="double"))
    yield header("a column fewer", lambda h: h["schema"]["columns"].pop())
    yield header("a feature fewer", lambda h: h["features"].pop())
    yield header("a feature twice", lambda h: h["features"].append(h["features"][-1]))
    yield header("feature of no column", lambda h: h["features"][0].update(column=99))
    yield header("feature of column -1", lambda h: h["features"][0].update(column=-1))
    yield header("feature with 300 codes", lambda h: h["features"][0].update(n_codes=300))
    yield header("feature with 1e30 codes", lambda h: h["features"][0].update(n_codes=10**30))

    city = next(
        j for j, column in enumerate(json.loads(members["model.json"])["schema"]["columns"]) if column["categories"]
    )
    yield header("a category fewer", lambda h: h["schema"]["columns"][city]["categories"].pop())
    yield header("a category twice", lambda h: h["schema"]["columns"][city]["categories"].append("Oslo"))
    yield header(
        "a category of lone surrogates", lambda h: h["schema"]["columns"][city]["categories"].__setitem__(0, "\ud800")
    )
    yield from no_arrays(members)


def no_arrays(members: Members) -> Iterator[tuple[str, bytes]]:
    """Arrays that must be refused, each under a valid checksum."""
    names = [name.removeprefix("arrays/").removesuffix(".npy") for name in members if name != "model.json"]
    for name in names:
        array = read(members, name)
        yield f"{name}: no npy", with_array(members, name, b"nonsense")
        yield f"{name}: empty", with_array(members, name, b"")
        yield f"{name}: objects", with_array(members, name, npy(np.array([{"a": 1}] * len(array), dtype=object)))
        yield f"{name}: text", with_array(members, name, npy(array.astype(str)))
        yield (
            f"{name}: big-endian",
            with_array(
                members,
                name,
                npy(array.astype(array.dtype.newbyteorder(">").str.replace("|", ">") if array.itemsize > 1 else "i8")),
            ),
        )
        yield f"{name}: other width", with_array(members, name, npy(np.zeros(array.shape, np.int8)))
        yield f"{name}: one axis more", with_array(members, name, npy(array[..., None]))
        yield f"{name}: scalar", with_array(members, name, npy(array.dtype.type(1)))
        if name != "calibration" and array.size:  # a sample: any number of scores will do
            yield f"{name}: one more", with_array(members, name, npy(np.concatenate([array, array[-1:]])))
            yield f"{name}: one fewer", with_array(members, name, npy(array[:-1]))
        if array.size:
            yield f"{name}: none", with_array(members, name, npy(array[:0]))
        descr = np.lib.format.dtype_to_descr(array.dtype)
        for shape in ("(1000000000000,)", "(-1,)", "(9223372036854775807, 9223372036854775807)", "(10000000000,)"):
            text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
            yield f"{name}: shape {shape}", with_array(members, name, header_npy(text, array.tobytes()))
    for text in (
        "{'descr': (",
        "(" * 5000,
        "{}",
        "None",
        "{'descr': '<f8', 'shape': (3L,), 'fortran_order': False}",
        "\xff",
        "1" * 9000,
    ):
        yield f"npy header {text[:20]!r}", with_array(members, "edges", header_npy(text))

    absurd: dict[str, list[float]] = {
        "edges": [np.nan, np.inf, 1e300],
        "column.value_range": [np.nan, np.inf, -1.0],
        "calibration": [np.nan, np.inf, 1e300],
        "forest.importances": [np.nan, np.inf, -0.5],
        "forest.n_draws": [0, -1, 2**62],
        "forest.kept": [-1, 10**6, 2**62],
        "forest.predictors": [0, -1, 10**6, 2**62],
        "trees.word_starts": [1, -1, 10**9, 2**62, 2**63 - 1],
        "trees.leaf_starts": [1, -1, 10**9, 2**62, 2**63 - 1],
        "trees.words": [-1, 2**62, 2**63 - 1, 1 << 29, 0xFFFF, 0],
        "trees.leaf_value": [np.nan, np.inf, -np.inf, 1e200],
        "trees.leaf_variance": [np.nan, np.inf, -1.0],
        "trees.entry_ends": [1, -1, 10**9, 2**62, 2**63 - 1],
        "trees.entry_class": [65535, 40000],
        "trees.entry_share": [np.nan, np.inf, -0.5, 0.0, 1.5],
        "column.floor": [np.nan, np.inf, -1.0, 1e300],
        "column.n_single": [-1],
        "scale.known": [np.nan, np.inf, -1.0, 1e300],
        "scale.typical": [np.nan, np.inf, 0.0, -1.0],
        "tail.known": [np.nan, np.inf, 1e300],
        "column.offsets": [np.nan, -0.5, 1e300],
        "sample.rows": [-1, 10**9, 2**62],
        "sample.codes": [-2, 10**6],
        "evidence.place": [-1, 10**9, 2**62],
        "evidence.counts": [-1, 0, 2**62],
        "evidence.is_number": [0, 2],
        "evidence.decimals": [-1, 2**62],
        "evidence.facts": [np.nan, np.inf, -np.inf, 1e300],
        "form.breaks": [np.nan, np.inf, 0.0, -1.0],
        "form.floors": [-1, 2**62],
        "form.ratios": [np.nan, -1.0, 1e300],
        "form.lowest": [-1, 2**62],
        "form.n_keys": [-1, 10**9, 2**62, 2**63 - 1],
        "form.keys": [2**63 - 1],
        "form.counts": [0, -1, 2**62],
        "texts.n_values": [-1, 10**9, 2**62, 2**63 - 1],
        "texts.value_rows": [-1, 0, 1, 2**62],
        "texts.value_bytes": [-1, 0, 10**9, 2**62],
        "texts.values": [0xFF, 0xC3],
        "texts.words": [0xFF, 0xC3],
        "numbers.n_values": [-1, 0, 2**62],
        "numbers.negative": [np.nan, -0.5, 1.5],
        "numbers.quantiles": [np.nan, np.inf, -np.inf, 1e200],
        "numbers.n_lowest": [-1, 0, 65, 2**62],
        "numbers.lowest": [np.nan, np.inf, 1e200],
        "numbers.residuals": [np.nan, np.inf, -1.0],
        "votes.n_determinants": [-1, 9, 2**62],
        "votes.columns": [-1, 10**6, 2**62],
        "votes.agreement": [np.nan, -0.5, 1.5],
        "votes.n_groups": [-1, 0, 10**9, 2**62],
        "votes.groups": [2**63 - 1],
        "votes.first_rows": [0, -1, 2**62],
        "votes.second_rows": [-1, 2**62],
        "rules.kind": [5, 255],
        "rules.columns": [-1, 10**6, 2**62],
        "rules.rows": [-1, 2**62],
        "rules.resolution": [np.nan, -1.0, 2.0],
    }
    for name, values in absurd.items():
        for value in values:
            array = read(members, name).copy()
            assert array.size, f"the model has no {name}"
            array.flat[0] = value
            yield f"{name}: first is {value}", with_array(members, name, npy(array))
    for row in range(len(read(members, "lengths"))):
        for value in (-1, 10**9, 2**62, 2**63 - 1, None):
            lengths = read(members, "lengths").copy()
            lengths[row, 0] = lengths[row, 0] + 1 if value is None else value
            yield f"lengths: first of row {row} is {value}", with_array(members, "lengths", npy(lengths))
    kept = read(members, "forest.kept").copy()
    kept[1] = kept[0]
    yield "kept: twice the same", with_array(members, "forest.kept", npy(kept))
    yield "calibration: falling", with_array(members, "calibration", npy(read(members, "calibration")[::-1]))


def odd_numbers(members: Members, rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    """Single numbers changed at random under a valid checksum: refused, or a model that still scores."""
    unchecked = ("column.fitness", "forest.fitness", "forest.importances", "forest.n_draws", "calibration")
    names = [path.removeprefix("arrays/").removesuffix(".npy") for path in members if path != "model.json"]
    names = [name for name in names if name not in unchecked and read(members, name).size] + ["trees.words"] * 11
    for number in range(N_NUMBERS):
        name = names[number % len(names)]
        array = read(members, name).copy()
        place, bit = rng.integers(array.size), int(rng.integers(8 * array.itemsize))
        array.reshape(-1).view(np.uint8)[place * array.itemsize + bit // 8] ^= np.uint8(1 << (bit % 8))
        yield f"{name}: bit {bit} of number {place}", with_array(members, name, npy(array))
    for row, column in np.ndindex(*(np.array(read(members, "lengths").shape) - (0, 1))):
        lengths = read(members, "lengths").copy()
        lengths[row, column : column + 2] += (1, -1)
        yield f"lengths: one of row {row} moves to column {column}", with_array(members, "lengths", npy(lengths))


def outcome(path: str, probe: pa.Table, wanted: rfod.Detection) -> str:
    """What loading the file and judging the probe with it comes to."""
    try:
        detector = rfod.load(path).set_params(n_jobs=1)
    except rfod.ModelFormatError as error:
        return "refused" if len(str(error)) > 20 else f"refused without a reason: {error}"
    found = detector.detect(probe)
    if not np.isfinite(found.row_scores).all():
        return "row scores are no numbers"
    same = np.array_equal(found.cell_scores, wanted.cell_scores, equal_nan=True)
    same &= np.array_equal(found.row_scores, wanted.row_scores) and found.expected.equals(wanted.expected)
    found.top(2)
    found.intervals([0])
    found.blame(0)
    chance = found.cell_probability
    if not ((chance >= 0) & (chance <= 1)).all():
        return "probabilities are no probabilities"
    found.probabilities.describe([(0, column) for column in range(chance.shape[1])])
    same &= np.array_equal(chance, wanted.cell_probability)
    return "identical" if same else "altered"


def main() -> None:
    model_path, probe_path = sys.argv[1:]
    warnings.simplefilter("error")
    with pa.OSFile(probe_path) as file:
        probe = pa.ipc.open_file(file).read_all()
    wanted = rfod.load(model_path).detect(probe)
    good = Path(model_path).read_bytes()
    members = unpack(good)
    groups = {
        "accident": broken_files(good, members, np.random.default_rng(0)),
        "no model": no_models(members),
        "odd number": odd_numbers(members, np.random.default_rng(1)),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "damaged.rfod")  # noqa: PTH118  # load takes text as well
        for group, variants in groups.items():
            for name, data in variants:
                Path(path).write_bytes(data)
                try:
                    found = outcome(path, probe, wanted)
                except Exception as error:  # the report is what this program is for
                    found = repr(error)[:300]
                sys.stdout.write(json.dumps({"group": group, "name": name, "outcome": found}) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
