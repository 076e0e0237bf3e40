"""Bytes of a file or of stdin, unpacked where they are compressed, and how far the reading has come."""

from __future__ import annotations

import bz2
import difflib
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from rfod._io.errors import InputError

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bz2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
)
ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".lz4")


class CountingStream(io.RawIOBase):
    """A binary stream that knows how many bytes were taken from it."""

    def __init__(self, raw: BinaryIO, n_total: int | None) -> None:
        self._raw = raw
        self._start = b""
        self.n_read = 0
        self.n_total = n_total

    def readable(self) -> bool:
        return True

    def peek(self, n_bytes: int) -> bytes:
        """The next bytes, which stay to be read."""
        while len(self._start) < n_bytes:
            more = self._raw.read(n_bytes - len(self._start))
            if not more:
                break
            self._start += more
        return self._start[:n_bytes]

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer)).cast("B")
        if self._start:
            data, self._start = self._start[: len(view)], self._start[len(view) :]
        else:
            data = self._raw.read(len(view)) or b""
        view[: len(data)] = data
        self.n_read += len(data)
        return len(data)

    def close(self) -> None:
        if self._raw is not getattr(sys.stdin, "buffer", None):
            self._raw.close()
        super().close()


def open_bytes(path: str | BinaryIO) -> CountingStream:
    """The bytes of a file, of an open stream, or of stdin for "-", as they are stored."""
    if not isinstance(path, str):
        return CountingStream(path, None)
    if path == "-":
        return CountingStream(sys.stdin.buffer, None)
    try:
        return CountingStream(Path(path).open("rb"), Path(path).stat().st_size)
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file.{_near(path)}") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder. Hint: name a file, or a folder of Parquet files.") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}.") from error


def _near(path: str) -> str:
    """A hint at a file with nearly that name."""
    folder = Path(path).parent
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    near = difflib.get_close_matches(Path(path).name, names, 1, cutoff=0.75)
    return f" Hint: did you mean {folder / near[0]}?" if near else ""


def unpack(stream: CountingStream) -> BinaryIO:
    """The stream itself, or what it unpacks to; told by its first bytes, whatever its name."""
    start = stream.peek(6)
    codec = next((name for magic, name in _MAGIC if start.startswith(magic)), None)
    buffered = io.BufferedReader(stream, 1 << 20)
    if codec is None:
        return buffered
    if codec == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=buffered))
    if codec == "bz2":
        return cast(BinaryIO, bz2.BZ2File(buffered))
    if codec == "xz":
        return cast(BinaryIO, lzma.LZMAFile(buffered))
    return cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(buffered, mode="r"), codec))


@contextmanager
def closing_on_error(stream: CountingStream) -> Iterator[None]:
    """Close the stream if the block fails."""
    try:
        yield
    except BaseException:
        stream.close()
        raise


UNPACK_ERRORS = (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error, OSError, pa.ArrowException)


def plain_name(path: str) -> str:
    """The file name without the ending of its compression."""
    lower = path.lower()
    ending = next((ending for ending in ENDINGS if lower.endswith(ending)), "")
    return path[: len(path) - len(ending)]
