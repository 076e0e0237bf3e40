"""Tasks on threads: order of results, errors, progress."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from rfod._model.executor import run_tasks


def tenfold(number, pause=0.0):
    time.sleep(pause)
    return 10 * number


@pytest.mark.parametrize("n_jobs", [1, 2, 4, -1, None])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    tasks = [partial(tenfold, number, pause=0.002 * (5 - number % 5)) for number in range(20)]
    assert run_tasks(tasks, n_jobs, "working") == [10 * number for number in range(20)]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_no_tasks_no_results(n_jobs):
    assert run_tasks([], n_jobs, "working") == []


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_progress_begins_at_none_and_ends_at_all(n_jobs):
    calls = []
    run_tasks([partial(tenfold, 1, 0.001)] * 12, n_jobs, "working", lambda *call: calls.append(call))
    assert calls[0] == ("working", 0, 12)
    assert calls[-1] == ("working", 12, 12)
    done = [call[1] for call in calls]
    assert done == sorted(done)
    assert {call[0] for call in calls} == {"working"}


def test_progress_is_called_from_the_callers_thread():
    threads = set()
    run_tasks([partial(tenfold, 1, 0.001)] * 8, 3, "working", lambda *call: threads.add(threading.get_ident()))
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_first_error_stops_what_has_not_begun(n_jobs):
    begun = []

    def task(number):
        begun.append(number)
        if number == 1:
            raise RuntimeError("task 1 broke")
        time.sleep(0.01)

    with pytest.raises(RuntimeError, match="task 1 broke"):
        run_tasks([partial(task, number) for number in range(200)], n_jobs, "working")
    n_begun = len(begun)
    assert n_begun < 200
    time.sleep(0.05)
    assert len(begun) == n_begun  # no thread is left behind


def test_an_interrupt_stops_too():
    def interrupt(stage, done, total):
        if done:
            raise KeyboardInterrupt

    begun = []

    def task(number):
        begun.append(number)
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        run_tasks([partial(task, number) for number in range(200)], 2, "working", interrupt)
    assert len(begun) < 200


def test_threads_work_at_the_same_time():
    meeting = threading.Barrier(2, timeout=5)
    assert run_tasks([meeting.wait, meeting.wait], 2, "meeting") in ([0, 1], [1, 0])
