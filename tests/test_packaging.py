"""What the wheel and the source archive hold, and which Pythons `make test-pythons` finds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path, PurePosixPath

import pytest

import pythons

ROOT = Path(__file__).parents[1]
DATA_FILES = {f"rfod/_evidence/{name}" for name in ("decision.json", "decision.npz", "repair.json", "repair.npz")}
DATA_FILES |= {f"rfod/_views/templates/{name}" for name in ("report.html", "report.css", "report.js", "diff.html")}
LOAD_DATA_FILES = """
import rfod
from rfod._evidence.decision import load_decision
from rfod._evidence.repair import load_trees
from rfod._views.page import part
load_decision(), load_trees(), part("report.html"), part("diff.html")
print(rfod.__file__)
"""


def build(source: Path, target: Path) -> tuple[Path, Path]:
    """The source archive and the wheel, built without a network."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", target]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return next(target.glob("*.tar.gz")), next(target.glob("*.whl"))


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def in_wheel(archives: tuple[Path, Path]) -> set[str]:
    return names_in_wheel(archives[1])


@pytest.fixture(scope="module")
def in_sdist(archives: tuple[Path, Path]) -> set[str]:
    with tarfile.open(archives[0]) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def names_in_wheel(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def metadata(archives: tuple[Path, Path]) -> Message:
    """What an index shows of the wheel."""
    with zipfile.ZipFile(archives[1]) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode("utf-8"))


def files_below(directory: Path) -> set[str]:
    """Names of the files in a directory of the repository, without what Python and numba cache."""
    files = (path.relative_to(directory) for path in directory.rglob("*") if path.is_file())
    return {path.as_posix() for path in files if "__pycache__" not in path.parts}


def test_wheel_holds_the_package_and_its_licence_and_nothing_else(in_wheel: set[str]) -> None:
    package = {name for name in in_wheel if name.startswith("rfod/")}
    assert package == {f"rfod/{name}" for name in files_below(ROOT / "src" / "rfod")}
    assert package >= {"rfod/py.typed", *DATA_FILES}
    metadata = {name.partition(".dist-info/")[2] for name in in_wheel - package}
    assert metadata == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def test_source_archive_holds_what_the_checks_need(in_sdist: set[str]) -> None:
    for directory in ("src", "tests", "examples", "docs"):
        assert {name for name in in_sdist if name.startswith(f"{directory}/")} == {
            f"{directory}/{name}" for name in files_below(ROOT / directory)
        }
    top = {name for name in in_sdist if len(PurePosixPath(name).parts) == 1}
    documents = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md"}
    assert top == documents | {"pyproject.toml", "Makefile", "mkdocs.yml", "PKG-INFO", ".gitignore"}


