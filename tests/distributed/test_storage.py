"""Tables in object storage: moto's server on the loopback address stands for S3."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.fs as pa_fs
import pytest

import rfod
from files import FIT, model_digest, read_scores, score_digest, write_files
from rfod import distributed
from rfod._io import columnar, storage
from rfod._io.interface import InputError, OutputError

server = pytest.importorskip("moto.server", reason="moto is not installed. Hint: make test-distributed")
SECRET = "nobody-may-read-this"
BUCKET = "s3://a-bucket"


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
def bucket(files: Path) -> Iterator[pa_fs.FileSystem]:
    """An object store with the files in the folder `files`, and the way to it in the environment."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{running.get_host_and_port()[1]}")
        patch.setenv("AWS_ACCESS_KEY_ID", "somebody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        patch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
        filesystem = pa_fs.S3FileSystem(
            endpoint_override=running.get_host_and_port() and f"http://127.0.0.1:{running.get_host_and_port()[1]}",
            region="eu-north-1",
            allow_bucket_creation=True,
        )
        filesystem.create_dir("a-bucket")
        for path in sorted(files.rglob("*.p*q*")):
            storage.put(f"{BUCKET}/files/{path.relative_to(files).as_posix()}", path.read_bytes())
        storage.put(f"{BUCKET}/odd names/a %20b.csv", b"number,text\n" + b"1,x\n2,y\n3,z\n" * 20)
        yield filesystem
        storage._connect.cache_clear()
    running.stop()


@pytest.mark.usefixtures("bucket")
def test_names_in_a_bucket() -> None:
    names = ["a/x.parquet", "b/x.parquet", "b/y.pq"]
    assert storage.files_below(f"{BUCKET}/files") == names
    assert storage.expand_address(f"{BUCKET}/files/*/*.p*") == [f"{BUCKET}/files/{name}" for name in names]
    assert storage.expand_address(f"{BUCKET}/**/?.pq") == [f"{BUCKET}/files/b/y.pq"]
    assert storage.expand_address(f"{BUCKET}/files/[!a]/x.parquet") == [f"{BUCKET}/files/b/x.parquet"]
    assert storage.is_folder(f"{BUCKET}/files/")
    assert not storage.is_folder(f"{BUCKET}/files/a/x.parquet")
    assert storage.read_bytes(f"{BUCKET}/nothing") is None


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize("place", ["files", "files/", "files/*/*"])
def test_model_is_that_of_files_here(fitted: rfod.RFOD, place: str, tmp_path: Path) -> None:
    there = distributed.fit(f"{BUCKET}/{place}", **FIT)
    assert model_digest(there, tmp_path) == model_digest(fitted, tmp_path)


def test_scores_are_those_of_files_here(
    files: Path, fitted: rfod.RFOD, bucket: pa_fs.FileSystem, tmp_path: Path
) -> None:
    distributed.score(fitted, f"file://{files}", f"file://{tmp_path}/out", key="id")
    manifest = distributed.score(fitted, f"{BUCKET}/files", f"{BUCKET}/scores/new", key="id")
    scores = ds.dataset("a-bucket/scores/new", filesystem=bucket, format="parquet").to_table()
    assert score_digest(scores) == score_digest(read_scores(tmp_path / "out"))
    assert storage.files_below(f"{BUCKET}/scores/new") == sorted(
        ["_manifest.json", *(part["path"] for part in manifest["parts"])]
    )
    assert distributed.score(fitted, f"{BUCKET}/files", f"{BUCKET}/scores/new", key="id") == manifest
    with pytest.raises(OutputError, match="other options"):
        distributed.score(fitted, f"{BUCKET}/files", f"{BUCKET}/scores/new")
    assert SECRET not in str(manifest)


@pytest.mark.usefixtures("bucket")
def test_commands(fitted: rfod.RFOD, tmp_path: Path) -> None:
    def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rfod", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert SECRET not in done.stdout + done.stderr
        return done

    model = f"{BUCKET}/models/m.rfod"
    done = run("fit", f"{BUCKET}/files", "-o", model, "--trees", 6, "--key", "id")
    assert done.returncode == 0, done.stderr
    assert SECRET.encode() not in (storage.read_bytes(model) or b"")
    done = run("score", model, f"{BUCKET}/files", "-o", f"{BUCKET}/by-command", "--engine", "local")
    assert done.returncode == 0, done.stderr
    done = run("score", model, f"{BUCKET}/files/b/y.pq", "-o", f"{BUCKET}/one.parquet")
    assert done.returncode == 0, done.stderr
    assert storage.read_bytes(f"{BUCKET}/one.parquet")
    done = run("scan", f"{BUCKET}/odd names/a %20b.csv", "--trees", 6)
    assert done.returncode == 0, done.stderr
    for place in ("s3://no-such-bucket/t.csv", f"{BUCKET}/nothing.parquet", f"{BUCKET}/files/*.xyz"):
        done = run("scan", place)
        assert done.returncode == 1
        assert done.stderr.startswith(f"error: {place.partition('*')[0]}")


@pytest.mark.usefixtures("bucket")
def test_wrong_credentials_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError) as caught:
        storage.open_storage(f"s3://somebody:{SECRET}@a-bucket/files")
    assert SECRET not in str(caught.value)
