"""What README.md shows is what happens; `python tests/programs.py README.md` brings its outputs up to date."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from programs import ROOT, run_page, words


def test_programs_run_and_print_what_is_shown(tmp_path: Path) -> None:
    runs = run_page(ROOT / "README.md", tmp_path).blocks
    assert runs
    for ran in runs:
        assert words(ran.printed) == words(ran.shown or ""), "Hint: python tests/programs.py README.md"


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
