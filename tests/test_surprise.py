"""What a detection says of single cells: surprise, intervals, findings, blame and repair."""

import numpy as np
import pandas as pd
import pytest

import rfod
from rfod.exceptions import ParameterError, SchemaError

N_ROWS = 1500


def parcels(n_rows: int, seed: int) -> pd.DataFrame:
    """Price and volume follow from weight, the service from the price; nothing follows from noise."""
    rng = np.random.default_rng(seed)
    weight = rng.uniform(1, 30, n_rows)
    price = 4 + 2 * weight + rng.normal(0, 0.5, n_rows)
    return pd.DataFrame(
        {
            "weight": weight,
            "price": price,
            "volume": 3 * weight + rng.normal(0, 1, n_rows),
            "service": np.where(price > 40, "freight", np.where(price > 15, "parcel", "letter")),
            "noise": rng.normal(size=n_rows),
            "depot": "north",
        }
    )


@pytest.fixture(scope="module")
def detector() -> rfod.RFOD:
    return rfod.RFOD(n_estimators=40, random_state=0, n_jobs=1).fit(parcels(N_ROWS, 0))


def test_p_values_are_valid_on_rows_like_those_of_training(detector):
    found = detector.detect(parcels(2000, 1))
    at = {name: j for j, name in enumerate(found.columns)}
    for name in ("weight", "price", "volume", "noise"):
        p_values = found.p_values[:, at[name]]
        for level in (0.05, 0.2, 0.5):
            assert 0.3 * level < np.mean(p_values <= level) < level + 0.035  # fewer trees judge out of bag, and worse
    assert (found.p_values[:, at["depot"]] == 1).all()
    assert np.mean(found.surprise[:, :5] >= 2) < 0.02
    assert not found.flag_cells(0.05).any(axis=1).mean() > 0.01


def test_a_wrong_cell_is_found_blamed_and_repaired(detector):
    table = parcels(300, 2)
    table.loc[5, "price"] = table.loc[5, "price"] + 40
    table.loc[9, "weight"] = 29.0 if table.loc[9, "weight"] < 15 else 2.0
    found = detector.detect(table)
    findings = found.cells(fdr=0.05, blame=True)
    assert {(5, "price"), (9, "weight")} <= set(zip(findings["row"], findings["column"], strict=True))
    assert len(findings) <= 4
    blame = found.blame(9)
    assert blame.columns[0] == "weight"
    assert blame.repaired["weight"] == pytest.approx(parcels(300, 2).loc[9, "weight"], abs=2)
    assert blame.ordinary
    assert found.blames([9, 5]) == [blame, found.blame(5)]
    line = findings[findings["row"] == 5].iloc[0]
    assert float(line["expected"]) == pytest.approx(parcels(300, 2).loc[5, "price"], abs=3)
    assert line["kind"] == "value"
    assert line["surprise"] > 3


def test_one_value_is_suggested_everywhere():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=600), "noise": rng.normal(size=600)})
    table["large"] = (table["size"] > 0).astype(float)
    rows = rng.choice(600, 20, replace=False)
    table.loc[rows, "large"] = 1 - table.loc[rows, "large"]
    # plain: with trees kept by robust fitness no mean is outside of its range here
    found = rfod.scan(table, n_estimators=40, fitness="plain", column_types={"large": "numeric"})
    listed = found.cells(rows, blame=True).set_index(["row", "column"])["expected"]
    is_moved = []
    for row, blame, explained in zip(rows, found.blames(rows), found.explain_rows(rows), strict=True):
        for cell in (cell for cell in explained.cells if cell.blamed):
            value = blame.repaired[cell.column]
            assert value == cell.numbers[1]
            assert cell.numbers[2] <= value <= cell.numbers[3]
            assert float(listed[row, cell.column]) == pytest.approx(value, rel=1e-4)
            mean = found.judged.repairs(np.array([row]))[0].values[found.columns.index(cell.column)]
            is_moved.append(value != mean)
    assert any(is_moved)  # the mean of the trees was outside of the range


