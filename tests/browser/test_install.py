"""`make browser` is bounded in time, and leaves no browser that does not start."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(HERE)
    return importlib.import_module("install")


def test_nothing_is_done_or_said_where_there_is_a_browser() -> None:
    command, environment = [sys.executable, HERE / "install.py"], os.environ | {"RFOD_BROWSER": sys.executable}
    assert subprocess.run(command, env=environment, check=True, capture_output=True).stdout == b""


def test_program_that_takes_too_long_is_stopped_with_what_it_started(install: Any, tmp_path: Path) -> None:
    started = time.monotonic()
    assert not install.succeeds(["sh", "-c", f"(sleep 2; touch {tmp_path}/late) & wait"], seconds=0.2)
    assert time.monotonic() - started < 2
    time.sleep(max(0, started + 2.5 - time.monotonic()))
    assert list(tmp_path.iterdir()) == []


def test_program_that_is_not_there(install: Any) -> None:
    assert not install.succeeds(["/no/such/program"], seconds=1)


@pytest.mark.parametrize("starts", [True, False])
def test_download_that_does_not_start_is_not_used(
    starts: bool, install: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "downloaded_program", lambda: "/cache/of a user/chrome")
    monkeypatch.setattr(install, "succeeds", lambda command, seconds: starts or "--version" not in command)
    assert install.from_playwright(tmp_path / "chromium") == starts
    assert (tmp_path / "chromium").exists() == starts
    if starts:
        assert "exec '/cache/of a user/chrome'" in (tmp_path / "chromium").read_text()
