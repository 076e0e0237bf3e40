"""Text of any encoding as UTF-8 bytes, without byte order mark and NUL bytes."""

from __future__ import annotations

import codecs
import io
import itertools
import re
from typing import BinaryIO, cast

from rfod._io.charsets import FALLBACK, guess_encoding
from rfod._io.errors import InputError
from rfod._io.notes import EXAMPLES, Notes
from rfod._io.signatures import refuse_binary
from rfod._io.streams import UNPACK_ERRORS

BLOCK_BYTES = 1 << 20
SAMPLE_BYTES = 1 << 18
_CHANCE = 4  # text in GB 18030 holds one byte pair that happens to be UTF-8 per twelve bytes that are not
_MARKS = (  # the longer ones first: UTF-32's begins like UTF-16's
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Utf8Stream(io.RawIOBase):
    """Reads any encoding, gives UTF-8.

    Where the encoding is not named, it is found in this order:

    1. a byte order mark;
    2. UTF-16 or UTF-32 by the pattern of NUL bytes;
    3. UTF-8. At the first byte that is no UTF-8 the file is still taken for UTF-8 if letters beyond ASCII were read
       before (and are not so few that chance explains them), or if the bytes at hand hold more such letters than
       bytes that are no UTF-8;
    4. otherwise what charset-normalizer takes the words around that byte for, or Windows-1252 where it is not sure.

    Bytes that the encoding has no character for are read as U+FFFD. Notes say what was guessed and where bytes were
    replaced; with `strict` nothing is guessed or replaced, and the first such byte is an `InputError`.
    """

    def __init__(self, raw: BinaryIO, name: str, encoding: str | None, notes: Notes, strict: bool = False) -> None:
        self._raw, self._name, self._notes, self._strict = raw, name, notes, strict
        self._ready = b""
        self._n_lines = 0
        self._ended = False
        self._first = self._take()
        self._encoding = _normal(encoding, name) if encoding else _by_first_bytes(self._first)
        refuse_binary(self._first, name, is_wide=self._encoding.startswith(("utf-16", "utf-32")))
        mark = next((mark for mark, marked in _MARKS if self._first.startswith(mark) and marked == self._encoding), b"")
        self._first = self._first[len(mark) :]
        self._undecided = encoding is None and not mark and self._encoding == "utf-8"
        """Whether all was ASCII so far, so that the encoding does not matter yet."""
        self._decoder = self._make_decoder("strict" if strict or self._undecided else _MARK)

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
        self._n_lines += _n_breaks(data)
        self._ready += data
        return True

    def _convert(self, block: bytes) -> bytes:
        pending = self._decoder.getstate()[0]
        if self._encoding == "utf-8" and not pending and block.isascii():
            return block
        try:
            text = self._decoder.decode(block, final=self._ended)
        except UnicodeDecodeError as error:
            if self._strict:
                raise InputError(self._message(error)) from error
            text = self._decide(pending + block, error.start).decode(pending + block, final=self._ended)
        except UnicodeError as error:
            raise InputError(f"{self._name}: cannot be read as {self._encoding}: {error}.") from error
        self._undecided = self._undecided and text.isascii()
        if not self._undecided and not self._strict and self._decoder.errors == "strict":
            self._decoder.errors = _MARK
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
            name = "Windows-1252 (Latin-1)" if self._encoding == FALLBACK else self._encoding
            self._notes.say(f"not UTF-8; read as {name}. Hint: --encoding names another one.")
        self._undecided = False
        self._decoder = self._make_decoder(_LATIN_1 if self._encoding == FALLBACK else _MARK)
        return self._decoder

    def _make_decoder(self, errors: str) -> codecs.IncrementalDecoder:
        return codecs.getincrementaldecoder(self._encoding)(errors)

    def _without_marks(self, text: str) -> str:
        """The text with U+FFFD for each byte that could not be decoded, which is noted."""
        lines = [
            self._n_lines + _n_breaks(text[: found.start()].encode("utf-8", "replace")) + 1
            for found in itertools.islice(_MARKED.finditer(text), EXAMPLES)
        ]
        text, count = _MARKED.subn("\ufffd", text)
        self._notes.bad_bytes(self._encoding.upper(), count, lines)
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
    for mark, encoding in _MARKS:
        if block.startswith(mark):
            return encoding
    sample = block[:4096]
    zeros = [sample[place::4].count(0) for place in range(4)]
    n_each = len(sample) // 4
    if n_each and min(zeros[1:3]) > 0.7 * n_each and max(zeros) > 0.9 * n_each and min(zeros) < 0.05 * n_each:
        return "utf-32-le" if zeros[3] > zeros[0] else "utf-32-be"
    even, odd = zeros[0] + zeros[2], zeros[1] + zeros[3]
    if max(even, odd) > 0.3 * len(sample[1::2]) and min(even, odd) < 0.05 * len(sample[1::2]) and len(sample) >= 4:
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"
