"""The review with real keys in a pseudo-terminal, also when it is killed."""

from __future__ import annotations

import random
import re
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from rfod import ColumnWarning, Decision, Decisions
from rfod._cli.review import review_cells
from rfod._decisions.decision import Withdrawal
from rfod._table.table import open_table
from rfod.params import Params
from rfod.pipeline import scan_table
from terminal import TerminalRun, kill_reviews

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
ASKED = " quit"


@pytest.fixture
def table(dirty_csv: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(dirty_csv, tmp_path / "orders.csv"))


def review(table: Path, *more: object) -> TerminalRun:
    return TerminalRun(["decide", table, "--review", "--trees", "5", "-j", "1", "-q", *more])


def kept(table: Path) -> list[Any]:
    return Decisions.read(table.with_name("orders.decisions.jsonl")).entries


def test_one_key_per_answer(table: Path) -> None:
    with review(table, "--key", "order_id") as run:
        first = run.wait_for(ASKED)
        n = int(re.search(r"1 of (\d+) findings, 0 decided", first)[1])
        assert n >= 6
        assert re.search(r"^> city +\S+  \(suggested (Wien|Hamburg)\)$", first, re.MULTILINE)
        assert re.search(r"^  service +(express|standard)$", first, re.MULTILINE)
        assert "Similar rows:" in first
        assert re.search(r"city is '(Wien|Hamburg)'; the same service", first)
        run.press("z\x1b[A")  # no answers
        run.press("r")
        run.wait_for(f"2 of {n} findings, 1 decided")
        assert [entry.kind for entry in kept(table)] == ["replace"]
        run.wait_for(ASKED)
        run.press("f")
        run.wait_for(f"3 of {n} findings, 2 decided")
        run.press("b")
        run.wait_for(f"4 of {n} findings, 3 decided")
        run.press("o")
        run.wait_for("New value")
        run.press("Bad Ischl ☃\n")
        run.wait_for(f"5 of {n} findings, 4 decided")
        run.press("s")
        run.wait_for(f"6 of {n} findings, 4 decided")
        run.press("u")
        run.wait_for(f"5 of {n} findings, 4 decided")
        run.press("u")
        run.wait_for("Taken back: ")
        run.wait_for(f"4 of {n} findings, 3 decided")
        run.press("q")
        run.wait_for("3 decisions in ")
        kept_in = table.with_name("orders.decisions.jsonl")
        run.wait_for(f"Hint: rfod repair {table} --key order_id --decisions {kept_in} -o clean.csv carries them out.")
        assert run.wait() == 0
    entries = kept(table)
    assert [type(entry) for entry in entries] == [Decision] * 4 + [Withdrawal]
    assert [entry.kind for entry in entries[:4]] == ["replace", "fine", "blank", "replace"]
    assert entries[3].value == "Bad Ischl ☃"
    assert all(0.5 <= entry.probability <= 1 for entry in entries[:4])
    assert entries[4].withdraws == entries[3].id
    assert all(entry.key[0] == "order_id" for entry in entries[:4])
    with review(table, "--key", "order_id") as run:
        run.wait_for("1 of ")
        run.press("\x04")
        assert run.wait() == 0


def test_conditions_and_refusals(table: Path) -> None:
    with review(table) as run:
        shown = run.wait_for(ASKED)
        n, observed = re.search(
            r"1 of (\d+) findings, 0 decided.*^> city +(\S+)", shown, re.MULTILINE | re.DOTALL
        ).groups()
        run.press("u")
        run.wait_for("There is nothing to undo.")
        run.press("w")
        run.wait_for("Condition: ")
        run.press("town = Wien\n")
        run.wait_for("there is no column 'town'")
        run.wait_for("Condition: ")
        run.press("weight is missing and service = x\nbr\nb")  # what is typed ahead of an error is no answer
        run.wait_for("does not hold for this row")
        run.wait_for("Condition: ")
        run.press("\n")
        run.wait_for(ASKED)
        run.press("o")
        run.wait_for("New value")
        run.press(f"{observed}\nb")
        run.wait_for("already")
        run.wait_for("New value")
        run.press("\nw")  # typed ahead
        run.wait_for(ASKED)
        run.wait_for("Condition: ")
        run.press(f"city = '{observed}'\n")
        run.wait_for("It holds for ")
        run.wait_for("findings, 1 decided")
        run.wait_for(ASKED)
        run.press("u")
        run.wait_for(f"1 of {n} findings, 0 decided")
        run.press("\x03")
        assert run.wait() == 130
    assert len(kept(table)) == 2


def test_text_from_the_table_is_data(tmp_path: Path) -> None:
    """Nothing in a cell or the name of a column moves the cursor or is taken for a style."""
    n = 200
    is_wien = (np.random.default_rng(0).random(n) < 0.5).tolist()
    city = ["Wien" if one else "Hamburg" for one in is_wien]
    city[6] = "Ham\x1b[2Jburg [red]x[/red]"
    columns = {"city": city, "[bold]\x1b]0;title\x07": ["a" if one else "b" for one in is_wien], "n": range(n)}
    pyarrow.csv.write_csv(pa.table({name: list(values) for name, values in columns.items()}), tmp_path / "orders.csv")
    with review(tmp_path / "orders.csv", "--above", "0.05") as run:
        shown = run.wait_for(ASKED)
        assert "Ham\\x1b[2Jburg [red]x[/red]" in shown
        assert "[bold]" in shown
        run.press("f")
        run.wait_for("No finding is left.")
        assert run.wait() == 0
        assert not re.search(rb"\x1b\[2J|\x1b\]|\x07", run.raw)
    assert kept(tmp_path / "orders.csv")[0].observed == city[6]


def test_it_needs_a_terminal(rfod: Any, table: Path) -> None:
    ran = rfod("decide", table, "--review")
    assert ran.code == 2
    assert "it asks on a terminal" in ran.err


@pytest.mark.slow
def test_no_decision_is_lost_when_it_is_killed(table: Path) -> None:
    """Ten kills at random moments: what the screen said was decided is in the file, whole and once."""
    source = open_table(pa.csv.read_csv(table))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        found = scan_table(source, Params(n_estimators=5, random_state=0, n_jobs=1))[1]
    cells, path = found.suspects(0.001), table.with_name("orders.decisions.jsonl")
    assert len(cells) > 100

    def go_on() -> None:
        review_cells(source, found, cells, Decisions.read(path, missing_ok=True), None)

    for n_pressed, n_said, n_kept in kill_reviews(10, go_on, path, random.Random(0)):
        assert n_said <= n_kept <= n_pressed
    read = Decisions.read(path)
    assert not read.notes
    assert len({(entry.row, entry.column) for entry in read.entries}) == len(read.entries) > 0
