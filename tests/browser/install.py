"""Get a Chromium for the tests of the report, by the first way that works:

1. the one that is on this machine;
2. Debian's package, where the superuser runs this, as in containers;
3. Playwright's download, into the cache of the user, with `chromium` in the virtual environment that starts it.

Without one those tests are skipped, so not getting one is no failure. It takes six minutes at most.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

NO_BROWSER = (
    "no Chromium here and none could be installed: the tests of the report in a browser are skipped. "
    "Hint: RFOD_BROWSER=/path/to/chromium names one"
)


def main() -> None:
    """Say what is installed, and whether there is a browser in the end."""
    from conftest import browser_program

    programs = Path(sys.executable).parent
    os.environ["PATH"] = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
    if browser_program() is None and not from_debian() and not from_playwright(programs / "chromium"):
        print(NO_BROWSER)


def from_debian() -> bool:
    """Install the package, and a font, which a container may lack."""
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return False
    print("installing Debian's chromium", flush=True)
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-dejavu-core"]
    return succeeds(["apt-get", "update", "-qq"], seconds=30) and succeeds(install, seconds=150)


def from_playwright(program: Path) -> bool:
    """Download a Chromium, and write a program that starts it if the libraries that it needs are here."""
    print("downloading Playwright's Chromium", flush=True)
    if not succeeds([sys.executable, "-m", "playwright", "install", "--no-shell", "chromium"], seconds=150):
        return False
    chromium = downloaded_program()
    if not succeeds([chromium, "--version"], seconds=20):
        return False
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(chromium)} "$@"\n')
    program.chmod(0o755)
    return True


def downloaded_program() -> str:
    """Where Playwright puts its Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


def succeeds(command: list[str], seconds: float) -> bool:
    """Run a program and what it starts, quietly and for so long at most."""
    quiet = subprocess.DEVNULL
    try:
        run = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    except OSError:
        return False
    try:
        return run.wait(timeout=seconds) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(timeout=10)


if __name__ == "__main__":
    main()
