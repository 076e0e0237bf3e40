"""The index of a pandas frame comes back with what is found; rows are explained by their keys."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import rfod
from rfod import Detection, ParameterError
from rfod._table.table import open_table

FEW = {"n_estimators": 5, "n_jobs": 1}
N = 80


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    return pd.DataFrame({"x": x, "y": 2 * x + rng.normal(0, 0.1, N), "z": rng.choice(["a", "b"], N)})


def scanned(frame: pd.DataFrame, key: str | None = None) -> Detection:
    """With two cells that are probably wrong, whatever the learned decision says of them."""
    found = rfod.scan(frame, key=key, **FEW)
    found.probabilities.probability = np.zeros((N, len(found.judged_columns)))
    found.probabilities.probability[[7, 3], 0] = 0.95, 0.9
    return found


@pytest.fixture(scope="module")
def labelled(frame: pd.DataFrame) -> Detection:
    return scanned(frame.set_axis([f"r{row}" for row in range(N)]).rename_axis("name"))


def test_tables_of_findings_have_the_labels(labelled: Detection) -> None:
    wrong = labelled.wrong_cells()
    assert wrong.index.tolist() == ["r7", "r3"]
    assert wrong.index.name == "name"
    assert wrong["row"].tolist() == [7, 3]
    assert labelled.rows([5, 2]).index.tolist() == ["r5", "r2"]
    assert labelled.cells([5]).index.tolist() == ["r5"] * 3
    top = labelled.top(2)
    assert top.index.unique().tolist() == [f"r{row}" for row in labelled.judged.order[:2]]
    assert labelled.expected.index.tolist() == [f"r{row}" for row in range(N)]


def test_findings_lead_back_to_the_frame(frame: pd.DataFrame) -> None:
    shuffled = frame.sample(frac=1, random_state=0)
    wrong = scanned(shuffled).wrong_cells()
    assert wrong.index.tolist() == shuffled.index[[7, 3]].tolist()
    assert shuffled.loc[wrong.index, "x"].tolist() == shuffled["x"].iloc[[7, 3]].tolist()


def test_of_several_levels(frame: pd.DataFrame) -> None:
    index = pd.MultiIndex.from_arrays([["a"] * 40 + ["b"] * 40, list(range(40)) * 2], names=["site", "day"])
    found = scanned(frame.set_axis(index))
    assert found.wrong_cells().index.tolist() == [("a", 7), ("a", 3)]
    assert found.explain(key=("a", 7)).row == 7


def test_plain_row_numbers_stay_lines(frame: pd.DataFrame) -> None:
    found = scanned(frame)
    assert found.wrong_cells().index.tolist() == [0, 1]
    assert found.rows([5, 2]).index.tolist() == [0, 1]
    with pytest.raises(ParameterError, match="Rows have no keys"):
        found.explain(key=7)


def test_explain_by_label(labelled: Detection) -> None:
    assert labelled.explain(key="r7") == labelled.explain(7)
    with pytest.raises(ParameterError, match="No row has the label 'r99'"):
        labelled.explain(key="r99")
    with pytest.raises(ParameterError, match="by its position, or by its key"):
        labelled.explain()
    with pytest.raises(ParameterError, match="by its position, or by its key"):
        labelled.explain(7, key="r7")


def test_explain_by_key(frame: pd.DataFrame) -> None:
    keys = [f"k{row}" for row in range(N)]
    keys[11] = "k10"
    found = scanned(frame.assign(id=keys), key="id")
    assert found.explain(key="k7").key == "k7"
    assert found.explain(key="k7") == found.explain(7)
    with pytest.raises(ParameterError, match=r"2 rows have id 'k10' \(at 10, 11\)"):
        found.explain(key="k10")
    numbered = scanned(frame.assign(id=np.arange(100, 100 + N)), key="id")
    assert numbered.explain(key=107).row == 7
    dated = scanned(frame.assign(id=pd.date_range("2024-01-01", periods=N)), key="id")
    for key in ("2024-01-08", "2024-01-08 00:00:00", pd.Timestamp("2024-01-08"), dt.date(2024, 1, 8)):
        assert dated.explain(key=key).row == 7


def test_some_of_the_rows_keep_their_labels(frame: pd.DataFrame) -> None:
    table = open_table(frame.set_axis([f"r{row}" for row in range(N)]))
    part = table.take(np.array([4, 9, 2]))
    made = part.frame({"a": pa.array([1, 2])}, np.array([2, 0]))
    assert made.index.tolist() == ["r2", "r4"]


SCRIPT = "<script>alert('x')</script>"


def test_in_a_notebook(frame: pd.DataFrame) -> None:
    hostile = frame.assign(z=frame["z"].replace("a", SCRIPT)).rename(columns={"x": "<b>x</b>"})
    found = scanned(hostile)
    text = found._repr_html_()
    assert f"{N} rows, 3 columns. Wrong cells (probability 0.9 and more): 2; worth a check: 0." in text
    assert "<script" not in text
    assert "<b>" not in text
    assert text.count("<tr>") == 3
    assert "color:" not in text.replace("color:inherit;", "")  # that of the page, light or dark
    assert len(text) < 20_000


def test_in_a_notebook_without_evidence(frame: pd.DataFrame) -> None:
    model = rfod.RFOD(random_state=0, keep_evidence=False, **FEW).fit(frame)
    text = model.detect(frame)._repr_html_()
    assert "The rows with the highest scores" in text
    assert text.count("<tr>") == 11
    assert "wrong cells" not in text.lower()
