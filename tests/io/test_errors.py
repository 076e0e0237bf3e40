"""Passwords stay out of messages."""

from __future__ import annotations

import pickle

import pytest

from rfod._io.interface import InputError, Notes, OutputError, ReadOptions, redacted
from rfod._io.locations import open_query


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mysql://bob:secret@host/db", "mysql://bob:***@host/db"),
        ("see 'mysql://bob:secret@host/db': no", "see 'mysql://bob:***@host/db': no"),
        ("postgresql+x://bob:p@s:s/w?rd@host:5432/db", "postgresql+x://bob:***@host:5432/db"),
        ("redis://:secret@host", "redis://:***@host"),
        ("HTTPS://bob:secret@host/t.csv", "HTTPS://bob:***@host/t.csv"),
        ("postgresql://host/db?user=bob&password=secret&ssl=1", "postgresql://host/db?user=bob&password=***&ssl=1"),
        ("host=x password=se'cr@t dbname=y", "host=x password=*** dbname=y"),
        ("failed: Password='my secret' user=bob", "failed: Password=*** user=bob"),
        (r"password='it\'s secret' user=bob", "password=*** user=bob"),
        ('pwd = "my secret"; x', "pwd = ***; x"),
        ("Driver={X};PWD={my;secret};Server=y", "Driver={X};PWD=***;Server=y"),
        ("sslpassword=secret.", "sslpassword=***."),
        ("password='cut sec", "password=***"),
        ("('password=secret'): no", "('password=***'): no"),
    ],
)
def test_redacted(text: str, wanted: str) -> None:
    assert redacted(text) == wanted
    assert redacted(wanted) == wanted


@pytest.mark.parametrize(
    "text",
    [
        'password authentication failed for user "bob"',
        "column 'password': 2 values are no number. Hint: --type 'password'=categorical",
        "postgresql://bob@host/db",
        "http://localhost:8080/x",
        "line 3: a@b.org",
    ],
)
def test_nothing_to_redact(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize("error", [InputError, OutputError])
def test_errors_and_notes_are_redacted(error: type[InputError] | type[OutputError]) -> None:
    raised = error("cannot reach mysql://bob:secret@host/db")
    assert str(raised) == "cannot reach mysql://bob:***@host/db" == str(pickle.loads(pickle.dumps(raised)))
    notes = Notes()
    notes.add("pwd=secret")
    assert notes.texts() == ["pwd=***"]


@pytest.mark.parametrize("password", ["secret", "s e@c:r/et", "p[x", "secret%20x"])
def test_addresses_of_databases(password: str) -> None:
    pytest.importorskip("adbc_driver_manager")
    for scheme in ("mysql", "postgresql", "sqlite"):
        with pytest.raises(InputError) as caught:
            open_query(f"{scheme}://bob:{password}@127.0.0.1:1/db", "select 1", ReadOptions())
        assert password not in str(caught.value)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
    with pytest.raises(InputError, match="no driver") as caught:
        open_query(f"bob:{password}@127.0.0.1", "select 1", ReadOptions())
    assert password not in str(caught.value)


def test_messages_of_drivers(tmp_path: object) -> None:
    pytest.importorskip("adbc_driver_sqlite")
    import sqlite3
    from pathlib import Path

    path = Path(str(tmp_path)) / "shop.db"
    sqlite3.connect(path).close()
    path.touch()
    query = "select * from nowhere where dsn = 'password=secret' and x = 'mysql://bob:secret@host'"
    with pytest.raises(InputError, match="nowhere") as caught:
        list(open_query(f"sqlite:///{path}", query, ReadOptions()).batches())
    assert "secret" not in str(caught.value)
