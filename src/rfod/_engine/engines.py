"""From what a user calls an engine to the executor that runs the tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rfod._model.executor import Executor, Threads

LOCAL, RAY = "local", "ray"


@contextmanager
def open_engine(engine: str | Executor, n_jobs: int | None = -1) -> Iterator[Executor]:
    """The executor behind "local" (threads), "ray" (a cluster of its own, unless RAY_ADDRESS names one), the address of
    a Ray cluster, or an executor itself. What was started here ends with the block."""
    if not isinstance(engine, str):
        yield engine
    elif engine == LOCAL:
        yield Threads(n_jobs)
    else:
        from rfod._engine.ray_executor import RayExecutor

        with RayExecutor(None if engine == RAY else engine) as executor:
            yield executor
