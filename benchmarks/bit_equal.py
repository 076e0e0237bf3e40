"""Whether scores are still the same, bit for bit: compares hashes on six datasets with those that are stored.

    python -m benchmarks.bit_equal            # compares, exits with 1 where something differs
    python -m benchmarks.bit_equal --store    # after a change that is meant to alter scores

A dataset is split as in the paper: the training half is fitted and the test half judged (`detect`), and up to 3,000 of
all rows are scanned (`scan`). Hashes are of float64 arrays, with a canonical NaN; they hold for one kind of processor
and one version of numba, since vector instructions add in another order elsewhere.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from typing import Any

import numpy as np

import rfod
from benchmarks import datasets, record

DATASETS = ("pima", "ionosphere", "wine", "thyroid", "pageblocks", "bank")
PARTS = ("row_scores", "cell_scores", "uncertainty", "surprise", "p_values", "row_p_values")
N_TREES, MOST_ROWS, SEED = 30, 3000, 0
STORED = record.RESULTS / "bit_equal.json"


def hashes(found: rfod.Detection) -> dict[str, str]:
    """One hash per array of an answer."""
    answers = {}
    for part in PARTS:
        values = np.ascontiguousarray(getattr(found, part), dtype=np.float64)
        values = np.where(np.isnan(values), np.nan, values)
        answers[part] = hashlib.sha256(values.tobytes()).hexdigest()[:16]
    return answers


def measure(name: str) -> dict[str, dict[str, str]]:
    """Hashes of both ways to judge a dataset."""
    data = datasets.load(name, max_rows=2 * MOST_ROWS)
    split = datasets.split(data, SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rfod.ColumnWarning)
        detector = rfod.RFOD(n_estimators=N_TREES, random_state=SEED).fit(split.train)
        return {
            "detect": hashes(detector.detect(split.test)),
            "scan": hashes(rfod.scan(data.frame.iloc[:MOST_ROWS], n_estimators=N_TREES, random_state=SEED)),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", action="store_true", help="store the hashes instead of comparing")
    arguments = parser.parse_args()
    found: dict[str, Any] = {name: measure(name) for name in DATASETS}
    if arguments.store:
        record.write_json(STORED, {"machine": record.machine(), **record.commit(), "hashes": found})
        print(f"written: {STORED}")
        return
    stored = json.loads(STORED.read_text(encoding="utf-8"))["hashes"]
    differing = [
        f"{name} {way} {part}"
        for name, ways in found.items()
        for way, parts in ways.items()
        for part, value in parts.items()
        if stored[name][way][part] != value
    ]
    print("\n".join(["differs: " + text for text in differing] or ["all hashes are equal"]))
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
