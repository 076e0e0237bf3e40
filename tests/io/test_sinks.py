"""Outputs are there whole or not at all."""

from __future__ import annotations

import datetime as dt
import errno
import json
import os
import stat
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from rfod._io.interface import OutputError
from rfod._io.write import check_target, open_sink, replaced

TABLE = pa.table({"key": ["a", 'b"c'], "score": [0.5, None], "when": [dt.date(2024, 1, 5), None]})


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.jsonl"])
def test_formats(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with open_sink(str(path), TABLE.schema) as write:
        write(TABLE)
        write(TABLE)
    if name.endswith("parquet"):
        assert pq.read_table(path).equals(pa.concat_tables([TABLE, TABLE]))
    elif name.endswith("csv"):
        assert pyarrow.csv.read_csv(path).to_pylist()[2:] == TABLE.to_pylist()
    else:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert lines[0] == {"key": "a", "score": 0.5, "when": "2024-01-05"}
        assert len(lines) == 4
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_what_is_not_finished_leaves_the_old_file(tmp_path: Path, stop: type[BaseException]) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    with suppress(stop), open_sink(str(path), TABLE.schema) as write:
        write(TABLE)
        raise stop
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csv"]


def test_stdout(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with open_sink("-", TABLE.schema) as write:
        write(TABLE)
    assert capfdbinary.readouterr().out.startswith(b'"key","score","when"\n')


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="there is no folder"):
        check_target(str(tmp_path / "none" / "out.csv"))
    with pytest.raises(OutputError, match="is a folder"):
        check_target(str(tmp_path))
    with (
        pytest.raises(OutputError, match=r"Hint: \.csv, \.parquet or \.jsonl"),
        open_sink(str(tmp_path / "out.xlsx"), TABLE.schema),
    ):
        pass


RISKY = pa.table(
    {
        "=name": ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "x=1", "'x", "", None, "a\n=b"],
        "number": [-1.5, *[2.0] * 10],
        "kind": pa.array(["=k", *["k"] * 10]).dictionary_encode(),
    }
)
SAFE = ["'=1+1", "'+x", "'-x", "'@x", "'\tx", "'\rx", "x=1", "'x", "", None, "a\n=b"]


def test_text_like_formulas_is_made_harmless_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with open_sink(str(path), RISKY.schema, csv_safe=True) as write:
        write(RISKY)
    kept = pyarrow.csv.read_csv(
        path,
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False),
    )
    assert kept.column_names == ["'=name", "number", "kind"]
    assert kept.column(0).to_pylist() == SAFE
    assert kept.column(1).to_pylist() == [-1.5, *[2.0] * 10]
    assert kept.column(2)[0].as_py() == "'=k"


@pytest.mark.parametrize(("name", "csv_safe"), [("out.jsonl", True), ("out.parquet", True), ("out.csv", False)])
def test_other_outputs_keep_their_text(tmp_path: Path, name: str, csv_safe: bool) -> None:
    table = pa.table({"=a": ["=1", "x"]})
    with open_sink(str(tmp_path / name), table.schema, csv_safe=csv_safe) as write:
        write(table)
    assert b"'" not in (tmp_path / name).read_bytes()


def test_file_and_folder_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []

    def fsync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        synced.append(("folder" if is_folder else "file", (tmp_path / "out.txt").exists()))
        if is_folder:
            raise OSError(errno.EINVAL, "no such thing here")

    monkeypatch.setattr(os, "fsync", fsync)
    with replaced(str(tmp_path / "out.txt")) as temporary:
        Path(temporary).write_text("text")
    assert synced == [("file", False), ("folder", True)]
    assert (tmp_path / "out.txt").read_text() == "text"


def test_a_disk_that_fails_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(descriptor: int) -> None:
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(os, "fsync", fsync)
    (tmp_path / "out.txt").write_text("old")
    with pytest.raises(OSError, match="broken disk"), replaced(str(tmp_path / "out.txt")) as temporary:
        Path(temporary).write_text("text")
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.txt"]
    assert (tmp_path / "out.txt").read_text() == "old"
