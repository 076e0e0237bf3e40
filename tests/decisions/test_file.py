"""The file of decisions: what is written, what is read back, and what of a damaged file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rfod import Decision, Decisions, DecisionsError
from rfod._decisions.file import beside

REPLACE = Decision(
    "replace", "city", "Hambrug", "Hamburg", key=("id", "A1"), note='"x"\n', version="1", probability=0.93
)
BLANK = Decision("blank", "weight", "9999", row="00ff00ff00ff00ff")
FINE = Decision("fine", "weight", wherever="country = NZ")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "orders.decisions.jsonl"


def test_what_is_written_is_read_back(path: Path) -> None:
    Decisions(path=str(path)).add(REPLACE, BLANK)
    Decisions.read(path).add(FINE)
    assert Decisions.read(path).entries == [REPLACE, BLANK, FINE]
    assert [set(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()] == [
        {"format", "id", "time", "key", "column", "decision", "observed", "value", "probability", "note", "version"},
        {"format", "id", "time", "row", "column", "decision", "observed"},
        {"format", "id", "time", "column", "decision", "wherever"},
    ]


def test_lone_surrogates_are_kept(path: Path) -> None:
    odd = Decision("replace", "city", "\ud800", "☃", row="0" * 16)
    Decisions(path=str(path)).add(odd)
    assert Decisions.read(path).entries == [odd]


def test_a_withdrawn_decision_stays_in_the_file(path: Path) -> None:
    decisions = Decisions(path=str(path))
    decisions.add(REPLACE, BLANK)
    decisions.withdraw(REPLACE)
    read = Decisions.read(path)
    assert list(read) == [BLANK]
    assert len(path.read_bytes().splitlines()) == 3


def test_a_later_decision_on_the_same_value_counts() -> None:
    again = Decision("fine", "city", "Hambrug", key=("id", "A1"))
    assert list(Decisions([REPLACE, BLANK, again])) == [BLANK, again]
    other = Decision("replace", "city", "Hamburg", "Wien", key=("id", "A1"))  # of what replaced it
    assert list(Decisions([REPLACE, other])) == [REPLACE, other]


def test_every_beginning_of_a_file_reads_without_its_last_line(path: Path) -> None:
    Decisions(path=str(path)).add(REPLACE, BLANK)
    data = path.read_bytes()
    ends = [place for place, byte in enumerate(data) if byte == ord("\n")]
    for n_bytes in range(len(data) + 1):
        path.write_bytes(data[:n_bytes])
        read = Decisions.read(path)
        n_whole = sum(end <= n_bytes for end in ends)  # a line without its line end is whole
        assert len(read.entries) == n_whole
        is_cut = n_bytes > 0 and data[:n_bytes].rpartition(b"\n")[2] not in (
            b"",
            data[: ends[0]],
            data[ends[0] + 1 : -1],
        )
        assert len(read.notes) == is_cut
        if is_cut:
            assert f"line {n_whole + 1}: it is cut off" in read.notes[0]


def test_what_is_appended_to_a_file_that_is_cut_off_counts(path: Path) -> None:
    Decisions(path=str(path)).add(REPLACE, BLANK)
    data = path.read_bytes()
    for n_bytes in range(1, len(data)):
        path.write_bytes(data[:n_bytes])
        read = Decisions.read(path)
        n_known = len(read.entries)
        read.add(FINE)
        assert Decisions.read(path).entries == [*[REPLACE, BLANK][:n_known], FINE]


ROW = "0" * 16


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("not json", "'not json' is not a decision"),
        ("[1]", "it is not a JSON object"),
        ('{"format": 2}', "its format is 2; this version of rfod reads format 1"),
        ('{"format": 1, "id": "a", "time": "t", "decision": "fine", "column": 3}', "'column' is 3, not a text"),
        ('{"format": 1, "id": "a", "time": "t", "decision": "fine"}', "it has no 'column'"),
        (
            '{"format": 1, "id": "a", "time": "t", "decision": "drop", "column": "c", "observed": "x", "row": "0"}',
            "'drop'",
        ),
        ('{"format": 1, "id": "a", "time": "t", "decision": "fine", "column": "c", "observed": "x"}', "has a key"),
        (
            '{"format": 1, "id": "a", "time": "t", "decision": "fine", "column": "c", "row": "0"}',
            "it has no 'observed'",
        ),
        (
            '{"format": 1, "id": "a", "time": "t", "decision": "replace", "column": "c", "observed": "x", "row": "0"}',
            "new value",
        ),
        (
            '{"format": 1, "id": "a", "time": "t", "decision": "fine", "column": "c", "observed": "x", "row": "xyz"}',
            "'xyz' is no fingerprint",
        ),
        ('{"format": 1, "id": "a", "time": "t", "decision": "fine", "column": "c", "key": {}}', "it has no 'observed'"),
    ],
)
def test_a_damaged_line_is_named(path: Path, line: str, problem: str) -> None:
    Decisions(path=str(path)).add(REPLACE)
    with path.open("a", encoding="utf-8") as file:
        file.write(line.replace('"row": "0"', f'"row": "{ROW}"') + "\n\n")
    with pytest.raises(DecisionsError, match="line 2: ") as caught:
        Decisions.read(path)
    assert problem in str(caught.value)


def test_an_id_is_there_once(path: Path) -> None:
    Decisions(path=str(path)).add(REPLACE)
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(DecisionsError, match="line 2: an earlier line has the id"):
        Decisions.read(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DecisionsError, match="there is no such file"):
        Decisions.read(tmp_path / "none.jsonl")
    assert list(Decisions.read(tmp_path / "none.jsonl", missing_ok=True)) == []
    with pytest.raises(DecisionsError, match="No such file"):
        Decisions(path=str(tmp_path / "no" / "folder.jsonl")).add(REPLACE)


def test_where_decisions_are_kept() -> None:
    assert beside("data/orders.csv") == "data/orders.decisions.jsonl"
    assert beside("orders.csv.gz") == "orders.decisions.jsonl"
    assert beside("orders") == "orders.decisions.jsonl"
