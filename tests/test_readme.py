"""What README.md shows is what happens.

After a change of the output, `python tests/test_readme.py` writes the new one into README.md.
"""

from __future__ import annotations

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"

PROGRAM = re.compile(
    r"```python\n(?P<program>.*?)```\n(?:\n<!-- output -->\n```text\n(?P<output>.*?)```\n)?", re.DOTALL
)


def run_programs(readme: str, directory: Path) -> list[tuple[re.Match[str], str]]:
    """Run the Python blocks one after the other, as a reader would; each with what it printed."""
    namespace: dict[str, object] = {}
    runs = []
    before = Path.cwd()
    os.chdir(directory)
    try:
        for block in PROGRAM.finditer(readme):
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile(block["program"], "<README.md>", "exec"), namespace)
            runs.append((block, printed.getvalue()))
    finally:
        os.chdir(before)
    return runs


def words(text: str) -> list[list[str]]:
    """The text without its spacing, which differs between versions of pandas."""
    return [line.split() for line in text.splitlines()]


def test_programs_run_and_print_what_is_shown(tmp_path: Path) -> None:
    runs = run_programs(README.read_text(), tmp_path)
    assert runs
    for block, printed in runs:
        assert words(printed) == words(block["output"] or ""), "Hint: python tests/test_readme.py writes the new output"


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_exist(document: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make ([a-z-]+)", (ROOT / document).read_text(), re.MULTILINE))
    assert named
    assert named <= targets


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_linked_files_exist(document: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / document).read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []


def write_outputs() -> None:
    """Put what the programs print now into README.md."""
    readme = README.read_text()
    with TemporaryDirectory() as directory:
        runs = run_programs(readme, Path(directory))
    for block, printed in reversed(runs):
        if block["output"] is not None:
            readme = readme[: block.start("output")] + printed + readme[block.end("output") :]
    README.write_text(readme)


if __name__ == "__main__":
    write_outputs()
