"""The program in a pseudo-terminal: keys are pressed, and what it shows is read."""

from __future__ import annotations

import os
import random
import re
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

_STYLE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def _run(function: Callable[[], object]) -> NoReturn:
    """Call a function in a new process that has a terminal, and end it."""
    code = 1
    try:
        os.environ["TERM"] = "dumb"
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        function()
        sys.stdout.flush()
        code = 0
    finally:
        os._exit(code)


class TerminalRun:
    """The program while it runs; it is killed at the end of the block, if it still runs."""

    def __init__(self, arguments: Sequence[object] | Callable[[], object], seconds: float = 300.0) -> None:
        """Start the program with these arguments; or, in a copy of this process, a function that needs a terminal."""
        import pty

        self.shown = ""
        """What came and was not waited for yet, without styles."""
        self.raw = b""
        """All that came."""
        self._until = time.monotonic() + seconds
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads
            self.pid, self._terminal = pty.fork()
        if self.pid == 0 and callable(arguments):
            _run(arguments)
        elif self.pid == 0:
            source = str(Path(__file__).parents[1] / "src")
            paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
            environment = {**os.environ, "TERM": "dumb", "COLUMNS": "100", "PYTHONPATH": os.pathsep.join(paths)}
            command = [sys.executable, "-m", "rfod", *map(str, arguments)]
            os.execve(sys.executable, command, environment)

    def __enter__(self) -> TerminalRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        os.close(self._terminal)

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._terminal, keys.encode())

    def read(self, seconds: float) -> bool:
        """Take in what is shown within so many seconds at most; False at the end of the program."""
        if not select.select([self._terminal], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._terminal, 65536)
        except OSError:  # how Linux says that nobody has the terminal open any more
            return False
        self.raw += data
        self.shown += _STYLE.sub("", data.decode("utf-8", "replace")).replace("\r", "")
        return bool(data)

    def wait_for(self, text: str) -> str:
        """What was shown up to a text, and with it; it is then forgotten."""
        while text not in self.shown:
            assert time.monotonic() < self._until, f"no {text!r} in {self.shown!r}"
            assert self.read(0.5) or text in self.shown, f"it ended without {text!r}: {self.shown!r}"
        before, _, self.shown = self.shown.partition(text)
        return before + text

    def wait(self) -> int:
        """The exit code."""
        while self.read(0.5):
            assert time.monotonic() < self._until, f"it does not end: {self.shown!r}"
        status = os.waitpid(self.pid, 0)[1]
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def kill(self) -> None:
        """End the program at once."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0


def kill_reviews(
    n_kills: int, review: Callable[[], object], path: Path, rng: random.Random, longest: float = 0.6
) -> list[tuple[int, int, int]]:
    """Start reviews, call everything fine, and kill each at a random moment.

    Returns per kill how often a key was pressed, how many decisions the screen said were made, and how many the file
    has more than before.
    """
    from rfod import Decisions

    found = []
    for _ in range(n_kills):
        n_before = len(Decisions.read(path, missing_ok=True).entries)
        n_pressed = 0
        with TerminalRun(review) as run:
            shown = run.wait_for("quit")
            end = time.monotonic() + rng.uniform(0, longest)
            while time.monotonic() < end:
                run.press("f")
                n_pressed += 1
                run.read(rng.uniform(0, 0.05))
            run.kill()
            while run.read(0.2):
                pass
            shown += run.shown
        n_said = max(map(int, re.findall(r"findings, (\d+) decided", shown)), default=0)
        found.append((n_pressed, n_said, len(Decisions.read(path, missing_ok=True).entries) - n_before))
    return found
