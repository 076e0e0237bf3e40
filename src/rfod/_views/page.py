"""One HTML file that shows a report: style, program and data inside, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Collection, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from rfod._check.selfcheck import SelfCheck
from rfod._io.storage import replaced
from rfod._io.write import check_target
from rfod._views.summary import Limits, summarise
from rfod.detection import Detection

MOST_BYTES = 14_000_000
# in JSON these can only stand inside texts, where the escape means the same; no reader of HTML can trip over them
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def write_report(
    found: Detection,
    path: str | os.PathLike[str],
    *,
    fdr: float | None = None,
    top: int | None = None,
    contamination: float | None = None,
    redact: Collection[str] = (),
    title: str = "",
    self_check: SelfCheck | None = None,
) -> None:
    """Write the findings as one HTML file that opens from disk, without a network, in any current browser.

    Wrong cells come first, with how likely each is wrong and what to put in its place. The rows below them are chosen
    as by `Detection.flag`; after a scan they are the most unusual ones, as a ranking. `redact` names columns whose
    values must not be in the file; the key column may be one of them. `self_check` adds to each column what
    `rfod.self_check` found out.
    """
    check_target(os.fspath(path))
    rule = {"fdr": fdr, "top": top, "contamination": contamination}
    write_page(found, path, rule=rule, redact=redact, title=title, self_check=self_check)


def write_page(found: Detection, path: str | os.PathLike[str], *, rule: Mapping[str, Any], **content: Any) -> None:
    """Write the page without checking the target first."""
    limits = Limits()
    page = render(summarise(found, **rule, **content, limits=limits))
    while len(page) > MOST_BYTES and limits.findings > 1:
        limits = limits.smaller()
        page = render(summarise(found, **rule, **content, limits=limits))
    with replaced(os.fspath(path)) as temporary:
        Path(temporary).write_bytes(page)


def render(summary: Mapping[str, Any]) -> bytes:
    """The page of a summary."""
    from jinja2 import Environment, StrictUndefined  # only reports need it

    style = part("report.css")
    program = f'"use strict";\n(() => {{\n{part("figures.js")}\n{part("report.js")}}})();\n'
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(part("report.html"))
    return template.render(
        style=style,
        program=program,
        data=embedded(summary),
        style_hash=digest(style),
        program_hash=digest(program),
    ).encode()


def embedded(summary: Mapping[str, Any]) -> str:
    """JSON that can stand in a script element of a page, whatever the texts hold."""
    return json.dumps(summary, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def part(name: str) -> str:
    """The text of a template."""
    return (resources.files("rfod._views") / "templates" / name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """For the page's content security policy, which lets only these very texts act."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
