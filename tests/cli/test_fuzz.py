"""Damaged files end in an answer or in one of the documented errors, whatever was done to them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("benchmarks.fuzz.run", reason="the benchmarks are not part of this copy")

from benchmarks.fuzz.run import fit_models, run_one, shipments

N_MUTATIONS, N_PARTS = 2000, 8  # about a minute on two cores; benchmarks/fuzz runs more, on more tables


@pytest.fixture
def keep_signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("keep_signals")
@pytest.mark.parametrize("part", range(N_PARTS))
def test_damaged_files(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RFOD_DEBUG", "1")
    tables = [shipments()]
    models = fit_models(tables, tmp_path)
    for seed in range(part, N_MUTATIONS, N_PARTS):
        result = run_one(seed, tables, tmp_path, models)
        assert result.code in (0, 1, 2), f"seed {seed}: {result.story}, {result.command}\n{result.trouble}"
