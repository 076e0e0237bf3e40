"""New rows get a probability from their row and the model alone, and models keep what that needs."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import rfod
from rfod._cli.app import app
from rfod._cli.inputs import as_model_reads
from rfod._evidence import bounds, collect
from rfod._evidence.bounds import bounded, fair_limit
from rfod._evidence.form import MARKS, fit_form, form_inputs
from rfod._evidence.profile import Profile
from rfod._evidence.texts import KeyCounts, TextColumn
from rfod._io.interface import ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import read_all
from tables import small

KEY = {"order": "identifier"}
CITIES = {"10115": "Berlin", "20095": "Hamburg", "50667": "Cologne", "80331": "Munich", "60311": "Frankfurt"}


def orders(n_rows: int = 300, seed: int = 0) -> pd.DataFrame:
    """Orders whose columns hang together: postcode and city, net and tax and total, start and end, a key, a remark."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(list(CITIES), n_rows)
    net, tax = rng.integers(100, 9_000, n_rows), rng.integers(5, 900, n_rows)
    start = rng.integers(0, 500, n_rows)
    remarks = np.array(["call before delivery", "leave at the door", "ring twice please"])
    return pd.DataFrame(
        {
            "order": [f"A-{seed}{number:05d}" for number in range(n_rows)],
            "postcode": codes,
            "city": [CITIES[code] for code in codes],
            "net": net,
            "tax": tax,
            "total": net + tax,
            "start": start,
            "end": start + rng.integers(0, 40, n_rows),
            "remark": rng.choice(remarks, n_rows),
        }
    )


def wrong_orders() -> pd.DataFrame:
    """New orders, the first of them wrong in one cell each."""
    table = orders(60, seed=1).astype(object)
    table.loc[0, "city"] = "Hamburgg"
    table.loc[1, "city"] = "Munich" if table.loc[1, "city"] != "Munich" else "Berlin"
    table.loc[2, "total"] = table.loc[2, "total"] * 10
    table.loc[3, "end"] = -900
    table.loc[4, "postcode"] = "1o115"
    table.loc[5, "order"] = "A-000000"  # the key of a training row is A-000000 too
    table.loc[6, "remark"] = "call befroe delivery"
    table.loc[7, "city"] = None
    table.loc[8, "postcode"] = " 10115 "
    return table


@pytest.fixture(scope="module")
def detector():
    return small(n_estimators=20, column_types=KEY).fit(orders())


@pytest.fixture(scope="module")
def new_rows():
    return pa.Table.from_pandas(
        wrong_orders().astype(dict.fromkeys(("net", "tax", "total", "start", "end"), "int64")),
        preserve_index=False,
    )


@pytest.fixture(scope="module")
def whole(detector, new_rows):
    return detector.detect(new_rows).cell_probability


def test_columns_without_a_forest_are_judged_too(detector, new_rows, whole):
    found = detector.detect(new_rows)
    assert found.judged_columns == tuple(orders().columns)
    assert "order" not in found.columns
    assert whole.shape == (60, 9)
    assert ((whole >= 0) & (whole <= 1)).all()


def test_planted_errors_are_more_probable_than_the_rest(whole, new_rows):
    names = new_rows.column_names
    planted = [(0, "city"), (2, "total"), (4, "postcode"), (6, "remark")]
    for row, name in planted:
        c = names.index(name)
        assert whole[row, c] > np.quantile(whole[9:, c], 0.95)


@pytest.mark.parametrize("size", [1, 7, 59])
def test_any_batch_size_gives_the_same_bits(detector, new_rows, whole, size):
    parts = [new_rows.slice(start, size) for start in range(0, 60, size)]
    found = np.vstack([batch.cell_probability for batch in detector.detect_batches(parts)])
    np.testing.assert_array_equal(found, whole, strict=True)


@settings(max_examples=25, deadline=None)
@given(rows=st.lists(st.integers(0, 59), min_size=1, max_size=30))
def test_any_rows_in_any_order_give_the_same_bits(detector, new_rows, whole, rows):
    found = detector.detect(new_rows.take(rows))
    np.testing.assert_array_equal(found.cell_probability, whole[rows], strict=True)
    once = detector.detect(new_rows)
    for cell in found.suspects(0.3):
        other = once.probabilities.describe([(rows[cell.row], found.judged_columns.index(cell.column))])[0]
        assert (cell.suggested, cell.reason, cell.kind) == (other.suggested, other.reason, other.kind)


