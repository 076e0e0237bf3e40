"""Draw the pictures of the pages: python docs/figures/draw.py [PAGE ...]

Runs the programs of each page and saves the figures they leave behind. Needs pandas, `rfod[pictures]` and a browser.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from programs import run_page  # noqa: E402
from rfod import figures  # noqa: E402

# Page, and which variable of its programs goes to which file.
PICTURES = {
    "tutorial.md": {"heat_map": "tutorial/heat_map.png", "analysis": "tutorial/analysis.png"},
    "how-to/new-data.md": {"figure": "how-to/scores.png"},
    "how-to/figures.md": {
        "cells": "how-to/heat_map.png",
        "analysis": "how-to/row_analysis.png",
        "predictors": "how-to/predictability.png",
        "scores": "how-to/threshold.png",
    },
}


def main() -> None:
    for page in sys.argv[1:] or PICTURES:
        with TemporaryDirectory() as directory:
            shown = run_page(ROOT / "docs" / page, Path(directory)).namespace
        for name, file in PICTURES[page].items():
            target = ROOT / "docs" / "figures" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            figures.save(shown[name], target, scale=1.25)
            sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    main()
