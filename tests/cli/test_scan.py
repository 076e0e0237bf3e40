"""`rfod scan`: wrong cells, what is worth a check, and a ranking of rows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from rfod import Detection
from rfod._io.interface import ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import read_all
from rfod.params import SCAN_SEED, SCAN_TRIM, Params
from rfod.pipeline import scan_table

CELLS = [
    "column",
    "observed",
    "suggested",
    "probability",
    "repair_probability",
    "kind",
    "evidence",
    "reason",
    "version",
]
MISSPELT, NO_NUMBERS = {7, 90, 200, 300}, {15, 33, 61, 140, 222, 301, 333, 350}
FEW = ("--trees", "10", "--jobs", "1")


@pytest.fixture(scope="module")
def found(dirty_csv: Path) -> Detection:
    """What the library says of the file."""
    batch = read_all(open_source(str(dirty_csv), ReadOptions()))
    params = Params(n_estimators=10, n_jobs=1, trim=SCAN_TRIM, random_state=SCAN_SEED)
    return scan_table(batch.table, params, key="order_id", lines=batch.lines)[1]


def counts(found: Detection) -> tuple[int, int]:
    wrong = int((found.cell_probability >= 0.9).sum())
    return wrong, int((found.cell_probability >= 0.5).sum()) - wrong


def test_lists_wrong_cells_by_pattern(rfod: Any, dirty_csv: Path, found: Detection) -> None:
    ran = rfod("scan", dirty_csv, "--key", "order_id", "--above", "0.5", *FEW)
    assert ran.code == 0, ran.err
    n_wrong, n_check = counts(found)
    lines = ran.out.splitlines()
    assert lines[0] == f"{n_wrong + n_check} cells are wrong or worth a check (probability 0.5 and more)"
    start = next(place for place, line in enumerate(lines) if "cells: city is one letter from a frequent value" in line)
    assert re.match(r"\d+\. 4 cells: ", lines[start])
    assert re.match(
        r"   +order_id A00\d+ \(line \d+\): (Wiex → Wien|Haxburg → Hamburg) \(wrong 0\.\d\d, (sure )?suggestion",
        lines[start + 1],
    )
    assert re.match(r"     +it is one letter from '(Wien|Hamburg)' \(\d+ rows\)", lines[start + 2])
    assert lines[start + 7].strip() == "... and 1 more"
    assert f"400 rows, 6 columns judged; wrong cells: {n_wrong}, worth a check: {n_check}." in ran.err
    assert "\x1b" not in ran.out + ran.err


def test_says_what_is_worth_a_check_and_ranks_rows(rfod: Any, dirty_csv: Path, found: Detection) -> None:
    ran = rfod("scan", dirty_csv, *FEW)
    n_wrong, n_check = counts(found)
    assert re.match(r"(No cell is|\d+ cells? (is|are)) wrong \(probability 0\.9 and more\)\n", ran.out)
    if n_check > 1:
        more = "more " if n_wrong else ""
        assert f"{n_check} {more}cells are worth a check (probability 0.5 to 0.9): --above 0.5 lists them" in ran.out
    title = "The 10 most unusual rows by score (a ranking; unusual is not wrong)"
    ranking = ran.out.splitlines()[ran.out.splitlines().index(title) + 1 :]
    assert [line.partition(": ")[0] for line in ranking] == [
        f"{place + 1}. line {row + 2}" for place, row in enumerate(np.argsort(-found.row_scores, kind="stable")[:10])
    ]
    assert "billion" not in ran.out
    assert "million" not in ran.out


def test_few_entries(rfod: Any, dirty_csv: Path) -> None:
    lines = rfod("scan", dirty_csv, "--above", "0.2", "--show", "1", "--top", "0", *FEW).out.splitlines()
    assert lines[1].startswith("1. ")
    assert not any(line.startswith("2. ") for line in lines)
    assert re.match(r"\.\.\. and \d+ more cells?; --cells -o FILE writes all, --show N shows more", lines[-1])
    lines = rfod("scan", dirty_csv, "--show", "0", "--top", "2", *FEW).out.splitlines()
    assert re.match(r"\d+ cells are wrong", lines[0])
    assert "worth a check" in lines[2]
    assert [line[:3] for line in lines[4:]] == ["The", "1. ", "2. "]
    assert rfod("scan", dirty_csv, "--show", "0", "-q", *FEW).out == ""


def test_cells_need_a_file(rfod: Any, dirty_csv: Path, tmp_path: Path) -> None:
    for command in ("scan", dirty_csv), ("score", tmp_path / "m.rfod", dirty_csv):
        ran = rfod(*command, "--cells")
        assert (ran.code, "it says what -o writes. Hint: add -o" in ran.err) == (2, True)


def test_no_cell_is_passed_over_in_silence(rfod: Any, dirty_csv: Path, found: Detection) -> None:
    """Cells that are not listed are counted, from 0.5 up to where the list begins."""
    chance = found.cell_probability
    for above in (0.7, 0.9, 0.995):
        n_listed, n_below = int((chance >= above).sum()), int(((chance >= 0.5) & (chance < above)).sum())
        assert n_below
        out = rfod("scan", dirty_csv, "--above", above, "--top", "0", *FEW).out
        assert out.startswith(f"{n_listed:,} " if n_listed else "No cell is ")
        said = re.search(
            r"\n(\d+) (more )?cells? (?:is|are) (wrong or )?worth a check \(probability 0.5 to ([\d.]+)\)", out
        )
        assert said
        assert (int(said[1]), bool(said[2]), bool(said[3])) == (n_below, n_listed > 0, above > 0.9)
        assert float(said[4]) == above
        assert "--cells -o FILE writes them" not in out.splitlines()[-1]


def test_cells_are_those_of_the_library(rfod: Any, dirty_csv: Path, found: Detection, tmp_path: Path) -> None:
    for above in (None, 0.2):
        options = () if above is None else ("--above", above)
        rfod("scan", dirty_csv, "--key", "order_id", "--cells", "-o", tmp_path / "cells.parquet", *options, *FEW)
        written = pq.read_table(tmp_path / "cells.parquet")
        assert written.column_names == ["row", "line", "key", *CELLS, "fingerprint"]
        library = found.wrong_cells() if above is None else found.wrong_cells(above=above)
        assert library.column_names == ["row", "line", "order_id", *CELLS]
        prints = written.column("fingerprint").to_pylist()
        assert all(len(text) == 40 for text in prints)
        written = written.drop_columns("fingerprint")
        assert written.to_pydict() == library.rename_columns(written.column_names).to_pydict()
    typos = {line["row"] for line in written.to_pylist() if line["column"] == "city"}
    assert typos >= MISSPELT
    assert NO_NUMBERS & {line["row"] for line in written.to_pylist() if line["column"] == "weight"}


def test_gaps_are_written(rfod: Any, dirty_csv: Path, tmp_path: Path) -> None:
    text = dirty_csv.read_text().replace(",Wiex", ",").replace(",Haxburg", ",").replace(',"Wiex"', ",")
    (tmp_path / "t.csv").write_text(text.replace(',"Haxburg"', ","))
    rfod("scan", tmp_path / "t.csv", "--cells", "-o", tmp_path / "c.csv", "--above", "0.0001", "-q", *FEW)
    cells = pyarrow.csv.read_csv(tmp_path / "c.csv").to_pylist()
    gaps = [cell for cell in cells if cell["row"] in MISSPELT and cell["column"] == "city"]
    assert len(gaps) == 4
    assert all(not cell["observed"] and cell["reason"].startswith("city is missing") for cell in gaps)


def test_rows_are_those_of_the_library(rfod: Any, dirty_csv: Path, found: Detection, tmp_path: Path) -> None:
    rfod("scan", dirty_csv, "-o", tmp_path / "rows.parquet", *FEW)
    written = pq.read_table(tmp_path / "rows.parquet")
    assert written.column_names == ["row", "line", "score", "probability", "flagged", "cells", "fingerprint"]
    assert np.array_equal(written.column("score").to_numpy(), found.row_scores)
    assert np.array_equal(written.column("probability").to_numpy(), found.cell_probability.max(axis=1))
    assert np.array_equal(written.column("flagged").to_numpy(), found.flag())
    assert np.array_equal(written.column("cells").is_valid().to_numpy(), found.flag())


def test_json(rfod: Any, dirty_csv: Path, found: Detection) -> None:
    summary = json.loads(rfod("scan", dirty_csv, "--key", "order_id", "--top", "2", "--json", *FEW).out)
    assert (summary["n_wrong"], summary["n_worth_a_check"]) == counts(found)
    assert summary["n_rows"] == 400
    cells = found.suspects()
    assert [(cell["row"], cell["column"]) for cell in summary["wrong_cells"]] == [(c.row, c.column) for c in cells]
    assert summary["wrong_cells"][0]["key"] == f"A{cells[0].row:05d}"
    assert summary["wrong_cells"][0]["line"] == cells[0].row + 2
    assert summary["version"] == found.probabilities.decision.version
    assert sum(pattern["n_cells"] for pattern in summary["patterns"]) == summary["n_wrong"]
    assert [row["row"] for row in summary["unusual_rows"]] == np.argsort(-found.row_scores, kind="stable")[:2].tolist()
    assert [rule["sentence"] for rule in summary["regularities"]] == [rule.sentence for rule in found.regularities()]
    assert set(summary["seconds"]) == {"reading", "forests", "findings"}


def test_fail_above_cells(rfod: Any, dirty_csv: Path, found: Detection) -> None:
    n_wrong, _ = counts(found)
    assert n_wrong > 0
    assert rfod("scan", dirty_csv, "--fail-above-cells", n_wrong, "-q", *FEW).code == 0
    assert rfod("scan", dirty_csv, "--fail-above-cells", n_wrong - 1, "-q", *FEW).code == 3


def test_rules_that_few_rows_break_are_named(rfod: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    net, tax = rng.integers(1_000, 9_000, 400), rng.integers(100, 900, 400)
    total = net + tax
    total[17] += 1_000
    table = pyarrow.table(
        {"order": [f"A{row:04d}" for row in range(400)], "net": net / 100, "tax": tax / 100, "total": total / 100}
    )
    path = tmp_path / "orders.csv"
    pyarrow.csv.write_csv(table, path)
    out = rfod("scan", path, "--key", "order", *FEW).out
    rules = out[out.index("Rules that nearly all rows follow") :].splitlines()
    assert rules[1] == "- total = net + tax in 399 of 400 rows; not in order A0017 (line 19)"
    assert "Rules that" not in rfod("scan", path, "--show", "0", *FEW).out
