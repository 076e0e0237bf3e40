"""The content of a report as plain data."""

from __future__ import annotations

import json

import numpy as np
import pytest

from report_tables import HOSTILE, found_in_hostile, found_in_mixed
from rfod import Detection, ParameterError, SchemaError
from rfod._check.selfcheck import SelfCheck, Trial
from rfod._views.summary import Limits, summarise


@pytest.fixture(scope="module")
def found() -> Detection:
    return found_in_mixed(key=True)


def test_is_plain_data(found: Detection) -> None:
    told = summarise(found, top=10)
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_findings_are_those_of_flag(found: Detection) -> None:
    told = summarise(found, top=10)
    assert told["n_findings"] == 10
    assert told["rule"] == "the 10 highest scores"
    rows = told["findings"]["row"][:10]
    assert set(rows) == set(np.flatnonzero(found.flag(top=10)).tolist())
    assert told["findings"]["key"][:10] == [f"n{row:04d}" for row in rows]
    assert told["findings"]["score"][:10] == sorted(told["findings"]["score"][:10], reverse=True)


def test_cells_are_those_of_the_tidy_table(found: Detection) -> None:
    told = summarise(found, top=10)
    cells, texts = told["cells"], told["texts"]
    assert {len(values) for values in cells.values()} == {told["findings"]["start"][-1]}
    lines = {(line["name"], line["column"]): line for line in found.cells(found.flag(top=10)).to_pylist()}
    for place, key in enumerate(told["findings"]["key"][:10]):
        start, end = told["findings"]["start"][place : place + 2]
        assert 1 <= end - start <= 6
        for cell in range(start, end):
            if cells["kind"][cell] == "missing":
                continue
            line = lines[key, found.columns[cells["column"][cell]]]
            assert texts[cells["observed"][cell]] == line["observed"]
            assert cells["surprise"][cell] == pytest.approx(line["surprise"], rel=1e-2)
            assert cells["kind"][cell] == line["kind"]


def test_ranges_are_those_of_the_library(found: Detection) -> None:
    told = summarise(found, top=10)
    cells = told["cells"]
    low, high = found.intervals(np.array(told["findings"]["row"]))
    for place, row in enumerate(told["findings"]["row"]):
        for cell in range(*told["findings"]["start"][place : place + 2]):
            j = cells["column"][cell]
            if found.judged.model.schema.columns[j].is_categorical:
                likely = found.likely(row, found.columns[j])
                assert [share for _, share in cells["likely"][cell]] == pytest.approx([p for _, p in likely], rel=1e-2)
            else:
                assert (cells["from"][cell], cells["to"][cell]) == pytest.approx((low[place, j], high[place, j]))


def test_explanations_are_those_of_the_library(found: Detection) -> None:
    told = summarise(found, top=10)
    cells, texts = told["cells"], told["texts"]
    for place, row in enumerate(told["findings"]["row"]):
        start, end = told["findings"]["start"][place : place + 2]
        explained = found.explain(row, n_cells=6)
        assert explained.cells
        assert [found.columns[j] for j in cells["column"][start:end]] == [cell.column for cell in explained.cells]
        assert cells["sentence"][start:end] == [cell.sentence for cell in explained.cells]
        assert [texts[number] for number in cells["expected"][start:end]] == [cell.expected for cell in explained.cells]
        assert cells["blamed"][start:end] == [int(cell.blamed) for cell in explained.cells]
        assert told["findings"]["remedy"][place] == explained.remedy


def test_rows_without_an_explanation_tell_their_most_surprising_cells(found: Detection) -> None:
    told = summarise(found, top=10, limits=Limits(explained=3))
    starts, cells = told["findings"]["start"], told["cells"]
    assert len(told["findings"]["remedy"]) == 3
    assert all(sentence is None for sentence in cells["sentence"][starts[3] :])
    for place in range(3, 10):
        row = told["findings"]["row"][place]
        assert cells["column"][starts[place]] == np.nanargmax(found.surprise[row])


