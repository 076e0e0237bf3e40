"""A real browser without a window. Where there is none, the tests that need it say so and are skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "msedge")
PLACES = (
    "/usr/lib/chromium/chromium",
    "/snap/bin/chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
)
NO_BROWSER = "no Chromium was found. Hint: `make browser` installs it on Debian, or RFOD_BROWSER names its program"


def browser_program() -> str | None:
    """Where a Chromium is on this machine."""
    if named := os.environ.get("RFOD_BROWSER"):
        return named
    found = (shutil.which(name) for name in NAMES)
    return next((path for path in found if path), None) or next((path for path in PLACES if Path(path).is_file()), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, started once."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = browser_program()
    if program is None:
        pytest.skip(NO_BROWSER)
    with sync_api.sync_playwright() as playwright:
        # the superuser, who runs the tests in containers, gets no sandbox from Chromium
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


class Opened:
    """A page with everything it did that nobody asked for."""

    def __init__(self, browser: Any, path: Path, **settings: Any) -> None:
        self.context = browser.new_context(**({"viewport": {"width": 1200, "height": 900}} | settings))
        self.page = self.context.new_page()
        self.address = path.as_uri()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._refuse)
        self.page.goto(self.address)

    def _refuse(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def check_quiet(self) -> None:
        """No request but for the page itself, and a clean console."""
        assert set(self.requests) <= {self.address, "data:,"}
        assert self.complaints == []


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    """Open reports; whatever is open at the end must have been quiet."""
    pages: list[Opened] = []

    def open_report(path: Path, **settings: Any) -> Opened:
        pages.append(Opened(browser, path, **settings))
        return pages[-1]

    yield open_report
    for page in pages:
        page.context.close()
