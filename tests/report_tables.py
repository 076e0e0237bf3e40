"""Tables with a few wrong cells, and what is found in them, for the tests of the report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from rfod import Detection
from tables import mixed_columns, small

SCRIPT = "<script>alert(1)</script>"
HOSTILE = (
    SCRIPT,
    "</script><b>bold</b>",
    "<!-- <script>",
    "\" onclick='alert(2)' x=\"",
    "{{ 7 * 7 }}{% raw %}",
    "\u202eright to left\u2028\u2066",
    "שלום <i>",
    "very long " * 60,
)


def found_in_hostile(n_rows: int = 160) -> Detection:
    """Names, categories and keys that would like to be more than text; judged by the model that was fitted to them."""
    rng = np.random.default_rng(5)
    codes = rng.integers(len(HOSTILE), size=n_rows)
    columns: dict[str, Any] = {"key " + HOSTILE[0]: [f"{row} {HOSTILE[row % len(HOSTILE)]}" for row in range(n_rows)]}
    for number, name in enumerate(HOSTILE):
        shown = np.where(rng.random(n_rows) < 0.03, (codes + 1) % len(HOSTILE), codes)
        columns[name] = (
            [HOSTILE[code] for code in shown] if number % 2 else (shown + rng.normal(0, 0.1, n_rows)).tolist()
        )
    key = "key " + HOSTILE[0]
    return small(column_types={key: "identifier"}).fit_detect(pa.table(columns), key=key)


def found_in_mixed(n_rows: int = 200, key: bool = False, own: bool = False) -> Detection:
    """A column of every kind, some with gaps, and a few cells that do not fit: new rows, or those of the fit itself."""
    columns = mixed_columns(n_rows)
    clean = pa.table(columns | ({"name": [f"n{row:04d}" for row in range(n_rows)]} if key else {}))
    for row in (3, 50, 77):
        columns["double"][row] = 9.5 - columns["level"][row]
    columns["city"][12] = "Tromsø"
    if key:
        columns["name"] = [f"n{row:04d}" for row in range(n_rows)]
    detector, name = small(column_types={"name": "identifier"} if key else None), "name" if key else None
    table = pa.table(columns)
    return detector.fit_detect(table, key=name) if own else detector.fit(clean).detect(table, key=name)
