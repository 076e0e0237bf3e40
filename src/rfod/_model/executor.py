"""Run tasks, on threads by default, and show on a terminal how far they are."""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from functools import cached_property
from threading import Event
from typing import Any, Protocol, TypeVar

from rfod._forest.warm_up import compile_kernels, compiling

Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]
"""Called as progress(stage, tasks done, tasks in all)."""
Count = Callable[[int, int], None]
"""Called as count(tasks done, tasks in all), in the thread of the caller."""

COMPILING = "compiling, once per environment, about 10 s"
_log = logging.getLogger("rfod")


def silent(*progress: object) -> None:
    """Progress that is not shown."""


class Executor(Protocol):
    """Runs tasks: in threads, in processes or on other machines.

    A task is a module-level function of an item and of shared objects. It returns its result and changes none of its
    arguments; all of them can be pickled.
    """

    @property
    def n_workers(self) -> int:
        """Number of tasks that run at the same time; work is cut into tasks accordingly."""

    def share(self, value: Any) -> Any:
        """Handle of an object that many tasks use; `map` passes the object itself to the function."""

    def map(
        self, function: Callable[..., Result], items: Sequence[Any], handles: Sequence[Any], *, progress: Count = silent
    ) -> Iterator[Result]:
        """function(item, *shared objects) for every item, in their order; the first exception cancels what has not
        started."""


class Threads:
    """Runs tasks in threads of this process; the compiled kernels release the interpreter's lock."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self._n_jobs = n_jobs

    @cached_property
    def n_workers(self) -> int:
        """Threads that `n_jobs` stands for, as joblib counts them: -1 for all cores that this process may use."""
        if self._n_jobs == 1:
            return 1
        from joblib import effective_n_jobs  # 0.1 s that no other stage has to pay

        return int(effective_n_jobs(self._n_jobs))

    def share(self, value: Any) -> Any:
        """The object itself."""
        return value

    def map(
        self, function: Callable[..., Result], items: Sequence[Any], handles: Sequence[Any], *, progress: Count = silent
    ) -> Iterator[Result]:
        """See `Executor.map`."""
        n_threads, total = min(self.n_workers, len(items)), len(items)
        progress(0, total)
        if n_threads <= 1:
            for done, item in enumerate(items, start=1):
                result = function(item, *handles)
                progress(done, total)
                yield result
            return
        stop = Event()

        def run(item: Any) -> Result:
            if stop.is_set():
                raise CancelledError
            try:
                return function(item, *handles)
            except BaseException:
                stop.set()
                raise

        pool = ThreadPoolExecutor(n_threads)
        try:
            futures = deque(pool.submit(run, item) for item in items)
            for done in range(1, total + 1):
                future = futures.popleft()  # so that no result is kept after it was given out
                while not future.done():
                    wait([future], timeout=0.5)  # Windows does not interrupt a wait without a limit
                result = future.result()
                progress(done, total)
                yield result
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def terminal_progress(wanted: bool) -> Iterator[Progress]:
    """A progress callback that draws on stderr while the block runs; a silent one unless wanted and a terminal.

    When kernels have to be compiled in the block, a terminal and a notebook show it in any case, and the logger "rfod"
    reports it at level INFO.
    """
    with ExitStack() as stack:
        draw = _bars(stack) if sys.stderr.isatty() else None

        def report(done: int, total: int) -> None:
            if done == 0:
                _log.info(COMPILING)
                if draw is None and "ipykernel" in sys.modules:
                    sys.stderr.write(f"rfod: {COMPILING}\n")
            if draw is not None:
                draw(COMPILING, done, total)

        with compiling(report):
            yield draw if draw is not None and wanted else silent


def compile_ahead(wanted: bool) -> None:
    """Compile all kernels that are not in the cache yet."""
    with terminal_progress(wanted):
        compile_kernels()


def _bars(stack: ExitStack) -> Progress:
    """Draws bars on stderr, one per stage, from the first call until the stack is closed."""
    stages: dict[str, Any] = {}
    bars: Any = None

    def draw(stage: str, done: int, total: int) -> None:
        nonlocal bars
        if bars is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description:>9}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            bars = stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
        if stage not in stages:
            stages[stage] = bars.add_task(stage, total=total)
        bars.update(stages[stage], completed=done, total=total)  # a second fit begins again at 0

    return draw
