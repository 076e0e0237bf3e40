"""Tables of many files on the threads of one machine: bits, manifests, checkpoints, damaged and full disks."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import rfod
from faults import FaultyExecutor, run_killed_driver
from files import FIT, N_ROWS, mixed_table, model_digest, output_digest, read_scores, score_digest, write_files
from rfod import distributed
from rfod._engine import scoring
from rfod._io import columnar
from rfod._io.interface import InputError, OutputError
from rfod._model.executor import Threads


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar, "PART_ROWS", 1_000)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def fitted(files: Path) -> rfod.RFOD:
    return distributed.fit(files, **FIT)


def test_model_depends_neither_on_row_groups_nor_on_threads(files: Path, fitted: rfod.RFOD, tmp_path: Path) -> None:
    other = write_files(tmp_path / "other", group_rows=333)
    digests = {
        model_digest(model, tmp_path)
        for model in (fitted, distributed.fit(other, **FIT), distributed.fit(f"{other}/*/*", **FIT))
    }
    assert len(digests) == 1
    one, two = (distributed.fit(other, engine=Threads(n), **FIT) for n in (1, 2))
    assert {model_digest(one, tmp_path), model_digest(two, tmp_path)} == digests
    assert model_digest(distributed.fit(files, **FIT, random_state=1), tmp_path) not in digests


def test_all_rows_as_the_sample_are_the_table(files: Path, tmp_path: Path) -> None:
    whole = distributed.fit(files, sample_rows=N_ROWS, n_estimators=6, exclude=["id"])
    frame = rfod.RFOD(n_estimators=6, random_state=0, exclude=["id"]).fit(mixed_table())
    assert model_digest(whole, tmp_path) == model_digest(frame, tmp_path)


def test_scores_are_those_of_a_table(files: Path, fitted: rfod.RFOD, tmp_path: Path) -> None:
    manifest = distributed.score(fitted, files, tmp_path / "out", key="id", cells=True, top=7)
    scores = read_scores(tmp_path / "out").sort_by("key")
    found = fitted.detect(mixed_table(), key="id")
    np.testing.assert_array_equal(scores["score"].to_numpy(), found.row_scores)
    np.testing.assert_array_equal(scores["p_value"].to_numpy(), found.row_p_values)
    assert sum(map(len, scores["cells"].to_pylist())) == int((found.surprise >= 2).sum())
    assert manifest == json.loads((tmp_path / "out/_manifest.json").read_text())
    assert sum(part["n_rows"] for part in manifest["parts"]) == manifest["n_rows"] == N_ROWS
    assert len(manifest["parts"]) == 7
    assert {part["path"] for part in manifest["parts"]} == {
        path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.parquet")
    }
    assert manifest["n_flagged"] == 7
    assert manifest["cut_off"] == {"score_at_least": float(np.sort(found.row_scores)[-7])}
    assert not list((tmp_path / "out").rglob(".*"))


@pytest.mark.parametrize("rate", [0.001, 0.05, 0.3, 0.9])
def test_false_discovery_rate_over_all_parts(files: Path, fitted: rfod.RFOD, tmp_path: Path, rate: float) -> None:
    manifest = distributed.score(fitted, files, tmp_path / "out", fdr=rate)
    found = fitted.detect(mixed_table())
    flagged = found.flag(fdr=rate)
    assert manifest["n_flagged"] == int(flagged.sum())
    limit = None if not flagged.any() else {"p_value_at_most": float(found.row_p_values[flagged].max())}
    assert manifest["cut_off"] == limit


def test_contamination_over_all_parts(files: Path, fitted: rfod.RFOD, tmp_path: Path) -> None:
    manifest = distributed.score(fitted, files, tmp_path / "out", contamination=0.1)
    flagged = fitted.detect(mixed_table()).flag(contamination=0.1)
    assert manifest["n_flagged"] == int(flagged.sum()) > 0


def test_row_probability_over_all_parts(files: Path, tmp_path: Path) -> None:
    out, fitted = tmp_path / "out", distributed.fit(files, **FIT, contamination=0.1)
    options: dict[str, Any] = {"key": "id", "cells": True, "row_probability": True}
    manifest = distributed.score(fitted, files, out, **options)
    scores = read_scores(out).sort_by("key")
    found = fitted.detect(mixed_table())
    assert scores.column_names == ["row", "key", "score", "p_value", "cells", "row_probability"]
    np.testing.assert_array_equal(scores["row_probability"].to_numpy(), found.row_probability)
    assert len(np.unique(found.row_probability)) > 1
    assert manifest["options"] == options
    assert manifest["n_flagged"] == int(found.flag().sum())
    for part in manifest["parts"]:
        data = (out / part["path"]).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (part["n_bytes"], part["sha256"])
    times = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    distributed.score(fitted, files, out, **options, top=3)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    with pytest.raises(OutputError, match="other options"):
        distributed.score(fitted, files, out, key="id", cells=True)


def test_row_probability_goes_on_where_it_stopped(files: Path, fitted: rfod.RFOD, tmp_path: Path) -> None:
    whole, out, seen = tmp_path / "whole", tmp_path / "out", []
    options: dict[str, Any] = {"key": "id", "row_probability": True}
    distributed.score(fitted, files, whole, **options)

    def stop(function: Any, place: str, *shared: Any) -> Any:
        seen.append(place)
        if len(seen) == 3:
            raise OutputError("stopped")
        return function(place, *shared)

    with pytest.raises(OutputError, match="stopped"):
        distributed.score(fitted, files, out, engine=FaultyExecutor(Threads(1), "_add_column", stop), **options)
    assert not (out / "_manifest.json").exists()
    counting = FaultyExecutor(Threads(2), "", lambda: None)
    distributed.score(fitted, files, out, engine=counting, **options)
    assert counting.n_tasks["_score_part"] == 0
    assert output_digest(out) == output_digest(whole)


def test_finished_parts_are_kept(files: Path, fitted: rfod.RFOD, tmp_path: Path) -> None:
    out = tmp_path / "out"
    distributed.score(fitted, files, out, key="id")
    expected = output_digest(out)
    (out / "_manifest.json").unlink()
    (out / "b/x.parquet.000000001000.parquet").unlink()
    (out / ".b.123.tmp").write_text("of a writer that was killed")
    counting = FaultyExecutor(Threads(2), "", lambda: None)
    distributed.score(fitted, files, out, engine=counting, key="id")
    assert counting.n_tasks["_score_part"] == 1
    assert output_digest(out) == expected
    assert distributed.score(fitted, files, out, key="id", top=3)["n_flagged"] == 3  # another rule, the same parts


def test_foreign_directories_are_refused(files: Path, fitted: rfod.RFOD, tmp_path: Path) -> None:
    out, moving = tmp_path / "out", tmp_path / "moving"
    shutil.copytree(files, moving)
    distributed.score(fitted, moving, out, key="id")
    expected = output_digest(out)

    def refused(words: str, *, model: rfod.RFOD = fitted, **options: Any) -> None:
        with pytest.raises(OutputError, match=words):
            distributed.score(model, moving, out, **{"key": "id"} | options)
        assert output_digest(out) == expected

    refused("other options", key=None)
    refused("other options", cells=True)
    refused("another model", model=distributed.fit(files, **FIT, random_state=1))
    pq.write_table(mixed_table(2_500), moving / "a/x.parquet", row_group_size=500)
    refused(r"a/x\.parquet has changed")
    pq.write_table(mixed_table(500), moving / "a/x.parquet", row_group_size=500)
    refused("no part of these scores")
    (out / "a/x.parquet.000000000000.parquet").write_bytes(b"PAR1")
    expected = output_digest(out)
    refused("no part of these scores")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "todo.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"todo\.txt is no part"):
        distributed.score(fitted, files, notes)
    (notes / "todo.txt").rename(notes / "_manifest.json")
    with pytest.raises(OutputError, match="no manifest"):
        distributed.score(fitted, files, notes)


def test_damaged_part_is_refused(files: Path, fitted: rfod.RFOD, tmp_path: Path) -> None:
    out = tmp_path / "out"
    manifest = distributed.score(fitted, files, out)
    path = out / manifest["parts"][0]["path"]
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    with pytest.raises(OutputError, match=rf"{path.name}: not what the manifest lists"):
        distributed.score(fitted, files, out)


def test_a_part_that_vanishes_is_named(
    files: Path, fitted: rfod.RFOD, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed.score(fitted, files, tmp_path / "out")
    monkeypatch.setattr(scoring, "read_bytes", lambda place: None)
    with pytest.raises(OutputError, match=r"\.parquet: the file is gone\. Hint: start again"):
        distributed.score(fitted, files, tmp_path / "out")


@pytest.mark.parametrize("fault", ["damaged", "gone"])
def test_input_that_cannot_be_read(files: Path, fitted: rfod.RFOD, tmp_path: Path, fault: str) -> None:
    copied, out = tmp_path / "files", tmp_path / "out"
    shutil.copytree(files, copied)
    victim = copied / "b/y.pq"
    whole, times = victim.read_bytes(), victim.stat()
    seen = []

    def break_input(function: Any, part: Any, *shared: Any) -> Any:
        if part.name == "b/y.pq" and not seen:
            seen.append(part)
            if fault == "gone":
                victim.unlink()
            else:
                victim.write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[len(whole) // 2 + 4 :])
                os.utime(victim, ns=(times.st_atime_ns, times.st_mtime_ns))
        return function(part, *shared)

    words = r"b/y\.pq: (cannot be read|the file has changed or is gone)"
    with pytest.raises(InputError, match=words):
        distributed.score(fitted, copied, out, engine=FaultyExecutor(Threads(1), "_score_part", break_input), key="id")
    assert seen
    finished = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    assert len(finished) == 5
    assert not (out / "_manifest.json").exists()
    seen.clear()
    victim.write_bytes(whole)
    os.utime(victim, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(InputError, match=words):
        distributed.fit(copied, engine=FaultyExecutor(Threads(1), "_count_part", break_input), **FIT)
    victim.write_bytes(whole)
    os.utime(victim, ns=(times.st_atime_ns, times.st_mtime_ns))
    distributed.score(fitted, copied, out, key="id")
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert score_digest(read_scores(out)) == score_digest(_scored(fitted, files, tmp_path))


def _scored(fitted: rfod.RFOD, files: Path, folder: Path) -> Any:
    distributed.score(fitted, files, folder / "undisturbed", key="id")
    return read_scores(folder / "undisturbed")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can make a small disk")
def test_full_disk(files: Path, fitted: rfod.RFOD, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("this container may not mount a disk")
    try:
        with pytest.raises(OutputError, match=f"cannot be written: {os.strerror(errno.ENOSPC)}"):
            distributed.score(fitted, files, disk / "out", key="id")
        finished = list((disk / "out").rglob("*.parquet"))
        assert 0 < len(finished) < 7
        assert not list(disk.rglob(".*"))
        subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)
        distributed.score(fitted, files, disk / "out", key="id")
        assert score_digest(read_scores(disk / "out")) == score_digest(_scored(fitted, files, tmp_path))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("name", ["_count_part", "_grow_run"])
def test_fit_goes_on_after_its_driver_was_killed(files: Path, fitted: rfod.RFOD, tmp_path: Path, name: str) -> None:
    kept = tmp_path / "kept"
    assert run_killed_driver("fit", "local", name, files, kept, tmp_path) == -9
    counting = FaultyExecutor(Threads(2), "", lambda: None)
    again = distributed.fit(files, engine=counting, checkpoint=kept, **FIT)
    assert model_digest(again, tmp_path) == model_digest(fitted, tmp_path)
    assert counting.n_tasks["_count_part"] == (4 if name == "_count_part" else 0)
    with pytest.raises(OutputError, match="the checkpoint of another fit"):
        distributed.fit(files, checkpoint=kept, **FIT, random_state=1)


def test_checkpoint_in_a_folder_of_something_else(files: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match="no checkpoint, and not empty"):
        distributed.fit(files, checkpoint=tmp_path, **FIT)


def test_score_goes_on_after_its_driver_was_killed(files: Path, fitted: rfod.RFOD, tmp_path: Path) -> None:
    kept, model = tmp_path / "kept", tmp_path / "model.rfod"
    fitted.save(model)
    assert run_killed_driver("score", "local", "_score_part", files, kept, model) == -9
    finished = len(list(kept.rglob("*.parquet")))
    assert 3 <= finished < 7
    assert not (kept / "_manifest.json").exists()
    counting = FaultyExecutor(Threads(2), "", lambda: None)
    distributed.score(model, files, kept, engine=counting, key="id", cells=True)
    assert counting.n_tasks["_score_part"] == 7 - finished
    assert score_digest(read_scores(kept)) == score_digest(_scored(fitted, files, tmp_path))


def test_what_cannot_be_read_in_parts(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(InputError, match=r"Parquet and Arrow files\. Hint"):
        distributed.fit(tmp_path / "t.csv")
    with pytest.raises(rfod.ParameterError, match="sample_rows"):
        distributed.fit(tmp_path, sample_rows=1)