def test_a_frame_with_gaps_reads_whole_numbers_alike(detector, new_rows, whole):
    """pandas makes floats of whole numbers as soon as one of them is missing."""
    frame = new_rows.to_pandas()
    frame.loc[20, "net"] = None
    assert frame["net"].dtype == "float64"
    found = detector.detect(frame).cell_probability
    rows = np.arange(60) != 20
    np.testing.assert_array_equal(found[rows], whole[rows])


def test_a_table_that_lacks_columns_without_a_forest(detector, new_rows):
    found = detector.detect(new_rows.drop_columns(["order"]))
    assert found.judged_columns == tuple(name for name in orders().columns if name != "order")
    assert found.cell_probability.shape == (60, 8)


def test_fit_and_fit_detect_keep_the_same(tmp_path):
    for name, fit in {"one": "fit", "other": "fit_detect"}.items():
        detector = small(column_types=KEY)
        getattr(detector, fit)(orders())
        detector.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_the_file_keeps_every_number(detector, new_rows, whole, tmp_path):
    detector.save(tmp_path / "m.rfod")
    loaded = rfod.load(tmp_path / "m.rfod")
    np.testing.assert_array_equal(loaded.detect(new_rows).cell_probability, whole, strict=True)
    assert_equal(loaded.model_.profile, detector.model_.profile)


