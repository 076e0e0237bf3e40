"""Write a table of shipments with a few wrong cells, scan it as a user would, and tell which of them were found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from make_shipments import make_shipments

FOLDER = Path("demo")
COMMAND = ("scan", "shipments.csv", "--key", "shipment_id", "--report", "report.html")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    table, planted = make_shipments(n_clean=0)
    table.to_csv(FOLDER / "shipments.csv", index=False)
    print(f"{FOLDER}/shipments.csv: {len(table):,} shipments, {table.shape[1]} columns, {len(planted)} wrong cells.\n")

    print(f"$ rfod {' '.join(COMMAND)}\n", flush=True)
    ran = subprocess.run([sys.executable, "-m", "rfod", *COMMAND], cwd=FOLDER, stdout=subprocess.PIPE, text=True)
    print(ran.stdout, flush=True)
    if ran.returncode:
        sys.exit(ran.returncode)

    planted.insert(0, "shipment_id", table["shipment_id"].loc[planted["row"]].to_numpy())
    print("The wrong cells, each with a value that is ordinary for its column:\n")
    found = [is_told(ran.stdout, cell.shipment_id, cell.column) for cell in planted.itertuples()]
    for cell, is_found in zip(planted.itertuples(), found, strict=True):
        print(f"  {'found ' if is_found else 'missed'}  {cell.shipment_id}  {told(cell)}")
    print(f"\n{sum(found)} of {len(planted)} planted errors found. ", end="")
    print(f"Open {FOLDER}/report.html in a browser to look through the findings.")


def is_told(output: str, shipment: str, column: str) -> bool:
    """Whether a finding for the shipment names the column."""
    _, _, rest = output.partition(f" shipment_id {shipment} ")
    sentences = rest.partition(". shipment_id ")[0].splitlines()[1:]
    return any(sentence.strip().startswith(f"{column} is ") for sentence in sentences)


def told(cell: Any) -> str:
    return f"{cell.column} {cell.planted} in place of {cell.correct}: {cell.why}"


if __name__ == "__main__":
    main()
