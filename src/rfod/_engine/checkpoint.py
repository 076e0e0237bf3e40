"""Keep the results of finished tasks in a folder, so that a run whose driver was killed goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rfod._io.interface import OutputError
from rfod._io.storage import replaced
from rfod._model.executor import Count, Executor, Result, silent

_JOB = "job.json"


class Checkpointed:
    """An executor that keeps every result in a folder, and runs no task whose result is there.

    The folder is for this user alone: results are pickled, and whoever can write there can run code here.

    Parameters
    ----------
    executor
        Runs the tasks.
    folder
        Empty, new, or the one of an earlier run of the same job.
    job
        What the results depend on, as plain JSON values. A folder with another job is refused.
    """

    def __init__(self, executor: Executor, folder: str, job: Mapping[str, Any]) -> None:
        self._executor, self._folder, self._n_calls = executor, Path(folder), 0
        text = json.dumps(job, sort_keys=True, indent=1)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{folder}: {error.strerror or error}.") from error
        kept = self._folder / _JOB
        if kept.is_file():
            if kept.read_text(encoding="utf-8") != text:
                raise OutputError(
                    f"{folder}: the checkpoint of another fit: its files, parameters or version of rfod differ. "
                    "Hint: name another folder, or remove this one."
                )
        elif any(path.name[0] != "." for path in self._folder.iterdir()):
            raise OutputError(f"{folder}: no checkpoint, and not empty. Hint: name another folder.")
        else:
            self._write(kept, text.encode())

    @property
    def n_workers(self) -> int:
        """Of the executor that runs the tasks."""
        return self._executor.n_workers

    def share(self, value: Any) -> Any:
        """See `Executor.share`."""
        return self._executor.share(value)

    def map(
        self,
        function: Callable[..., Result],
        items: Sequence[Any],
        handles: Sequence[Any],
        *,
        progress: Count = silent,
    ) -> Iterator[Result]:
        """See `Executor.map`."""
        self._n_calls += 1
        # by content: how work is cut into items depends on the number of workers
        names = [hashlib.sha256(f"{function.__qualname__} {item!r}".encode()).hexdigest()[:32] for item in items]
        paths = [self._folder / f"{self._n_calls:03d}-{name}" for name in names]
        to_run = [item for item, path in zip(items, paths, strict=True) if not path.is_file()]
        n_kept, total = len(items) - len(to_run), len(items)

        def count(done: int, _: int) -> None:
            progress(n_kept + done, total)

        def results() -> Iterator[Result]:
            is_kept = [path.is_file() for path in paths]
            new = self._executor.map(function, to_run, handles, progress=count)
            for path, kept in zip(paths, is_kept, strict=True):
                if kept:
                    yield pickle.loads(path.read_bytes())
                else:
                    result = next(new)
                    self._write(path, pickle.dumps(result, protocol=5))
                    yield result

        return results()

    def _write(self, path: Path, data: bytes) -> None:
        try:
            with replaced(str(path)) as temporary:
                Path(temporary).write_bytes(data)
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror or error}.") from error
