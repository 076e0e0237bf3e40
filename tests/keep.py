"""Write the files of a release that later ones have to read: `python tests/keep.py FOLDER`, with the built wheel.

The folder becomes `tests/kept/VERSION`. `orders.csv` and `new.csv` are those of the newest version that is kept.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import rfod
from rfod._io.interface import ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import read_all

KEPT = Path(__file__).parent / "kept"
AS_TOLD = ("--key", "order_id", "--type", "zip=code")
SCAN = ("scan", "orders.csv", *AS_TOLD, "--trees", "20", "--quiet")
SCORE = ("score", "orders.rfod", "new.csv", "--key", "order_id", "--top", "4", "--quiet")
DECISIONS = [
    ("--key", "order_id", "--row", "A019", "--column", "city", "--replace", "Wien", "--note", "typing error"),
    ("--key", "order_id", "--row", "A005", "--column", "weight", "--fine"),
    ("--key", "order_id", "--row", "A051", "--column", "country", "--blank"),
    ("--key", "order_id", "--row", "A130", "--column", "weight", "--fine"),  # taken back below
    ("--line", "101", "--column", "price", "--fine"),
    ("--column", "service", "--fine", "--wherever", "service = expres and weight > 0"),
]


def keep(folder: Path) -> None:
    """Write all files."""
    folder.mkdir(parents=True)
    newest = max((path for path in KEPT.iterdir()), key=lambda path: [int(part) for part in path.name.split(".")])
    for name in ("orders.csv", "new.csv"):
        shutil.copyfile(newest / name, folder / name)

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "rfod", *arguments]
        return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout

    for decision in DECISIONS:
        run("decide", "orders.csv", "--type", "zip=code", *decision, "--quiet")
    decisions = rfod.Decisions.read(folder / "orders.decisions.jsonl")
    decisions.withdraw(next(one for one in decisions if one.key == ("order_id", "A130")))
    run("fit", "orders.csv", *AS_TOLD, "--trees", "10", "--quiet", "-o", "orders.rfod")
    run(*SCAN, "--cells", "-o", "scan-cells.csv")
    run(*SCAN, "--cells", "-o", "scan-cells.jsonl")
    run(*SCAN, "-o", "scan-rows.csv")
    (folder / "scan.json").write_text(run(*SCAN, "--json"), encoding="utf-8")
    run(*SCORE, "-o", "score-rows.csv")
    run(*SCORE, "--cells", "-o", "score-cells.csv")
    (folder / "score.json").write_text(run(*SCORE, "--json"), encoding="utf-8")
    repair = ("repair", "orders.csv", *AS_TOLD, "--trees", "20", "--decisions", "orders.decisions.jsonl", "--quiet")
    run(*repair, "-o", "clean.csv", "--log", "orders.changes.csv")
    (folder / "clean.csv").unlink()
    (folder / "judged.json").write_text(judged(folder), encoding="utf-8")


def judged(folder: Path) -> str:
    """What the model says of the new orders."""
    table = read_all(open_source(str(folder / "new.csv"), ReadOptions())).table
    found = rfod.load(folder / "orders.rfod").detect(table)
    arrays = ("row_scores", "row_p_values", "cell_scores", "surprise", "cell_probability")
    said: dict[str, Any] = {"columns": found.columns, "judged_columns": found.judged_columns}
    said |= {"decision": found.probabilities.decision.version}
    said |= {name: _plain(getattr(found, name)) for name in arrays}
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in said.items()) + "\n}\n"


def _plain(values: Any) -> Any:
    """Lists of numbers with twelve digits, None for NaN."""
    if np.ndim(values):
        return [_plain(value) for value in values]
    return None if np.isnan(values) else float(f"{values:.12g}")


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
