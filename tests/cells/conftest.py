"""The benchmark is no package: it is found from the root of the repository, and a source archive has none of it."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

if not (ROOT / "benchmarks").is_dir():
    collect_ignore_glob = ["test_*.py"]
