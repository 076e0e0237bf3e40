"""Progress is drawn on a terminal, and nowhere else."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import pytest

from rfod import RFOD
from rfod._model.executor import Threads, silent, terminal_progress
from rfod._model.fit import prepare, train
from rfod._table.table import open_table
from rfod.params import Params

ARRAY = np.random.default_rng(0).normal(size=(50, 3))

PROGRAM = """
import numpy, sys
from rfod import RFOD
array = numpy.random.default_rng(0).normal(size=(50, 3))
for verbose in (0, 1):
    RFOD(n_estimators=4, n_jobs=1, verbose=verbose, random_state=0).fit(array).detect(array)
    sys.stderr.write("|")
"""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_silent_unless_wanted_and_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with terminal_progress(True) as progress:
        assert progress is silent
    monkeypatch.setattr(sys, "stderr", Terminal())
    with terminal_progress(False) as progress:
        assert progress is silent


def test_draws_every_stage_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with terminal_progress(True) as progress:
        for stage in ("growing", "judging", "growing"):  # a second round of a stage begins a line of its own
            for done in range(4):
                progress(stage, done, 3)
    assert "growing" in terminal.getvalue()
    assert "judging" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()


def test_nothing_is_written_without_a_terminal(capfd):
    RFOD(n_estimators=3, verbose=1, random_state=0).fit(ARRAY).detect(ARRAY)
    assert capfd.readouterr() == ("", "")


def test_stages_come_in_order():
    calls = []
    params = Params(n_estimators=4, aggregation="uncertainty")
    train(
        prepare(open_table(ARRAY), None, params, 0, Threads(1)), params, 0, Threads(1), lambda *call: calls.append(call)
    )
    assert list(dict.fromkeys(stage for stage, _, _ in calls)) == ["growing", "judging"]
    for stage in ("growing", "judging"):
        counts = [(done, total) for name, done, total in calls if name == stage]
        assert [done for done, _ in counts] == list(range(counts[-1][1] + 1))


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals")
def test_verbose_draws_on_a_pseudo_terminal():
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    ) as process:
        os.close(theirs)
        written = read_all(ours)
        assert process.stdout is not None
        assert process.stdout.read() == b""  # stdout belongs to results
        assert process.wait(timeout=60) == 0
    os.close(ours)
    quiet, drawn = written.split(b"|")[:2]
    assert quiet == b""
    assert b"growing" in drawn
    assert b"judging" in drawn


def read_all(terminal: int) -> bytes:
    """Everything until the other side closes, which Linux reports as an error."""
    parts = []
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            part = b""
        if not part:
            return b"".join(parts)
        parts.append(part)
