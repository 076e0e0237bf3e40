"""Formulas between dollar signs become MathML, which browsers draw themselves: no script, no font, no network."""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

# Fenced code and code in a line stay as they are.
_PARTS = re.compile(
    r"(?P<code>```.*?```|`[^`\n]*`)|\$\$(?P<block>.+?)\$\$|\$(?P<line>[^$\s](?:[^$\n]*[^$\s])?)\$", re.DOTALL
)
_drawn: list[str] = []  # formulas of the page at hand, in order; a mark stands for each until the page is HTML


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for the text of every page: formulas out, marks in."""
    _drawn.clear()
    return _PARTS.sub(_set_aside, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs for the HTML of every page: marks out, formulas in."""
    return re.sub(r"formula-mark-(\d+)-", lambda mark: _drawn[int(mark[1])], html)


def _set_aside(found: re.Match[str]) -> str:
    if found["code"]:
        return found["code"]
    # Sizes of brackets are left out; MathML chooses them itself.
    formula = re.sub(r"\\[Bb]ig+[lr]?", "", found["block"] or found["line"]).strip()
    _drawn.append(str(convert(formula, display="block" if found["block"] else "inline")))
    return f"formula-mark-{len(_drawn) - 1}-"
