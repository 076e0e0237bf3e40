"""From bytes to UTF-8 text: opening, unpacking, recognising what is no text, and decoding."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import itertools
import lzma
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from rfod._io.interface import EXAMPLES, InputError, Notes, ReadOptions
from rfod._io.source import Source
from rfod._io.storage import file_size, is_address, open_input
from rfod.exceptions import did_you_mean

BLOCK_BYTES = 1 << 20
SAMPLE_BYTES = 1 << 18
_FILE_BYTES = 1 << 16
_BINARY_BYTES = 1 << 12  # looked at to recognise what is no text
_GUESS_BYTES = 1 << 18  # around the first byte that is no UTF-8, to guess the encoding from
_MOST_WORD_BYTES = 1 << 14  # of these, words that are not plain ASCII

_PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
_PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".lz4")
UNPACK_ERRORS = (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error, OSError, pa.ArrowException)


class ChunkStream(io.RawIOBase):
    """Chunks of bytes, none of them empty, as a stream."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._ready = chunks, b""

    def readable(self) -> bool:
        return True

    def peek(self, n_bytes: int) -> bytes:
        """The next bytes, which stay to be read; fewer only at the end."""
        while len(self._ready) < n_bytes and (chunk := next(self._chunks, b"")):
            self._ready += chunk
        return self._ready[:n_bytes]

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer)).cast("B")
        data = self.peek(1) and self._ready[: len(view)]
        self._ready = self._ready[len(data) :]
        view[: len(data)] = data
        return len(data)


class FileStream(ChunkStream):
    """The bytes of a file or of stdin, and how many of them were read."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__(iter(lambda: raw.read(_FILE_BYTES) or b"", b""))
        self._raw = raw
        self.n_read = 0

    def readinto(self, buffer: object) -> int:
        n_bytes = super().readinto(buffer)
        self.n_read += n_bytes
        return n_bytes

    def close(self) -> None:
        if self._raw is not getattr(sys.stdin, "buffer", None):
            self._raw.close()
        super().close()


def open_bytes(path: str | BinaryIO) -> FileStream:
    """The bytes of a file, of an open stream, or of stdin for "-", as they are stored."""
    if not isinstance(path, str):
        return FileStream(path)
    if path == "-":
        return FileStream(sys.stdin.buffer)
    if is_address(path):
        return FileStream(open_input(path))
    try:
        return FileStream(Path(path).open("rb"))
    except FileNotFoundError as error:
        folder = Path(path).parent
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        hint = did_you_mean(Path(path).name, names, cutoff=0.75)
        raise InputError(f"{path}: there is no such file.{hint and f' Hint: {hint}'}") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder. Hint: name a file, or a folder of Parquet files.") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}.") from error


def unpack(stream: FileStream) -> BinaryIO:
    """The stream itself, or what it unpacks to; decided by its first bytes, whatever its name."""
    start = stream.peek(6)
    codec = next((name for magic, name in _PACKED.items() if start.startswith(magic)), None)
    buffered = io.BufferedReader(stream, BLOCK_BYTES)
    if codec in ("zstd", "lz4"):
        return cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(buffered, mode="r"), codec))
    opening: dict[str | None, Any] = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}
    return cast(BinaryIO, opening[codec](buffered)) if codec in opening else buffered


def plain_name(path: str) -> str:
    """The file name without the ending of its compression."""
    ending = next((ending for ending in _PACKED_ENDINGS if path.lower().endswith(ending)), "")
    return path[: len(path) - len(ending)]


class TextSource(Source):
    """A source of text, opened when its first rows are read; its progress is counted in bytes."""

    def __init__(self, path: str | BinaryIO, options: ReadOptions, name: str) -> None:
        super().__init__(name, options)
        self._path = path
        self._stream: FileStream | None = None
        self._n_bytes = file_size(path) if isinstance(path, str) else None
        self.encoding = "utf-8"
        """Of the text, known when all of it is read."""

    @contextmanager
    def open_text(self) -> Iterator[Utf8Stream]:
        """The text, to be read once."""
        with open_bytes(self._path) as self._stream:
            stream = unpack(self._stream)
            text = Utf8Stream(stream, self.name, self.options.encoding, self.notes, self.options.strict)
            yield text
            self.encoding = text.encoding

    def progress(self) -> tuple[int, int | None]:
        """Bytes as they are stored."""
        return 0 if self._stream is None else self._stream.n_read, self._n_bytes


# ------------------------------------------------------------------------------------------------------------ decoding

_BYTE_ORDER_MARKS = (  # the longer ones first: UTF-32's begins like UTF-16's
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CHANCE = 4  # text in GB 18030 holds one byte pair that happens to be UTF-8 per twelve bytes that are not
_FALLBACK = "cp1252"
_MARK, _LATIN_1 = "rfod-mark", "rfod-latin-1"
_MARKED = re.compile("[\udc00-\udcff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_NOT_ASCII = re.compile("[^\\x00-\\x7f]")


def _mark(error: UnicodeError) -> tuple[str, int]:
    """Each byte that cannot be decoded as one lone surrogate, which no text holds, to be found afterwards."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end