def test_intervals_hold_what_they_promise(detector):
    table = parcels(2000, 3)
    found = detector.detect(table)
    for level in (0.5, 0.9):
        low, high = found.intervals(level=level)
        for name in ("weight", "price", "volume", "noise"):
            j = found.columns.index(name)
            inside = (low[:, j] <= table[name]) & (table[name] <= high[:, j])
            assert inside.mean() == pytest.approx(level, abs=0.07)
    assert np.isnan(low[:, found.columns.index("service")]).all()
    assert np.median((high - low)[:, found.columns.index("price")]) < 5 < np.ptp(table["price"]) / 3
    few = found.intervals([7, 3])
    np.testing.assert_array_equal(few[0], found.intervals()[0][[7, 3]])
    with pytest.raises(ParameterError, match="level is 2"):
        found.intervals(level=2)


def test_likely_categories(detector):
    found = detector.detect(parcels(20, 4))
    row = int(np.argmax(parcels(20, 4)["price"]))
    likely = found.likely(row, "service")
    assert likely[0][0] == "freight"
    assert likely[0][1] > 0.9
    assert sum(share for _, share in likely) == pytest.approx(1, abs=1e-6)
    assert len(found.likely(row, "service", n=1)) == 1
    with pytest.raises(ParameterError, match="'price' is not categorical"):
        found.likely(row, "price")
    with pytest.raises(SchemaError, match="no modelled column 'cost'"):
        found.likely(row, "cost")


def test_gaps_and_new_categories_are_findings_of_their_own_kind(detector):
    table = parcels(200, 5)
    table.loc[1, "weight"] = np.nan
    table.loc[2, "service"] = "Parcel "
    table.loc[3, "service"] = "frieght"
    table.loc[4, "service"] = "balloon"
    table.loc[6, "depot"] = "south"
    found = detector.detect(table)
    cells = found.cells(fdr=0.3).set_index(["row", "column"])
    assert cells.loc[(1, "weight"), "kind"] == "missing"
    assert cells.loc[(1, "weight"), "observed"] == "missing"
    assert cells.loc[(2, "service"), ["kind", "suggestion"]].tolist() == ["near miss", "parcel"]
    assert cells.loc[(3, "service"), ["kind", "suggestion"]].tolist() == ["near miss", "freight"]
    assert cells.loc[(4, "service"), "kind"] == "unseen"
    assert pd.isna(cells.loc[(4, "service"), "suggestion"])
    assert cells.loc[(6, "depot"), "kind"] == "unseen"
    at = found.columns.index
    for row, name in [(1, "weight"), (4, "service"), (6, "depot")]:
        assert found.surprise[row, at(name)] == pytest.approx(np.log10(N_ROWS + 1))
        assert found.p_values[row, at(name)] <= 3 / (N_ROWS + 1)


def test_a_value_where_there_is_practically_never_one():
    frame = parcels(1000, 6)
    frame["note"] = np.where(np.arange(1000) == 500, 7.0, np.nan)
    new = parcels(50, 7).assign(note=np.nan)
    new.loc[8, "note"] = 7.0
    found = rfod.RFOD(n_estimators=10, random_state=0, n_jobs=1).fit(frame).detect(new)
    assert found.surprise[8, found.columns.index("note")] == pytest.approx(np.log10(1001 / 2))
    assert found.p_values[8, found.columns.index("note")] == pytest.approx(0.001)
    cells = found.cells([8]).set_index("column")
    assert cells.loc["note", "kind"] == "present"
    assert (found.surprise[np.arange(50) != 8, found.columns.index("note")] < 0.01).all()


def test_rows_of_the_table_itself_are_their_own_strangers():
    table = parcels(800, 8)
    table.loc[11, "price"] = table.loc[11, "price"] + 60
    found = rfod.scan(table, n_estimators=30, random_state=0, n_jobs=1)
    assert found.blame(11).columns == ("price",)
    assert found.judged.order[0] == 11
    low, high = found.intervals([11])
    j = found.columns.index("price")
    assert low[0, j] <= parcels(800, 8).loc[11, "price"] <= high[0, j]


def test_false_discoveries_stay_within_their_rate(detector):
    shares, n_found = [], 0
    for seed in range(6):
        table = parcels(500, 20 + seed)
        wrong = np.random.default_rng(seed).choice(500, 40, replace=False)
        table.loc[wrong, "price"] = table.loc[wrong, "price"].to_numpy() + 30
        flagged = detector.detect(table).cells(fdr=0.1, blame=True)
        is_right = flagged["row"].isin(wrong) & (flagged["column"] == "price")
        shares.append(1 - is_right.mean())
        n_found += is_right.sum()
    assert np.mean(shares) <= 0.12
    assert n_found > 0.9 * 6 * 40


