"""What figures show: data, order, text that stays text, errors."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from rfod import ParameterError, SchemaError, figures
from tables import as_pandas, mixed_columns, small

NASTY = '<b>$x$</b><a href="https://example.org">&amp;</a>'


@pytest.fixture(scope="module")
def train():
    return as_pandas(mixed_columns(300))


@pytest.fixture(scope="module")
def detector(train):
    return small(n_estimators=12).fit(train)


@pytest.fixture(scope="module")
def found(detector):
    new = as_pandas(mixed_columns(40, seed=1))
    new.loc[7, "double"] = 60.0
    new.loc[7, "city"] = "Atlantis"
    return detector.detect(new)


def texts(figure: go.Figure) -> str:
    """All that a figure says, as JSON."""
    return json.dumps(json.loads(figure.to_json()), ensure_ascii=False)


# ------------------------------------------------------------------------------------------------------------- heat map


def test_heat_map_has_the_worst_rows_on_top_and_the_brightest_column_first(found):
    figure = figures.heat_map(found)
    shown = np.array(figure.data[0].z, dtype=float)
    order = np.argsort(-found.row_scores, kind="stable")
    assert shown.shape == (40, len(found.columns))
    assert figure.layout.yaxis.ticktext[0] == str(order[0])
    assert figure.layout.yaxis.autorange == "reversed"
    columns = [found.columns.index(name) for name in figure.layout.xaxis.ticktext]
    np.testing.assert_array_equal(shown, found.cell_scores[order][:, columns])
    brightness = np.minimum(np.nan_to_num(shown), figure.data[0].zmax).sum(axis=0)
    assert (np.diff(brightness) <= 0).all()


def test_heat_map_of_chosen_rows_and_columns(found):
    figure = figures.heat_map(found, [3, 1, 2], columns=["count", "level"], sort=False)
    np.testing.assert_array_equal(figure.data[0].z, found.cell_scores[[3, 1, 2]][:, [2, 0]])
    assert figure.layout.yaxis.ticktext == ("3", "1", "2")
    assert figure.layout.xaxis.ticktext == ("count", "level")
    mask = np.isin(np.arange(40), [1, 2, 3])
    figure = figures.heat_map(found, mask)
    assert figure.layout.yaxis.ticktext == tuple(
        str(row) for row in sorted([1, 2, 3], key=lambda r: -found.row_scores[r])
    )


def test_heat_map_of_surprise(found):
    figure = figures.heat_map(found, [7, 0], columns=found.columns, measure="surprise", sort=False)
    np.testing.assert_array_equal(figure.data[0].z, found.surprise[[7, 0]])
    assert figure.data[0].zmax == min(found.surprise[[7, 0]].max(), 6)


def test_colours_of_scores_end_at_1_and_say_so(found):
    figure = figures.heat_map(found)
    assert np.nanmax(found.cell_scores) > 1
    assert figure.data[0].zmax == 1
    assert figure.data[0].colorbar.ticktext[-1] == "≥ 1"
    assert figures.heat_map(found, limit=0.25).data[0].zmax == 0.25


def test_hovering_tells_observed_and_expected(found):
    figure = figures.heat_map(found, [7], columns=["city"])
    (text,) = figure.data[0].hovertext[0]
    assert text.startswith("row 7<br>city<br>Atlantis (expected ")
    assert "<br>score 1" in text


def test_heat_map_of_no_rows(found):
    assert np.asarray(figures.heat_map(found, []).data[0].z).shape == (0, len(found.columns))


def test_many_rows_have_some_labels(detector):
    found = detector.detect(as_pandas(mixed_columns(200, seed=3)))
    assert 30 <= len(figures.heat_map(found, np.arange(200)).layout.yaxis.ticktext) <= 60


# --------------------------------------------------------------------------------------------------------- row analysis


def lines(figure: go.Figure) -> dict[str, float]:
    return {shape.line.dash: shape.x0 for shape in figure.layout.shapes if shape.type == "line"}


def band(figure: go.Figure) -> tuple[float, float]:
    (shape,) = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    return shape.x0, shape.x1


def test_row_analysis_of_a_number(found, train):
    figure = figures.row_analysis(found, 3, ["level"])
    observed = as_pandas(mixed_columns(40, seed=1)).loc[3, "level"]
    assert lines(figure)["solid"] == pytest.approx(observed)
    low, high = (bound[0, 0] for bound in found.intervals([3], 0.9))
    assert lines(figure)["dash"] == pytest.approx(np.clip(found.expected["level"][3], low, high))
    assert band(figure) == pytest.approx((low, high))
    assert sum(figure.data[0].y) == pytest.approx(1)
    assert (figure.data[0].x[0], figure.data[0].x[-1]) == pytest.approx(
        (train["level"].min(), train["level"].max()), abs=1.5
    )


def test_a_value_far_out_is_an_arrow_at_the_end_of_the_axis(found):
    figure = figures.row_analysis(found, 7, ["double"])
    _, high = figure.layout.xaxis.range
    assert high < 20
    assert lines(figure)["solid"] == pytest.approx(high, rel=0.1)
    assert figure.layout.annotations[0].text == "→"
    assert "observed 60" in texts(figure)


def test_an_infinite_value_is_an_arrow(detector):
    new = as_pandas(mixed_columns(5, seed=1))
    new.loc[0, "double"] = -np.inf
    figure = figures.row_analysis(detector.detect(new), 0, ["double"])
    assert lines(figure)["solid"] == pytest.approx(figure.layout.xaxis.range[0], abs=0.5)
    assert figure.layout.annotations[0].text == "←"


def test_row_analysis_of_a_category(found):
    figure = figures.row_analysis(found, 7, ["city"])
    labels = figure.layout.yaxis.ticktext
    assert "Atlantis" in labels[-1]
    assert "never seen" in texts(figure)
    in_training, here = figure.data
    assert sum(in_training.x) == pytest.approx(1)
    assert sum(here.x) == pytest.approx(1, abs=1e-5)
    assert in_training.x[-1] == here.x[-1] == 0
    likely = dict(found.likely(7, "city", 3))
    assert here.x[0] == pytest.approx(max(likely.values()))


@pytest.fixture(scope="module")
def wrong():
    """Row 0 has several wrong cells, so what is expected in one of them depends on whether the others are repaired."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=1500)
    table = pd.DataFrame({name: size + rng.normal(scale=0.1, size=1500) for name in "abcd"})
    table["kind"] = np.where(size > 0, "large", "small")
    new = pd.DataFrame({"a": [-6.0], "b": [-6.0], "c": [1.5], "d": [1.5], "kind": ["small"]})
    return small(n_estimators=20).fit(table).detect(new)


