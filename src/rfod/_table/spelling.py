"""Known categories that a new one was probably meant to be."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

MOST_CATEGORIES = 5_000  # the most frequent ones, that a new one is compared with
LONGEST = 60


def nearest_category(text: str, categories: Sequence[str]) -> str | None:
    """The category that differs from a new text in case, blanks or accents only, else in one letter (two from eight
    letters on; a letter added, left out, replaced, or two swapped). Of several the most frequent, which comes first."""
    known = categories[:MOST_CATEGORIES]
    plain = _plain(text)
    for category in known:
        if _plain(category) == plain:
            return category
    if not 4 <= len(plain) <= LONGEST or plain.replace(".", "").isdigit():
        return None
    allowed = 1 if len(plain) < 8 else 2
    best, best_distance = None, allowed + 1
    for category in known:
        distance = edit_distance(plain, _plain(category), best_distance - 1)
        if distance < best_distance:
            best, best_distance = category, distance
    return best


def _plain(text: str) -> str:
    """Without case, accents, and blanks at the ends or in a row."""
    letters = (letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return " ".join("".join(letters).casefold().split())


def edit_distance(one: str, other: str, limit: int) -> int:
    """Letters to add, leave out, replace or swap with their neighbour; limit + 1 for anything beyond the limit."""
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, other_letter in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != other_letter))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == other_letter:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
        before, last = last, row
    return min(last[-1], limit + 1)
