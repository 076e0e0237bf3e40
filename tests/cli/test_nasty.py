"""Every nasty file, scanned from the command line: findings, or a one-line error that says what to do."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

_SPEC = importlib.util.spec_from_file_location("nasty", Path(__file__).parents[1] / "io" / "nasty.py")
nasty = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(nasty)

UNUSABLE = {"empty.csv", "header-only.csv", "one-row.csv"}


@pytest.mark.parametrize("name", sorted(nasty.FILES))
def test_nasty_file(rfod: Any, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(nasty.FILES[name])
    ran = rfod("scan", path, "--trees", 5, "--json", "--jobs", 1)
    assert "Traceback" not in ran.err
    if name in UNUSABLE:
        assert ran.code == 1
        assert ran.err.count("\n") == 1
        assert name in ran.err
        assert "Hint:" in ran.err
    else:
        assert ran.code == 0
        assert json.loads(ran.out)["n_rows"] > 100
