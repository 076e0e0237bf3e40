"""Compile all kernels ahead, or report when they have to be compiled.

numba compiles a kernel when it is first called, which takes seconds, and keeps it in a cache on disk: once per
environment. It fires the event "numba:compile" only for what is not in the cache.
"""

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import spawn
from typing import Any

import numpy as np
from numba.core import event
from numba.core.dispatcher import Dispatcher

from rfod._forest import boosted, class_sums, grow, jit, leaf_sample, mutual_information, neighbours, route
from rfod._forest.forest import Forest, Predictors, Target, Trees, grow_into, is_tree, measure_fitness
from rfod._forest.layout import grown_trees, leaf_word
from rfod._table.bins import Feature
from rfod.params import Params

Report = Callable[[int, int], None]
"""Called as report(functions compiled, functions in all)."""

_MODULES = (jit, grow, route, class_sums, leaf_sample, neighbours, boosted, mutual_information)
_N_FUNCTIONS = len({found for part in _MODULES for found in vars(part).values() if isinstance(found, Dispatcher)})
_ONE_ROW = np.zeros(1, dtype=np.int64)
_BLOCK = np.zeros((1, 1), dtype=np.uint8, order="F")
_IN_NO_BAG = np.zeros((1, 1), dtype=np.uint8)
_watched = threading.Lock()


def compile_kernels(progress: Report | None = None) -> None:
    """Compile every kernel, or load it from the cache; progress(done, total) is called as functions are compiled and
    once at the end."""
    with compiling(progress or (lambda done, total: None)):
        for step in _STEPS:
            step()
    if progress:
        progress(_N_FUNCTIONS, _N_FUNCTIONS)


def compile_others() -> None:
    """What a second process compiles while the first one is at the kernel that takes longest."""
    gc.disable()
    for step in _STEPS[2:]:
        step()


@contextmanager
def compiling(report: Report) -> Iterator[None]:
    """While the block runs, notice when kernels are compiled: report(0, total) is called at the first one that is not
    in the cache, report(done, total) after each function, report(total, total) at the end of the block. Never called
    when all come from the cache. Calls may come from any thread, one at a time.

    Compiling is also faster within the block: no garbage is collected, which would take a tenth of the time and find
    next to nothing, and a second process compiles other kernels into the same cache. A block within another one, or at
    the same time in another thread, does nothing."""
    if not _watched.acquire(blocking=False):
        yield
        return
    watch = _Watch(report)
    try:
        with event.install_listener("numba:compile", watch):
            yield
    finally:
        _watched.release()
        watch.close()


class _Watch(event.Listener):
    """Receives numba's events, which come from within its compiler lock: one at a time."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._n_under_way = self._n_done = 0
        self._collects_garbage = False
        self._other: subprocess.Popen[bytes] | None = None

    def on_start(self, compiled: event.Event) -> None:
        if not _is_ours(compiled):
            return
        if self._n_under_way == 0:
            self._collects_garbage = gc.isenabled()
            gc.disable()
        self._n_under_way += 1
        if self._n_under_way == 1 and self._n_done == 0:
            self._other = _start_other()
            self._report(0, _N_FUNCTIONS)

    def on_end(self, compiled: event.Event) -> None:
        if self._n_under_way == 0 or not _is_ours(compiled):  # one that began before the block
            return
        self._n_under_way -= 1
        if self._n_under_way == 0 and self._collects_garbage:
            gc.enable()
        self._n_done += 1
        self._report(min(self._n_done, _N_FUNCTIONS - 1), _N_FUNCTIONS)

    def close(self) -> None:
        """The end of the block; another thread may still compile."""
        if self._n_under_way and self._collects_garbage:
            gc.enable()
        if self._other is not None:
            self._other.terminate()
            self._other.wait()
        if self._n_done:
            self._report(_N_FUNCTIONS, _N_FUNCTIONS)


def _is_ours(compiled: event.Event) -> bool:
    return str(compiled.data["dispatcher"].py_func.__module__).startswith("rfod.")


def _n_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start_other() -> "subprocess.Popen[bytes] | None":
    """A process that compiles other kernels; None where there is no processor or no Python for it. Should it fail, all
    is compiled here."""
    python = spawn.get_executable()
    if _n_processors() < 2 or not python or hasattr(sys, "frozen"):  # frozen: the program is not a Python
        return None
    try:
        return subprocess.Popen(
            [python, "-P", "-c", "from rfod._forest.warm_up import compile_others; compile_others()"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None


# ------------------------------------------------------------------------------------------- every kernel, called once


def _task() -> tuple[Predictors, Target, Params]:
    """All that is needed to grow trees on one row."""
    predictors = Predictors(_BLOCK.T, np.zeros(1, dtype=np.bool_), np.full(1, 2), np.zeros(1, dtype=np.int64))
    target = Target(1, _ONE_ROW, np.zeros(1), np.zeros(1, dtype=np.int32), 0)
    return predictors, target, Params(1, max_features=None, min_samples_leaf=1)


def _forest(n_classes: int) -> Forest:
    """One tree of one leaf."""
    start, end = np.zeros(1, dtype=np.int64), np.array([0, 1])
    shares = np.zeros(1, dtype=np.uint16), np.ones(1, dtype=np.float32)
    trees = Trees(np.array([leaf_word(0)]), start, start, 1, np.zeros(1), np.zeros(1), end, *shares)
    return Forest(1, n_classes, trees, 1, np.zeros(1), start, np.zeros(2), start)


def _predict_classes(n_classes: int) -> None:
    _forest(n_classes).predict_classes(_BLOCK, np.zeros(1, dtype=np.int32))


def _weigh() -> None:
    sample = leaf_sample.gather(_forest(0), _BLOCK, _ONE_ROW)
    sample.weights(_BLOCK, _ONE_ROW)
    sample.weights_up_to(_BLOCK, _ONE_ROW, _IN_NO_BAG, np.zeros(1), np.zeros(1))


def _measure() -> None:
    neighbours.neighbours([np.zeros(1)], np.zeros(1, dtype=np.bool_), np.ones(1)).distances([np.zeros(1)], _ONE_ROW)


def _sum_trees() -> None:
    leaf, child = np.full(1, boosted.LEAF, dtype=np.uint8), np.zeros(1, dtype=np.uint8)
    trees = boosted.BoostedTrees(leaf, np.zeros(1, np.float32), child, child, np.array([0, 1], np.int32), 0.0)
    trees.log_odds(np.zeros((1, 1), dtype=np.float32))


# In the order in which a fit needs them; growing takes as long as all that follow, which a second process does.
_STEPS: tuple[Callable[[], Any], ...] = (
    lambda: Feature(0, "value", False, 3, np.zeros(1)).codes(np.zeros(1)),
    lambda: grow_into(grown_trees(0, 1, 1, 1, 0, 1), *_task(), seed=0, first_tree=0),
    lambda: measure_fitness(grown_trees(0, 1, 1, 1, 0, 1), 0.0, *_task()),
    lambda: _forest(0).bags(0, _ONE_ROW, 1),
    lambda: _forest(0).predict_values(_BLOCK),
    lambda: _predict_classes(2),
    lambda: _predict_classes(1000),  # too many for a table
    _measure,
    _weigh,
    _sum_trees,
    lambda: mutual_information.mutual_information(np.ones(1, dtype=np.uint8), _BLOCK),
    lambda: is_tree(np.array([leaf_word(0)]), 1, np.full(1, 2), np.zeros(1, dtype=np.bool_)),
)
