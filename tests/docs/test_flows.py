"""The page that follows calls through the code: what it names exists, and each flow fits on a screen."""

from __future__ import annotations

import re
from importlib import import_module
from operator import attrgetter
from typing import Any

import pytest

from programs import ROOT

PAGE = (ROOT / "docs" / "flows.md").read_text(encoding="utf-8")
SECTIONS = re.split(r"^(?=## )", PAGE, flags=re.MULTILINE)[1:]
MOST_LINES = 45
MOST_CHARACTERS = 125
# `_model/fit.py`, `_model/fit.py: train` or `_model/fit.py: KEPT_ROWS = 4,096`
_NAMED = re.compile(r"`(?P<path>(?:\w+/)*\w+\.py)(?:: (?P<name>[\w.]+)(?: = (?P<value>-?[\d,.]+))?)?`")
NAMED = sorted({tuple(found.group("path", "name", "value")) for found in _NAMED.finditer(PAGE)}, key=str)
NAMED = [named for named in NAMED if not named[0].startswith("tests/")]


@pytest.mark.parametrize(("path", "name", "value"), NAMED)
def test_named_modules_functions_and_constants_exist(path: str, name: str | None, value: str | None) -> None:
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    found: Any = import_module(".".join(["rfod", *parts]))
    if name is not None:
        found = attrgetter(name)(found)
    if value is not None:
        assert found == float(value.replace(",", ""))


def test_every_path_in_backticks_is_in_a_form_that_is_checked() -> None:
    written = [code for code in re.findall(r"`([^`\n]+)`", PAGE) if ".py" in code]
    assert [code for code in written if not _NAMED.fullmatch(f"`{code}`")] == []


def test_names_are_not_broken_over_lines() -> None:
    assert [line for line in PAGE.splitlines() if line.count("`") % 2 and not line.startswith("```")] == []


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("\n")[0].strip("# "))
def test_a_flow_fits_on_a_screen(section: str) -> None:
    lines = section.rstrip().splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= MOST_CHARACTERS
