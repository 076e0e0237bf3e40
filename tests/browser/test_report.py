"""Reports in a real browser: what a person does with them, and that nothing leaves the page."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import rfod
from make_shipments import make_shipments
from report_tables import HOSTILE, SCRIPT, found_in_hostile, found_in_mixed
from rfod import Detection
from rfod._views.distribution import printable

DATA = Path(os.environ.get("RFOD_DATA") or Path(__file__).parents[3] / "shared" / "data")
ROWS = "#finding-table tbody tr"


def found_in_shipments() -> Detection:
    table, _ = make_shipments(n_rows=1200, n_clean=800)
    detector = rfod.RFOD(n_estimators=20, random_state=0, column_types={"shipment_id": "identifier"}, n_jobs=1)
    return detector.fit(table[:800]).detect(table[800:], key="shipment_id")


def found_in_file(name: str) -> Detection:
    path = DATA / f"{name}.parquet"
    if not path.is_file():
        pytest.skip(f"there is no {path.name} in RFOD_DATA or ../shared/data")
    return rfod.scan(pd.read_parquet(path).head(3000), n_estimators=10, random_state=0, n_jobs=1)


def found_in_misspelt() -> Detection:
    """Misspelt carriers, half of them wrong and half worth a check, whatever the learned decision says of them."""
    table, _ = make_shipments(n_rows=1200, n_clean=800)
    carrier = table["carrier"].astype(object)
    named = carrier.index[carrier.notna()][::40]
    carrier[named] = [f"{text[:3]}x{text[4:]}" for text in carrier[named]]
    found = rfod.scan(table.assign(carrier=carrier), key="shipment_id", n_estimators=10, n_jobs=1)
    probability = 0.1 * found.cell_probability
    probability[named[::2], found.judged_columns.index("carrier")] = 0.97
    probability[named[1::2], found.judged_columns.index("carrier")] = 0.6
    found.probabilities.probability = probability
    return found


TABLES: dict[str, Callable[[], Detection]] = {
    "wrong": found_in_misspelt,
    "shipments": found_in_shipments,
    "mixed": found_in_mixed,
    "hostile": found_in_hostile,
    "pima": lambda: found_in_file("pima"),
    "bank": lambda: found_in_file("bank"),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Reports on the tables, each made once."""
    folder = tmp_path_factory.mktemp("reports")

    def made(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            rfod.write_report(TABLES[name](), path, top=60, title=name)
        return path

    return made


def first_column(page: Any, number: int) -> list[str]:
    return page.locator(f"{ROWS} td:nth-child({number})").all_inner_texts()


@pytest.mark.parametrize("name", TABLES)
def test_a_walk_through(opened: Any, report: Any, name: str) -> None:
    it = opened(report(name))
    page = it.page
    assert page.locator("#title").inner_text() == name
    assert page.locator(ROWS).count() == 25
    assert page.locator("#count").inner_text() == "60 rows"

    # sort by the row score, upwards
    heading = page.locator("#finding-table th", has_text="Row score")
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    scores = [float(text) for text in first_column(page, 6)]
    assert scores == sorted(scores)

    # turn the page
    page.locator("#next").click()
    assert page.locator("#page").inner_text() == "2 / 3"

    # filter by the column that most findings have
    option = page.locator("#column option").nth(1)
    page.select_option("#column", option.get_attribute("value"))
    wanted = option.inner_text().rsplit(" (", 1)
    shown = [text.splitlines()[0] for text in first_column(page, 2)]
    assert set(shown) == {wanted[0].strip()}
    assert page.locator("#count").inner_text() == f"{wanted[1].rstrip(')')} of 60 rows"
    page.select_option("#column", "-1")

    # a pattern, and back; after a scan patterns are those of wrong cells
    if page.locator("#patterns").is_visible():
        page.locator("#pattern-list button").first.click()
        n_findings = page.locator("#pattern-list .count").first.inner_text()
        assert page.locator("#count").inner_text().split()[0] == n_findings
        page.locator("#clear").click()
        assert page.locator("#count").inner_text() == "60 rows"

    # open a row, go on to the next, close
    page.locator(ROWS).first.locator("td").nth(1).click()
    assert page.locator("#detail").is_visible()
    assert page.locator("#detail article").count() >= 1
    page.locator("#detail figure svg").first.wait_for()
    title = page.locator("#detail-title").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator("#detail-title").inner_text() != title
    page.keyboard.press("Escape")
    assert not page.locator("#detail").is_visible()

    # the map opens rows too, and the columns sort
    page.locator("#heat tbody td").first.click()
    assert page.locator("#detail").is_visible()
    page.locator("#detail-close").click()
    page.locator("#column-table th button", has_text="Missing").click()
    it.check_quiet()


@pytest.mark.parametrize("name", ["wrong", "mixed"])
def test_wrong_cells(opened: Any, report: Any, name: str) -> None:
    it = opened(report(name))
    page = it.page
    lines = page.locator("#wrong-table tbody tr")
    if not page.locator("#wrong").is_visible():
        assert name == "mixed"  # that has few, or none
        return
    n_cells = int(page.locator("#wrong-count").inner_text().split()[0])
    assert lines.count() == min(25, n_cells)
    assert "of ten such cells about nine are wrong" in page.locator("#wrong .lead").inner_text()

    # a pattern, and back
    page.locator("#wrong-patterns button").first.click()
    n_like = page.locator("#wrong-patterns .count").first.inner_text()
    assert page.locator("#wrong-count").inner_text().split()[0] == n_like
    if page.locator("#wrong-clear").is_visible():
        page.locator("#wrong-clear").click()
    assert page.locator("#wrong-count").inner_text().split()[0] == str(n_cells)

    # only those that are called wrong
    page.select_option("#wrong-least", "0.9")
    n_wrong = int(page.locator("#tiles div", has_text="Wrong cells").locator("dd").inner_text())
    if n_wrong < n_cells:
        assert page.locator("#wrong-count").inner_text().split()[0] == str(n_wrong)
    page.select_option("#wrong-least", "0.5")

    # a row opens with its wrong cells first
    text = lines.first.locator("td").nth(2).inner_text()
    lines.first.locator(".open").click()
    assert text in page.locator("#detail .wrong-note").first.inner_text()
    page.keyboard.press("Escape")
    page.locator("#wrong-table th button", has_text="Observed").click()
    page.fill("#wrong-search", "no such thing")
    page.locator("#wrong-table", has_text="No cell is like this.").wait_for()
    it.check_quiet()


def test_search(opened: Any, report: Any) -> None:
    it = opened(report("shipments"))
    page = it.page
    key = page.locator(f"{ROWS} .open").nth(7).inner_text()
    page.fill("#search", key.lower())
    page.locator("#count", has_text="1 of 60 rows").wait_for()
    assert page.locator(f"{ROWS} .open").all_inner_texts() == [key]
    page.fill("#search", "no such thing")
    page.locator(ROWS, has_text="No finding is like this.").wait_for()
    it.check_quiet()


def test_keyboard_alone_opens_a_row(opened: Any, report: Any) -> None:
    it = opened(report("mixed"))
    page = it.page
    page.locator(f"{ROWS} .open").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#detail").is_visible()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.className") == "open"  # back where it was
    page.locator("#finding-table th button").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#finding-table th").first.get_attribute("aria-sort") == "ascending"
    it.check_quiet()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme(opened: Any, report: Any, scheme: str) -> None:
    it = opened(report("mixed"), color_scheme=scheme)
    page = it.page
    background = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(background)
    assert page.locator("html").get_attribute("data-theme") == scheme
    page.locator("#theme").click()
    assert page.locator("html").get_attribute("data-theme") != scheme
    assert page.evaluate(background) != before
    for _ in range(20):  # storage is written in the background: a page that is loaded at once may not see it yet
        page.wait_for_timeout(100)
        page.reload()
        if page.locator("html").get_attribute("data-theme") != scheme:
            break
    assert page.locator("html").get_attribute("data-theme") != scheme  # it is remembered
    it.check_quiet()


def test_everything_of_the_table_is_text(opened: Any, report: Any) -> None:
    it = opened(report("hostile"))
    page = it.page
    page.select_option("#size", "100")
    for row in range(12):
        page.locator(f"{ROWS} .open").nth(row).click()
        page.locator("#detail figure svg").first.wait_for()
        page.keyboard.press("Escape")
    assert page.locator("script").count() == 2
    assert page.locator("main b, main i:not(.meter i):not(.scale i), #detail b").count() == 0
    names = page.locator("#column-table tbody tr td:first-child bdi").all_text_contents()
    assert names == [printable(name) for name in HOSTILE]
    assert SCRIPT in page.locator("#heat thead").inner_text()
    assert page.locator(f"{ROWS} .open", has_text=SCRIPT).count() > 0
    assert "{{ 7 * 7 }}" in page.locator("#column-table").inner_text()
    it.check_quiet()


def test_the_page_may_not_call_anywhere(opened: Any, report: Any) -> None:
    it = opened(report("mixed"))
    refused = "fetch('http://127.0.0.1:9/').then(() => 'went out', (error) => 'refused')"
    assert it.page.evaluate(refused) == "refused"
    assert any("Content Security Policy" in text for text in it.complaints)


@pytest.mark.parametrize("name", ["shipments", "hostile"])
def test_phone(opened: Any, report: Any, name: str) -> None:
    it = opened(report(name), viewport={"width": 360, "height": 740})
    page = it.page
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator(f"{ROWS} .open").first.click()
    page.locator("#detail figure svg").first.wait_for()
    assert page.evaluate("document.getElementById('detail').scrollWidth") <= 360
    it.check_quiet()


def test_print_shows_findings_without_buttons(opened: Any, report: Any) -> None:
    it = opened(report("shipments"))
    it.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    it.page.emulate_media(media="print")
    assert it.page.locator(ROWS).count() == 60
    assert not it.page.locator(".bar").is_visible()
    assert not it.page.locator("#search").is_visible()
    assert len(it.page.pdf()) > 10_000


def test_redacted_values_are_not_to_be_seen(opened: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    rfod.write_report(found_in_mixed(), path, top=30, redact=["city", "double"])
    it = opened(path)
    page = it.page
    page.select_option("#size", "50")
    for row in range(5):
        page.locator(f"{ROWS} .open").nth(row).click()
        page.keyboard.press("Escape")
    text = page.locator("html").inner_text()
    assert not any(city in path.read_text(encoding="utf-8") for city in ("Oslo", "Bergen", "Tromsø"))
    assert "hidden" in text
    it.check_quiet()


def opened_row(page: Any) -> str:
    return str(page.locator("#detail-title").inner_text())


def test_the_whole_record(opened: Any, report: Any) -> None:
    page = opened(report("wrong")).page
    page.locator("#wrong-table tbody .open").first.click()
    names = page.locator("#detail .record td:first-child").all_inner_texts()
    values = page.locator("#detail .record td:last-child").all_inner_texts()
    table, _ = make_shipments(n_rows=1200, n_clean=800)
    assert names == list(table.columns)
    record = dict(zip(names, values, strict=True))
    row = table[table["shipment_id"] == opened_row(page)].iloc[0]
    assert record["origin"] == row["origin"]
    assert float(record["weight_kg"]) == row["weight_kg"]
    wrong = page.locator("#detail .record td.observed").all_inner_texts()
    assert record["carrier"] in wrong


def test_hidden_columns_stay_hidden_in_the_record(opened: Any, tmp_path: Path) -> None:
    found = found_in_misspelt()
    rfod.write_report(found, tmp_path / "r.html", redact=["carrier", "shipment_id"])
    names = set(map(str, make_shipments(n_rows=1200, n_clean=800)[0]["shipment_id"]))
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert not [name for name in names if f'"{name}"' in text]
    page = opened(tmp_path / "r.html").page
    page.locator("#wrong-table tbody .open").first.click()
    values = page.locator("#detail .record td:last-child").all_inner_texts()
    assert values.count("hidden") == 2


def test_a_link_leads_to_a_finding(opened: Any, report: Any) -> None:
    it = opened(report("wrong"))
    page = it.page
    page.locator("#wrong-table tbody .open").nth(3).click()
    name, link = opened_row(page), page.locator("#detail-link").get_attribute("href")
    assert page.evaluate("location.hash") == link
    assert link.startswith("#row-")
    page.keyboard.press("Escape")
    assert page.evaluate("location.hash") == ""

    # the link opened as an address, and after it another one on the same page
    page.goto(f"{it.address}{link}")
    page.reload()
    assert opened_row(page) == name
    page.keyboard.press("Escape")
    page.evaluate("location.hash = '#row-99999999'")
    assert not page.locator("#detail").is_visible()
    page.evaluate(f"location.hash = '{link}'")
    page.wait_for_selector("#detail[open]")
    assert opened_row(page) == name
    it.requests.clear()


def test_findings_are_copied_as_csv(opened: Any, report: Any) -> None:
    for name in ("wrong", "hostile"):
        it = opened(report(name))
        page = it.page
        it.context.grant_permissions(["clipboard-read", "clipboard-write"])
        for button, table in (("#wrong-copy", "#wrong-count"), ("#copy", "#count")):
            if not page.locator(button).is_visible():
                continue
            page.locator(button).click()
            assert page.locator(button).inner_text() == "Copied"
            text = page.evaluate("navigator.clipboard.readText()")
            lines = pd.read_csv(io.StringIO(text), dtype=str)
            n_shown = int(page.locator(table).inner_text().split()[0].replace(",", ""))
            assert len(lines) == n_shown
            assert {"row", "column", "observed"} <= set(lines.columns)
            assert not lines.map(lambda value: str(value).startswith(("=", "+", "@"))).any(axis=None)
