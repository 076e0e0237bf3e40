"""Known categories that a new one was probably meant to be."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from rapidfuzz import process
from rapidfuzz.distance import OSA

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
    found = process.extractOne(plain, list(map(_plain, known)), scorer=OSA.distance, score_cutoff=allowed)
    return None if found is None else known[found[2]]


def _plain(text: str) -> str:
    """Without case, accents, and blanks at the ends or in a row."""
    letters = (letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return " ".join("".join(letters).casefold().split())
