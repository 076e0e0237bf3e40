"""Files on this machine and in object storage, by pyarrow's file systems.

An address is `scheme://host/path`, everything else a path. Credentials come from where the client of a store looks for
them (for S3 the variables AWS_*, its configuration files, the role of the machine) and never from an address.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import pyarrow as pa
import pyarrow.fs as pa_fs

from rfod._io.interface import InputError, OutputError

SCHEMES = ("file", "s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://([^/]*)(.*)", re.IGNORECASE | re.DOTALL)
_PIECES = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
_PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\[[^]]+]")
_TEMPORARY = ".tmp"


def is_address(place: str) -> bool:
    """Whether a place is in a file system that pyarrow knows by its scheme."""
    found = _ADDRESS.match(place)
    return found is not None and found[1].lower() in SCHEMES


def open_storage(place: str) -> tuple[pa_fs.FileSystem, str]:
    """The file system of a path or address, and the path in it."""
    found = _ADDRESS.match(place)
    if found is None or not is_address(place):
        return pa_fs.LocalFileSystem(), place
    scheme, host, path = found[1].lower(), found[2], found[3]
    if scheme == "file":
        return pa_fs.LocalFileSystem(), unquote(path)
    if "@" in host and (":" in host.partition("@")[0] or scheme == "s3"):
        raise InputError(
            f"{scheme}://***{host[host.index('@') :]}: credentials are not taken from an address. "
            "Hint: set the environment variables of the client, such as AWS_ACCESS_KEY_ID."
        )
    filesystem, root = _connect(f"{scheme}://{host}")
    return filesystem, f"{root.rstrip('/')}{path}"  # as it is: `from_uri` would decode %20


@lru_cache(maxsize=16)
def _connect(root: str) -> tuple[pa_fs.FileSystem, str]:
    try:
        filesystem, path = pa_fs.FileSystem.from_uri(root)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{root}: no connection: {' '.join(str(error).split())[:200]}.") from error
    return filesystem, path


def local_path(place: str) -> str:
    """The path behind a `file://` address; other places as they are."""
    return open_storage(place)[1] if place.lower().startswith("file://") else place


def is_folder(place: str) -> bool:
    """Whether a place is a folder, or a prefix of objects."""
    if not is_address(place):
        return Path(place).is_dir()
    filesystem, path = open_storage(place)
    return bool(filesystem.get_file_info(path.rstrip("/")).type == pa_fs.FileType.Directory)


def file_size(place: str) -> int | None:
    """The number of bytes of a file, where its file system knows it."""
    filesystem, path = open_storage(place)
    size: int | None = filesystem.get_file_info(path).size
    return size


def open_input(place: str) -> Any:
    """A stream of the bytes of a file."""
    filesystem, path = open_storage(place)
    try:
        return filesystem.open_input_stream(path, compression=None)
    except FileNotFoundError as error:
        raise InputError(f"{place}: there is no such file.") from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{place}: cannot be read: {' '.join(str(error).split())[:200]}.") from error


def address_of(place: str, path: str) -> str:
    """A path of the file system of a place, as `open_storage` takes it."""
    if not is_address(place) or place.lower().startswith("file:"):
        return path
    own = open_storage(place)[1]
    return place[: len(place) - len(own)] + path


def expand_address(place: str) -> list[str]:
    """The addresses of the files that a pattern stands for, in order."""
    filesystem, pattern = open_storage(place)
    head = pattern[: re.search(r"[*?[]", pattern).start()].rpartition("/")[0]  # type: ignore[union-attr]
    matches = re.compile(_PIECE.sub(_as_regex, re.sub(r"[.^$+{}()|\\]", r"\\\g<0>", pattern))).fullmatch
    try:
        found = filesystem.get_file_info(pa_fs.FileSelector(head, recursive=True, allow_not_found=True))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{place}: cannot be listed: {' '.join(str(error).split())[:200]}.") from error
    paths = sorted(info.path for info in found if info.type == pa_fs.FileType.File and matches(info.path))
    if not paths:
        raise InputError(
            f"{place}: no file has a name like that. Hint: put the pattern in quotes, and check the folder."
        )
    return [address_of(place, path) for path in paths]


def _as_regex(piece: re.Match[str]) -> str:
    return _PIECES.get(piece[0]) or piece[0].replace("[!", "[^")


def put(place: str, data: bytes | pa.Buffer) -> None:
    """Write a file whole or not at all: under a private name that is renamed; stores of objects do so themselves."""
    filesystem, path = open_storage(place)
    with _write_errors(place):
        if filesystem.type_name == "local":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            with replaced(path) as temporary:
                Path(temporary).write_bytes(data)
            return
        folder, _, name = path.rpartition("/")
        is_renamed = filesystem.type_name == "hdfs"
        target = f"{folder}/.{name}.{uuid4().hex}{_TEMPORARY}" if is_renamed else path
        with filesystem.open_output_stream(target) as stream:
            stream.write(data)
        if is_renamed:
            filesystem.move(target, path)


@contextmanager
def _write_errors(place: str) -> Iterator[None]:
    """What a file system raises as `OutputError`."""
    try:
        yield
    except OutputError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{place}: cannot be written: {' '.join(str(reason).split())[:200]}.") from error


@contextmanager
def replaced(path: str) -> Iterator[str]:
    """A temporary name beside the target, renamed to it when the block ends well and removed when it does not. The file
    of an address is put there then.

    The file is on the disk before it gets its name, and the name is on the disk before this returns: after a power cut
    there is the old file or the new one, whole.
    """
    path = local_path(path)
    if is_address(path):
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder) / "output"
            yield str(written)
            with _write_errors(path), written.open("rb") as file:
                filesystem, name = open_storage(path)
                with filesystem.open_output_stream(name) as stream:
                    shutil.copyfileobj(file, stream, 1 << 24)
        return
    target = Path(path)
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}.") from error
    os.close(descriptor)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        _sync(temporary, os.O_RDWR)  # Windows syncs only what is open for writing
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if sys.platform != "win32":  # which cannot open folders
        _sync(str(target.parent), os.O_RDONLY)


def _sync(path: str, flags: int) -> None:
    """Wait until a file or folder is on the disk, on file systems that know of that."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
    finally:
        os.close(descriptor)


