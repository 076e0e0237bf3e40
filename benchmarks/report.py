"""The report on 10,000 findings over 300 columns: size of the file, time to write it, time until a browser shows it.

    python -m benchmarks.report

Needs playwright and a Chromium (RFOD_BROWSER, or on the PATH).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import rfod
from benchmarks.record import RESULTS, commit, machine, write_json

N_TRAIN, N_COLUMNS = 2_000, 300
WORDS = ("northern line", "southern line", "eastern line", "western line", "ring", "harbour", "airport", "depot")

# From the start of navigation until the first lines of the table have been painted.
SHOWN = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
    done([performance.now(), document.querySelectorAll('#finding-table tbody tr').length]))))"""
SEARCH = """(query) => new Promise((done) => {
    const field = document.getElementById('search'), start = performance.now();
    const count = document.getElementById('count');
    new MutationObserver(() => done(performance.now() - start - 120)).observe(count, { childList: true });
    field.value = query;
    field.dispatchEvent(new Event('input'));
})"""


def make_table(n_rows: int, seed: int) -> pa.Table:
    """Numbers and categories that hang together through a few hidden ones, with a wrong cell here and there."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n_rows, 8))
    columns: dict[str, Any] = {}
    for j in range(N_COLUMNS):
        values = hidden[:, j % 8] * (1 + j % 5) + 0.2 * rng.normal(size=n_rows)
        wrong = rng.random(n_rows) < 0.01
        values[wrong] = rng.permutation(values)[wrong] * 3
        if j % 3:
            columns[f"measurement number {j}"] = 1000 * values
        else:
            codes = np.digitize(values, np.quantile(values, np.linspace(0, 1, len(WORDS) + 1)[1:-1]))
            columns[f"category number {j}"] = [WORDS[code] for code in codes]
    return pa.table(columns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--findings", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="keep the report here")
    arguments = parser.parse_args()

    from playwright.sync_api import sync_playwright

    detector = rfod.RFOD(n_estimators=10, random_state=0).fit(make_table(N_TRAIN, 1))
    found = detector.detect(make_table(2 * arguments.findings, 2))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = (arguments.keep or Path(folder) / "report.html").resolve()
        start = time.perf_counter()
        rfod.write_report(found, path, top=arguments.findings, title="benchmark")
        seconds_to_write = time.perf_counter() - start
        browser = playwright.chromium.launch(executable_path=browser_program(), args=["--no-sandbox"])
        opened, searched, explained = [], [], []
        for _ in range(arguments.repeats):
            page = browser.new_page()
            page.goto(path.as_uri())
            milliseconds, n_lines = page.evaluate(SHOWN)
            assert n_lines == 25
            opened.append(milliseconds / 1000)
            searched.append(page.evaluate(SEARCH, "harbour") / 1000)
            start = time.perf_counter()
            page.locator("#finding-table .open").first.click()
            page.locator("#detail figure svg").first.wait_for()
            explained.append(time.perf_counter() - start)
            page.close()
        result = {
            "machine": machine() | {"browser": browser.version},
            "code": commit(),
            "n_rows": len(found),
            "n_columns": len(found.columns),
            "n_findings": arguments.findings,
            "file_mb": round(path.stat().st_size / 1e6, 2),
            "write_seconds": round(seconds_to_write, 2),
            "open_seconds": summary_of(opened),
            "search_seconds": summary_of(searched),
            "open_row_seconds": summary_of(explained),
        }
        browser.close()
    write_json(RESULTS / "report.json", result)
    print({name: value for name, value in result.items() if name not in ("machine", "code")})


def browser_program() -> str | None:
    """Where a Chromium is on this machine; None leaves it to playwright."""
    return os.environ.get("RFOD_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")


def summary_of(seconds: list[float]) -> dict[str, Any]:
    """Median and worst of the repeats."""
    return {"median": round(statistics.median(seconds), 3), "worst": round(max(seconds), 3), "n": len(seconds)}


if __name__ == "__main__":
    main()
