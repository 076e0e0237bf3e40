"""Steps are the splits that a row meets, worked out again node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rfod._findings.reasons import DEEPEST, Steps, codes_on_side, walk
from rfod._forest.forest import Forest
from tables import as_arrow, mixed_columns, small


@pytest.fixture(scope="module")
def found() -> Any:
    return small(n_estimators=8).fit(as_arrow(mixed_columns(300))).detect(as_arrow(mixed_columns(40, seed=1)))


def slowly(forest: Forest, codes: np.ndarray) -> list[tuple[int, int, tuple[int, ...]]]:
    """(depth, feature, codes on the row's side) of every split on the row's way down all trees."""
    met = []
    for start in forest.trees.word_starts.tolist():
        place = start
        for depth in range(DEEPEST):
            word = int(forest.trees.words[place])
            if word >> 28 & 1:
                break
            feature, threshold, shift, n_words = word & 0xFFFF, word >> 16 & 255, word >> 24 & 1, word >> 25 & 7
            child = start + (word >> 32)
            bits = [int(forest.trees.words[child + n]) % 2**64 for n in range(n_words)]

            def goes_right(code: int, bits: list[int] = bits, shift: int = shift, threshold: int = threshold) -> bool:
                return bool(bits[code >> 6] >> (code & 63) & 1) if bits else (code - shift) % 256 > threshold

            right = goes_right(int(codes[feature]))
            some = range(min(256, 64 * n_words)) if bits else range(1, 256)
            met.append((depth, feature, tuple(code for code in some if goes_right(code) == right)))
            place = child + n_words + right
    return met


def plain(steps: Steps, forest: Forest) -> list[tuple[int, int, tuple[int, ...]]]:
    found = []
    for step in steps:
        if step["node"] >= 0:
            codes = np.flatnonzero(codes_on_side(forest, step, 64)).tolist()
        else:
            codes = range(int(step["low"]), int(step["high"]) + 1)
        found.append((int(step["depth"]), int(step["feature"]), tuple(codes)))
    return found


def test_steps(found: Any) -> None:
    rows = found.judged.rows(np.arange(40))
    n_sets = 0
    for forest in found.judged.model.forests:
        steps = walk(forest, rows.block)
        for row in (0, 7, 39):
            told = plain(steps[row], forest)
            assert sorted(told) == sorted(slowly(forest, rows.block[row]))
            n_sets += sum(found.judged.model.features[feature].is_categorical for _, feature, _ in told)
    assert n_sets > 0


def test_trees_that_have_seen_a_row_are_left_out(found: Any) -> None:
    rows, forest = found.judged.rows(np.arange(40)), found.judged.model.forests[0]
    in_bag = np.ones((forest.trees.n_trees, 40), dtype=np.uint8)
    in_bag[1, 3] = 0
    alone, every = walk(forest, rows.block, in_bag), walk(forest, rows.block)
    assert 0 < len(alone[3]) <= DEEPEST
    assert len(alone[4]) == len(every[4])


def test_no_rows(found: Any) -> None:
    assert walk(found.judged.model.forests[0], found.judged.rows(np.arange(40)).block[:0]) == []
