"""Which row is which: by key, by content, each once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rfod._diff.matching import Identities, match
from rfod._table.fingerprint import fingerprints
from rfod._table.table import open_table


def table(n: int = 50, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({f"c{k}": rng.integers(0, 40, n) for k in range(12)})


def of(frame: pd.DataFrame, key: str | None = None, columns: list[str] | None = None) -> Identities:
    keys = None if key is None else frame[key].tolist()
    return Identities.of(fingerprints(open_table(frame)), keys, columns)


def test_moved_rows_are_found() -> None:
    before = table()
    order = np.random.default_rng(1).permutation(50)
    assert match(of(before), of(before.iloc[order])).tolist() == order.tolist()


def test_rows_with_a_changed_cell_are_found() -> None:
    before = table()
    after = before.copy()
    after.loc[:9, "c3"] = 99
    after = after.iloc[::-1]
    assert match(of(before), of(after)).tolist() == list(range(50))[::-1]


def test_rows_changed_in_every_part_are_new() -> None:
    before, after = table(), table()
    after.loc[0] = 99
    assert match(of(before), of(after)).tolist() == [-1, *range(1, 50)]


def test_of_equal_rows_each_answers_once() -> None:
    before = pd.concat([table(3), table(3)], ignore_index=True)
    after = pd.concat([table(3)] * 3, ignore_index=True)
    found = match(of(before), of(after))
    assert found.tolist() == [0, 1, 2, 3, 4, 5, -1, -1, -1]


def test_rows_that_could_be_several_are_not_matched() -> None:
    one = table(1)
    before = pd.concat([one, one], ignore_index=True)
    before.loc[0, "c3"], before.loc[1, "c3"] = 101, 102
    after = one.copy()
    after["c3"] = 103
    assert match(of(before), of(after)).tolist() == [-1]


def test_keys_come_first() -> None:
    before = table().assign(id=[f"k{row}" for row in range(50)])
    after = before.copy()
    after[[f"c{k}" for k in range(12)]] = 7
    after = after.iloc[::-1]
    assert match(of(before, "id"), of(after, "id")).tolist() == list(range(50))[::-1]
    after["id"] = "other"
    assert (match(of(before, "id"), of(after, "id")) == -1).all()


def test_of_equal_keys_those_with_equal_content_come_first() -> None:
    before = table(3).assign(id="k")
    after = before.iloc[[2, 0, 1]]
    assert match(of(before, "id"), of(after, "id")).tolist() == [2, 0, 1]


def test_missing_keys_fall_back_to_content() -> None:
    before = table(4).assign(id=["a", None, "b", None])
    after = before.iloc[[3, 2, 1, 0]]
    assert match(of(before, "id"), of(after, "id")).tolist() == [3, 2, 1, 0]


def test_findings_of_one_row_differ_by_their_column() -> None:
    rows = table(2).iloc[[0, 0, 1]]
    before, after = of(rows, columns=["c1", "c2", "c1"]), of(rows, columns=["c2", "c9", "c1"])
    assert match(before, after).tolist() == [1, -1, 2]


@pytest.mark.parametrize("n", [0, 3])
def test_nothing_to_match_with(n: int) -> None:
    frame = table(3)
    assert match(of(frame).take(np.arange(0)), of(frame).take(np.arange(n))).tolist() == [-1] * n
    assert match(of(frame).take(np.arange(n)), of(frame).take(np.arange(0))).tolist() == []


def test_what_has_no_fingerprint_is_not_matched() -> None:
    empty = Identities.of(np.zeros((2, 4), np.uint64))
    assert match(empty, empty).tolist() == [-1, -1]
