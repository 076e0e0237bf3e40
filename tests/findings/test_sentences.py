"""What a person reads."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rfod
from rfod._findings.patterns import find_patterns
from rfod._findings.wording import Evidence, evidence_words, rank_words, rarity_words
from tables import small

N_ROWS = 1200


def orders(seed: int = 0, n_rows: int = N_ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    city = rng.choice(["Berlin", "Hamburg", "München"], n_rows)
    express = rng.random(n_rows) < 0.3
    weight = rng.uniform(1, 30, n_rows).round(1)
    return pd.DataFrame(
        {
            "city": city,
            "postcode": np.select([city == "Berlin", city == "Hamburg"], ["10115", "20095"], "80331"),
            "service": np.where(express, "express", "standard"),
            "weight": weight,
            "price": (weight * np.where(express, 9, 4) + rng.normal(size=n_rows)).round(2),
            "sent": pd.Timestamp("2025-03-01")
            + pd.to_timedelta(rng.integers(0, 60, n_rows) * 24 + np.where(express, 22, 8), unit="h"),
            "remark": np.where(rng.random(n_rows) < 0.004, "fragile", None),
        }
    )


def broken() -> pd.DataFrame:
    table = orders(seed=1, n_rows=12)
    table.loc[0, ["city", "postcode"]] = ["Berlln", "10115"]
    table.loc[1, "city"] = "Ulm"
    table.loc[2, "weight"] = np.nan
    table.loc[3, ["service", "weight", "price"]] = ["standard", 12.0, 300.0]
    table.loc[3, "sent"] = pd.Timestamp("2025-04-02 08:00")
    table.loc[4, ["city", "postcode"]] = ["Hamburg", "80331"]
    table.loc[5, ["service", "sent"]] = ["express", pd.Timestamp("2025-03-07 08:00")]
    table.loc[6, "remark"] = "fragile"
    return table


@pytest.fixture(scope="module")
def found() -> Any:
    kinds = {"postcode": "categorical", "remark": "categorical"}
    return small(n_estimators=30, column_types=kinds).fit(orders()).detect(broken())


def sentence(found: Any, row: int, column: str) -> str:
    return next(cell.sentence for cell in found.explain(row).cells if cell.column == column)


def test_value(found: Any) -> None:
    told = sentence(found, 3, "price")
    number = r"[\d.]+"
    assert re.fullmatch(
        rf"price is 300; expected {number} to {number} because .*(weight|service).* "
        rf"\((all \d+|\d+ of \d+) such rows are at most {number}\)",
        told,
    ), told


def test_near_miss(found: Any) -> None:
    told = sentence(found, 0, "city")
    start = "city is 'Berlln', which was never seen in training; did you mean 'Berlin'? That is also what was expected"
    assert told.startswith(f"{start} because postcode = 10115 (all "), told
    assert told.endswith(" such rows have city = Berlin)")


def test_unseen(found: Any) -> None:
    assert sentence(found, 1, "city").startswith("city is 'Ulm', which was never seen in training; expected ")


def test_missing(found: Any) -> None:
    told = sentence(found, 2, "weight")
    assert re.fullmatch(r"weight is missing; all 1,200 training rows have a value; expected [\d.]+ to [\d.]+", told), (
        told
    )


def test_present(found: Any) -> None:
    told = sentence(found, 6, "remark")
    assert re.fullmatch(r"remark is fragile, where 1,19\d of 1,200 training rows have no value", told), told


def test_category(found: Any) -> None:
    told = str(found.explain(4))
    assert re.search(
        r"(city|postcode) is \w+; expected \w+ because (city|postcode) = \w+ \(all \d+ such rows have", told
    )


def test_part_of_a_date(found: Any) -> None:
    told = sentence(found, 5, "service")
    assert re.match(r"service is express; expected standard because hour of sent = 8 \(all ", told), told


def test_whole_row(found: Any) -> None:
    told = replace(found.explain(3), wrong=())
    lines = str(told).splitlines()
    unusual = r"(about 1 in [\d,]+ ordinary rows is|fewer than 1 in [\d,]+ ordinary rows are) as unusual"
    assert re.fullmatch(r"Row 3, score [\d.e+]+: " + unusual, lines[0])
    assert lines[1].startswith("- price is 300; ")
    assert lines[2] == "With the expected price the row would be ordinary."
    assert told.cells[0].blamed
    assert told.ordinary
    surprise = [cell.surprise for cell in told.cells if not cell.blamed]
    assert surprise == sorted(surprise, reverse=True)


def test_wrong_cells_come_first(found: Any) -> None:
    explained = found.explain(3)
    cells = [cell for cell in found.suspects(0.001) if cell.row == 3][:2]
    sure, unsure = replace(cells[0], probability=0.97), replace(cells[-1], probability=0.6)
    lines = str(replace(explained, wrong=(sure, unsure))).splitlines()
    assert lines[0] == explained.title
    assert lines[1:5] == ["Wrong:", f"- {sure.sentence}", "Worth a check:", f"- {unsure.sentence}"]
    assert lines[5] == "By its forests:"
    assert sure.sentence.endswith("(wrong 0.97)")
    plain = replace(explained, wrong=(sure,)).to_json()
    assert plain["wrong_cells"][0]["probability"] == 0.97


@pytest.mark.parametrize(
    ("p_value", "n_training", "words"),
    [
        (0.4, 100, "40 % of ordinary rows are as unusual"),
        (0.02, 100, "about 1 in 50 ordinary rows is as unusual"),
        (1e-9, 62, "fewer than 1 in 62 ordinary rows are as unusual"),
        (0.0, 4000, "fewer than 1 in 4,000 ordinary rows are as unusual"),
    ],
)
def test_rarity_is_claimed_as_far_as_training_rows_can_tell(p_value: float, n_training: int, words: str) -> None:
    assert rarity_words(p_value, n_training) == words


def test_rows_of_the_fit_have_a_rank() -> None:
    assert [rank_words(rank, 1000) for rank in (1, 2, 3, 11, 22, 104)] == [
        "the highest of 1,000 rows",
        "the 2nd highest of 1,000 rows",
        "the 3rd highest of 1,000 rows",
        "the 11th highest of 1,000 rows",
        "the 22nd highest of 1,000 rows",
        "the 104th highest of 1,000 rows",
    ]


def test_blame_comes_first(found: Any) -> None:
    for row in range(12):
        blamed = [cell.column for cell in found.explain(row, n_cells=9).cells if cell.blamed]
        assert tuple(blamed) == found.blame(row).columns


def test_fields_agree_with_the_detection(found: Any) -> None:
    low, high = found.intervals([3])
    for cell in found.explain(3, n_cells=9).cells:
        j = found.columns.index(cell.column)
        assert cell.score == found.cell_scores[3, j]
        assert cell.surprise == found.surprise[3, j]
        assert cell.p_value == found.p_values[3, j]
        if cell.column == "price":
            assert float(cell.low) == pytest.approx(low[0, j], abs=0.5)
            assert float(cell.high) == pytest.approx(high[0, j], abs=0.5)
            assert (cell.observed, cell.kind) == ("300", "value")
        elif not cell.blamed and cell.likely:
            assert cell.likely[0][1] == pytest.approx(found.likely(3, cell.column)[0][1], abs=1e-4)


def test_json_is_plain(found: Any) -> None:
    for explanation in found.explain_rows(None):
        data = explanation.to_json()
        assert json.loads(json.dumps(data, allow_nan=False)) == data
        assert data["text"] == str(explanation)


def test_many_at_once_say_the_same(found: Any) -> None:
    assert found.explain_rows([3, 0, 3]) == [found.explain(3), found.explain(0), found.explain(3)]
    assert found.explain_rows([]) == []


def test_polars_says_the_same(found: Any) -> None:
    kinds = {"postcode": "categorical", "remark": "categorical"}
    fitted = small(n_estimators=30, column_types=kinds, n_jobs=2).fit(pl.from_pandas(orders()))
    assert fitted.detect(pl.from_pandas(broken())).explain_rows(None) == found.explain_rows(None)


def test_batches_number_rows_through(found: Any) -> None:
    kinds = {"postcode": "categorical", "remark": "categorical"}
    detector = small(n_estimators=30, column_types=kinds).fit(orders())
    first, second = detector.detect_batches([broken()[:2], broken()[2:].reset_index(drop=True)])
    assert (first.explain(1).row, second.explain(1).row) == (1, 3)
    assert second.explain(1).cells[0].sentence == found.explain(3).cells[0].sentence


def test_text_from_the_table_is_escaped() -> None:
    rng = np.random.default_rng(0)
    bad = "<script>alert(1)</script>"
    letter = rng.choice(["<b>a</b>", "z\x1b[31m"], 300)
    table = pd.DataFrame({bad: letter, "number": np.where(letter == "<b>a</b>", 1.0, 9.0) + rng.normal(size=300) / 9})
    found = small(n_estimators=20).fit(table).detect(pd.DataFrame({bad: ["<b>a</b>"], "number": [9.0]}))
    told = found.explain(0)
    page = told._repr_html_()
    assert bad in str(told)
    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\x1b" not in page + str(told) + json.dumps(told.to_json(), ensure_ascii=False)


def test_hidden_columns_are_neither_told_nor_used(found: Any) -> None:
    hidden = {"city", "price"}
    told = found.explainer.explain_rows(np.arange(12), 9, hidden)
    text = json.dumps([row.to_json() for row in told])
    for secret in ("Ber", "Hamburg", "Ulm", "is 300"):
        assert secret not in text
    cells = {cell.column: cell for row in told for cell in row.cells}
    assert cells["price"].sentence == "price is not what the rest of the row leads to expect"
    assert (cells["price"].observed, cells["price"].expected, cells["price"].low) == ("hidden", "hidden", None)
    named = {condition.column for row in told for cell in row.cells for condition in cell.conditions}
    assert named
    assert not named & hidden
    patterns = find_patterns(found.explainer, np.arange(12), np.ones(found.surprise.shape, dtype=bool), hidden)
    assert "price is not what was expected" in " ".join(pattern.sentence for pattern in patterns)
    assert not {"Ulm", "Berlin", "Berlln"} & set(re.findall(r"\w+", json.dumps([p.to_json() for p in patterns])))


def test_a_constant_and_a_row_of_gaps() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    table = pd.DataFrame({"a": a, "b": a + rng.normal(size=200) / 9, "same": 5, "name": "x"})
    test = pd.DataFrame({"a": [0.0, np.nan], "b": [0.0, np.nan], "same": [7.0, np.nan], "name": ["x", None]})
    found = small(n_estimators=20).fit(table).detect(test)
    told = str(found.explain(0))
    assert "same is 7; expected" in told
    assert "(all 200 training rows have same = 5)" in told
    assert "a is missing; all 200 training rows have a value; expected " in str(found.explain(1))


def test_small_numbers_of_rows_and_odd_names() -> None:
    found = rfod.scan(pd.DataFrame({"": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]}), n_estimators=10, random_state=0)
    told = "\n".join(map(str, found.explain_rows(None)))
    assert "'' is 3; expected 1 to 2 (both other ordinary rows are at most 2)" in told


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (Evidence(39, 38, "at most 42", "are"), "38 of 39 such rows are at most 42"),
        (Evidence(1212, 1212, "at most 42", "are"), "all 1,212 such rows are at most 42"),
        (Evidence(1, 1, "at most 42", "are"), "the only such row is at most 42"),
        (Evidence(9, 1, "x = 3", "have"), "1 of 9 such rows has x = 3"),
        (Evidence(212, 212, "x = a", "have", negative=True), "none of 212 such rows has x = a"),
        (Evidence(212, 210, "x = a", "have", negative=True), "only 2 of 212 such rows have x = a"),
        (Evidence(10, 6, "x = a", "have", negative=True), "4 of 10 such rows have x = a"),
    ],
)
def test_counts_in_words(evidence: Evidence, words: str) -> None:
    assert evidence_words(evidence, ("such row", "such rows")) == words


def test_a_key_is_named() -> None:
    table = orders().assign(order=[f"A{n}" for n in range(N_ROWS)])
    found = rfod.scan(table, key="order", n_estimators=10, random_state=0, n_jobs=1)
    told = found.explain(17)
    assert (told.key, told.key_column) == ("A17", "order")
    assert str(told).startswith("Row 17 (order A17), score ")
