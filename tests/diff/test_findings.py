"""Findings of two runs: new, persisting, resolved, and why."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import rfod
from rfod import Detection, FindingChange, TableDiff
from rfod._diff.diff import diff_detections
from rfod._diff.findings import Finding, compare_detections, identities_of
from rfod._diff.matching import match

N = 60


def detection(frame: pd.DataFrame, likely: dict[tuple[int, str], float], key: str | None = None) -> Detection:
    """A scanned table of which only these cells have a probability, whatever the learned decision says of them."""
    found = rfod.scan(frame, n_estimators=3, n_jobs=1, key=key)
    probability = np.zeros((len(found), len(found.judged_columns)))
    for (row, column), value in likely.items():
        probability[row, found.judged_columns.index(column)] = value
    found.probabilities.probability = probability
    return found


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns = {f"n{k}": rng.integers(0, 9, N) for k in range(6)}
    return pd.DataFrame({"city": rng.choice(["Bonn", "Ulm"], N), "name": rng.choice(["Ann", "Bob"], N)} | columns)


def compared(before: Detection, after: Detection, above: float = 0.9) -> list[FindingChange]:
    return compare_detections(before, after, match(identities_of(before), identities_of(after)), above)


@pytest.fixture(scope="module")
def both() -> tuple[Detection, Detection]:
    """Row by row: still there, repaired, gone, judged otherwise; and a new row at the front."""
    first = people()
    first.loc[[3, 7, 11, 15], "city"] = ["Bomn", "Ulmm", "Bnon", "Ulm"]
    before = detection(first, {(3, "city"): 0.95, (7, "city"): 0.97, (11, "city"): 0.92, (15, "city"): 0.91})
    second = first.copy()
    second.loc[7, "city"] = "Ulm"
    second.loc[20, "name"] = "Amm"
    second = second.drop(index=11).iloc[::-1]
    new = people().iloc[[30]].assign(city="Bonnn", n0=77)
    place = {row: number for number, row in enumerate(second.index, start=1)}
    second = pd.concat([new, second], ignore_index=True)
    later = {(0, "city"): 0.98, (place[3], "city"): 0.93, (place[15], "city"): 0.4, (place[20], "name"): 0.94}
    return before, detection(second, later)


def told(changes: list[FindingChange]) -> list[tuple[str, str | None, str | None, str | None]]:
    return [(change.status, change.why, change.observed_before, change.observed_after) for change in changes]


def test_what_became_of_each_finding(both: tuple[Detection, Detection]) -> None:
    assert told(compared(*both)) == [
        ("new", "row", None, "Bonnn"),
        ("new", "value", "Bob" if people().loc[20, "name"] == "Bob" else "Ann", "Amm"),
        ("persisting", None, "Bomn", "Bomn"),
        ("resolved", "value", "Ulmm", "Ulm"),
        ("resolved", "row", "Bnon", None),
        ("resolved", "judgement", "Ulm", "Ulm"),
    ]


def test_in_words(both: tuple[Detection, Detection]) -> None:
    texts = [f"{change.place(None)}: {change.text.split(' (suggested')[0]}" for change in compared(*both)]
    assert texts[0].startswith("row 0: city 'Bonnn'")
    assert texts[2] == f"row {N - 4}: city 'Bomn'"
    assert texts[3] == "row 7 before: city 'Ulmm'; now 'Ulm'"
    assert texts[4] == "row 11 before: city 'Bnon'; the row is gone"
    assert texts[5].endswith("; not found likely enough any more")


def test_a_cell_worth_a_check_before_is_not_new() -> None:
    earlier = detection(people(), {(3, "city"): 0.6})
    later = detection(people(), {(3, "city"): 0.95, (4, "city"): 0.6})
    assert [change.status for change in compared(earlier, later)] == ["persisting"]
    assert [change.status for change in compared(later, earlier)] == ["persisting"]
    assert {change.status for change in compared(earlier, later, above=0.5)} == {"persisting", "new"}


def test_keys_find_rows_that_changed_altogether() -> None:
    first = people().assign(id=[f"k{row}" for row in range(N)])
    second = first.copy()
    second.loc[5, [f"n{k}" for k in range(6)]] = 88
    before = detection(first, {(5, "city"): 0.95}, key="id")
    after = detection(second.iloc[::-1], {(N - 6, "city"): 0.96}, key="id")
    found = diff_detections(before, after)
    assert found.key == "id"
    assert [(change.status, change.key) for change in found.findings] == [("persisting", "k5")]
    frame = found.finding_frame()
    assert frame.loc[0, ["status", "key", "row_before", "row_after"]].tolist() == ["persisting", "k5", 5, N - 6]
    assert frame.loc[0, "probability_after"] == 0.96


def test_detections_and_repr(both: tuple[Detection, Detection]) -> None:
    found = rfod.diff(*both)
    assert isinstance(found, TableDiff)
    assert (len(found.new), len(found.persisting), len(found.resolved)) == (2, 1, 3)
    assert repr(found).endswith("findings: 2 new, 1 persisting, 3 resolved>")
    assert "Findings (probability 0.9 and more): 2 new, 1 persisting, 3 resolved." in str(found)


def test_text_of_a_table_is_shown_on_one_line() -> None:
    finding = Finding(1, 2, "a\nb", "c\x1b[31m", "x\ny", None, 0.9, None)
    change = FindingChange("new", None, finding.column, finding.key, None, finding)
    assert change.place("id") == "id a\\nb (line 2)"
    assert change.text == "c\\x1b[31m 'x\\ny'"
