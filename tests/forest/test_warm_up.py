"""The warm-up compiles exactly the kernels that are used, and compiling is reported."""

import gc
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from numba import njit
from numba.core import event
from numba.core.errors import TypingError

from rfod._forest import warm_up

TESTS = Path(__file__).parents[1]

# Prints the signatures of kernels that are compiled or loaded by anything but the warm-up.
USE_EVERYTHING = """
import sys
from numba.core.dispatcher import Dispatcher
from rfod._forest.warm_up import compile_kernels

def signatures():
    modules = [module for name, module in sys.modules.items() if name.startswith("rfod.")]
    kernels = {found for module in modules for found in vars(module).values() if isinstance(found, Dispatcher)}
    return {f"{kernel.py_func.__name__}{signature}" for kernel in kernels for signature in kernel.signatures}

compile_kernels()
ready = signatures()
assert ready

import rfod
from tables import as_polars, mixed_columns, small

def use(detector, table):
    found = detector.detect(table)
    found.p_values, found.surprise, found.expected
    found.intervals()
    found.explain_rows([0, 1])
    found.patterns([0, 1])
    found.likely(0, "city")
    found.cells([0, 1], blame=True)

columns = mixed_columns()
columns["name"] = [f"name {row // 2}" for row in range(120)]  # more classes than a table of them has room for
columns["constant"] = [1] * 120
table = as_polars(columns)
for aggregation in ("consensus", "uncertainty"):
    detector = small(n_jobs=2, aggregation=aggregation).fit(table)
    use(detector, table)
detector.fit_detect(table)
detector.save(sys.argv[1])
use(rfod.load(sys.argv[1]), table.head(7))
print(*sorted(signatures() - ready), sep="\\n")
"""

FIRST_USE = """
from rfod._forest.warm_up import compile_kernels, compiling
reports = []
compile_kernels(lambda *report: reports.append(report))
print(len(reports), *reports[0], *reports[-1])
"""


def python(program, *arguments, **environment):
    paths = os.pathsep.join([str(TESTS), *sys.path])
    command = [sys.executable, "-P", "-W", "error", "-c", program, *map(str, arguments)]
    ran = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths} | environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.fixture
def reports():
    return []


@pytest.fixture
def watch(reports, monkeypatch):
    """What notes each report, and whether garbage is collected at that time; no second process."""
    monkeypatch.setattr(warm_up, "_start_other", lambda: None)
    return warm_up.compiling(lambda done, total: reports.append((done, total, gc.isenabled())))


def kernel(module="rfod.somewhere"):
    def add(number):
        return number + 1

    add.__module__ = module
    return njit(add)


@pytest.mark.slow
def test_the_warm_up_compiles_every_kernel_that_is_used(tmp_path):
    assert python(USE_EVERYTHING, tmp_path / "model.rfod") == ""


@pytest.mark.slow
def test_only_the_first_process_compiles(tmp_path):
    n_first, *first = python(FIRST_USE, NUMBA_CACHE_DIR=str(tmp_path)).split()
    total = first[-1]
    assert first == ["0", total, total, total]
    assert int(n_first) > 10
    assert python(FIRST_USE, NUMBA_CACHE_DIR=str(tmp_path)).split() == ["1", total, total, total, total]


def test_compiling_is_reported(watch, reports):
    with watch:
        kernel()(1)
    total = reports[0][1]
    assert [report[:2] for report in reports] == [(0, total), (1, total), (total, total)]


def test_nothing_to_compile_is_not_reported(watch, reports):
    compiled = kernel()
    compiled(1)
    with watch:
        compiled(1)
    assert reports == []


def test_kernels_of_others_are_not_reported(watch, reports):
    with watch:
        kernel("elsewhere")(1)
    assert reports == []


def test_a_watch_within_another_does_nothing(watch, reports):
    with watch, warm_up.compiling(lambda done, total: pytest.fail("reported twice")):
        kernel()(1)
    assert reports


class Calls(event.Listener):
    """Calls something when the compilation of anything starts, and when it ends."""

    def __init__(self, at_start=lambda: None, at_end=lambda: None):
        self.at_start, self.at_end = at_start, at_end

    def on_start(self, compiled):
        self.at_start()

    def on_end(self, compiled):
        self.at_end()


def test_compilation_that_began_before_the_block(watch, reports):
    """Another thread may be in the middle of one."""
    with ExitStack() as block:
        with event.install_listener("numba:compile", Calls(at_start=lambda: block.enter_context(watch))):
            kernel()(1)
        assert gc.isenabled()
        kernel()(1)
        assert gc.isenabled()
    assert reports


def test_compilation_that_ends_after_the_block(watch, reports):
    with ExitStack() as block:
        block.enter_context(watch)
        with event.install_listener("numba:compile", Calls(at_start=block.close)):
            kernel()(1)
    assert reports
    assert gc.isenabled()


def test_a_report_that_fails_leaves_nothing_behind(monkeypatch):
    monkeypatch.setattr(warm_up, "_start_other", lambda: None)

    def fail(done, total):
        raise BrokenPipeError

    for _ in range(2):  # the second one would do nothing if the first were still there
        with pytest.raises(BrokenPipeError), warm_up.compiling(fail):
            kernel()(1)
        assert gc.isenabled()


@pytest.mark.parametrize("was_on", [True, False])
def test_no_garbage_is_collected_meanwhile(was_on, watch, reports):
    if not was_on:
        gc.disable()
    try:
        with watch:
            kernel()(1)
        assert gc.isenabled() == was_on
    finally:
        gc.enable()
    assert not reports[0][2]


def test_garbage_is_collected_again_after_a_failure(watch, reports):
    with pytest.raises(TypingError), watch:
        kernel()("text")
    assert reports
    assert gc.isenabled()


def test_the_other_process_ends_with_the_block(monkeypatch):
    others = []

    def start():
        others.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
        return others[-1]

    monkeypatch.setattr(warm_up, "_start_other", start)
    with warm_up.compiling(lambda done, total: None):
        kernel()(1)
        kernel()(1.0)
    assert len(others) == 1
    assert others[0].returncode is not None


def test_no_other_process_can_be_started(monkeypatch, reports):
    def fail(*arguments, **options):
        raise PermissionError

    monkeypatch.setattr(warm_up.subprocess, "Popen", fail)
    with warm_up.compiling(lambda *report: reports.append(report)):
        assert kernel()(1) == 2
    assert reports


def test_the_other_process_is_not_started_on_one_processor(monkeypatch):
    monkeypatch.setattr(warm_up, "_n_processors", lambda: 1)
    monkeypatch.setattr(warm_up.subprocess, "Popen", lambda *arguments, **options: pytest.fail("started"))
    with warm_up.compiling(lambda done, total: None):
        assert kernel()(1) == 2
