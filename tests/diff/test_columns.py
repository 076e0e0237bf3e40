"""Columns that moved: planted changes are found and told, and nothing else is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import rfod
from rfod import ColumnChange, ParameterError, SchemaError, TableDiff

FEW = {"n_estimators": 20, "n_jobs": 1, "column_types": {"note": "text"}}


def made(n: int, seed: int) -> pd.DataFrame:
    """Weight decides price, kind decides size; colour is alone."""
    rng = np.random.default_rng(seed)
    weight = rng.gamma(3, 10, n).round(1)
    kind = rng.choice(["box", "bag", "roll"], n, p=[0.5, 0.3, 0.2])
    return pd.DataFrame(
        {
            "weight": weight,
            "price": (weight * 2 + rng.normal(0, 2, n)).round(2),
            "kind": kind,
            "size": pd.Series(kind).map({"box": 3.0, "bag": 1.0, "roll": 2.0}) + rng.normal(0, 0.1, n).round(2),
            "colour": rng.choice(["red", "blue"], n),
            "note": [f"note {seed} {k} of {rng.integers(10**9)}, some text that is long" for k in range(n)],
        }
    )


@pytest.fixture(scope="module")
def before() -> pd.DataFrame:
    return made(800, 1)


def by_name(found: TableDiff) -> dict[str, ColumnChange]:
    return {change.column: change for change in found.columns}


def test_an_unchanged_table_has_no_moved_column(before: pd.DataFrame) -> None:
    found = rfod.diff(before, made(800, 2), **FEW)
    assert [change.column for change in found.columns] == list(before.columns)
    assert found.moved == []
    assert found.n_matched == 0


def test_the_same_table_has_not_moved_at_all(before: pd.DataFrame) -> None:
    found = rfod.diff(before, before.sample(frac=1, random_state=0), **FEW)
    assert found.moved == []
    assert found.n_matched == len(before)
    assert all(change.n_changed == 0 for change in found.columns)
    assert found.new == []
    assert found.resolved == []


def test_a_shuffled_column_moved_in_its_relation_only(before: pd.DataFrame) -> None:
    after = made(800, 2)
    after["price"] = after["price"].sample(frac=1, random_state=0).to_numpy()
    change = by_name(rfod.diff(before, after, **FEW))["price"]
    assert change.moved == ("relation",)
    assert change.is_relation_only
    assert change.relation is not None
    assert change.relation.effect > 0.8
    assert "weight" in change.predictors
    assert "though its own distribution did not move" in change.sentences[0]
    assert change.relation.n_before == 400


def test_rows_that_both_have_do_not_hide_a_broken_relation(before: pd.DataFrame) -> None:
    after = before.copy()
    after["price"] = after["price"].sample(frac=1, random_state=0).to_numpy()
    found = rfod.diff(before.assign(id=range(800)), after.assign(id=range(800)), key="id", **FEW)
    assert found.n_matched == 800
    change = by_name(found)["price"]
    assert change.moved == ("relation",)
    assert change.relation is not None
    assert change.relation.n_after == 400  # those that the model was not fitted to
    assert change.n_changed == int((before["price"].to_numpy() != after["price"].to_numpy()).sum())


def test_a_shifted_column(before: pd.DataFrame) -> None:
    after = made(800, 2)
    after["size"] += 1
    change = by_name(rfod.diff(before, after, **FEW))["size"]
    assert change.distribution is not None
    assert change.distribution.moved
    at_most = [float((frame["size"] <= 2.0).mean()) for frame in (before, after)]
    assert change.distribution.effect >= at_most[0] - at_most[1]
    assert "the median is" in change.sentences[0]


def test_a_predictor_that_moved_is_named(before: pd.DataFrame) -> None:
    after = made(800, 2)
    after["weight"] += 200
    found = by_name(rfod.diff(before, after, **FEW))
    assert "distribution" in found["weight"].moved
    assert "weight" in found["price"].moved_predictors
    assert "relation" in found["price"].moved
    assert found["price"].sentences[-1].endswith("It may be because weight moved itself.")


def test_new_categories_are_named(before: pd.DataFrame) -> None:
    after = made(800, 2)
    after.loc[:79, "kind"] = "tube"
    change = by_name(rfod.diff(before, after, **FEW))["kind"]
    assert change.distribution is not None
    assert change.distribution.moved
    counts = [frame["kind"].value_counts(normalize=True) for frame in (before, after)]
    distance = float(counts[0].sub(counts[1], fill_value=0).abs().sum() / 2)
    assert change.distribution.effect == pytest.approx(distance)
    assert "new: tube (80)" in change.sentences[0]
    assert change.bars is not None
    assert "tube" in change.bars.labels
    assert sum(change.bars.before) == pytest.approx(1)


def test_gaps_also_of_columns_that_are_not_modelled(before: pd.DataFrame) -> None:
    after = made(800, 2)
    after.loc[:99, ["note", "price"]] = None
    found = by_name(rfod.diff(before, after, **FEW))
    for name in ("note", "price"):
        gaps = found[name].gaps
        assert gaps is not None
        assert gaps.moved
        assert gaps.effect == pytest.approx(100 / 800)
        assert "is missing in 12% of the rows, 0.0% before" in found[name].sentences[0]
    assert found["note"].distribution is None


def test_a_model_in_place_of_the_earlier_table(before: pd.DataFrame) -> None:
    model = rfod.RFOD(random_state=0, **FEW).fit(before)
    same = rfod.diff(model, made(800, 2))
    assert same.moved == []
    assert not same.compares_findings
    after = made(800, 2)
    after["price"] = after["price"].sample(frac=1, random_state=0).to_numpy()
    after["kind"] = after["kind"].replace("box", "crate")
    found = by_name(rfod.diff(model, after))
    assert found["price"].moved == ("relation",)
    assert "distribution" in found["kind"].moved


def test_a_trimmed_model_is_refused(before: pd.DataFrame) -> None:
    model = rfod.RFOD(random_state=0, trim=0.1, **FEW).fit(before)
    with pytest.raises(ParameterError, match="fit it with trim=0"):
        rfod.diff(model, before)


def test_columns_that_one_side_lacks(before: pd.DataFrame) -> None:
    found = rfod.diff(before, made(800, 2).drop(columns="size").assign(extra=1), **FEW)
    assert found.only_before == ("size",)
    assert found.only_after == ("extra",)
    assert "size" not in by_name(found)
    assert "1 column is in before only: 'size'." in str(found)
    with pytest.raises(SchemaError, match="1 columns in common"):
        rfod.diff(before, before[["size"]])


def test_the_same_bits_for_any_number_of_threads_and_library(before: pd.DataFrame) -> None:
    pl = pytest.importorskip("polars")
    after = made(800, 2)
    one = rfod.diff(before, after, **FEW)
    two = rfod.diff(pl.from_pandas(before), pl.from_pandas(after), **FEW | {"n_jobs": 2})
    assert one.to_json() == two.to_json()
    assert isinstance(two.column_frame(), pl.DataFrame)


def test_frames(before: pd.DataFrame) -> None:
    found = rfod.diff(before, made(800, 2).assign(size=7.0), **FEW)
    frame = found.column_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame)[:7] == ["column", "kind", "test", "moved", "effect", "p_value", "adjusted"]
    assert list(frame)[7:] == ["n_before", "n_after", "n_changed", "sentence"]
    moved = frame[frame["moved"]]
    assert "size" in set(moved["column"])
    assert moved["sentence"].notna().all()
    assert frame[~frame["moved"]]["sentence"].isna().all()
    assert (frame["adjusted"] >= frame["p_value"]).all()


@pytest.mark.parametrize("name", ["above", "level"])
def test_probabilities_are_checked(before: pd.DataFrame, name: str) -> None:
    with pytest.raises(ParameterError, match=f"{name} is 1.5"):
        rfod.diff(before, before, **{name: 1.5})


def test_one_detection_and_one_table_are_refused(before: pd.DataFrame) -> None:
    found = rfod.scan(before, **FEW)
    with pytest.raises(ParameterError, match="One side is a Detection"):
        rfod.diff(found, before)
    with pytest.raises(ParameterError, match="belong to the scans"):
        rfod.diff(found, found, key="kind")
