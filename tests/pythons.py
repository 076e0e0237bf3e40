"""Run tests on every Python version that pyproject.toml claims, as a user has the package: from a wheel.

    python tests/pythons.py smoke      # a few files, for every change
    python tests/pythons.py light      # all tests that need no browser and are not slow
    python tests/pythons.py tests/io   # these tests

The source archive is built once, and the wheel from it. Each version then gets an empty virtual environment with the
wheel and an unpacked source archive, both in a temporary directory, where it runs the program on the example table and
the tests. A version that is not on this machine is named and left out; a version that fails makes the run fail.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]

# Requirements of the extra `test` that only the other checks of `make test` use.
TOOLS = {"import-linter", "mypy", "playwright", "pytest-xdist", "ruff"}
SMOKE_REQUIREMENTS = {"hypothesis", "pandas", "polars", "pytest"}

NOT_SLOW = ["-m", "not slow"]
SELECTIONS = {
    "light": ["tests", "--ignore=tests/browser", *NOT_SLOW],
    "smoke": [
        "tests/cli/test_commands.py",
        "tests/cli/test_kept.py",
        "tests/forest/test_growth.py",
        "tests/io/test_delimited.py",
        "tests/table/test_encode.py",
        "tests/test_persist.py",
        "tests/test_public_surface.py",
        *NOT_SLOW,
    ],
}

ABOUT = "import platform, ensurepip, venv; print(platform.python_version())"
WHERE = "import rfod, sys; sys.exit(not rfod.__file__.startswith(sys.prefix) and f'not the wheel: {rfod.__file__}')"


@dataclass(frozen=True)
class Interpreter:
    """A Python that starts and can make virtual environments."""

    program: Path
    version: str


@dataclass(frozen=True)
class Package:
    """What is tested: both archives, and what the tests need besides."""

    sdist: Path
    wheel: Path
    requirements: list[str]


def read_project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def claimed_versions(project: dict[str, Any]) -> list[str]:
    """Versions among the classifiers, as in 3.13."""
    found = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in project["classifiers"])
    return [match[1] for match in found if match]


def requirements(project: dict[str, Any], selection: str) -> list[str]:
    """The part of the extra `test` that a selection of tests needs."""
    named = {re.match(r"[\w.-]+", line)[0]: line for line in project["optional-dependencies"]["test"]}
    wanted = SMOKE_REQUIREMENTS if selection == "smoke" else set(named) - TOOLS
    return [line for name, line in named.items() if name in wanted]


def find_interpreter(version: str) -> Interpreter | None:
    """The first Python of a version that starts; pyenv's shims fail unless the version is selected."""
    for program in _candidates(version):
        asked = subprocess.run([program, "-c", ABOUT], capture_output=True, text=True)
        found = asked.stdout.strip()
        if asked.returncode == 0 and found.startswith(f"{version}."):
            return Interpreter(program, found)
    return None


def _candidates(version: str) -> Iterator[Path]:
    for directory in os.get_exec_path():
        if found := shutil.which(f"python{version}", path=directory):
            yield Path(found)
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    installed = [path for path in versions.glob(f"{version}.*") if re.fullmatch(r"[\d.]+", path.name)]
    for path in sorted(installed, key=lambda path: int(path.name.rpartition(".")[2]), reverse=True):
        if (path / "bin" / "python").exists():
            yield path / "bin" / "python"


def build(directory: Path, needed: list[str]) -> Package:
    """Build the source archive from the checkout, and the wheel from the source archive."""
    _run([sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", directory], cwd=ROOT)
    sdist = next(directory.glob("*.tar.gz"))
    _run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", directory, sdist], cwd=directory)
    return Package(sdist, next(directory.glob("*.whl")), needed)


def try_out(interpreter: Interpreter, package: Package, tests: list[str]) -> str:
    """Install the wheel and run the example and the tests in a directory of their own; returns pytest's last line."""
    with TemporaryDirectory(prefix="rfod-python-") as name:
        directory = Path(name)
        _run([interpreter.program, "-m", "venv", directory / "venv"], cwd=directory)
        python, rfod = directory / "venv" / "bin" / "python", directory / "venv" / "bin" / "rfod"
        # Most modules are never imported, so that compiling them takes longer than it saves.
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        _run([*pip, package.wheel, *package.requirements], cwd=directory)
        _run([python, "-c", WHERE], cwd=directory)
        source = unpack(package.sdist, directory)
        _run([rfod, "--version"], cwd=directory)
        _run([rfod, "--help"], cwd=directory)
        _run([python, source / "examples" / "make_shipments.py", "--output", "shipments.csv"], cwd=directory)
        _run([rfod, "scan", "shipments.csv", "--trees", "10", "--report", "report.html"], cwd=directory)
        return _run([python, "-m", "pytest", "-q", *tests], cwd=source).splitlines()[-1]


def unpack(sdist: Path, directory: Path) -> Path:
    """Unpack a source archive; returns its only directory."""
    with tarfile.open(sdist) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # 3.11.3 and older have none
        archive.extractall(directory)
    return directory / sdist.name.removesuffix(".tar.gz")


def _run(command: list[Any], cwd: Path) -> str:
    """Run a program with its own environment's programs first on the path; RuntimeError with its output if it fails."""
    environment = {key: value for key, value in os.environ.items() if key not in {"PYTHONHOME", "PYTHONPATH"}}
    environment["PATH"] = os.pathsep.join([str(Path(command[0]).parent), environment.get("PATH", "")])
    ran = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def main() -> int:
    """Returns how many versions failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2, help="versions tested at the same time")
    parser.add_argument("tests", nargs=argparse.REMAINDER, help="light (the default), smoke, or arguments of pytest")
    arguments = parser.parse_args()
    selection, project = " ".join(arguments.tests) or "light", read_project()
    tests = SELECTIONS.get(selection, arguments.tests)

    interpreters = []
    for version in claimed_versions(project):
        if found := find_interpreter(version):
            interpreters.append(found)
        else:
            print(f"Python {version}: not found on this machine, not tested")
    if not interpreters:
        return 0

    started = time.monotonic()
    n_failed = 0
    with TemporaryDirectory(prefix="rfod-dist-") as name, ThreadPoolExecutor(max(1, arguments.workers)) as pool:
        package = build(Path(name), requirements(project, selection))
        runs = [pool.submit(try_out, interpreter, package, tests) for interpreter in interpreters]
        for interpreter, run in zip(interpreters, runs, strict=True):
            try:
                told = run.result()
            except RuntimeError as failure:
                n_failed += 1
                told = f"failed\n{failure}"
            print(f"Python {interpreter.version}: {told}", flush=True)
    print(f"{selection}: {len(interpreters)} Python version(s) tested, {n_failed} failed; ", end="")
    print(f"{time.monotonic() - started:.0f} s")
    return n_failed


if __name__ == "__main__":
    sys.exit(main())
