"""An output that is one of the inputs is refused before anything is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rfod._io.interface import OutputError
from rfod._io.locations import check_not_input


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data" / "more").mkdir(parents=True)
    for name in ("orders.csv", "data/a.csv", "data/more/b.csv", "data/.hidden.csv"):
        (tmp_path / name).write_text("a,b\n1,2\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "orders.csv")
    (tmp_path / "linked").symlink_to(tmp_path / "data")
    os.link(tmp_path / "orders.csv", tmp_path / "hard.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("output", "inputs"),
    [
        ("orders.csv", ["orders.csv"]),
        ("./data/../orders.csv", ["-", "orders.csv"]),
        ("link.csv", ["orders.csv"]),
        ("orders.csv", ["link.csv"]),
        ("hard.csv", ["orders.csv"]),
        ("data/a.csv", ["data/*.csv"]),
        ("data/more/b.csv", ["data/**/*.csv"]),
        ("data/a.csv", ["data"]),
        ("data/more/b.csv", ["data/"]),
        ("linked/a.csv", ["data"]),
        ("data/a.csv", ["linked/a.csv"]),
    ],
)
def test_outputs_that_are_inputs(folder: Path, output: str, inputs: list[str]) -> None:
    for spelling in (output, str(folder / output)):
        with pytest.raises(OutputError, match=r"\.csv is also the input\. Hint: write to another file\."):
            check_not_input(spelling, inputs)
    with pytest.raises(OutputError, match="is also the input"):
        check_not_input(output, [place if place == "-" else str(folder / place) for place in inputs])


@pytest.mark.parametrize(
    ("output", "inputs"),
    [
        ("new.csv", ["orders.csv", "new*.csv", "none.csv"]),
        ("-", ["-", "orders.csv"]),
        ("orders.csv", ["data", "data/*.csv", "-"]),
        ("data/new.csv", ["data"]),
        ("data/.hidden.csv", ["data"]),
        ("data", ["data"]),
    ],
)
@pytest.mark.usefixtures("folder")
def test_outputs_that_are_not(output: str, inputs: list[str]) -> None:
    check_not_input(output, inputs)
