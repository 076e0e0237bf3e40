"""Outputs must not replace the tables they are made from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from rfod._io.errors import InputError, OutputError
from rfod._io.sources import expand, files_in


def check_not_input(output: str, inputs: Sequence[str]) -> None:
    """Raise `OutputError` if the output is one of the files that the inputs stand for.

    Parameters
    ----------
    output
        The file to be written; "-" and files that do not exist yet are always fine.
    inputs
        Files, folders and patterns, as `open_source` takes them. Links to a file count as the file.
    """
    target = Path(output)
    if output == "-" or not target.is_file():
        return
    if any(path.is_file() and path.samefile(target) for place in inputs for path in _files(place)):
        raise OutputError(f"{output} is also the input. Hint: write to another file.")


def _files(place: str) -> Iterator[Path]:
    """The files behind one input; none for stdin, and for a pattern that fits nothing, which reading it reports."""
    if place == "-":
        return
    with contextlib.suppress(InputError):
        for path in map(Path, expand(place)):
            yield from files_in(path) if path.is_dir() else (path,)
