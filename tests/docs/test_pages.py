"""The pages of the documentation: their programs run, print what is shown, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from programs import ROOT, run_page, words

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
WITH_PROGRAMS = [
    page for page in PAGES if re.search(r"^```(python|sh)$", page.read_text(encoding="utf-8"), re.MULTILINE)
]


def name_of(page: Path) -> str:
    return str(page.relative_to(DOCS))


def headings(page: Path) -> set[str]:
    """Anchors of the headings of a page, as the generator makes them."""
    titles = re.findall(r"^#+ +(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=name_of)
def test_programs_run_and_print_what_is_shown(page: Path, tmp_path: Path) -> None:
    for ran in run_page(page, tmp_path).blocks:
        if ran.shown is not None:
            hint = f"Hint: python tests/programs.py docs/{name_of(page)}"
            assert words(ran.printed) == words(ran.shown), hint


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_and_pictures_lead_to_files_of_the_docs(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:|mailto:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(DOCS), f"{link} leads out of the docs"
        assert target.is_file(), f"{link} leads nowhere"
        if anchor and target.suffix == ".md":
            assert anchor in headings(target), f"{link}: there is no such heading"


def test_navigation_names_every_page_once() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = re.findall(r"([\w/-]+\.md)$", navigation, re.MULTILINE)
    assert sorted(named) == sorted(name_of(page) for page in PAGES)


def test_pages_are_built_without_other_peoples_servers() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    assert not re.findall(r"https?://", settings)
