"""The file: whole, closed to the outside, and its data untouched by what it holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import rfod
from report_tables import SCRIPT, found_in_hostile, found_in_mixed
from rfod._views import page as html
from rfod._views.page import embedded, write_page
from rfod._views.summary import summarise

_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    rfod.write_report(found_in_hostile(), path, top=30, title=SCRIPT)
    return path.read_text(encoding="utf-8")


def test_data_arrives_as_it_was(page: str) -> None:
    told = summarise(found_in_hostile(), top=30, title=SCRIPT)
    arrived = json.loads(_DATA.findall(page)[0])
    assert arrived.keys() == told.keys()
    assert {**arrived, "method": 0} == {**told, "method": 0}


def test_nothing_of_the_table_is_markup(page: str) -> None:
    assert SCRIPT not in page
    assert page.count("<script") == 2
    data = _DATA.findall(page)[0]
    assert not set("<>&\u2028\u2029") & set(data)


def test_embedded_is_json_without_signs_of_html() -> None:
    told = {"a": "<&>\u2028\u2029\"'\\ </script>"}
    assert json.loads(embedded(told)) == told
    assert not set("<>&\u2028\u2029") & set(embedded(told))


def test_no_address_outside(page: str) -> None:
    assert "default-src 'none'" in page
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", _DATA.sub("", page)))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # the name of SVG, which nobody visits
    assert not re.search(r'(src|href)="(?!#|data:)', page)


def test_file_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(Path, "write_bytes", lambda self, data: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        rfod.write_report(found_in_mixed(), path)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "old"


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(rfod.RFODError, match="there is no folder"):
        rfod.write_report(found_in_mixed(), tmp_path / "nowhere" / "report.html")


def test_page_that_would_be_too_large_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    found = found_in_mixed()
    empty = len(html.render(summarise(found, top=1)))
    monkeypatch.setattr(html, "MOST_BYTES", empty + 4_000)
    write_page(found, path, rule={"top": 200})
    told = json.loads(_DATA.findall(path.read_text(encoding="utf-8"))[0])
    assert path.stat().st_size <= empty + 4_000
    assert told["n_findings"] == 200
    assert len(told["findings"]["row"]) < 200
    assert any(cut.endswith("of 200 are in this file.") for cut in told["cut"])
