"""What a result needs to be read later: machine, versions, commit; and JSON files that are never half written."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.datasets import REPOSITORY

RESULTS = Path(__file__).resolve().parent / "results"
WRITTEN = ("benchmarks/results", "benchmarks/paper/results")
LIBRARIES = (
    "rfod",
    "numpy",
    "numba",
    "llvmlite",
    "scikit-learn",
    "scikit-learn-intelex",
    "pandas",
    "pyarrow",
    "narwhals",
    "pyod",
    "torch",
)


def machine() -> dict[str, Any]:
    """Processor, cores, memory, Python and library versions."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "libraries": versions(),
    }


def versions() -> dict[str, str]:
    """Version of each library that is installed here."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def commit() -> dict[str, Any]:
    """The commit of the repository, and whether tracked files differ from it; results, which a run writes, may."""
    status = _git("status", "--porcelain", "--untracked-files=no", "--", ".", *(f":!{place}" for place in WRITTEN))
    return {"commit": _git("rev-parse", "HEAD"), "dirty": bool(status)}


def fingerprint(*places: Path) -> str:
    """A short hash of the Python files in these places, so that a cached result ends with the code that made it."""
    digest = hashlib.sha256()
    for place in places:
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def write_json(path: Path, content: Any) -> None:
    """Write to a temporary file beside the target, then rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
