"""Text of any encoding as UTF-8 bytes, without byte order mark and NUL bytes."""

from __future__ import annotations

import codecs
import io
from typing import BinaryIO, cast

from rfod._io.errors import InputError
from rfod._io.notes import Notes
from rfod._io.streams import UNPACK_ERRORS

BLOCK_BYTES = 1 << 20
SAMPLE_BYTES = 1 << 18
_MARKS = (  # the longer ones first: UTF-32's begins like UTF-16's
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Utf8Stream(io.RawIOBase):
    """Reads any encoding, gives UTF-8.

    Where the encoding is not told: by byte order mark; UTF-16 by its pattern of NUL bytes; otherwise UTF-8, and
    Windows-1252 (which contains Latin-1's letters) from the first byte on that is no UTF-8, if all before is ASCII.
    """

    def __init__(self, raw: BinaryIO, name: str, encoding: str | None, notes: Notes) -> None:
        self._raw, self._name, self._notes = raw, name, notes
        self._told = encoding is not None
        self._ready = b""
        self._n_lines = 0
        self._ascii_so_far = True
        self._ended = False
        self.last_byte = b""
        """The last byte that is no line end."""
        self._first = self._take()
        self._encoding = _normal(encoding, name) if encoding else _by_first_bytes(self._first)
        mark = next(
            (mark for mark, marked in _MARKS if self._first.startswith(mark) and _same(marked, self._encoding)), b""
        )
        self._first = self._first[len(mark) :]
        self._decoder = codecs.getincrementaldecoder(self._encoding)()

    def sample(self) -> tuple[str, bool]:
        """The first part of the text, which stays to be read, and whether that is all."""
        while len(self._ready) < SAMPLE_BYTES and self._fill():
            pass
        whole = self._ended and len(self._ready) <= SAMPLE_BYTES
        return self._ready[:SAMPLE_BYTES].decode("utf-8", "ignore"), whole

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer)).cast("B")
        while not self._ready and self._fill():
            pass
        n_bytes = min(len(view), len(self._ready))
        view[:n_bytes] = self._ready[:n_bytes]
        self._ready = self._ready[n_bytes:]
        return n_bytes

    def _take(self) -> bytes:
        try:
            return self._raw.read(BLOCK_BYTES) or b""
        except UNPACK_ERRORS as error:
            raise InputError(f"{self._name}: the compressed data is damaged or cut off ({error}).") from error

    def _fill(self) -> bool:
        """Convert one more block; False at the end."""
        if self._ended:
            return False
        block, self._first = (self._first, b"") if self._first else (self._take(), b"")
        self._ended = not block
        data = self._convert(block)
        if b"\0" in data:
            self._notes.n_nul_bytes += data.count(b"\0")
            data = data.replace(b"\0", b"")
        self._n_lines += data.count(b"\n")
        self.last_byte = data.rstrip(b"\r\n")[-1:] or self.last_byte
        self._ready += data
        return True

    def _convert(self, block: bytes) -> bytes:
        plain_utf8 = self._encoding == "utf-8"
        if plain_utf8 and block.isascii() and not self._decoder.getstate()[0]:
            return block
        pending = self._decoder.getstate()[0]
        try:
            text = self._decoder.decode(block, final=self._ended)
        except UnicodeDecodeError as error:
            if not (plain_utf8 and not self._told and self._ascii_so_far):
                raise InputError(self._message(error)) from error
            if (pending + block)[: error.start].isascii():
                return self._switch(pending + block)
            raise InputError(self._message(error)) from error
        self._ascii_so_far = self._ascii_so_far and text.isascii()
        return text.encode("utf-8", "replace")

    def _switch(self, block: bytes) -> bytes:
        """From now on Windows-1252, and Latin-1 for the five bytes that it leaves out."""
        self._notes.say("not UTF-8; read as Windows-1252 (Latin-1). Hint: --encoding names another one.")
        self._encoding = "cp1252"
        self._decoder = codecs.getincrementaldecoder("cp1252")("rfod-latin-1")
        return self._decoder.decode(block, final=self._ended).encode()

    def _message(self, error: UnicodeDecodeError) -> str:
        line = self._n_lines + bytes(error.object[: error.start]).count(b"\n") + 1
        wrong = bytes(error.object[error.start : error.start + 1]).hex()
        return (
            f"{self._name}, line {line:,}: byte 0x{wrong} is no {self._encoding.upper()} text. "
            "Hint: name the encoding, for example --encoding latin-1."
        )


def _latin_1(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("rfod-latin-1", _latin_1)


def _normal(encoding: str, name: str) -> str:
    try:
        found = codecs.lookup(encoding).name
        codecs.getincrementaldecoder(found)
    except LookupError as error:
        raise InputError(
            f"{name}: there is no encoding {encoding!r}. Hint: utf-8, utf-16, latin-1, cp1252 and cp1250 are common."
        ) from error
    return "utf-8" if found == "utf-8-sig" else found


def _same(marked: str, encoding: str) -> bool:
    return marked == encoding


def _by_first_bytes(block: bytes) -> str:
    for mark, encoding in _MARKS:
        if block.startswith(mark):
            return encoding
    sample = block[:4096]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) > 0.3 * len(sample[1::2]) and min(even, odd) < 0.05 * len(sample[1::2]) and len(sample) >= 4:
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"
