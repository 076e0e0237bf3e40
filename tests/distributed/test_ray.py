"""Ray gives the bits of one machine, whichever worker, machine or driver is lost."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faults
import rfod
from faults import FaultyExecutor, kill_node, kill_worker, run_killed_driver
from files import FIT, model_digest, output_digest, write_files
from rfod import distributed
from rfod._engine.ray_executor import RayExecutor
from rfod._io import columnar
from rfod._io.interface import InputError

ray = pytest.importorskip("ray", reason="ray is not installed. Hint: make test-distributed")
for module in (faults, sys.modules[__name__]):
    ray.cloudpickle.register_pickle_by_value(module)  # workers cannot import them
pytestmark = [  # Ray leaves its processes to the system, and its sockets open
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar, "PART_ROWS", 1_000)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def fitted(files: Path) -> rfod.RFOD:
    return distributed.fit(files, **FIT)


@pytest.fixture(scope="module")
def expected(files: Path, fitted: rfod.RFOD, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The digests of model and output of local threads."""
    folder = tmp_path_factory.mktemp("expected")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columnar, "PART_ROWS", 1_000)
        distributed.score(fitted, files, folder / "out", key="id", cells=True)
    return model_digest(fitted, folder), output_digest(folder / "out")


def digests(files: Path, folder: Path, engine: Any) -> tuple[str, str]:
    """Of a model fitted, and an output written, on an engine."""
    model = distributed.fit(files, engine=engine, **FIT)
    distributed.score(model, files, folder / "out", engine=engine, key="id", cells=True)
    return model_digest(model, folder), output_digest(folder / "out")


def _add(item: int, values: np.ndarray) -> np.ndarray:
    if item < 0:
        raise InputError(f"{item} is negative")
    values[0] += item
    return values


@pytest.mark.usefixtures("one_node")
def test_executor() -> None:
    executor = RayExecutor()
    assert executor.n_workers == 2
    values = np.zeros(200_000)
    shared, counts = executor.share(values), []
    results = list(executor.map(_add, [1] * 30, [shared], progress=lambda *count: counts.append(count)))
    assert counts == [(done, 30) for done in range(31)]
    assert values[0] == 0
    assert all(result.flags.writeable for result in results)
    assert list(executor.map(_add, [], [shared])) == []
    with pytest.raises(InputError, match=r"^-3 is negative"):
        list(executor.map(_add, [1, -3, 2], [shared]))


@pytest.mark.usefixtures("one_node")
def test_one_node(files: Path, expected: tuple[str, str], tmp_path: Path) -> None:
    assert digests(files, tmp_path, "ray") == expected


@pytest.mark.usefixtures("one_node")
@pytest.mark.parametrize("name", ["_count_part", "_grow_run", "_calibrate_part", "_score_part"])
def test_worker_is_killed(files: Path, expected: tuple[str, str], tmp_path: Path, name: str) -> None:
    marker = tmp_path / "killed"
    engine = FaultyExecutor(RayExecutor(), name, partial(kill_worker, marker))
    assert digests(files, tmp_path, engine) == expected
    assert int(marker.read_text()) != os.getpid()
    assert not Path(f"/proc/{marker.read_text()}").exists()


@pytest.mark.usefixtures("one_node")
def test_task_that_always_dies() -> None:
    with pytest.raises(rfod.exceptions.EngineError, match="Ray lost a task 4 times"):
        list(RayExecutor().map(_die, [0], []))


def _die(*task: Any) -> None:
    os._exit(1)


@pytest.mark.usefixtures("one_node")
def test_input_that_is_damaged(files: Path, fitted: rfod.RFOD, tmp_path: Path) -> None:
    copied = write_files(tmp_path / "files")
    victim = copied / "b/y.pq"
    data, times = victim.read_bytes(), victim.stat()
    victim.write_bytes(data[:4] + bytes(len(data) // 2) + data[len(data) // 2 + 4 :])
    os.utime(victim, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(InputError, match=r"b/y\.pq: cannot be read"):
        distributed.score(fitted, copied, tmp_path / "out", engine="ray", key="id")
    assert list((tmp_path / "out").rglob("*.parquet"))


@pytest.mark.parametrize("name", [None, "_grow_run", "_score_part"])
@pytest.mark.usefixtures("three_nodes")
def test_three_nodes(files: Path, expected: tuple[str, str], tmp_path: Path, name: str | None) -> None:
    marker = tmp_path / "killed"
    engine: Any = RayExecutor()
    assert engine.n_workers == 2
    if name:
        engine = FaultyExecutor(engine, name, partial(kill_node, marker))
    assert digests(files, tmp_path, engine) == expected
    if name:
        assert not Path(f"/proc/{marker.read_text()}").exists()
        assert sum(node["Alive"] for node in ray.nodes()) == 2


@pytest.mark.parametrize("what", ["fit", "score"])
def test_driver_is_killed(files: Path, fitted: rfod.RFOD, expected: tuple[str, str], tmp_path: Path, what: str) -> None:
    kept, model = tmp_path / "kept", tmp_path / "model.rfod"
    fitted.save(model)
    name = "_grow_run" if what == "fit" else "_score_part"
    assert run_killed_driver(what, "ray", name, files, kept, model) == -9
    if what == "fit":
        again = distributed.fit(files, checkpoint=kept, **FIT)
        assert model_digest(again, tmp_path) == expected[0]
    else:
        finished = {path: path.stat().st_mtime_ns for path in kept.rglob("*.parquet")}
        assert len(finished) >= 3
        assert not (kept / "_manifest.json").exists()
        distributed.score(model, files, kept, key="id", cells=True)
        assert output_digest(kept) == expected[1]
        assert {path: path.stat().st_mtime_ns for path in finished} == finished
