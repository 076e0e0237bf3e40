"""Run tasks on a Ray cluster: an executor on Ray's core API."""

from __future__ import annotations

import logging
import os
import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._model.executor import Count, Result, silent
from rfod.exceptions import EngineError

Packed = tuple[bytes, list[NDArray[np.uint8]]]
"""A pickled object, and the memory of its arrays."""
MAX_RETRIES = 3  # of a task whose process or machine is lost
TASKS_PER_WORKER = 4  # under way or not fetched yet


class RayExecutor:
    """Runs tasks on the CPUs of a Ray cluster, one each. Lost tasks run again; results come in the order of items.

    Parameters
    ----------
    address
        `ray://host:port` or `host:port` of a cluster that runs; None for the one that the environment
        variable RAY_ADDRESS names, otherwise for a new one on this machine, which `close` ends. A session of Ray that
        this process already has is used as it is.
    """

    def __init__(self, address: str | None = None) -> None:
        if find_spec("ray") is None:
            raise EngineError("ray is not installed.\nHint: pip install 'rfod[ray]'.")
        import ray

        self._ray = ray
        self._is_owner = not ray.is_initialized()
        if self._is_owner:
            address = address or os.environ.get("RAY_ADDRESS") or "local"
            options = {"include_dashboard": False} if address == "local" else {}
            try:
                ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **options)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise EngineError(f"Ray at {address}: no connection: {error}") from error
        self._run = ray.remote(num_cpus=1, max_retries=MAX_RETRIES)(_run)

    @cached_property
    def n_workers(self) -> int:
        """CPUs of the cluster when it is first asked for."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def share(self, value: Any) -> Any:
        """A reference to the object in Ray's object store."""
        return self._ray.put(_pack(value))

    def map(
        self,
        function: Callable[..., Result],
        items: Sequence[Any],
        handles: Sequence[Any],
        *,
        progress: Count = silent,
    ) -> Iterator[Result]:
        """See `Executor.map`."""
        total, handles = len(items), list(handles)
        limit = TASKS_PER_WORKER * self.n_workers
        to_submit = iter(items)
        progress(0, total)
        # a list of references is passed on as it is, so that a worker fetches an object once
        pending = deque(self._run.remote(function, item, handles) for item in islice(to_submit, limit))
        try:
            for done in range(1, total + 1):
                result = self._fetch(pending.popleft())
                pending.extend(self._run.remote(function, item, handles) for item in islice(to_submit, 1))
                progress(done, total)
                yield result
        finally:
            for reference in pending:
                self._ray.cancel(reference)

    def _fetch(self, reference: Any) -> Any:
        errors = self._ray.exceptions
        while not self._ray.wait([reference], timeout=0.5)[0]:
            pass  # so that Ctrl-C is noticed
        try:
            return _unpack(self._ray.get(reference))
        except errors.RayTaskError as error:
            if isinstance(error.cause, errors.RayError):  # such as a worker that cannot import rfod
                raise EngineError(f"Ray cannot run a task: {_first_line(error.cause)}") from error
            raise error.cause from error
        except errors.RayError as error:
            raise EngineError(f"Ray lost a task {MAX_RETRIES + 1} times: {_first_line(error)}") from error

    def close(self) -> None:
        """End the session, if this executor began it."""
        if self._is_owner:
            self._ray.shutdown()

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


_held: dict[Any, Any] = {}
"""On a worker: the shared objects of the last task."""


def _run(function: Callable[..., Any], item: Any, references: list[Any]) -> Packed:
    """On a worker: one task."""
    import ray

    for reference in [reference for reference in _held if reference not in references]:
        del _held[reference]
    for reference in references:
        if reference not in _held:
            _held[reference] = _unpack(ray.get(reference))
    return _pack(function(item, *(_held[reference] for reference in references)))


def _pack(value: Any) -> Packed:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return data, [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]


def _unpack(packed: Packed) -> Any:
    """Arrays are copied out of the object store, where they are read-only: kernels are compiled for writable ones."""
    data, buffers = packed
    return pickle.loads(data, buffers=[bytearray(buffer) for buffer in buffers])
