"""Model files: round trips, damage, interrupted writing."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import stat
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hostile_models
import rfod
from damaged_models import header_npy, npy, unpack, with_array
from rfod import ModelFormatError
from rfod._io import archives
from rfod._io.interface import ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import read_all
from rfod._model import persist
from tables import IN_LIBRARY, as_arrow, as_pandas, mixed_columns, small

COLUMNS = mixed_columns(120)


@pytest.fixture(scope="module")
def detector():
    return small(n_estimators=4).fit(as_arrow(COLUMNS))


@pytest.fixture
def path(detector, tmp_path):
    detector.save(tmp_path / "model.rfod")
    return tmp_path / "model.rfod"


@pytest.mark.parametrize("library", IN_LIBRARY)
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"distance": "gower", "aggregation": "mean"},
        {"uncertainty": "raw", "beta": 1.0, "n_estimators": 1},
        {"column_types": {"count": "categorical", "city": "ignore"}, "trim": 0.1, "max_bins": 2},
    ],
)
def test_round_trip(library, params, tmp_path):
    table = IN_LIBRARY[library](COLUMNS)
    before = small(**params).fit(table)
    before.save(tmp_path / "m.rfod")
    after = rfod.load(str(tmp_path / "m.rfod"))
    assert after.get_params() == before.get_params()
    assert after.offset_ == before.offset_
    assert after.n_features_in_ == 8
    assert after.feature_names_in_.tolist() == list(COLUMNS)
    one, other = before.detect(table), after.detect(table)
    for name in ("row_scores", "cell_scores", "uncertainty", "weights", "surprise", "p_values", "row_p_values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
    assert one.expected.equals(other.expected)
    assert one.top(5).equals(other.top(5))
    for name, summary in before.forests_.items():
        again = after.forests_[name]
        assert (again.measure, again.importances, again.n_leaves) == (
            summary.measure,
            summary.importances,
            summary.n_leaves,
        )
        np.testing.assert_array_equal(again.fitness, summary.fitness)
        np.testing.assert_array_equal(again.tree_fitness, summary.tree_fitness)
        np.testing.assert_array_equal(again.kept, summary.kept)


def test_round_trip_of_odd_tables(tmp_path):
    frames = [
        pd.DataFrame({"same": [1.0] * 5, "word": ["x"] * 5}),
        pd.DataFrame({"a": [1.0, np.inf, -np.inf, 2.0], "b": [True, None, False, True]}),
        pd.DataFrame({"a": [1e150, -1e150, 1e149, 5e-324], "b": pd.Categorical([1.5, 2.5, 1.5, None])}),
        pd.DataFrame(
            {"ø <script>": [1, 2, 3], "": ["\n", "'", '"'], "when": pd.date_range("2024", periods=3, tz="UTC")}
        ),
        np.arange(12.0).reshape(4, 3) ** 2,
    ]
    for table in frames:
        before = small(n_estimators=2, min_samples_leaf=1).fit(table)
        before.save(tmp_path / "m.rfod")
        found, again = before.detect(table), rfod.load(tmp_path / "m.rfod").detect(table)
        np.testing.assert_array_equal(found.cell_scores, again.cell_scores)
        assert found.expected.equals(again.expected)


def test_codes_of_a_text_file_are_stored_as_text(tmp_path):
    """A text file reads their digits as numbers before the schema calls them codes."""
    lines = [f"{10_000 + 37 * (row % 30)},{row % 2 + 5},{1.5 * row}" for row in range(200)]
    (tmp_path / "codes.csv").write_text("\n".join(["zip,two,x", *lines]))
    table = read_all(open_source(str(tmp_path / "codes.csv"), ReadOptions())).table
    before = small(n_estimators=2).fit(table)
    assert [column.kind for column in before.model_.schema.columns] == ["code", "categorical", "numeric"]
    before.save(tmp_path / "m.rfod")
    np.testing.assert_array_equal(
        rfod.load(tmp_path / "m.rfod").detect(table).row_scores, before.detect(table).row_scores
    )


def test_a_loaded_detector_is_a_whole_detector(path):
    table = as_arrow(COLUMNS)
    loaded = rfod.load(path)
    assert set(loaded.predict(table)) <= {-1, 1}
    loaded.save(path)
    np.testing.assert_array_equal(rfod.load(path).score_samples(table), loaded.score_samples(table))
    refitted = loaded.fit(table)
    np.testing.assert_array_equal(refitted.score_samples(table), small(n_estimators=4).fit(table).score_samples(table))


def test_the_file_is_json_and_plain_arrays(path):
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert archive.testzip() is None
        assert names[0] == "model.json"
        header = json.loads(archive.read("model.json"))
        assert header["format"] == "rfod model"
        assert header["format_version"] == 2
        assert set(header["checksums"]) == {Path(name).stem for name in names[1:]}
        for name in names[1:]:
            with archive.open(name) as member:
                assert not np.load(member, allow_pickle=False).dtype.hasobject
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_largest_numbers_come_back(tmp_path):
    values = np.random.default_rng(0).uniform(-9e149, 9e149, (600, 2))
    detector = small(n_estimators=4).fit(values)
    detector.save(tmp_path / "large.rfod")
    loaded = rfod.load(tmp_path / "large.rfod")
    np.testing.assert_array_equal(loaded.score_samples(values), detector.score_samples(values))


def test_newer_formats_ask_for_an_upgrade(path):
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("model.json"))
    with zipfile.ZipFile(path, "w") as archive:  # the arrays of a newer format may be others
        archive.writestr("model.json", json.dumps(header | {"format_version": 7, "rfod_version": "9.1"}))
        archive.writestr("forest.bin", b"")
    with pytest.raises(ModelFormatError, match=r"(?s)format 7, written by rfod 9\.1.*Hint: upgrade rfod"):
        rfod.load(path)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no way to ask for the largest memory of a process")
def test_a_small_file_cannot_take_much_memory_or_time(path, tmp_path):
    """In another process, whose memory is measured."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    n_files = hostile_models.write_files(path, folder)
    program = hostile_models.__file__
    done = subprocess.run([sys.executable, program, path, folder], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == n_files >= 50
    assert {line["outcome"] for line in lines} == {"refused", "loaded"}
    assert [line for line in lines if line["bytes"] > 200e6][:1] == []
    assert [line for line in lines if line["seconds"] > 2] == []


@pytest.mark.parametrize("bytes_of", [lambda: bytes(2**26), lambda: b""])
def test_members_that_no_model_has_are_refused(path, bytes_of):
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes_of())
    with pytest.raises(ModelFormatError, match="'zeros' is no part of a model"):
        rfod.load(path)


