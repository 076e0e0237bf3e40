"""Figures as files: by ending, whole or not at all, with a way out where the exporter is missing."""

from __future__ import annotations

import sys

import plotly.graph_objects as go
import pytest

from rfod import RFODError, figures


@pytest.fixture
def figure():
    return go.Figure(data=[{"type": "bar", "x": [1, 2], "y": [3, 4]}], layout={"width": 300, "height": 200})


def test_a_page_needs_no_network(figure, tmp_path):
    figures.save(figure, tmp_path / "bars.html")
    page = (tmp_path / "bars.html").read_text(encoding="utf-8")
    assert "<script src=" not in page
    assert 'src="http' not in page
    assert [path.name for path in tmp_path.iterdir()] == ["bars.html"]


def test_a_picture(figure, tmp_path, monkeypatch):
    monkeypatch.setattr(go.Figure, "to_image", lambda self, format, scale: f"{format} {scale}".encode())
    monkeypatch.setitem(sys.modules, "kaleido", object())
    figures.save(figure, str(tmp_path / "bars.PNG"), scale=3)
    assert (tmp_path / "bars.PNG").read_bytes() == b"png 3"


def test_without_the_exporter(figure, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "kaleido", None)
    with pytest.raises(RFODError, match=r"bars\.svg: pictures need the package kaleido.*Hint: save it as \.html"):
        figures.save(figure, tmp_path / "bars.svg")
    assert list(tmp_path.iterdir()) == []


def test_without_a_browser(figure, tmp_path, monkeypatch):
    def fail(self, format, scale):
        raise RuntimeError("\n\nno browser to be found.\nmore lines")

    monkeypatch.setattr(go.Figure, "to_image", fail)
    monkeypatch.setitem(sys.modules, "kaleido", object())
    (tmp_path / "bars.png").write_text("old")
    with pytest.raises(RFODError, match=r"could not be made \(no browser to be found\).*Chromium"):
        figures.save(figure, tmp_path / "bars.png")
    assert (tmp_path / "bars.png").read_text() == "old"


def test_unknown_ending_and_missing_folder(figure, tmp_path):
    with pytest.raises(RFODError, match=r"no kind of figure has the ending '.txt'"):
        figures.save(figure, tmp_path / "bars.txt")
    with pytest.raises(RFODError, match="there is no folder"):
        figures.save(figure, tmp_path / "nowhere" / "bars.html")
