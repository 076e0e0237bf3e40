"""A comparison in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rfod._table.table import listed

if TYPE_CHECKING:
    from rfod._diff.diff import TableDiff
    from rfod._diff.findings import FindingChange

MOST_LINES = 10  # findings of each kind


def lines(found: TableDiff, most: int = MOST_LINES) -> list[str]:
    """All of it: how many, which columns moved, which findings."""
    text = summary(found)
    for change in found.moved:
        text += [f"  {sentence}" for sentence in change.sentences]
    for title, changes in sections(found):
        if changes:
            text.append(f"{title}:")
            text += [f"  {change.place(found.key)}: {change.text}" for change in changes[:most]]
        if len(changes) > most:
            text.append(f"  ... and {len(changes) - most:,} more")
    return text


def sections(found: TableDiff) -> list[tuple[str, list[FindingChange]]]:
    """The findings by what became of them."""
    return [("New", found.new), ("Persisting", found.persisting), ("Resolved", found.resolved)]


def summary(found: TableDiff) -> list[str]:
    """How much there is of what, one sentence each."""
    sentences = []
    if found.compares_columns:
        sentences.append(_rows(found))
        sentences += [
            f"{len(names):,} {_noun(len(names), 'column is', 'columns are')} in {where} only: {listed(names)}."
            for names, where in ((found.only_before, found.names[0]), (found.only_after, found.names[1]))
            if names
        ]
        sentences.append(columns_sentence(found))
    if found.compares_findings:
        sentences.append(
            f"Findings (probability {found.above:g} and more): {len(found.new):,} new, {len(found.persisting):,} "
            f"persisting, {len(found.resolved):,} resolved."
        )
    return sentences


def columns_sentence(found: TableDiff) -> str:
    """How many columns moved, and how often that comes about by chance."""
    n, n_only = len(found.moved), sum(change.is_relation_only for change in found.moved)
    n_all = len(found.columns)
    chance = f"in an unchanged table any would with a chance of at most {found.level:g}"
    if not n:
        return f"No column of {n_all:,} moved ({chance})."
    only = "" if not n_only else f", {n_only:,} of them only in {_noun(n_only, 'its', 'their')} relation to the others"
    return f"{n:,} of {n_all:,} columns moved{only} ({chance})."


def _rows(found: TableDiff) -> str:
    before, after = found.n_rows
    counted = f"{before or 0:,} rows in {found.names[0]}, {after or 0:,} in {found.names[1]}"
    if found.n_matched is None:
        return f"{counted}."
    return f"{counted}; {found.n_matched:,} are in both (matched by {found.key or 'their content'})."


def _noun(n: int, one: str, many: str) -> str:
    return one if n == 1 else many
