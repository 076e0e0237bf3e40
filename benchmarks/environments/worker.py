"""The loop of a worker: reads requests from standard input, one JSON line each, and answers in the same way.

Needs NumPy only, and nothing of rfod: it runs in environments with other, older libraries.
"""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any, Protocol

import numpy as np


class Density(Protocol):
    """`values` are standardised numbers and codes; NaN is a cell that the density does not know."""

    def fit(self, values: Any, is_category: Any, n_codes: Any, seed: int) -> None: ...

    def log_conditional(self, values: Any) -> Any:
        """Logarithm of the density of each cell given the others of its row, NaN where the cell is NaN."""


def serve(density: Density) -> None:
    """Answer until standard input ends."""
    answers, sys.stdout = sys.stdout, sys.stderr  # the libraries print
    for line in sys.stdin:
        request = json.loads(line)
        try:
            with np.load(request["in"]) as found:
                if request["do"] == "fit":
                    density.fit(found["values"], found["is_category"], found["n_codes"], request["seed"])
                    result = np.zeros(0)
                else:
                    result = np.asarray(density.log_conditional(found["values"]), dtype=np.float64)
            np.save(request["out"], result)
            answer = {"done": True}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
