"""Rows that are evidence for a suggestion."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from rfod._findings.similar import similar_rows
from rfod.params import Params
from rfod.pipeline import fit_detect

N = 200


@pytest.fixture(scope="module")
def found():
    """Shops whose state follows from their city; the first one has a misspelt state."""
    city = ["Austin" if row % 2 == 0 else "Reno" for row in range(N)]
    state = ["Texas" if row % 2 == 0 else "Nevada" for row in range(N)]
    state[0], state[4] = "Texss", "Texsa"
    size = np.arange(N) % 50 + 0.5
    table = pa.table({"size": size, "city": city, "state": state})
    return fit_detect(table, Params(n_estimators=10, random_state=0, n_jobs=1))[1]


def test_they_have_the_suggested_value_and_share_what_determines_it(found) -> None:
    cell = next(cell for cell in found.suspects(0.3) if cell.row == 0)
    assert (cell.column, cell.suggested) == ("state", "Texas")
    # the same size comes every 50 rows, then the next smaller and larger even ones; row 4 is suspicious itself
    assert similar_rows(found.probabilities, cell, 4) == [50, 100, 150, 2]


def test_other_columns_of_suspicious_cells_do_not_count(found) -> None:
    cell = next(cell for cell in found.suspects(0.3) if cell.row == 4)
    rows = similar_rows(found.probabilities, cell, N)
    assert 0 not in rows
    assert len(rows) == N // 2 - 2
