"""`rfod diff` and `--baseline`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from rfod import diff, load
from rfod.exceptions import ParameterError, SchemaError

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
FEW = ("--trees", "10", "--jobs", "1")
MISSPELT = {"A0150": "Marxeille", "A0090": "Hamburxg", "A0200": "Marseilxe"}


def table(n: int = 400, seed: int = 0, misspelt: dict[str, str] = MISSPELT) -> pa.Table:
    """Orders whose city decides the depot; some cities are misspelt."""
    rng = np.random.default_rng(seed)
    ids = [f"A{row:04d}" for row in range(n)]
    city = rng.choice(["Marseille", "Hamburg", "Rotterdam"], n)
    weight = rng.uniform(1, 30, n).round(1)
    shown = [misspelt.get(key, name) for key, name in zip(ids, city, strict=True)]
    depot = np.char.add("depot ", np.char.upper(city))
    columns = {"order_id": ids, "city": shown, "depot": depot, "weight": weight, "price": (weight * 4).round(2)}
    return pa.table(columns | {"note": [f"N{rng.integers(10**6)}" for _ in range(n)]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """may.csv, and june.csv: rows moved, one cell repaired, one misspelt anew, prices shuffled."""
    place = tmp_path_factory.mktemp("orders")
    pa.csv.write_csv(table(), place / "may.csv")
    june = table(misspelt={"A0090": "Hamburxg", "A0200": "Marseilxe", "A0300": "Rotterdan"})
    price = june["price"].take(np.random.default_rng(1).permutation(400))
    june = june.set_column(june.column_names.index("price"), "price", price)
    pa.csv.write_csv(june.take(np.random.default_rng(2).permutation(400)), place / "june.csv")
    return place


def check_schema(plain: Any, name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(plain)


def statuses(plain: dict[str, Any]) -> list[tuple[str, str | None, str]]:
    changes = plain["findings"]
    return sorted((change["status"], change["why"], change["key"]) for change in changes)


def test_two_tables(rfod: Any, folder: Path) -> None:
    ran = rfod("diff", folder / "may.csv", folder / "june.csv", "--key", "order_id", *FEW)
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "400 rows in may.csv, 400 in june.csv; 400 are in both (matched by order_id)."
    assert any(line.startswith("  price no longer goes with the other columns (mostly weight") for line in lines)
    assert "Findings (probability 0.9 and more): 1 new, 2 persisting, 1 resolved." in lines
    new = lines[lines.index("New:") + 1]
    assert new.startswith("  order_id A0300 (line ")
    assert "city 'Rotterdan' (suggested 'Rotterdam'); 'Marseille' before" in new
    assert any("city 'Marxeille'; now 'Marseille'" in line for line in lines)


def test_rows_are_found_by_their_content_too(rfod: Any, folder: Path) -> None:
    ran = rfod("diff", folder / "may.csv", folder / "june.csv", "--json", *FEW)
    plain = json.loads(ran.out)
    assert plain["key"] is None
    assert plain["n_matched"] >= 390
    assert (plain["n_new"], plain["n_persisting"], plain["n_resolved"]) == (1, 2, 1)


def test_json_follows_its_schema(rfod: Any, folder: Path, tmp_path: Path) -> None:
    ran = rfod("diff", folder / "may.csv", folder / "june.csv", "--key", "order_id", "--json", "-q", *FEW)
    plain = json.loads(ran.out)
    assert plain["before"] == {"name": "may.csv", "n_rows": 400}
    assert statuses(plain) == [
        ("new", "value", "A0300"),
        ("persisting", None, "A0090"),
        ("persisting", None, "A0200"),
        ("resolved", "value", "A0150"),
    ]
    check_schema(plain, "diff-1.json")
    for month in ("may", "june"):
        rfod("scan", folder / f"{month}.csv", "--cells", "-o", tmp_path / f"{month}.parquet", "-q", *FEW)
    files = json.loads(rfod("diff", tmp_path / "may.parquet", tmp_path / "june.parquet", "--json").out)
    check_schema(files, "diff-1.json")
    assert (files["n_new"], files["n_persisting"], files["n_resolved"]) == (1, 2, 1)
    assert not files["compares_columns"]


def test_a_model_and_a_table(rfod: Any, folder: Path, tmp_path: Path) -> None:
    rfod("fit", folder / "may.csv", "-o", tmp_path / "may.rfod", "--exclude", "order_id", "-q", *FEW)
    ran = rfod("diff", tmp_path / "may.rfod", folder / "june.csv", "--json")
    plain = json.loads(ran.out)
    check_schema(plain, "diff-1.json")
    assert not plain["compares_findings"]
    assert {column["column"]: column["moved"] for column in plain["columns"]}["price"] == ["relation"]


def test_a_model_takes_no_parameters_of_scans(rfod: Any, model: Path, folder: Path) -> None:
    for option, value in (("--key", "order_id"), ("--above", "0.5")):
        ran = rfod("diff", model, folder / "june.csv", option, value, width=500)
        assert (ran.code, ran.out) == (2, "")
        assert f"Invalid value for {option}: of a model and a table only columns are compared." in ran.err
    frame, fitted = table(), load(model)
    for given in ({"key": "order_id"}, {"above": 0.5}, {"n_estimators": 5}):
        with pytest.raises(ParameterError, match="belong to scans"):
            diff(fitted, frame, **given)
    with pytest.raises(SchemaError, match="is not a table"):
        diff(fitted, fitted)
    assert not diff(fitted, frame, level=0.01).compares_findings


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "json"])
def test_baseline_of_a_scan(rfod: Any, folder: Path, tmp_path: Path, ending: str) -> None:
    known = tmp_path / f"known.{ending}"
    if ending == "json":
        known.write_text(rfod("scan", folder / "may.csv", "--json", "-q", *FEW).out)
    else:
        rfod("scan", folder / "may.csv", "--cells", "-o", known, "-q", *FEW)
    same = rfod("scan", folder / "may.csv", "--baseline", known, "--top", "0", *FEW)
    assert same.code == 0, same.err
    assert f"No finding is new (3 are in {known})" in same.out
    later = rfod("scan", folder / "june.csv", "--baseline", known, "--top", "0", *FEW)
    assert later.code == 3
    assert f"1 finding is new (2 are in {known})" in later.out
    assert "city 'Rotterdan' (suggested 'Rotterdam')" in later.out.splitlines()[-1]
    plain = json.loads(rfod("scan", folder / "june.csv", "--baseline", known, "--json", "-q", *FEW).out)
    assert (plain["baseline"]["n_new"], plain["baseline"]["n_known"]) == (1, 2)


def test_baseline_of_rows(rfod: Any, folder: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.parquet"
    rfod("scan", folder / "may.csv", "-o", known, "--key", "order_id", "-q", *FEW)
    assert pq.read_schema(known).names[-1] == "fingerprint"
    ran = rfod("scan", folder / "june.csv", "--baseline", known, "--key", "order_id", "--top", "0", *FEW)
    assert ran.code == 3
    assert ran.out.splitlines()[-1].startswith("  order_id A0300 (line ")


def test_baseline_of_a_file_that_is_not_held_in_memory(rfod: Any, folder: Path, tmp_path: Path) -> None:
    known, part = tmp_path / "known.csv", ("--sample-rows", "250")
    rfod("scan", folder / "may.csv", "--cells", "-o", known, "-q", *part, *FEW)
    same = rfod("scan", folder / "may.csv", "--baseline", known, "--json", "-q", *part, *FEW)
    assert same.code == 0, same.err
    assert json.loads(same.out)["baseline"]["n_new"] == 0


@pytest.fixture(scope="module")
def model(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a table without misspelt cities."""
    import rfod

    path = tmp_path_factory.mktemp("model") / "clean.rfod"
    types = {"order_id": "identifier", "note": "text"}
    rfod.RFOD(n_estimators=10, random_state=0, n_jobs=1, column_types=types).fit(table(misspelt={})).save(path)
    return path


