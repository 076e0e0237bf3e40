"""Every place a table may come from."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from rfod._io.interface import InputError, ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import read_all

TABLE = pa.table({"number": [1.5, 2.5, None], "text": ["a", "b", "ü"], "year": [2023, 2023, 2024]})
TEXT = "number,text,year\n1.5,a,2023\n2.5,b,2023\n,ü,2024\n".encode()
LINES = b'{"number": 1.5, "text": "a", "year": 2023}\n{"number": 2.5, "text": "b", "year": 2023}\n\n' + (
    '{"number": null, "text": "ü", "year": 2024}\n'.encode()
)


def rows(place: object, options: ReadOptions | None = None) -> list[dict[str, object]]:
    return list(read_all(open_source(str(place), options or ReadOptions())).rows.to_pylist())


def packed(data: bytes, ending: str) -> bytes:
    if ending == ".gz":
        return gzip.compress(data)
    if ending == ".bz2":
        return bz2.compress(data)
    if ending == ".xz":
        return lzma.compress(data)
    sink = io.BytesIO()
    with pa.CompressedOutputStream(pa.PythonFile(sink, "w"), {".zst": "zstd", ".lz4": "lz4"}[ending]) as stream:
        stream.write(data)
        stream.flush()
        stream.close()
        return sink.getvalue() if not sink.closed else b""


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst", ".lz4"])
@pytest.mark.parametrize(("name", "data"), [("t.csv", TEXT), ("t.jsonl", LINES)])
def test_compressed(tmp_path: Path, ending: str, name: str, data: bytes) -> None:
    path = tmp_path / f"{name}{ending}"
    if ending in (".zst", ".lz4"):
        with (
            pa.OSFile(str(path), "wb") as file,
            pa.CompressedOutputStream(file, {".zst": "zstd", ".lz4": "lz4"}[ending]) as stream,
        ):
            stream.write(data)
    else:
        path.write_bytes(packed(data, ending))
    assert rows(path) == TABLE.to_pylist()
    damaged = tmp_path / f"cut-{name}{ending}"
    damaged.write_bytes(path.read_bytes()[:-9])
    if ending not in (".zst", ".lz4"):
        with pytest.raises(InputError, match="damaged or cut off"):
            rows(damaged)


def test_columnar_files(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(TABLE, tmp_path / "t.feather")
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), TABLE.schema) as writer:
        writer.write_table(TABLE)
    with pa.ipc.new_stream(str(tmp_path / "stream.arrow"), TABLE.schema) as writer:
        writer.write_table(TABLE)
    for name in ("t.parquet", "t.feather", "t.arrow", "stream.arrow"):
        assert rows(tmp_path / name) == TABLE.to_pylist(), name
    (tmp_path / "t.parquet").rename(tmp_path / "without-ending")
    assert rows(tmp_path / "without-ending") == TABLE.to_pylist()


def test_folders_patterns_and_partitions(tmp_path: Path) -> None:
    for number in range(3):
        pq.write_table(TABLE, tmp_path / f"part-{number}.parquet")
    assert rows(tmp_path) == TABLE.to_pylist() * 3
    assert rows(tmp_path / "part-[01].parquet") == TABLE.to_pylist() * 2
    hive = tmp_path / "hive"
    pyarrow.dataset.write_dataset(TABLE, hive, format="parquet", partitioning=["year"], partitioning_flavor="hive")
    assert {row["year"] for row in rows(hive)} == {2023, 2024}
    assert rows(hive, ReadOptions(columns=frozenset({"year"}))) == [{"year": 2023}, {"year": 2023}, {"year": 2024}]


def test_files_of_different_width_are_joined(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int32())}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": [1.5]}), tmp_path / "2.parquet")
    assert [row["a"] for row in rows(tmp_path)] == [1.0, 2.0, 1.5]


def test_text_files_together(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_bytes(TEXT)
    (tmp_path / "2.csv").write_text("year;text;number\n2025;c;1,5\n")
    assert rows(tmp_path / "*.csv")[3] == {"number": 1.5, "text": "c", "year": 2025}
    (tmp_path / "3.csv").write_text("year,other\n1,2\n")
    with pytest.raises(InputError, match=r"3\.csv: other columns .* lacks 'number', 'text' and has 'other' on top"):
        rows(tmp_path)


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(LINES)
    batch = read_all(open_source(str(path), ReadOptions()))
    assert batch.rows.to_pylist() == TABLE.to_pylist()
    assert batch.lines is not None
    assert batch.lines.tolist() == [1, 2, 4]


def test_json_lines_of_mixed_values(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join('{"a": %s, "b": 1}\n' % ('"odd"' if n == 7 else n) for n in range(30)))
    source = open_source(str(path), ReadOptions())
    assert read_all(source).rows.column("a").to_pylist()[6:9] == [6, None, 8]
    assert "'odd' (line 8)" in source.notes.texts()[0]


@pytest.mark.parametrize("data", [TEXT, LINES, gzip.compress(TEXT, mtime=0)], ids=["csv", "json lines", "gzip"])
def test_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert rows("-") == TABLE.to_pylist()


def test_arrow_stream_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sink.getvalue())))
    assert rows("-") == TABLE.to_pylist()


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("gone.csv", None, "there is no such file"),
        ("gone-*.csv", None, "no file has a name like that"),
        ("bad.parquet", b"PAR1 but no more", "cannot be read as a table"),
        ("sheet.xlsx", b"PK\x03\x04 zipped", "cannot be read as a spreadsheet"),
    ],
)
def test_errors(tmp_path: Path, name: str, data: bytes | None, words: str) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=words) as caught:
        rows(tmp_path / name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_folders_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no files in it"):
        rows(tmp_path)
    (tmp_path / "a.csv").write_bytes(TEXT)
    (tmp_path / "b.jsonl").write_bytes(LINES)
    with pytest.raises(InputError, match=r"several kinds \(.csv, .jsonl\)"):
        rows(tmp_path)


def test_a_name_that_is_nearly_right(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_bytes(TEXT)
    with pytest.raises(InputError, match=r"did you mean .*orders\.csv"):
        rows(tmp_path / "order.csv")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image, not a table"),
        (b"%PDF-1.7\n1 0 obj", "a PDF document, not a table"),
        (b"SQLite format 3\0" + bytes(100), r"an SQLite database, not a table\. Hint: read it by a query: --db sqlite"),
        (b"\x7fELF\x02\x01\x01" + bytes(9), "a program, not a table"),
        (pickle.dumps({"a": 1}), "a Python pickle, not a table"),
        (b"PK\x03\x04" + bytes(22) + b"\x05\0\0\0a.txt", r"a zip archive, not a table\. Hint: unpack it first"),
        (
            b"PK\x03\x04" + bytes(22) + b"\x13\0\0\0[Content_Types].xml",
            r"an Excel workbook .* so that it ends in \.xlsx",
        ),
        (b"PK\x03\x04" + bytes(22) + b"\x0a\0\0\0model.json", "an rfod model, not a table"),
        (b"PAR1\x15\0\x15", r"a Parquet file, under another name\. Hint: rename it"),
        (b" \n<!DOCTYPE html><html>", "an HTML page, not a table"),
        (bytes(range(256)) * 8 + bytes(400), "binary data, not a table"),
    ],
    ids=["png", "pdf", "sqlite", "elf", "pickle", "zip", "xlsx", "model", "parquet", "html", "nul"],
)
def test_files_that_are_no_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, words: str) -> None:
    for name in ("photo.csv", "photo.jsonl", "photo.csv.gz"):
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        with pytest.raises(InputError, match=words) as caught:
            rows(tmp_path / name)
        assert name in str(caught.value)
    if "Excel" not in words and "Parquet" not in words:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        with pytest.raises(InputError, match=f"stdin is {words}"):
            rows("-")


@pytest.mark.parametrize("start", ["PAR1", "ORCHID", "ID3", "RIFFLE", "MZ", "GIF", "Obj"])
def test_text_that_begins_like_something_else(tmp_path: Path, start: str) -> None:
    (tmp_path / "t.csv").write_text(f"{start},b\n1,2\n3,4\n")
    assert rows(tmp_path / "t.csv") == [{start: 1, "b": 2}, {start: 3, "b": 4}]


@pytest.mark.parametrize("sign", [":", "^", "~", "#", "\x01", " "])
def test_a_separator_that_is_not_known(tmp_path: Path, sign: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("".join(sign.join(row) + "\n" for row in [("id", "name", "price")] + [("7", "x", "9")] * 9))
    source = open_source(str(path), ReadOptions(header=True))
    assert read_all(source).rows.num_columns == 1
    assert (
        f"the table has one column; ',' does not separate any, but {sign!r} does and gives 3" in source.notes.texts()[0]
    )
    assert len(rows(path, ReadOptions(separator=sign))[0]) == 3


def test_tables_of_one_column(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("full name\nAda Lovelace\nAlan Turing\nx y z\n" * 5)
    source = open_source(str(tmp_path / "t.csv"), ReadOptions(header=True))
    assert read_all(source).rows.num_columns == 1
    assert source.notes.texts() == []


@pytest.mark.parametrize(("name", "separator"), [("t.csv", ";"), ("t.tsv", None)])
def test_a_separator_that_does_not_occur(tmp_path: Path, name: str, separator: str | None) -> None:
    (tmp_path / name).write_text("a,b,c,d,e,f,g,h\n" + "1,2,3,4,5,6,7,8\n" * 5)
    with pytest.raises(InputError, match=r"does not occur in it; ',' does and gives 8 columns\. Hint: --sep ','"):
        rows(tmp_path / name, ReadOptions(separator=separator))
    for wrong in ("||", "§", "\n", ""):
        with pytest.raises(InputError, match="is not one ASCII character"):
            rows(tmp_path / "t.csv" if name == "t.csv" else tmp_path / name, ReadOptions(separator=wrong))


def test_folders_without_tables(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "b.pdf").write_bytes(b"")
    with pytest.raises(InputError, match=r"no table .*only 2 files ending in \.pdf, \.png\. Hint: .* \.csv, .*\.xlsx"):
        rows(tmp_path)
    (tmp_path / "c.csv").write_bytes(TEXT)
    with pytest.raises(InputError, match=r"several kinds .*such as '.*/\*\.csv'"):
        rows(tmp_path)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (
            "https://bob:secret@example.org/t.csv",
            r"https://bob:\*\*\*@example.org/t.csv: nothing is fetched .* download",
        ),
        ("HTTP://example.org/t.csv", "nothing is fetched"),
        ("dropbox://folder/t.csv", "nothing is read from dropbox. Hint: copy the file"),
        ("s3://name:secret@bucket/t.csv", r"^s3://\*\*\*@bucket: credentials are not taken"),
        ("abfs://:secret@bucket/t.csv", r"^abfs://\*\*\*@bucket: credentials are not taken"),
        ("postgresql://host/db", "Hint: --db ADDRESS --sql QUERY"),
        ("file:///nowhere/a%20b.csv", "/nowhere/a b.csv: there is no such file"),
    ],
)
def test_addresses(place: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        open_source(place, ReadOptions())


def test_files_are_opened_one_after_the_other(tmp_path: Path) -> None:
    for name in ("1.csv", "2.csv"):
        (tmp_path / name).write_bytes(TEXT)
    source = open_source(str(tmp_path), ReadOptions())
    assert source.progress() == (0, 2 * len(TEXT))
    (tmp_path / "2.csv").write_text("number,text,year\n7,z,2026\n")  # not read yet, so not open yet
    assert read_all(source).rows.column("year").to_pylist() == [2023, 2023, 2024, 2026]
    assert source.progress()[0] > len(TEXT)


def test_json_without_an_ending(tmp_path: Path) -> None:
    (tmp_path / "export").write_bytes(LINES)
    assert rows(tmp_path / "export") == TABLE.to_pylist()


def test_bytes_of_no_known_format(tmp_path: Path) -> None:
    (tmp_path / "noise.csv").write_bytes(np.random.default_rng(0).bytes(5000))
    with pytest.raises(InputError, match=r"noise\.csv is binary data, not a table"):
        rows(tmp_path / "noise.csv")


def test_rows_that_hold_something_in_other_columns_stay(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n1,2,3\n,,4\n,,\n5,6,7\n")
    source = open_source(str(tmp_path / "t.csv"), ReadOptions(columns=frozenset({"a", "b"})))
    assert read_all(source).rows.to_pylist() == [{"a": 1, "b": 2}, {"a": None, "b": None}, {"a": 5, "b": 6}]
    assert source.notes.texts() == ["1 line without any value left out: line 4."]
