"""Reasons and suggestions on a hand-made table."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from rfod._evidence import inputs, wrong_cells
from rfod._evidence.reasons import reasons_of
from rfod._evidence.wrong_cells import CellProbabilities
from rfod._table.table import open_table
from rfod.exceptions import ColumnWarning
from rfod.params import Params
from rfod.pipeline import fit_detect

N_ROWS = 300


def places():
    """Shops with their city and state, sums of money and a code; the first rows have one wrong cell each."""
    rng = np.random.default_rng(0)
    city = rng.choice(["Austin", "Reno", "Boston"], N_ROWS).tolist()
    state = [{"Austin": "TX", "Reno": "NV", "Boston": "MA"}[name] for name in city]
    net, tax = rng.integers(1_000, 5_000, N_ROWS) / 100, rng.integers(100, 900, N_ROWS) / 100
    code = [f"AB{number}" for number in rng.integers(10, 50, N_ROWS)]
    columns = {"city": city, "state": state, "net": net, "tax": tax, "total": np.round(net + tax, 2), "code": code}
    city[0], state[0] = "Bostno", "MA"
    city[1], state[1] = "Austin", "NV"
    city[2], state[2] = None, "TX"
    columns["total"][3] = 9.0
    columns["net"][4] *= -1
    code[5] = "AB\n?1"
    columns["amount"] = [f"{value:.2f}" for value in net]
    columns["amount"][6] = "1x.20"
    code[7], city[8] = "n/a?", " Reno"
    return pa.table(columns)


@pytest.fixture(scope="module")
def probabilities() -> CellProbabilities:
    table = open_table(places())
    with pytest.warns(ColumnWarning, match="1x.20"):
        return fit_detect(table, Params(n_estimators=20, random_state=0, n_jobs=1))[1].probabilities


def said(probabilities, row, column, group):
    collected, c = probabilities.collected, probabilities.names.index(column)
    return reasons_of(collected, collected.judged, row, c, [group])[0].text


def proposed(probabilities, row, column):
    """By way, what may have stood in a cell."""
    c = probabilities.names.index(column)
    made = probabilities.repairs.proposed(c, [row]).proposals
    return {way: proposal.text for proposal in made for way in proposal.strength}


def test_spelling(probabilities):
    n_rows = places()["city"].to_pylist().count("Boston")
    assert said(probabilities, 0, "city", "spelling") == f"it is one letter from 'Boston' ({n_rows} rows)"
    assert proposed(probabilities, 0, "city")["near"] == "Boston"
    assert said(probabilities, 1, "city", "spelling") == ""


def test_votes(probabilities):
    n_rows = places()["city"].to_pylist().count("Austin") - 1
    assert said(probabilities, 1, "state", "votes") == f"all {n_rows} other rows with city = 'Austin' have 'TX'"
    assert proposed(probabilities, 1, "state")["votes"] == "TX"


def test_form(probabilities):
    assert said(probabilities, 2, "city", "form") == f"{N_ROWS - 1} of {N_ROWS} rows have a value"
    assert said(probabilities, 8, "city", "form") == f"it has blanks around it ({N_ROWS - 1} of {N_ROWS} values do not)"
    text = said(probabilities, 5, "code", "form")
    assert "in this cell only" in text
    assert "\n" not in text


def test_not_a_number(probabilities):
    assert said(probabilities, 6, "amount", "form") == f"it is not a number ({N_ROWS - 1} of {N_ROWS} values are)"


def test_regularities(probabilities):
    assert said(probabilities, 3, "total", "regularities") == "net is at most total in 299 of 300 rows, but not here"
    assert said(probabilities, 4, "tax", "regularities") == "total = net + tax in 298 of 300 rows, but not here"
    expected = places()["net"][3].as_py() + places()["tax"][3].as_py()
    assert proposed(probabilities, 3, "total")["sum"] == f"{expected:.2f}"
    assert said(probabilities, 9, "total", "regularities") == ""


def test_margin(probabilities):
    assert said(probabilities, 4, "net", "margin") == "only 1 of 300 values have this sign"
    assert said(probabilities, 3, "total", "margin").startswith("nearly all values are between ")
    assert said(probabilities, 9, "total", "margin") == ""


def test_forest(probabilities):
    assert said(probabilities, 1, "state", "forest").startswith("the other columns lead to 'TX' (")
    assert said(probabilities, 3, "total", "forest") != ""
    assert proposed(probabilities, 1, "state")["forest"] == "TX"


def test_described_cells_are_in_the_order_that_was_asked_for_and_on_one_line(probabilities):
    cells = [(row, c) for row in (5, 1, 0) for c in (5, 0, 1)]
    found = probabilities.describe(cells)
    assert [(cell.row, probabilities.names.index(cell.column)) for cell in found] == cells
    for cell in found:
        assert "\n" not in str(cell)
        assert cell.probability == probabilities.probability[cell.row, probabilities.names.index(cell.column)]
        assert cell.kind == cell.evidence[0]


def test_cells_above_a_probability_come_most_probable_first(probabilities):
    cells = probabilities.above(0.3)
    chances = probabilities.probability[cells[:, 0], cells[:, 1]]
    assert (np.diff(chances) <= 0).all()
    assert len(cells) == (probabilities.probability >= 0.3).sum()
    assert (chances >= 0.3).all()


def test_long_columns_share_fewer_threads_and_have_the_same_bits(probabilities, monkeypatch):
    found = probabilities.probability
    judged = probabilities.collected.judged
    monkeypatch.setattr(judged, "n_jobs", 4)
    assert CellProbabilities(judged, judged.table).threads.n_workers == 4
    monkeypatch.setattr(wrong_cells, "MOST_AT_ONCE", 2 * N_ROWS)
    monkeypatch.setattr(inputs, "KEPT_CELLS", 100)
    again = CellProbabilities(judged, judged.table)
    assert again.threads.n_workers == 2
    np.testing.assert_array_equal(again.probability, found)


def test_another_decision_may_be_given(probabilities):
    judged, known = probabilities.collected.judged, probabilities.decision
    doubtful = replace(known, table=replace(known.table, base=known.table.base - 1.0))
    lower = CellProbabilities(judged, judged.table, decision=doubtful).probability
    assert (lower <= probabilities.probability).all()
    assert (lower < probabilities.probability).any()


def test_the_likeliest_proposal_is_suggested(probabilities):
    names = probabilities.names
    cells = [(0, names.index("city")), (1, names.index("state")), (6, names.index("amount")), (2, names.index("city"))]
    found = probabilities.suggestions(cells)
    assert [made.text for made in found[:2]] == ["Boston", "TX"]
    assert found[3].text == "Austin"
    assert all(0 < made.probability < 1 for made in found)
    assert "near" in found[0].ways
    described = probabilities.describe(cells)
    assert [cell.suggested for cell in described] == [made.text for made in found]
    assert [cell.repair_probability for cell in described] == [made.probability for made in found]
    hidden = probabilities.describe(cells[:1], hidden=["city"])[0]
    assert hidden.suggested is hidden.repair_probability is None


def test_suggestions_do_not_tell_values_of_hidden_columns(probabilities):
    names = probabilities.names
    total, state = (3, names.index("total")), (1, names.index("state"))
    ways = [probabilities.suggestions([cell])[0].ways for cell in (total, state)]
    assert "sum" in ways[0]
    assert "sum" not in ways[1]
    for hidden, cell, suggested in (("net", total, None), ("net", state, "TX"), ("city", state, "TX")):
        assert probabilities.describe([cell], hidden=[hidden])[0].suggested == suggested


def test_names_of_columns_stay_on_one_line():
    table = places().rename_columns(["city\x1b[31m", "state", "net\n(EUR)", "tax", "total", "code", "amount"])
    with pytest.warns(ColumnWarning, match=r"1x\.20"):
        found = fit_detect(open_table(table), Params(n_estimators=10, random_state=0, n_jobs=1))[1]
    texts = [rule.text(found.probabilities.names) for rule in found.probabilities.collected.profile.regularities]
    assert any("EUR" in text for text in texts)
    c = found.probabilities.names.index("state")
    texts.append(reasons_of(found.probabilities.collected, found.judged, 1, c, ["votes"])[0].text)
    assert not any(letter in text for text in texts for letter in "\n\x1b")


def test_one_cell_alone_has_the_suggestion_that_it_has_among_others(probabilities):
    cells = [(row, c) for row in range(9) for c in range(len(probabilities.names))]
    together = probabilities.suggestions(cells)
    assert [probabilities.suggestions([cell])[0] for cell in cells[::5]] == together[::5]