def test_findings_are_those_of_every_rule(found: Detection) -> None:
    for rule in ({"fdr": 0.2}, {"top": 7}, {"contamination": 0.1}):
        assert summarise(found, **rule)["n_findings"] == found.flag(**rule).sum()


def test_every_view_shows_one_order_and_one_value(found: Detection) -> None:
    report = summarise(found, top=5)
    explained = found.explain_rows(np.array(report["findings"]["row"]), 6)
    starts, cells, texts = report["findings"]["start"], report["cells"], report["texts"]
    for place, row in enumerate(explained):
        at = range(starts[place], starts[place + 1])
        assert [cell.column for cell in row.cells] == [found.columns[cells["column"][c]] for c in at]
        surprise = [cell.surprise for cell in row.cells]
        assert surprise == sorted(surprise, reverse=True)
        for c, cell in zip(at, row.cells, strict=True):
            assert texts[cells["expected"][c]] == cell.expected
            if cell.numbers is not None and cells["from"][c] is not None:
                assert cells["from"][c] <= cells["centre"][c] <= cells["to"][c]  # within the range that is drawn


def test_no_findings_show_what_comes_nearest(found: Detection) -> None:
    told = summarise(found, fdr=1e-9)
    assert told["n_findings"] == 0
    assert told["n_ranked"] == 20
    assert any(sentence.startswith("No row of 200 is a finding") for sentence in told["words"])
    assert not told["patterns"]


def test_words_name_what_was_found(found: Detection) -> None:
    told = summarise(found, top=4)
    assert "4 of 200 rows (2.00%) are findings (the 4 highest scores)." in told["words"]


def test_what_is_cut_off_is_said(found: Detection) -> None:
    told = summarise(found, top=40, limits=Limits(findings=30, cells=2, heat_rows=10, heat_columns=3, explained=20))
    assert told["n_ranked"] == 30
    assert max(np.diff(told["findings"]["start"])) == 2
    assert (told["heat"]["n_rows"], len(told["heat"]["columns"])) == (10, 3)
    assert told["cut"] == [
        "The 30 findings with the highest scores of 40 are in this file.",
        "At most 2 cells of each finding are shown, the most surprising ones.",
        "Reasons, cells to blame and the ranges of expected values are shown for the first 20 findings.",
        "The map shows the 10 worst rows and 3 of 8 columns, those where these rows surprise most.",
    ]


def test_columns(found: Detection) -> None:
    checked = SelfCheck(0.05, 200, 0, (Trial("double", "swap", 4, 3, 0, 0),), {}, found.judged.table)
    told = summarise(found, top=10, self_check=checked)
    columns = {column["name"]: column for column in told["columns"]}
    assert list(columns) == list(found.columns)
    assert columns["double"]["verdict"] == "predictable"
    assert columns["double"]["measure"] == "R²"
    assert columns["city"]["measure"] == "AUC"
    assert columns["double"]["self_check"] == 0.75
    assert columns["city"]["self_check"] is None
    assert sum(column["n_cells"] for column in told["columns"]) == told["findings"]["start"][10]
    assert sum(column["n_worst"] for column in told["columns"]) == 10
    bars = columns["city"]["values"]
    assert bars["total"] == sum(bars["counts"]) + bars["others"]
    bins = columns["double"]["values"]
    assert bins["total"] == sum(bins["counts"]) + bins["beyond"]
    assert all(bins["low"] <= tick <= bins["high"] for tick, _ in bins["ticks"])


def test_patterns_hold_every_finding(found: Detection) -> None:
    told = summarise(found, top=10)
    surprising = {place for place, row in enumerate(told["findings"]["row"][:10]) if found.surprise[row].max() >= 2}
    assert surprising <= {place for pattern in told["patterns"] for place in pattern["findings"]} <= set(range(10))
    assert all(pattern["n_findings"] == len(pattern["findings"]) for pattern in told["patterns"])
    counts = [pattern["n_findings"] for pattern in told["patterns"]]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize("name", ["double", "city", "day", "wait", "is_high"])