@contextmanager
def local_copy(place: str) -> Iterator[str]:
    """The path of a file on this machine: of itself, or of a copy that lasts as long as the block."""
    if not is_address(place) or place.lower().startswith("file://"):
        yield local_path(place)
        return
    data = read_bytes(place)
    if data is None:
        raise InputError(f"{place}: there is no such file.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "copy"
        path.write_bytes(data)
        yield str(path)


def read_bytes(place: str) -> bytes | None:
    """A whole file; None where there is none."""
    filesystem, path = open_storage(place)
    if filesystem.get_file_info(path).type != pa_fs.FileType.File:
        return None
    with filesystem.open_input_stream(path) as stream:
        return bytes(stream.read())


def files_below(place: str) -> list[str]:
    """Paths of all files in a folder and its folders, relative to it; not those that are being written."""
    return [path for path in _all_below(place) if not _is_temporary(path)]


def remove_leftovers(place: str) -> None:
    """Remove what writers that were killed have left in a folder."""
    filesystem, folder = open_storage(place)
    for path in _all_below(place):
        if _is_temporary(path):
            filesystem.delete_file(f"{folder.rstrip('/')}/{path}")


def _all_below(place: str) -> list[str]:
    filesystem, folder = open_storage(place.rstrip("/"))
    found = filesystem.get_file_info(pa_fs.FileSelector(folder, recursive=True, allow_not_found=True))
    return sorted(info.path[len(folder) + 1 :] for info in found if info.type == pa_fs.FileType.File)


def _is_temporary(path: str) -> bool:
    name = Path(path).name
    return name.startswith(".") and name.endswith(_TEMPORARY)
