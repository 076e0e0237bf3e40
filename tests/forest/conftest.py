"""Removes cached kernels that are older than a file whose changes numba does not notice; see _forest/jit.py."""

import os
from contextlib import suppress
from pathlib import Path

from rfod._forest import jit, layout


def pytest_configure():
    shared = [Path(module.__file__) for module in (jit, layout)]
    newest = max(path.stat().st_mtime for path in shared)
    for cached in Path(os.environ.get("NUMBA_CACHE_DIR") or shared[0].parent / "__pycache__").rglob("*.nb[ic]"):
        with suppress(FileNotFoundError):  # another worker was faster
            if cached.stat().st_mtime < newest:
                cached.unlink()