def test_redacted_values_are_nowhere(found: Detection, name: str) -> None:
    told = summarise(found, top=30, redact=[name])
    j = found.columns.index(name)
    assert told["columns"][j]["values"] is None
    for cell, column in enumerate(told["cells"]["column"]):
        if column == j:
            assert told["texts"][told["cells"]["observed"][cell]] == "hidden"
            assert told["texts"][told["cells"]["expected"][cell]] == "hidden"
            for part in ("at", "centre", "from", "to", "low", "high", "likely", "suggestion"):
                assert told["cells"][part][cell] is None
    assert f"The values of {name} are hidden in this report." in told["words"]
    if name == "city":
        assert not any(city in json.dumps(told, ensure_ascii=False) for city in ("Oslo", "Bergen", "Bodø", "Tromsø"))


def test_redacted_values_are_in_no_sentence(found: Detection) -> None:
    told = summarise(found, top=200, redact=["city", "day", "moment"])
    sentences = [text for text in told["cells"]["sentence"] if text] + told["findings"]["remedy"]
    sentences += [pattern["sentence"] for pattern in told["patterns"]]
    open_sentences = [text for text in summarise(found, top=200)["cells"]["sentence"] if text]
    assert any("Oslo" in text for text in open_sentences)
    assert any("202" in text for text in open_sentences)
    assert not any(word in text for text in sentences for word in ("Oslo", "Bergen", "Bodø", "Tromsø", "2023", "2024"))


def test_redacted_keys_become_row_numbers(found: Detection) -> None:
    told = summarise(found, top=5, redact=["name"])
    assert told["key"] is None
    assert told["findings"]["key"] == []
    assert "n0003" not in json.dumps(told)


def test_redact_takes_names_of_columns(found: Detection) -> None:
    with pytest.raises(SchemaError, match="no column 'citty' to redact"):
        summarise(found, redact=["citty"])
    with pytest.raises(ParameterError, match="a list of column names"):
        summarise(found, redact="city")


def test_texts_are_printable_and_short() -> None:
    told = summarise(found_in_hostile(), top=40)
    texts = [*told["texts"], *told["findings"]["key"], *(column["name"] for column in told["columns"])]
    assert all(text.isprintable() for text in texts)
    assert max(map(len, texts)) <= 6 * 120
    assert HOSTILE[0] in told["texts"]


def test_after_a_scan_wrong_cells_come_first_and_rows_are_a_ranking() -> None:
    found = found_in_mixed(key=True, own=True)
    probability = found.cell_probability.copy()
    probability[[3, 50, 77], found.judged_columns.index("double")] = 0.95, 0.6, 0.95  # whatever the decision says
    found.probabilities.probability = probability
    told = summarise(found)
    cells = found.suspects()
    wrong = told["wrong"]
    assert told["is_own"]
    assert told["n_ranked"] == 50
    assert not told["patterns"]
    assert cells
    assert wrong["column"] == [cell.column for cell in cells]
    assert wrong["observed"] == [cell.observed for cell in cells]
    assert wrong["because"] == [cell.because for cell in cells]
    assert [told["findings"]["row"][place] for place in wrong["finding"]] == [cell.row for cell in cells]
    assert sorted(number for pattern in wrong["patterns"] for number in pattern["cells"]) == list(range(len(cells)))
    assert wrong["n_wrong"] + wrong["n_check"] == len(cells)
    assert "probability 0.9 and more" in told["words"][0]
    assert "The 50 most unusual rows by score are shown too: a ranking, since unusual is not wrong." in told["words"]
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_values_of_redacted_columns_are_in_no_reason() -> None:
    found = found_in_mixed(key=True, own=True)
    told = summarise(found, redact=["city", "name"])
    assert not any(word in json.dumps(told, ensure_ascii=False) for word in ("Oslo", "Bergen", "Tromsø", "n0003"))
    for column, observed, suggested in zip(
        *(told["wrong"][k] for k in ("column", "observed", "suggested")), strict=True
    ):
        if column in ("city", "name"):
            assert (observed, suggested) == ("hidden", None)


def test_a_false_discovery_rate_is_refused_for_the_rows_of_the_fit() -> None:
    with pytest.raises(ParameterError, match="new rows"):
        summarise(found_in_mixed(own=True), fdr=0.05)
