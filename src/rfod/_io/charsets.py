"""The encoding of bytes that are no UTF-8, guessed from the words that are not plain ASCII."""

from __future__ import annotations

import re

FALLBACK = "cp1252"
SAMPLE_BYTES = 1 << 18
_MOST_WORD_BYTES = 1 << 14  # what the guess is made from
# Encodings that tables come in; all of them keep ASCII as it is.
_CANDIDATES = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874", "koi8_r"]
_CANDIDATES += ["cp932", "euc_jp", "gb18030", "big5", "cp949"]
_ASCII_BETWEEN_WORDS = re.compile(rb'[\n\r\t,;"]+')  # none of them is a second byte of Shift JIS, GB 18030 or Big5
_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
_LEAST_RUN = 1.5  # bytes; single letters among ASCII are Western European, other scripts come in longer runs


def guess_encoding(data: bytes, first_bad: int) -> str:
    """The likely encoding of bytes that are no UTF-8, by the words around the first such byte.

    Windows-1252 unless another one reads clearly better: words of few languages tell it from its relatives.
    """
    words = _words(data, first_bad)
    from charset_normalizer import from_bytes  # slow to import, and most files are UTF-8

    found = list(from_bytes(words, cp_isolation=_CANDIDATES, steps=10, chunk_size=512, enable_fallback=False))
    if not found:
        return FALLBACK
    least = min(match.chaos for match in found)
    if any(FALLBACK in match.could_be_from_charset and match.chaos <= least for match in found):
        return FALLBACK
    runs = _NOT_ASCII.findall(words)
    if not found[0].coherence and sum(map(len, runs)) < _LEAST_RUN * len(runs):
        return FALLBACK
    return found[0].encoding


def _words(data: bytes, first_bad: int) -> bytes:
    """Each word with a byte that is not ASCII once; whole words, since half a letter would rule out its encoding."""
    start, stop = max(0, first_bad - SAMPLE_BYTES // 2), first_bad + SAMPLE_BYTES // 2
    words = [word.strip() for word in _ASCII_BETWEEN_WORDS.split(data[start:stop])]
    whole = words[start > 0 : len(words) - (stop < len(data))] or words
    kept: list[bytes] = []
    n_bytes = 0
    for word in dict.fromkeys(whole):
        if not word.isascii() and n_bytes + len(word) <= _MOST_WORD_BYTES:
            kept.append(word)
            n_bytes += len(word)
    return b" ".join(kept)