@pytest.mark.parametrize("aggregation", ["surprise", "consensus", "uncertainty", "mean"])
def test_every_row_score_finds_the_row(aggregation):
    table = parcels(200, 9)
    table.loc[3, "price"] = 500.0
    options = {"n_estimators": 20, "random_state": 0, "n_jobs": 1, "aggregation": aggregation}
    found = rfod.RFOD(**options).fit(parcels(N_ROWS, 0)).detect(table)
    assert np.argmax(found.row_scores) == 3
    if aggregation == "surprise":
        assert (found.row_scores <= np.sqrt(np.mean(found.surprise**2, axis=1)) + 1e-9).all()  # categories are bounded
    if aggregation == "consensus":
        assert np.median(found.row_scores) == pytest.approx(1, abs=0.3)


def test_flag_cells_wants_a_rate(detector):
    with pytest.raises(ParameterError, match="fdr is 0"):
        detector.detect(parcels(5, 0)).flag_cells(0)


def test_intervals_of_a_sorted_table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"day": np.arange(2000.0), "shop": rng.choice(list("abc"), 2000), "paid": rng.random(2000) < 0.5}
    )
    low, high = rfod.RFOD(n_estimators=20, random_state=0, n_jobs=1).fit_detect(table).intervals()
    assert np.mean((low[:, 0] <= table["day"]) & (table["day"] <= high[:, 0])) > 0.8


def test_infinite_values_of_a_constant_column_are_counted():
    frame = parcels(600, 11)
    frame["limit"] = np.where(np.arange(600) % 3 == 0, np.inf, 5.0)
    found = rfod.RFOD(n_estimators=10, random_state=0, n_jobs=1).fit(frame).detect(frame)
    j = found.columns.index("limit")
    assert found.judged.model.ranges[j] == 0
    assert found.surprise[0, j] == pytest.approx(np.log10(601 / 201))
    assert found.p_values[0, j] == pytest.approx(201 / 601, abs=0.005)
    assert found.surprise[1, j] == 0


def test_a_gap_by_another_name_is_missing():
    frame = parcels(300, 12).assign(size=lambda table: table["weight"].round(1).astype(str))
    detector = rfod.RFOD(n_estimators=10, random_state=0, n_jobs=1, column_types={"size": "numeric"}).fit(frame)
    new = frame.head(3).copy()
    new["size"] = ["", "n/a", "3.5"]
    cells = detector.detect(new).cells(fdr=0.9).set_index(["row", "column"])
    assert cells.loc[(0, "size"), "kind"] == cells.loc[(1, "size"), "kind"] == "missing"


def test_rows_are_picked_with_care(detector):
    found = detector.detect(parcels(20, 13))
    assert found.rows([3, 3, 4])["cells"].tolist() == [found.rows([row])["cells"].iloc[0] for row in (3, 3, 4)]
    assert found.rows([-1])["row"].tolist() == [19]
    assert found.blame(-1) == found.blame(19)
    with pytest.raises(IndexError, match="no row 20: the table has 20 rows"):
        found.blame(20)
    with pytest.raises(ParameterError, match="mask of shape"):
        found.rows(np.ones(5, dtype=bool))
    with pytest.raises(ParameterError, match="whole numbers"):
        found.rows([1.5])
    batches = list(detector.detect_batches([parcels(20, 13), parcels(20, 14)]))
    assert batches[1].blame(3).row == 23


def test_a_key_called_like_a_column_of_the_answer(detector):
    found = detector.detect(parcels(10, 15).assign(score=[f"A{row}" for row in range(10)]), key="score")
    assert found.rows([2])["score (key)"].tolist() == ["A2"]
    assert found.rows([2])["score"].tolist() == [found.row_scores[2]]


def test_a_known_category_is_no_rarer_than_training_shows(detector):
    table = parcels(50, 16)
    row = int(np.argmax(table["price"]))
    table.loc[row, "service"] = "letter"
    found = detector.detect(table)
    j = found.columns.index("service")
    assert found.surprise[row, j] > np.log10(N_ROWS + 1)
    assert found.judged.tail_p_values[row, j] == found.p_values[row, j] >= 1 / (N_ROWS + 1)
