"""Small files as they come from spreadsheets, registers and exports: each wrong in a way of its own."""

from __future__ import annotations

import codecs
import random
from collections.abc import Callable
from pathlib import Path

N_ROWS = 120


def rows(n: int = N_ROWS) -> list[dict[str, object]]:
    """Orders whose price follows from weight and country; one price does not."""
    draw = random.Random(1)
    made = []
    for number in range(n):
        weight = round(draw.uniform(1, 30), 1)
        country = draw.choice(["France", "Österreich", "España"])
        price = round(weight * (90 if country == "France" else 120), 2)
        day, month = draw.randint(1, 28), draw.randint(1, 12)
        made.append(
            {"id": f"A{number:04d}", "weight": weight, "country": country, "price": price, "date": (day, month)}
        )
    if n > 60:
        made[60]["price"] = 1.5
    return made


def text(
    separator: str = ",",
    number: Callable[[object], str] = str,
    date: Callable[[int, int], str] = lambda day, month: f"2024-{month:02d}-{day:02d}",
    header: bool = True,
    end: str = "\n",
    n: int = N_ROWS,
) -> str:
    """The orders as delimited text."""
    lines = [separator.join(["id", "weight", "country", "price", "date"])] if header else []
    for row in rows(n):
        day, month = row["date"]  # type: ignore[misc]
        cells = [row["id"], number(row["weight"]), row["country"], number(row["price"]), date(day, month)]
        lines.append(separator.join(map(str, cells)))
    return end.join(lines) + end


def comma(value: object) -> str:
    return str(value).replace(".", ",")


def grouped(value: object) -> str:
    return f'"{float(str(value)):,.2f}"'


def german(value: object) -> str:
    return f"{float(str(value)):,.2f}".translate(str.maketrans(",.", ".,"))


def dotted(day: int, month: int) -> str:
    return f"{day:02d}.{month:02d}.2024"


def american(day: int, month: int) -> str:
    return f"{month:02d}/{day:02d}/2024"


def three_formats(day: int, month: int) -> str:
    return (dotted, american, lambda day, month: f"2024-{month:02d}-{day:02d}")[day % 3](day, month)


def with_line(line: str, at: int = 10) -> str:
    lines = text().splitlines()
    return "\n".join([*lines[:at], line, *lines[at:]]) + "\n"


def with_column(name: str, value: Callable[[int], str], n: int = N_ROWS) -> str:
    lines = text(n=n).splitlines()
    return "\n".join([f"{lines[0]},{name}", *(f"{line},{value(i)}" for i, line in enumerate(lines[1:]))]) + "\n"


FILES: dict[str, bytes] = {
    "bom.csv": codecs.BOM_UTF8 + text().encode(),
    "crlf.csv": text(end="\r\n").encode(),
    "cr.csv": text(end="\r").encode(),
    "latin-1.csv": text().encode("latin-1"),
    "utf-16.csv": text().encode("utf-16"),
    "utf-16-without-mark.csv": text().encode("utf-16-le"),
    "semicolons.csv": text(";", comma, dotted).encode(),
    "tabs.tsv": text("\t").encode(),
    "pipes.txt": text("|").encode(),
    "thousands.csv": text(",", grouped).encode(),
    "german-thousands.csv": text(";", german, dotted).encode(),
    "american-dates.csv": text(date=american).encode(),
    "three-date-formats.csv": text(date=three_formats).encode(),
    "mixed-few.csv": with_column("note", lambda i: "broken" if i in (3, 80) else str(i * 7 % 13)).encode(),
    "mixed-many.csv": with_column("note", lambda i: f"T{i % 5}" if i % 3 == 0 else str(i % 13)).encode(),
    "numbers-as-text.csv": with_column("note", lambda i: f'"{i * 7 % 13}"').encode(),
    "many-texts.csv": with_column("note", lambda i: f"text-{i}", 50_000).encode(),
    "empty-column.csv": with_column("note", lambda i: "").encode(),
    "one-row.csv": text(n=1).encode(),
    "header-only.csv": text(n=0).encode(),
    "no-header.csv": text(header=False).encode(),
    "duplicate-headers.csv": with_column("weight", lambda i: str(i % 7)).encode(),
    "unicode-names.csv": text().replace("weight", "Gewicht_☃").replace("price", "цена").encode(),
    "long-field.csv": with_column("note", lambda i: "x" * 500_000 if i == 5 else "short").encode(),
    "nul-bytes.csv": text().replace("France", "Fra\0nce", 3).encode(),
    "ragged.csv": (with_line("A9999,12.5", 10) + "A9998,1,2,3,4,5,6\n").encode(),
    "blank-lines.csv": with_line("", 10).encode(),
    "line-breaks.csv": with_column("note", lambda i: '"two\nlines"' if i == 4 else "one").encode(),
    "open-quote.csv": with_line('A9999,"12.5,France,10,2024-01-01', 10).encode(),
    "excel-sep.csv": ("sep=;\n" + text(";")).encode(),
    "empty.csv": b"",
}


def write_all(folder: Path) -> dict[str, Path]:
    """All files, in a folder."""
    paths = {}
    for name, data in FILES.items():
        paths[name] = folder / name
        paths[name].write_bytes(data)
    return paths