def test_arrays_that_unpack_too_far_are_refused(path):
    members = unpack(path.read_bytes())
    path.write_bytes(with_array(members, "calibration", npy(np.zeros(10**7))))
    with pytest.raises(ModelFormatError, match="unpacks to an absurd size"):
        rfod.load(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_occurs_twice_is_refused(path):
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", archive.read("model.json"))
    with pytest.raises(ModelFormatError, match="a member occurs twice"):
        rfod.load(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_to_pack_are_refused(path, method):
    members = unpack(path.read_bytes())
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(ModelFormatError, match="packed by an unknown method"):
        rfod.load(path)


def test_encrypted_members_are_refused(path):
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1  # the flag in the directory, of the first member
    path.write_bytes(data)
    with pytest.raises(ModelFormatError, match=r"'model\.json' is encrypted"):
        rfod.load(path)


def test_a_shape_is_checked_before_the_array_is_made(path):
    members = unpack(path.read_bytes())
    text = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    path.write_bytes(with_array(members, "calibration", header_npy(text, bytes(80))))
    with pytest.raises(ModelFormatError, match="not the size its shape says"):
        rfod.load(path)


def test_a_model_that_packs_too_well_can_still_be_loaded(tmp_path, monkeypatch):
    """Thousands of constant columns have millions of importances, all 0."""
    monkeypatch.setattr(archives, "FREE_BYTES", 2**20)
    columns = {f"x{j}": np.ones(4) for j in range(500)}
    small(n_estimators=1).fit(pd.DataFrame(columns)).save(tmp_path / "m.rfod")
    assert (tmp_path / "m.rfod").stat().st_size > 8 * 500**2
    assert rfod.load(tmp_path / "m.rfod").n_features_in_ == 500


def test_more_categories_than_a_file_has_room_for(tmp_path, monkeypatch):
    monkeypatch.setattr(persist, "LARGEST_JSON", 5_000)
    detector = small(n_estimators=1, column_types={"word": "categorical"})
    detector.fit(pd.DataFrame({"word": [f"w{i}" for i in range(900)], "x": np.arange(900) % 7}))
    with pytest.raises(rfod.SchemaError, match=r"(?s)has room for 5,000.*\(900\): column_types={'word': 'ignore'}"):
        detector.save(tmp_path / "m.rfod")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_damaged_files_are_refused_or_identical(path, tmp_path):
    """In another process, so that a crash is a failure of this test and not the end of all tests."""
    probe = tmp_path / "probe.arrow"
    table = as_arrow(mixed_columns(15, seed=3))
    with pa.OSFile(str(probe), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    program = Path(__file__).with_name("damaged_models.py")
    done = subprocess.run([sys.executable, program, path, probe], capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    last = lines[-1]["name"] if lines else "the undamaged file"
    assert done.returncode == 0, f"the process ended with {done.returncode} after {last}: {done.stderr[-2000:]}"
    assert len(lines) >= 1000
    allowed = {
        "accident": {"refused", "identical"},
        "no model": {"refused"},
        "odd number": {"refused", "identical", "altered"},
    }
    assert [line for line in lines if line["outcome"] not in allowed[line["group"]]] == []
    counts = Counter((line["group"], line["outcome"]) for line in lines)
    assert counts["accident", "refused"] > 500
    assert counts["odd number", "altered"] > 0  # otherwise nothing got past the checksums


# ------------------------------------------------------------------------------------------------------------- places


def test_places_without_a_model(tmp_path):
    with pytest.raises(FileNotFoundError):
        rfod.load(tmp_path / "none.rfod")
    with pytest.raises(OSError, match=r"[Dd]irectory|denied"):
        rfod.load(tmp_path)
    (tmp_path / "empty.rfod").touch()
    with pytest.raises(ModelFormatError, match=r"empty\.rfod is not a whole rfod model file"):
        rfod.load(tmp_path / "empty.rfod")


def test_saving_to_no_place(detector, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere.m\.rfod'"):
        detector.save(tmp_path / "nowhere" / "m.rfod")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        detector.save(tmp_path / "folder")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_saving_to_a_read_only_folder(detector, tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            detector.save(tmp_path / "m.rfod")
        assert list(tmp_path.iterdir()) == []
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("moment", ["member", "rename"])
def test_an_interrupted_save_leaves_the_old_file(detector, path, monkeypatch, error, moment):
    before = path.read_bytes()
    n_written = 0

    def write_some(archive, name, data, method):
        nonlocal n_written
        n_written += 1
        if n_written > 5:
            raise error
        archive.writestr(name, data)

    def refuse(self, target):
        raise error

    if moment == "member":
        monkeypatch.setattr(archives, "add_member", write_some)
    else:
        monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(type(error)):
        small(n_estimators=2).fit(as_pandas(COLUMNS)).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["model.rfod"]


@pytest.mark.skipif(os.name == "nt", reason="no permissions of this kind")
def test_the_file_has_the_permissions_of_any_new_file(path):
    other = path.with_name("other")
    other.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)


def test_an_object_array_is_never_unpickled(path):
    """A member whose pickle would leave a trace behind, under a valid checksum, in the place of an array."""
    trace = path.with_name("trace")

    class Evil:
        def __reduce__(self):
            return Path.touch, (trace,)

    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "|O", "fortran_order": False, "shape": (1,)})
    data = buffer.getvalue() + pickle.dumps(np.array([Evil()], dtype=object))
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["model.json"])
    header["checksums"]["forest.kept"] = hashlib.sha256(data).hexdigest()
    members |= {"model.json": json.dumps(header).encode(), "arrays/forest.kept.npy": data}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFormatError, match=r"arrays/forest\.kept\.npy is of type object"):
        rfod.load(path)
    assert not trace.exists()
