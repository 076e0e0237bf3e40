"""Progress on a terminal, and nowhere else; that kernels are being compiled is said wherever somebody listens."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from rfod._forest.warm_up import compile_kernels, compiling
from rfod._model.executor import Progress, silent

COMPILING = "compiling, once per environment, about 10 s"
_log = logging.getLogger("rfod")


@contextmanager
def terminal_progress(wanted: bool) -> Iterator[Progress]:
    """A progress callback that draws on stderr while the block runs; a silent one unless wanted and a terminal.

    When kernels have to be compiled in the block, a terminal and a notebook show it in any case, and the logger "rfod"
    tells it at level INFO.
    """
    with ExitStack() as stack:
        bars = _Bars(stack) if sys.stderr.isatty() else None

        def report(done: int, total: int) -> None:
            if done == 0:
                _log.info(COMPILING)
                if bars is None and "ipykernel" in sys.modules:
                    sys.stderr.write(f"rfod: {COMPILING}\n")
            if bars is not None:
                bars.draw(COMPILING, done, total)

        with compiling(report):
            yield bars.draw if bars is not None and wanted else silent


def compile_ahead(wanted: bool) -> None:
    """Compile all kernels that are not in the cache yet."""
    with terminal_progress(wanted):
        compile_kernels()


class _Bars:
    """Bars on stderr, one per stage; they appear with the first stage and go when the block ends."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._progress: Any = None
        self._stages: dict[str, Any] = {}

    def draw(self, stage: str, done: int, total: int) -> None:
        """So many of the tasks of a stage are done."""
        if self._progress is None:
            self._progress = self._stack.enter_context(_new_progress())
        if stage not in self._stages:
            self._stages[stage] = self._progress.add_task(stage, total=total)
        self._progress.update(self._stages[stage], completed=done, total=total)  # a second fit begins again at 0


def _new_progress() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:>9}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
