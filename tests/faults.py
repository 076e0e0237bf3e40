"""Executors whose tasks, or whose driver, are killed once; an exclusively created file shows that it happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rfod._model.executor import Executor


class FaultyExecutor:
    """Runs tasks as another executor does, those of the function called `name` with a fault."""

    def __init__(self, executor: Executor, name: str, fault: Callable[..., Any]) -> None:
        self._executor, self._name, self._fault = executor, name, fault
        self.n_tasks: dict[str, int] = {}
        """Per function, tasks that came."""

    @property
    def n_workers(self) -> int:
        return self._executor.n_workers

    def share(self, value: Any) -> Any:
        return self._executor.share(value)

    def map(self, function: Any, items: Any, handles: Any, **options: Any) -> Iterator[Any]:
        self.n_tasks[function.__name__] = self.n_tasks.get(function.__name__, 0) + len(items)
        wrapped = partial(self._fault, function) if function.__name__ == self._name else function
        return self._executor.map(wrapped, items, handles, **options)


def is_first(marker: Path) -> bool:
    """Whether nobody was here before; leaves the number of this process."""
    try:
        with marker.open("x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return False
    return True


def kill_worker(marker: Path, function: Callable[..., Any], item: Any, *shared: Any) -> Any:
    """The first task to come kills its process when its work is done and its result not delivered."""
    result = function(item, *shared)
    if is_first(marker):
        os.kill(os.getpid(), signal.SIGKILL)
    return result


def kill_node(marker: Path, function: Callable[..., Any], item: Any, *shared: Any) -> Any:
    """The first task to come kills the process that is its machine to Ray, and itself."""
    if is_first(marker):
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return function(item, *shared)


class DyingDriver(FaultyExecutor):
    """Kills this process when it has given the driver `n_results` results of the function called `name`."""

    def __init__(self, executor: Executor, name: str, n_results: int) -> None:
        super().__init__(executor, "", lambda: None)
        self._dying_name, self._n_results = name, n_results

    def map(self, function: Any, items: Any, handles: Any, **options: Any) -> Iterator[Any]:
        for number, result in enumerate(super().map(function, items, handles, **options)):
            if function.__name__ == self._dying_name and number == self._n_results:
                os.kill(os.getpid(), signal.SIGKILL)
            yield result


_KILLED = """
from faults import DyingDriver
from files import FIT
from rfod import distributed
from rfod._engine.engines import open_engine
from rfod._io import columnar
import sys

columnar.PART_ROWS = 1_000
what, engine, name, files, kept, model = sys.argv[1:]
if __name__ == "__main__":
    with open_engine(engine, 2) as executor:
        dying = DyingDriver(executor, name, 3)
        if what == "fit":
            distributed.fit(files, engine=dying, checkpoint=kept, **FIT)
        else:
            distributed.score(model, files, kept, engine=dying, key="id", cells=True)
"""


def run_killed_driver(what: str, engine: str, name: str, files: Path, kept: Path, model: Path) -> int:
    """The exit code of a driver that kills itself when it has three results of a function."""
    command = [sys.executable, "-c", _KILLED, what, engine, name, str(files), str(kept), str(model)]
    return subprocess.run(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, timeout=90).returncode
