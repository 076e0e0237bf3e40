"""Outputs are there whole or not at all."""

from __future__ import annotations

import datetime as dt
import json
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from rfod._io.errors import OutputError
from rfod._io.sinks import check_target, open_sink

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
