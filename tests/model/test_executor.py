"""Executors: order of results, errors, progress; and that every task can run in another process."""

from __future__ import annotations

import pickle
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

from rfod._model.executor import Threads, silent
from rfod.params import Params
from rfod.pipeline import detect, fit_detect, fit_model
from tables import as_arrow, mixed_columns


def tenfold(number, pause=0.0):
    time.sleep(pause)
    return 10 * number


@pytest.mark.parametrize("n_jobs", [1, 2, 4, -1, None])
def test_results_come_in_the_order_of_the_items(n_jobs):
    def slow(number, factor):
        time.sleep(0.002 * (5 - number % 5))
        return factor * number

    executor = Threads(n_jobs)
    found = executor.map(slow, range(20), [executor.share(10)])
    assert list(found) == [10 * number for number in range(20)]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_no_items_no_results(n_jobs):
    assert list(Threads(n_jobs).map(tenfold, [], [])) == []


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_progress_begins_at_none_and_ends_at_all(n_jobs):
    calls = []
    list(Threads(n_jobs).map(tenfold, [1] * 12, [0.001], progress=lambda *call: calls.append(call)))
    assert calls == [(done, 12) for done in range(13)]


def test_progress_is_called_from_the_callers_thread():
    threads = set()
    list(Threads(3).map(tenfold, [1] * 8, [0.001], progress=lambda *call: threads.add(threading.get_ident())))
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
        list(Threads(n_jobs).map(task, range(200), []))
    n_begun = len(begun)
    assert n_begun < 10
    time.sleep(0.05)
    assert len(begun) == n_begun  # no thread is left behind


def test_an_error_stops_others_while_an_earlier_task_still_runs():
    begun, is_over = [], threading.Event()

    def task(number):
        begun.append(number)
        if number == 0:
            is_over.wait(5)
        if number == 3:
            is_over.set()
            raise RuntimeError("task 3 broke")

    with pytest.raises(RuntimeError, match="task 3 broke"):
        list(Threads(2).map(task, range(200), []))
    assert begun == [0, 1, 2, 3]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupt_of_the_caller_stops_too(error):
    begun = []

    def task(number):
        begun.append(number)
        time.sleep(0.01)

    def interrupt(done, total):
        if done:
            raise error

    with pytest.raises(error):
        list(Threads(2).map(task, range(200), [], progress=interrupt))
    results = Threads(2).map(task, range(200), [])
    next(results)
    results.close()
    n_begun = len(begun)
    time.sleep(0.05)
    assert len(begun) == n_begun < 200


def test_threads_work_at_the_same_time():
    meeting = threading.Barrier(2, timeout=5)
    assert sorted(Threads(2).map(lambda item: meeting.wait(), [1, 2], [])) == [0, 1]


# ---------------------------------------------------------------------------------------------- as in another process


class Pickling:
    """Runs every task on copies: functions, shared objects, items and results are pickled, as for another process."""

    n_workers = 3

    def __init__(self):
        self.functions = []

    def share(self, value):
        return pickle.dumps(value)

    def map(self, function, items, handles, *, progress=silent):
        self.functions.append(function.__qualname__)
        packed = pickle.dumps(function)
        progress(0, len(items))
        for done, item in enumerate(items, start=1):
            task, own = pickle.loads(packed), pickle.loads(pickle.dumps(item))
            result = task(own, *[pickle.loads(handle) for handle in handles])
            progress(done, len(items))
            yield pickle.loads(pickle.dumps(result))


PARTS = ("row_scores", "cell_scores", "uncertainty", "surprise", "p_values", "row_p_values")


def assert_same(one, other):
    for part in PARTS:
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part), strict=True)
    assert one.expected.equals(other.expected)


@pytest.mark.parametrize("aggregation", ["consensus", "uncertainty"])
def test_fit_and_detect_run_on_any_executor(aggregation):
    table, new = as_arrow(mixed_columns(300)), as_arrow(mixed_columns(280, seed=1))
    params, executor = Params(n_estimators=6, random_state=0, aggregation=aggregation), Pickling()
    model = fit_model(table, params, executor=executor).model
    assert executor.functions == ["_grow_run", "_calibrate_part", "_judge"]  # the last for the profile
    found = detect(model, new, executor=executor)
    assert executor.functions[3:] == ["_judge"]
    wanted = fit_model(table, params).model
    np.testing.assert_array_equal(model.calibration, wanted.calibration)
    np.testing.assert_array_equal(model.fitness, wanted.fitness)
    assert_same(found, detect(wanted, new))


def test_scan_runs_on_any_executor():
    table, executor = as_arrow(mixed_columns(300)), Pickling()
    params = Params(n_estimators=6, random_state=0, trim=0.1)
    _, found = fit_detect(table, params, executor=executor)
    assert executor.functions == ["_grow_run", "_calibrate_part", "_judge"] * 2
    _, wanted = fit_detect(table, params)
    assert_same(found, wanted)
    assert found.blames([0, 1]) == wanted.blames([0, 1])


def test_wide_tables_run_on_any_executor():
    rng = np.random.default_rng(0)
    table = pa.table({f"x{k}": rng.normal(size=300) for k in range(20)})
    params, executor = Params(n_estimators=3, random_state=0, max_predictors=8), Pickling()
    model = fit_model(table, params, executor=executor).model
    assert executor.functions == ["_choose", "_grow_run", "_calibrate_part", "_judge"]
    wanted = fit_model(table, params).model
    for own, other in zip(model.forests, wanted.forests, strict=True):
        np.testing.assert_array_equal(own.predictors, other.predictors, strict=True)
    assert_same(detect(model, table), detect(wanted, table))
