"""Damaged files: a table written in one of the formats that are read, with something wrong in it, by a seed."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import random
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

Rows = list[list[str]]

TOKENS = (
    *("", " ", "\t", "NA", "n/a", "null", "None", "nan", "-nan", "inf", "-inf", "Infinity", "?", "-", "--", ".", "+"),
    *("--0.35", "+-1", "1e400", "1e-400", "-0", "0x10", "1_000", "1,234.5", "1.234,5", "12,5", "€ 12", "12 %", "$-5"),
    *("9" * 19, "9" * 40, "-" + "9" * 25, "9007199254740993", "18446744073709551616", "007", "1e5", "٣٤", "\uff11"),
    *("12.03.2024", "31.02.2024", "0000-00-00", "9999-12-31", "1900-01-01", "2024-13-45", "24/12/2024", "12/24/2024"),
    *("2024-01-01T00:00:00Z", "2024-01-01 10:00+99:99", "9:30", "25:61", "24:00", "00:00:60", "1 days, 2:03", "12:5"),
    *("true", "FALSE", "yes", "T", "[]", "{}", '{"a": 1}', "=1+1", "@SUM(A1)", "<script>alert(1)</script>", "'; --"),
    *('"', '""', "'", '"a', 'a"b', "a,b", "a;b", "a|b", "\\", "\\n", "a\nb", "a\r\nb", "\r", "\x00", "\x1b[31m"),
    *(
        "\ufeff",
        "\u200b",
        "\u202e",
        "\u2028",
        "é",
        "ﬁ",
        "日本",
        "😀",
        "\ud7ff",
        "Ã©",
        "\ufffd",
        "a" * 5000,
        "x" * 70000,
    ),
)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "latin-1", "cp1252", "cp1251", "shift_jis", "utf-7")
SEPARATORS = (",", ";", "\t", "|", " ", ":", "\x01")
LINE_ENDS = ("\n", "\r\n", "\r", "\n\r", "\u2028", "\n\n", "")


@dataclass(frozen=True)
class Damaged:
    """A file, what was done to it, and further arguments that go with it."""

    path: Path
    story: str
    arguments: tuple[str, ...] = ()


def damage(header: Sequence[str], rows: Rows, seed: int, folder: Path) -> Damaged:
    """Write one damaged file into the folder."""
    rng = random.Random(seed)
    header, rows, told = list(header), [list(row) for row in rows], []
    for change in rng.sample(_CELL_CHANGES, rng.choice((0, 1, 1, 2, 3))):
        told.append(change.__name__.strip("_"))
        header, rows = change(header, rows, rng)
    ending = rng.choice(list(_WRITERS))
    data = _WRITERS[ending](header, rows, rng, folder)
    n_changes = rng.choice((0, 1, 1, 2)) if told else rng.choice((1, 1, 2, 3))
    for change in rng.sample(_BYTE_CHANGES, n_changes):
        told.append(change.__name__.strip("_"))
        data = change(data, rng)
    if rng.random() < 0.05:
        ending = rng.choice(list(_WRITERS))  # an ending that lies
        told.append("other_ending")
    path = folder / f"table{ending}"
    path.write_bytes(data)
    arguments = () if ending != ".db" else ("--sql", "select * from t", "--db", f"sqlite:///{path}")
    return Damaged(path, f"{ending}: {', '.join(told)}", arguments)


# --------------------------------------------------------------------------------------------------------- cells, rows


def _hostile_cells(header: list[str], rows: Rows, rng: random.Random) -> tuple[list[str], Rows]:
    for _ in range(rng.choice((1, 1, 3, 20))):
        if rows and header:
            rng.choice(rows)[rng.randrange(len(header))] = rng.choice(TOKENS)
    return header, rows


def _column_of_one_token(header: list[str], rows: Rows, rng: random.Random) -> tuple[list[str], Rows]:
    place, token = rng.randrange(len(header)), rng.choice(TOKENS)
    for row in rows:
        row[place] = token
    return header, rows


def _column_of_tokens(header: list[str], rows: Rows, rng: random.Random) -> tuple[list[str], Rows]:
    place = rng.randrange(len(header))
    for row in rows:
        row[place] = rng.choice(TOKENS)
    return header, rows


def _odd_names(header: list[str], rows: Rows, rng: random.Random) -> tuple[list[str], Rows]:
    kind = rng.randrange(4)
    if kind == 0:
        header = [header[0]] * len(header)
    elif kind == 1:
        header = [""] * len(header)
    else:
        header[rng.randrange(len(header))] = rng.choice(TOKENS)
    return header, rows


def _few_rows(header: list[str], rows: Rows, rng: random.Random) -> tuple[list[str], Rows]:
    return header, rows[: rng.choice((0, 1, 2, 3, 5))]


def _few_columns(header: list[str], rows: Rows, rng: random.Random) -> tuple[list[str], Rows]:
    n = rng.choice((1, 1, 2))
    return header[:n], [row[:n] for row in rows]


def _equal_rows(header: list[str], rows: Rows, rng: random.Random) -> tuple[list[str], Rows]:
    return header, [list(rows[0]) for _ in rows]


_CELL_CHANGES: tuple[Callable[..., tuple[list[str], Rows]], ...] = (
    _hostile_cells,
    _column_of_one_token,
    _column_of_tokens,
    _odd_names,
    _few_rows,
    _few_columns,
    _equal_rows,
)


# ---------------------------------------------------------------------------------------------------------------- bytes


def _flip_bytes(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 64)) if changed else 0):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _cut_out(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + data[start + rng.randrange(1, 200) :]


def _insert(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    inside = rng.choice((b'"', b"'", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"\r", b",,,", rng.randbytes(30)))
    return data[:start] + inside + data[start:]


def _twice(data: bytes, rng: random.Random) -> bytes:
    return data + data


def _before(data: bytes, rng: random.Random) -> bytes:
    return rng.choice((b"# a comment\n", b"\n\n", b"sep=;\n", b"PK\x03\x04", b"PAR1", b"[", b"{", b"\x89PNG")) + data


_BYTE_CHANGES: tuple[Callable[..., bytes], ...] = (_flip_bytes, _truncate, _cut_out, _insert, _twice, _before)


# -------------------------------------------------------------------------------------------------------------- formats


def _delimited(header: list[str], rows: Rows, rng: random.Random, folder: Path) -> bytes:
    odd = rng.random() < 0.3
    separator = rng.choice(SEPARATORS) if odd else ","
    end = rng.choice(LINE_ENDS) if odd else "\n"
    style = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONE))
    text = io.StringIO()
    if style == csv.QUOTE_NONE:  # separators and quotes inside of cells stay as they are
        text.write(end.join(separator.join(row) for row in [header, *rows]))
    else:
        writer = csv.writer(text, delimiter=separator, lineterminator=end, quoting=style)
        if rng.random() < 0.9:
            writer.writerow(header)
        for row in rows:
            writer.writerow(row + [""] * rng.choice((0,) * 200 + (1, 3)))
    encoding = rng.choice(ENCODINGS) if rng.random() < 0.25 else "utf-8"
    return text.getvalue().encode(encoding, "replace")


def _packed(pack: Callable[[bytes], bytes]) -> Callable[..., bytes]:
    def write(header: list[str], rows: Rows, rng: random.Random, folder: Path) -> bytes:
        return pack(_delimited(header, rows, rng, folder))

    return write


def _objects(header: list[str], rows: Rows, rng: random.Random) -> list[dict[str, object]]:
    return [
        {name: _json_value(value, rng) for name, value in zip(header, row, strict=True) if rng.random() > 0.01}
        for row in rows
    ]


def _json_value(text: str, rng: random.Random) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return rng.choice((text, text, text, [text], {"x": text}, None)) if rng.random() < 0.02 else text


def _json_lines(header: list[str], rows: Rows, rng: random.Random, folder: Path) -> bytes:
    return "\n".join(json.dumps(row, ensure_ascii=rng.random() < 0.5) for row in _objects(header, rows, rng)).encode()


def _json_array(header: list[str], rows: Rows, rng: random.Random, folder: Path) -> bytes:
    return json.dumps(_objects(header, rows, rng), indent=rng.choice((None, 1))).encode()


def _arrow(header: list[str], rows: Rows) -> pa.Table:
    """Columns typed where all values read as numbers; names made different."""
    columns = {}
    for place, name in enumerate(header):
        values: list[object] = [row[place] for row in rows]
        try:
            values = [float(str(value)) for value in values]
        except ValueError:
            values = [None if value == "" else value for value in values]
        columns[name if name not in columns else f"{name}_{place}"] = pa.array(values)
    return pa.table(columns)


def _parquet(header: list[str], rows: Rows, rng: random.Random, folder: Path) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(_arrow(header, rows), buffer, compression=rng.choice(("none", "snappy", "zstd")))
    return buffer.getvalue()


def _feather(header: list[str], rows: Rows, rng: random.Random, folder: Path) -> bytes:
    buffer = io.BytesIO()
    pyarrow.feather.write_feather(_arrow(header, rows), buffer, compression=rng.choice(("uncompressed", "lz4")))
    return buffer.getvalue()


def _stream(header: list[str], rows: Rows, rng: random.Random, folder: Path) -> bytes:
    buffer, table = io.BytesIO(), _arrow(header, rows)
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def _sqlite(header: list[str], rows: Rows, rng: random.Random, folder: Path) -> bytes:
    path = folder / "made.db"
    path.unlink(missing_ok=True)
    names = [f"c{place}" for place in range(len(header))]
    with sqlite3.connect(path) as connection:
        connection.execute(f"create table t ({', '.join(names)})")
        places = ", ".join("?" * len(names))
        connection.executemany(f"insert into t values ({places})", rows)
    connection.close()
    return path.read_bytes()


def _workbook(header: list[str], rows: Rows, rng: random.Random, folder: Path) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in [header, *rows]:
        book.active.append([_sheet_value(value) for value in row])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _sheet_value(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return "".join(sign for sign in text if sign.isprintable())[:30_000]


_WRITERS: dict[str, Callable[..., bytes]] = {
    ".csv": _delimited,
    ".txt": _delimited,
    ".tsv": _delimited,
    ".dat": _delimited,
    ".csv.gz": _packed(gzip.compress),
    ".csv.bz2": _packed(bz2.compress),
    ".jsonl": _json_lines,
    ".json": _json_array,
    ".parquet": _parquet,
    ".feather": _feather,
    ".arrow": _stream,
    ".xlsx": _workbook,
    ".db": _sqlite,
}
