"""Read and write the zip archive that a model file is. A small file cannot take much memory or time."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod.exceptions import ModelFormatError, require_intact

# What the members of a file may take in memory, all together. Deflate packs zeros 1000 to 1; models are packed 3 to 1.
FREE_BYTES = 2**25
BYTES_PER_FILE_BYTE = 48
MOST_BYTES = 2**38
LARGEST_JSON = 2**28  # bytes; 65,536 columns with their features take 2**24, ten million short categories 2**27
_PER_BRACKET = 96  # bytes of memory per bracket, comma or colon of JSON, at most (tests/io/test_archives.py)
_PER_BYTE, _PER_BYTE_IN_TEXT = 3, 9  # and per byte of JSON; one letter beyond U+FFFF makes all text 4 bytes wide

_IS_BRACKET = np.isin(np.arange(256), list(b"{[,:"))
_CHUNK = 2**20  # bytes
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack any amount in one go


def memory_for(file_size: int) -> int:
    """Bytes of memory that the members of a file of this size may take."""
    return min(FREE_BYTES + BYTES_PER_FILE_BYTE * file_size, MOST_BYTES)


def json_memory(data: bytes) -> int:
    """Upper bound, in bytes, of the memory that `json.loads` takes, without parsing."""
    return _PER_BRACKET * _count_brackets(data) + (_PER_BYTE if data.isascii() else _PER_BYTE_IN_TEXT) * len(data)


def _count_brackets(data: bytes) -> int:
    """Brackets, commas and colons of JSON outside its texts."""
    without_escapes = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    n_brackets, quoted = 0, False
    for start in range(0, len(without_escapes), _CHUNK):
        letters = np.frombuffer(without_escapes[start : start + _CHUNK], np.uint8)
        is_quoted = np.logical_xor.accumulate(letters == ord('"')) ^ quoted
        n_brackets += int(np.count_nonzero(_IS_BRACKET[letters] & ~is_quoted))
        quoted = bool(is_quoted[-1])
    return n_brackets


def write_archive(path: str | os.PathLike[str], members: Mapping[str, bytes]) -> None:
    """Write members that `open_archive` will read. The same members make the same file, byte for byte.

    Members are packed, unless they pack so well that a reader would have to take the file for a trap: a model of
    thousands of constant columns holds a matrix of zeros.
    """
    needed = sum(json_memory(data) if name.endswith(".json") else len(data) for name, data in members.items())
    for method in reversed(_METHODS):
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                add_member(archive, name, data, method)
        if needed <= memory_for(Path(path).stat().st_size):
            return


def add_member(archive: zipfile.ZipFile, name: str, data: bytes, method: int = zipfile.ZIP_DEFLATED) -> None:
    """Write one member under a fixed date."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = method
    archive.writestr(info, data, compresslevel=1)


@contextmanager
def open_archive(path: str | os.PathLike[str]) -> Iterator[Archive]:
    """The members of a model file; `ModelFormatError` for whatever goes wrong while they are read."""
    with Path(path).open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                yield Archive(archive, os.fstat(file.fileno()).st_size)
        except (ModelFormatError, MemoryError):
            raise
        except Exception as error:  # on damaged directories zipfile raises KeyError, OSError, struct.error and more
            raise ModelFormatError(f"{os.fspath(path)} is not a whole rfod model file: {error}.") from error


class Archive:
    """Members of a zip archive, read one by one as long as they fit the memory that a file of its size may take."""

    def __init__(self, archive: zipfile.ZipFile, file_size: int) -> None:
        self._archive = archive
        self._memory_left = memory_for(file_size)
        self.members = {info.filename: info for info in archive.infolist()}
        require_intact(len(self.members) == len(archive.infolist()), "a member occurs twice")
        for name, info in self.members.items():
            require_intact(not info.flag_bits & 1, f"{name[:40]!r} is encrypted")
            require_intact(info.compress_type in _METHODS, f"{name[:40]!r} is packed by an unknown method")

    def read_json(self, name: str, largest: int = LARGEST_JSON) -> Any:
        """The value that a JSON member of at most `largest` bytes stands for."""
        size = self.members[name].file_size
        require_intact(size <= largest, f"{name} has {size:,} bytes, but may have {largest:,} at most")
        self._take(_PER_BYTE * size)
        with self._archive.open(name) as opened:
            data = opened.read(size + 1)
        require_intact(len(data) == size, f"{name} has not the size it says")
        self._take(json_memory(data) - _PER_BYTE * size)
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ModelFormatError(f"The model file is damaged: {name} is not JSON.") from error

    def read_array(self, name: str, dtype: np.dtype[Any], n_dimensions: int, checksum: str | None) -> NDArray[Any]:
        """The array of a .npy member, of native byte order and writable. It is not made before its type and shape are
        known to fit the member's size."""
        size = self.members[name].file_size
        self._take(size)
        with self._archive.open(name) as opened:
            head = opened.read(10)  # magic, version (1, 0), length of the header
            head += opened.read(int.from_bytes(head[8:], "little"))
            shape, found = _read_npy_header(head, name)
            require_intact(found == dtype.newbyteorder("<"), f"{name} is of type {str(found)[:20]}")
            require_intact(len(shape) == n_dimensions, f"{name} has {len(shape)} dimensions")
            n_bytes = math.prod(shape) * dtype.itemsize
            require_intact(min(shape) >= 0 and len(head) + n_bytes == size, f"{name} has not the size its shape says")
            body = bytearray(n_bytes)
            n_read = 0
            while chunk := opened.read(_CHUNK):
                body[n_read : n_read + len(chunk)] = chunk
                n_read += len(chunk)
            require_intact(n_read == n_bytes, f"{name} has not the size it says")
        digest = hashlib.sha256(head)
        digest.update(body)
        require_intact(digest.hexdigest() == checksum, f"the checksum of {name} is wrong")
        array = np.frombuffer(body, found).reshape(shape)
        return np.require(array.astype(dtype, copy=False), requirements=["C", "W", "A"])

    def _take(self, n_bytes: int) -> None:
        self._memory_left -= n_bytes
        require_intact(self._memory_left >= 0, "it unpacks to an absurd size")


def _read_npy_header(head: bytes, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of the rows-first array that follows."""
    try:
        file = io.BytesIO(head)
        require_intact(np.lib.format.read_magic(file) == (1, 0), f"{name} is of another .npy version")
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    except Exception as error:  # numpy hands the header to Python's parser, which may raise anything
        raise ModelFormatError(f"The model file is damaged: {name} is not a .npy array.") from error
    require_intact(not is_fortran and file.tell() == len(head), f"{name} is not a .npy array")
    return shape, dtype
