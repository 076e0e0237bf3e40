"""A comparison of two runs as one HTML file: text, tables and small pictures, no program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rfod._diff.columns import ColumnChange
from rfod._diff.diff import TableDiff
from rfod._diff.findings import FindingChange
from rfod._diff.wording import sections, summary
from rfod._io.storage import replaced
from rfod._views.distribution import printable
from rfod._views.page import digest, part

MOST_FINDINGS = 1000  # of each sort
WIDTH, HEIGHT = 240, 64  # of a picture, in pixels
GAP = 0.2  # share of the width of an interval


def write_diff_page(found: TableDiff, path: str | os.PathLike[str]) -> None:
    """Write the page; the file is replaced when it is complete."""
    page = render_diff(found)
    with replaced(os.fspath(path)) as temporary:
        Path(temporary).write_bytes(page)


def render_diff(found: TableDiff) -> bytes:
    """The page."""
    from jinja2 import Environment, StrictUndefined  # only reports need it

    style = part("diff.css")
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(part("diff.html"))
    return template.render(style=style, style_hash=digest(style), **content(found)).encode()


def content(found: TableDiff) -> dict[str, Any]:
    """What the page says, as plain data."""
    moved = found.moved
    still = [change for change in found.columns if not change.moved]
    counts = [
        ("new findings", len(found.new)),
        ("persisting", len(found.persisting)),
        ("resolved", len(found.resolved)),
    ]
    tiles = counts if found.compares_findings else []
    if found.compares_columns:
        only = sum(change.is_relation_only for change in moved)
        tiles = [*tiles, ("columns moved", len(moved)), ("only in their relation", only)]
    return {
        "names": [printable(name) for name in found.names],
        "summary": [printable(sentence, 600) for sentence in summary(found)],
        "tiles": [(name, f"{n:,}") for name, n in tiles],
        "compares_columns": found.compares_columns,
        "compares_findings": found.compares_findings,
        "moved": [column_json(change) for change in moved],
        "still": [column_json(change) for change in still],
        "sections": [
            (title, len(changes), [finding_json(found, change) for change in changes[:MOST_FINDINGS]])
            for title, changes in sections(found)
        ],
        "most": MOST_FINDINGS,
        "width": WIDTH,
        "height": HEIGHT,
    }


def column_json(change: ColumnChange) -> dict[str, Any]:
    """One column: what moved, its tests and its picture."""
    return {
        "name": printable(change.column),
        "kind": change.kind,
        "moved": list(change.moved),
        "sentences": [printable(sentence, 600) for sentence in change.sentences],
        "tests": [
            (name, effect_text(name, test.effect), f"{test.adjusted:.1g}", test.moved)
            for name, test in change.tests.items()
        ],
        "bars": None if change.bars is None else bars_json(change),
        "first": "" if change.bars is None else printable(change.bars.labels[0]),
        "last": "" if change.bars is None or len(change.bars.labels) < 2 else printable(change.bars.labels[-1]),
        "n_changed": None if change.n_changed is None else f"{change.n_changed:,}",
    }


def effect_text(name: str, effect: float) -> str:
    """The size of an effect, in the measure of its test."""
    return f"{effect:+.1%}" if name == "gaps" else f"{effect:.2f}"


def bars_json(change: ColumnChange) -> list[Mapping[str, Any]]:
    """Two bars per interval or category, before and after, in pixels."""
    assert change.bars is not None
    bars = change.bars
    highest = max([*bars.before, *bars.after, 1e-9])
    step = WIDTH / len(bars.labels)
    drawn: list[Mapping[str, Any]] = []
    for k, label in enumerate(bars.labels):
        for side, share in enumerate((bars.before[k], bars.after[k])):
            height = HEIGHT * share / highest
            width = step * (1 - GAP) / 2
            drawn.append(
                {
                    "side": ("before", "after")[side],
                    "x": f"{step * k + step * GAP / 2 + side * width:.1f}",
                    "y": f"{HEIGHT - height:.1f}",
                    "width": f"{width:.1f}",
                    "height": f"{height:.1f}",
                    "title": f"{printable(label)}: {share:.1%} {('before', 'after')[side]}",
                }
            )
    return drawn


def finding_json(found: TableDiff, change: FindingChange) -> Mapping[str, str | None]:
    """One finding."""
    finding = change.finding
    chances: Sequence[float | None] = [
        None if one is None else one.probability for one in (change.before, change.after)
    ]
    return {
        "place": printable(change.place(found.key)),
        "text": printable(change.text, 600),
        "before": "" if chances[0] is None else f"{chances[0]:.2f}",
        "after": "" if chances[1] is None else f"{chances[1]:.2f}",
        "reason": None if finding.reason is None else printable(finding.reason, 600),
    }