def _latin_1(error: UnicodeError) -> tuple[str, int]:
    """The five bytes that Windows-1252 leaves out."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error(_MARK, _mark)
codecs.register_error(_LATIN_1, _latin_1)


class Utf8Stream(ChunkStream):
    """Text of any encoding as UTF-8, without byte order mark and NUL bytes.

    Where the encoding is not named, it is found in this order:

    1. a byte order mark;
    2. UTF-16 or UTF-32 by the pattern of NUL bytes;
    3. UTF-8. At the first byte that is no UTF-8 the file is still taken for UTF-8 if letters beyond ASCII were read
       before (and are not so few that chance explains them), or if the bytes at hand hold more such letters than
       bytes that are no UTF-8;
    4. otherwise what charset-normalizer takes the words around that byte for, or Windows-1252 where it is not sure.

    Bytes that the encoding has no character for are read as U+FFFD. Notes name the guess and the lines of such
    bytes; with `strict` nothing is guessed or replaced, and the first such byte is an `InputError`.
    """

    def __init__(self, raw: BinaryIO, name: str, encoding: str | None, notes: Notes, strict: bool = False) -> None:
        self._raw, self._name, self._notes, self._strict = raw, name, notes, strict
        self._n_lines = 0
        first = self._read()
        self._encoding = _normal(encoding, name) if encoding else _by_first_bytes(first)
        _refuse_binary(first, name, is_wide=self._encoding.startswith(("utf-16", "utf-32")))
        mark = next((mark for mark, of in _BYTE_ORDER_MARKS if first.startswith(mark) and of == self._encoding), b"")
        self._is_undecided = encoding is None and not mark and self._encoding == "utf-8"
        """Whether all was ASCII so far, so that the encoding does not matter yet."""
        self._decoder = self._make_decoder("strict" if strict or self._is_undecided else _MARK)
        super().__init__(self._decoded(itertools.chain([first[len(mark) :]], iter(self._read, b""))))

    @property
    def encoding(self) -> str:
        """Of the text, as far as it was read; without a byte order mark."""
        return self._encoding

    def sample(self) -> tuple[str, bool]:
        """The first part of the text, which stays to be read, and whether that is all."""
        start = self.peek(SAMPLE_BYTES + 1)
        return start[:SAMPLE_BYTES].decode("utf-8", "ignore"), len(start) <= SAMPLE_BYTES

    def _read(self) -> bytes:
        try:
            return self._raw.read(BLOCK_BYTES) or b""
        except UNPACK_ERRORS as error:
            raise InputError(f"{self._name}: the compressed data is damaged or cut off ({error}).") from error

    def _decoded(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        for block in itertools.chain(blocks, [None]):
            data = self._convert(block or b"", is_last=block is None)
            if b"\0" in data:
                self._notes.places("{count} NUL {byte|bytes} removed.").add(None, data.count(b"\0"))
                data = data.replace(b"\0", b"")
            self._n_lines += _n_breaks(data)
            if data:
                yield data

    def _convert(self, block: bytes, is_last: bool) -> bytes:
        pending = self._decoder.getstate()[0]
        if self._encoding == "utf-8" and not pending and block.isascii():
            return block
        try:
            text = self._decoder.decode(block, final=is_last)
        except UnicodeDecodeError as error:
            if self._strict:
                raise InputError(self._message(error)) from error
            text = self._decide(pending + block, error.start).decode(pending + block, final=is_last)
        except UnicodeError as error:
            raise InputError(f"{self._name}: cannot be read as {self._encoding}: {error}.") from error
        if self._is_undecided and not text.isascii():
            self._is_undecided = False
            self._decoder.errors = "strict" if self._strict else _MARK
        try:
            return text.encode()
        except UnicodeEncodeError:
            return self._without_marks(text).encode()

    def _decide(self, data: bytes, first_bad: int) -> codecs.IncrementalDecoder:
        """The decoder to go on with, now that some bytes are no UTF-8 and all before them was ASCII."""
        text = data.decode("utf-8", _MARK)
        n_bad = len(_MARKED.findall(text))
        n_letters = len(_NOT_ASCII.findall(text)) - n_bad
        if n_letters <= n_bad and (data[:first_bad].isascii() or _CHANCE * n_letters <= n_bad):
            self._encoding = guess_encoding(data, first_bad)
            name = "Windows-1252 (Latin-1)" if self._encoding == _FALLBACK else self._encoding
            self._notes.add(f"not UTF-8; read as {name}. Hint: --encoding names another one.")
        self._is_undecided = False
        self._decoder = self._make_decoder(_LATIN_1 if self._encoding == _FALLBACK else _MARK)
        return self._decoder

    def _make_decoder(self, errors: str) -> codecs.IncrementalDecoder:
        return codecs.getincrementaldecoder(self._encoding)(errors)

    def _without_marks(self, text: str) -> str:
        """The text with U+FFFD for each byte that could not be decoded, which is noted."""
        places = self._notes.places(
            "{count} {byte that is|bytes that are} no {encoding} read as '\ufffd': line {places}. "
            "Hint: --encoding names another encoding.",
            encoding=self._encoding.upper(),
        )
        starts = [found.start() for found in _MARKED.finditer(text)]
        for start in starts[:EXAMPLES]:
            places.add(f"{self._n_lines + _n_breaks(text[:start].encode('utf-8', 'replace')) + 1:,}")
        places.add(None, len(starts[EXAMPLES:]))
        return _SURROGATES.sub("\ufffd", text)

    def _message(self, error: UnicodeDecodeError) -> str:
        line = self._n_lines + _n_breaks(bytes(error.object[: error.start])) + 1
        wrong = bytes(error.object[error.start : error.start + 1]).hex()
        return (
            f"{self._name}, line {line:,}: byte 0x{wrong} is no {self._encoding.upper()} text. "
            "Hint: name the encoding, for example --encoding latin-1."
        )


def _n_breaks(data: bytes) -> int:
    """Line ends; those of files that have \\r alone too."""
    return data.count(b"\n") or data.count(b"\r")


def _normal(encoding: str, name: str) -> str:
    try:
        found = codecs.lookup(encoding).name
        codecs.getincrementaldecoder(found)
        b"a".decode(found, "ignore")  # which refuses what is no encoding of text, such as base64
    except (LookupError, UnicodeError, ValueError) as error:
        raise InputError(
            f"{name}: there is no encoding {encoding!r}. Hint: utf-8, utf-16, latin-1, cp1252 and cp1250 are common."
        ) from error
    return "utf-8" if found == "utf-8-sig" else found


def _by_first_bytes(block: bytes) -> str:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if block.startswith(mark):
            return encoding
    sample = block[:_BINARY_BYTES]
    zeros = [sample[place::4].count(0) for place in range(4)]
    n_each = len(sample) // 4
    if n_each and min(zeros[1:3]) > 0.7 * n_each and max(zeros) > 0.9 * n_each and min(zeros) < 0.05 * n_each:
        return "utf-32-le" if zeros[3] > zeros[0] else "utf-32-be"
    even, odd = zeros[0] + zeros[2], zeros[1] + zeros[3]
    if max(even, odd) > 0.3 * len(sample[1::2]) and min(even, odd) < 0.05 * len(sample[1::2]) and len(sample) >= 4:
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"


# ----------------------------------------------------------------------------------------------- guessing the encoding

# Encodings that tables come in; all of them keep ASCII as it is.
_CANDIDATES = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874", "koi8_r"]
_CANDIDATES += ["cp932", "euc_jp", "gb18030", "big5", "cp949"]
_ASCII_BETWEEN_WORDS = re.compile(rb'[\n\r\t,;"]+')  # none of them is a second byte of Shift JIS, GB 18030 or Big5
_NOT_ASCII_BYTES = re.compile(rb"[\x80-\xff]+")
_LEAST_RUN = 1.5  # bytes; single letters among ASCII are Western European, other scripts come in longer runs


def guess_encoding(data: bytes, first_bad: int) -> str:
    """The likely encoding of bytes that are no UTF-8, by the words around the first such byte.

    Windows-1252 unless another one reads clearly better: words of few languages distinguish it from its relatives.
    """
    words = _words(data, first_bad)
    from charset_normalizer import from_bytes  # slow to import, and most files are UTF-8

    found = list(from_bytes(words, cp_isolation=_CANDIDATES, steps=10, chunk_size=512, enable_fallback=False))
    if not found:
        return _FALLBACK
    least = min(match.chaos for match in found)
    if any(_FALLBACK in match.could_be_from_charset and match.chaos <= least for match in found):
        return _FALLBACK
    runs = _NOT_ASCII_BYTES.findall(words)
    if not found[0].coherence and sum(map(len, runs)) < _LEAST_RUN * len(runs):
        return _FALLBACK
    return found[0].encoding


def _words(data: bytes, first_bad: int) -> bytes:
    """Each word with a byte that is not ASCII once; whole words, since half a letter would rule out its encoding."""
    start, stop = max(0, first_bad - _GUESS_BYTES // 2), first_bad + _GUESS_BYTES // 2
    words = [word.strip() for word in _ASCII_BETWEEN_WORDS.split(data[start:stop])]
    whole = words[start > 0 : len(words) - (stop < len(data))] or words
    kept: list[bytes] = []
    n_bytes = 0
    for word in dict.fromkeys(whole):
        if not word.isascii() and n_bytes + len(word) <= _MOST_WORD_BYTES:
            kept.append(word)
            n_bytes += len(word)
    return b" ".join(kept)


# ----------------------------------------------------------------------------------------------------- what is no text

_WORKBOOK = "an Excel workbook or another Office document"
_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF89a": "a GIF image",
    b"%PDF-": "a PDF document",
    b"SQLite format 3\0": "an SQLite database",
    b"\x7fELF": "a program",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": _WORKBOOK,
}
_HINTS = {
    "an SQLite database": "read it by a query: --db sqlite:///FILE --sql QUERY.",
    "a Parquet file": "rename it, so that it ends in .parquet.",
    "an Arrow file": "rename it, so that it ends in .arrow.",
    "an HTML page": "save the table in it as CSV.",
    _WORKBOOK: "rename a workbook, so that it ends in .xlsx or .xls.",
    "an rfod model": "name the table, not the model.",
    **dict.fromkeys(("a zip archive", "a tar archive", "a 7z archive", "a RAR archive"), "unpack it first."),
}
_CONTROLS = bytes([0, *range(2, 9), *range(14, 28)])  # without \x01, \x1e and \x1f, which separate fields and rows


def binary_format(start: bytes) -> str | None:
    """What a file is by its first bytes, if that is no text."""
    for signature, name in _SIGNATURES.items():
        if start.startswith(signature) and (signature != b"PAR1" or b"\0" in start[:64]):
            return name
    if start.startswith(b"PK\x03\x04"):
        return _zip_content(start)
    if start[257:262] == b"ustar":
        return "a tar archive"
    return "a Python pickle" if start[:2] in (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05") else None


def is_workbook(start: bytes) -> bool:
    """Whether the bytes begin like a spreadsheet of Excel or LibreOffice."""
    return binary_format(start) == _WORKBOOK


def _zip_content(start: bytes) -> str:
    """By the name of the first member of a zip archive."""
    length = int.from_bytes(start[26:28], "little")
    member, content = start[30 : 30 + length], start[30 + length : 30 + length + 80]
    if member in (b"[Content_Types].xml", b"_rels/.rels", b"docProps/app.xml", b"xl/workbook.xml"):
        return _WORKBOOK
    if member == b"mimetype" and b"opendocument" in content:
        return _WORKBOOK
    return "an rfod model" if member in (b"model.json", b"source.json") else "a zip archive"


def _refuse_binary(start: bytes, name: str, is_wide: bool) -> None:
    """Raise `InputError` for bytes that are no text; `is_wide` is for text of two or four bytes per character."""
    sample = start[:_BINARY_BYTES]
    found = binary_format(start)
    if found is None and sample.lstrip()[:14].lower().startswith((b"<!doctype html", b"<html")):
        found = "an HTML page"
    if (
        found is None
        and not is_wide
        and len(sample) - len(sample.translate(None, _CONTROLS)) > max(16, len(sample) // 20)
    ):
        found = "binary data"
    if found is not None:
        hint = _HINTS.get(found, "tables are text (CSV, JSON), Parquet, Arrow or spreadsheet files.")
        problem = "under another name" if "rename" in hint else "not a table"
        raise InputError(f"{name} is {found}, {problem}. Hint: {hint}")