def test_metadata_say_what_an_index_has_to_know(metadata: Message) -> None:
    project = pythons.read_project()
    assert (metadata["Name"], metadata["Version"]) == ("rfod", project["version"])
    assert (metadata["Requires-Python"], metadata["License-Expression"]) == (">=3.11", "Apache-2.0")
    assert metadata["Summary"] == project["description"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(metadata.get_all("Provides-Extra")) == set(project["optional-dependencies"])
    needed = {line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line}
    assert needed == set(project["dependencies"])


def test_one_version_and_one_date_everywhere() -> None:
    version = pythons.read_project()["version"]
    releases = re.findall(r"^## (\S+) - (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert releases[0] == (version, re.search(r'^date-released: "(.*)"$', citation, re.MULTILINE)[1])
    assert f"\nversion: {version}\n" in citation
    assert (ROOT / "tests" / "kept" / version).is_dir()


def test_unpacked_wheel_runs_without_the_checkout(archives: tuple[Path, Path], tmp_path: Path) -> None:
    """A wheel of plain Python is installed by unpacking it; `make test-pythons` installs it with its requirements."""
    with zipfile.ZipFile(archives[1]) as archive:
        archive.extractall(tmp_path / "site")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}

    def run(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout

    assert run("-c", LOAD_DATA_FILES).strip() == str(tmp_path / "site" / "rfod" / "__init__.py")
    assert run("-m", "rfod", "--version") == f"rfod {pythons.read_project()['version']}\n"
    assert "Usage: rfod" in run("-m", "rfod", "--help").replace("python -m rfod", "rfod")
    assert '"format_version": 1' in run("-m", "rfod", "inspect", str(ROOT / "tests/kept/0.2.0/orders.rfod"), "--json")


def test_source_archive_builds_the_same_wheel(archives: tuple[Path, Path], tmp_path: Path) -> None:
    sdist, wheel = archives
    assert names_in_wheel(build(pythons.unpack(sdist, tmp_path), tmp_path / "dist")[1]) == names_in_wheel(wheel)


@pytest.mark.parametrize("selection", pythons.SELECTIONS)
def test_selections_name_tests_and_requirements_that_exist(selection: str) -> None:
    files = [name for name in pythons.SELECTIONS[selection] if name.startswith("tests")]
    assert files
    assert [name for name in files if not (ROOT / name).exists()] == []
    named = {line.partition(">=")[0] for line in pythons.requirements(pythons.read_project(), selection)}
    assert named >= pythons.SMOKE_REQUIREMENTS
    assert not named & pythons.TOOLS


def test_claimed_versions() -> None:
    lines = ["Programming Language :: Python :: 3", "Programming Language :: Python :: 3.13", "Typing :: Typed"]
    assert pythons.claimed_versions({"classifiers": lines}) == ["3.13"]
    assert pythons.claimed_versions(pythons.read_project())[0] == "3.11"


def fake_python(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_python_on_the_path_that_does_not_start_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_python(tmp_path / "shims" / "python3.12", "echo 'pyenv: python3.12: command not found' >&2; exit 127")
    for patch in (2, 10, 9):
        fake_python(tmp_path / "versions" / f"3.12.{patch}" / "bin" / "python", f"echo 3.12.{patch}")
    fake_python(tmp_path / "versions" / "3.12.11t" / "bin" / "python", "echo 3.12.11")
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}:/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert pythons.find_interpreter("3.12") == pythons.Interpreter(
        tmp_path / "versions" / "3.12.10" / "bin" / "python", "3.12.10"
    )
    fake_python(tmp_path / "shims" / "python3.12", "echo 3.12.1")
    assert pythons.find_interpreter("3.12") == pythons.Interpreter(tmp_path / "shims" / "python3.12", "3.12.1")
    fake_python(tmp_path / "shims" / "python3.1", "echo 3.11.9")
    assert pythons.find_interpreter("3.1") is None


@pytest.mark.parametrize(("fails", "code"), [(False, 0), (True, 1)])
def test_failing_version_fails_the_run_and_missing_one_does_not(
    fails: bool, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def try_out(interpreter: pythons.Interpreter, package: pythons.Package, tests: list[str]) -> str:
        if fails and interpreter.version == "3.13.0":
            raise RuntimeError("python -m pytest\n1 failed")
        return "3 passed"

    found = {version: pythons.Interpreter(Path("python"), f"{version}.0") for version in ("3.11", "3.13")}
    monkeypatch.setattr(pythons, "find_interpreter", found.get)
    monkeypatch.setattr(pythons, "build", lambda directory, needed: pythons.Package(directory, directory, needed))
    monkeypatch.setattr(pythons, "try_out", try_out)
    monkeypatch.setattr(sys, "argv", ["pythons.py", "smoke"])
    assert pythons.main() == code
    told = capsys.readouterr().out
    assert "Python 3.11.0: 3 passed\n" in told
    assert "Python 3.12: not found on this machine, not tested\n" in told
    assert ("Python 3.13.0: failed\npython -m pytest\n1 failed\n" in told) == fails
