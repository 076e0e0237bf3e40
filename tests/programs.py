"""Run what a page of the documentation shows, as a reader would, and compare what it prints with what is shown.

Blocks marked ```python run in one namespace, those marked ```sh line by line; both in an empty directory, in which
`examples` is that of the repository. What a block prints is compared where an output is shown below it:

    <!-- output -->
    ```text
    ...
    ```

A block below `<!-- not run -->` is left alone. After a change of the output, `python tests/programs.py PAGE ...` writes
the new one into the pages.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]

_BLOCK = re.compile(
    r"(?P<skipped><!-- not run -->\n)?```(?P<language>python|sh)\n(?P<program>.*?)```\n"
    r"(?:\n<!-- output -->\n```text\n(?P<output>.*?)```\n)?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Ran:
    """One block of a page, and what it printed."""

    block: re.Match[str]
    printed: str

    @property
    def shown(self) -> str | None:
        """What the page says that it prints."""
        return self.block["output"]


@dataclass(frozen=True)
class RanPage:
    """The blocks of a page that were run, and the names that they left behind."""

    blocks: list[Ran]
    namespace: dict[str, Any]


def run_page(page: Path, directory: Path) -> RanPage:
    """Run the blocks of a page one after the other in a directory."""
    namespace: dict[str, Any] = {}
    if not (directory / "examples").exists():
        (directory / "examples").symlink_to(ROOT / "examples")
    runs = []
    with _working_in(directory):
        for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
            if not block["skipped"]:
                run = _run_python if block["language"] == "python" else _run_shell
                runs.append(Ran(block, run(block["program"], page.name, namespace)))
    return RanPage(runs, namespace)


def words(text: str) -> list[list[str]]:
    """The text without its spacing, which differs between versions of pandas."""
    return [line.split() for line in text.splitlines()]


def write_outputs(page: Path) -> None:
    """Put what the blocks print now into the page."""
    text = page.read_text(encoding="utf-8")
    with TemporaryDirectory() as directory:
        ran_page = run_page(page, Path(directory))
    for ran in reversed(ran_page.blocks):
        if ran.shown is not None:
            text = text[: ran.block.start("output")] + ran.printed + text[ran.block.end("output") :]
    page.write_text(text, encoding="utf-8")


def _run_python(program: str, name: str, namespace: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, f"<{name}>", "exec"), namespace)
    return printed.getvalue()


def _run_shell(program: str, name: str, namespace: dict[str, Any]) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", program],
        env=os.environ | {"PATH": path, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, f"{name}: {program}\n{ran.stderr}"
    return ran.stdout


@contextlib.contextmanager
def _working_in(directory: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_outputs(Path(name).resolve())
