"""Densities of whole rows that need an environment of their own: lace and adversarial random forests (arfpy).

**Score of a cell: minus the logarithm of its density given the other cells of its row**, numbers in standard deviations
of the training rows, so that columns compare. A gap, and a category that training does not have, lie outside such a
density: they score minus the logarithm of (1 + such cells in the training column) over (1 + its rows), and the other
cells of the row are not conditioned on them.

* lace (pylace): cross-categorisation; the conditional density is that of the row over that of the row without the cell,
  each the mean over its states.
* ARF (arfpy): the mixture over all leaves of `forde`, in a leaf truncated normals and shares of categories.

Each runs as a process in a virtual environment with the libraries that `environments/<name>.txt` pins, made at first
use in `benchmarks/.venv-<name>` (or in the folder that RFOD_CELL_ENVIRONMENTS names). A process that takes longer than
`MAX_SECONDS` for a fit, or for a table, is ended, and that is the result.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import venv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.cell_matrix import UNSEEN, Encoder, Matrix
from benchmarks.cell_methods import Scores, by_highest

Floats = NDArray[np.float64]
HERE = Path(__file__).resolve().parent / "environments"
TRAIN_ROWS = 2000
SCORED_ROWS = 1000
MAX_CATEGORIES = 120
MAX_SECONDS = 900.0


class MethodError(Exception):
    """A method did not finish; the message says why."""


class DensityCells:
    """A density in a process of its own, fitted on at most `TRAIN_ROWS` rows; scores the first `SCORED_ROWS`."""

    def __init__(self, name: str, seed: int, max_seconds: float = MAX_SECONDS) -> None:
        self._name, self._seed, self._max_seconds = name, seed, max_seconds
        self._process: _Process | None = None

    def fit(self, frame: pd.DataFrame) -> None:
        frame = frame.iloc[:TRAIN_ROWS]
        self._encoder = Encoder(frame, MAX_CATEGORIES)
        matrix = self._encoder.encode(frame)
        self._outside = -np.log((1.0 + _outside(matrix).sum(axis=0)) / (1.0 + len(frame)))
        self._process = _Process(self._name, self._max_seconds)
        self._process.answer({"do": "fit", "seed": self._seed}, matrix)

    def score(self, frame: pd.DataFrame) -> Scores:
        matrix = self._encoder.encode(frame.iloc[:SCORED_ROWS])
        assert self._process is not None
        cells = -self._process.answer({"do": "score"}, matrix)
        outside = _outside(matrix)
        cells[outside] = np.broadcast_to(self._outside, cells.shape)[outside]
        return by_highest(cells)

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.close()


def _outside(matrix: Matrix) -> NDArray[np.bool_]:
    return np.isnan(matrix.values) | (matrix.is_category & (matrix.values == UNSEEN))


class _Process:
    """A worker that answers requests, one line each; matrices go through files."""

    def __init__(self, name: str, max_seconds: float) -> None:
        self._max_seconds = max_seconds
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [environment(name), str(HERE / f"{name}_worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        )

    def answer(self, request: dict[str, Any], matrix: Matrix) -> Floats:
        """What the worker writes: logarithms of densities, NaN where it has none."""
        source, target = Path(self._folder.name) / "in.npz", Path(self._folder.name) / "out.npy"
        values = np.where(_outside(matrix), np.nan, matrix.values)
        np.savez(source, values=values, is_category=matrix.is_category, n_codes=np.array(matrix.n_codes))
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        is_late = threading.Event()

        def end() -> None:
            is_late.set()
            self._process.kill()

        timer = threading.Timer(self._max_seconds, end)
        timer.start()
        try:
            self._process.stdin.write(json.dumps(request | {"in": str(source), "out": str(target)}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if is_late.is_set():
            raise MethodError(f"{request['do']} took more than {self._max_seconds:g} s")
        if not line or "error" in (told := json.loads(line)):
            raise MethodError(f"{request['do']}: {told['error'] if line else 'the process ended'}")
        return np.load(target)

    def close(self) -> None:
        """End the process and remove its files."""
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()


def environment(name: str) -> str:
    """The Python of a method's environment, made from its pinned requirements if it is not there."""
    folder = Path(os.environ.get("RFOD_CELL_ENVIRONMENTS", HERE.parent)) / f".venv-{name}"
    python = folder / "bin" / "python"
    if not python.is_file():
        print(f"making {folder} for {name}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", HERE / f"{name}.txt"], check=True)
    return str(python)