def test_a_cell_to_blame_is_drawn_with_the_values_of_its_explanation(wrong):
    (cell,) = [cell for cell in wrong.explain(0).cells if cell.column == "a" and cell.blamed]
    figure = figures.row_analysis(wrong, 0, ["a"])
    _, expected, low, high = cell.numbers
    assert (low, high) != pytest.approx(tuple(bound[0, 0] for bound in wrong.intervals([0], 0.9)))
    assert lines(figure)["dash"] == pytest.approx(expected)
    assert band(figure) == pytest.approx((low, high))
    assert f"expected {cell.expected} ({cell.low} to {cell.high})" in texts(figure)


def test_a_category_to_blame_is_drawn_with_the_probabilities_of_its_explanation(wrong):
    (cell,) = [cell for cell in wrong.explain(0).cells if cell.column == "kind" and cell.blamed]
    assert cell.likely[0][1] != pytest.approx(wrong.likely(0, "kind")[0][1], abs=1e-4)
    figure = figures.row_analysis(wrong, 0, ["kind"])
    drawn = [figure.data[1].x[place] for place, _ in enumerate(cell.likely)]
    assert drawn == pytest.approx([share for _, share in cell.likely], abs=1e-4)
    assert f"expected large ({cell.likely[0][1]:.0%})" in texts(figure)


def test_columns_are_in_the_order_of_the_explanation(found):
    figure = figures.row_analysis(found, 7)
    names = [note.text.split("</b>")[0].removeprefix("<b>") for note in figure.layout.annotations if "<b>" in note.text]
    explained = [cell.column for cell in found.explain(7, n_cells=3).cells]
    assert len(names) == 3
    assert [name for name in names if name in explained] == explained
    assert set(found.blame(7).columns) <= set(names)


def test_dates_are_on_a_calendar(found):
    figure = figures.row_analysis(found, 2, ["moment", "day", "wait"])
    assert figure.layout.xaxis.type == figure.layout.xaxis2.type == "date"
    assert all(":" in text for text in figure.layout.xaxis3.ticktext)
    start, end = pd.to_datetime(figure.layout.xaxis.range, unit="ms")
    assert pd.Timestamp("2023-12-01") < start < end < pd.Timestamp("2024-03-01")


