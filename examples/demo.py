"""Learn from 3,000 correct shipments, then look for the wrong cells among 1,000 new ones."""

from __future__ import annotations

import numpy as np
import pandas as pd

import rfod
from make_shipments import make_shipments

N_CLEAN = 3000
N_SHOWN = 10
N_CHECKED = 15


def main() -> None:
    table, planted = make_shipments(n_clean=N_CLEAN)
    # The number of a shipment says nothing about it; as the index it still names the row.
    table = table.set_index("shipment_id")
    train, test = table.iloc[:N_CLEAN], table.iloc[N_CLEAN:]

    print(f"Learning from {len(train):,} correct shipments with {train.shape[1]} columns ...")
    detector = rfod.RFOD(random_state=0).fit(train)
    found = detector.detect(test)

    print(f"\nThe {N_SHOWN} most anomalous of {len(test):,} new shipments:\n")
    print(found.top(N_SHOWN).to_string())

    print(f"\n{len(planted)} cells were made wrong on purpose, each with a value that is ordinary for its column:\n")
    checked = check(found, planted.assign(row=planted["row"] - N_CLEAN))
    print(checked.to_string(index=False))

    n_found = int((checked["row rank"] <= N_CHECKED).sum())
    n_named = int((checked["worst cell"] == "yes").sum())
    print(f"\n{n_found} of {len(planted)} planted errors are in the top {N_CHECKED} of {len(test):,} rows; ", end="")
    print(f"in {n_named} the wrong cell is the row's worst.")


def check(found: rfod.Detection, planted: pd.DataFrame) -> pd.DataFrame:
    """Where the planted cells came out: rank of the row, whether the cell is its worst, what was expected."""
    rank = np.argsort(np.argsort(-found.row_scores, kind="stable"), kind="stable") + 1
    worst = np.array(found.columns, dtype=object)[np.nanargmax(found.cell_scores[planted["row"]], axis=1)]
    expected = [found.expected[cell.column].iloc[cell.row] for cell in planted.itertuples()]
    return pd.DataFrame(
        {
            "column": planted["column"],
            "planted": planted["planted"],
            "correct": planted["correct"],
            "expected": [f"{value:.1f}" if isinstance(value, float) else value for value in expected],
            "row rank": rank[planted["row"]],
            "worst cell": np.where(worst == planted["column"], "yes", "no: " + worst),
            "why it is wrong": planted["why"],
        }
    )


if __name__ == "__main__":
    main()
