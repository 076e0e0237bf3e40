"""`--format`: text, JSON and Markdown say the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

from rfod._cli.markdown import escaped, table_markdown

FEW = ("--trees", "10", "--jobs", "1")


def test_text_of_a_table_is_no_markup() -> None:
    hostile = "a|b <img src=x onerror=alert(1)> [link](x) `code` **bold** &lt; \x1b[31m\nnext"
    text = escaped(hostile)
    assert text == (r"a\|b &lt;img src=x onerror=alert(1)&gt; \[link\](x) \`code\` \*\*bold\*\* &amp;lt; \[31m next")
    assert table_markdown(("a", "b"), [("x|y", "1\n2")]) == ["| a | b |", "|---|---|", r"| x\|y | 1 2 |"]


def test_scan(rfod: Any, dirty_csv: Path) -> None:
    ran = rfod("scan", dirty_csv, "--key", "order_id", "--format", "markdown", "--above", "0.5", "--show", "3", *FEW)
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "## Wrong cells of dirty.csv" or lines[0].startswith("## Wrong cells of ")
    assert "| where | column | observed | suggested | probability | why |" in lines
    assert sum(line.startswith("| order\\_id ") for line in lines) == 3
    assert "### Most unusual rows by score" in lines


def test_json_is_the_short_form(rfod: Any, dirty_csv: Path) -> None:
    short = json.loads(rfod("scan", dirty_csv, "--json", "-q", *FEW).out)
    long = json.loads(rfod("scan", dirty_csv, "--format", "json", "-q", *FEW).out)
    assert short["wrong_cells"] == long["wrong_cells"]


def test_score_and_explain(rfod: Any, model: Path, orders_csv: Path) -> None:
    scored = rfod("score", model, orders_csv, "--top", "2", "--format", "markdown")
    assert "2 rows are findings (the 2 highest scores)." in scored.out
    assert "1. **line 125**: price is " in scored.out
    explained = rfod("explain", model, orders_csv, "--line", "125", "--format", "markdown")
    lines = explained.out.splitlines()
    assert lines[0].startswith("## ")
    assert any(line.lstrip().startswith("- price is ") for line in lines)
    assert json.loads(rfod("explain", model, orders_csv, "--line", "125", "--format", "json").out)["rows"]


def test_diff(rfod: Any, dirty_csv: Path, tmp_path: Path) -> None:
    rows = pyarrow.csv.read_csv(dirty_csv)
    pyarrow.csv.write_csv(rows.slice(0, 300), tmp_path / "first.csv")
    for name in ("first", "all"):
        source = dirty_csv if name == "all" else tmp_path / "first.csv"
        rfod("scan", source, "--cells", "-o", tmp_path / f"{name}.parquet", "-q", *FEW)
    ran = rfod("diff", tmp_path / "first.parquet", tmp_path / "all.parquet", "--above", "0.5", "--format", "markdown")
    assert ran.out.startswith("## first.parquet and all.parquet compared\n")
    assert "### New findings" in ran.out


@pytest.mark.parametrize("arguments", [("--format", "xml"), ("--format", "markdown", "--json")])
def test_wrong_formats(rfod: Any, dirty_csv: Path, arguments: tuple[str, ...]) -> None:
    ran = rfod("scan", dirty_csv, *arguments)
    assert ran.code == 2
    assert "--format" in ran.err
