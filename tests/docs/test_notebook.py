"""The notebooks of the documentation run from start to end and show what is stored in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from notebooks import code_cells, read_notebook, run_notebook, texts
from programs import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run_and_show_what_is_stored(path: Path, tmp_path: Path) -> None:
    notebook = read_notebook(path)
    cells = code_cells(notebook)
    for cell, outputs in zip(cells, run_notebook(notebook, tmp_path), strict=True):
        hint = f"Hint: python tests/notebooks.py docs/notebooks/{path.name}"
        assert texts(outputs) == texts(cell["outputs"]), hint


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_format_is_that_of_notebooks(path: Path) -> None:
    notebook = read_notebook(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert {cell["cell_type"] for cell in notebook["cells"]} == {"code", "markdown"}
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert [cell["execution_count"] for cell in code_cells(notebook)] == [*range(1, len(code_cells(notebook)) + 1)]
