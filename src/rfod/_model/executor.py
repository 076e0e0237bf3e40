"""Run tasks on threads; the compiled kernels release the interpreter's lock."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]
"""Called as progress(stage, tasks done, tasks in all)."""


def silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


def count_threads(n_jobs: int | None) -> int:
    """Threads that `n_jobs` stands for, as joblib counts them: -1 for all cores that this process may use."""
    from joblib import effective_n_jobs  # 0.1 s that no other stage has to pay

    return int(effective_n_jobs(n_jobs))


def run_tasks(
    tasks: Sequence[Callable[[], Result]], n_jobs: int | None, stage: str, progress: Progress = silent
) -> list[Result]:
    """Results of all tasks, in their order. The first exception cancels what has not started and is raised."""
    n_threads = min(count_threads(n_jobs), len(tasks))
    progress(stage, 0, len(tasks))
    if n_threads <= 1:
        results = []
        for done, task in enumerate(tasks, start=1):
            results.append(task())
            progress(stage, done, len(tasks))
        return results
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            pending, n_done = set(futures), 0
            while pending:
                finished, pending = wait(
                    pending, timeout=0.5, return_when=FIRST_EXCEPTION if n_done else "FIRST_COMPLETED"
                )
                n_done += len(finished)
                for future in finished:
                    future.result()
                progress(stage, n_done, len(tasks))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        return [future.result() for future in futures]
