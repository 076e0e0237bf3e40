"""What is said to a person: progress and remarks on stderr, findings on stdout."""

from __future__ import annotations

import logging
import re
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from rfod._io.interface import redacted
from rfod._io.source import Source
from rfod.exceptions import RFODError

_OVERRIDE = re.compile(r"column_types=\{'([^']*)': (?:'(\w+)'|\.\.\.)\}")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


def shown(text: object) -> str:
    """Text from a file, fit for a terminal: control characters could move its cursor or worse."""
    return _UNPRINTABLE.sub(" ", str(text))


def in_command_words(text: str) -> str:
    """A message of the library in one line, with options in place of parameters."""
    text = " ".join(shown(redacted(text)).split())
    text = re.sub(r"to silence this, 'ignore'", "to silence this, --type COLUMN=ignore", text)
    text = _OVERRIDE.sub(lambda found: f"--type {shlex.quote(found[1] + '=' + (found[2] or 'KIND'))}", text)
    return re.sub(r"column_types\['([^']*)'\]", r"--type \1", text).replace("column_types", "--type")


class Reporter:
    """Writes messages to stderr, unless quiet, and measures stages."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.console = stderr_console()
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []
        """What was noted so far, in the words of the command line."""

    @property
    def draws(self) -> bool:
        """Whether progress is drawn."""
        return not self.quiet and self.console.is_terminal

    def note(self, text: str) -> None:
        """A remark that the work goes on after."""
        text = in_command_words(text)
        self.notes.append(text)
        if not self.quiet:
            self.console.print(Text("note: ", style="yellow") + Text(text))

    def say(self, text: str) -> None:
        """A line of the summary."""
        if not self.quiet:
            self.console.print(Text(shown(text)))

    def notes_of(self, source: Source) -> None:
        """What the reader of a source noticed."""
        for text in source.notes.texts():
            self.note(f"{source.name}: {text}")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the wall time of the block to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    @contextmanager
    def remarks(self) -> Iterator[None]:
        """Warnings of the library as notes, each once; what it logs as notes too, where no progress is drawn."""
        log, listener = logging.getLogger("rfod"), _Listener(self)
        level = log.level
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if not self.draws:
                log.addHandler(listener)
                log.setLevel(logging.INFO)
            try:
                yield
            finally:
                log.removeHandler(listener)
                log.setLevel(level)
                for text in dict.fromkeys(str(warning.message) for warning in caught):
                    self.note(text)

    def times(self) -> str:
        """Wall time by stage."""
        return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.seconds.items())

    @contextmanager
    def bar(self, stage: str, source: Source) -> Iterator[Callable[[int], None]]:
        """A function to call with the number of rows just done; a bar shows how much of the source is read."""
        if not self.draws:
            yield lambda n_rows: None
            return
        columns = (
            TextColumn("{task.description}", markup=False),  # it has the name of a file in it
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[rows]:,} rows, {task.fields[rate]:,.0f}/s"),
            TimeRemainingColumn(compact=True),
        )
        with Progress(*columns, console=self.console, transient=True) as progress:
            task = progress.add_task(f"{stage} {shown(source.name)[-40:]}", total=None, rows=0, rate=0.0)
            start, n_done = time.perf_counter(), 0

            def advance(n_rows: int) -> None:
                nonlocal n_done
                n_done += n_rows
                read, total = source.progress()
                rate = n_done / max(time.perf_counter() - start, 1e-3)
                progress.update(task, completed=read, total=total, rows=n_done, rate=rate)

            yield advance


class _Listener(logging.Handler):
    """Hands what the library logs to a reporter."""

    def __init__(self, reporter: Reporter) -> None:
        super().__init__(logging.INFO)
        self._reporter = reporter

    def emit(self, record: logging.LogRecord) -> None:
        self._reporter.note(record.getMessage())


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Errors about a table with the name of its file before them."""
    try:
        yield
    except RFODError as error:
        text = str(error)
        if not text.startswith(name):
            error.args = (f"{name}: {text}", *error.args[1:])
        raise


def print_error(text: str) -> None:
    """One line on stderr."""
    stderr_console().print(Text("error: ", style="bold red") + Text(in_command_words(text)))


def stderr_console() -> Console:
    """For everything that is no result: wrapped on a terminal, one line per message elsewhere."""
    return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def stdout_console() -> Console:
    """For findings: colours and the width of the terminal where there is one."""
    return Console(file=sys.stdout, highlight=False)


def print_lines(text: str) -> None:
    """Text of the library on stdout, its lines as they are."""
    console = stdout_console()
    for line in text.splitlines():
        console.print(Text(shown(line)), soft_wrap=True)