@pytest.mark.parametrize("rule", [(), ("--top", "6"), ("--contamination", "0.02")])
def test_baseline_of_score_with_rows(
    rfod: Any, folder: Path, tmp_path: Path, model: Path, rule: tuple[str, ...]
) -> None:
    known = tmp_path / "known.csv"
    rfod("score", model, folder / "june.csv", "-o", known, "-q", *rule)
    n_flagged = sum(line.split(",")[4] == "true" for line in known.read_text().splitlines()[1:])
    assert n_flagged
    same = rfod("score", model, folder / "june.csv", "--baseline", known, "--json", "-q", *rule)
    assert same.code == 0, same.err
    plain = json.loads(same.out)
    assert (plain["baseline"]["n_new"], plain["baseline"]["n_known"]) == (0, n_flagged)
    small = tmp_path / "small.csv"
    lines = known.read_text().splitlines(keepends=True)
    flagged = next(place for place, line in enumerate(lines) if ",true," in line)
    small.write_text("".join(lines[:flagged] + lines[flagged + 1 :]))
    less = rfod("score", model, folder / "june.csv", "--baseline", small, "--batch-rows", "100", *rule)
    assert less.code == 3
    assert f"1 finding is new ({n_flagged - 1:,} are in {small})" in less.out


def test_baseline_of_score_with_cells(rfod: Any, folder: Path, tmp_path: Path, model: Path) -> None:
    known = tmp_path / "known.parquet"
    rfod("scan", folder / "may.csv", "--cells", "-o", known, "-q", *FEW)
    ran = rfod("score", model, folder / "june.csv", "--baseline", known)
    assert ran.code == 3
    assert "city 'Rotterdan' (suggested 'Rotterdam')" in ran.out
    several = rfod("score", model, folder / "june.csv", folder / "may.csv", "--baseline", known)
    assert several.code == 2
    assert "one table is compared with it, but 2 came" in " ".join(several.err.split())


