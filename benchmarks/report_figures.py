"""The two pictures of docs/report.md: the report on the shipments of the examples, and one of its rows opened.

    python -m benchmarks.report_figures

Needs playwright and a Chromium (RFOD_BROWSER, or on the PATH).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import rfod
from benchmarks.datasets import REPOSITORY
from benchmarks.report import browser_program

FIGURES = REPOSITORY / "docs" / "figures"


def main() -> None:
    sys.path.insert(0, str(REPOSITORY / "examples"))
    from playwright.sync_api import sync_playwright

    from make_shipments import make_shipments

    table, _ = make_shipments(n_clean=0, n_slips=3)
    found = rfod.scan(table, key="shipment_id")
    FIGURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        rfod.write_report(found, path, title="shipments.csv")
        browser = playwright.chromium.launch(executable_path=browser_program(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1180, "height": 1380}, color_scheme="light")
        page.goto(path.as_uri())
        page.screenshot(path=FIGURES / "report.png")
        page.set_viewport_size({"width": 1180, "height": 800})
        page.locator("#finding-table .open").first.click()
        page.locator("#detail figure svg").first.wait_for()
        page.wait_for_timeout(200)
        page.locator("#detail").screenshot(path=FIGURES / "report_row.png")
        browser.close()


if __name__ == "__main__":
    main()
