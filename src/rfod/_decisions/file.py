"""Decisions files: read with the line of what is damaged, and appended to so that nothing is lost."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rfod._decisions.decision import Entry, line_of, parse_line
from rfod.exceptions import DecisionsError

ENDING = ".decisions.jsonl"


def beside(table: str) -> str:
    """Where the decisions about a table are kept: orders.decisions.jsonl beside orders.csv or orders.csv.gz."""
    path = Path(table)
    name = path.name
    for ending in (".gz", ".bz2", ".xz", ".zst", ".lz4"):
        name = name.removesuffix(ending)
    return str(path.with_name((Path(name).stem or name) + ENDING))


def read_entries(path: str | os.PathLike[str]) -> tuple[list[Entry], list[str]]:
    """The lines of a decisions file, and what is noted about it.

    A line that is cut off (an append that was interrupted) is noted and does not count; every other line that is not
    one of this format is an error that names it.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise DecisionsError(f"{path}: there is no such file.\nHint: rfod decide TABLE --review writes one.") from error
    except OSError as error:
        raise DecisionsError(f"{path}: {error.strerror or error}.") from error
    entries: list[Entry] = []
    notes = []
    known: set[str] = set()
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = parse_line(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            if _is_cut_off(line):
                notes.append(f"{path}, line {number}: it is cut off, by an interrupted write, and does not count.")
                continue
            reason = error.msg.removesuffix(" at") if isinstance(error, json.JSONDecodeError) else "it is no UTF-8 text"
            raise DecisionsError(
                f"{path}, line {number}: {_what(line)} is not a decision: {reason}.\n"
                "Hint: correct or remove the line; each line is one JSON object."
            ) from error
        except DecisionsError as error:
            raise DecisionsError(
                f"{path}, line {number}: {str(error).rstrip('.')}.\nHint: correct or remove the line."
            ) from error
        if entry.id in known:
            raise DecisionsError(
                f"{path}, line {number}: an earlier line has the id {entry.id!r} too.\nHint: give it another one."
            )
        known.add(entry.id)
        entries.append(entry)
    return entries, notes


def _what(line: bytes) -> str:
    return repr(line[:40].decode("utf-8", "replace")) + ("..." if len(line) > 40 else "")


def _is_cut_off(line: bytes) -> bool:
    """Whether a line is the beginning of a JSON object that ends before its last brace."""
    text = line.decode("utf-8", "ignore").strip("\ufeff \r\t\x00")
    if not text.startswith("{"):
        return not text  # blocks of zeros are what a power cut leaves on some file systems
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return not text.endswith("}") or error.pos >= len(text)
    return False


def append_entries(path: str | os.PathLike[str], entries: Sequence[Entry]) -> None:
    """Append lines with one write, and return when they are on the disk. Other writers wait meanwhile."""
    data = b"".join(map(line_of, entries))
    try:
        is_new = not Path(path).exists()
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with _locked(descriptor):
                size = os.lseek(descriptor, 0, os.SEEK_END)
                if size:
                    os.lseek(descriptor, size - 1, os.SEEK_SET)
                    if os.read(descriptor, 1) != b"\n":  # the last line is cut off, or a person forgot its end
                        data = b"\n" + data
                n_written = os.write(descriptor, data)
                if n_written != len(data):
                    os.ftruncate(descriptor, size)
                    raise DecisionsError(f"{path}: the disk is full; the decision was not written.")
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new and sys.platform != "win32":  # which cannot open folders
            folder = os.open(Path(path).parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        raise DecisionsError(f"{path}: {error.strerror or error}.") from error


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    """The file is this writer's own, where the system has such locks."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