def test_mistakes_are_told(rfod: Any, folder: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.csv"
    rfod("scan", folder / "may.csv", "--cells", "-o", known, "-q", *FEW)
    assert rfod("diff", known, folder / "may.csv").code == 2
    assert rfod("diff", folder / "may.csv", "-").code == 2
    assert rfod("diff", folder / "may.csv", folder / "june.csv", "--level", "2").code == 2
    assert rfod("diff", folder / "may.csv", folder / "none.csv").code == 1
    missing = rfod("scan", folder / "may.csv", "--baseline", tmp_path / "none.csv")
    assert missing.code == 1
    assert "there is no such file of findings" in missing.err
    own = rfod("scan", folder / "may.csv", "--baseline", known, "-o", known)
    assert own.code == 1
    assert "input" in own.err
    assert issubclass(ParameterError, ValueError)


def test_keys_that_occur_twice_are_noted(rfod: Any, folder: Path, tmp_path: Path) -> None:
    text = (folder / "june.csv").read_text()
    twice = [line for line in text.splitlines(keepends=True) if '"A0007"' in line or '"A0008"' in line]
    (tmp_path / "june.csv").write_text(text + "".join(twice))
    ran = rfod("diff", folder / "may.csv", tmp_path / "june.csv", "--key", "order_id", *FEW, width=500)
    assert ran.code == 0, ran.err
    assert "note: june.csv: 2 values occur more than once in the key 'order_id', such as 'A000" in ran.err
    assert "' in 2 rows. Rows with one key are matched where all their cells agree" in ran.err
    assert "note: may.csv" not in ran.err


def test_the_page_is_written(rfod: Any, folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "diff.html"
    ran = rfod("diff", folder / "may.csv", folder / "june.csv", "--key", "order_id", "--report", page, *FEW)
    assert ran.code == 0, ran.err
    text = page.read_text(encoding="utf-8")
    assert "may.csv" in text
    assert "Rotterdan" in text
    assert "<script" not in text