def test_a_missing_cell_has_no_solid_line(found):
    row = int(np.flatnonzero(np.isnan(found.cell_scores[:, 1]))[0])
    figure = figures.row_analysis(found, row, ["double"])
    assert "solid" not in lines(figure)
    assert "observed missing" in texts(figure)


def test_many_categories_share_the_rest():
    rng = np.random.default_rng(0)
    names = [f"n{k}" for k in rng.integers(0, 30, 600)]
    table = pd.DataFrame({"name": names, "size": [len(name) + rng.normal() for name in names]})
    found = small(column_types={"name": "categorical"}).fit(table).detect(table[:5])
    figure = figures.row_analysis(found, 0, ["name"])
    assert figure.layout.yaxis.ticktext[-1] == "22 others"
    assert sum(figure.data[0].x) == pytest.approx(1)


# -------------------------------------------------------------------------------------------------------------- forests


def test_predictability_has_the_best_predicted_column_on_top(detector):
    figure = figures.predictability(detector)
    shares, bars = figure.data
    names = list(figure.layout.yaxis.ticktext)
    assert (np.diff(bars.x) <= 0).all()
    assert sorted(names) == sorted(detector.forests_)
    forest = detector.forests_["double"]
    line = dict(zip(names, shares.z[names.index("double")], strict=True))
    assert line.pop("double") is None or np.isnan(shares.z[names.index("double")][names.index("double")])
    assert {name: share for name, share in line.items() if share > 0} == pytest.approx(dict(forest.importances))


# ---------------------------------------------------------------------------------------------- row scores


def test_score_distribution_counts_rows_above_the_threshold(found):
    threshold = float(np.sort(found.row_scores)[-3])
    figure = figures.score_distribution(found, threshold=threshold)
    assert "3 rows at or above" in figure.layout.title.text
    assert sum(figure.data[0].y) == pytest.approx(1)
    assert sum(figure.data[1].y) == pytest.approx(1)
    assert figure.layout.shapes[0].x0 == threshold


def test_score_distribution_without_findings_has_no_line(detector):
    found = detector.detect(as_pandas(mixed_columns(30, seed=9)))
    figure = figures.score_distribution(found, fdr=1e-9)
    assert "no row flagged" in figure.layout.title.text
    assert len(figure.layout.shapes) == 0


# ------------------------------------------------------------------------------------------------------ text, errors


def test_names_and_values_stay_text():
    rng = np.random.default_rng(0)
    size = rng.normal(size=200)
    table = pd.DataFrame(
        {NASTY: size, "group": np.where(size > 0, NASTY, "plain\nline"), "id": [f"{NASTY}{k}" for k in range(200)]}
    )
    detector = small(column_types={"id": "identifier"}).fit(table)
    new = table[:5].copy()
    new.loc[0, "group"] = "<script>alert(1)</script>"
    found = detector.detect(new, key="id")
    drawn = [
        figures.heat_map(found),
        figures.row_analysis(found, 0, found.columns),
        figures.predictability(detector),
        figures.score_distribution(found),
    ]
    for figure in drawn:
        said = texts(figure)
        for tag in ("<a", "<script", "$x$", "&amp;<", "plain\\nline"):
            assert tag not in said
    assert "&lt;b&gt;&#36;x&#36;&lt;/b&gt;" in texts(drawn[1])


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda found, detector: figures.heat_map(found, [40]), "There is no row 40: the table has 40 rows"),
        (lambda found, detector: figures.heat_map(found, [-41]), "There is no row -41"),
        (lambda found, detector: figures.heat_map(found, np.zeros(3, dtype=bool)), "A mask of shape \\(3,\\) came"),
        (lambda found, detector: figures.heat_map(found, columns=["levle"]), "did you mean 'level'"),
        (lambda found, detector: figures.heat_map(found, measure="p"), "measure is 'p'"),
        (lambda found, detector: figures.heat_map(found, limit=0), "limit is 0"),
        (lambda found, detector: figures.row_analysis(found, 40), "There is no row 40"),
        (lambda found, detector: figures.row_analysis(found, 0, []), "columns is empty"),
        (lambda found, detector: figures.predictability(detector, columns=["x"]), "There is no modelled column 'x'"),
        (lambda found, detector: figures.score_distribution(found, threshold=np.inf), "threshold is inf"),
    ],
)
def test_errors_name_what_is_wrong(found, detector, draw, message):
    with pytest.raises((IndexError, ParameterError, SchemaError), match=message):
        draw(found, detector)


def test_plotly_is_imported_when_a_figure_is_made():
    program = "import sys; import rfod.figures; print('plotly' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