def assert_equal(one, other):
    """Two values of which dataclasses and tuples are compared field by field."""
    assert type(one) is type(other)
    if hasattr(one, "__dataclass_fields__"):
        for field in fields(one):
            assert_equal(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for parts in zip(one, other, strict=True):
            assert_equal(*parts)
    else:
        np.testing.assert_array_equal(one, other)


def test_a_model_without_evidence(new_rows, tmp_path):
    detector = small(keep_evidence=False, column_types=KEY).fit(orders())
    detector.save(tmp_path / "m.rfod")
    loaded = rfod.load(tmp_path / "m.rfod")
    assert loaded.model_.profile is None
    found = loaded.detect(new_rows)
    np.testing.assert_array_equal(found.row_scores, small(column_types=KEY).fit(orders()).detect(new_rows).row_scores)
    for wanted in (lambda: found.cell_probability, found.wrong_cells):
        with pytest.raises(rfod.ParameterError, match=r"(?s)no evidence.*fit it again with keep_evidence=True"):
            wanted()
    assert not found.has_probabilities
    assert small(keep_evidence=False, column_types=KEY).fit_detect(orders()).cell_probability.shape == (300, 9)


def test_excluded_columns_are_not_kept():
    model = small(exclude=["remark"], column_types=KEY).fit(orders()).model_
    assert "remark" not in model.profile.names


def test_a_new_form_stands_out_where_training_has_only_one():
    """A column that is all alike has no rare marks to break from; a new text makes the break itself."""
    column = TextColumn("code", ("11", "22", "33"), np.repeat(np.arange(3, dtype=np.int32), 40), np.zeros(120, bool))
    profile = fit_form(column)
    new = TextColumn("code", ("11", "1x"), np.array([0, 1], dtype=np.int32), np.zeros(2, bool))
    shape = MARKS.index("shape")
    assert profile.breaks[shape] == 1
    np.testing.assert_allclose(form_inputs(profile, new, is_own=False)[:, shape], [0, np.log(120)])
    assert (form_inputs(profile, column, is_own=True) == 0).all()


# ----------------------------------------------------------------------------------------------------------- how much


@pytest.mark.parametrize(
    ("lengths", "most", "limit"), [([5, 5], 10, 10), ([1, 9, 9], 11, 5), ([100], 7, 7), ([], 3, 3), ([4, 4, 4], 2, 0)]
)
def test_fair_limit(lengths, most, limit):
    assert fair_limit(lengths, most) == limit
    assert sum(min(length, limit) for length in lengths) <= most


def test_a_kept_profile_is_bounded(detector, new_rows, monkeypatch):
    for name, most in {"MOST_KEYS": 400, "MOST_TEXTS": 30, "MOST_GROUPS": 20, "MOST_PAIRS": 10}.items():
        monkeypatch.setattr(bounds, name, most)
    monkeypatch.setattr(bounds, "LONGEST_TEXT", 17)
    profile = bounded(detector.model_.profile)
    counts = [counts for column in profile.columns for counts in column.form.counts]
    votes = [vote for own in profile.determinants for vote in own]
    assert sum(len(own.keys) for own in counts) <= 400
    assert sum(len(column.frequent) for column in profile.columns) <= 30
    assert sum(len(vote.groups) for vote in votes) <= 20 + len(votes)
    assert sum(len(vote.pairs.keys) for vote in votes) <= 10
    assert max(len(text) for column in profile.columns for text in column.frequent) <= 17
    found = rfod.RFOD.from_model(replace(detector.model_, profile=profile)).detect(new_rows).cell_probability
    assert ((found >= 0) & (found <= 1)).all()


def test_keys_that_are_not_kept_do_not_look_rare(detector, monkeypatch):
    """A key that was left out has at most as many rows as the most frequent one of those."""
    monkeypatch.setattr(bounds, "MOST_KEYS", 0)
    form = bounded(detector.model_.profile).columns[1].form
    whole = detector.model_.profile.columns[1].form
    assert [len(counts.keys) for counts in form.counts] == [0] * len(form.counts)
    assert form.floors.tolist() == [counts.counts.max(initial=0) for counts in whole.counts]


def test_pairs_hold_no_first_and_second_values(detector):
    for votes in detector.model_.profile.determinants:
        for vote in votes:
            assert isinstance(vote.pairs, KeyCounts)
            assert (vote.first_rows >= vote.second_rows).all()


def test_large_tables_are_profiled_by_some_of_their_rows(monkeypatch):
    monkeypatch.setattr(collect, "MOST_DISTINCT", 100)
    monkeypatch.setattr(collect, "LEAST_ROWS", 50)
    detector = small(column_types=KEY)
    detector.fit_detect(orders())
    profile = detector.model_.profile
    assert isinstance(profile, Profile)
    assert {column.n_rows for column in profile.columns} == {50}
    assert_equal(small(column_types=KEY).fit(orders()).model_.profile, profile)


# --------------------------------------------------------------------------------------------------------- in commands


@pytest.fixture(scope="module")
def files(tmp_path_factory, new_rows):
    folder = tmp_path_factory.mktemp("orders")
    pyarrow.csv.write_csv(pa.Table.from_pandas(orders(), preserve_index=False), folder / "train.csv")
    pyarrow.csv.write_csv(new_rows, folder / "new.csv")
    run("fit", folder / "train.csv", "-o", folder / "m.rfod", "--trees", 20)
    return folder


def run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return f"{done.output}{done.exception or ''}"


def test_score_writes_the_probability_of_each_cell(files):
    run("score", files / "m.rfod", files / "new.csv", "--top", 60, "--cells", "-o", files / "cells.parquet")
    cells = pd.read_parquet(files / "cells.parquet")
    assert list(cells.columns[-3:]) == ["probability", "suggested", "fingerprint"]
    assert cells["probability"].between(0, 1).all()
    is_sure = cells["probability"] >= 0.5
    assert cells.loc[~is_sure, "suggested"].isna().all()
    for size in (1, 13):
        other = files / f"{size}.parquet"
        run("score", files / "m.rfod", files / "new.csv", "--top", 60, "--cells", "-o", other, "--batch-rows", size)
        assert other.read_bytes() == (files / "cells.parquet").read_bytes() or pd.read_parquet(other).equals(cells)


def test_score_agrees_with_detect(files):
    """A file is counted as written by fit and read alike by score."""
    found = rfod.load(files / "m.rfod").detect(pd.read_csv(files / "new.csv", dtype={"postcode": str}))
    run("score", files / "m.rfod", files / "new.csv", "--top", 60, "--cells", "-o", files / "all.parquet")
    cells = pd.read_parquet(files / "all.parquet").query("column == 'city'").set_index("row")["probability"]
    chance = found.cell_probability[:, found.judged_columns.index("city")]
    np.testing.assert_array_equal(cells.to_numpy(), chance[cells.index])


def test_fit_without_evidence(files):
    model = files / "without.rfod"
    run("fit", files / "train.csv", "-o", model, "--trees", 3, "--no-evidence")
    run("score", model, files / "new.csv", "--top", 5, "--cells", "-o", files / "plain.parquet")
    assert "probability" not in pd.read_parquet(files / "plain.parquet").columns
    assert "evidence    none" in run("inspect", model)
    output = run("score", model, files / "new.csv", "--fail-above-cells", 0, code=1)
    assert "--no-evidence" in output


def test_inspect_shows_what_is_kept(files):
    text = run("inspect", files / "m.rfod")
    assert "evidence    counts of 9 columns over 300 rows" in text
    assert "total = net + tax in 300 of 300 rows" in text
    evidence = json.loads(run("inspect", files / "m.rfod", "--json"))["evidence"]
    assert evidence["n_texts"]["city"] == 5
    assert evidence["n_texts"]["order"] == 0
    assert evidence["determined_by"]["city"] == ["postcode"]
    assert "order is different in 300 of 300 rows" in evidence["regularities"]


@pytest.mark.parametrize("words", [("true", "false"), ("TRUE", "FALSE"), ("1", "0")])
def test_truth_values_of_a_frame_are_those_of_a_file(words, tmp_path):
    """A frame has no words for true and false: those of the training table count."""
    rng = np.random.default_rng(0)
    gift = rng.random(300) < 0.4
    table = pd.DataFrame({"gift": gift, "price": np.where(gift, 20.0, 5.0) + rng.normal(size=300).round(2)})
    written = table.assign(gift=np.where(gift, *words)).astype({"gift": str})
    model = small().fit(written)
    texts, truths = model.detect(written).cell_probability, model.detect(table).cell_probability
    np.testing.assert_array_equal(texts, truths)
    assert texts[:, 0].max() < 0.5


@pytest.mark.parametrize("words", [("true", "false"), ("TRUE", "FALSE"), ("yes", "no"), ("1", "0")])
def test_truth_values_of_a_file_are_those_of_a_frame(words, tmp_path):
    """A model of a frame has no words for true and false: those of any file are fine, but no others."""
    rng = np.random.default_rng(0)
    gift = rng.random(300) < 0.4
    table = pd.DataFrame({"gift": gift, "price": np.where(gift, 20.0, 5.0) + rng.normal(size=300).round(2)})
    small().fit(table).save(tmp_path / "model.rfod")
    model = rfod.load(tmp_path / "model.rfod")
    expected = model.detect(table).cell_probability
    written = np.where(gift, *words).astype(object)

    def judged(texts):
        table.assign(gift=texts).to_csv(tmp_path / "new.csv", index=False)
        source = open_source(str(tmp_path / "new.csv"), as_model_reads(model.model_, ReadOptions()))
        return model.detect(read_all(source).table).cell_probability

    np.testing.assert_array_equal(judged(written), expected)
    assert expected[:, 0].max() < 0.01
    numbers = table.assign(gift=gift.astype(int))
    np.testing.assert_array_equal(model.detect(numbers).cell_probability, expected)
    written[7] = "treu"
    found = judged(written)[:, 0]
    assert found.argmax() == 7
    assert found[7] > 0.5


def test_truth_values_of_a_file_keep_their_words():
    """One cell is written otherwise than in the file that was learned from."""
    rng = np.random.default_rng(0)
    gift = rng.random(300) < 0.4
    table = pd.DataFrame({"gift": gift, "price": np.where(gift, 20.0, 5.0) + rng.normal(size=300).round(2)})
    written = table.assign(gift=np.where(gift, "true", "false"))
    model = small().fit(written)
    plain = model.detect(written).cell_probability[:, 0]
    numbers = model.detect(table.assign(gift=gift.astype(float))).cell_probability[:, 0]
    np.testing.assert_array_equal(numbers, plain)  # which have no words
    written.loc[7, "gift"] = written.loc[7, "gift"].upper()
    found = model.detect(written).cell_probability[:, 0]
    assert found[7] > 0.1 > plain.max()
