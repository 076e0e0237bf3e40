"""Results of queries to a real sqlite file and a real PostgreSQL server."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from rfod._io.interface import InputError, ReadOptions
from rfod._io.locations import open_query
from rfod._io.source import read_all

pytest.importorskip("adbc_driver_manager", reason="the drivers of rfod[sql] are not installed")

ROWS = [(number, 1.5 * number, f"kind {number % 3}", f"2024-01-{number % 28 + 1:02d}") for number in range(500)]


def test_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table orders (id integer, price real, kind text, day text)")
        connection.executemany("insert into orders values (?, ?, ?, ?)", ROWS)
        connection.execute("insert into orders values (500, null, null, null)")
    connection.close()
    source = open_query(f"sqlite:///{path}", "select * from orders order by id", ReadOptions(batch_rows=64))
    table = read_all(source).rows
    assert table.num_rows == 501
    assert table.column("price")[10].as_py() == 15.0
    assert table.column("day")[10].as_py() == dt.date(2024, 1, 11)
    assert table.column("kind")[500].as_py() is None
    with pytest.raises(InputError, match="no such table: nowhere"):
        read_all(open_query(f"sqlite:///{path}", "select * from nowhere", ReadOptions()))


def test_sqlite_with_texts_that_are_no_utf_8(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "odd.db") as connection:
        connection.execute("create table t (id integer, word text)")
        connection.execute("insert into t values (1, cast(x'61ff62' as text))")
    connection.close()
    with pytest.raises(InputError, match=r"sqlite query: .*UTF8"):
        read_all(open_query(f"sqlite:///{tmp_path}/odd.db", "select * from t", ReadOptions()))


def test_sqlite_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such database"):
        open_query(f"sqlite:///{tmp_path}/none.db", "select 1", ReadOptions())
    assert list(tmp_path.iterdir()) == []


def test_sqlite_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    sqlite3.connect(path).close()
    path.touch()
    with pytest.raises(InputError, match=r"readonly|read-only"):
        read_all(open_query(f"sqlite:///{path}", "create table t (a)", ReadOptions()))


def test_addresses_without_a_driver() -> None:
    with pytest.raises(InputError, match=r"no driver for 'oracle'.*Hint: sqlite:///"):
        open_query("oracle://somewhere", "select 1", ReadOptions())


def programs() -> Path | None:
    """Where initdb and pg_ctl are."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The address of a server that lives as long as these tests."""
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL's initdb and pg_ctl are not installed")
    as_user: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        if shutil.which("runuser") is None or subprocess.run(["id", "postgres"], capture_output=True).returncode:
            pytest.skip("running as root, and there is no user 'postgres' to run the server as")
        as_user = ["runuser", "-u", "postgres", "--"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # not in pytest's folder, which another user may not enter; sockets need a short path besides
    home = Path(tempfile.mkdtemp(prefix="rfod-pg-"))
    home.chmod(0o777)
    data = home / "data"
    run = {"check": True, "capture_output": True, "timeout": 120, "cwd": home}
    try:
        subprocess.run([*as_user, folder / "initdb", "-D", data, "-A", "trust", "-U", "rfod", "-N"], **run)  # type: ignore[call-overload]
        flags = f"-c listen_addresses=127.0.0.1 -p {port} -k {home} -c fsync=off"
        start = [*as_user, folder / "pg_ctl", "-D", data, "-w", "-o", flags, "-l", home / "log", "start"]
        subprocess.run(start, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, cwd=home)
        yield f"postgresql://rfod@127.0.0.1:{port}/postgres"
    finally:
        stop = [*as_user, folder / "pg_ctl", "-D", data, "-m", "immediate", "stop"]
        subprocess.run(stop, capture_output=True, timeout=60, cwd=home)
        shutil.rmtree(home, ignore_errors=True)


def test_postgres(postgres: str) -> None:
    import adbc_driver_postgresql.dbapi as dbapi

    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.execute(
            "create table orders (id int, price numeric(10, 2), kind text, day date, at timestamptz, ok boolean)"
        )
        cursor.execute(
            "insert into orders select n, n * 1.5, 'kind ' || (n % 3), date '2024-01-01' + n, "
            "timestamptz '2024-01-01 10:00+00', n % 2 = 0 from generate_series(0, 4999) n"
        )
        connection.commit()
    source = open_query(postgres, "select * from orders order by id", ReadOptions(batch_rows=1000))
    batches = list(source.batches())
    assert max(batch.rows.num_rows for batch in batches) <= 1000
    table = pa.concat_tables([batch.rows for batch in batches])
    assert table.num_rows == 5000
    assert table.column("price").to_pylist()[:3] == [0.0, 1.5, 3.0]
    assert table.column("day")[3].as_py() == dt.date(2024, 1, 4)
    assert table.column("ok")[3].as_py() is False
    with pytest.raises(InputError, match='relation "nowhere" does not exist'):
        read_all(open_query(postgres, "select * from nowhere", ReadOptions()))


def test_postgres_that_is_not_there() -> None:
    with pytest.raises(InputError, match="Hint: is the server there"):
        open_query("postgresql://127.0.0.1:1/none", "select 1", ReadOptions())
