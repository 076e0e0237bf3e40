"""Write a table of shipments with a few wrong cells, scan it as a user would, and tell which of them were found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from make_shipments import make_shipments

FOLDER = Path("demo")
COMMAND = ("scan", "shipments.csv", "--key", "shipment_id", "--report", "report.html", "--cells", "-o", "wrong.csv")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    table, planted = make_shipments(n_clean=0, n_slips=3)
    table.to_csv(FOLDER / "shipments.csv", index=False)
    print(f"{FOLDER}/shipments.csv: {len(table):,} shipments, {table.shape[1]} columns, {len(planted)} wrong cells.\n")

    print(f"$ rfod {' '.join(COMMAND)}\n", flush=True)
    ran = subprocess.run([sys.executable, "-m", "rfod", *COMMAND], cwd=FOLDER, stdout=subprocess.PIPE, text=True)
    print(ran.stdout, flush=True)
    if ran.returncode:
        sys.exit(ran.returncode)

    planted.insert(0, "shipment_id", table["shipment_id"].loc[planted["row"]].to_numpy())
    print("The wrong cells. The first eight have values that are ordinary for their column, the others are slips:\n")
    listed = pd.read_csv(FOLDER / "wrong.csv")
    cells = set(zip(listed["key"], listed["column"], strict=True))
    verdicts = [verdict(cells, ran.stdout, cell) for cell in planted.itertuples()]
    for cell, word in zip(planted.itertuples(), verdicts, strict=True):
        print(f"  {word:<6}  {cell.shipment_id}  {told(cell)}")
    n_found, n_ranked = verdicts.count("found"), verdicts.count("ranked")
    print(f"\n{n_found} of {len(planted)} planted errors found, {n_ranked} more among the most unusual rows. ", end="")
    print(f"Open {FOLDER}/report.html in a browser to look through the findings.")


def verdict(cells: set[tuple[str, str]], output: str, cell: Any) -> str:
    """Whether a planted error is wrong or worth a check, or its row at least among the most unusual ones."""
    if (cell.shipment_id, cell.column) in cells:
        return "found"
    return "ranked" if f". shipment_id {cell.shipment_id} " in output else "missed"


def told(cell: Any) -> str:
    return f"{cell.column} {cell.planted} in place of {cell.correct}: {cell.why}"


if __name__ == "__main__":
    main()
